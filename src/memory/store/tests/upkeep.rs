//! Changes and their undoing, votes, erasure, marks of use, counts.

use jiff::Timestamp;

use super::super::{Ask, Backlog, Change, Error, Rival, Settlement, Stage, Store, Vote, Write};
use super::kit::{
    COLLECTION, MODEL, TENANT, ask_vector, ask_words, at, change, chunk, next, put, put_vector,
    put_with, scope, settlement, version, write,
};
use crate::memory::{End, Ended, Entity, Fact, Image, Place, Scope, Spot, State, UnitId, Version};

fn archive(seq: i64) -> Change {
    Change { state: Some(State::Archived), remarks: vec!["unused".into()], ..change(seq) }
}

fn merge(seq: i64, by: &UnitId) -> Change {
    let end = Ended { at: Timestamp::now(), why: End::Merged, by: Some(by.clone()) };
    Change { ended: Some(Some(end)), conflicts: vec![by.clone()], ..change(seq) }
}

pub(super) async fn a_run_is_undone_where_nothing_changed_since(store: &dyn Store) {
    let mut seqs = Vec::new();
    let units = ["one", "two", "three", "four"].map(version);
    for version in &units {
        seqs.push(put(store, version.clone()).await);
    }
    let before = store.load(TENANT, &seqs).await.unwrap();
    let by = UnitId::generate();
    let changes = [archive(seqs[0]), merge(seqs[1], &by), archive(seqs[2]), merge(seqs[3], &by)];
    store.change(Some(("run-1", "archived and merged")), &changes).await.unwrap();
    let after = store.load(TENANT, &seqs).await.unwrap();
    assert_eq!((after[0].state, &after[0].remarks[..]), (State::Archived, &["unused".into()][..]));
    assert_eq!(after[1].ended.as_ref().unwrap().by, Some(by.clone()));
    assert_eq!(after[1].conflicts, [by]);
    assert_eq!(ask_words(store, &scope(), "one two three four").await, []);
    let archived = Scope { archived: true, ..scope() };
    assert_eq!(ask_words(store, &archived, "one two").await.len(), 1);
    let runs = store.runs(9).await.unwrap();
    assert_eq!((runs[0].id.as_str(), runs[0].changed, runs[0].undone), ("run-1", 4, false));
    assert_eq!(runs[0].summary, "archived and merged");

    // A reviewer has looked at one of them since, and another has a later version.
    let active = Change { state: Some(State::Active), ..change(seqs[2]) };
    store.change(None, &[active]).await.unwrap();
    put(store, next(&units[3], "four again")).await;
    assert_eq!(store.undo("run-1").await.unwrap(), 2);
    let undone = store.load(TENANT, &seqs).await.unwrap();
    assert_eq!(undone[..2], before[..2]);
    assert_eq!(undone[2].remarks, ["unused"]);
    assert!(undone[3].ended.is_some(), "two versions of a unit never hold at the same time");
    assert_eq!(ask_words(store, &scope(), "one two").await.len(), 2);
    assert!(store.runs(9).await.unwrap()[0].undone);
    assert_eq!(store.undo("run-1").await.unwrap(), 0);
    assert_eq!(store.undo("no such run").await.unwrap(), 0);
}

pub(super) async fn changes_are_made_all_or_none(store: &dyn Store) {
    let seq = put(store, version("whole")).await;
    let before = store.load(TENANT, &[seq]).await.unwrap();
    store.change(Some(("run", "fails")), &[archive(seq), archive(9999)]).await.unwrap_err();
    assert_eq!(store.load(TENANT, &[seq]).await.unwrap(), before);
    assert_eq!(store.runs(9).await.unwrap(), []);
    assert_eq!(ask_words(store, &scope(), "whole").await.len(), 1);
}

