//! Writes, their receipts, and how they are settled.

use jiff::Timestamp;

use super::super::{Chunk, Error, Settlement, Stage, Store, Write};
use super::kit::{
    MODEL, TENANT, ask_words, change, chunk, draft, next, put_vector, scope, settlement, version,
    write,
};

pub(super) async fn an_accepted_write_waits_until_it_is_settled(store: &dyn Store) {
    let writes: Vec<Write> = ["one", "two", "three"].map(draft).map(write).into();
    store.accept(writes.clone()).await.unwrap();
    assert_eq!(store.waiting(None, 10).await.unwrap(), writes);
    assert_eq!(store.waiting(None, 2).await.unwrap(), writes[..2]);
    let receipt = store.receipt(TENANT, &writes[0].receipt).await.unwrap().unwrap();
    assert_eq!((receipt.stage, receipt.stored), (Stage::Accepted, None));
    assert_eq!((receipt.caller.as_str(), receipt.arrived), ("ann", writes[0].arrived));

    let stored = version("one");
    let unit = stored.unit.clone();
    let mut first = settlement(&writes[0].receipt, stored);
    first.remarks = vec!["no vectors yet".into()];
    let seq = store.settle(vec![first]).await.unwrap()[0].unwrap();
    assert_eq!(store.waiting(None, 10).await.unwrap(), writes[1..]);
    let after = store.waiting(Some(&writes[0].receipt), 10).await.unwrap();
    assert_eq!(after, writes[1..], "one that no longer waits still has its place");
    assert_eq!(store.waiting(Some(&writes[1].receipt), 10).await.unwrap(), writes[2..]);
    let receipt = store.receipt(TENANT, &writes[0].receipt).await.unwrap().unwrap();
    assert_eq!((receipt.stage, receipt.stored), (Stage::Stored, Some((unit, seq))));
    assert_eq!(receipt.remarks, ["no vectors yet"]);
    assert!(receipt.changed > receipt.arrived);
    assert_eq!(ask_words(store, &scope(), "one").await[0].seq, seq, "it is found at once");
}

pub(super) async fn a_write_is_taken_and_settled_once(store: &dyn Store) {
    let write = write(draft("once"));
    store.accept(vec![write.clone()]).await.unwrap();
    store.accept(vec![write.clone()]).await.unwrap();
    assert_eq!(store.waiting(None, 10).await.unwrap().len(), 1);
    let first = store.settle(vec![settlement(&write.receipt, version("once"))]).await.unwrap();
    let second = store.settle(vec![settlement(&write.receipt, version("twice"))]).await.unwrap();
    assert_eq!(first, second);
    store.accept(vec![write]).await.unwrap();
    assert_eq!(store.waiting(None, 10).await.unwrap(), [], "it was settled before");
    assert_eq!(store.list(&scope(), None, 10).await.unwrap().len(), 1);
}

pub(super) async fn a_receipt_is_told_to_its_tenant_only(store: &dyn Store) {
    let write = write(draft("ours"));
    store.accept(vec![write.clone()]).await.unwrap();
    assert_eq!(store.receipt("other", &write.receipt).await.unwrap(), None);
    assert_eq!(store.receipt(TENANT, "no such receipt").await.unwrap(), None);
}

pub(super) async fn a_write_that_is_refused_leaves_a_receipt_and_no_version(store: &dyn Store) {
    let write = write(draft("small talk"));
    store.accept(vec![write.clone()]).await.unwrap();
    let refused = Settlement {
        receipt: write.receipt.clone(),
        stage: Stage::Refused,
        remarks: vec!["small talk".into()],
        version: None,
        known: None,
        changes: Vec::new(),
    };
    assert_eq!(store.settle(vec![refused]).await.unwrap(), [None]);
    let receipt = store.receipt(TENANT, &write.receipt).await.unwrap().unwrap();
    assert_eq!((receipt.stage, receipt.stored), (Stage::Refused, None));
    assert_eq!(store.counts(None).await.unwrap().versions, 0);
    assert_eq!(store.waiting(None, 10).await.unwrap(), []);
}

pub(super) async fn a_settlement_that_fails_changes_nothing(store: &dyn Store) {
    let write = write(draft("half"));
    store.accept(vec![write.clone()]).await.unwrap();
    let mut broken = settlement(&write.receipt, version("half"));
    broken.changes = vec![change(4711)];
    store.settle(vec![broken]).await.unwrap_err();
    assert_eq!(store.waiting(None, 10).await.unwrap(), std::slice::from_ref(&write));
    assert_eq!(store.counts(None).await.unwrap().versions, 0);
    assert_eq!(ask_words(store, &scope(), "half").await, []);
    let seq = store.settle(vec![settlement(&write.receipt, version("half"))]).await.unwrap()[0];
    assert_eq!(ask_words(store, &scope(), "half").await[0].seq, seq.unwrap());
}

