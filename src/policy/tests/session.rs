//! Policies that look at what the conversation has come to, and the reviewer's view of them.

use super::*;
use crate::call::{Session, Taint};
use crate::catalog::Catalog;

fn met(tool: &Arc<Tool>, calls: u64, taint: &[Taint]) -> Checked {
    let mut checked = checked(tool, "{}");
    checked.resolved.admitted.call.session =
        Session { calls, taint: taint.iter().copied().collect() };
    checked
}

fn mail() -> Arc<Tool> {
    tool("a.mail", Risk::Outbound, json!({ "type": "object" }))
}

#[test]
fn calls_and_taint_of_the_conversation_can_be_asked() {
    let tool = mail();
    let all = [Taint::Outside, Taint::Flagged];
    for (condition, permitted) in [
        ("context.session.calls == 2", true),
        ("context.session.calls < 2", false),
        (r#"context.session.taint.contains("outside")"#, true),
        (r#"context.session.taint.containsAny(["unsearched", "flagged"])"#, true),
        (r#"context.session.taint.containsAll(["unsearched", "flagged"])"#, false),
        (r#"context.session.taint == ["flagged", "outside"]"#, true),
        ("context.session.taint.isEmpty()", false),
        (r#"context.session.conversation != """#, true),
    ] {
        let text = format!("permit (principal, action, resource) when {{ {condition} }};");
        let policies = load(&policy("p", &text), std::slice::from_ref(&tool));
        assert_eq!(policies.authorize(met(&tool, 2, &all), None).is_ok(), permitted, "{condition}");
        assert!(policies.visible(&caller(), &tool), "not known before: {condition}");
    }
}

#[test]
fn a_call_without_a_conversation_can_be_denied() {
    let tool = mail();
    let text = policy("all", "permit (principal, action, resource);")
        + &policy(
            "named",
            r#"forbid (principal, action, resource) when { context.session.conversation == "" };"#,
        );
    let policies = load(&text, std::slice::from_ref(&tool));
    let mut nameless = met(&tool, 0, &[]);
    nameless.resolved.admitted.call.conversation = String::new();
    let error = policies.authorize(nameless, None).unwrap_err();
    assert_eq!(error.failure().details["policies"], json!(["named"]));
    assert!(policies.authorize(met(&tool, 0, &[]), None).is_ok());
}

#[test]
fn shipped_policies_send_and_delete_nothing_after_instructions() {
    let schema = json!({ "type": "object" });
    let tools = [
        mail(),
        tool("a.delete", Risk::Destructive, schema.clone()),
        tool("a.write", Risk::Write, schema.clone()),
        tool("a.read", Risk::Read, schema),
    ];
    let policies = Policies::load(shipped(), &tools).unwrap();
    let codes = |taint: &[Taint]| {
        let decide = |tool| policies.authorize(met(tool, 1, taint), None);
        tools.each_ref().map(|tool| decide(tool).err().map(|error| error.failure().code))
    };
    let (held, denied) = (Some(Code::ApprovalRequired), Some(Code::PolicyDenied));
    assert_eq!(codes(&[]), [held, held, None, None]);
    assert_eq!(codes(&[Taint::Outside]), [held, held, None, None]);
    assert_eq!(codes(&[Taint::Noted]), [held, held, None, None]);
    assert_eq!(codes(&[Taint::Flagged]), [denied, denied, None, None]);
    assert_eq!(codes(&[Taint::Unsearched]), [denied, denied, None, None]);
    assert!(tools.iter().all(|tool| policies.visible(&caller(), tool)));
}

/// A policies folder with the tool `a.mail`, and one policy file.
fn reviewed(text: &str) -> (TempDir, Review) {
    let root = folder(text);
    for (name, text) in [
        ("sandbox/small.toml", "image = \"shell\"\n"),
        (
            "tools/a.mail.toml",
            "description = \"Sends.\"\nrisk = \"outbound\"\nprofile = \"small\"\n\
             input_schema = { type = \"object\" }\ncommand = { argv = [\"true\"] }\n",
        ),
    ] {
        let path = root.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let catalog = Catalog::load(root.path(), &|_| Some(String::new()));
    assert_eq!(catalog.tools().len(), 1, "{:?}", catalog.problems());
    let review = Review::load(root.path(), catalog).unwrap();
    (root, review)
}

fn guarded() -> String {
    policy("all", "permit (principal, action, resource);")
        + &policy(
            "clean",
            r#"forbid (principal, action, resource)
               when { context.session.taint.contains("flagged") && context.session.calls > 3 };"#,
        )
}

#[test]
fn a_case_can_say_what_its_conversation_has_come_to() {
    let (root, review) = reviewed(&guarded());
    let write = |text: &str| {
        std::fs::create_dir_all(root.path().join("tests")).unwrap();
        std::fs::write(root.path().join("tests/t.yaml"), text).unwrap();
    };
    write(
        "cases:\n\
         - { name: tainted, tool: a.mail, expect: deny, policies: [clean],\n    \
             session: { conversation: c, calls: 4, taint: [flagged, outside] } }\n\
         - { name: early, tool: a.mail, expect: permit, session: { conversation: c, calls: 3, taint: [flagged] } }\n\
         - { name: clean, tool: a.mail, expect: permit, session: { conversation: c, calls: 9 } }\n\
         - { name: nameless, tool: a.mail, expect: permit }\n",
    );
    let (results, coverage) = review.test(&read_cases(root.path()).unwrap()).unwrap();
    assert!(results.iter().all(|result| result.passed), "{results:#?}");
    assert_eq!(coverage.percent, 100);
    for (session, told) in [
        ("{ conversation: c, taint: [flaged] }", "flaged"),
        ("{ taint: [flagged] }", "conversation"),
        ("{ conversation: '', taint: [flagged] }", "needs a `conversation`"),
        ("{ conversation: c }, conversation: d", "twice"),
        ("{ conversation: c, calls: -1 }", "number"),
    ] {
        write(&format!(
            "cases:\n- {{ name: n, tool: a.mail, expect: deny, session: {session} }}\n"
        ));
        let error = read_cases(root.path()).unwrap_err();
        assert!(error.starts_with("tests/t.yaml: ") && error.contains(told), "{error}");
    }
}

#[test]
fn explanation_shows_what_the_conversation_has_come_to() {
    let (_root, review) = reviewed(&guarded());
    let explained = review
        .explain(&Asked {
            tool: "a.mail".into(),
            arguments: "{}".into(),
            caller: caller(),
            conversation: "c".into(),
            session: Session { calls: 4, taint: [Taint::Flagged].into() },
            files: Vec::new(),
        })
        .unwrap();
    assert_eq!(explained.judged.outcome, Outcome::Deny);
    let parts = &explained.deciding[0].parts;
    assert!(parts[0].found.contains("flagged"), "{parts:#?}");
    assert_eq!((parts.len(), parts[1].found.as_str()), (2, "4"), "{parts:#?}");
}

#[test]
fn comparison_tries_a_conversation_with_the_labels_that_policies_name() {
    let open = policy("all", "permit (principal, action, resource);");
    let text = open.clone()
        + &policy(
            "clean",
            r#"forbid (principal, action, resource)
               when { context.session.taint.contains("flagged") };"#,
        );
    let ((_old, old), (_new, new)) = (reviewed(&open), reviewed(&text));
    let found = old.compare(&new, &[]).unwrap();
    let kinds: Vec<_> = found.changes.iter().map(|change| (change.from, change.to)).collect();
    assert_eq!(kinds, [(Outcome::Permit, Outcome::Deny)], "{found:#?}");
    assert_eq!(found.changes[0].example.session.taint, [Taint::Flagged].into());
    assert_eq!(found.changes[0].example.after.policies, ["clean"]);
}

#[test]
fn a_guard_against_risks_that_no_tool_has_yet_is_nothing_to_mend() {
    let text = policy("all", "permit (principal, action, resource) when { context.attended };");
    let guard = |risk: &str| {
        let scope = format!("principal, action in Switchboard::Action::\"risk:{risk}\", resource");
        let condition = "context.session.taint.contains(\"flagged\")";
        policy("guard", &format!("forbid ({scope}) when {{ {condition} }};"))
    };
    for risk in ["destructive", "outbound"] {
        let (_root, review) = reviewed(&(text.clone() + &guard(risk)));
        let mut found = review.lint();
        // That nobody can approve is no matter of these policies.
        found.retain(|found| found.rule != "no-policy");
        assert_eq!(found.len(), 0, "{found:#?}");
        assert_eq!(review.policies().unwrap().warnings(), [] as [&str; 0]);
    }
    // One that no call can meet stays a mistake.
    let never = policy(
        "never",
        r#"forbid (principal, action in Switchboard::Action::"risk:outbound", resource)
           when { context.attended && false };"#,
    );
    let (_root, review) = reviewed(&(text + &never));
    assert!(review.lint().iter().any(|found| found.policy == "never"), "{:#?}", review.lint());
}
