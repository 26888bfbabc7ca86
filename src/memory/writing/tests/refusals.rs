//! What the gate does not take, and what it says of it.

use serde_json::json;

use super::kit::{Bench, manual, note, with, wrong};
use crate::memory::{Draft, Stage};

/// Places of what is wrong with a curator's draft.
async fn places(bench: &Bench, draft: serde_json::Value) -> Vec<(String, String)> {
    wrong(bench.try_put(&bench.curator(), draft).await)
}

#[tokio::test]
async fn all_that_is_wrong_is_told_at_once_with_its_place_and_how_to_mend_it() {
    let bench = Bench::new().await;
    let draft = json!({
        "collection": "manuals", "source": "blog/x", "source_id": " ", "kind": "result",
        "text": "a\u{0}b", "origin": "web", "position": 3,
        "metadata": {"pages": "12", "printed": "2026-02-30", "language": "fr", "colour": "red"},
        "valid_from": "2026-05-01", "valid_to": "2026-04-01", "source_time": "1772355600",
        "place": {"latitude": 91.0, "longitude": 0.0},
        "entities": [{"kind": "part", "value": ""}],
        "tables": [{"columns": ["a", "b"], "rows": [["1"]]}],
        "images": [{"sha256": "xyz", "vector": [0.5], "vector_model": ""}],
        "derived_from": [],
    });
    let found = places(&bench, draft).await;
    let at: Vec<&str> = found.iter().map(|(place, _)| place.as_str()).collect();
    for place in [
        "/source",
        "/source_id",
        "/kind",
        "/text",
        "/origin",
        "/position",
        "/metadata/pages",
        "/metadata/printed",
        "/metadata/language",
        "/metadata/colour",
        "/valid_to",
        "/source_time",
        "/place/latitude",
        "/entities/0/value",
        "/tables/0/rows/0",
        "/images/0/sha256",
        "/images/0/vector_model",
    ] {
        assert!(at.contains(&place), "{place} is not in {found:#?}");
    }
    let message = |place: &str| &found.iter().find(|(at, _)| at == place).unwrap().1;
    assert!(message("/metadata/pages").contains("whole number, without quotes"));
    assert!(message("/metadata/language").contains("one of `zh`, `en`"));
    assert!(message("/metadata/colour").contains("declared are"));
    assert!(message("/kind").contains("`knowledge`, `case`"));
}

#[tokio::test]
async fn a_collection_that_the_caller_may_not_write_is_not_named() {
    let bench = Bench::new().await;
    for name in ["manual", "manuals", "nowhere"] {
        let draft = with(manual("1", "A rule of the house."), json!({"collection": name}));
        let found = wrong(bench.try_put(&bench.user(), draft).await);
        assert_eq!(found[0].0, "/collection");
        let hint = found[0].1.replace(&format!("`{name}`"), "");
        assert!(hint.contains("`notes`") && !hint.contains("manuals"), "{hint}");
    }
}

#[tokio::test]
async fn numbers_are_not_read_out_of_texts_and_times_become_instants() {
    let bench = Bench::new().await;
    let metadata =
        json!({"metadata": {"pages": 12, "printed": "2026-03-01T17:00:00+08:00", "manual": null}});
    let kept =
        bench.stored(&bench.curator(), with(manual("1", "A rule of the house."), metadata)).await;
    assert_eq!(kept.draft.metadata["printed"], "2026-03-01T09:00:00Z");
    assert!(!kept.draft.metadata.contains_key("manual"));
    for (pages, taken) in
        [(json!(12.5), false), (json!(true), false), (json!([12]), false), (json!(13.0), true)]
    {
        let draft =
            with(manual("2", "Another rule of the house."), json!({"metadata": {"pages": pages}}));
        assert_eq!(bench.try_put(&bench.curator(), draft).await.is_ok(), taken);
    }
}