pub(super) async fn what_is_forgotten_was_known_before(store: &dyn Store) {
    let seq = put(store, version("secret plan")).await;
    let recorded = store.load(TENANT, &[seq]).await.unwrap()[0].recorded;
    // A clock that stepped back does not make an end earlier than its beginning.
    let end = Ended { at: at("2020-01-01T00:00:00Z"), why: End::Forgotten, by: None };
    store.change(None, &[Change { ended: Some(Some(end)), ..change(seq) }]).await.unwrap();
    let ended = store.load(TENANT, &[seq]).await.unwrap()[0].ended.clone().unwrap();
    assert!(ended.at >= recorded, "{ended:?}");
    assert_eq!(ask_words(store, &scope(), "secret").await, []);

    let seq = put(store, version("other plan")).await;
    let recorded = store.load(TENANT, &[seq]).await.unwrap()[0].recorded;
    let hour = jiff::SignedDuration::from_hours(1);
    let end = Ended { at: recorded + hour, why: End::Forgotten, by: None };
    store.change(None, &[Change { ended: Some(Some(end)), ..change(seq) }]).await.unwrap();
    for (known_at, found) in [(None, 0), (Some(recorded), 1), (Some(recorded + hour), 0)] {
        let scope = Scope { known_at, ..scope() };
        assert_eq!(ask_words(store, &scope, "other plan").await.len(), found, "{known_at:?}");
    }
    store.change(None, &[Change { ended: Some(None), ..change(seq) }]).await.unwrap();
    assert_eq!(ask_words(store, &scope(), "other").await.len(), 1, "it is open again");
}

#[expect(clippy::too_many_lines, reason = "one unit, looked for in every place")]
pub(super) async fn an_erased_unit_is_nowhere(store: &dyn Store) {
    let mut first = version("zebra crossing");
    first.draft.triggers = vec!["zebra".into()];
    first.draft.entities = vec![Entity { kind: "animal".into(), value: "zebra".into() }];
    first.draft.facts = vec![Fact {
        entity: "zebra".into(),
        attribute: "legs".into(),
        value: "4".into(),
        unit: String::new(),
    }];
    first.draft.metadata.insert("document".into(), "zebra/1".into());
    first.draft.place = Some(Place { latitude: 1.0, longitude: 2.0, kind: "site".into() });
    first.draft.images = vec![Image {
        uri: String::new(),
        media_type: String::new(),
        sha256: String::new(),
        description: String::new(),
        ocr_text: String::new(),
        vector_model: "clip".into(),
        vector: vec![1.0, 0.0],
    }];
    let old = put(store, first.clone()).await;
    let later = next(&first, "zebra crossing closed");
    let new =
        put_with(store, later.clone(), vec![chunk(&later)], vec![merge(old, &first.unit)]).await;
    store.embed(MODEL, &[(old, 0, vec![1.0, 0.0]), (new, 0, vec![1.0, 0.0])]).await.unwrap();
    store.change(Some(("run", "archives")), &[archive(new)]).await.unwrap();
    store.vote(TENANT, vote(new, "bo", true)).await.unwrap();
    let other = put(store, version("quagga")).await;
    let conflicts = Change { conflicts: vec![first.unit.clone()], ..change(other) };
    store.change(None, &[conflicts]).await.unwrap();
    let waits = write(later.draft.clone());
    store.accept(vec![waits.clone()]).await.unwrap();
    let known_at = Some(store.load(TENANT, &[old]).await.unwrap()[0].recorded);

    assert_eq!(store.erase("other", &first.unit).await.unwrap(), 0, "not theirs");
    assert_eq!(store.erase(TENANT, &first.unit).await.unwrap(), 2);
    assert_eq!(store.erase(TENANT, &first.unit).await.unwrap(), 0);
    assert_eq!(store.load(TENANT, &[old, new]).await.unwrap(), []);
    assert_eq!(store.history(TENANT, &first.unit).await.unwrap(), []);
    assert_eq!(store.of_source(TENANT, &first.draft).await.unwrap(), []);
    let here = (TENANT, COLLECTION);
    let all = Rival { limit: 9, ..Rival::default() };
    assert_eq!(store.equal(here, &later.digest).await.unwrap(), []);
    assert_eq!(store.alike(here, ("document", "zebra/1"), &all).await.unwrap(), []);
    let claims = [("zebra".to_owned(), "legs".to_owned())];
    assert_eq!(store.rivals(here, &claims, &all).await.unwrap(), []);
    assert_eq!(store.distances(&[old, new], (1.0, 2.0)).await.unwrap(), []);
    assert_eq!(store.load(TENANT, &[other]).await.unwrap()[0].conflicts, []);
    assert_eq!(store.waiting(None, 9).await.unwrap(), [], "nor does it come back");
    let receipt = store.receipt(TENANT, &waits.receipt).await.unwrap().unwrap();
    assert_eq!(receipt.stage, Stage::Refused);
    assert_eq!(store.undo("run").await.unwrap(), 0);
    for known_at in [None, known_at] {
        let here = Spot::Within { latitude: 1.0, longitude: 2.0, metres: 9.0, kinds: vec![] };
        for spot in [None, Some(here)] {
            let scope = Scope { known_at, spot, archived: true, ..scope() };
            let ask = Ask {
                trigger: Some("zebra".into()),
                entities: first.draft.entities.clone(),
                words: Some("zebra".into()),
                vector: Some((MODEL.into(), vec![1.0, 0.0])),
                image: Some(("clip".into(), vec![1.0, 0.0])),
                nearest: Some((1.0, 2.0, Vec::new())),
                limit: 9,
            };
            let found = store.search(&scope, &ask).await.unwrap();
            for hits in
                [found.trigger, found.entity, found.words, found.vector, found.image, found.nearest]
            {
                assert_eq!(hits.unwrap().unwrap(), []);
            }
        }
    }
    let after = put(store, version("after")).await;
    assert!(after > other && after > new, "an evidence id never comes again");
}

