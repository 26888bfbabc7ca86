//! The policies folder: manifests, sources and profiles, what is wrong with them, and reload.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::policies::{Policies, image};
use crate::admission::{Admitted, Caller};
use crate::call::{Call, Code};
use crate::catalog::{Catalog, Error, Level, Risk, Target, Tool, lint};

const PROFILE: &str = "image = 'python'\n";
const MANIFEST: &str = "description = 'Counts the words and lines of a text'
risk = 'read'
profile = 'plain'
cache_ttl = '5m'
aliases = { content = 'text' }
[input_schema]
type = 'object'
required = ['text']
additionalProperties = false
properties.text = { type = 'string', maxLength = 100, description = 'The text to count' }
properties.count = { type = 'integer', description = 'How many' }
[command]
argv = ['wc', '{/text}']
";
const DOCUMENT: &str = "openapi: 3.0.3\ninfo: {title: T, version: '1'}\nservers: [{url: 'https://a.example'}]\npaths:
  /orders/{id}: {get: {operationId: orders/get, parameters: [{name: id, in: path, required: true, schema: {type: string}}]}, delete: {operationId: orders/delete, parameters: [{name: id, in: path, required: true, schema: {type: string}}]}}\n";

/// A folder with one profile, `plain`.
fn plain() -> Policies {
    let policies = Policies::new();
    policies.write("sandbox/plain.toml", PROFILE);
    policies
}

/// The one problem of this manifest.
fn wrong(policies: &Policies, manifest: &str) -> String {
    policies.write("tools/t.toml", manifest);
    let catalog = policies.load();
    assert!(catalog.tools().is_empty());
    let problem = &catalog.problems()[0];
    assert_eq!(problem.file, "tools/t.toml");
    assert!(problem.fatal);
    format!("{}: {}", problem.place, problem.message)
}

fn names(catalog: &Catalog) -> Vec<&str> {
    catalog.tools().iter().map(|tool| tool.name.as_str()).collect()
}

#[test]
fn a_manifest_becomes_a_tool_with_the_documented_defaults() {
    let policies = plain();
    policies.write("tools/text.count.toml", MANIFEST);
    let catalog = policies.load();
    assert_eq!(catalog.problems(), []);
    let tool = catalog.get("text.count").unwrap();
    assert_eq!(tool.cache_ttl, Some(Duration::from_secs(300)));
    assert_eq!((tool.risk, tool.idempotent), (Risk::Read, false));
    let limits = tool.profile.limits;
    assert_eq!(
        (limits.wall, limits.memory, limits.cpu_millis),
        (Duration::from_secs(3), 512 << 20, 1000)
    );
    assert_eq!((limits.processes, tool.profile.egress.is_none()), (64, true));
    let order: Vec<&String> = tool.input_schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(order, ["text", "count"], "arguments keep the author's order");
    assert!(matches!(&tool.target, Target::Command(command) if command.argv[0] == "wc"));
}

#[test]
fn what_is_wrong_with_a_manifest_is_named() {
    let policies = plain();
    let replaced = |from: &str, to: &str| wrong(&policies, &MANIFEST.replace(from, to));
    let said = |got: String, parts: &[&str]| {
        assert!(parts.iter().all(|part| got.contains(part)), "{got}");
    };
    said(replaced("risk =", "rissk ="), &["line 2", "`rissk`", "did you mean `risk`"]);
    said(replaced("risk = 'read'\n", ""), &["risk"]);
    said(replaced("'Counts the words and lines of a text'", "' '"), &["description", "empty"]);
    said(replaced("type = 'object'\n", ""), &["input_schema", "type = \"object\""]);
    said(replaced("'{/text}'", "'{/texd}'"), &["command.argv", "`texd`", "`text`"]);
    said(replaced("'wc',", "'{/text}',"), &["command.argv", "program"]);
    said(replaced("profile = 'plain'", "profile = 'plian'"), &["profile", "did you mean `plain`"]);
    said(replaced("content = 'text'", "content = 'txet'"), &["aliases.content"]);
    said(replaced("'5m'", "'5 fortnights'"), &["5 fortnights", "`ms`"]);
    said(
        replaced("maxLength = 100", "pattern = '(?!a)b'"),
        &["input_schema/properties/text/pattern", "look-around"],
    );
    said(
        replaced("maxLength = 100", "'$ref' = '#/nowhere'"),
        &["input_schema", "points at nothing"],
    );
    said(replaced("maxLength = 100", "'$ref' = 'http://a.example/x'"), &["leaves the schema"]);
    said(replaced("[command]\nargv = ['wc', '{/text}']\n", ""), &["neither"]);
    said(wrong(&policies, "name = "), &["line 1"]);
    said(wrong(&policies, ""), &["description"]);
    policies.write("tools/t.toml", "x");
    fs::write(policies.root().join("tools/t.toml"), [0xff, 0xfe]).unwrap();
    assert!(policies.load().problems()[0].message.contains("UTF-8"));
}

