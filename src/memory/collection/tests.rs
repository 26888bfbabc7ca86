//! Reading of `policies/memory/*.toml`.

use std::path::Path;

use super::{Collections, check::fits};
use crate::memory::Kind;

const GOOD: &str = r#"
name = "notes"
description = "notes"
layer = "notes"
kinds = ["knowledge"]
sources = ["user/*"]
origin = "person"
trust = { person = 60, web = 10 }
access = { read = ["any"], write = ["any"], review = ["role:reviewer"] }
"#;

fn write(home: &Path, name: &str, text: &str) {
    std::fs::create_dir_all(home.join("memory")).unwrap();
    std::fs::write(home.join("memory").join(name), text).unwrap();
}

/// Place and message of what is wrong with a file.
fn problems(text: &str) -> Vec<(String, String)> {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "one.toml", text);
    let (loaded, problems) = Collections::load(home.path());
    assert_eq!(loaded.iter().count(), usize::from(problems.is_empty()));
    problems
        .into_iter()
        .map(|one| {
            assert_eq!(one.file, "memory/one.toml");
            (one.place, one.message)
        })
        .collect()
}

#[test]
fn the_shipped_collections_are_right() {
    let (loaded, problems) =
        Collections::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("policies"));
    assert!(problems.is_empty(), "{problems:#?}");
    let names: Vec<&str> = loaded.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(
        names,
        ["cases", "manuals", "notes", "regulations", "stores", "suppliers", "tool-results"]
    );
    assert!(loaded.get("cases").unwrap().kinds == [Kind::Case]);
}

#[test]
fn every_fault_of_a_file_is_told_with_its_key() {
    assert!(problems(GOOD).is_empty());
    let change = |from: &str, to: &str| GOOD.replace(from, to);
    for (text, place, words) in [
        (change("\"notes\"\ndes", "\"No Tes\"\ndes"), "name", "is no name"),
        (change("[\"knowledge\"]", "[\"gossip\"]"), "line 5, `kinds`", "gossip"),
        (change("[\"knowledge\"]", "[]"), "kinds", "takes no kind"),
        (change("[\"user/*\"]", "[\" \"]"), "sources[0]", "no pattern"),
        (change("person = 60", "person = 101"), "trust.person", "0 to 100"),
        (change("person = 60", "curator = 90"), "trust", "`person`"),
        (change("person = 60, web = 10", "person = 10, web = 60"), "trust", "never rise"),
        (change("[\"any\"], review", "[\"everybody\"], review"), "access.write[0]", "is nobody"),
        (
            change(
                "origin = \"person\"\ntrust = { person",
                "origin = \"curator\"\ntrust = { curator",
            ),
            "access.write",
            "as a curator",
        ),
        (format!("time_zone = \"Mars/Base\"{GOOD}"), "time_zone", "no time zone"),
        (format!("reviewers = 3{GOOD}"), "reviewers", "1 or 2"),
        (format!("chunk_tokens = 100{GOOD}"), "chunk_tokens", "256 to 512"),
        (format!("document = \"manual\"{GOOD}"), "document", "not declared"),
        (format!("redact = [\"phones\"]{GOOD}"), "redact[0]", "known are `identity`"),
        (format!("retention = \"soon\"{GOOD}"), "line 1, `retention`", "is not a duration"),
        (format!("{GOOD}metadata.source = {{ type = \"text\" }}"), "metadata.source", "own field"),
        (
            format!("{GOOD}metadata.n = {{ type = \"integer\", enum = [\"1\"] }}"),
            "metadata.n.enum",
            "only",
        ),
        (
            format!("{GOOD}attributes.p = {{ values = \"one\", tolerance = \"2\" }}"),
            "attributes.p.tolerance",
            "no share",
        ),
        (format!("colour = \"red\"{GOOD}"), "line 1, `colour`", "unknown key"),
    ] {
        let found = problems(&text);
        let right = found.iter().any(|(at, message)| at == place && message.contains(words));
        assert!(right, "{place}: {words}: {found:?}");
    }
}

#[test]
fn a_reload_keeps_the_last_good_state_and_a_second_name_is_refused() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "one.toml", GOOD);
    let (first, _) = Collections::load(home.path());
    write(home.path(), "one.toml", "name = ");
    write(
        home.path(),
        "two.toml",
        &GOOD.replace("\"notes\"\ndescription", "\"more\"\ndescription"),
    );
    let (second, problems) = Collections::load_with(home.path(), Some(&first));
    assert_eq!(second.get("notes"), first.get("notes"));
    assert!(second.get("more").is_some());
    assert!(problems[0].message.ends_with("its last good state holds"), "{problems:?}");
    assert_ne!(first.digest(), second.digest());
    write(home.path(), "one.toml", GOOD);
    write(home.path(), "two.toml", GOOD);
    let (third, problems) = Collections::load_with(home.path(), Some(&second));
    assert_eq!((third.iter().count(), problems.len()), (1, 1));
    assert!(problems[0].message.contains("declared in `memory/one.toml` already"));
    assert_eq!(third.digest(), first.digest());
    std::fs::remove_file(home.path().join("memory/one.toml")).unwrap();
    std::fs::remove_file(home.path().join("memory/two.toml")).unwrap();
    assert_eq!(Collections::load_with(home.path(), Some(&third)).0.iter().count(), 0);
}

#[test]
fn a_star_stands_for_any_run_of_characters() {
    for (pattern, text, right) in [
        ("manual/*", "manual/PX-200", true),
        ("manual/*", "manuals/PX", false),
        ("*", "", true),
        ("a*b*c", "aXbYbc", true),
        ("a*b*c", "acb", false),
        ("exact", "exact", true),
        ("exact", "exactly", false),
        ("*/end", "a/b/end", true),
        ("a*a", "a", false),
    ] {
        assert_eq!(fits(pattern, text), right, "{pattern} {text}");
    }
}