pub(super) async fn what_others_say_of_an_erased_unit_goes_with_it(store: &dyn Store) {
    let gone = version("Ann lives in Paris");
    put(store, gone.clone()).await;
    let told = format!("contradicts unit `{}`: `city` is `Bonn` here and `Paris` there", gone.unit);
    let other = Version {
        state: State::Held,
        conflicts: vec![gone.unit.clone()],
        remarks: vec![told.clone(), "believed less".into()],
        ..version("Ann lives in Bonn")
    };
    let write = write(other.draft.clone());
    store.accept(vec![write.clone()]).await.unwrap();
    let settled = settlement(&write.receipt, other.clone());
    let settled = Settlement { stage: Stage::Held, remarks: other.remarks.clone(), ..settled };
    let seq = store.settle(vec![settled]).await.unwrap()[0].unwrap();
    store.change(Some(("run", "archives")), &[archive(seq)]).await.unwrap();
    assert_eq!(store.erase(TENANT, &gone.unit).await.unwrap(), 1);
    let clean = |remarks: &[String]| {
        let all = remarks.join(" ");
        assert!(!all.contains("Paris") && !all.contains(gone.unit.as_str()), "{remarks:?}");
        assert!(all.contains("erased") && all.contains("believed less"), "{remarks:?}");
    };
    clean(&store.load(TENANT, &[seq]).await.unwrap()[0].remarks);
    clean(&store.receipt(TENANT, &write.receipt).await.unwrap().unwrap().remarks);
    assert_eq!(store.undo("run").await.unwrap(), 1, "the journal knows the version as it is now");
    let undone = store.load(TENANT, &[seq]).await.unwrap().remove(0);
    clean(&undone.remarks);
    assert_eq!((undone.state, &undone.conflicts[..]), (State::Held, &[][..]));
}

