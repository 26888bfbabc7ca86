//! Conflicts, and what people decide about them.

use serde_json::json;

use super::kit::{Bench, manual, with};
use crate::memory::{Decision, Draft, End, Error, Manner, Stage, State, Version};

fn yes(manner: Manner) -> Decision {
    Decision { approve: true, manner, reason: "measured it".into() }
}

fn evidence(version: &Version) -> String {
    format!("{}@{}", version.unit, version.seq)
}

fn pressure(id: &str, value: &str, from: Option<&str>) -> serde_json::Value {
    with(
        manual(id, &format!("The pressure is stated as {value} in sheet {id}.")),
        json!({
        "valid_from": from,
        "facts": [{"entity": "PX-200", "attribute": "pressure", "value": value, "unit": "bar"}]}),
    )
}

/// Two that contradict each other: the one in use, and the one that is held.
async fn rivals(bench: &Bench, from: Option<&str>) -> (Version, Version) {
    let cora = bench.curator();
    let old = bench.stored(&cora, pressure("a", "5", Some("2025-01-01"))).await;
    let receipt = bench.put(&cora, pressure("b", "7", from)).await;
    assert_eq!(receipt.stage, Stage::Held, "{receipt:?}");
    let new = bench.version(&receipt).await;
    assert_eq!((new.conflicts.as_slice(), new.state), ([old.unit.clone()].as_slice(), State::Held));
    let old = bench.load(old.seq).await;
    assert_eq!(
        (old.conflicts.as_slice(), old.state),
        ([new.unit.clone()].as_slice(), State::Active)
    );
    (old, new)
}

