//! Policies on runs: who may have which agent answer, with which models.

use super::*;
use crate::policy::{Crew, Reasoners, Severity};

fn caller(name: &str, roles: &[&str]) -> Caller {
    Caller {
        name: name.into(),
        tenant: "acme".into(),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
    }
}

fn crew(agent: &str, tools: &[&str], models: &[&str]) -> Crew {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Crew { agent: agent.into(), tools: set(tools), models: set(models) }
}

fn reasoners(text: &str) -> Result<Reasoners, Error> {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("reason")).unwrap();
    std::fs::write(root.path().join("reason/a.cedar"), text).unwrap();
    Reasoners::load(root.path())
}

#[test]
fn the_shipped_policy_lets_everybody_run_every_agent() {
    let reasoners = Reasoners::load(shipped()).unwrap();
    assert_eq!(reasoners.warnings().collect::<Vec<_>>(), Vec::<String>::new());
    let said = reasoners.decide(&caller("agent", &[]), &crew("default", &["*"], &["big"]));
    assert_eq!((said.ruling, said.policies), (Ruling::Permit, vec!["reason-run".to_owned()]));
    assert_eq!(said.version, reasoners.version());
}

#[test]
fn a_forbid_sees_agent_tools_models_and_roles() {
    let everybody = "@id(\"all\") @owner(\"t\")\npermit (principal, action, resource);\n";
    let forbid = |scope: &str, when: &str| {
        let text = format!("{everybody}@id(\"no\") @owner(\"t\")\nforbid ({scope})\n{when};\n");
        reasoners(&text).unwrap()
    };
    let any = "principal, action, resource";
    let agent = "principal, action, resource == Switchboard::Agent::\"audit\"";
    let cases = [
        (
            forbid(any, "when { context.models.contains(\"outside\") }"),
            crew("a", &[], &["outside"]),
        ),
        (forbid(any, "when { context.tools.contains(\"*\") }"), crew("a", &["*"], &[])),
        (forbid(agent, ""), crew("audit", &[], &[])),
        (
            forbid(any, "unless { principal in Switchboard::Role::\"analyst\" }"),
            crew("a", &[], &[]),
        ),
    ];
    for (reasoners, denied) in &cases {
        let said = reasoners.decide(&caller("agent", &["clerk"]), denied);
        assert_eq!(
            (said.ruling, said.policies),
            (Ruling::Deny, vec!["no".to_owned()]),
            "{denied:?}"
        );
        let other =
            reasoners.decide(&caller("agent", &["analyst"]), &crew("b", &["x"], &["inside"]));
        assert_eq!(other.ruling, Ruling::Permit, "{denied:?}");
    }
}

#[test]
fn without_a_policy_nobody_runs_and_a_warning_says_so() {
    let root = tempfile::tempdir().unwrap();
    let none = Reasoners::load(root.path()).unwrap();
    let said = none.decide(&caller("agent", &[]), &crew("default", &["*"], &[]));
    assert_eq!((said.ruling, said.policies), (Ruling::Deny, Vec::new()));
    let warnings: Vec<String> = none.warnings().collect();
    assert!(warnings[0].contains("nobody may start a run"), "{warnings:?}");
}

#[test]
fn a_policy_that_does_not_fit_refuses_the_set() {
    let wrong = "@id(\"w\") @owner(\"t\")\npermit (principal, action, resource) when { context.amount > 1 };";
    assert!(matches!(reasoners(wrong), Err(Error::Invalid { .. })));
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("reason")).unwrap();
    std::fs::write(root.path().join("reason/a.cedar"), wrong).unwrap();
    let found = Reasoners::review(root.path()).unwrap();
    assert!(found.iter().any(|one| one.severity == Severity::Error), "{found:?}");
}
