use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::{Config, Keep, Replies};
use crate::call::{Call, Code, Failure};
use crate::normalize::{self, Reply};
use crate::pipeline::CallError;

fn call() -> Call {
    Call::new("text.stats", "{}")
}

fn reply(code: Code) -> Reply {
    normalize::refuse(&call(), "text.stats", &Failure::new(code, "told"), &[])
}

fn keep(identity: &str, errors: bool) -> Keep {
    Keep {
        slot: "slot".to_owned(),
        ttl: Duration::from_secs(60),
        identity: identity.into(),
        errors,
    }
}

#[tokio::test]
async fn a_failed_call_is_kept_for_its_key_and_not_for_the_cache() {
    for (errors, expected) in [(true, 1), (false, 2)] {
        let replies = Replies::new(&Config::default());
        let runs = AtomicU32::new(0);
        for _ in 0..2 {
            let run = async {
                runs.fetch_add(1, Ordering::Relaxed);
                Ok(reply(Code::ExecutionError))
            };
            let told = replies.once(&call(), keep("a", errors), run).await.unwrap();
            assert_eq!(told.error.unwrap().code, Code::ExecutionError);
        }
        assert_eq!(runs.into_inner(), expected, "errors kept: {errors}");
    }
}

#[tokio::test]
async fn a_call_that_may_be_tried_again_is_kept_for_nobody() {
    let replies = Replies::new(&Config::default());
    let runs = AtomicU32::new(0);
    for code in [Code::SandboxUnavailable, Code::Cancelled, Code::ExecutionError] {
        let run = async {
            runs.fetch_add(1, Ordering::Relaxed);
            Ok(reply(code))
        };
        replies.once(&call(), keep("a", true), run).await.unwrap();
    }
    assert_eq!(runs.into_inner(), 3);
}

#[tokio::test]
async fn a_key_that_was_used_for_another_call_is_refused() {
    let replies = Replies::new(&Config::default());
    let first = async { Ok(reply(Code::ExecutionError)) };
    replies.once(&call(), keep("a", true), first).await.unwrap();
    let other = async { Ok(reply(Code::ExecutionError)) };
    let refused = replies.once(&call(), keep("b", true), other).await.unwrap_err();
    assert!(matches!(refused, CallError::Duplicate(..)), "{refused:?}");
}

#[tokio::test]
async fn when_the_first_of_two_equal_calls_is_dropped_the_second_runs() {
    let replies = Arc::new(Replies::new(&Config::default()));
    let first = call();
    let mut stuck = Box::pin(replies.once(&first, keep("a", true), std::future::pending()));
    assert!(futures::poll!(&mut stuck).is_pending());
    let second = call();
    let run = async { Ok(reply(Code::ExecutionError)) };
    let mut waiting = Box::pin(replies.once(&second, keep("a", true), run));
    assert!(futures::poll!(&mut waiting).is_pending(), "it waits for the first");
    drop(stuck);
    let told = waiting.await.unwrap();
    assert_eq!(told.error.unwrap().code, Code::ExecutionError);
}
