//! Upkeep: what it plans, does and puts back.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::kit::{Bench, manual, note, with};
use crate::memory::{Change, Draft, End, Error, Stage, State, Work};

const LONG: &str = "Before the pump is started the valve on the suction side must be open and the \
    housing filled with water, since a dry seal is damaged within seconds. The level in the tank is \
    read at the glass, and the start is noted in the book of the shift with name and hour.";

const REST: &str = "While it runs nobody stands in front of the coupling, which is guarded but turns at full \
    speed. The lever on the SIDE of the frame stops the motor at once; it is tried at the beginning of each \
    shift, before the first batch is filled, and the trial is written down with the name of whoever did it. A \
    pump that sounds harsh or grows warm is stopped and reported to the foreman, who decides whether the spare \
    one takes over until the bearing was looked at by the workshop.";

#[tokio::test]
async fn near_duplicates_of_one_writer_are_merged_and_the_run_can_be_undone() {
    let bench = Bench::new().await;
    let cora = bench.curator();
    let first = bench.stored(&cora, manual("1", LONG)).await;
    let second =
        bench.stored(&cora, manual("2", &LONG.replace("name and hour.", "name and hours."))).await;
    let plan = bench.writing.plan(None).await.unwrap();
    assert_eq!(plan.items.len(), 1, "{plan:?}");
    assert_eq!((plan.items[0].work, plan.items[0].seq), (Work::Merge, first.seq));
    assert_eq!(plan.items[0].kept.as_ref(), Some(&second.unit));
    // A plan changes nothing.
    assert!(bench.load(first.seq).await.ended.is_none());
    let run = bench.writing.apply(&plan).await.unwrap().remove(0);
    assert_eq!(
        (run.changed, run.summary.as_str(), run.tenant.as_str()),
        (1, "1 merged, 0 expired, 0 dropped, 0 archived", "acme")
    );
    let ended = bench.load(first.seq).await.ended.unwrap();
    assert_eq!((ended.why, ended.by), (End::Merged, Some(second.unit)));
    assert!(bench.writing.plan(None).await.unwrap().items.is_empty());
    assert_eq!(bench.writing.undo(&run.id).await.unwrap(), 1);
    assert!(bench.load(first.seq).await.ended.is_none());
    assert!(
        bench.writing.undo(&run.id).await.is_err() && bench.writing.undo("none").await.is_err()
    );
}

#[tokio::test]
async fn what_differs_in_more_than_wording_is_never_merged() {
    let bench = Bench::new().await;
    let cora = bench.curator();
    let text = |change: (&str, &str)| LONG.replace(change.0, change.1);
    let numbered = format!("{LONG} Limit 5.");
    bench.stored(&cora, manual("1", &numbered)).await;
    bench.stored(&cora, manual("2", &format!("{LONG} Limit 7."))).await;
    bench.stored(&cora, manual("3", &text(("must be open", "must not be open")))).await;
    bench.stored(&cora, with(manual("4", LONG), json!({"valid_to": "2025-01-01"}))).await;
    bench.stored(&cora, with(manual("5", LONG), json!({"valid_from": "2025-01-01"}))).await;
    bench.stored(&cora, with(manual("6", LONG), json!({"kind": "case"}))).await;
    bench.stored(&cora, with(manual("7", &text(("hour", "hours"))), json!({"kind": "case"}))).await;
    bench.stored(&cora, with(manual("8", LONG), json!({"metadata": {"language": "en"}}))).await;
    for (id, side) in [("9", "left"), ("9b", "right")] {
        bench.stored(&cora, manual(id, &format!("{LONG} {REST}").replace("SIDE", side))).await;
    }
    bench.stored(&cora, with(manual("10", LONG), json!({"speaker": "the foreman"}))).await;
    let asked = json!({"triggers": ["how is the pump started"]});
    bench.stored(&cora, with(manual("11", LONG), asked)).await;
    for (name, id) in [("uma", "a"), ("otto", "b")] {
        let noted = note(id, &text(("name and hour", &format!("{id} name and hour"))));
        bench.stored(&bench.rights(name, &[]), noted).await;
    }
    let plan = bench.writing.plan(None).await.unwrap();
    assert_eq!((plan.items.len(), plan.seen), (0, 14), "{plan:?}");
}

