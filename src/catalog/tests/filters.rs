//! Seccomp profiles in the policies folder: the one of the program, those of files, and what is wrong
//! with them.

use std::fs;
use std::path::Path;

use super::policies::Policies;
use crate::catalog::{Catalog, Condition, Seccomp};

const SMALL: &str = "[[allow]]\nwhy = 'to read'\ncalls = ['read', 'close']\n";

/// The one problem of this seccomp file.
fn wrong(policies: &Policies, text: &str) -> String {
    policies.write("seccomp/small.toml", text);
    let catalog = policies.load();
    let [problem] = catalog.problems() else { panic!("{:?}", catalog.problems()) };
    assert_eq!(problem.file, "seccomp/small.toml");
    format!("{}: {}", problem.place, problem.message)
}

fn filter(catalog: &Catalog) -> Seccomp {
    let profile = catalog.profiles().next().unwrap_or_else(|| panic!("{:?}", catalog.problems()));
    (*profile.seccomp).clone()
}

#[test]
fn without_a_file_the_programs_own_profile_holds() {
    let policies = Policies::new();
    policies.write("sandbox/plain.toml", "image = 'shell'\n");
    let catalog = policies.load();
    assert_eq!(filter(&catalog), Seccomp::built_in());
    assert_eq!(catalog.problems(), []);
    // The file of this repository is the same text.
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies/seccomp/default.toml");
    fs::copy(repository, policies.root().join("seccomp/default.toml")).unwrap();
    assert_eq!(filter(&policies.load()), Seccomp::built_in());
}

#[test]
fn a_profile_names_another_file_and_its_digest_names_what_it_allows() {
    let policies = Policies::new();
    policies.write("seccomp/small.toml", SMALL);
    policies.write("sandbox/plain.toml", "image = 'shell'\nseccomp = 'small'\n");
    let first = policies.load();
    let small = filter(&first);
    assert_eq!(small.rules.len(), 1);
    policies.write(
        "seccomp/small.toml",
        &format!("# a comment\n{}", SMALL.replace("to read", "reading")),
    );
    assert_eq!(filter(&policies.load()).digest, small.digest, "reasons are for people");
    policies.write("seccomp/small.toml", &SMALL.replace("'close'", "'write'"));
    let changed = policies.load();
    assert_ne!(filter(&changed).digest, small.digest);
    assert_ne!(changed.digest(), first.digest(), "the catalog is another one");
}

#[test]
fn a_broken_file_is_named_and_its_last_good_state_stays() {
    let policies = Policies::new();
    policies.write("seccomp/small.toml", SMALL);
    policies.write("sandbox/plain.toml", "image = 'shell'\nseccomp = 'small'\n");
    let good = policies.load();
    policies.write("seccomp/small.toml", &SMALL.replace("calls", "cals"));
    let kept = policies.reload(&good);
    assert_eq!(filter(&kept), filter(&good));
    let [problem] = kept.problems() else { panic!("{:?}", kept.problems()) };
    assert_eq!(problem.file, "seccomp/small.toml");
    assert!(problem.message.contains("did you mean `calls`"), "{problem:?}");
    assert!(problem.message.contains("last good state"), "{problem:?}");
    // Without one, nothing runs under it.
    let none = policies.load();
    assert_eq!(none.profiles().count(), 0);
    let about: Vec<&str> = none.problems().iter().map(|problem| problem.file.as_str()).collect();
    assert_eq!(about, ["seccomp/small.toml", "sandbox/plain.toml"]);
    assert_eq!(none.problems()[1].place, "seccomp");
}

#[test]
fn a_broken_default_is_not_replaced_by_the_programs_own() {
    let policies = Policies::new();
    policies.write("seccomp/default.toml", "allow = 3\n");
    policies.write("sandbox/plain.toml", "image = 'shell'\n");
    assert_eq!(policies.load().profiles().count(), 0);
}

