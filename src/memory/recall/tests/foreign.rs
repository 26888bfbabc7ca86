//! What is said in another script than the question, what is kin of the best hit, and what filters ask
//! for by themselves.

use serde_json::json;

use super::super::Recall;
use super::super::foreign::{Script, script};
use super::super::fuse::{Reading, Sheet};
use super::{found, version};
use crate::memory::{Found, Hit, Question, Recollection, Score, Sense};

#[test]
fn a_text_is_of_the_script_of_most_of_it() {
    for (text, found) in [
        ("Which seal fits?", Some(Script::Latin)),
        ("PX-200机封怎么换", Some(Script::Dense)),
        ("Port Aldous厂界夜间噪声限值", Some(Script::Dense)),
        ("2024-07-15 (15 July 2024):\n凯达纺织高温停机，散热器被棉絮糊满。", Some(Script::Dense)),
        ("Die Dichtung heißt 密封 auf Chinesisch", Some(Script::Latin)),
        ("Какое уплотнение подходит?", Some(Script::Other)),
        ("退磁", Some(Script::Dense)),
        ("C-6102R", None),
        ("", None),
    ] {
        assert_eq!(script(text), found, "{text}");
    }
}

#[test]
fn filters_that_nothing_else_answers_are_an_answer() {
    let found = |score| Found {
        vector: Some(Ok(vec![
            Hit { seq: 1, ordinal: 0, score },
            Hit { seq: 2, ordinal: 0, score: 0.1 },
        ])),
        ..Found::default()
    };
    let given = |score| {
        let reading =
            Reading { terms: 1, entities: 0, calibrate: &|cosine| cosine, threshold: 0.35 };
        let mut sheet = Sheet::gather(&found(score), &reading);
        sheet.fall_back();
        sheet.into_ranked().iter().filter(|one| one.withheld.is_empty()).count()
    };
    assert_eq!((given(0.2), given(0.5)), (2, 1));
}

fn candidate(seq: i64, score: f64, more: &serde_json::Value) -> Recollection {
    let mut version = version(seq, &format!("text {seq}"));
    version.draft.entities = serde_json::from_value(more["entities"].clone()).unwrap_or_default();
    version.draft.group = more["group"].as_str().unwrap_or_default().to_owned();
    let mut one = found(version);
    one.scores =
        vec![Score { sense: Sense::Vector, raw: score, even: score, adds: score, rank: 1 }];
    one.score = score;
    one
}

fn order(mut found: Vec<Recollection>, question: &Question) -> Vec<i64> {
    Recall::kin(question, &mut found);
    found.retain(|one| one.withheld.is_empty());
    found.sort_by(|a, b| b.score.total_cmp(&a.score));
    found.iter().map(|one| one.version.seq).collect()
}

#[test]
fn what_names_the_same_things_as_the_best_hit_stands_above_what_is_as_alike() {
    let pump = |value: &str| json!({"entities": [{"kind": "model", "value": value}]});
    let mut below = candidate(4, 0.19, &pump("KC-75"));
    below.withheld = "below the threshold".to_owned();
    let all = || {
        vec![
            candidate(1, 0.5, &pump("KC-75")),
            candidate(2, 0.21, &pump("RB-15")),
            candidate(3, 0.2, &pump("kc-75 ")),
            below.clone(),
        ]
    };
    assert_eq!(order(all(), &Question::default()), [1, 3, 4, 2]);
    let without = Question { without: vec![Sense::Neighbour], ..Question::default() };
    assert_eq!(order(all(), &without), [1, 2, 3]);
}

#[test]
fn a_short_series_is_about_one_thing_and_a_long_one_is_not() {
    let turns = |count: i64| {
        let mut all =
            vec![candidate(1, 0.5, &json!({"group": "a"})), candidate(2, 0.21, &json!({}))];
        all.extend((3..3 + count).map(|seq| candidate(seq, 0.2, &json!({"group": "a"}))));
        order(all, &Question::default()).iter().position(|seq| *seq == 2).unwrap()
    };
    assert_eq!((turns(5), turns(40)), (6, 1));
}