pub(super) async fn what_outlived_its_retention_is_removed_for_ever(store: &dyn Store) {
    let first = version("zebra one");
    let replaced = put(store, first.clone()).await;
    let later = next(&first, "zebra two");
    let current =
        put_with(store, later.clone(), vec![chunk(&later)], vec![merge(replaced, &first.unit)])
            .await;
    let expired = version("zebra three");
    let expired_unit = expired.unit.clone();
    let expired = put(store, expired).await;
    let told = format!("contradicts unit `{expired_unit}`: it says `three`");
    let beside = Version {
        conflicts: vec![expired_unit.clone()],
        remarks: vec![told],
        ..version("zebra four")
    };
    let beside = put(store, beside).await;
    let end = Ended { at: Timestamp::now(), why: End::Expired, by: None };
    store.change(None, &[Change { ended: Some(Some(end)), ..change(expired) }]).await.unwrap();

    let (now, hour) = (Timestamp::now(), jiff::SignedDuration::from_hours(1));
    assert_eq!(store.outlived(now - hour, &[], 9).await.unwrap(), [], "ended too late");
    let here = |seq: i64| (TENANT.to_owned(), seq);
    assert_eq!(store.outlived(now + hour, &[], 9).await.unwrap(), [here(expired)]);
    let kept = |at| vec![(COLLECTION.to_owned(), at)];
    let both = [here(replaced), here(expired)];
    assert_eq!(store.outlived(now + hour, &kept(now + hour), 9).await.unwrap(), both);
    assert_eq!(store.outlived(now + hour, &kept(now + hour), 1).await.unwrap().len(), 1);
    assert_eq!(store.outlived(now + hour, &kept(now - hour), 9).await.unwrap(), [here(expired)]);

    assert_eq!(store.purge("other", &[replaced, expired]).await.unwrap(), 0);
    assert_eq!(store.purge(TENANT, &[replaced, expired, current, 999]).await.unwrap(), 2);
    let left = store.load(TENANT, &[replaced, expired, current]).await.unwrap();
    assert_eq!(left.iter().map(|version| version.seq).collect::<Vec<_>>(), [current]);
    assert_eq!(store.history(TENANT, &expired_unit).await.unwrap(), []);
    let remarks = store.load(TENANT, &[beside]).await.unwrap().remove(0).remarks;
    assert!(!remarks[0].contains("three"), "{remarks:?}");
    for known_at in [None, Some(now)] {
        let scope = Scope { known_at, ..scope() };
        let found = ask_words(store, &scope, "zebra").await;
        assert!(found.iter().all(|hit| [current, beside].contains(&hit.seq)), "{found:?}");
    }
    assert_eq!(store.tended().await.unwrap(), None);
    store.tend(at("2026-05-01T00:00:00Z")).await.unwrap();
    assert_eq!(store.tended().await.unwrap(), Some(at("2026-05-01T00:00:00Z")));
}

fn vote(seq: i64, by: &str, approve: bool) -> Vote {
    let at = at("2026-04-01T00:00:00Z");
    Vote { seq, by: by.into(), approve, reason: format!("{by} says {approve}"), at }
}

pub(super) async fn a_second_vote_takes_the_place_of_the_first(store: &dyn Store) {
    let seq = put(store, Version { state: State::Held, ..version("held") }).await;
    assert_eq!(store.vote(TENANT, vote(seq, "ann", false)).await.unwrap().len(), 1);
    assert_eq!(store.vote(TENANT, vote(seq, "bo", true)).await.unwrap().len(), 2);
    let votes = store.vote(TENANT, vote(seq, "ann", true)).await.unwrap();
    assert_eq!(votes, [vote(seq, "ann", true), vote(seq, "bo", true)]);
    store.vote("other", vote(seq, "eve", true)).await.unwrap_err();
    store.vote(TENANT, vote(999, "ann", true)).await.unwrap_err();
    assert_eq!(store.vote(TENANT, vote(seq, "bo", true)).await.unwrap().len(), 2);
}

pub(super) async fn votes_are_taken_back(store: &dyn Store) {
    let seq = put(store, Version { state: State::Held, ..version("held") }).await;
    let other = put(store, Version { state: State::Held, ..version("other") }).await;
    for seq in [seq, other] {
        store.vote(TENANT, vote(seq, "ann", true)).await.unwrap();
    }
    store.unvote("other", seq).await.unwrap();
    assert_eq!(store.votes(TENANT, seq).await.unwrap().len(), 1, "not theirs");
    store.unvote(TENANT, seq).await.unwrap();
    assert_eq!(store.votes(TENANT, seq).await.unwrap(), []);
    assert_eq!(store.votes(TENANT, other).await.unwrap().len(), 1);
}

