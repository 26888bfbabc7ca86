//! Questions to a real memory: words, access, neighbours, states, failures.

use serde_json::json;

use super::super::Config;
use super::home::{Home, caller, deaf, ids, text, unit};
use crate::memory::{Entity, Question, Sense};

#[tokio::test]
async fn long_chinese_questions_find_what_has_parts_of_them() {
    let home = Home::new().await;
    home.texts(&["接口联调已经结束", "消息队列扩容失败了，磁盘写满", "周末去爬山看日出"]).await;
    for (question, first) in [
        ("接口联调结束的情况怎么样", "1"),
        ("消息队列现状", "2"),
        ("上周扩容为什么会失败", "2"),
        ("磁盘", "2"),
    ] {
        let answer = home.ask(&text(question)).await;
        assert_eq!(ids(&answer).first(), Some(&first), "{question}: {:?}", ids(&answer));
        let words = answer.hits[0].scores.iter().find(|score| score.sense == Sense::Words);
        assert!(words.unwrap().raw > 0.0);
        assert!(!ids(&answer).contains(&"3"), "{question}");
    }
}

#[tokio::test]
async fn a_question_is_text_and_never_syntax() {
    let home = Home::new().await;
    home.texts(&[
        "the short-lived side-car process",
        "limit 120 km/h",
        "they said \"ok\" about C++ and F#",
        "store name:val AND 1=1 there",
        "it isn't cached",
        "the $next cursor",
    ])
    .await;
    for (question, found) in [
        ("short-lived", Some("1")),
        ("side-car", Some("1")),
        ("km/h", Some("2")),
        ("\"ok", Some("3")),
        ("C++", Some("3")),
        ("name:val", Some("4")),
        ("cursor AND", Some("6")),
        ("isn't", Some("5")),
        ("$next", Some("6")),
        ("(rust", None),
        ("*", None),
        ("NEAR(", None),
        ("%", None),
        ("a%_b", None),
        ("'; DROP TABLE version;--", None),
    ] {
        let answer = home.ask(&text(question)).await;
        match found {
            Some(id) => assert_eq!(ids(&answer).first(), Some(&id), "{question}"),
            None => assert!(ids(&answer).len() < 6, "{question}: {:?}", ids(&answer)),
        }
    }
    assert_eq!(ids(&home.ask(&text("short-lived")).await), ["1"], "nothing was harmed");
}

#[tokio::test]
async fn a_blank_question_gets_the_newest_first() {
    let home = Home::new().await;
    home.texts(&["one thing", "another thing", "a third thing"]).await;
    for blank in ["", "  \n"] {
        let answer = home.ask(&Question { top_k: 2, ..text(blank) }).await;
        assert_eq!(ids(&answer), ["3", "2"]);
    }
}

#[tokio::test]
async fn composed_and_decomposed_letters_are_the_same() {
    let home = Home::new().await;
    home.texts(&["the caf\u{e9} is closed", "nothing else"]).await;
    assert_eq!(ids(&home.ask(&text("cafe\u{301}")).await), ["1"]);
}

#[tokio::test]
async fn a_turn_is_found_by_the_words_beside_it_and_by_no_other_conversation() {
    let home = Home::new().await;
    let turn = |id: &str, group: &str, position: i64, text: &str| {
        unit(
            id,
            json!({
                "text": text, "group": group, "position": position, "speaker": "Ana",
            }),
        )
    };
    home.write(
        "ana",
        vec![
            turn("a1", "monday", 1, "Which grease did you use for the gland of the pump?"),
            turn("a2", "monday", 2, "The white one from the blue tin."),
            turn("b1", "tuesday", 1, "It rained all day."),
            turn("b2", "tuesday", 2, "The red one from the green tin."),
        ],
    )
    .await;
    let answer = home.ask(&text("What grease was used on the pump gland?")).await;
    assert_eq!(ids(&answer)[..2], ["a1", "a2"]);
    let lent = |hit: &crate::memory::Recollection| {
        hit.scores.iter().any(|score| score.sense == Sense::Neighbour)
    };
    assert!(lent(&answer.hits[1]));
    let without = Question { without: vec![Sense::Neighbour], ..text("grease pump gland") };
    assert!(!ids(&home.ask(&without).await).contains(&"a2"));
}

#[tokio::test]
async fn nobody_finds_what_belongs_to_another() {
    let home = Home::new().await;
    let mut own = unit("p", json!({"text": "prefers reports in French", "kind": "preference"}));
    own.collection = "own".to_owned();
    home.write("ana", vec![own]).await;
    assert_eq!(ids(&home.ask_as("ana", &text("reports in French")).await), ["p"]);
    assert!(home.ask_as("ben", &text("reports in French")).await.hits.is_empty());
}

