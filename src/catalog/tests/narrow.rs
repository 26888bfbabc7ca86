//! Which operations of a document become tools: filters, the bound on their number, and servers.

use super::policies::Policies;
use super::{Settings, read_with};

const DOCUMENT: &str = "openapi: 3.0.3\ninfo: {title: T, version: '1'}\nservers: [{url: 'https://{region}.example', variables: {region: {default: eu, enum: [eu, us]}}}]\npaths:
  /repos/{owner}: {get: {operationId: repos/get, tags: [repos]}, delete: {operationId: repos/delete, tags: [repos]}}
  /repos/{owner}/keys: {get: {operationId: repos/keys/list, tags: [repos, keys]}}
  /users: {get: {operationId: users/list, tags: [users]}, post: {}}\n";

fn chosen(table: &str) -> (Vec<String>, Vec<String>) {
    let mut settings = Settings::default();
    let both: std::collections::BTreeMap<String, toml::Value> = toml::from_str(table).unwrap();
    for (name, filter) in both {
        let filter = filter.try_into().unwrap();
        match name.as_str() {
            "include" => settings.include = filter,
            _ => settings.exclude = filter,
        }
    }
    let (found, report) = read_with(DOCUMENT, &settings);
    assert_eq!(report.operations, found.len() + report.excluded.len() + report.skipped.len());
    let remarks = report.remarks.iter().map(|note| format!("{}: {}", note.place, note.message));
    (found.into_iter().map(|one| one.operation).collect(), remarks.collect())
}

#[test]
fn filters_choose_by_operation_tag_method_and_path() {
    for (table, wanted) in [
        ("include.paths = ['/repos/*']", vec!["repos/get", "repos/delete"]),
        ("include.paths = ['/repos/**']", vec!["repos/get", "repos/delete", "repos/keys/list"]),
        ("include.paths = ['/repos/{owner}']", vec!["repos/get", "repos/delete"]),
        ("include.paths = ['*']", vec![]),
        ("include.operations = ['repos/*']", vec!["repos/get", "repos/delete", "repos/keys/list"]),
        ("include.operations = ['POST /users', 'users/*']", vec!["users/list", "POST /users"]),
        ("include.methods = ['DELETE', 'post']", vec!["repos/delete", "POST /users"]),
        ("include.tags = ['repos']\nexclude.tags = ['keys']", vec!["repos/get", "repos/delete"]),
        (
            "include.tags = ['repos']\ninclude.methods = ['get']",
            vec!["repos/get", "repos/keys/list"],
        ),
    ] {
        assert_eq!(chosen(table).0, wanted, "{table}");
    }
}

#[test]
fn an_entry_that_fits_nothing_is_remarked_on() {
    let (_, remarks) = chosen("exclude.tags = ['reops']\nexclude.paths = ['/users']");
    assert_eq!(remarks, ["exclude.tags: `reops` fits no operation of the document"]);
}

#[test]
fn a_pattern_of_many_stars_takes_no_time() {
    let pattern = "*a".repeat(200);
    let (found, _) = chosen(&format!("include.operations = ['{pattern}']"));
    assert!(found.is_empty());
}

#[test]
fn too_many_operations_are_refused_with_their_number_and_the_way_out() {
    let policies = Policies::new();
    policies.write("sandbox/plain.toml", "image = 'shell'\n");
    policies.write("openapi/d.yaml", DOCUMENT);
    let source = "document = 'openapi/d.yaml'\nprofile = 'plain'\nmax_operations = 2\n";
    policies.write("openapi/s.toml", source);
    let catalog = policies.load();
    assert!(catalog.tools().is_empty());
    let [problem] = catalog.problems() else { panic!("{:?}", catalog.problems()) };
    for part in ["5 operations", "5 are wanted", "at most 2", "include", "max_operations"] {
        assert!(problem.message.contains(part), "{part} in {problem:?}");
    }
    policies.write("openapi/s.toml", &format!("{source}include.tags = ['users']\n"));
    assert_eq!(policies.load().tools().len(), 1, "only what is wanted counts");
}

#[test]
fn a_server_variable_must_be_one_that_the_document_lists() {
    let mut settings = Settings::default();
    settings.servers.variables.insert("region".to_owned(), "us".to_owned());
    let (found, _) = read_with(DOCUMENT, &settings);
    assert_eq!(found[0].draft.target.server, "https://us.example");
    settings.servers.variables.insert("region".to_owned(), "evil.test/".to_owned());
    let (found, report) = read_with(DOCUMENT, &settings);
    assert!(found.is_empty());
    assert!(report.skipped[0].reason.contains("one of `eu`, `us`"), "{report:?}");
}

#[test]
fn two_documents_keep_their_names_apart_and_none_is_lost_unseen() {
    let policies = Policies::new();
    policies.write("sandbox/plain.toml", "image = 'shell'\n");
    policies.write("openapi/d.yaml", &DOCUMENT.replace("{region}", "a"));
    policies.write("openapi/one.toml", "document = 'openapi/d.yaml'\nprofile = 'plain'\n");
    policies.write("openapi/two.toml", "document = 'openapi/d.yaml'\nprofile = 'plain'\n");
    let catalog = policies.load();
    assert_eq!(catalog.tools().len(), 5);
    let clashes = catalog.problems().iter().filter(|one| one.message.contains("already called"));
    assert_eq!(clashes.count(), 5, "each of the other five is named");
    let source = "document = 'openapi/d.yaml'\nprofile = 'plain'\nprefix = 'two.'\n";
    policies.write("openapi/two.toml", source);
    let catalog = policies.load();
    assert_eq!((catalog.tools().len(), catalog.problems().len()), (10, 0));
}