#[tokio::test]
async fn a_run_is_of_one_tenant_and_told_with_its_collections() {
    let bench = Bench::new().await;
    let other = crate::memory::Rights::of(
        &super::kit::caller("eve", "other", &["curator"]),
        &bench.collections.load(),
    );
    let again = LONG.replace("name and hour.", "name and hours.");
    for rights in [bench.curator(), other] {
        for (id, text) in [("1", LONG), ("2", again.as_str())] {
            let draft: Draft = serde_json::from_value(manual(id, text)).unwrap();
            let sent: Vec<crate::memory::Sent> = vec![draft.into()];
            let taken = bench.writing.remember(&rights, sent, super::kit::WAIT).await;
            assert_eq!(taken[0].as_ref().unwrap().stage, Stage::Stored);
        }
    }
    let plan = bench.writing.plan(None).await.unwrap();
    let runs = bench.writing.apply(&plan).await.unwrap();
    assert_eq!(runs.iter().map(|run| run.tenant.as_str()).collect::<Vec<_>>(), ["acme", "other"]);
    let known = bench.writing.runs(9).await.unwrap();
    for run in &known {
        assert_eq!(
            (run.changed, run.collections.as_slice()),
            (1, ["manuals".to_owned()].as_slice())
        );
    }
    assert_eq!(bench.writing.undo(&runs[1].id).await.unwrap(), 1);
    assert_eq!(known.iter().filter(|run| run.tenant == "acme").count(), 1);
}

#[tokio::test]
async fn what_expired_ends_and_what_is_not_used_is_archived() {
    let bench = Bench::new().await;
    let uma = bench.user();
    let kept = bench.stored(&uma, note("1", "Likes tea in the morning.")).await;
    let plan = bench
        .writing
        .plan_at(None, kept.recorded + SignedDuration::from_hours(2399))
        .await
        .unwrap();
    assert!(plan.items.is_empty());
    let later = kept.recorded + SignedDuration::from_hours(2401);
    let plan = bench.writing.plan_at(None, later).await.unwrap();
    assert_eq!(plan.items[0].work, Work::Archive);
    let run = bench.writing.apply(&plan).await.unwrap().remove(0);
    assert_eq!(bench.load(kept.seq).await.state, State::Archived);
    // What is written again is in use again.
    bench.put(&uma, note("1", "Likes tea in the morning.")).await;
    assert_eq!(bench.load(kept.seq).await.state, State::Active);
    assert_eq!(bench.writing.undo(&run.id).await.unwrap(), 0);
    let plan = bench
        .writing
        .plan_at(None, kept.recorded + SignedDuration::from_hours(8761))
        .await
        .unwrap();
    assert_eq!(plan.items[0].work, Work::Expire);
    assert_eq!(bench.writing.apply(&plan).await.unwrap().len(), 1);
    assert_eq!(bench.load(kept.seq).await.ended.unwrap().why, End::Expired);
    // The curated collection keeps its units for ever.
    bench.stored(&bench.curator(), manual("1", "A rule of the house.")).await;
    assert!(bench.writing.plan_at(None, Timestamp::MAX).await.unwrap().items.is_empty());
}

#[tokio::test]
async fn a_plan_keeps_its_hands_off_what_changed_since_and_off_what_others_write() {
    let bench = Bench::new().await;
    let uma = bench.user();
    let kept = bench.stored(&uma, note("1", "Likes tea in the morning.")).await;
    bench.stored(&bench.rights("otto", &[]), note("1", "Likes coffee at noon.")).await;
    let later = kept.recorded + SignedDuration::from_hours(3000);
    let plan = bench.writing.plan_at(Some(&uma), later).await.unwrap();
    assert_eq!((plan.items.len(), plan.seen), (1, 1));
    let rejected = Change {
        seq: kept.seq,
        state: Some(State::Rejected),
        ended: None,
        conflicts: vec![],
        remarks: vec![],
        said: None,
    };
    bench.store.change(None, &[rejected]).await.unwrap();
    assert!(bench.writing.apply(&plan).await.unwrap().is_empty());
    let drop = bench.writing.plan_at(Some(&uma), later).await.unwrap();
    assert_eq!(drop.items[0].work, Work::Drop);
}

#[tokio::test]
async fn upkeep_removes_receipts_that_nobody_asks_for_any_more() {
    let bench = Bench::new().await;
    let cora = bench.curator();
    let receipt = bench.put(&cora, manual("1", LONG)).await;
    assert_eq!(bench.writing.forget_receipts().await.unwrap(), 0, "they are kept for a week");
    assert!(bench.writing.receipt(&cora, &receipt.id, None).await.is_ok());
    let bench = bench.again_kept(std::time::Duration::ZERO).await;
    assert_eq!(bench.writing.forget_receipts().await.unwrap(), 1);
    let gone = bench.writing.receipt(&cora, &receipt.id, None).await;
    assert!(matches!(gone, Err(Error::Unknown { .. })), "{gone:?}");
    assert_eq!(bench.version(&receipt).await.draft.text, LONG);
}
