//! Chunks of long and short units, in both languages.

use jiff::tz::TimeZone;
use proptest::prelude::*;
use serde_json::json;
use unicode_segmentation::UnicodeSegmentation;

use super::{LEAST, MOST, chunk};
use crate::memory::unit::Draft;
use crate::tokens::count;

fn draft(more: serde_json::Value) -> Draft {
    let mut whole =
        json!({"collection": "c", "source": "s", "source_id": "1", "kind": "knowledge"});
    let serde_json::Value::Object(more) = more else { panic!("no fields") };
    whole.as_object_mut().unwrap().extend(more);
    serde_json::from_value(whole).unwrap()
}

fn texts(draft: &Draft, tokens: usize) -> Vec<String> {
    let chunks = chunk(draft, tokens, &TimeZone::UTC);
    assert!(chunks.iter().enumerate().all(|(at, one)| usize::try_from(one.ordinal).unwrap() == at));
    chunks.into_iter().map(|one| one.text).collect()
}

#[test]
fn a_short_unit_is_one_chunk_with_all_that_it_says() {
    let unit = draft(json!({
        "key": "Pump PX-200", "text": "Runs at 5 bar.", "value": "Replace the seal.",
        "speaker": "Li", "source_time": "2023-05-07T13:00:00Z",
        "images": [{"sha256": "", "description": "a cracked seal", "ocr_text": "SN 0042"}],
        "facts": [{"entity": "PX-200", "attribute": "pressure", "value": "5", "unit": "bar"}],
        "tables": [{"caption": "Parts", "columns": ["part", "count"], "rows": [["seal", "2"]]}],
    }));
    let all = texts(&unit, 384);
    assert_eq!(all.len(), 1, "{all:?}");
    for words in [
        "Pump PX-200",
        "Runs at 5 bar.",
        "Replace the seal.",
        "2023-05-07 (7 May 2023) Li:",
        "a cracked seal",
        "SN 0042",
        "PX-200 pressure: 5 bar",
        "Parts\npart | count\nseal | 2",
    ] {
        assert!(all[0].contains(words), "{words}: {}", all[0]);
    }
}

#[test]
fn long_texts_end_at_sentences_and_keep_their_title() {
    let english = "The valve opens when the pressure rises above the set point of the controller. ";
    let chinese = "当压力超过控制器的设定值时，阀门会自动打开，并在压力恢复后关闭。";
    for (sentence, end) in [(english, '.'), (chinese, '。')] {
        let unit = draft(json!({"key": "Valve", "text": sentence.repeat(120)}));
        let all = texts(&unit, 384);
        assert!(all.len() > 3);
        for text in &all {
            assert!(text.starts_with("Valve\n") && text.ends_with(end), "{text}");
            assert!(count(text) <= 384 + 8, "{}", count(text));
        }
        for text in &all[..all.len() - 1] {
            assert!(count(text) >= LEAST, "{}", count(text));
        }
        let kept: usize = all.iter().map(|text| text.matches(sentence.trim()).count()).sum();
        assert_eq!(kept, 120);
    }
}

#[test]
fn a_paragraph_begins_a_chunk_where_the_last_one_has_enough() {
    let paragraph = "One sentence of the first kind is here. ".repeat(36);
    let unit = draft(json!({"text": format!("{paragraph}\n\n{paragraph}\n\n{paragraph}")}));
    let all = texts(&unit, 384);
    assert_eq!(all.len(), 3, "{:?}", all.iter().map(|text| count(text)).collect::<Vec<_>>());
}

#[test]
fn a_long_table_repeats_its_columns() {
    let rows: Vec<Vec<String>> =
        (0..300).map(|at| vec![format!("part {at}"), format!("{at} mm")]).collect();
    let table = json!({"caption": "Sizes", "columns": ["name", "width"], "rows": rows});
    let all = texts(&draft(json!({"tables": [table]})), 256);
    assert!(all.len() > 5);
    assert!(all.iter().all(|text| text.starts_with("Sizes\nname | width\n")), "{all:?}");
    let lines = all.iter().flat_map(|text| text.lines()).filter(|line| line.contains(" mm"));
    assert_eq!(lines.count(), 300);
}

#[test]
fn the_date_stands_in_the_zone_of_the_collection() {
    let unit =
        draft(json!({"text": "你好", "speaker": "王", "source_time": "2026-03-01T17:00:00Z"}));
    let zone = TimeZone::get("Asia/Shanghai").unwrap();
    assert!(chunk(&unit, 384, &zone)[0].text.contains("2026-03-02"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn nothing_is_lost_nor_cut_inside_a_character(
        text in "(\\PC|[a-z ]{1,30}|[一-龥]{1,30}|👩‍👩‍👧|e\u{301}|[.。,，\n]){0,400}"
    ) {
        let unit = draft(json!({"text": text}));
        let all = texts(&unit, 256);
        prop_assert!(all.iter().all(|text| count(text) <= MOST));
        let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        let joined: String = all.iter().map(|text| bare(text)).collect();
        let wanted = if text.trim().is_empty() { "1".to_owned() } else { bare(&text) };
        prop_assert_eq!(&joined, &wanted);
        let known: std::collections::BTreeSet<&str> = text.graphemes(true).collect();
        for cut in all.iter().filter(|_| !text.trim().is_empty()) {
            let first = cut.graphemes(true).next().unwrap();
            prop_assert!(known.iter().any(|one| one.trim() == first.trim()), "{first:?}");
        }
    }
}