#[test]
fn files_of_a_manifest_are_checked_against_its_sandbox() {
    let policies = plain();
    let with = |files: &str| format!("{MANIFEST}\n{files}");
    policies.write(
        "tools/t.toml",
        &with("[files]\ntake = { count = 2, bytes = '1MiB', media_types = ['image/*', 'text/csv'] }\ngive = { names = ['a.png', 'b'], bytes = '2MiB' }"),
    );
    let catalog = policies.load();
    assert_eq!(catalog.problems(), []);
    let files = &catalog.tools()[0].files;
    let take = files.take.as_ref().unwrap();
    let types = ["image/png", "text/csv", "text/plain", "imagery/x"];
    assert_eq!(types.map(|media_type| take.allows(media_type)), [true, true, false, false]);
    assert_eq!(files.give.as_ref().unwrap().count, 2);
    assert_eq!(files.wanted(&[]), ["a.png", "b"]);
    assert_eq!(files.wanted(&["b".to_owned()]), ["b"]);
    for (files, parts) in [
        ("[files.take]\ncount = 1\nbytes = '65MiB'", &["files.take", "16777216"][..]),
        ("[files.take]\ncount = 65\nbytes = '1MiB'", &["files.take", "64"]),
        ("[files.take]\ncount = 0\nbytes = '1MiB'", &["files.take", "from 1"]),
        ("[files.give]\nbytes = '1MiB'", &["files.give", "`count`"]),
        ("[files.give]\nbytes = '1MiB'\nnames = ['../a']", &["files", "`../a`"]),
        ("[files.give]\nbytes = '1MiB'\nnames = ['a', 'A']", &["files", "`A` twice"]),
        ("[files.take]\ncount = 1\nbytes = '1MiB'\nmedia_types = ['png']", &["`png`", "image/png"]),
    ] {
        let got = wrong(&policies, &with(files));
        assert!(parts.iter().all(|part| got.contains(part)), "{got}");
    }
}

#[test]
fn a_schema_can_be_json_text_or_a_file_inside_the_folder() {
    let policies = plain();
    let head = "description = 'Says hello to somebody'\nrisk = 'read'\nprofile = 'plain'\n";
    let tail = "[command]\nargv = ['true']\n";
    policies
        .write("tools/a.toml", &format!("{head}input_schema = '{{\"type\":\"object\"}}'\n{tail}"));
    policies.write("tools/b.toml", &format!("{head}input_schema_file = 'tools/b.json'\n{tail}"));
    policies
        .write("tools/b.json", "{\"type\": \"object\", \"maxProperties\": 12345678901234567890}");
    policies.write("tools/c.toml", &format!("{head}input_schema_file = '../c.json'\n{tail}"));
    let catalog = policies.load();
    assert_eq!(names(&catalog), ["a", "b"]);
    assert_eq!(
        catalog.get("b").unwrap().input_schema["maxProperties"].to_string(),
        "12345678901234567890"
    );
    assert!(catalog.problems()[0].message.contains("leaves the policies folder"));
}

#[test]
fn recursive_pointers_of_a_manifest_count_from_its_schema() {
    let policies = plain();
    let schema = r##"{"type":"object","properties":{"stops":{"type":"array","items":{"type":"object","properties":{"city":{"type":"string"},"detours":{"type":"array","items":{"$ref":"#/properties/stops/items"}}}}}}}"##;
    let head = "description = 'Plans a trip with stops'\nrisk = 'read'\nprofile = 'plain'\n";
    policies.write(
        "tools/t.toml",
        &format!("{head}input_schema = '{schema}'\n[command]\nargv = ['true']\n"),
    );
    assert_eq!(names(&policies.load()), ["t"]);
    let loop_ = r##"{"type":"object","allOf":[{"$ref":"#"}]}"##;
    assert!(
        wrong(&policies, &format!("{head}input_schema = '{loop_}'\n[command]\nargv = ['true']\n"))
            .contains("loop")
    );
}

