//! Requests to the reasoning from their wire form. Every field that is malformed is named, all at once.

use tonic::Status;

use super::status;
use crate::proto::reason as proto;
use crate::reason::{Asked, Filter, Limits, RunId, State};

/// Bytes of a question.
const QUESTION_BYTES: usize = 16 << 10;
/// Bytes of a name: of an agent, a conversation, a collection; and of a date.
const NAME_BYTES: usize = 128;
/// Collections of a question.
const COLLECTIONS: usize = 64;
/// Digits of an amount of money, and the rest of it.
const MONEY_BYTES: usize = 32;
/// Runs of a page that names no size, and of the largest.
const PAGE: u32 = 50;
const LARGEST: u32 = 200;

type Wrong = Vec<(&'static str, String)>;

/// A question and what belongs to it.
pub(super) fn asked(wire: proto::RunRequest) -> Result<Asked, Status> {
    let mut wrong = Wrong::new();
    match wire.question.len() {
        _ if wire.question.trim().is_empty() => wrong.push(("question", "is empty".to_owned())),
        bytes if bytes > QUESTION_BYTES => {
            wrong.push(("question", format!("has {bytes} bytes; at most {QUESTION_BYTES}")));
        }
        _ => {}
    }
    name("agent", &wire.agent, &mut wrong);
    name("conversation_id", &wire.conversation_id, &mut wrong);
    name("as_of", &wire.as_of, &mut wrong);
    let collections = wire.collections.len();
    if collections > COLLECTIONS {
        wrong.push(("collections", format!("has {collections} items; at most {COLLECTIONS}")));
    }
    wire.collections.iter().take(COLLECTIONS).for_each(|one| name("collections", one, &mut wrong));
    let previous = match wire.previous_run_id.as_str() {
        "" => None,
        text => id("previous_run_id", text, &mut wrong),
    };
    let limits = limits(wire.limits.unwrap_or_default(), &mut wrong);
    if !wrong.is_empty() {
        return Err(status::malformed(&wrong));
    }
    Ok(Asked {
        question: wire.question,
        agent: wire.agent,
        conversation: wire.conversation_id,
        previous,
        as_of: wire.as_of,
        collections: wire.collections,
        limits,
        no_cache: wire.no_cache,
    })
}

fn limits(wire: proto::Limits, wrong: &mut Wrong) -> Limits {
    let proto::Limits { steps, tokens, money, wall_ms } = wire;
    let plain = |text: &String| {
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        let points = text.bytes().filter(|byte| *byte == b'.').count();
        text.len() <= MONEY_BYTES
            && digits > 0
            && points <= 1
            && digits + points == text.len()
            && !text.starts_with('.')
            && !text.ends_with('.')
    };
    if money.as_ref().is_some_and(|text| !plain(text)) {
        let what = "is no amount: write digits, with one point at most, such as 0.25";
        wrong.push(("limits.money", what.to_owned()));
    }
    Limits { steps, tokens, money, wall_ms }
}

fn name(field: &'static str, text: &str, wrong: &mut Wrong) {
    if text.len() > NAME_BYTES {
        wrong.push((field, format!("has {} bytes; at most {NAME_BYTES}", text.len())));
    } else if text.chars().any(char::is_control) {
        wrong.push((field, "has a control character".to_owned()));
    }
}

fn id(field: &'static str, text: &str, wrong: &mut Wrong) -> Option<RunId> {
    let run = RunId::parse(text);
    if run.is_none() {
        wrong.push((field, "is no id of a run, which is a UUID".to_owned()));
    }
    run
}

/// The run that a request names.
pub(super) fn run(text: &str) -> Result<RunId, Status> {
    let mut wrong = Wrong::new();
    id("run_id", text, &mut wrong).ok_or_else(|| status::malformed(&wrong))
}

/// Which runs a list names, and how many of them.
pub(super) fn filter(wire: &proto::ListRunsRequest) -> Result<(Filter, u32), Status> {
    let mut wrong = Wrong::new();
    let before = match wire.page_token.as_str() {
        "" => None,
        token => {
            let run = RunId::parse(token);
            if run.is_none() {
                wrong.push(("page_token", "is none that was given for this".to_owned()));
            }
            run
        }
    };
    name("conversation_id", &wire.conversation_id, &mut wrong);
    let mut states = Vec::new();
    for wanted in &wire.states {
        match proto::State::try_from(*wanted).ok().and_then(state) {
            Some(state) if states.contains(&state) => {}
            Some(state) => states.push(state),
            None => wrong.push(("states", format!("has {wanted}, which is no state"))),
        }
    }
    if !wrong.is_empty() {
        return Err(status::malformed(&wrong));
    }
    let size = if wire.page_size == 0 { PAGE } else { wire.page_size.min(LARGEST) };
    let conversation = wire.conversation_id.clone();
    Ok((Filter { states, conversation, before, limit: size }, size))
}

fn state(wire: proto::State) -> Option<State> {
    Some(match wire {
        proto::State::Unspecified => return None,
        proto::State::Running => State::Running,
        proto::State::Waiting => State::Waiting,
        proto::State::Answered => State::Answered,
        proto::State::Partial => State::Partial,
        proto::State::Failed => State::Failed,
        proto::State::Cancelled => State::Cancelled,
    })
}

#[cfg(test)]
mod tests {
    use tonic_types::StatusExt;

    use super::*;

    fn fields(status: &Status) -> Vec<String> {
        let bad = status.get_details_bad_request().unwrap();
        bad.field_violations.into_iter().map(|one| one.field).collect()
    }

    #[test]
    fn every_field_that_is_wrong_is_named() {
        let wire = proto::RunRequest {
            question: "\n ".into(),
            agent: "a".repeat(129),
            conversation_id: "a\u{7}".into(),
            previous_run_id: "1".into(),
            as_of: "x".repeat(200),
            collections: vec!["c".into(); 65],
            limits: Some(proto::Limits { money: Some("1e3".into()), ..Default::default() }),
            ..Default::default()
        };
        let wrong = asked(wire).unwrap_err();
        let named = [
            "question",
            "agent",
            "conversation_id",
            "as_of",
            "collections",
            "previous_run_id",
            "limits.money",
        ];
        assert_eq!(fields(&wrong), named);
        let long = proto::RunRequest { question: "q".repeat(16385), ..Default::default() };
        assert_eq!(fields(&asked(long).unwrap_err()), ["question"]);
        assert_eq!(fields(&run("../1").unwrap_err()), ["run_id"]);
    }

    #[test]
    fn a_limit_of_zero_is_one_and_one_that_is_not_set_is_none() {
        let limits =
            proto::Limits { tokens: Some(0), money: Some("0".into()), ..Default::default() };
        let wire =
            proto::RunRequest { question: "q".into(), limits: Some(limits), ..Default::default() };
        let limits = asked(wire).unwrap().limits;
        assert_eq!((limits.tokens, limits.money, limits.steps), (Some(0), Some("0".into()), None));
        for wrong in ["", ".", "1.", ".5", "-1", "1.2.3", "0x1", "1 "] {
            let limits = proto::Limits { money: Some(wrong.into()), ..Default::default() };
            let wire = proto::RunRequest {
                question: "q".into(),
                limits: Some(limits),
                ..Default::default()
            };
            assert_eq!(fields(&asked(wire).unwrap_err()), ["limits.money"], "{wrong}");
        }
    }

    #[test]
    fn pages_have_a_size_within_bounds_and_tokens_are_ids() {
        let list = |page_size| proto::ListRunsRequest { page_size, ..Default::default() };
        assert_eq!(filter(&list(0)).unwrap().1, 50);
        assert_eq!(filter(&list(9999)).unwrap().1, 200);
        let forged = proto::ListRunsRequest { page_token: "17".into(), ..Default::default() };
        assert_eq!(fields(&filter(&forged).unwrap_err()), ["page_token"]);
        let strange = proto::ListRunsRequest { states: vec![99, 0], ..Default::default() };
        assert_eq!(fields(&filter(&strange).unwrap_err()), ["states", "states"]);
        // A database takes so many values of one statement and no more.
        let often = proto::ListRunsRequest { states: [1, 2].repeat(20_000), ..Default::default() };
        assert_eq!(filter(&often).unwrap().0.states, [State::Running, State::Waiting]);
    }
}