pub(super) async fn what_waits_is_refused_to_its_caller_alone(store: &dyn Store) {
    let unit = version("waits");
    put(store, unit.clone()).await;
    let by = |caller: &str, tenant: &str| Write {
        caller: caller.into(),
        tenant: tenant.into(),
        ..write(unit.draft.clone())
    };
    let writes = [by("ann", TENANT), by("bo", TENANT), by("ann", "other")];
    let elsewhere = write(version("elsewhere").draft);
    store.accept(writes.to_vec()).await.unwrap();
    store.accept(vec![elsewhere.clone()]).await.unwrap();
    let ann = ["ann".to_owned()];
    assert_eq!(store.withdraw(TENANT, &unit.draft, &ann).await.unwrap(), 1);
    assert_eq!(store.withdraw(TENANT, &unit.draft, &ann).await.unwrap(), 0);
    let receipt = store.receipt(TENANT, &writes[0].receipt).await.unwrap().unwrap();
    assert_eq!(receipt.stage, Stage::Refused);
    assert_eq!(receipt.remarks, ["its unit was forgotten before it was stored"]);
    // An erased unit takes what its own writer has waiting with it, and nobody else's.
    store.accept(vec![by("ann", TENANT)]).await.unwrap();
    store.erase(TENANT, &unit.unit).await.unwrap();
    let mut left = vec![writes[1].clone(), writes[2].clone(), elsewhere];
    let mut waiting = store.waiting(None, 9).await.unwrap();
    for all in [&mut left, &mut waiting] {
        all.sort_by(|one, two| one.receipt.cmp(&two.receipt));
    }
    assert_eq!(waiting, left);
    // What was refused is not stored by one who has read it before.
    let late = super::kit::settlement(&writes[0].receipt, unit);
    assert_eq!(store.settle(vec![late]).await.unwrap(), [None]);
}

pub(super) async fn a_run_is_of_one_tenant_and_names_its_collections(store: &dyn Store) {
    let mut manual = version("manual");
    manual.draft.collection = "manuals".into();
    let ours = [put(store, manual).await, put(store, version("note")).await];
    let theirs = put(store, Version { tenant: "other".into(), ..version("theirs") }).await;
    store.change(Some(("run-1", "archives")), &ours.map(archive)).await.unwrap();
    let run = store.runs(9).await.unwrap().remove(0);
    let collections = [COLLECTION, "manuals"].map(str::to_owned);
    let mut named = run.collections.clone();
    named.sort_unstable();
    let mut expected = collections.to_vec();
    expected.sort_unstable();
    assert_eq!((run.tenant.as_str(), named), (TENANT, expected.clone()));
    store.change(Some(("run-2", "both")), &[archive(ours[0]), archive(theirs)]).await.unwrap_err();
    assert_eq!(store.runs(9).await.unwrap().len(), 1);
    // It is known after it was undone, too.
    store.undo("run-1").await.unwrap();
    let run = store.runs(9).await.unwrap().remove(0);
    assert_eq!((run.undone, run.collections.len()), (true, expected.len()));
}

pub(super) async fn what_is_said_again_moves_the_time_of_its_source_forward(store: &dyn Store) {
    let seq = put(store, version("said")).await;
    let first = store.load(TENANT, &[seq]).await.unwrap()[0].source_time;
    for (said, known) in [
        ("2026-02-01T00:00:00Z", first),
        ("2026-05-01T00:00:00Z", at("2026-05-01T00:00:00Z")),
        ("2026-04-01T00:00:00Z", at("2026-05-01T00:00:00Z")),
    ] {
        let change = Change { said: Some(at(said)), ..change(seq) };
        store.change(None, &[change]).await.unwrap();
        let found = store.load(TENANT, &[seq]).await.unwrap().remove(0);
        assert_eq!((found.source_time, found.uses, found.used), (known, 0, None), "{said}");
    }
    store.touch(&[seq], at("2026-06-01T00:00:00Z")).await.unwrap();
    let found = store.load(TENANT, &[seq]).await.unwrap().remove(0);
    assert_eq!((found.source_time, found.uses), (at("2026-05-01T00:00:00Z"), 1));
}

pub(super) async fn use_is_counted(store: &dyn Store) {
    let seq = put(store, version("used")).await;
    let other = put(store, version("unused")).await;
    let (early, late) = (at("2026-04-01T00:00:00Z"), at("2026-05-01T00:00:00Z"));
    store.touch(&[seq, 999], late).await.unwrap();
    store.touch(&[seq], early).await.unwrap();
    let found = store.load(TENANT, &[seq, other]).await.unwrap();
    assert_eq!((found[0].used, found[0].uses), (Some(late), 2));
    assert_eq!((found[1].used, found[1].uses), (None, 0));
}

