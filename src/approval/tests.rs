//! The queue on real files: what an approval holds for, how often, how long, and what is left of it
//! when the daemon dies.

use std::time::Duration;

use jiff::Timestamp;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Approval, Approvals, Config, Decided, Error, Filter, Grant, State, Wanted};
use crate::call::Code;
use crate::catalog::{Envelope, Risk, Runtime, Tier};

struct Queue {
    folder: TempDir,
    config: Config,
    approvals: Approvals,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Queue {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut Config)) -> Self {
        let folder = TempDir::new().unwrap();
        let mut config = Config::default();
        config.place(&folder.path().join("ledger.db"));
        change(&mut config);
        Self::open(folder, config)
    }

    fn open(folder: TempDir, config: Config) -> Self {
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let approvals = Approvals::open(&config, &tasks, &stop).unwrap();
        Self { folder, config, approvals, tasks, stop }
    }

    /// The same file in the hands of the next daemon.
    async fn reopened(self) -> Self {
        let Self { folder, config, approvals, tasks, stop } = self;
        stop.cancel();
        tasks.close();
        tasks.wait().await;
        drop(approvals);
        Self::open(folder, config)
    }

    async fn claim(&self, wanted: Wanted) -> Result<Grant, Error> {
        self.approvals.claim(wanted, None).await
    }

    /// The approval that a call is told to wait for.
    async fn required(&self, wanted: Wanted) -> Approval {
        match self.claim(wanted).await {
            Err(Error::Required(approval)) => *approval,
            other => panic!("{other:?}"),
        }
    }

    async fn decide(&self, id: &str, approve: bool) -> Approval {
        self.approvals.decide(id, decided(approve)).await.unwrap()
    }

    async fn state(&self, id: &str) -> State {
        self.approvals.get(id).await.unwrap().unwrap().state
    }
}

fn wanted(call: &str) -> Wanted {
    Wanted {
        call_id: call.to_owned(),
        caller: "agent".to_owned(),
        tenant: "acme".to_owned(),
        roles: vec!["local".to_owned()],
        proof: "user id".to_owned(),
        conversation: String::new(),
        tool: "erase".to_owned(),
        tool_digest: "tool-1".to_owned(),
        risk: Risk::Destructive,
        source: "erase".to_owned(),
        arguments: "{\"id\":12345678901234567890123}".to_owned(),
        files: Vec::new(),
        sandbox: Envelope {
            profile: "shell".to_owned(),
            image: "shell".to_owned(),
            image_digest: String::new(),
            tier: Tier::Call,
            runtime: Runtime::Runc,
            seccomp: "default".to_owned(),
            wall_ms: 3000,
            memory: 1 << 29,
            cpu_millis: 1000,
            processes: 64,
            output: 1 << 20,
            disk: 1 << 24,
            hosts: Vec::new(),
            secrets: Vec::new(),
        },
        hosts: Vec::new(),
        digest: "digest-1".to_owned(),
        policies: vec!["attended".to_owned()],
        policy_version: "policies-1".to_owned(),
    }
}

fn other(call: &str, digest: &str) -> Wanted {
    Wanted { digest: digest.to_owned(), ..wanted(call) }
}

fn decided(approve: bool) -> Decided {
    Decided {
        approve,
        by: "boss".to_owned(),
        tenant: "acme".to_owned(),
        proof: "token".to_owned(),
        reason: "because".to_owned(),
        at_ms: Timestamp::now().as_millisecond(),
    }
}

#[tokio::test]
async fn an_approval_holds_once_for_exactly_the_call_that_asked() {
    let queue = Queue::new();
    let pending = queue.required(wanted("a")).await;
    assert_eq!(pending.state, State::Pending);
    assert_eq!(pending.wanted, wanted("a"), "what is shown is what was asked, digit for digit");
    assert_eq!(queue.required(wanted("b")).await.id, pending.id, "an equal call has the same");

    queue.decide(&pending.id, true).await;
    let different = queue.required(other("c", "digest-2")).await;
    assert_ne!(different.id, pending.id);

    let grant = queue.claim(wanted("d")).await.unwrap();
    assert!(grant.covers("digest-1") && !grant.covers("digest-2"));
    let approved = grant.approved();
    assert_eq!((approved.by.as_str(), approved.asked_by.as_str()), ("boss", "a"));
    let used = queue.approvals.get(&pending.id).await.unwrap().unwrap();
    assert_eq!((used.state, used.used_by.as_deref()), (State::Used, Some("d")));
    assert_ne!(queue.required(wanted("e")).await.id, pending.id, "it is used up");
}

#[tokio::test]
async fn of_many_calls_at_once_one_has_the_approval() {
    let queue = Queue::new();
    let pending = queue.required(wanted("a")).await;
    queue.decide(&pending.id, true).await;
    let calls = (0..32).map(|n| queue.claim(wanted(&n.to_string())));
    let claimed = futures::future::join_all(calls).await;
    assert_eq!(claimed.iter().filter(|claimed| claimed.is_ok()).count(), 1);
}

