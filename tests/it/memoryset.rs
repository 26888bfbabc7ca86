//! The labelled set in `tests/fixtures/memory`: both files are whole, agree with their collections and
//! with each other, and no unit that must stay away is also an answer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use serde::Deserialize;
use serde_json::Value;
use switchboard::memory::{Collection, Draft, Field, Form, Place, Table};

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
        serde_json::from_str(line)
            .map_err(|error| format!("{file}:{}: {error}", place + 1))
            .unwrap()
    };
    text.lines().enumerate().map(read).collect()
}

fn collections() -> BTreeMap<String, Collection> {
    let files = std::fs::read_dir(folder().join("policies/memory")).unwrap();
    let read = |file: std::io::Result<std::fs::DirEntry>| {
        let path = file.unwrap().path();
        let one: Collection = toml::from_str(&std::fs::read_to_string(&path).unwrap())
            .map_err(|error| format!("{}: {error}", path.display()))
            .unwrap();
        assert_eq!(path.file_stem().unwrap().to_str(), Some(one.name.as_str()));
        (one.name.clone(), one)
    };
    files.map(read).collect()
}

/// A time as its collection reads it; a date alone begins its day, or as an end takes it in whole.
fn instant(text: &str, zone: &str, end: bool) -> Timestamp {
    text.parse().unwrap_or_else(|_| {
        let date: jiff::civil::Date =
            text.parse().map_err(|error| format!("{text}: {error}")).unwrap();
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

/// The metadata that its collection demands, and none that it does not know.
fn has_its_metadata(unit: &Draft, of: &Collection) -> bool {
    let right = |(name, field): (&String, &Field)| match unit.metadata.get(name) {
        None => !field.required,
        Some(value) => {
            let known =
                |text: &str| field.values.is_empty() || field.values.iter().any(|v| v == text);
            field.form == Form::Text && value.as_str().is_some_and(known)
        }
    };
    of.metadata.iter().all(right) && unit.metadata.keys().all(|name| of.metadata.contains_key(name))
}

fn is_taken(unit: &Draft, of: &Collection) -> bool {
    of.kinds.contains(&unit.kind)
        && of.sources.iter().any(|one| names_a_source(one, &unit.source))
        && of.trust.contains_key(&unit.origin.unwrap_or(of.origin))
        && has_its_metadata(unit, of)
}

fn is_well_formed(unit: &Draft) -> bool {
    let cells = |table: &Table| table.rows.iter().all(|row| row.len() == table.columns.len());
    let on_earth = |place: &Place| place.latitude.abs() <= 90.0 && place.longitude.abs() <= 180.0;
    let said: Result<Timestamp, _> = unit.source_time.as_deref().unwrap_or_default().parse();
    said.is_ok()
        && !(unit.text.is_empty() && unit.value.is_empty())
        && unit.tables.iter().all(cells)
        && unit.place.iter().all(on_earth)
        && unit.group.is_empty() == unit.position.is_none()
        && unit.group.is_empty() == unit.speaker.is_empty()
}

#[test]
fn every_unit_is_one_that_its_collection_takes() {
    let (units, collections) = (lines::<Draft>("units.jsonl"), collections());
    assert!(units.len() >= 420, "{}", units.len());
    let (mut ids, mut turns) = (BTreeSet::new(), BTreeSet::new());
    for unit in &units {
        let of = &collections[&unit.collection];
        interval(unit, &of.time_zone);
        let twice = !ids.insert(&unit.source_id)
            || unit.position.is_some_and(|place| !turns.insert((&unit.group, place)));
        assert!(!twice && is_taken(unit, of) && is_well_formed(unit), "{}", unit.source_id);
    }
    let origins: BTreeSet<_> = units.iter().filter_map(|unit| unit.origin).collect();
    assert!(origins.len() >= 3, "{origins:?}");
    let count = |start: &str| units.iter().filter(|u| u.source_id.starts_with(start)).count();
    assert!(count("px-") >= 20 && count("cf-") >= 10 && turns.len() >= 60);
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

/// Whether a unit may be an answer: it holds on the day, or for ever where none is named, and lies
/// inside what the question asks for.
fn may_answer(question: &Question, unit: &Draft, zone: &str) -> bool {
    let (from, to) = interval(unit, zone);
    let holds = question.as_of.map_or_else(|| unit.valid_to.is_none(), |at| from <= at && at < to);
    let place = |near: &Near| unit.place.as_ref().is_some_and(|p| near.types.contains(&p.kind));
    holds
        && !hostile(&unit.source_id)
        && question.filters.iter().all(|filter| filter.takes(unit))
        && question.near.iter().all(place)
}

/// Whether there is a reason for which a unit must not come back.
fn must_stay_away(question: &Question, unit: &Draft, zone: &str) -> bool {
    let (from, to) = interval(unit, zone);
    let over = question.as_of.map_or_else(|| unit.valid_to.is_some(), |at| at < from || to <= at);
    hostile(&unit.source_id) || over || question.filters.iter().any(|filter| !filter.takes(unit))
}

impl Filter {
    fn takes(&self, unit: &Draft) -> bool {
        assert_eq!(self.compare, "any");
        unit.metadata.get(&self.field).is_some_and(|value| self.values.contains(value))
    }
}

impl Near {
    fn is_sound(&self) -> bool {
        let metres = self.metres.is_none_or(|metres| metres > 0.0);
        self.latitude.abs() <= 90.0 && self.longitude.abs() <= 180.0 && metres
    }
}

#[test]
fn every_question_has_answers_that_hold_and_none_that_must_stay_away() {
    let (collections, units) = (collections(), lines::<Draft>("units.jsonl"));
    let units: BTreeMap<_, _> = units.iter().map(|unit| (unit.source_id.as_str(), unit)).collect();
    let known = |name: &String| {
        let unit = units[name.as_str()];
        (unit, collections[&unit.collection].time_zone.as_str())
    };
    let questions = lines::<Question>("questions.jsonl");
    assert!(questions.len() >= 140, "{}", questions.len());
    let mut ids = BTreeSet::new();
    for question in &questions {
        let id = &question.id;
        assert!(
            ids.insert(id) && !question.text.is_empty() && !question.relevant.is_empty(),
            "{id}"
        );
        for (unit, zone) in question.relevant.iter().map(known) {
            assert!(may_answer(question, unit, zone), "{id}: {}", unit.source_id);
        }
        for (unit, zone) in question.never.iter().map(known) {
            assert!(must_stay_away(question, unit, zone), "{id}: {}", unit.source_id);
        }
        assert!(question.near.iter().all(Near::is_sound), "{id}");
    }
    let kinds: BTreeSet<_> = questions.iter().map(|question| &question.kind).collect();
    assert!(kinds.len() >= 20, "{kinds:?}");
    for kind in ["version", "paraphrase", "cross-language", "neighbour", "typo", "long", "poison"] {
        let is_there =
            |language| questions.iter().any(|q| q.kind == kind && q.language == language);
        assert!(is_there("zh") && is_there("en"), "{kind}");
    }
}

/// A word that is looked up: the answers are the units that have it.
fn having<'a>(units: &'a [Draft], question: &Question) -> BTreeSet<&'a String> {
    let has = |unit: &&Draft| {
        !hostile(&unit.source_id)
            && !question.never.contains(&unit.source_id)
            && serde_json::to_string(unit).unwrap().contains(question.text.as_str())
    };
    units.iter().filter(has).map(|unit| &unit.source_id).collect()
}

#[test]
fn questions_are_of_the_kind_that_they_say() {
    let units = lines::<Draft>("units.jsonl");
    let by_id: BTreeMap<_, _> = units.iter().map(|unit| (unit.source_id.as_str(), unit)).collect();
    for question in lines::<Question>("questions.jsonl") {
        let text = &question.text;
        let relevant: Vec<_> = question.relevant.iter().map(|name| by_id[name.as_str()]).collect();
        let is_so = match question.kind.as_str() {
            "cross-language" => relevant.iter().any(|unit| chinese(&whole(unit)) != chinese(text)),
            "short" => {
                text.chars().count() == 2
                    && having(&units, &question) == question.relevant.iter().collect()
            }
            "long" => text.chars().count() >= 60,
            "neighbour" => relevant.iter().all(|unit| !unit.group.is_empty()),
            "table" => relevant.iter().all(|unit| !unit.tables.is_empty()),
            "image" => relevant.iter().all(|unit| !unit.images.is_empty()),
            "as-of" => question.as_of.is_some(),
            "filter" => !question.filters.is_empty(),
            _ => true,
        };
        // A number alone has no language of its own.
        let language = question.kind == "number" || chinese(text) == (question.language == "zh");
        assert!(is_so && language, "{}", question.id);
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
