//! Searches over ten thousand tools of a real daemon, of which its caller may use two thirds; a page of
//! their list beside it; and the memory of the index.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use serde_json::{Map, json};
use switchboard::catalog::{Catalog, Index, Search};
use switchboard::proto::tools::{Detail, ListToolsRequest, SearchToolsRequest};

use crate::daemon::Setup;
use crate::measure::{Samples, figure, resident, row};

const SERVICES: usize = 10;
const VERBS: [&str; 10] = [
    "list", "get", "create", "update", "delete", "search", "export", "archive", "restore", "assign",
];
const NOUNS: [&str; 20] = [
    "order",
    "invoice",
    "customer",
    "ticket",
    "repository",
    "branch",
    "message",
    "channel",
    "event",
    "server",
    "database",
    "snapshot",
    "employee",
    "contract",
    "shipment",
    "product",
    "payment",
    "report",
    "document",
    "folder",
];
const SIDES: [&str; 5] = ["", "comment", "label", "permission", "history"];
const QUESTIONS: [&str; 12] = [
    "cancel an order of a customer",
    "list invoices",
    "帮我查询订单的历史记录",
    "who may read this document",
    "create repo branch",
    "delte the shipmnt label",
    "service3_get_ticket_history",
    "restore the database from a snapshot of last week",
    "send a message to the channel",
    "导出员工的合同",
    "perm",
    "what was changed in the payment report between two dates and by whom",
];
const ROUNDS: usize = 40;

pub async fn run() {
    let mut setup = Setup::of(&["policies", "tests/fixtures/policies"]);
    setup = setup.policy("sandbox/search.toml", "image = 'runner'\ntier = 'worker'\n");
    let mut forbidden = String::new();
    for service in 0..SERVICES {
        setup = setup.policy(&format!("openapi/service{service}.json"), &document(service)).policy(
            &format!("openapi/service{service}.toml"),
            &format!("document = 'openapi/service{service}.json'\nprofile = 'search'\n"),
        );
        if service % 3 == 2 {
            writeln!(
                forbidden,
                "@id(\"search-{service}\")\n@owner(\"bench\")\nforbid (principal, action in \
                 Switchboard::Action::\"source:service{service}\", resource);"
            )
            .unwrap();
        }
    }
    let setup = setup.policy("cedar/search.cedar", &forbidden);
    alone(&setup.policies());
    if cfg!(debug_assertions) {
        // Checking policies against so many tools takes minutes there.
        return;
    }
    let daemon = setup.start_unready().await;
    let mut client = daemon.client().await;
    let asked = |query: &str| SearchToolsRequest {
        query: query.to_owned(),
        detail: Detail::Compact.into(),
        ..Default::default()
    };
    let before = resident(daemon.pid());
    let begun = Instant::now();
    let first = client.search_tools(asked(QUESTIONS[0])).await.unwrap().into_inner();
    figure("search.first", begun.elapsed().as_secs_f64() * 1000.0, "ms");
    figure("search.index", resident(daemon.pid()) - before, "MiB");
    assert!(!first.hits.is_empty() && first.total > 100);
    let (mut searched, mut listed) = (Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        for query in QUESTIONS {
            let begun = Instant::now();
            let found = client.search_tools(asked(query)).await.unwrap().into_inner();
            searched.time(begun.elapsed());
            let hidden = |name: &str| {
                ["service2", "service5", "service8"].iter().any(|s| name.starts_with(s))
            };
            assert!(found.hits.iter().all(|hit| !hidden(&hit.tool.as_ref().unwrap().name)));
        }
        let begun = Instant::now();
        let page = ListToolsRequest { detail: Detail::Compact.into(), ..Default::default() };
        assert_eq!(client.list_tools(page).await.unwrap().into_inner().tools.len(), 100);
        listed.time(begun.elapsed());
    }
    row("search.tools", SERVICES * VERBS.len() * NOUNS.len() * SIDES.len(), "tools");
    figure("search.p50", searched.median(), "ms");
    figure("search.p99", searched.quantile(0.99), "ms");
    figure("search.list.p50", listed.median(), "ms");
}

/// The index in this process, without policy and gRPC.
fn alone(folder: &Path) {
    let catalog = Catalog::load(folder, &|name| Some(name.to_owned()));
    let begun = Instant::now();
    let index = Index::new(catalog.tools());
    figure("search.alone.build", begun.elapsed().as_secs_f64() * 1000.0, "ms");
    figure("search.alone.index", index.bytes() as f64 / 1_048_576.0, "MiB");
    let mut searched = Samples::default();
    for _ in 0..ROUNDS {
        for query in QUESTIONS {
            let begun = Instant::now();
            let seen = |place: usize| !place.is_multiple_of(3);
            let found = index.search(&Search { query, limit: 10, seen: &seen, wanted: &|_| true });
            searched.time(begun.elapsed());
            assert!(found.total > 0, "{query}");
        }
    }
    figure("search.alone.p50", searched.median(), "ms");
    figure("search.alone.p99", searched.quantile(0.99), "ms");
}

/// A service with a thousand operations.
fn document(service: usize) -> String {
    let mut paths = Map::new();
    for verb in VERBS {
        for noun in NOUNS {
            for side in SIDES {
                let name = format!(
                    "service{service}_{verb}_{noun}{}{side}",
                    if side.is_empty() { "" } else { "_" }
                );
                let what =
                    if side.is_empty() { noun.to_owned() } else { format!("{side} of a {noun}") };
                let description = format!(
                    "{verb}s the {what} in service number {service}. Use it when somebody asks for the \
                     {what}, and not for what other services keep of it. It answers with the {noun} as \
                     it is stored, its owner, its state and the dates of its last changes."
                );
                let mut properties = Map::new();
                for (key, meaning) in [
                    ("id", format!("Number of the {noun}")),
                    ("owner", format!("Login name of the person who owns the {noun}")),
                    ("state", "Which state: open, closed or archived".to_owned()),
                    ("since", "First day, as YYYY-MM-DD".to_owned()),
                    ("limit", "At most so many".to_owned()),
                ] {
                    properties.insert(
                        key.into(),
                        json!({"type": "string", "maxLength": 100, "description": meaning}),
                    );
                }
                let body = json!({"content": {"application/json": {"schema":
                    {"type": "object", "required": ["id"], "properties": properties}}}});
                paths.insert(
                    format!("/{name}"),
                    json!({"post": {"operationId": name,
                    "description": description, "requestBody": body,
                    "responses": {"200": {"description": "done"}}}}),
                );
            }
        }
    }
    json!({
        "openapi": "3.1.0", "info": {"title": format!("service {service}"), "version": "1"},
        "servers": [{"url": "https://api.example"}], "paths": paths,
    })
    .to_string()
}
