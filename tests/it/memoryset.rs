//! The labelled set in `tests/fixtures/memory`: both files are whole, agree with their collections and
//! with each other, and no unit that must stay away is also an answer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use serde::Deserialize;
use serde_json::Value;
use switchboard::memory::{Collection, Draft, Form};

use crate::daemon::ROOT;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    id: String,
    kind: String,
    language: String,
    text: String,
    as_of: Option<Timestamp>,
    #[serde(default)]
    filters: Vec<Filter>,
    near: Option<Near>,
    relevant: Vec<String>,
    never: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    field: String,
    compare: String,
    values: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Near {
    latitude: f64,
    longitude: f64,
    types: Vec<String>,
    metres: Option<f64>,
}

fn folder() -> PathBuf {
    PathBuf::from(ROOT).join("tests/fixtures/memory")
}

fn lines<T: for<'a> Deserialize<'a>>(file: &str) -> Vec<T> {
    let text = std::fs::read_to_string(folder().join(file)).unwrap();
    let read = |(place, line)| {
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{file}:{}: {error}", place + 1))
    };
    text.lines().enumerate().map(read).collect()
}

fn collections() -> BTreeMap<String, Collection> {
    let files = std::fs::read_dir(folder().join("policies/memory")).unwrap();
    let read = |file: std::io::Result<std::fs::DirEntry>| {
        let path = file.unwrap().path();
        let one: Collection = toml::from_str(&std::fs::read_to_string(&path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(path.file_stem().unwrap().to_str(), Some(one.name.as_str()));
        (one.name.clone(), one)
    };
    files.map(read).collect()
}

/// A time as its collection reads it; a date alone begins its day, or as an end takes it in whole.
fn instant(text: &str, zone: &str, end: bool) -> Timestamp {
    text.parse().unwrap_or_else(|_| {
        let date: jiff::civil::Date =
            text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        let date = if end { date.checked_add(1.day()).unwrap() } else { date };
        TimeZone::get(zone).unwrap().to_timestamp(date.into()).unwrap()
    })
}

/// From when until when a unit holds.
fn interval(unit: &Draft, zone: &str) -> (Timestamp, Timestamp) {
    let read = |text: &Option<String>, end| text.as_ref().map(|text| instant(text, zone, end));
    let from = read(&unit.valid_from, false).unwrap_or(Timestamp::MIN);
    let to = read(&unit.valid_to, true).unwrap_or(Timestamp::MAX);
    assert!(from < to, "{} ends before it begins", unit.source_id);
    (from, to)
}

/// Whether a unit has an order to a model in it, or gives another value than a trusted one.
fn hostile(id: &str) -> bool {
    id.starts_with("px-") || id.starts_with("cf-")
}

fn chinese(text: &str) -> bool {
    text.chars().filter(|c| ('\u{4e00}'..='\u{9fff}').contains(c)).count() * 4
        > text.chars().count()
}

fn whole(unit: &Draft) -> String {
    format!("{} {} {}", unit.key, unit.text, unit.value)
}

fn names_a_source(pattern: &str, source: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == source, |start| source.starts_with(start))
}

#[test]
fn every_unit_is_one_that_its_collection_takes() {
    let (units, collections) = (lines::<Draft>("units.jsonl"), collections());
    assert!(units.len() >= 420, "{}", units.len());
    let mut ids = BTreeSet::new();
    let mut places = BTreeSet::new();
    for unit in &units {
        let id = &unit.source_id;
        assert!(ids.insert(id), "{id} is there twice");
        let of = &collections[&unit.collection];
        assert!(of.kinds.contains(&unit.kind), "{id}");
        assert!(of.sources.iter().any(|one| names_a_source(one, &unit.source)), "{id}");
        assert!(of.trust.contains_key(&unit.origin.unwrap_or(of.origin)), "{id}");
        for (name, field) in &of.metadata {
            let value = unit.metadata.get(name);
            assert!(value.is_some() || !field.required, "{id} has no {name}");
            if let Some(value) = value {
                assert_eq!(field.form, Form::Text);
                let text = value.as_str().unwrap_or_else(|| panic!("{id}: {name}"));
                let known = field.values.is_empty() || field.values.iter().any(|one| one == text);
                assert!(known, "{id}: {name} {text}");
            }
        }
        assert!(unit.metadata.keys().all(|name| of.metadata.contains_key(name)), "{id}");
        interval(unit, &of.time_zone);
        let _: Timestamp = unit.source_time.as_ref().unwrap().parse().unwrap();
        assert!(!(unit.text.is_empty() && unit.value.is_empty()), "{id}");
        let cells = |table: &switchboard::memory::Table| {
            table.rows.iter().all(|row| row.len() == table.columns.len())
        };
        assert!(unit.tables.iter().all(cells), "{id}");
        if let Some(place) = &unit.place {
            assert!(place.latitude.abs() <= 90.0 && place.longitude.abs() <= 180.0, "{id}");
        }
        if unit.group.is_empty() {
            assert!(unit.position.is_none() && unit.speaker.is_empty(), "{id}");
        } else {
            assert!(places.insert((&unit.group, unit.position.unwrap())), "{id}");
        }
    }
    let origins: BTreeSet<_> = units.iter().filter_map(|unit| unit.origin).collect();
    assert!(origins.len() >= 4, "{origins:?}");
    let count = |start: &str| units.iter().filter(|u| u.source_id.starts_with(start)).count();
    assert!(count("px-") >= 20 && count("cf-") >= 10 && places.len() >= 60);
}

#[test]
fn versions_of_one_document_follow_each_other() {
    let collections = collections();
    let mut versions: BTreeMap<(String, String), Vec<_>> = BTreeMap::new();
    for unit in lines::<Draft>("units.jsonl") {
        let of = &collections[&unit.collection];
        let name = of.document.as_ref().and_then(|name| unit.metadata.get(name));
        if let Some(document) = name.filter(|_| !hostile(&unit.source_id)) {
            let key = (unit.collection.clone(), document.as_str().unwrap().to_owned());
            let (from, to) = interval(&unit, &of.time_zone);
            versions.entry(key).or_default().push((from, to, unit.source_id));
        }
    }
    let mut several = 0;
    for (document, mut intervals) in versions {
        intervals.sort();
        several += usize::from(intervals.len() > 1);
        for pair in intervals.windows(2) {
            assert_eq!(pair[0].1, pair[1].0, "{document:?}: {} and {}", pair[0].2, pair[1].2);
        }
    }
    assert!(several >= 15, "{several}");
}

#[test]
fn every_question_has_answers_that_hold_and_none_that_must_stay_away() {
    let (collections, units) = (collections(), lines::<Draft>("units.jsonl"));
    let units: BTreeMap<_, _> = units.iter().map(|unit| (unit.source_id.as_str(), unit)).collect();
    let questions = lines::<Question>("questions.jsonl");
    assert!(questions.len() >= 140, "{}", questions.len());
    let (mut ids, mut kinds) = (BTreeSet::new(), BTreeMap::<_, usize>::new());
    for question in &questions {
        let id = &question.id;
        assert!(ids.insert(id), "{id} is there twice");
        *kinds.entry((&question.kind, &question.language)).or_default() += 1;
        assert!(!question.text.is_empty() && !question.relevant.is_empty(), "{id}");
        for name in &question.relevant {
            let unit = units[name.as_str()];
            assert!(!hostile(name) && !question.never.contains(name), "{id}: {name}");
            let (from, to) = interval(unit, &collections[&unit.collection].time_zone);
            match question.as_of {
                Some(at) => assert!(from <= at && at < to, "{id}: {name} does not hold"),
                None => assert!(unit.valid_to.is_none(), "{id}: {name} will not always hold"),
            }
            for filter in &question.filters {
                assert_eq!(filter.compare, "any");
                let value = &unit.metadata[&filter.field];
                assert!(filter.values.contains(value), "{id}: {name}");
            }
            if let Some(near) = &question.near {
                let place = unit.place.as_ref().unwrap();
                assert!(near.types.contains(&place.kind), "{id}: {name}");
            }
        }
        for name in &question.never {
            let unit = units[name.as_str()];
            let (from, to) = interval(unit, &collections[&unit.collection].time_zone);
            let over = match question.as_of {
                Some(at) => at < from || to <= at,
                None => unit.valid_to.is_some(),
            };
            let left = question.filters.iter().any(|filter| {
                unit.metadata.get(&filter.field).is_none_or(|value| !filter.values.contains(value))
            });
            assert!(hostile(name) || over || left, "{id}: why never {name}?");
        }
        if let Some(near) = &question.near {
            assert!(near.latitude.abs() <= 90.0 && near.longitude.abs() <= 180.0, "{id}");
            assert!(near.metres.is_none_or(|metres| metres > 0.0), "{id}");
        }
    }
    for kind in ["version", "paraphrase", "cross-language", "neighbour", "typo", "long", "poison"] {
        for language in ["zh", "en"] {
            let count = kinds.get(&(&kind.to_owned(), &language.to_owned())).copied();
            assert!(count.unwrap_or_default() >= 1, "{kind} in {language}");
        }
    }
    assert!(kinds.keys().map(|(kind, _)| kind).collect::<BTreeSet<_>>().len() >= 20);
}

#[test]
fn questions_are_of_the_kind_that_they_say() {
    let units = lines::<Draft>("units.jsonl");
    let by_id: BTreeMap<_, _> = units.iter().map(|unit| (unit.source_id.as_str(), unit)).collect();
    for question in lines::<Question>("questions.jsonl") {
        let (id, text) = (&question.id, &question.text);
        // A number alone has no language of its own.
        assert!(question.kind == "number" || chinese(text) == (question.language == "zh"), "{id}");
        let relevant: Vec<_> = question.relevant.iter().map(|name| by_id[name.as_str()]).collect();
        match question.kind.as_str() {
            "cross-language" => {
                let other = |unit: &&Draft| chinese(&whole(unit)) != chinese(text);
                assert!(relevant.iter().any(other), "{id}");
            }
            "short" => {
                assert_eq!(text.chars().count(), 2, "{id}");
                // A word that is looked up: the answers are the units that have it.
                let has = |unit: &&Draft| {
                    !hostile(&unit.source_id)
                        && !question.never.contains(&unit.source_id)
                        && serde_json::to_string(unit).unwrap().contains(text.as_str())
                };
                let with: BTreeSet<_> = units.iter().filter(has).map(|u| &u.source_id).collect();
                assert_eq!(with, question.relevant.iter().collect(), "{id}");
            }
            "long" => assert!(text.chars().count() >= 60, "{id}"),
            "neighbour" => assert!(relevant.iter().all(|unit| !unit.group.is_empty()), "{id}"),
            "table" => assert!(relevant.iter().all(|unit| !unit.tables.is_empty()), "{id}"),
            "image" => assert!(relevant.iter().all(|unit| !unit.images.is_empty()), "{id}"),
            "as-of" => assert!(question.as_of.is_some(), "{id}"),
            "filter" => assert!(!question.filters.is_empty(), "{id}"),
            _ => {}
        }
    }
}

#[test]
fn the_conversation_is_whole_and_its_evidence_is_there() {
    let (units, collections) = (lines::<Draft>("talk/units.jsonl"), collections());
    let questions = lines::<Question>("talk/questions.jsonl");
    assert!(units.len() >= 200 && questions.len() >= 70);
    for (place, unit) in (1..).zip(&units) {
        let of = &collections[&unit.collection];
        assert!(
            of.kinds.contains(&unit.kind)
                && of.sources.iter().any(|one| names_a_source(one, &unit.source))
        );
        assert_eq!(unit.position, Some(place));
        assert!(!unit.speaker.is_empty() && !unit.text.is_empty() && unit.source_time.is_some());
    }
    let turns: BTreeSet<_> = units.iter().map(|unit| &unit.source_id).collect();
    assert_eq!(turns.len(), units.len());
    let kinds: BTreeSet<_> = questions.iter().map(|question| question.kind.as_str()).collect();
    assert_eq!(kinds, BTreeSet::from(["multi", "open", "single", "temporal"]));
    for question in &questions {
        assert!(!question.relevant.is_empty(), "{}", question.id);
        assert!(question.relevant.iter().all(|turn| turns.contains(turn)), "{}", question.id);
    }
}