#[test]
fn conditions_are_spelled_by_name() {
    let policies = Policies::new();
    policies.write(
        "seccomp/small.toml",
        "[[allow]]\nwhy = 'w'\ncalls = ['socket']\nwhere = [{ arg = 0, one_of = ['AF_UNIX', 'AF_INET'] },\n\
         { arg = 1, mask = ['SOCK_TYPE_MASK'], one_of = ['SOCK_STREAM'] }]\n\
         [[allow]]\nwhy = 'w'\ncalls = ['clone']\nwhere = [{ arg = 0, none_of = ['CLONE_NEWNS', 'CLONE_NEWNET'] }]\n\
         [[fail]]\nwhy = 'w'\nerrno = 'ENOSYS'\ncalls = ['clone3']\n",
    );
    policies.write("sandbox/plain.toml", "image = 'shell'\nseccomp = 'small'\n");
    let rules = filter(&policies.load()).rules;
    let condition = |argument, mask, value| Condition { argument, mask, value };
    let conditions: Vec<_> = rules.iter().map(|rule| rule.conditions.clone()).collect();
    assert_eq!(
        conditions,
        [
            vec![condition(0, 0xffff_ffff, 1), condition(1, 0xf, 1)],
            vec![condition(0, 0xffff_ffff, 2), condition(1, 0xf, 1)],
            vec![condition(0, 0x4002_0000, 0)],
            vec![],
        ]
    );
    let errors: Vec<_> = rules.iter().map(|rule| rule.errno).collect();
    assert_eq!(errors, [None, None, None, Some(38)]);
}

#[test]
fn what_would_not_hold_as_written_is_refused() {
    let policies = Policies::new();
    let entry =
        |calls: &str, rest: &str| format!("[[allow]]\nwhy = 'w'\ncalls = {calls}\n{rest}\n");
    let narrow = "where = [{ arg = 0, one_of = ['AF_UNIX'] }]";
    let table = [
        ("[[allow]]\nwhy = ' '\ncalls = ['read']\n".to_owned(), "why: is empty"),
        (entry("[]", ""), "is empty; name at least one call"),
        (entry("['re ad']", ""), "no name of a system call"),
        (entry("['read', 'read']", ""), "twice"),
        (entry("['socket']", narrow) + &entry("['socket']", ""), "no `where`"),
        (entry("['socket']", "") + &entry("['socket']", narrow), "no `where`"),
        (
            entry("['socket']", "where = [{ arg = 0, one_of = ['AF_UNX'] }]"),
            "did you mean `AF_UNIX`",
        ),
        (entry("['socket']", "where = [{ arg = 6, one_of = ['AF_UNIX'] }]"), "above 5"),
        (entry("['socket']", "where = [{ arg = 0 }]"), "needs `one_of`"),
        (entry("['socket']", "where = [{ arg = 0, one_of = [] }]"), "`one_of` is empty"),
        (
            entry(
                "['socket']",
                "where = [{ arg = 0, mask = ['SOCK_TYPE_MASK'], one_of = ['AF_NETLINK'] }]",
            ),
            "outside of its `mask`",
        ),
        (
            entry("['read']", "") + "[[fail]]\nwhy = 'w'\nerrno = 'ENOSUCH'\ncalls = ['x']\n",
            "known are `EPERM`",
        ),
        (
            entry("['read']", "") + "[[fail]]\nwhy = 'w'\nerrno = 'ENOSYS'\ncalls = ['read']\n",
            "no `where`",
        ),
    ];
    for (text, expected) in table {
        let told = wrong(&policies, &text);
        assert!(told.contains(expected), "{text} gave {told}");
    }
}

#[test]
fn unseen_walls_are_accepted_by_name_and_never_under_runc() {
    let policies = Policies::new();
    let profile = |text: &str| {
        policies.write("sandbox/plain.toml", text);
        policies.load()
    };
    let good =
        profile("image = 'shell'\nruntime = 'runsc'\naccept_unread = ['inodes', 'inodes']\n");
    assert_eq!(good.profiles().next().unwrap().accept_unread, [crate::catalog::Unread::Inodes]);
    for text in [
        "image = 'shell'\naccept_unread = ['inodes']\n",
        "image = 'shell'\nruntime = 'runsc'\naccept_unread = ['all']\n",
    ] {
        let catalog = profile(text);
        assert_eq!(catalog.profiles().count(), 0, "{text}");
        assert!(catalog.problems()[0].file.ends_with("plain.toml"));
    }
}