pub(super) async fn counts_are_of_one_tenant_or_all(store: &dyn Store) {
    assert_eq!(store.counts(None).await.unwrap().versions, 0);
    assert_eq!(store.backlog().await.unwrap(), Backlog::default());
    let first = version("first");
    let old = put(store, first.clone()).await;
    let later = next(&first, "later");
    put_with(store, later.clone(), vec![chunk(&later)], vec![merge(old, &first.unit)]).await;
    put_vector(store, "vector", MODEL, &[1.0]).await;
    put(store, Version { state: State::Held, ..version("held") }).await;
    put(store, Version { state: State::Quarantined, ..version("bad") }).await;
    put(store, Version { tenant: "other".into(), ..version("theirs") }).await;
    store.accept(vec![write(version("waits").draft)]).await.unwrap();
    let backlog = store.backlog().await.unwrap();
    assert!(backlog.writes == 1 && backlog.bytes > 100, "{backlog:?}");
    let ours = store.counts(Some(TENANT)).await.unwrap();
    assert_eq!((ours.units, ours.versions, ours.chunks), (4, 5, 4));
    assert_eq!((ours.held, ours.waiting), ((1, 1), 1));
    assert_eq!(ours.vectors, [(MODEL.to_owned(), 1)]);
    let all = store.counts(None).await.unwrap();
    assert_eq!((all.units, all.versions, all.chunks), (5, 6, 5));
    assert!(all.bytes > 0);
    store.compact().await.unwrap();
    assert_eq!(store.counts(None).await.unwrap().versions, 6);
}

pub(super) async fn collections_stand_otherwise_after_each_change_of_what_they_show(
    store: &dyn Store,
) {
    let names = [COLLECTION.to_owned()];
    let stands = || async { store.revision(TENANT, &names).await.unwrap() };
    let mut before = stands().await;
    let first = put(store, version("first")).await;
    let next = stands().await;
    assert_ne!(next, before, "a version was stored");
    before = next;

    store.touch(&[first], Timestamp::now()).await.unwrap();
    let mut aside = version("of another collection");
    aside.draft.collection = "aside".into();
    let aside = put(store, aside).await;
    let foreign = Version { tenant: "globex".into(), ..version("of another tenant") };
    put(store, foreign).await;
    assert_eq!(stands().await, before, "nothing of it is shown there");
    let both = [COLLECTION.to_owned(), "aside".to_owned()];
    let two = store.revision(TENANT, &both).await.unwrap();
    store.change(None, &[archive(aside)]).await.unwrap();
    assert_ne!(store.revision(TENANT, &both).await.unwrap(), two);
    assert_eq!(stands().await, before);

    let unit = store.load(TENANT, &[first]).await.unwrap()[0].unit.clone();
    let held = Change { state: Some(State::Held), ..change(first) };
    let active = Change { state: Some(State::Active), ..change(first) };
    let end = Ended { at: Timestamp::now(), why: End::Forgotten, by: None };
    let ended = Change { ended: Some(Some(end)), ..change(first) };
    for (change, what) in [(held, "held"), (active, "used again"), (ended, "forgotten")] {
        store.change(None, &[change]).await.unwrap();
        let next = stands().await;
        assert_ne!(next, before, "{what}");
        before = next;
    }
    store.erase(TENANT, &unit).await.unwrap();
    assert_ne!(stands().await, before, "erased");
}

pub(super) async fn a_closed_store_says_so(store: &dyn Store) {
    let seq = put_vector(store, "open", MODEL, &[1.0]).await;
    assert_eq!(ask_vector(store, &scope(), MODEL, &[1.0]).await.len(), 1);
    store.close().await.unwrap();
    assert!(matches!(store.load(TENANT, &[seq]).await, Err(Error::Closed)));
    assert!(matches!(store.accept(vec![write(version("late").draft)]).await, Err(Error::Closed)));
    assert!(matches!(store.search(&scope(), &Ask::default()).await, Err(Error::Closed)));
    assert!(matches!(store.close().await, Err(Error::Closed)));
}