#[test]
fn http_manifests_place_their_arguments() {
    let policies = plain();
    let manifest = "description = 'Lists the orders of a customer'\nrisk = 'read'\nprofile = 'plain'
[input_schema]\ntype = 'object'\nrequired = ['id']
properties.id = { type = 'string' }\nproperties.limit = { type = 'integer' }\nproperties.trace = { type = 'string' }
[http]\nmethod = 'GET'\nurl = 'https://shop.example/api/{id}/orders'\nheaders = { X-Trace = '{trace}', X-Version = '2' }\n";
    policies.write("tools/t.toml", manifest);
    let catalog = policies.load();
    let Target::Http(target) = &catalog.get("t").unwrap().target else {
        panic!("an http tool");
    };
    let request = target.request(&json!({"id": "a/b", "limit": 5, "trace": "x"}), &[]).unwrap();
    assert_eq!(request.url, "https://shop.example/api/a%2Fb/orders?limit=5");
    assert!(request.headers.contains(&("X-Trace".to_owned(), "x".to_owned())));
    assert!(request.headers.contains(&("x-version".to_owned(), "2".to_owned())));
    let post = manifest.replace("'GET'", "'POST'");
    policies.write("tools/t.toml", &post);
    let catalog = policies.load();
    let Target::Http(target) = &catalog.get("t").unwrap().target else {
        panic!("an http tool");
    };
    let request = target.request(&json!({"id": "a", "limit": 5}), &[]).unwrap();
    assert_eq!(super::body(&request), r#"{"limit":5}"#);
    for (from, to, wanted) in [
        ("https://shop.example", "https://{id}.example", "host"),
        ("required = ['id']", "", "must require it"),
        ("/{id}/", "/{idd}/", "did you mean `id`"),
        ("/orders'", "/orders?x=1'", "query"),
        ("https://shop", "gopher://shop", "scheme"),
    ] {
        let got = wrong(&policies, &manifest.replace(from, to));
        assert!(got.contains("http.url") && got.contains(wanted), "{got}");
    }
}

#[test]
fn profiles_are_checked_and_brought_into_one_spelling() {
    let policies = plain();
    policies.write("sandbox/net.toml", "image = 'python'\ntier = 'worker'\nruntime = 'runsc'\n[limits]\nwall = '1500ms'\nmemory = '64MiB'\ncpus = 0.25\n[[egress]]\nhost = 'API.Example.'\nport = 443\n[[egress]]\nhost = '127.0.0.1'\nport = 8080\nnetworks = ['127.0.0.0/8']\n[pool]\nmax = 2\n");
    policies.write("sandbox/shut.toml", "image = 'python'\negress = []\n");
    let catalog = policies.load();
    assert_eq!(catalog.problems(), []);
    let net = catalog.profiles().find(|profile| profile.name == "net").unwrap();
    assert_eq!(
        (net.limits.wall, net.limits.memory, net.limits.cpu_millis),
        (Duration::from_millis(1500), 64 << 20, 250)
    );
    assert_eq!(net.egress.as_ref().unwrap()[0].host, "api.example");
    assert_eq!((net.pool.min, net.pool.max), (1, 2));
    let shut = catalog.profiles().find(|profile| profile.name == "shut").unwrap();
    assert_eq!(shut.egress, Some(Vec::new()));
    for (text, wanted) in [
        ("imge = 'x'", "did you mean `image`"),
        ("image = 'python'\nlimits.wall = 3", "wall"),
        ("image = 'python'\nlimits.wall = '3601s'", "limits.wall"),
        ("image = 'python'\ntier = 'worker'\nlimits.processes = 7", "limits.processes"),
        ("image = 'python'\nlimits.memory = '0B'", "limits.memory"),
        ("image = 'python'\nlimits.processes = 0", "limits.processes"),
        ("image = 'python'\negress = [{host = 'a/b', port = 1}]", "no host"),
        ("image = 'python'\negress = [{host = '*', port = 1}]", "no host"),
        (
            "image = 'python'\negress = [{host = 'a.example', port = 1, networks = ['x']}]",
            "no network",
        ),
        ("image = 'python'\npool = {min = 9}", "min 9"),
        ("image = 'gone'", "not built"),
    ] {
        policies.write("sandbox/net.toml", text);
        let catalog = policies.load();
        let problem = &catalog.problems()[0];
        let got = format!("{}: {}", problem.place, problem.message);
        assert!(problem.file == "sandbox/net.toml" && got.contains(wanted), "{got}");
    }
}

#[test]
fn the_worker_tier_runs_no_commands() {
    let policies = plain();
    policies.write("sandbox/plain.toml", "image = 'python'\ntier = 'worker'\n");
    assert!(wrong(&policies, MANIFEST).contains("worker"));
}

#[test]
fn a_source_makes_one_tool_of_each_operation() {
    let policies = plain();
    policies.write("openapi/shop.yaml", DOCUMENT);
    policies.write("openapi/shop.toml", "document = 'openapi/shop.yaml'\nprofile = 'plain'\nprefix = 'shop.'\ncache_ttl = '1m'\n[operations.'orders/get']\ndescription = 'Reads one order by its number'\nsummary_fields = ['$.id']\n");
    let catalog = policies.load();
    assert_eq!(catalog.problems(), []);
    assert_eq!(names(&catalog), ["shop.orders__delete", "shop.orders__get"]);
    let get = catalog.get("shop.orders__get").unwrap();
    assert_eq!(
        (get.risk, get.idempotent, get.cache_ttl),
        (Risk::Read, true, Some(Duration::from_secs(60)))
    );
    assert_eq!(
        (get.description.as_str(), get.source.as_str()),
        ("Reads one order by its number", "shop")
    );
    let delete = catalog.get("shop.orders__delete").unwrap();
    assert_eq!((delete.risk, delete.cache_ttl), (Risk::Destructive, None));
    policies.write(
        "openapi/shop.toml",
        "document = 'openapi/shop.yaml'\nprofile = 'plain'\n[operations.'orders/gte']\n",
    );
    let catalog = policies.load();
    assert!(catalog.problems()[0].message.contains("did you mean `orders/get`"));
}

#[test]
fn every_part_of_a_definition_changes_its_digest() {
    let policies = plain();
    policies.write("openapi/shop.yaml", DOCUMENT);
    let source = "document = 'openapi/shop.yaml'\nprofile = 'plain'\n";
    policies.write("openapi/shop.toml", source);
    let digest = |catalog: &Catalog| catalog.get("orders__get").unwrap().digest.clone();
    let first = policies.load();
    assert_eq!(digest(&first), digest(&policies.load()));
    assert_eq!(first.digest(), policies.load().digest());
    policies.write("openapi/shop.toml", &format!("{source}server = 'https://b.example'\n"));
    let server = policies.load();
    assert_ne!(digest(&first), digest(&server));
    assert_ne!(first.digest(), server.digest());
    policies.write("openapi/shop.toml", source);
    policies.write("sandbox/plain.toml", "image = 'python'\nlimits.wall = '4s'\n");
    assert_ne!(digest(&first), digest(&policies.load()));
    policies.write("sandbox/plain.toml", PROFILE);
    let other = Catalog::load(policies.root(), &|_| Some("sha256:2".to_owned()));
    assert_ne!(digest(&first), digest(&other));
}

#[test]
fn a_broken_file_keeps_its_last_good_tools_and_says_so() {
    let policies = plain();
    policies.write("tools/a.toml", MANIFEST);
    policies.write("tools/b.toml", MANIFEST);
    policies.write("openapi/shop.yaml", DOCUMENT);
    policies.write("openapi/shop.toml", "document = 'openapi/shop.yaml'\nprofile = 'plain'\n");
    let good = policies.load();
    assert_eq!(names(&good), ["a", "b", "orders__delete", "orders__get"]);
    policies.write("tools/a.toml", "broken");
    policies.write("openapi/shop.yaml", "{");
    policies.write("sandbox/plain.toml", "nonsense = 1");
    fs::remove_file(policies.root().join("tools/b.toml")).unwrap();
    let kept = policies.reload(&good);
    assert_eq!(names(&kept), ["a", "orders__delete", "orders__get"]);
    assert_eq!(kept.problems().len(), 3);
    for problem in kept.problems() {
        assert!(problem.fatal && problem.message.contains("last good state"), "{problem:?}");
    }
    let again = policies.reload(&kept);
    assert_eq!(names(&again), names(&kept));
    let fresh = policies.load();
    assert!(fresh.tools().is_empty());
}

#[test]
fn a_broken_part_of_a_document_keeps_the_last_good_tools_and_is_named_with_its_line() {
    const PART: &str = "id:\n  {name: id, in: path, required: true, schema: {type: string}}\n";
    let policies = plain();
    let document = DOCUMENT.replace(
        "{name: id, in: path, required: true, schema: {type: string}}",
        "{$ref: 'id.yaml#/id'}",
    );
    policies.write("openapi/shop.yaml", &document);
    policies.write("openapi/shop.toml", "document = 'openapi/shop.yaml'\nprofile = 'plain'\n");
    policies.write("openapi/id.yaml", "id: {\n");
    let first = policies.load();
    assert!(first.tools().is_empty());
    assert!(first.problems().iter().all(|problem| !problem.fatal), "{:?}", first.problems());
    policies.write("openapi/id.yaml", PART);
    let good = policies.reload(&first);
    assert_eq!((names(&good).len(), good.problems()), (2, &[][..]));
    policies.write("openapi/id.yaml", &format!("{PART}broken: [\n"));
    let kept = policies.reload(&good);
    assert_eq!(names(&kept), names(&good));
    let [problem] = kept.problems() else { panic!("{:?}", kept.problems()) };
    assert_eq!((problem.file.as_str(), problem.place.as_str()), ("openapi/shop.toml", "id.yaml"));
    assert!(problem.fatal && problem.message.contains("line 3"), "{problem:?}");
    assert!(problem.message.contains("last good state"), "{problem:?}");
    let again = policies.reload(&kept);
    assert_eq!(names(&again), names(&good));
    fs::remove_file(policies.root().join("openapi/id.yaml")).unwrap();
    assert_eq!(names(&policies.reload(&again)), names(&good));
    policies.write("openapi/id.yaml", &PART.replace("string", "integer"));
    let mended = policies.reload(&again);
    assert_eq!(mended.problems(), []);
    assert_eq!(
        mended.get("orders__get").unwrap().input_schema["properties"]["id"]["type"],
        "integer"
    );
}

#[test]
fn two_tools_of_one_name_are_reported_and_never_merged() {
    let policies = plain();
    policies.write("tools/a.toml", &format!("name = 'same'\n{MANIFEST}"));
    policies.write("tools/b.toml", &format!("name = 'same'\n{MANIFEST}"));
    let catalog = policies.load();
    assert_eq!(names(&catalog), ["same"]);
    assert_eq!(catalog.get("same").unwrap().source, "a");
    assert_eq!(
        (catalog.problems()[0].file.as_str(), catalog.problems()[0].fatal),
        ("tools/b.toml", true)
    );
}

#[test]
fn a_tool_can_be_taken_out_with_a_reason() {
    let policies = plain();
    policies.write("tools/a.toml", MANIFEST);
    policies.write("tools/b.toml", MANIFEST);
    let catalog = policies.load();
    let before = catalog.digest().to_owned();
    let rest = catalog.without(&[("a".to_owned(), "does not compile".to_owned())]);
    assert_eq!(names(&rest), ["b"]);
    assert_ne!(rest.digest(), before);
    assert_eq!(rest.problems()[0].message, "does not compile");
}

#[test]
fn a_missing_folder_is_an_empty_catalog_with_a_problem() {
    let catalog = Catalog::load(Path::new("/nonexistent/policies"), &image);
    assert!(catalog.tools().is_empty());
    assert!(catalog.problems()[0].fatal);
}

fn admitted(tool: &str) -> Admitted {
    let caller = Caller { name: "uid:1".to_owned(), tenant: "t".to_owned(), roles: Vec::new() };
    Admitted::for_test(Call::new(tool, "{}"), caller)
}

fn everyone(_: &Caller, _: &Tool) -> bool {
    true
}

fn declared(tools: &[&str]) -> Catalog {
    let policies = plain();
    for (index, name) in tools.iter().enumerate() {
        policies.write(&format!("tools/{index}.toml"), &format!("name = '{name}'\n{MANIFEST}"));
    }
    let catalog = policies.load();
    assert_eq!(catalog.tools().len(), tools.len());
    catalog
}

#[test]
fn misspelt_names_resolve_only_when_one_tool_fits() {
    let catalog = declared(&["get_weather", "files.read", "read", "exec_command", "a_b", "A_b"]);
    let find = |name: &str| {
        let resolved = catalog.resolve(admitted(name), &everyone);
        resolved.map(|resolved| resolved.tool.name.clone())
    };
    for (name, tool) in [
        ("get_weather", "get_weather"),
        ("functions.get_weather", "get_weather"),
        ("default_api.get_weather", "get_weather"),
        ("default_api:get_weather", "get_weather"),
        ("Get_Weather", "get_weather"),
        ("get-weather", "get_weather"),
        ("files.read", "files.read"),
        ("A_b", "A_b"),
    ] {
        assert_eq!(find(name).unwrap(), tool);
    }
    for name in [
        "other.read",
        "exec_commandexec_command",
        "print(default_api.get_weather(city=\"x\"))",
        "multi_tool_use.parallel",
        "get_wether",
        "A-B",
        "",
        "get_weather ",
        "get_weather\0",
        "get_wеather",
    ] {
        let error = find(name).unwrap_err();
        assert_eq!(error.failure().code, Code::UnknownTool, "{name}");
    }
    let Error::UnknownTool { nearest, .. } = find("get_wether").unwrap_err() else {
        panic!("unknown tool");
    };
    assert_eq!(nearest, ["get_weather"]);
}

#[test]
fn long_and_hostile_names_are_answered_shortly() {
    let catalog = declared(&["read"]);
    let name = format!("re`ad\n\u{1b}[31m{}", "x".repeat(10_000));
    let error = catalog.resolve(admitted(&name), &everyone).unwrap_err();
    let message = error.failure().message;
    assert!(message.len() < 400 && !message.contains(['\n', '\u{1b}']), "{message}");
}

#[test]
fn hidden_tools_are_neither_suggested_nor_found_by_another_spelling() {
    let catalog = declared(&["delete_repo", "read_repo"]);
    let visible = |_: &Caller, tool: &Tool| tool.name != "delete_repo";
    let error = catalog.resolve(admitted("Delete_Repo"), &visible).unwrap_err();
    assert!(!error.failure().details.to_string().contains("delete_repo"), "{error}");
    // Under its own name it is found, so that policy decides and records.
    assert!(catalog.resolve(admitted("delete_repo"), &visible).is_ok());
}

#[test]
fn the_linter_names_what_misleads_models() {
    let policies = plain();
    policies.write(
        "tools/good.toml",
        &MANIFEST.replace(
            "type = 'integer', description = 'How many'",
            "type = 'integer', minimum = 0, maximum = 9, description = 'How many words'",
        ),
    );
    let notes = lint(&policies.load());
    assert!(notes.iter().all(|one| one.level == Level::Note), "{notes:?}");
    policies.write(
        "tools/twin.toml",
        &MANIFEST.replace("type = 'integer', description = 'How many'", "type = 'integer'"),
    );
    policies.write("tools/vague.toml", "description = 'vague tool'\nrisk = 'read'\nprofile = 'plain'\n[input_schema]\ntype = 'object'\nproperties = {a = {}, b = {type = 'string'}, c = {type = 'array'}, d = {}, e = {}, f = {}}\n[command]\nargv = ['true']\n");
    let findings = lint(&policies.load());
    let rules = |tool: &str| -> std::collections::BTreeSet<&str> {
        findings.iter().filter(|one| one.tool == tool).map(|one| one.rule).collect()
    };
    assert_eq!(rules("good"), ["alike", "name", "output"].into());
    assert_eq!(rules("twin"), ["alike", "bounds", "name", "output", "parameter", "unit"].into());
    assert_eq!(
        rules("vague"),
        [
            "arguments",
            "description",
            "format",
            "items",
            "name",
            "open",
            "output",
            "parameter",
            "type"
        ]
        .into()
    );
}
