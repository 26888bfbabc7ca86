//! The scope, held against what [`Scope::has`] says of random versions and random questions.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::super::{Ask, Change, Chunk, Hit, Store};
use super::kit::{Dice, MODEL, TENANT, at, change, chunk, of, put_with, scope};
use super::kit::{draft, put};
use crate::memory::{
    Compare, Draft, End, Ended, Entity, Filter, Kind, Origin, Owned, Scope, State, Version,
};

const DAYS: [&str; 4] = [
    "2026-01-01T00:00:00Z",
    "2026-03-01T08:00:00+08:00",
    "2026-06-01T00:00:00Z",
    "2026-09-01T00:00:00.000001Z",
];
const KINDS: [Kind; 4] = [Kind::Knowledge, Kind::Case, Kind::Preference, Kind::Result];
const STATES: [State; 5] =
    [State::Active, State::Held, State::Quarantined, State::Rejected, State::Archived];
const COMPARES: [Compare; 6] =
    [Compare::Any, Compare::None, Compare::Less, Compare::Most, Compare::More, Compare::Least];
const FIELDS: [&str; 10] =
    ["line", "size", "day", "tags", "on", "source", "source_id", "group", "kind", "origin"];

fn day(dice: &mut Dice) -> Timestamp {
    let day: &&str = dice.pick(&DAYS);
    at(day)
}

fn value(dice: &mut Dice) -> Value {
    match dice.roll(11) {
        0 => json!(dice.roll(3)),
        1 => json!(f64::from(u8::try_from(dice.roll(4)).unwrap()) / 2.0),
        2 => json!("2026-03-01T00:00:00Z"),
        3 => json!("2026-03-01T08:00:00+08:00"),
        4 => json!(dice.chance(2)),
        5 => json!("knowledge"),
        6 => json!(format!("s{}", dice.roll(3))),
        7 => json!("person"),
        // Whole numbers that floating point does not tell apart, and one of them in another spelling.
        8 => json!(9_007_199_254_740_992_u64 + u64::from(u8::try_from(dice.roll(2)).unwrap())),
        9 => serde_json::from_str("9007199254740993.0").unwrap(),
        _ => json!(*dice.pick(&["a", "b", "水泵", ""])),
    }
}

fn random_draft(dice: &mut Dice) -> Draft {
    let mut draft = draft("the same words everywhere");
    draft.collection = (*dice.pick(&["notes", "manuals"])).to_owned();
    draft.kind = *dice.pick(&KINDS);
    draft.source = format!("s{}", dice.roll(3));
    draft.source_id = format!("s{}", dice.roll(3));
    draft.group = if dice.chance(2) { String::new() } else { format!("s{}", dice.roll(3)) };
    draft.triggers = vec!["same words".into()];
    draft.entities = vec![Entity { kind: "part".into(), value: "PX".into() }];
    for field in FIELDS {
        if dice.chance(3) {
            continue;
        }
        let value = match field {
            "tags" => json!([value(dice), value(dice)]),
            _ => value(dice),
        };
        draft.metadata.insert(field.into(), value);
    }
    draft
}

fn random_version(dice: &mut Dice) -> Version {
    let mut version = of(random_draft(dice));
    version.tenant = (*dice.pick(&[TENANT, TENANT, "other"])).to_owned();
    version.owner = (*dice.pick(&["ann", "bo"])).to_owned();
    version.state = if dice.chance(2) { State::Active } else { *dice.pick(&STATES) };
    version.origin = *dice.pick(&[Origin::Person, Origin::Web]);
    version.valid_from = dice.chance(2).then(|| day(dice));
    version.valid_to = dice.chance(2).then(|| day(dice));
    version
}

fn random_scope(dice: &mut Dice, recorded: &[Timestamp]) -> Scope {
    let owner = |dice: &mut Dice| dice.chance(2).then(|| "ann".to_owned());
    let owned = ["notes", "manuals"]
        .map(|collection| Owned { collection: collection.into(), owner: owner(dice) });
    let known_at = dice
        .chance(3)
        .then(|| *dice.pick(recorded) + SignedDuration::from_micros(i64::from(dice.chance(2))));
    let filters = if dice.chance(3) { 0 } else { 1 + dice.roll(2) };
    let filter = |_| Filter {
        field: (*dice.pick(&FIELDS)).to_owned(),
        compare: *dice.pick(&COMPARES),
        values: if dice.chance(3) { vec![value(dice), value(dice)] } else { vec![value(dice)] },
    };
    let filters = (0..filters).map(filter).collect();
    Scope {
        collections: if dice.chance(3) { owned[..1].to_vec() } else { owned.to_vec() },
        as_of: day(dice),
        known_at,
        kinds: if dice.chance(3) { vec![*dice.pick(&KINDS)] } else { Vec::new() },
        filters,
        held: dice.chance(2),
        quarantined: dice.chance(3),
        archived: dice.chance(2),
        ..scope()
    }
}

