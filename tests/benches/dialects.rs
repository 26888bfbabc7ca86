//! What is worked out once for a tool and a dialect, beside working it out anew: the way back of a call
//! of a tool with many arguments, in this process; and ListTools of many tools, the first time and later.

use std::borrow::Cow;
use std::hint::black_box;
use std::time::Instant;

use serde_json::{Map, Value, json};
use switchboard::call::Dialect;
use switchboard::catalog::{Tool, restore};
use switchboard::pipeline::Snapshot;
use switchboard::proto::tools::{Dialect as Asked, ListToolsRequest};

use crate::daemon::Setup;
use crate::measure::{Samples, figure, row};

/// Arguments of the tool with many.
const ARGUMENTS: usize = 200;
/// Tools that are listed.
const TOOLS: usize = 1000;
const ROUNDS: usize = 500;

pub async fn run() {
    back();
    listed().await;
}

/// The way back, of a tool whose plan is made for the call and of one that has it.
fn back() {
    let setup = Setup::new().policy("tools/bench.many.toml", &manifest());
    let snapshot = Snapshot::load(&setup.policies(), &|name| Some(name.to_owned()), None).unwrap();
    let tool = snapshot.catalog.get("bench.many").unwrap();
    let arguments = json!({"filter[1]": "a", "argument 2": 3, "argument 5": 1, "odd": null});
    for (name, dialect) in [
        ("openai_strict", Dialect::OpenaiStrict),
        ("anthropic", Dialect::Anthropic),
        ("gemini", Dialect::Gemini),
    ] {
        let (mut anew, mut kept) = (Samples::default(), Samples::default());
        for _ in 0..ROUNDS {
            // A copy of a tool has no plans yet.
            let fresh = Tool::clone(tool);
            for seen in [&mut anew, &mut kept] {
                let begun = Instant::now();
                black_box(restore(&fresh, dialect, Cow::Borrowed(&arguments)));
                seen.add(begun.elapsed().as_secs_f64() * 1e6);
            }
        }
        figure(&format!("dialects.back.{name}.anew.p50"), anew.median(), "us");
        figure(&format!("dialects.back.{name}.kept.p50"), kept.median(), "us");
        figure(&format!("dialects.back.{name}.times"), anew.median() / kept.median(), "x");
    }
}

async fn listed() {
    let source = "document = 'openapi/many.json'\nprofile = 'probe'\nrisk = 'read'\n";
    let daemon = Setup::new()
        .policy("openapi/many.json", &document())
        .policy("openapi/many.toml", source)
        .start()
        .await;
    let mut client = daemon.client().await;
    for (name, dialect) in [("gemini", Asked::Gemini), ("openai_strict", Asked::OpenaiStrict)] {
        let (mut count, mut times) = (0, Vec::new());
        for _ in 0..5 {
            let (mut token, begun) = (String::new(), Instant::now());
            count = 0;
            loop {
                let asked = ListToolsRequest {
                    dialect: dialect.into(),
                    page_token: token,
                    ..Default::default()
                };
                let page = client.list_tools(asked).await.unwrap().into_inner();
                count += page.tools.len();
                token = page.next_page_token;
                if token.is_empty() {
                    break;
                }
            }
            times.push(begun.elapsed().as_secs_f64() * 1000.0);
        }
        assert!(count >= TOOLS, "{count}");
        let later: Samples = times.iter().skip(1).copied().collect();
        row(&format!("dialects.list.{name}.tools"), count, "tools");
        figure(&format!("dialects.list.{name}.first"), times[0], "ms");
        figure(&format!("dialects.list.{name}.later"), later.median(), "ms");
        figure(&format!("dialects.list.{name}.times"), times[0] / later.median(), "x");
    }
}

fn manifest() -> String {
    let mut properties = Map::new();
    for number in 0..ARGUMENTS {
        let name = match number % 10 {
            1 => format!("filter[{number}]"),
            2 => format!("argument {number}"),
            _ => format!("argument_{number}"),
        };
        let schema =
            json!({"type": "string", "description": format!("The {number}th thing to ask for.")});
        properties.insert(name, schema);
    }
    let schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    format!(
        "name = 'bench.many'\ndescription = 'Takes many arguments. For benches.'\nprofile = 'probe'\n\
         risk = 'read'\ninput_schema = {:?}\n[command]\nargv = ['true']\n",
        schema.to_string()
    )
}

/// A service with a thousand operations that share their schemas.
fn document() -> String {
    let mut schemas = Map::new();
    for number in 0..40 {
        let next = json!({"$ref": format!("#/components/schemas/Part{}", number + 1)});
        let text = json!({"type": "string", "description": "What is to be written there, in a few words."});
        let members = json!({
            "title": text, "note": text, "count": {"type": "integer", "minimum": 0},
            "kind": {"type": "string", "enum": ["one", "two", "three"]},
            "parts": {"type": "array", "items": next}, "labels": {"type": "object", "additionalProperties": text},
        });
        schemas.insert(
            format!("Part{number}"),
            json!({"type": "object", "required": ["title"], "properties": members}),
        );
    }
    schemas.insert("Part40".to_owned(), json!({"type": "string"}));
    let mut paths: Map<String, Value> = Map::new();
    for number in 0..TOOLS {
        let body = json!({"$ref": format!("#/components/schemas/Part{}", 34 + number % 6)});
        paths.insert(
            format!("/things/{number}"),
            json!({"post": {
                "operationId": format!("change_{number}"),
                "summary": format!("Changes the thing with the number {number}."),
                "requestBody": {"content": {"application/json": {"schema": body}}},
                "responses": {"200": {"description": "done"}},
            }}),
        );
    }
    json!({
        "openapi": "3.1.0", "info": {"title": "things", "version": "1"},
        "servers": [{"url": "https://api.example"}], "paths": paths, "components": {"schemas": schemas},
    })
    .to_string()
}
