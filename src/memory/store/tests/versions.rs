//! Versions as they are kept, and how the write path finds them.

use jiff::Timestamp;
use serde_json::json;

use super::super::{Ask, Change, Look, Rival, Store};
use super::kit::{
    COLLECTION, TENANT, ask_words, at, change, chunk, draft, next, of, put, put_with, scope,
    version,
};
use crate::memory::{
    End, Ended, Entity, Fact, Image, Kind, Layer, Origin, Owned, Place, Scope, State, Table, Trust,
    UnitId, Version,
};

/// No versions.
const NONE: [i64; 0] = [];

/// A version in which nothing is left at its default.
fn full() -> Version {
    let mut draft = draft("压力测试 已经完成");
    draft.source_time = Some("2026-03-01T09:00:00.123456Z".into());
    draft.kind = Kind::Case;
    draft.origin = Some(Origin::Tool);
    draft.key = "E14".into();
    draft.triggers = vec!["what is E14".into()];
    draft.value = "replace the pump \u{1f469}\u{1f3fd}\u{200d}\u{1f4bb}".into();
    draft.metadata = serde_json::from_value(json!({
        "z": 1, "line": "pumps", "tags": ["a", "b"], "exact": 12_345_678_901_234_567_890_u64
    }))
    .unwrap();
    draft.valid_from = Some("2026-01-01T00:00:00Z".into());
    draft.entities = vec![Entity { kind: "part".into(), value: "PX-200".into() }];
    draft.facts = vec![Fact {
        entity: "PX-200".into(),
        attribute: "pressure".into(),
        value: "4.2".into(),
        unit: "bar".into(),
    }];
    draft.place = Some(Place {
        latitude: 22.543_099_123_456_7,
        longitude: -179.999_999_9,
        kind: "site".into(),
    });
    draft.images = vec![Image {
        uri: "s3://b/i.png".into(),
        media_type: "image/png".into(),
        sha256: "00".repeat(32),
        description: "a pump".into(),
        ocr_text: "PX".into(),
        vector_model: "clip".into(),
        vector: vec![0.1, -0.7, 0.333_333_34],
    }];
    draft.tables = vec![Table {
        caption: "limits".into(),
        columns: vec!["bar".into()],
        rows: vec![vec!["4.2".into()]],
    }];
    draft.group = "talk".into();
    draft.position = Some(-3);
    draft.speaker = "Bo".into();
    draft.derived_from = vec![UnitId::generate()];
    draft.supersedes = Some(UnitId::generate());
    Version {
        layer: Layer::Curated,
        source_time: at("2026-03-01T09:00:00.123456Z"),
        valid_from: Some(at("2026-01-01T00:00:00Z")),
        valid_to: Some(at("9999-12-30T22:00:00Z")),
        state: State::Held,
        trust: Trust(7),
        origin: Origin::Tool,
        remarks: vec!["contradicts".into(), "第二".into()],
        conflicts: vec![UnitId::generate()],
        used: Some(at("2026-02-01T00:00:00Z")),
        uses: 9,
        ..of(draft)
    }
}

pub(super) async fn a_version_comes_back_as_it_was_written(store: &dyn Store) {
    let written = full();
    let seq = put(store, written.clone()).await;
    let found = store.load(TENANT, &[seq]).await.unwrap().remove(0);
    assert!(found.recorded > Timestamp::UNIX_EPOCH);
    assert_eq!(found, Version { seq, recorded: found.recorded, ..written.clone() });
    let names = |version: &Version| version.draft.metadata.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&written), "in the order of its writer");

    let mut ended = version("history");
    let by = Some(UnitId::generate());
    ended.ended = Some(Ended { at: at("2999-01-01T00:00:00Z"), why: End::Superseded, by });
    let seq = put(store, ended.clone()).await;
    assert_eq!(store.load(TENANT, &[seq]).await.unwrap()[0].ended, ended.ended);
}

pub(super) async fn recorded_times_rise_and_places_count_up(store: &dyn Store) {
    let before = Timestamp::now();
    let mut seqs = Vec::new();
    for number in 0..20 {
        seqs.push(put(store, version(&format!("number {number}"))).await);
    }
    assert!(seqs.is_sorted() && seqs[0] > 0, "{seqs:?}");
    let found = store.load(TENANT, &seqs).await.unwrap();
    let times: Vec<Timestamp> = found.iter().map(|version| version.recorded).collect();
    assert!(times.windows(2).all(|two| two[0] < two[1]), "{times:?}");
    let second = jiff::SignedDuration::from_secs(1);
    assert!(times[0] > before - second && times[19] < Timestamp::now() + second);
}

