//! Policies on the memory, beside the lists of its collections.

use super::*;
use crate::policy::{Keepers, Severity, Shelf, Verb, Wish, Work};

fn shelf(name: &str, layer: &'static str) -> Shelf {
    let list = |entries: &[&str]| entries.iter().map(|entry| (*entry).to_owned()).collect();
    Shelf {
        name: name.to_owned(),
        layer,
        own: false,
        read: list(&["any"]),
        write: list(&["any"]),
        review: list(&["any"]),
    }
}

fn caller(name: &str, roles: &[&str]) -> Caller {
    Caller {
        name: name.into(),
        tenant: "acme".into(),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
    }
}

fn shelves() -> Vec<Shelf> {
    vec![shelf("manuals", "curated"), Shelf { own: true, ..shelf("notes", "notes") }]
}

fn keepers(text: &str) -> Result<Keepers, Error> {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("memory")).unwrap();
    std::fs::write(root.path().join("memory/a.cedar"), text).unwrap();
    // The collections lie in the same folder, and are no policies.
    std::fs::write(root.path().join("memory/manuals.toml"), "").unwrap();
    Keepers::load(root.path(), shelves())
}

fn recall(collections: &[String]) -> Wish<'_> {
    Wish::Read { verb: Verb::Recall, collections, held: false, archived: false }
}

fn work(collection: &str, source: &str, origin: &'static str) -> Work {
    Work { collection: collection.into(), source: source.into(), kind: "case", origin }
}

#[test]
fn the_shipped_policies_let_all_read_and_curators_write_what_is_curated() {
    let keepers = Keepers::load(shipped(), shelves()).unwrap();
    assert_eq!(keepers.warnings().collect::<Vec<_>>(), Vec::<String>::new());
    let (agent, curator) = (caller("agent", &[]), caller("eve", &["curator"]));
    let permit = keepers.permit(&agent, &recall(&[])).unwrap();
    assert!(permit.covers("manuals", "somebody") && permit.covers("notes", "agent"));
    assert!(!permit.covers("notes", "somebody"), "the collection shares nothing between callers");
    assert_eq!(permit.decision().unwrap().policies, ["memory-read"]);

    let refused = keepers.permit(&agent, &recall(&["nothing".to_owned()])).unwrap_err();
    assert_eq!(refused.to_string(), "there is no collection `nothing` that you may recall");
    let all = ["manuals", "notes", "nothing"].map(|name| work(name, "manual/1", "file"));
    let may = |who: &Caller| {
        let permit = keepers.permit_works(who, all.iter().cloned().collect());
        all.clone().map(|work| permit.admits(&work))
    };
    assert_eq!(may(&agent), [false, true, false]);
    assert_eq!(may(&curator), [true, true, false]);

    let forget = |erase| keepers.permit(&agent, &Wish::Forget { erase }).unwrap();
    for erase in [false, true] {
        assert!(forget(erase).covers("notes", "agent"));
        assert!(!forget(erase).covers("notes", "eve") && !forget(erase).covers("manuals", "agent"));
    }
    let decide = Wish::Review { collections: &[], decide: true };
    assert!(keepers.permit(&agent, &decide).is_err());
    let permit = keepers.permit(&caller("rita", &["reviewer"]), &decide).unwrap();
    assert!(permit.covers("manuals", "agent") && permit.covers("notes", "agent"));
}

#[test]
fn a_collections_own_list_has_to_permit_it_too() {
    let text = policy("all", "permit (principal, action, resource);");
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("memory")).unwrap();
    std::fs::write(root.path().join("memory/a.cedar"), text).unwrap();
    let lists = |read: &str| Shelf { read: vec![read.into()], ..shelf("manuals", "curated") };
    let may = |read: &str, who: &Caller| {
        let keepers = Keepers::load(root.path(), vec![lists(read)]).unwrap();
        keepers.permit(who, &recall(&["manuals".to_owned()])).is_ok()
    };
    let who = caller("agent", &["fitter"]);
    for fits in ["any", "caller:agent", "role:fitter", "tenant:acme"] {
        assert!(may(fits, &who), "{fits}");
    }
    for other in ["none", "caller:any", "role:agent", "tenant:other", "group:fitter", "agent", ""] {
        assert!(!may(other, &who), "{other}");
    }
}

#[test]
fn a_policy_can_permit_ones_own_only_and_forbid_by_what_is_written() {
    let text = policy(
        "own",
        "permit (principal, action in Switchboard::Action::\"read\", resource) when { context.own };",
    ) + &policy(
        "write",
        "permit (principal, action == Switchboard::Action::\"remember\", resource) \
         unless { context.origin == \"web\" || context.source like \"manual/*\" };",
    );
    let keepers = keepers(&text).unwrap();
    let who = caller("agent", &[]);
    let permit = keepers.permit(&who, &recall(&["manuals".to_owned()])).unwrap();
    assert!(permit.covers("manuals", "agent") && !permit.covers("manuals", "eve"));
    let write = |source, origin| {
        let work = work("notes", source, origin);
        keepers.permit_works(&who, [work.clone()].into()).admits(&work)
    };
    assert!(write("ticket/1", "person"));
    assert!(!write("ticket/1", "web") && !write("manual/1", "person"));
    let verbs = keepers.verbs(&who, "notes");
    assert!(verbs.contains(&Verb::Recall) && !verbs.contains(&Verb::Forget));
}

#[test]
fn without_a_policy_nothing_is_permitted_and_a_warning_says_so() {
    let root = tempfile::tempdir().unwrap();
    let keepers = Keepers::load(root.path(), shelves()).unwrap();
    let who = caller("agent", &["curator", "reviewer"]);
    assert!(keepers.permit(&who, &recall(&[])).is_err());
    let work = work("notes", "chat/1", "person");
    assert!(!keepers.permit_works(&who, [work.clone()].into()).admits(&work));
    assert!(keepers.permit(&who, &Wish::Stats).unwrap().grants().is_empty());
    assert!(keepers.warnings().any(|line| line.contains("nobody may do anything with the memory")));
}

#[test]
fn one_wrong_policy_refuses_the_set_and_an_unknown_collection_is_told() {
    let wrong = policy("a", "permit (principal, action, resource) when { context.own };");
    let error = keepers(&wrong).unwrap_err().to_string();
    assert!(error.contains("memory/a.cedar") && error.contains("own"), "{error}");
    let layer = "permit (principal, action, resource in Switchboard::Layer::\"curatd\");";
    assert!(keepers(&policy("a", layer)).is_err());
    let text = policy(
        "a",
        "permit (principal, action, resource == Switchboard::Collection::\"manualls\");",
    );
    let keepers = keepers(&text).unwrap();
    let warned: Vec<String> = keepers.warnings().collect();
    assert!(warned.iter().any(|line| line.contains("`manualls`")), "{warned:?}");
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("memory")).unwrap();
    std::fs::write(root.path().join("memory/a.cedar"), wrong).unwrap();
    let found = Keepers::review(root.path(), &shelves()).unwrap();
    assert!(found.iter().any(|found| found.severity == Severity::Error), "{found:?}");
}