pub(super) async fn vectors_of_another_length_are_refused_and_the_write_still_waits(
    store: &dyn Store,
) {
    put_vector(store, "first", MODEL, &[1.0, 0.0, 0.0]).await;
    let write = write(draft("second"));
    store.accept(vec![write.clone()]).await.unwrap();
    let version = version("second");
    let vector = Some((MODEL.to_owned(), vec![1.0, 0.0]));
    let chunks = vec![Chunk { vector, ..chunk(&version) }];
    let mut wrong = settlement(&write.receipt, version.clone());
    wrong.version = Some((version, chunks));
    let error = store.settle(vec![wrong]).await.unwrap_err();
    let Error::Dimensions { model, expected, given } = error else { panic!("{error}") };
    assert_eq!((model.as_str(), expected, given), (MODEL, 3, 2));
    assert_eq!(store.waiting(None, 10).await.unwrap(), [write]);
    assert_eq!(ask_words(store, &scope(), "second").await, []);
}

pub(super) async fn many_writers_at_once_lose_nothing(store: &dyn Store) {
    let writers = (0..40).map(|number| async move {
        let text = format!("writer{number}");
        let write = write(draft(&text));
        store.accept(vec![write.clone()]).await.unwrap();
        let settled = store.settle(vec![settlement(&write.receipt, version(&text))]).await.unwrap();
        (text, settled[0].unwrap())
    });
    for (text, seq) in futures::future::join_all(writers).await {
        let hits = ask_words(store, &scope(), &text).await;
        assert_eq!(hits.iter().map(|hit| hit.seq).collect::<Vec<_>>(), [seq], "{text}");
    }
    assert_eq!(store.counts(None).await.unwrap().versions, 40);
}

pub(super) async fn a_receipt_tells_a_later_version_from_a_new_unit(store: &dyn Store) {
    let first = version("the first");
    let mut told = Vec::new();
    for (stage, version) in [
        (Stage::Stored, first.clone()),
        (Stage::Stored, next(&first, "the second")),
        (Stage::Outdated, next(&first, "found late")),
        (Stage::Held, next(&first, "the third")),
    ] {
        let write = write(version.draft.clone());
        store.accept(vec![write.clone()]).await.unwrap();
        let settled = Settlement { stage, ..settlement(&write.receipt, version) };
        store.settle(vec![settled]).await.unwrap();
        told.push(store.receipt(TENANT, &write.receipt).await.unwrap().unwrap().newer);
    }
    assert_eq!(told, [false, true, false, true]);
}

pub(super) async fn receipts_are_removed_some_time_after_their_last_stage(store: &dyn Store) {
    let writes: Vec<Write> = ["one", "two", "three"].map(draft).map(write).into();
    store.accept(writes.clone()).await.unwrap();
    let stored = settlement(&writes[0].receipt, version("one"));
    let seq = store.settle(vec![stored]).await.unwrap()[0].unwrap();
    let past = Timestamp::now() - jiff::SignedDuration::from_hours(1);
    assert_eq!(store.forget_receipts(past).await.unwrap(), 0, "it is too new");
    let soon = Timestamp::now() + jiff::SignedDuration::from_secs(1);
    assert_eq!(store.forget_receipts(soon).await.unwrap(), 1);
    assert_eq!(store.receipt(TENANT, &writes[0].receipt).await.unwrap(), None);
    // What it stored stays, and what waits is not touched, however old it is.
    assert_eq!(store.load(TENANT, &[seq]).await.unwrap().len(), 1);
    assert_eq!(store.waiting(None, 10).await.unwrap(), writes[1..]);
    let refused = Settlement {
        stage: Stage::Refused,
        version: None,
        ..settlement(&writes[1].receipt, version(""))
    };
    store.settle(vec![refused]).await.unwrap();
    let later = Timestamp::now() + jiff::SignedDuration::from_secs(1);
    assert_eq!(store.forget_receipts(later).await.unwrap(), 1);
    assert_eq!(store.forget_receipts(later).await.unwrap(), 0);
    store.settle(vec![settlement(&writes[2].receipt, version("three"))]).await.unwrap();
    assert_eq!(ask_words(store, &scope(), "three").await.len(), 1);
}
