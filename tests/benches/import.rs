//! The import of large OpenAPI documents by the command line, with the peak of its memory; and what a
//! daemon's start loads of them, with the cache and without, in this process.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use switchboard::catalog::{Cache, lint};
use switchboard::pipeline::Snapshot;

use crate::daemon::BINARY;
use crate::measure::{Samples, figure, peak, row};

/// Operations of the document that is large by its texts and inline schemas.
const OPERATIONS: usize = 1200;
/// Of the one that is large by their number, and the schemas that they share.
const MANY: usize = 11_000;
const SHARED: usize = 2_600;
const ROUNDS: usize = 3;

pub fn run() {
    one("import", &document());
    one("import_many", &many());
}

fn one(name: &str, document: &Value) {
    let folder = tempfile::TempDir::new().unwrap();
    let policies = folder.path().join("policies");
    for part in ["openapi", "sandbox", "cedar"] {
        std::fs::create_dir_all(policies.join(part)).unwrap();
    }
    let path = policies.join("openapi/large.json");
    let text = document.to_string();
    std::fs::write(&path, &text).unwrap();
    figure(&format!("{name}.size"), text.len() as f64 / 1e6, "MB");
    drop(text);
    command(name, &path, folder.path());
    start(name, &policies, &folder.path().join("cache"));
}

/// `tools import`, and the most memory that it had.
fn command(name: &str, path: &Path, folder: &Path) {
    let (mut took, mut memory) = (Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let report = std::fs::File::create(folder.join("report")).unwrap();
        let mut child = Command::new(BINARY)
            .args(["tools", "import", "--json"])
            .arg(path)
            .stdin(Stdio::null())
            .stdout(report)
            .spawn()
            .unwrap();
        let mut highest: f64 = 0.0;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            highest = highest.max(peak(child.id()).unwrap_or_default());
            std::thread::sleep(Duration::from_millis(2));
        };
        assert!(status.success());
        took.time(begun.elapsed());
        memory.add(highest);
    }
    let report = std::fs::read_to_string(folder.join("report")).unwrap();
    let report: Value = serde_json::from_str(&report).unwrap();
    row(&format!("{name}.operations"), &report["operations"], "operations");
    let imported = report["imported"].as_array().unwrap().len();
    row(&format!("{name}.imported"), imported, "operations");
    figure(&format!("{name}.least"), took.least(), "ms");
    figure(&format!("{name}.p50"), took.median(), "ms");
    figure(&format!("{name}.peak"), memory.most(), "MiB");
}

/// What a start loads: catalog, schemas and policies.
fn start(name: &str, policies: &Path, cache: &Path) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies");
    std::fs::copy(here.join("sandbox/orders.toml"), policies.join("sandbox/orders.toml")).unwrap();
    std::fs::copy(here.join("cedar/default.cedar"), policies.join("cedar/default.cedar")).unwrap();
    let source = "document = 'openapi/large.json'\nprofile = 'orders'\n";
    std::fs::write(policies.join("openapi/large.toml"), source).unwrap();
    let load = |cache: Option<&Cache>| {
        let begun = Instant::now();
        let image = |name: &str| Some(name.to_owned());
        let snapshot = Snapshot::load_cached(policies, &image, None, cache).unwrap();
        (begun.elapsed(), snapshot)
    };
    let (took, fresh) = load(None);
    figure(&format!("{name}.start_cold"), took.as_secs_f64() * 1000.0, "ms");
    let cache = Cache::open(cache).unwrap();
    let (took, _) = load(Some(&cache));
    figure(&format!("{name}.start_filling"), took.as_secs_f64() * 1000.0, "ms");
    let mut cached = Samples::default();
    for _ in 0..ROUNDS {
        let (took, snapshot) = load(Some(&cache));
        cached.time(took);
        assert_eq!(snapshot.catalog.digest(), fresh.catalog.digest());
    }
    figure(&format!("{name}.start_cached"), cached.median(), "ms");
    let begun = Instant::now();
    let findings = lint(&fresh.catalog).len();
    figure(&format!("{name}.lint"), begun.elapsed().as_secs_f64() * 1000.0, "ms");
    row(&format!("{name}.findings"), findings, "findings");
}