pub(super) async fn versions_come_in_the_order_asked_for_and_of_one_tenant(store: &dyn Store) {
    let first = put(store, version("first")).await;
    let other = put(store, Version { tenant: "other".into(), ..version("other") }).await;
    let last = put(store, version("last")).await;
    let found = store.load(TENANT, &[last, other, 999_999, first]).await.unwrap();
    assert_eq!(found.iter().map(|version| version.seq).collect::<Vec<_>>(), [last, first]);
    let theirs = store.load("other", &[last, other]).await.unwrap();
    assert_eq!(theirs.iter().map(|version| version.seq).collect::<Vec<_>>(), [other]);
}

pub(super) async fn versions_are_found_by_source_digest_document_and_claim(store: &dyn Store) {
    let mut first = version("pressure is 4.2 bar");
    first.draft.metadata = serde_json::from_value(json!({"document": "PX-200/7", "n": 3})).unwrap();
    first.draft.facts = vec![Fact {
        entity: "PX-200".into(),
        attribute: "pressure".into(),
        value: "4.2".into(),
        unit: "bar".into(),
    }];
    let old = put(store, first.clone()).await;
    let end = Ended { at: at("2026-05-01T00:00:00Z"), why: End::Replaced, by: None };
    let later = next(&first, "pressure is 4.3 bar");
    let ends = vec![Change { ended: Some(Some(end)), ..change(old) }];
    let seq = put_with(store, later.clone(), vec![chunk(&later)], ends).await;
    put(store, Version { tenant: "other".into(), ..next(&first, "pressure is 4.3 bar") }).await;
    let mut elsewhere = next(&first, "pressure is 4.3 bar");
    elsewhere.draft.collection = "manuals".into();
    let elsewhere = put(store, elsewhere).await;

    let here = (TENANT, COLLECTION);
    let seqs = |found: Vec<Version>| found.iter().map(|version| version.seq).collect::<Vec<_>>();
    let history = store.history(TENANT, &first.unit).await.unwrap();
    assert_eq!(seqs(history), [elsewhere, seq, old]);
    assert_eq!(seqs(store.of_source(TENANT, &first.draft).await.unwrap()), [seq]);
    assert_eq!(seqs(store.equal(here, &later.digest).await.unwrap()), [seq]);
    assert_eq!(seqs(store.equal(here, &first.digest).await.unwrap()), NONE, "it has ended");
    let all = Rival { limit: 9, ..Rival::default() };
    assert_eq!(seqs(store.alike(here, ("document", "PX-200/7"), &all).await.unwrap()), [seq]);
    assert_eq!(seqs(store.alike(here, ("document", "PX-200"), &all).await.unwrap()), NONE);
    assert_eq!(seqs(store.alike(here, ("absent", "PX-200/7"), &all).await.unwrap()), NONE);
    let claims = [("PX-200", "weight"), ("PX-200", "pressure")];
    let claims = claims.map(|(entity, attribute)| (entity.to_owned(), attribute.to_owned()));
    assert_eq!(seqs(store.rivals(here, &claims, &all).await.unwrap()), [seq]);
    assert_eq!(seqs(store.rivals(here, &claims[..1], &all).await.unwrap()), NONE);
    assert_eq!(seqs(store.rivals(here, &[], &all).await.unwrap()), NONE);
}

pub(super) async fn what_bears_on_several_writes_is_told_at_once(store: &dyn Store) {
    let about = |text: &str| {
        let mut version = version(text);
        version.draft.entities = vec![Entity { kind: "model".into(), value: "PX-200".into() }];
        version
    };
    let one = about("the seal lasts two years");
    let first = put(store, one.clone()).await;
    let second = put(store, about("the seal is black")).await;
    let bare = put(store, version("the gate closes at five")).await;
    // None of these is in the scope.
    put(store, Version { tenant: "other".into(), ..about("the seal is red") }).await;
    put(store, Version { state: State::Held, ..about("the seal is green") }).await;
    let past = Some(at("2026-02-01T00:00:00Z"));
    put(store, Version { valid_to: past, ..about("the seal was blue") }).await;

    let entities = one.draft.entities.clone();
    let kin = |ask: Ask| vec![(scope(), Ask { limit: 10, ..ask })];
    let new = |kin| Look { tenant: TENANT.into(), draft: draft("new"), digest: None, kin };
    let looks = [
        new(kin(Ask { entities: entities.clone(), ..Ask::default() })),
        Look { draft: one.draft.clone(), digest: Some(one.digest.clone()), ..new(Vec::new()) },
        new(kin(Ask { entities, words: Some("gate".into()), ..Ask::default() })),
        Look { tenant: "nobody".into(), draft: one.draft.clone(), ..new(Vec::new()) },
    ];
    let found = store.look(&looks).await.unwrap();
    let seqs = |found: &[Version]| found.iter().map(|version| version.seq).collect::<Vec<_>>();
    let all = found.iter().map(|one| (seqs(&one.same), seqs(&one.equal), seqs(&one.kin)));
    let none = Vec::new;
    assert_eq!(
        all.collect::<Vec<_>>(),
        [
            (none(), none(), vec![first, second]),
            (vec![first], vec![first], none()),
            (none(), none(), vec![first, second, bare]),
            (none(), none(), none()),
        ]
    );
}

