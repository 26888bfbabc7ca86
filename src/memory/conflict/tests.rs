//! Labelled pairs of units, and the rules that do not read texts.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Reading, between, marks, measure, number};
use crate::memory::collection::Collection;
use crate::memory::instant::{Side, read};
use crate::memory::unit::{Draft, Layer, Origin, State, Trust, UnitId, Version};

const COLLECTION: &str = r#"
name = "manuals"
description = "manuals"
layer = "curated"
kinds = ["knowledge", "case"]
sources = ["*"]
origin = "curator"
trust = { curator = 100 }
document = "manual"
access = { read = ["any"], write = ["role:curator"], review = ["role:reviewer"] }
metadata.manual = { type = "text", required = false }
metadata.region = { type = "text", required = false, enum = ["north", "south"] }
attributes.pressure = { values = "one", tolerance = "0.01" }
attributes.expires = { values = "one" }
attributes.waterproof = { values = "one" }
attributes.serial = { values = "one" }
attributes.tested_with = { values = "many" }
attributes.city = { values = "successive" }
"#;

fn collection() -> Collection {
    toml::from_str(COLLECTION).unwrap()
}

/// A version of what a fixture tells of a unit.
fn version(told: &Value) -> Version {
    let mut whole = json!({
        "collection": "manuals", "source": "s", "kind": "knowledge",
        "source_id": uuid::Uuid::now_v7().to_string(),
    });
    whole.as_object_mut().unwrap().extend(told.as_object().unwrap().clone());
    let draft: Draft = serde_json::from_value(whole).unwrap();
    let zone = jiff::tz::TimeZone::UTC;
    let time =
        |text: &Option<String>, side| text.as_ref().map(|text| read(text, side, &zone).unwrap());
    Version {
        unit: UnitId::generate(),
        seq: 1,
        tenant: "acme".into(),
        owner: "ann".into(),
        layer: Layer::Curated,
        source_time: jiff::Timestamp::UNIX_EPOCH,
        valid_from: time(&draft.valid_from, Side::From),
        valid_to: time(&draft.valid_to, Side::To),
        recorded: jiff::Timestamp::UNIX_EPOCH,
        ended: None,
        state: State::Active,
        trust: Trust(100),
        origin: Origin::Curator,
        digest: String::new(),
        remarks: Vec::new(),
        conflicts: Vec::new(),
        used: None,
        uses: 0,
        draft,
    }
}

/// What is found, the same whichever of the two came first.
fn clash(one: &Value, two: &Value) -> Option<String> {
    let (one, two, collection) = (version(one), version(two), collection());
    let (left, right) = (Reading::of(&one.draft), Reading::of(&two.draft));
    let found = between((&one, &left), &two, &collection);
    let back = between((&two, &right), &one, &collection);
    assert_eq!(found.is_some(), back.is_some(), "{} | {}", one.draft.text, two.draft.text);
    let [ours, theirs] = [&one, &two].map(|version| marks(&version.draft, &collection));
    let shared = ours.iter().any(|mark| theirs.contains(mark));
    assert!(shared || found.is_none(), "{ours:?} and {theirs:?} are not held against each other");
    found.map(|clash| clash.why)
}

#[test]
fn labelled_pairs_are_told_apart() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/memory/conflicts.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let (mut found, mut wrong) = ([0_u32; 2], Vec::new());
    let mut all = [0_u32; 2];
    let mut kinds: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for line in text.lines() {
        let pair: Value = serde_json::from_str(line).unwrap();
        let conflict = pair["conflict"].as_bool().unwrap();
        let why = clash(&pair["a"], &pair["b"]);
        let kind = format!("{} {} {conflict}", pair["lang"], pair["kind"]);
        let count = kinds.entry(kind).or_default();
        count.1 += 1;
        all[usize::from(conflict)] += 1;
        if why.is_some() {
            found[usize::from(conflict)] += 1;
            count.0 += 1;
        }
        if why.is_some() != conflict {
            wrong.push(format!(
                "{} {} | {}: {why:?}",
                pair["id"], pair["a"]["text"], pair["b"]["text"]
            ));
        }
    }
    let share = |at: usize| f64::from(found[at]) / f64::from(all[at]);
    println!(
        "{} pairs: detection {:.3} of {}, false conflicts {:.3} of {}",
        all[0] + all[1],
        share(1),
        all[1],
        share(0),
        all[0]
    );
    kinds.iter().for_each(|(kind, (found, of))| println!("  {kind}: {found} of {of}"));
    wrong.iter().for_each(|line| println!("  wrong: {line}"));
    assert!(all[0] + all[1] >= 150 && all[0] >= 75, "{all:?}");
    assert!(share(1) >= 0.85, "detection {}", share(1));
    assert!(share(0) <= 0.02, "false conflicts {}", share(0));
}

