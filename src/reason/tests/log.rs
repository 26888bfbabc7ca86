//! The store: what is kept is read again, in order; a second daemon has no place.

use std::sync::Arc;

use crate::reason::event::{Event, Kept, Resumed, Started};
use crate::reason::going::Going;
use crate::reason::log::Log;
use crate::reason::state::Story;
use crate::reason::store::{Birth, Head, Store};
use crate::reason::{Error, Filter, RunId, State};

fn begin(store: &Store, run: &RunId) -> (Log, Arc<Going>, Birth) {
    let caller = super::kit::visitor("a").caller;
    let going = Arc::new(Going::new(&caller, Vec::new()));
    let log = Log::new(run.clone(), store.clone(), Arc::clone(&going), Story::default());
    let (conversation, agent, question) = (String::new(), String::new(), "why".to_owned());
    (log, going, Birth { caller, conversation, agent, question })
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_many_tasks_have_places_without_a_gap() {
    let home = tempfile::tempdir().unwrap();
    let store = Store::open(&home.path().join("runs.db")).unwrap();
    let run = RunId::generate();
    let (log, going, birth) = begin(&store, &run);
    log.begin(Event::Started(Box::default()), birth).await.unwrap();
    let each = (0..50).map(|task| {
        let log = &log;
        async move {
            let event = Event::Resumed(Resumed { why: task.to_string() });
            log.add(&format!("t{task}"), event).await.unwrap();
        }
    });
    futures::future::join_all(each).await;
    log.add("", Event::Cancelled).await.unwrap();
    // Nothing comes behind the end.
    log.add("", Event::Started(Box::default())).await.unwrap();
    let whole = store.whole(&run).await.unwrap();
    assert!(whole.len() == 52 && whole.iter().zip(1..).all(|(kept, seq)| kept.seq == seq));
    assert!(going.behind(50).len() == 2 && going.behind(52).is_empty());
    let caller = super::kit::visitor("a").caller;
    let listed = store.list(&caller, Filter::default()).await.unwrap();
    assert_eq!((listed[0].state, listed[0].last_seq), (State::Cancelled, 52));
    assert!(store.open_runs().await.unwrap().is_empty());
    let gone = store.forget(jiff::Timestamp::now()).await.unwrap();
    assert!(gone == 1 && store.whole(&run).await.unwrap().is_empty());
}

#[tokio::test]
async fn behind_an_event_that_was_not_kept_none_is() {
    let home = tempfile::tempdir().unwrap();
    let store = Store::open(&home.path().join("runs.db")).unwrap();
    let run = RunId::generate();
    let (_, _, birth) = begin(&store, &run);
    let kept = |seq| Kept {
        seq,
        at: jiff::Timestamp::now(),
        run: run.clone(),
        step: 0,
        task: String::new(),
        event: Event::Started(Box::default()),
    };
    store.send(&kept(1), Some(birth), Head::default()).kept().await.unwrap();
    // The second found no place on the disk; the third, which is smaller, would.
    let third = store.send(&kept(3), None, Head::default()).kept().await;
    assert!(matches!(third, Err(Error::Database(_))), "{third:?}");
    assert_eq!(store.whole(&run).await.unwrap().len(), 1);
    store.send(&kept(2), None, Head::default()).kept().await.unwrap();
    store.send(&kept(3), None, Head::default()).kept().await.unwrap();
    let places = store.whole(&run).await.unwrap().into_iter().map(|kept| kept.seq);
    assert_eq!(places.collect::<Vec<_>>(), [1, 2, 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_runs_than_one_transaction_takes_are_forgotten() {
    let home = tempfile::tempdir().unwrap();
    let store = Store::open(&home.path().join("runs.db")).unwrap();
    for _ in 0..130 {
        let (log, _, birth) = begin(&store, &RunId::generate());
        log.begin(Event::Started(Box::default()), birth).await.unwrap();
        log.add("", Event::Cancelled).await.unwrap();
    }
    let later = jiff::Timestamp::now().saturating_add(jiff::SignedDuration::from_secs(1)).unwrap();
    assert_eq!(store.forget(later).await.unwrap(), 130);
    let caller = super::kit::visitor("a").caller;
    assert!(store.list(&caller, Filter::default()).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_second_daemon_and_another_programs_file_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("runs.db");
    let _store = Store::open(&path).unwrap();
    let second = Store::open(&path).unwrap_err();
    assert!(second.to_string().contains("reason.path"), "{second}");
    let foreign = home.path().join("other.db");
    std::fs::write(&foreign, "no database at all, but text of some length").unwrap();
    assert!(matches!(Store::open(&foreign), Err(Error::Open { .. })));
    let started = Started::default();
    assert_eq!(started.time_zone, "");
}