pub(super) async fn what_takes_the_place_of_another_is_known_from_the_same_instant_on(
    store: &dyn Store,
) {
    let first = version("the gate closes at five");
    let old = put(store, first.clone()).await;
    let later = next(&first, "the gate closes at six");
    // Whoever settles has looked at its clock earlier.
    let end = Ended { at: at("2026-01-01T00:00:00Z"), why: End::Replaced, by: None };
    let ends = vec![Change { ended: Some(Some(end)), ..change(old) }];
    let new = put_with(store, later.clone(), vec![chunk(&later)], ends).await;
    let found = store.load(TENANT, &[old, new]).await.unwrap();
    assert_eq!(found[0].ended.as_ref().unwrap().at, found[1].recorded);
    let known = |known_at| Scope { known_at: Some(known_at), ..scope() };
    let micro = jiff::SignedDuration::from_micros(1);
    for (known_at, seq) in [
        (found[1].recorded - micro, old),
        (found[1].recorded, new),
        (found[1].recorded + micro, new),
        (found[0].recorded, old),
    ] {
        let hits = ask_words(store, &known(known_at), "gate").await;
        assert_eq!(hits.iter().map(|hit| hit.seq).collect::<Vec<_>>(), [seq], "{known_at}");
    }
    assert_eq!(ask_words(store, &known(found[0].recorded - micro), "gate").await, []);
}

/// Where the user lives, as it became known piece by piece.
pub(super) async fn facts_that_arrive_out_of_order_are_told_by_both_times(store: &dyn Store) {
    let city = |name: &str, from: &str| Version {
        valid_from: Some(at(from)),
        ..version(&format!("city {name}"))
    };
    let mut beijing = city("Beijing", "2026-03-01T00:00:00Z");
    let first = put(store, beijing.clone()).await;
    // Recorded later, valid earlier: it holds until the first takes over, and does not end it.
    let mut wuhan = city("Wuhan", "2026-01-01T00:00:00Z");
    wuhan.valid_to = Some(at("2026-03-01T00:00:00Z"));
    let second = put(store, wuhan.clone()).await;
    // A correction: Beijing only from the 15th on; and so Wuhan until then.
    beijing.valid_from = Some(at("2026-03-15T00:00:00Z"));
    let replaced = |seq| {
        let end = Ended { at: Timestamp::now(), why: End::Replaced, by: None };
        vec![Change { ended: Some(Some(end)), ..change(seq) }]
    };
    let third = put_with(store, beijing.clone(), vec![chunk(&beijing)], replaced(first)).await;
    wuhan.valid_to = beijing.valid_from;
    let fourth = put_with(store, wuhan.clone(), vec![chunk(&wuhan)], replaced(second)).await;

    let recorded: Vec<Timestamp> = store
        .load(TENANT, &[first, second, third, fourth])
        .await
        .unwrap()
        .iter()
        .map(|version| version.recorded)
        .collect();
    let asks = [
        ("2026-02-10T00:00:00Z", None, vec![fourth]),
        ("2026-03-10T00:00:00Z", None, vec![fourth]),
        ("2026-03-20T00:00:00Z", None, vec![third]),
        ("2026-03-10T00:00:00Z", Some(recorded[1]), vec![first]),
        ("2026-03-20T00:00:00Z", Some(recorded[0]), vec![first]),
        ("2026-02-10T00:00:00Z", Some(recorded[0]), vec![]),
        ("2026-02-10T00:00:00Z", Some(recorded[1]), vec![second]),
    ];
    for (as_of, known_at, expected) in asks {
        let scope = Scope { as_of: at(as_of), known_at, ..scope() };
        let words = ask_words(store, &scope, "city").await;
        let listed = store.list(&scope, None, 10).await.unwrap();
        let case = format!("as of {as_of}, known at {known_at:?}");
        assert_eq!(words.iter().map(|hit| hit.seq).collect::<Vec<_>>(), expected, "{case}");
        assert_eq!(listed.iter().map(|v| v.seq).collect::<Vec<_>>(), expected, "{case}");
    }
}