#[tokio::test]
async fn an_approval_that_was_given_back_can_be_claimed_again() {
    let queue = Queue::new();
    let pending = queue.required(wanted("a")).await;
    queue.decide(&pending.id, true).await;
    let grant = queue.claim(wanted("a")).await.unwrap();
    // As when the call is cancelled in that very moment.
    drop(grant);
    queue.until(&pending.id, State::Approved).await;
    let approved = queue.claim(wanted("b")).await.unwrap().approved();
    assert_eq!(queue.state(&pending.id).await, State::Used);
    queue.approvals.give_back(&approved.id, "a").await.unwrap();
    assert_eq!(queue.state(&pending.id).await, State::Used, "another call cannot give it back");
    queue.approvals.give_back(&approved.id, "b").await.unwrap();
    assert_eq!(queue.state(&pending.id).await, State::Approved);
}

#[tokio::test]
async fn pending_and_approved_outlive_the_daemon() {
    let queue = Queue::new();
    let first = queue.required(wanted("a")).await;
    let second = queue.required(other("b", "digest-2")).await;
    queue.decide(&second.id, true).await;
    let before = queue.approvals.get(&second.id).await.unwrap().unwrap().revision;

    let queue = queue.reopened().await;
    assert_eq!(queue.required(wanted("c")).await.id, first.id);
    let decided = queue.decide(&first.id, true).await;
    assert!(decided.revision > before, "revisions go on");
    queue.claim(wanted("d")).await.unwrap().approved();
    queue.claim(other("e", "digest-2")).await.unwrap().approved();
}

#[tokio::test]
async fn what_a_person_refused_is_not_asked_again() {
    let queue = Queue::new();
    let pending = queue.required(wanted("a")).await;
    queue.decide(&pending.id, false).await;
    let rejected = queue.claim(wanted("b")).await.unwrap_err();
    let failure = rejected.failure();
    assert_eq!(failure.code, Code::ApprovalRejected);
    assert_eq!(failure.details["reason"], "because");
    assert_eq!(failure.message, "a person refused this call: because");
    let again = queue.approvals.decide(&pending.id, decided(true)).await;
    assert!(matches!(again, Err(Error::NotPending { state: State::Denied, .. })), "{again:?}");
}

#[tokio::test]
async fn nothing_holds_after_its_time() {
    let short = Duration::from_millis(1);
    let queue = Queue::with(|config| config.use_within = short);
    let pending = queue.required(wanted("a")).await;
    queue.decide(&pending.id, true).await;
    queue.until(&pending.id, State::Expired).await;
    assert_ne!(queue.required(wanted("b")).await.id, pending.id, "it is asked anew");

    let queue = Queue::with(|config| config.decide_within = short);
    let pending = queue.required(wanted("a")).await;
    // Whoever waits hears of it.
    tokio::time::timeout(Duration::from_secs(30), queue.approvals.settled(&pending.id))
        .await
        .unwrap()
        .unwrap();
    let late = queue.approvals.decide(&pending.id, decided(true)).await;
    assert!(matches!(late, Err(Error::NotPending { state: State::Expired, .. })), "{late:?}");
}

