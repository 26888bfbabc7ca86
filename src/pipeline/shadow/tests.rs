use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use tempfile::TempDir;

use super::*;
use crate::admission::{Admission, Config};
use crate::call::{Call, Taint};
use crate::policy;

const ACTIVE: &str = r#"
@id("all")
@owner("tests")
permit (principal, action, resource);
"#;
const CANDIDATE: &str = r#"
@id("all")
@owner("tests")
permit (principal, action, resource);

@id("small")
@owner("tests")
forbid (principal, action, resource) when { context.input.count > 10 };

@id("held")
@owner("tests")
forbid (principal, action, resource) when { context.input.count == 7 } unless { context.attended };

@id("fails")
@owner("tests")
forbid (principal, action, resource) when { context.input.count * 2 == 5 };

@id("clean")
@owner("tests")
forbid (principal, action, resource) when { context.session.taint.contains("flagged") };
"#;
const TOOL: &str = r#"
description = "Counts."
risk = "read"
profile = "small"
command = { argv = ["true"] }

[input_schema]
type = "object"
required = ["count"]
properties.count = { type = "integer" }
"#;

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A snapshot with a candidate of this text in the folder `next`.
fn shadowed(candidate: &str) -> (TempDir, Snapshot) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "cedar/a.cedar", ACTIVE);
    write(folder.path(), "sandbox/small.toml", "image = \"shell\"\n");
    write(folder.path(), "tools/a.count.toml", TOOL);
    write(folder.path(), "next/cedar/a.cedar", candidate);
    let snapshot = Snapshot::load(folder.path(), &|_| Some(String::new()), None).unwrap();
    assert_eq!(snapshot.catalog.tools().len(), 1);
    let next = folder.path().join("next");
    (folder, snapshot.shadowed_by(Some(&next)))
}

fn checked(snapshot: &Snapshot, count: i64, session: Session) -> Checked {
    let mut call = Call::new("a.count", format!("{{\"count\":{count}}}"));
    (call.conversation, call.session) = ("c".into(), session);
    let caller = Caller { name: "a".into(), tenant: "t".into(), roles: Vec::new() };
    let admission = Admission::new(Config::default()).unwrap();
    let admitted = admission.admit(call, caller).unwrap();
    let resolved = snapshot.catalog.resolve(admitted, &|_, _| true).unwrap();
    snapshot.schemas.check(resolved).unwrap()
}

fn flip(snapshot: &Snapshot, count: i64, session: Session) -> Option<Flip> {
    let checked = checked(snapshot, count, session);
    let aside = Aside::of(&checked, snapshot).unwrap();
    let said = Said::of(&snapshot.policies.authorize(checked, None));
    aside.decided(said).flip().cloned()
}

#[test]
fn a_call_that_the_candidate_decides_otherwise_is_a_flip() {
    let (_folder, snapshot) = shadowed(CANDIDATE);
    for (count, outcome, policies) in
        [(11, Said::Deny, "small"), (7, Said::Approval, "all"), (i64::MAX, Said::Error, "fails")]
    {
        let flip = flip(&snapshot, count, Session::default()).unwrap();
        assert_eq!((flip.from, flip.outcome), (Said::Permit, outcome), "{count}");
        assert_eq!(flip.policies, [policies], "{count}");
        assert_ne!(flip.version, snapshot.policies.version());
    }
    assert_eq!(flip(&snapshot, 1, Session::default()), None);
    let tainted = Session { calls: 1, taint: [Taint::Flagged].into() };
    assert_eq!(flip(&snapshot, 1, tainted).unwrap().policies, ["clean"]);
}

#[test]
fn what_both_deny_is_no_flip_and_what_only_the_active_one_denies_is() {
    let (_folder, snapshot) = shadowed(CANDIDATE);
    for (count, from, flips) in
        [(11, Said::Deny, false), (1, Said::Deny, true), (7, Said::Approval, false)]
    {
        let aside = Aside::of(&checked(&snapshot, count, Session::default()), &snapshot).unwrap();
        assert_eq!(aside.decided(from).flip().is_some(), flips, "{count} {from:?}");
    }
}

#[test]
fn a_broken_candidate_leaves_the_active_set_alone() {
    for broken in ["permit (principal, action, resource)", "permit (principal, action, resource);"]
    {
        let (folder, snapshot) = shadowed(broken);
        let checked = checked(&snapshot, 1, Session::default());
        assert!(Aside::of(&checked, &snapshot).is_none(), "{broken}");
        assert!(snapshot.policies.authorize(checked, None).is_ok());
        let missing = folder.path().join("nowhere");
        assert!(load(&missing, snapshot.catalog.tools()).unwrap_err().contains("`cedar`"));
    }
}

#[test]
fn a_candidate_that_names_no_tool_of_the_active_catalog_is_refused() {
    let text =
        ACTIVE.replace("principal, action,", "principal, action == Switchboard::Action::\"b\",");
    let (folder, snapshot) = shadowed(&text);
    assert!(snapshot.candidate.is_none());
    let error = load(&folder.path().join("next"), snapshot.catalog.tools()).unwrap_err();
    assert!(error.contains("cedar/a.cedar:"), "{error}");
}

#[tokio::test]
async fn candidate_is_asked_while_the_reply_is_awaited_and_only_once() {
    let (_folder, snapshot) = shadowed(CANDIDATE);
    let checked = checked(&snapshot, 11, Session::default());
    let denied = Err::<(), _>(policy::Error::Denied { policies: vec![], version: String::new() });
    let aside = Aside::of(&checked, &snapshot).unwrap().decided(Said::of(&denied));
    let begun = AtomicBool::new(false);
    let reply = async {
        begun.store(true, Ordering::SeqCst);
        assert!(aside.flip.get().is_none(), "the call was sent first");
        tokio::task::yield_now().await;
        assert_eq!(aside.flip.get(), Some(&None), "it was asked meanwhile");
        7
    };
    assert_eq!(beside(pin!(reply), Some(Arc::clone(&aside))).await, 7);
    assert_eq!(beside(pin!(async { 8 }), None).await, 8);
    assert!(begun.into_inner());
}