#[tokio::test]
async fn triggers_in_another_wording_stand_first() {
    let home = Home::new().await;
    let trigger =
        |id: &str, said: &[&str], text: &str| unit(id, json!({"text": text, "triggers": said}));
    home.write(
        "ana",
        vec![
            trigger(
                "1",
                &[],
                "Replace the filter of the PX-200 yearly; the filter is in the PX-200 lid.",
            ),
            trigger("2", &["How do I replace the filter of the PX-200?"], "See chapter nine."),
            trigger("3", &["如何更换滤芯"], "见第九章。"),
        ],
    )
    .await;
    let answer = home.ask(&text("please tell me how to replace the PX-200 filter")).await;
    assert_eq!(ids(&answer).first(), Some(&"2"));
    let answer = home.ask(&text("请问怎么更换滤芯？")).await;
    assert_eq!(ids(&answer).first(), Some(&"3"));
    let score = answer.hits[0].scores.iter().find(|score| score.sense == Sense::Trigger).unwrap();
    assert!((score.raw - 1.0).abs() < 1e-9, "{score:?}");
}

#[tokio::test]
async fn entities_are_found_in_the_question() {
    let home = Home::new().await;
    let about = |id: &str, value: &str| {
        unit(
            id,
            json!({
                "text": format!("delivery {id} was late"),
                "entities": [{"kind": "batch", "value": value}],
            }),
        )
    };
    home.write("ana", vec![about("1", "B2024-030"), about("2", "B2024-031")]).await;
    let answer = home.ask(&text("why was batch b2024-031 late")).await;
    assert_eq!(ids(&answer).first(), Some(&"2"));
    let named = Entity { kind: "batch".to_owned(), value: "B2024-030".to_owned() };
    let given = Question { entities: vec![named], ..text("late") };
    assert_eq!(ids(&home.ask(&given).await).first(), Some(&"1"));
}

#[tokio::test]
async fn a_padded_copy_does_not_win() {
    let home = Home::new().await;
    let said = "Gland bolts of the PX-200 are tightened to 22 Nm. ";
    let filler = "Unrelated words about weather, travel, lunch and the canteen go on here. ";
    home.write(
        "ana",
        vec![
            unit("short", json!({"text": said})),
            unit("repeated", json!({"text": said.repeat(12)})),
            unit(
                "filled",
                json!({"text": format!("{}{said}{}", filler.repeat(9), filler.repeat(9))}),
            ),
            unit("other", json!({"text": filler})),
        ],
    )
    .await;
    let answer = home.ask(&text("torque of the gland bolts of the PX-200")).await;
    assert_eq!(ids(&answer).first(), Some(&"short"), "{:?}", ids(&answer));
}

#[tokio::test]
async fn a_layer_that_fails_is_named_and_the_others_answer() {
    let home = Home::with(Some(deaf())).await;
    home.texts(&["the pump leaks"]).await;
    let answer = home.ask(&text("pump")).await;
    assert_eq!(ids(&answer), ["1"]);
    let [(sense, why)] = answer.failed.as_slice() else { panic!("{:?}", answer.failed) };
    assert_eq!(*sense, Sense::Vector);
    assert!(why.contains("127.0.0.1:9"), "{why}");
}

#[tokio::test]
async fn what_was_given_out_is_marked_as_used() {
    let home = Home::new().await;
    home.texts(&["the pump leaks", "the valve sticks"]).await;
    home.ask(&text("pump")).await;
    home.end().await;
    let seqs: Vec<i64> = (1..=2).collect();
    let versions = home.store.load("acme", &seqs).await.unwrap();
    let uses: Vec<u64> = versions.iter().map(|version| version.uses).collect();
    assert_eq!(uses, [1, 0]);
}

#[tokio::test]
async fn questions_out_of_bounds_are_refused() {
    let home = Home::new().await;
    let recall = home.recall(Config::default());
    for question in [
        Question { text: "x".repeat(40_000), ..Question::default() },
        Question { top_k: 201, ..text("x") },
        Question { threshold: Some(1.5), ..text("x") },
        Question { nearest: Some((91.0, 0.0, Vec::new())), ..text("x") },
        Question { image: Some(("m".to_owned(), vec![f32::NAN])), ..text("x") },
    ] {
        assert!(recall.recall(&caller("ana"), &home.owned("ana"), &question).await.is_err());
    }
}

#[tokio::test]
async fn the_nearest_come_first_with_their_distance() {
    let home = Home::new().await;
    let shop = |id: &str, latitude: f64, text: &str| {
        unit(
            id,
            json!({
                "text": text, "place": {"latitude": latitude, "longitude": 114.3, "type": "store"},
            }),
        )
    };
    home.write(
        "ana",
        vec![
            shop("far", 31.3, "Store North with seals"),
            shop("near", 30.51, "Store South with seals"),
            shop("closed", 30.5, "Office"),
        ],
    )
    .await;
    let near = Question { nearest: Some((30.5, 114.3, vec!["store".into()])), ..text("") };
    let answer = home.ask(&near).await;
    assert_eq!(ids(&answer), ["closed", "near", "far"]);
    let metres = answer.hits[1].metres.unwrap();
    assert!((metres - 1108.5).abs() < 2.0, "{metres}");
    let answer = home.ask(&Question { text: "store seals".into(), ..near }).await;
    assert_eq!(ids(&answer)[..2], ["near", "far"]);
}
