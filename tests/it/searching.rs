//! Search and compact listings against the real daemon: what each caller finds, and what it is told.

use serde_json::Value;
use switchboard::proto::tools::{
    GetToolRequest, ListToolsRequest, Risk, SearchToolsRequest, SearchToolsResponse, View,
};
use tonic::{Code, Status};

use crate::daemon::{Daemon, ROOT, Setup};

fn question(query: &str) -> SearchToolsRequest {
    SearchToolsRequest { query: query.to_owned(), ..Default::default() }
}

async fn search(daemon: &Daemon, asked: SearchToolsRequest) -> Result<SearchToolsResponse, Status> {
    daemon.client().await.search_tools(asked).await.map(tonic::Response::into_inner)
}

fn names(found: &SearchToolsResponse) -> Vec<&str> {
    found.hits.iter().map(|hit| hit.tool.as_ref().unwrap().name.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_finds_what_it_may_use_and_nothing_else() {
    let daemon = Setup::new().start().await;
    let found = search(&daemon, question("recognize text in an image")).await.unwrap();
    assert_eq!(names(&found)[0], "image.ocr", "{found:#?}");
    let found = search(&daemon, question("取消订单")).await.unwrap();
    assert_eq!(names(&found)[0], "cancelOrder", "{found:#?}");
    let hit = &found.hits[0];
    assert!(hit.score > 0.0 && hit.matches.iter().any(|one| one.how == "synonym"), "{hit:#?}");
    // The tool is there, and hidden: neither its name nor its words find anything.
    for query in ["probe.forbidden", "probe_forbidden", "called by nobody policy"] {
        let found =
            search(&daemon, SearchToolsRequest { limit: 100, ..question(query) }).await.unwrap();
        assert!(!names(&found).contains(&"probe.forbidden"), "{query}");
        assert_eq!(found.hits.len(), usize::try_from(found.total).unwrap(), "{query}");
    }
    let all = search(&daemon, SearchToolsRequest { limit: 1, ..question("probe") }).await.unwrap();
    assert!(all.hits.len() == 1 && all.total > 5, "{all:#?}");
    let listed = daemon.client().await.list_tools(ListToolsRequest::default()).await.unwrap();
    assert_eq!(listed.into_inner().catalog_digest, all.catalog_digest);
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_narrow_and_views_shorten() {
    let daemon = Setup::new().start().await;
    let narrow = |query: &str| SearchToolsRequest {
        sources: vec!["orders".to_owned()],
        risks: vec![Risk::Read.into()],
        limit: 100,
        ..question(query)
    };
    let found = search(&daemon, narrow("order orders customer text")).await.unwrap();
    assert!(!found.hits.is_empty());
    for hit in &found.hits {
        let tool = hit.tool.as_ref().unwrap();
        assert_eq!((tool.source.as_str(), tool.risk()), ("orders", Risk::Read));
        assert!(!tool.input_schema_json.is_empty() && tool.arguments.is_empty());
    }
    let compact = SearchToolsRequest { view: View::Compact.into(), ..question("probe.echo") };
    let found = search(&daemon, compact).await.unwrap();
    let short = found.hits[0].tool.clone().unwrap();
    assert_eq!(
        (short.name.as_str(), short.description.as_str()),
        ("probe.echo", "Gives its arguments back.")
    );
    let arguments: Vec<_> =
        short.arguments.iter().map(|one| (one.name.as_str(), one.required)).collect();
    assert_eq!(arguments, [("count", true), ("colour", false), ("limit", false)]);
    assert!(short.input_schema_json.is_empty() && short.tokens > 30, "{short:#?}");
    let asked = GetToolRequest { name: "probe.echo".to_owned(), ..Default::default() };
    let whole = daemon.client().await.get_tool(asked).await.unwrap().into_inner();
    assert_eq!(
        (whole.tokens, &whole.digest),
        (short.tokens, &short.digest),
        "of the whole definition"
    );
    let asked = ListToolsRequest { view: View::Compact.into(), ..Default::default() };
    let listed = daemon.client().await.list_tools(asked).await.unwrap().into_inner();
    assert!(listed.tools.iter().all(|tool| tool.input_schema_json.is_empty() && tool.tokens > 0));
    assert!(listed.tools.contains(&short));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_search_is_refused() {
    let daemon = Setup::new().start().await;
    for asked in [
        question(" "),
        question(&"x".repeat(1025)),
        SearchToolsRequest { risks: vec![9], ..question("x") },
        SearchToolsRequest { view: 7, ..question("x") },
        SearchToolsRequest { sources: vec![String::new(); 101], ..question("x") },
    ] {
        let status = search(&daemon, asked.clone()).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument, "{asked:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_searches_a_daemon_or_a_folder() {
    let daemon = Setup::new().start().await;
    let lines = |arguments: &[&str]| -> Vec<Value> {
        let output = daemon.cli(arguments);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let asked = lines(&["tools", "search", "count words of a text", "--json", "--limit", "2"]);
    assert_eq!(asked[0]["name"], "text.stats", "{asked:#?}");
    let folder = format!("{ROOT}/policies");
    let read = ["tools", "search", "count words of a text", "--json", "--catalog", &folder];
    let read = lines(&read);
    assert_eq!((&read[0]["name"], &read[0]["tokens"]), (&asked[0]["name"], &asked[0]["tokens"]));
    let table = daemon.cli(&["tools", "search", "delte ordr", "--catalog", &folder]);
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.contains("ordr (spelling order)"), "{table}");
    let none = daemon.cli(&["tools", "search", "xyzzyplugh", "--catalog", &folder]);
    assert_eq!(none.status.code(), Some(1));
}