pub(super) async fn every_layer_keeps_to_the_scope(store: &dyn Store) {
    let mut dice = Dice(7);
    let mut seqs = Vec::new();
    for _ in 0..150 {
        let version = random_version(&mut dice);
        let vector = Some((MODEL.to_owned(), vec![1.0, 0.5]));
        let chunks = vec![Chunk { vector, ..chunk(&version) }];
        let changes = match (seqs.is_empty(), dice.chance(3)) {
            (false, true) => vec![ending(*dice.pick(&seqs))],
            _ => Vec::new(),
        };
        seqs.push(put_with(store, version, chunks, changes).await);
    }
    let mut all = store.load(TENANT, &seqs).await.unwrap();
    all.extend(store.load("other", &seqs).await.unwrap());
    let recorded: Vec<Timestamp> = all.iter().map(|version| version.recorded).collect();
    let mut found_any = 0;
    for case in 0..300 {
        let scope = random_scope(&mut dice, &recorded);
        let expected: BTreeSet<i64> =
            all.iter().filter(|version| scope.has(version)).map(|version| version.seq).collect();
        found_any += usize::from(!expected.is_empty());
        let listed = store.list(&scope, None, 1000).await.unwrap();
        let listed: BTreeSet<i64> = listed.iter().map(|version| version.seq).collect();
        assert_eq!(listed, expected, "case {case}, list: {scope:#?}");
        let ask = Ask {
            trigger: Some("the same words".into()),
            entities: vec![Entity { kind: "part".into(), value: "PX".into() }],
            words: Some("words everywhere".into()),
            vector: Some((MODEL.into(), vec![1.0, 0.0])),
            limit: 1000,
            ..Ask::default()
        };
        let found = store.search(&scope, &ask).await.unwrap();
        for (layer, hits) in [
            ("trigger", found.trigger),
            ("entity", found.entity),
            ("words", found.words),
            ("vector", found.vector),
        ] {
            let hits: Vec<Hit> = hits.unwrap().unwrap();
            let hits: BTreeSet<i64> = hits.iter().map(|hit| hit.seq).collect();
            assert_eq!(hits, expected, "case {case}, {layer}: {scope:#?}");
        }
        let limited = store.search(&scope, &Ask { limit: 3, ..ask }).await.unwrap();
        let limited = limited.words.unwrap().unwrap().len();
        assert_eq!(limited, expected.len().min(3), "what is outside does not count");
    }
    assert!(found_any > 60, "the questions are of use: {found_any}");
}

fn ending(seq: i64) -> Change {
    let end = Ended { at: Timestamp::now(), why: End::Superseded, by: None };
    Change { ended: Some(Some(end)), ..change(seq) }
}

pub(super) async fn neighbours_are_those_of_the_group_in_the_scope(store: &dyn Store) {
    let mut put_seqs = Vec::new();
    let turns = [
        ("talk", Some(10), "ann"),
        ("talk", Some(30), "ann"),
        ("talk", Some(20), "ann"),
        ("other", Some(15), "ann"),
        ("talk", Some(25), "bo"),
        ("talk", Some(40), "ann"),
        ("", None, "ann"),
        ("", None, "ann"),
        ("loose", None, "ann"),
        ("loose", None, "ann"),
    ];
    for (group, position, owner) in turns {
        let mut draft = draft("a turn");
        (draft.group, draft.position) = (group.to_owned(), position);
        put_seqs.push(put(store, Version { owner: owner.into(), ..of(draft) }).await);
    }
    let ended = put_seqs[5];
    store.change(None, &[ending(ended)]).await.unwrap();
    let beside = |scope: Scope, of: usize, span| {
        let of = put_seqs[of];
        let put_seqs = &put_seqs;
        async move {
            let found = store.beside(&scope, &[of], span).await.unwrap();
            assert!(found.iter().all(|beside| beside.of == of));
            let place = |seq| put_seqs.iter().position(|put| *put == seq).unwrap();
            let found = found.iter().map(|beside| (beside.distance, place(beside.seq)));
            found.collect::<BTreeSet<(i32, usize)>>()
        }
    };
    assert_eq!(beside(scope(), 2, 1).await, BTreeSet::from([(-1, 0), (1, 4)]));
    assert_eq!(beside(scope(), 2, 9).await, BTreeSet::from([(-1, 0), (1, 4), (2, 1)]));
    let own = Owned { collection: "notes".into(), owner: Some("ann".into()) };
    let own = Scope { collections: vec![own], ..scope() };
    assert_eq!(beside(own, 2, 1).await, BTreeSet::from([(-1, 0), (1, 1)]));
    assert_eq!(beside(scope(), 6, 3).await, BTreeSet::new(), "no group is no series");
    assert_eq!(beside(scope(), 8, 3).await, BTreeSet::from([(1, 9)]));
    assert_eq!(beside(scope(), 1, 0).await, BTreeSet::new());
    let other = Scope { tenant: "other".into(), ..scope() };
    assert_eq!(beside(other, 2, 3).await, BTreeSet::new());
}

pub(super) async fn neighbours_are_not_looked_for_without_end(store: &dyn Store) {
    let turn = |position: i64, owner: &str| {
        let mut draft = draft("a turn");
        (draft.group, draft.position) = ("talk".to_owned(), Some(position));
        Version { owner: owner.into(), ..of(draft) }
    };
    let first = put(store, turn(0, "ann")).await;
    for position in 1..64 {
        put(store, turn(position, "bo")).await;
    }
    let near = put(store, turn(64, "ann")).await;
    put(store, turn(65, "ann")).await;
    let own = Owned { collection: "notes".into(), owner: Some("ann".into()) };
    let own = Scope { collections: vec![own], ..scope() };
    let found = store.beside(&own, &[first], 9).await.unwrap();
    let found: Vec<(i64, i32)> = found.iter().map(|one| (one.seq, one.distance)).collect();
    assert_eq!(found, [(near, 1)], "the 64 nearest places are looked at, whoever may see them");
}