pub(super) async fn an_instant_is_the_same_whatever_its_offset(store: &dyn Store) {
    for from in ["2026-03-01T09:00:00Z", "2026-03-01T17:00:00+08:00"] {
        let version = Version { valid_from: Some(at(from)), ..version("opened") };
        put(store, version).await;
    }
    for (as_of, found) in [
        ("2026-03-01T17:00:00+08:00", 2),
        ("2026-03-01T09:00:00Z", 2),
        ("2026-03-01T08:59:59.999999Z", 0),
    ] {
        let scope = Scope { as_of: at(as_of), ..scope() };
        assert_eq!(ask_words(store, &scope, "opened").await.len(), found, "{as_of}");
    }
    let to = Version { valid_to: Some(at("2026-03-01T09:00:00Z")), ..version("closed") };
    put(store, to).await;
    for (as_of, found) in [("2026-03-01T08:59:59Z", 1), ("2026-03-01T17:00:00+08:00", 0)] {
        let scope = Scope { as_of: at(as_of), ..scope() };
        assert_eq!(ask_words(store, &scope, "closed").await.len(), found, "{as_of}");
    }
}

pub(super) async fn a_list_goes_on_where_the_last_ended(store: &dyn Store) {
    let mut put_seqs = Vec::new();
    for number in 0..5 {
        let owner = if number == 2 { "bo" } else { "ann" };
        let version = Version { owner: owner.into(), ..version(&format!("item {number}")) };
        put_seqs.push(put(store, version).await);
    }
    let own = Owned { collection: COLLECTION.into(), owner: Some("ann".into()) };
    let own = Scope { collections: vec![own], ..scope() };
    let list = |scope: Scope, before, limit| async move {
        let found = store.list(&scope, before, limit).await.unwrap();
        found.iter().map(|version| version.seq).collect::<Vec<_>>()
    };
    let [zero, one, two, three, four] = put_seqs[..] else { panic!() };
    assert_eq!(list(scope(), None, 2).await, [four, three]);
    assert_eq!(list(scope(), Some(three), 2).await, [two, one]);
    assert_eq!(list(scope(), Some(zero), 2).await, NONE);
    assert_eq!(list(own, None, 10).await, [four, three, one, zero]);
}

pub(super) async fn a_new_version_is_held_against_what_holds_with_it_and_is_of_no_part_of_it(
    store: &dyn Store,
) {
    let part = |group: &str, from: Option<&str>, to: Option<&str>| {
        let mut version = version("a page");
        version.draft.group = group.into();
        version.draft.metadata.insert("document".into(), "PX-200".into());
        version.draft.facts = vec![Fact {
            entity: "PX-200".into(),
            attribute: "weight".into(),
            value: "5".into(),
            unit: "kg".into(),
        }];
        Version { valid_from: from.map(at), valid_to: to.map(at), ..version }
    };
    let (january, june) = (Some("2026-01-01T00:00:00Z"), Some("2026-06-01T00:00:00Z"));
    let old = put(store, part("first", None, january)).await;
    let now = put(store, part("second", january, june)).await;
    let later = put(store, part("third", june, None)).await;
    let held = Version { state: State::Held, ..part("held", None, None) };
    put(store, held).await;
    let here = (TENANT, COLLECTION);
    let claims = [("PX-200".to_owned(), "weight".to_owned())];
    let ask = async |rival: Rival| {
        let alike = store.alike(here, ("document", "PX-200"), &rival).await.unwrap();
        let rivals = store.rivals(here, &claims, &rival).await.unwrap();
        let alike: Vec<i64> = alike.iter().map(|version| version.seq).collect();
        assert_eq!(rivals.iter().map(|version| version.seq).collect::<Vec<_>>(), alike);
        alike
    };
    let all = Rival { limit: 9, ..Rival::default() };
    assert_eq!(ask(all.clone()).await, [later, now, old], "the newest first");
    assert_eq!(ask(Rival { limit: 1, ..all.clone() }).await, [later]);
    assert_eq!(ask(Rival { but: "third".into(), ..all.clone() }).await, [now, old]);
    let spring = Rival { from: Some(at("2026-02-01T00:00:00Z")), to: june.map(at), ..all.clone() };
    assert_eq!(ask(spring).await, [now]);
    assert_eq!(ask(Rival { from: june.map(at), ..all }).await, [later]);
}