#[tokio::test]
async fn two_people_who_did_not_write_it_have_to_agree() {
    let bench = Bench::new().await;
    let (old, new) = rivals(&bench, Some("2026-01-01")).await;
    let proof = evidence(&new);
    let own = bench.rights("cora", &["curator", "reviewer"]);
    let (rita, ralf) = (bench.reviewer("rita"), bench.reviewer("ralf"));
    let decide = |rights, decision| bench.writing.decide(rights, &proof, decision);
    assert!(matches!(decide(&own, yes(Manner::Replace)).await, Err(Error::Forbidden(_))));
    let uma = bench.user();
    assert!(matches!(decide(&uma, yes(Manner::Replace)).await, Err(Error::Forbidden(_))));
    let empty = Decision { reason: " ".into(), ..yes(Manner::Replace) };
    assert!(
        matches!(decide(&rita, empty).await, Err(Error::Argument { name, .. }) if name == "reason")
    );
    for _ in 0..2 {
        let first = decide(&rita, yes(Manner::Replace)).await.unwrap();
        assert_eq!((first.state, first.missing), (State::Held, 1));
    }
    let pending = bench.writing.pending(&ralf, 0, 10).await.unwrap();
    assert_eq!(pending.len(), 1);
    assert_eq!(
        (pending[0].votes.len(), pending[0].rivals[0].seq, pending[0].reviewers),
        (1, old.seq, 2)
    );
    // Another manner is another decision.
    assert_eq!(decide(&ralf, yes(Manner::KeepBoth)).await.unwrap().missing, 1);
    assert_eq!(decide(&ralf, yes(Manner::Replace)).await.unwrap().state, State::Active);
    assert!(matches!(decide(&rita, yes(Manner::Replace)).await, Err(Error::State(_))));
    assert!(bench.writing.pending(&ralf, 0, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn an_approved_unit_takes_the_place_of_its_rival_from_its_own_beginning() {
    let bench = Bench::new().await;
    let (old, new) = rivals(&bench, Some("2026-01-01")).await;
    for name in ["rita", "ralf"] {
        bench
            .writing
            .decide(&bench.reviewer(name), &evidence(&new), yes(Manner::Replace))
            .await
            .unwrap();
    }
    let before = bench.known("manuals", "2025-06-01T00:00:00Z", None).await;
    assert_eq!(before, ["The pressure is stated as 5 in sheet a."]);
    let after = bench.known("manuals", "2026-06-01T00:00:00Z", None).await;
    assert_eq!(after, ["The pressure is stated as 7 in sheet b."]);
    // The one that was cut is a new version of its unit, by the same writer; the old stays as history.
    let history = bench.store.history("acme", &old.unit).await.unwrap();
    assert_eq!(history.len(), 2);
    assert_eq!(history[0].draft.valid_to.as_deref(), Some("2026-01-01T00:00:00Z"));
    assert_eq!((history[0].owner.as_str(), history[0].trust), ("cora", old.trust));
    assert_eq!(history[1].ended.as_ref().unwrap().why, End::Replaced);
    let once = bench.known("manuals", "2026-06-01T00:00:00Z", Some(old.recorded)).await;
    assert_eq!(once, ["The pressure is stated as 5 in sheet a."]);
}

#[tokio::test]
async fn a_rival_that_would_hold_no_time_at_all_is_superseded_whole() {
    let bench = Bench::new().await;
    let (old, new) = rivals(&bench, None).await;
    for name in ["rita", "ralf"] {
        bench
            .writing
            .decide(&bench.reviewer(name), &evidence(&new), yes(Manner::Replace))
            .await
            .unwrap();
    }
    let ended = bench.load(old.seq).await.ended.unwrap();
    assert_eq!((ended.why, ended.by), (End::Superseded, Some(new.unit)));
    assert_eq!(bench.known("manuals", "2026-06-01T00:00:00Z", None).await.len(), 1);
}

#[tokio::test]
async fn both_can_be_kept_and_one_can_reject() {
    let bench = Bench::new().await;
    let (_, new) = rivals(&bench, Some("2026-01-01")).await;
    for name in ["rita", "ralf"] {
        bench
            .writing
            .decide(&bench.reviewer(name), &evidence(&new), yes(Manner::KeepBoth))
            .await
            .unwrap();
    }
    assert_eq!(bench.known("manuals", "2026-06-01T00:00:00Z", None).await.len(), 2);
    let third = bench.put(&bench.curator(), pressure("c", "9", None)).await;
    let third = bench.version(&third).await;
    assert_eq!(third.conflicts.len(), 2);
    let no = Decision { approve: false, ..yes(Manner::Replace) };
    let rejected =
        bench.writing.decide(&bench.reviewer("rita"), &evidence(&third), no).await.unwrap();
    assert_eq!(rejected.state, State::Rejected);
    // The same again is not asked about again.
    let again = bench.put(&bench.curator(), pressure("c", "9", None)).await;
    assert_eq!(again.stage, Stage::Refused);
}

#[tokio::test]
async fn an_approved_write_of_the_same_unit_replaces_what_was_there() {
    let bench = Bench::new().await;
    let cora = bench.curator();
    let first = bench.stored(&cora, manual("1", "The torque is checked by the foreman.")).await;
    let weak = with(manual("1", "The torque is checked by the shift."), json!({"origin": "file"}));
    let weak = bench.put(&cora, weak).await;
    let weak = bench.version(&weak).await;
    for name in ["rita", "ralf"] {
        bench
            .writing
            .decide(&bench.reviewer(name), &evidence(&weak), yes(Manner::Replace))
            .await
            .unwrap();
    }
    assert_eq!(bench.load(first.seq).await.ended.unwrap().why, End::Replaced);
    assert_eq!(
        bench.known("manuals", "2026-06-01T00:00:00Z", None).await,
        ["The torque is checked by the shift."]
    );
}

#[tokio::test]
async fn conflicts_are_found_inside_one_batch_and_between_texts() {
    let bench = Bench::new().await;
    let cora = bench.curator();
    let about = json!({"entities": [{"kind": "part", "value": "PX-200"}]});
    let one = with(manual("t1", "The operating pressure is 5 bar."), about.clone());
    let two = with(manual("t2", "The operating pressure is 8 bar."), about.clone());
    let drafts = [one, two].map(|one| serde_json::from_value::<Draft>(one).unwrap()).to_vec();
    let receipts = bench.writing.remember(&cora, drafts, super::kit::WAIT).await;
    let stages: Vec<Stage> = receipts.iter().map(|one| one.as_ref().unwrap().stage).collect();
    assert_eq!(stages, [Stage::Stored, Stage::Held]);
    let first = bench.version(receipts[0].as_ref().unwrap()).await;
    assert_eq!(first.conflicts.len(), 1);
    let third = with(manual("t3", "The operating pressure is 500 kPa."), about);
    assert_eq!(bench.put(&cora, third).await.stage, Stage::Stored);
}

#[tokio::test]
async fn reviewers_see_what_waits_in_their_tenant_only() {
    let bench = Bench::new().await;
    let (_, new) = rivals(&bench, None).await;
    let other = crate::memory::Rights::of(
        &super::kit::caller("eve", "other", &["reviewer"]),
        &bench.collections.load(),
    );
    assert!(bench.writing.pending(&other, 0, 10).await.unwrap().is_empty());
    let decided = bench.writing.decide(&other, &evidence(&new), yes(Manner::Replace)).await;
    assert!(matches!(decided, Err(Error::Unknown { .. })), "{decided:?}");
    assert!(bench.writing.pending(&bench.user(), 0, 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_second_held_version_is_looked_at_again_before_it_is_used() {
    let bench = Bench::new().await;
    let cora = bench.curator();
    let unit = bench.stored(&cora, pressure("a", "5", Some("2025-01-01"))).await;
    let mut held = Vec::new();
    for (id, value, from) in [("b", "7", "2026-06-01"), ("c", "9", "2026-08-01")] {
        let receipt = bench.put(&cora, pressure(id, value, Some(from))).await;
        assert_eq!(receipt.stage, Stage::Held);
        held.push(bench.version(&receipt).await);
    }
    let decide = async |name: &str, version: &Version| {
        let rights = bench.reviewer(name);
        bench.writing.decide(&rights, &evidence(version), yes(Manner::Replace)).await
    };
    // One has agreed to the second before the first is used.
    assert_eq!(decide("rita", &held[1]).await.unwrap().missing, 1);
    for name in ["rita", "ralf"] {
        decide(name, &held[0]).await.unwrap();
    }
    let refused = decide("ralf", &held[1]).await;
    let named = |error: &Error| error.to_string().contains(held[0].unit.as_str());
    assert!(matches!(&refused, Err(error @ Error::State(_)) if named(error)), "{refused:?}");
    let marked = bench.load(held[1].seq).await;
    assert_eq!(marked.conflicts, [unit.unit.clone(), held[0].unit.clone()]);
    assert_eq!(bench.load(held[0].seq).await.conflicts.last(), Some(&held[1].unit));
    // Who agreed before did not know of it.
    assert_eq!(decide("ralf", &held[1]).await.unwrap().missing, 1);
    assert_eq!(decide("rita", &held[1]).await.unwrap().state, State::Active);
    for (as_of, value) in [
        ("2025-03-01T00:00:00Z", "5"),
        ("2026-07-01T00:00:00Z", "7"),
        ("2026-09-01T00:00:00Z", "9"),
    ] {
        let known = bench.known("manuals", as_of, None).await;
        let only = known.len() == 1 && known[0].contains(&format!("stated as {value} "));
        assert!(only, "{as_of}: {known:?}");
    }
}

#[tokio::test]
async fn what_is_believed_less_does_not_overtake_what_is_believed_more() {
    let bench = Bench::new().await;
    let cora = bench.curator();
    let city = |id: &str, value: &str, from: &str| {
        with(
            manual(id, &format!("The registry of team Kestrel says {value}.")),
            json!({"valid_from": from,
                "facts": [{"entity": "team Kestrel", "attribute": "city", "value": value}]}),
        )
    };
    let first = bench.stored(&cora, city("1", "Oslo", "2026-01-01")).await;
    let weak = with(city("2", "Lyon", "2026-02-01"), json!({"origin": "file"}));
    let receipt = bench.put(&cora, weak).await;
    assert_eq!(receipt.stage, Stage::Held, "{receipt:?}");
    assert!(receipt.remarks[0].contains("trust 100 against 70"), "{:?}", receipt.remarks);
    assert_eq!(bench.version(&receipt).await.conflicts, [first.unit]);
    // What held before takes nothing's place, and what is believed as much needs nobody.
    let early = with(city("3", "Rome", "2025-01-01"), json!({"origin": "file"}));
    bench.stored(&cora, early).await;
    bench.stored(&cora, city("4", "Bern", "2026-03-01")).await;
}