/// About as large as the largest documents in the open: inline schemas, shared ones, long texts.
fn document() -> Value {
    let words = "The resource as it stands at the time of the call, with all of its particulars. ";
    let field = |number: usize| {
        let kind = ["string", "integer", "boolean"][number % 3];
        json!({ "type": kind, "description": words })
    };
    let record = |fields: usize| {
        let named: Map<_, _> =
            (0..fields).map(|number| (format!("field_{number}"), field(number))).collect();
        json!({ "type": "object", "properties": named })
    };
    let mut paths = Map::new();
    for number in 0..OPERATIONS {
        let query: Vec<Value> = (0..6)
            .map(|n| json!({ "name": format!("filter_{n}"), "in": "query", "schema": field(n) }))
            .collect();
        let mut inner = record(20);
        let part = json!({ "$ref": format!("#/components/schemas/Part{}", number % 50) });
        inner["properties"]["part"] = part.clone();
        let content = |schema: Value| json!({ "application/json": { "schema": schema } });
        let operation = json!({
            "operationId": format!("operation{number}"),
            "summary": "Changes a resource",
            "description": words.repeat(4),
            "parameters": query,
            "requestBody": { "content": content(inner) },
            "responses": { "200": { "description": "Done", "content": content(record(55)) } },
        });
        paths.insert(format!("/resources{number}/{{id}}"), json!({
            "parameters":
                [{ "name": "id", "in": "path", "required": true, "schema": { "type": "string" } }],
            "post": operation,
        }));
    }
    let parts: Map<_, _> = (0..50).map(|number| (format!("Part{number}"), record(10))).collect();
    json!({
        "openapi": "3.0.3",
        "info": { "title": "Large", "version": "1" },
        "servers": [{ "url": "http://127.0.0.1:9" }],
        "paths": paths,
        "components": { "schemas": parts },
    })
}

/// As the largest documents in the open are: eleven thousand operations with ids too long for a name,
/// on entities that refer to each other in circles.
fn many() -> Value {
    let names = ["top", "skip", "search", "filter", "count"];
    let whole = |name: &str| {
        json!({ "name": format!("${name}"), "in": "query", "description": "Show only so much",
            "schema": { "type": "integer", "minimum": 0 } })
    };
    let parameters = names.map(|name| (name.to_owned(), whole(name)));
    let mut paths = Map::new();
    for number in 0..MANY / 4 {
        let place = format!("/admin/{{admin-id}}/workspaces{number}/{{item-id}}");
        paths.insert(place, item(number, &names));
    }
    json!({
        "openapi": "3.0.4",
        "info": { "title": "Many", "version": "1" },
        "servers": [{ "url": "http://127.0.0.1:9" }],
        "paths": paths,
        "components": { "schemas": entities(), "parameters": Map::from_iter(parameters),
            "responses": { "error": { "description": "error" } } },
    })
}

const ABOUT: &str = "Represents one of the things that the directory of an organisation keeps.";

fn entity(number: usize) -> String {
    format!("microsoft.graph.entityOfTheDirectory{}", number % SHARED)
}

fn reference(number: usize) -> Value {
    json!({ "$ref": format!("#/components/schemas/{}", entity(number)) })
}

fn entities() -> Map<String, Value> {
    let base = json!({ "type": "object", "required": ["@odata.type"],
        "properties": { "id": { "type": "string" }, "@odata.type": { "type": "string" } },
        "discriminator": { "propertyName": "@odata.type" } });
    let mut schemas = Map::from_iter([(entity(0), base)]);
    for number in 1..SHARED {
        let mut properties = Map::new();
        for field in 0..8 {
            let kind = ["string", "integer", "boolean"][field % 3];
            let one = json!({ "type": kind, "description": ABOUT, "nullable": field % 2 == 0 });
            properties.insert(format!("property{field}"), one);
        }
        properties.insert("owner".to_owned(), reference(number * 7 + 1));
        let items = json!({ "type": "array", "items": reference(number * 3 + 2) });
        properties.insert("members".to_owned(), items);
        let own = json!({ "type": "object", "title": entity(number), "properties": properties });
        schemas.insert(entity(number), json!({ "allOf": [reference(0), own] }));
    }
    schemas
}

fn item(number: usize, names: &[&str]) -> Value {
    let content = json!({ "application/json": { "schema": reference(number) } });
    let select = json!({ "name": "$select", "in": "query", "style": "form", "explode": false,
        "schema": { "type": "array", "uniqueItems": true, "items": { "type": "string",
        "enum": (0..20).map(|n| format!("property{n}")).collect::<Vec<_>>() } } });
    let more = names.iter().map(|n| json!({ "$ref": format!("#/components/parameters/{n}") }));
    let query: Vec<Value> = std::iter::once(select).chain(more).collect();
    let operation = |action: &str, body: bool| {
        let mut operation = json!({
            "operationId": format!("admin.tenantWorkspaces.members.microsoft.graph.{action}GuestInvitationsOf{number}-and-their-permissions"),
            "tags": [format!("admin.part{}", number % 40)],
            "summary": format!("{action} the invitations {number}"),
            "description": ABOUT.repeat(8),
            "responses": { "2XX": { "description": "Success", "content": content },
                "default": { "$ref": "#/components/responses/error" } },
        });
        match body {
            true => operation["requestBody"] = json!({ "required": true, "content": content }),
            false => operation["parameters"] = json!(query),
        }
        operation
    };
    let path = |name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } });
    json!({
        "description": "Provides operations to manage the collection of invitations.",
        "parameters": [path("admin-id"), path("item-id")],
        "get": operation("get", false), "patch": operation("update", true),
        "post": operation("create", true), "delete": operation("delete", false),
    })
}
