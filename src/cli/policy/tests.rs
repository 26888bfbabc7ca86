//! A thousand random calls, decided three times: as the daemon decides them, as `explain` tells, and
//! as `replay` finds them in a ledger.

use std::path::Path;

use jiff::Timestamp;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::json;

use super::replay::recorded;
use crate::admission::{Admission, Caller, Config};
use crate::call::{Call, Code, Session, Taint};
use crate::catalog::Catalog;
use crate::ledger::{self, Ledger, Record};
use crate::pipeline::Snapshot;
use crate::policy::{Asked, Outcome, Review};

const CALLS: usize = 1000;
const POLICIES: &str = r#"
@id("clerks")
@owner("tests")
permit (principal in Switchboard::Role::"clerk", action in Switchboard::Action::"risk:destructive", resource)
when { context.session.conversation like "c*" };

@id("north-only")
@owner("tests")
forbid (principal, action == Switchboard::Action::"probe.sh", resource)
unless { principal.tenant == "north" || context.attended };

@id("read-outside")
@owner("tests")
forbid (principal, action in Switchboard::Action::"risk:read", resource)
when { context.session.calls > 2 && context.session.taint.contains("outside") };

@id("doubled")
@owner("tests")
forbid (principal, action == Switchboard::Action::"probe.echo", resource)
when { context.input.count * 9000000000000000 > 9000000000000000000 };
"#;

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// Tools that wait for a person, with arguments that fit them.
fn fitting() -> impl Strategy<Value = (&'static str, String)> {
    prop::sample::select(vec![
        ("wiki.edit", r#"{"page":"home","text":"x"}"#),
        ("erase.record", r#"{"id":3}"#),
        ("notify.mail", r#"{"to":"a@example.com","text":"x"}"#),
    ])
    .prop_map(|(tool, arguments)| (tool, arguments.to_owned()))
}

/// A tool's name, its arguments, a caller and a conversation.
fn calls() -> impl Strategy<Value = Asked> {
    let echo = (any::<i64>(), 0..2000_i64, prop::sample::select(vec!["red", "green", "pink"]))
        .prop_map(|(wide, count, colour)| {
            let count = if wide % 5 == 0 { wide } else { count };
            ("probe.echo", json!({ "count": count, "colour": colour }).to_string())
        });
    let other = (
        prop::sample::select(vec![
            "probe.sh",
            "probe.cat",
            "probe.forbidden",
            "python.run",
            "no.such",
            "text.stats",
            "Probe.Cat",
            "wiki.edit",
            "erase.record",
            "erase.record",
            "erase.record",
            "cancelOrder",
        ]),
        prop::sample::select(vec![
            r#"{}"#,
            r#"{"text":"x"}"#,
            r#"{"script":"true"}"#,
            r#"{"id":3}"#,
            r#"{"id":7}"#,
            r#"{"id":"3"}"#,
            r#"[1]"#,
            r#"{"code":"result=1"}"#,
            r#"{"order_id":"ORD-10001","reason":"too_slow"}"#,
            r#"{"page":"#,
        ]),
    )
        .prop_map(|(tool, arguments)| (tool, arguments.to_owned()));
    let roles = prop::sample::subsequence(vec!["clerk", "local", "chief"], 0..=2);
    let tenants = prop::sample::select(vec!["north", "south"]);
    let conversations = prop::sample::select(vec!["", "c1", "d1"]);
    let taint = prop::sample::subsequence(Taint::ALL.to_vec(), 0..=1);
    let calls = prop_oneof![2 => echo, 6 => other, 1 => fitting()];
    (calls, roles, tenants, conversations, (taint, 0..5_u64)).prop_map(
        |((tool, arguments), roles, tenant, conversation, (taint, calls))| Asked {
            tool: tool.to_owned(),
            arguments,
            caller: Caller {
                name: "somebody".to_owned(),
                tenant: tenant.to_owned(),
                roles: roles.into_iter().map(str::to_owned).collect(),
            },
            conversation: conversation.to_owned(),
            session: match conversation {
                "" => Session::default(),
                _ => Session { calls, taint: taint.into_iter().collect() },
            },
            files: Vec::new(),
        },
    )
}

/// Decides through the rooms that a call goes through, and keeps the record that it leaves.
fn decide(snapshot: &Snapshot, admission: &Admission, asked: &Asked) -> (Outcome, Record) {
    let mut call = Call::new(asked.tool.clone(), asked.arguments.clone());
    call.conversation.clone_from(&asked.conversation);
    call.session.clone_from(&asked.session);
    let mut record = Record {
        call_id: call.id.to_string(),
        received: Timestamp::now(),
        caller: asked.caller.name.clone(),
        tenant: asked.caller.tenant.clone(),
        roles: asked.caller.roles.clone(),
        conversation: asked.conversation.clone(),
        session: Some(asked.session.clone()).filter(|_| !asked.conversation.is_empty()),
        tool_name: asked.tool.clone(),
        arguments_json: asked.arguments.clone(),
        ..Record::default()
    };
    let admitted = admission.admit(call, asked.caller.clone()).unwrap();
    let visible = |caller: &Caller, tool: &crate::catalog::Tool| snapshot.shows(caller, tool);
    let Ok(resolved) = snapshot.catalog.resolve(admitted, &visible) else {
        record.code = Some(Code::UnknownTool);
        return (Outcome::Unknown, record);
    };
    record.tool_name.clone_from(&resolved.tool.name);
    record.tool = Some(resolved.tool.clone());
    let shown = snapshot.shows(&asked.caller, &resolved.tool);
    let checked = match snapshot.schemas.check(resolved) {
        Ok(checked) => checked,
        Err(_) if shown => {
            record.code = Some(Code::SchemaValidationError);
            return (Outcome::Invalid, record);
        }
        Err(_) => {
            record.code = Some(Code::PolicyDenied);
            record.decision = snapshot.policies.hide().decision();
            return (Outcome::Deny, record);
        }
    };
    record.arguments_digest = Some(checked.arguments.digest.clone());
    let decided = snapshot.policies.authorize(checked, None);
    record.decision = match &decided {
        Ok(authorized) => Some(authorized.decision.clone()),
        Err(error) => error.decision(),
    };
    record.code = decided.as_ref().err().map(|error| error.failure().code);
    let outcome = match record.code {
        None => Outcome::Permit,
        Some(Code::ApprovalRequired) => Outcome::Approval,
        Some(_) => Outcome::Deny,
    };
    (outcome, record)
}

#[tokio::test(flavor = "multi_thread")]
async fn daemon_explain_and_replay_decide_alike() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let policies = folder.path().join("policies");
    copy(&root.join("policies"), &policies);
    copy(&root.join("policies/tests"), &policies);
    copy(&root.join("tests/fixtures/policies"), &policies);
    std::fs::write(policies.join("cedar/random.cedar"), POLICIES).unwrap();
    let image = |name: &str| Some(name.to_owned());
    let snapshot = Snapshot::load(&policies, &image, None).unwrap();
    let review = Review::load(&policies, Catalog::load(&policies, &image)).unwrap();
    let admission = Admission::new(Config {
        calls_per_second: u32::MAX,
        calls_per_second_per_caller: u32::MAX,
        ..Config::default()
    })
    .unwrap();
    let file = folder.path().join("ledger.db");
    let config = ledger::Config { path: file.clone(), ..ledger::Config::default() };
    let ledger = Ledger::open(&config).unwrap();

    let mut runner = TestRunner::deterministic();
    let mut seen = std::collections::BTreeMap::<Outcome, usize>::new();
    for _ in 0..CALLS {
        let asked = calls().new_tree(&mut runner).unwrap().current();
        let (outcome, record) = decide(&snapshot, &admission, &asked);
        let decision = record.decision.clone().map(|decision| decision.policies);
        let explained = review.explain(&asked).unwrap();
        assert_eq!(explained.judged.outcome, outcome, "{asked:?}");
        assert_eq!(explained.judged.policies, decision.unwrap_or_default(), "{asked:?}");
        // What is told of the deciding policies of a permit is that every part is met.
        if outcome == Outcome::Permit {
            assert!(!explained.deciding.is_empty(), "{asked:?}");
            assert!(explained.deciding.iter().all(|told| told.unmet == 0), "{explained:?}");
        }
        *seen.entry(outcome).or_default() += 1;
        ledger.record(record, "{}").await.unwrap();
    }
    // Every outcome came up often enough to say something.
    assert_eq!(seen.len(), 5, "{seen:?}");
    assert!(seen.values().all(|count| *count >= 20), "{seen:?}");

    let past = recorded(&file, u32::try_from(CALLS).unwrap()).await.unwrap();
    assert_eq!(past.len(), CALLS);
    let mut masked = 0;
    for past in &past {
        let replayed = review.replay(past).unwrap();
        // A number that happens to be one of a bank card is masked; nothing is claimed of it then.
        if past.asked.arguments.contains("[masked]") {
            masked += 1;
            assert!(!replayed.unclear.is_empty() || !replayed.differs, "{past:?} {replayed:?}");
            continue;
        }
        assert!(!replayed.differs && replayed.unclear.is_empty(), "{past:?} {replayed:?}");
        assert_eq!(replayed.now_policies, past.policies, "{past:?}");
    }
    assert!(masked < CALLS / 20, "{masked}");
}
