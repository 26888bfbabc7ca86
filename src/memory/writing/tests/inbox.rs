//! The count of what waits is never emptied under writes that are on their way to the store.

use crate::memory::store::Backlog;
use crate::memory::writing::inbox::Inbox;
use crate::memory::{Draft, Kind, WritingConfig};

#[test]
fn room_that_was_taken_since_the_store_was_asked_stays_taken() {
    let inbox = Inbox::new(&WritingConfig::default());
    let draft = Draft::new("notes", "desk", "1", Kind::Case);
    let taker = inbox.taker();
    taker.reserve(&draft).unwrap();
    assert!(inbox.quiet().is_none(), "the store may not have it yet");
    drop(taker);
    let quiet = inbox.quiet().unwrap();
    inbox.taker().reserve(&draft).unwrap();
    inbox.recount(quiet, 0);
    assert_eq!(inbox.waiting(), 2);
    inbox.recount(inbox.quiet().unwrap(), 1);
    assert_eq!(inbox.waiting(), 2);
    inbox.recount(inbox.quiet().unwrap(), 0);
    assert_eq!(inbox.waiting(), 0);
}

#[test]
fn where_others_work_too_the_store_says_what_waits() {
    let inbox = Inbox::new(&WritingConfig { waiting: 2, ..WritingConfig::default() });
    let draft = Draft::new("notes", "desk", "1", Kind::Case);
    let taker = inbox.taker();
    taker.reserve(&draft).unwrap();
    taker.reserve(&draft).unwrap();
    taker.reserve(&draft).unwrap_err();
    // Another daemon has settled them.
    inbox.follow(Backlog { writes: 1, bytes: 9 });
    assert_eq!(inbox.waiting(), 1);
    taker.reserve(&draft).unwrap();
}