fn fact(attribute: &str, value: &str, unit: &str) -> Value {
    json!({"text": "x", "facts": [
        {"entity": "PX-200", "attribute": attribute, "value": value, "unit": unit}]})
}

#[test]
fn values_of_single_valued_attributes_are_compared_by_what_they_are() {
    for (attribute, one, two, differ) in [
        ("pressure", ("5", "bar"), ("500", "kPa"), false),
        ("pressure", ("5", "bar"), ("5.04", "bar"), false),
        ("pressure", ("5", "bar"), ("5.2", "bar"), true),
        ("pressure", ("5", "bar"), ("5", "kg"), true),
        ("pressure", ("5 bar", ""), ("500", "kPa"), false),
        ("serial", ("12345678901234567890", ""), ("12345678901234567891", ""), true),
        ("serial", ("1.50", ""), ("1.5", ""), false),
        ("expires", ("2026-12-31", ""), ("31 December 2026", ""), false),
        ("expires", ("2026-12-31", ""), ("2027-01-01", ""), true),
        ("waterproof", ("true", ""), ("是", ""), false),
        ("waterproof", ("yes", ""), ("no", ""), true),
        ("tested_with", ("model A", ""), ("model B", ""), false),
        ("city", ("Beijing", ""), ("Wuhan", ""), false),
        ("undeclared", ("1", ""), ("2", ""), false),
    ] {
        let (left, right) = (fact(attribute, one.0, one.1), fact(attribute, two.0, two.1));
        assert_eq!(clash(&left, &right).is_some(), differ, "{attribute} {one:?} {two:?}");
    }
}

#[test]
fn versions_of_one_document_contradict_each_other_where_both_hold() {
    let manual = |id: &str, from: &str, to: Option<&str>, group: &str| {
        json!({"text": "x", "source_id": id, "valid_from": from, "valid_to": to, "group": group,
            "metadata": {"manual": "PX"}})
    };
    let old = manual("v1", "2025-01-01", None, "");
    assert!(clash(&old, &manual("v2", "2026-01-01", None, "")).is_some());
    let closed = manual("v1", "2025-01-01", Some("2025-12-31"), "");
    assert!(clash(&closed, &manual("v2", "2026-01-01", None, "")).is_none());
    let other = json!({"text": "x", "source_id": "v2", "metadata": {"manual": "QX"}});
    assert!(clash(&old, &other).is_none());
    let page = manual("v1-p1", "2025-01-01", None, "PX/v1");
    assert!(clash(&page, &manual("v1-p2", "2025-01-01", None, "PX/v1")).is_none());
    assert!(clash(&page, &manual("v2-p1", "2025-06-01", None, "PX/v2")).is_some());
}

#[test]
fn what_listed_metadata_or_a_place_tells_apart_is_not_compared() {
    let told = |region: &str, north: f64| {
        json!({"key": "Opening", "text": if region == "north" { "The shop opens at 9:00." } else { "The shop opens at 11:00." },
            "metadata": {"region": region}, "place": {"latitude": north, "longitude": 1.0}})
    };
    assert!(clash(&told("north", 1.0), &told("south", 1.0)).is_none());
    let mut there = told("south", 1.0);
    there["metadata"]["region"] = "north".into();
    assert!(clash(&told("north", 1.0), &there).is_some());
    there["place"]["latitude"] = 2.0.into();
    assert!(clash(&told("north", 1.0), &there).is_none());
}

#[test]
fn numbers_and_dates_are_read_as_people_write_them() {
    for (text, value, dimension) in [
        ("5 bar", 5e5, "pressure"),
        ("０.５ MPa", 5e5, "pressure"),
        ("1,500 g", 1.5, "mass"),
        ("20 ℃", 293.15, "temperature"),
        ("2 years", 24.0, "months"),
        ("12 %", 0.12, "share"),
        ("-3", -3.0, ""),
    ] {
        let read = measure::parse(text).unwrap();
        assert!((read.value - value).abs() < 1e-6 * value.abs() + 1e-9, "{text} {read:?}");
        assert_eq!(read.dimension, dimension, "{text}");
    }
    assert!(measure::parse("5 apples").is_none() && measure::parse("PX-200").is_none());
    for text in ["2026-03-01", "2026年3月1日", "1 March 2026", "March 1, 2026", "2026/3/1"] {
        let day = number::date(text).unwrap();
        assert_eq!((day.year, day.month, day.day), (2026, Some(3), Some(1)), "{text}");
    }
}

mod proptests {
    use proptest::prelude::*;

    use super::super::clause::clauses;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_text_is_read(text in "(\\PC|[0-9]{1,4}|[ .,:-]|bar|mm|年|月|日|小时|不|[一-龥]){0,80}") {
            let read = clauses(&text);
            prop_assert!(read.len() <= 96);
        }
    }
}