#[tokio::test]
async fn what_is_too_large_is_refused_before_it_is_looked_at() {
    let bench = Bench::new().await;
    let huge = places(&bench, manual("1", &"a".repeat(50 << 20))).await;
    assert_eq!((huge.len(), huge[0].0.as_str()), (1, "/text"));
    let many = json!({"triggers": vec!["when does it open"; 33]});
    assert_eq!(places(&bench, with(manual("1", "A rule."), many)).await[0].0, "/triggers");
    let long = json!({"triggers": ["x".repeat(201)]});
    assert_eq!(places(&bench, with(manual("1", "A rule."), long)).await[0].0, "/triggers/0");
    let wide = json!({"tables": [{"columns": ["a"], "rows": vec![vec!["x"]; 10_001]}]});
    assert_eq!(places(&bench, with(manual("1", "A rule."), wide)).await[0].0, "/tables");
}

#[tokio::test]
async fn vectors_that_are_none_are_refused() {
    let bench = Bench::new().await;
    let mut draft: Draft = serde_json::from_value(with(
        manual("1", "A rule."),
        json!({
        "images": [{"sha256": "a".repeat(64), "vector_model": "clip", "vector": [0.5, 1.0]}]}),
    ))
    .unwrap();
    draft.images[0].vector[1] = f32::NAN;
    let found = wrong(bench.writing.remember(&bench.curator(), vec![draft], None).await.remove(0));
    assert_eq!(found[0].0, "/images/0/vector/1");
}

#[tokio::test]
async fn a_caller_can_lower_its_origin_and_never_raise_it() {
    let bench = Bench::new().await;
    let uma = bench.user();
    for (origin, taken) in [("curator", false), ("person", true), ("model", true), ("file", false)]
    {
        let draft = with(
            note(origin, &format!("Prefers the {origin} way of doing things.")),
            json!({"origin": origin}),
        );
        assert_eq!(bench.try_put(&uma, draft).await.is_ok(), taken, "{origin}");
    }
}

#[tokio::test]
async fn names_with_personal_numbers_are_refused_since_they_cannot_be_redacted() {
    let bench = Bench::new().await;
    let draft = with(
        note("tel-13800138000", "Likes tea in the morning."),
        json!({"group": "chat 13800138000"}),
    );
    let found = wrong(bench.try_put(&bench.user(), draft).await);
    let at: Vec<&str> = found.iter().map(|(place, _)| place.as_str()).collect();
    assert_eq!(at, ["/source_id", "/group"]);
    assert!(!format!("{found:?}").contains("13800138000"));
}

#[tokio::test]
async fn small_talk_and_what_is_only_true_now_are_refused() {
    let bench = Bench::new().await;
    let uma = bench.user();
    for text in [
        "Hello!",
        "ok, thanks a lot",
        "Good morning, how are you?",
        "Thank you so much!!",
        "你好",
        "好的，谢谢！",
        "收到，明白",
        "哈哈哈",
        "辛苦了，晚安",
        "See you tomorrow",
        "👍 great",
        "The stock level is 35 right now.",
        "Currently the exchange rate is 7.1.",
        "现在库存还有35件。",
        "目前排队12人",
        "The weather is sunny at the moment.",
    ] {
        let found = wrong(bench.try_put(&uma, note("1", text)).await);
        assert_eq!(found[0].0, "/text", "{text}");
    }
    let lasting =
        with(note("s", "The stock level is 35 right now."), json!({"valid_to": "2026-05-01"}));
    assert_eq!(bench.put(&uma, lasting).await.stage, Stage::Stored);
    for (at, text) in [
        "Say hello to every new customer.",
        "Thanks are due to the night shift for finding the leak.",
        "The rated current is 5 A.",
        "现在由三号线供货，以前由二号线供货。",
        "To see the stock level, call inventory.get.",
        "The current version of the form is B.",
        "客户喜欢被称呼为您好先生",
        "OK means the check passed; NG means it failed.",
        "目前版本为3.2，升级须停机。",
        "Queue length above 100 raises an alarm.",
        "库存低于20件时补货。",
        "Prefers to be greeted with good morning in Spanish.",
        "Uses Celsius.",
        "可以接受周末送货。",
    ]
    .into_iter()
    .enumerate()
    {
        let receipt = bench.try_put(&uma, note(&format!("n{at}"), text)).await;
        assert!(receipt.is_ok(), "{text}: {receipt:?}");
    }
}