impl Queue {
    /// Waits until an approval stands so.
    async fn until(&self, id: &str, state: State) {
        let mut changes = self.approvals.changes();
        while self.state(id).await != state {
            changes.changed().await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_ticket_says_why_it_does_not_hold() {
    let queue = Queue::new();
    let pending = queue.required(wanted("a")).await;
    let ticket = |wanted: Wanted, id: &str| {
        let (approvals, id) = (queue.approvals.clone(), id.to_owned());
        async move { approvals.claim(wanted, Some(&id)).await.unwrap_err() }
    };
    let cases = [
        (Wanted { tool: "x".to_owned(), ..wanted("b") }, "it is for another tool"),
        (
            Wanted { tool_digest: "tool-2".to_owned(), ..wanted("b") },
            "the tool's definition has changed since",
        ),
        (
            Wanted { policy_version: "policies-2".to_owned(), ..wanted("b") },
            "the policies have changed since",
        ),
        (other("b", "digest-2"), "it is for other arguments or files"),
        (Wanted { conversation: "c".to_owned(), ..wanted("b") }, "it is for another conversation"),
        (
            Wanted { caller: "eve".to_owned(), ..wanted("b") },
            "there is none with that id for this caller",
        ),
        (
            Wanted { tenant: "other".to_owned(), ..wanted("b") },
            "there is none with that id for this caller",
        ),
    ];
    for (wanted, why) in cases {
        let error = ticket(wanted, &pending.id).await;
        assert!(matches!(&error, Error::Unfit { why: found, .. } if *found == why), "{error:?}");
        assert_eq!(error.failure().code, Code::ApprovalRequired);
    }
    assert!(matches!(ticket(wanted("b"), "none").await, Error::Unfit { state: None, .. }));
    assert!(matches!(ticket(wanted("b"), &pending.id).await, Error::Required(_)));

    queue.decide(&pending.id, true).await;
    queue.approvals.claim(wanted("c"), Some(&pending.id)).await.unwrap().approved();
    let error = ticket(wanted("d"), &pending.id).await;
    assert!(error.to_string().contains("it was used before"), "{error}");
    let all = queue.approvals.list(Filter { limit: 10, ..Filter::default() }).await.unwrap();
    assert_eq!(all.len(), 1, "a ticket that does not hold asks nobody");
}

#[tokio::test]
async fn too_many_that_wait_are_refused_with_a_delay() {
    let queue = Queue::with(|config| (config.pending, config.pending_per_caller) = (3, 2));
    queue.required(other("a", "1")).await;
    queue.required(other("b", "2")).await;
    let full = queue.claim(other("c", "3")).await.unwrap_err();
    assert!(matches!(full, Error::Crowded { pending: 2, .. }), "{full:?}");
    assert!(full.failure().retry_after.is_some());
    let of = |caller: &str, digest| Wanted { caller: caller.to_owned(), ..other("d", digest) };
    queue.required(of("second", "4")).await;
    let full = queue.claim(of("third", "5")).await.unwrap_err();
    assert!(matches!(full, Error::Crowded { pending: 3, .. }), "{full:?}");
    // What is there already is found all the same.
    queue.required(other("e", "1")).await;
}

#[tokio::test]
async fn changes_come_in_their_order_from_any_revision_on() {
    let queue = Queue::new();
    let first = queue.required(other("a", "1")).await;
    let second = queue.required(other("b", "2")).await;
    queue.decide(&first.id, true).await;
    let after = async |revision| {
        let filter = Filter { changed_after: Some(revision), limit: 10, ..Filter::default() };
        let found = queue.approvals.list(filter).await.unwrap();
        found.into_iter().map(|one| one.id).collect::<Vec<_>>()
    };
    assert_eq!(after(0).await, [second.id.clone(), first.id.clone()]);
    assert_eq!(after(second.revision).await, std::slice::from_ref(&first.id));
    let newest_first = Filter { limit: 1, ..Filter::default() };
    let page = queue.approvals.list(newest_first.clone()).await.unwrap();
    assert_eq!(page[0].id, second.id);
    let rest = Filter { before: Some(second.id), ..newest_first };
    assert_eq!(queue.approvals.list(rest).await.unwrap()[0].id, first.id);
}

#[tokio::test]
async fn a_file_that_is_not_ours_is_refused_with_what_to_do() {
    let queue = Queue::new();
    let opened = |config: &Config| {
        Approvals::open(config, &TaskTracker::new(), &CancellationToken::new())
            .unwrap_err()
            .to_string()
    };
    assert!(opened(&queue.config).contains("another daemon has it"));
    let path = queue.folder.path().join("text");
    std::fs::write(&path, "not a database, but long enough to be read as one").unwrap();
    let told = opened(&Config { path: Some(path), ..Config::default() });
    assert!(told.contains("not a database"), "{told}");
    let path = queue.folder.path().join("foreign");
    rusqlite::Connection::open(&path).unwrap().execute_batch("PRAGMA application_id = 7").unwrap();
    let told = opened(&Config { path: Some(path), ..Config::default() });
    assert!(told.contains("another program"), "{told}");
}

#[tokio::test]
async fn no_more_calls_wait_than_may_and_none_once_it_closes() {
    let queue = Queue::with(|config| (config.waiting, config.waiting_per_caller) = (3, 2));
    let of = |caller: &str| Wanted { caller: caller.to_owned(), ..wanted("a") };
    let (first, second) = (queue.approvals.wait(&of("a")), queue.approvals.wait(&of("a")));
    assert!(first.is_some() && second.is_some());
    assert!(queue.approvals.wait(&of("a")).is_none(), "two of one caller");
    let third = queue.approvals.wait(&of("b"));
    assert!(third.is_some() && queue.approvals.wait(&of("c")).is_none(), "three of all");
    drop(second);
    assert!(queue.approvals.wait(&of("c")).is_some(), "a place comes back");

    let pending = queue.required(wanted("a")).await;
    let waits = queue.approvals.settled(&pending.id);
    queue.approvals.close();
    assert!(!waits.await.unwrap(), "nothing was decided");
    drop(third);
    assert!(queue.approvals.wait(&of("c")).is_none());
}

#[tokio::test]
async fn arguments_are_dropped_once_nobody_has_to_judge_them() {
    let queue = Queue::new();
    let pending = queue.required(wanted("a")).await;
    queue.decide(&pending.id, false).await;
    let gone = async || {
        let found = queue.approvals.get(&pending.id).await.unwrap().unwrap();
        found.wanted == Wanted { arguments: String::new(), ..wanted("a") }
    };
    let mut tick = tokio::time::interval(Duration::from_millis(20));
    tokio::time::timeout(Duration::from_secs(30), async {
        while !gone().await {
            tick.tick().await;
        }
    })
    .await
    .unwrap();
}
