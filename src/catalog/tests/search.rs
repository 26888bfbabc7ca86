//! Search: a catalog of made-up services and questions with their right answers, and what must hold
//! whatever the catalog.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::catalog::{Catalog, Index, Search, SearchFound};

/// A policies folder with the tools of a fixture, each service an OpenAPI document.
fn catalog(text: &str) -> Catalog {
    let root = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = root.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("sandbox/plain.toml", "image = 'runner'\ntier = 'worker'\n");
    let mut services: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    let mut service = "";
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix("= ") {
            Some(name) => service = name,
            None => {
                let paths = services.entry(service).or_default();
                let (name, operation) = operation(line);
                paths.insert(format!("/{name}"), operation);
            }
        }
    }
    for (service, paths) in services {
        let document = json!({
            "openapi": "3.1.0", "info": {"title": service, "version": "1"},
            "servers": [{"url": "https://api.example"}], "paths": paths,
        });
        write(&format!("openapi/{service}.json"), &document.to_string());
        let source = format!("document = 'openapi/{service}.json'\nprofile = 'plain'\n");
        write(&format!("openapi/{service}.toml"), &source);
    }
    let catalog = Catalog::load(root.path(), &|_| Some("image".to_owned()));
    assert_eq!(catalog.problems(), [], "the fixture has no problem");
    catalog
}

fn operation(line: &str) -> (&str, Value) {
    let parts: Vec<&str> = line.split('|').map(str::trim).collect();
    let [name, risk, description, arguments] = parts[..] else { panic!("{line}") };
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for argument in arguments.split(';').filter(|argument| !argument.trim().is_empty()) {
        let (name, meaning) = argument.split_once(':').unwrap();
        let bare = name.trim().trim_end_matches('*');
        if name.trim().ends_with('*') {
            required.push(bare);
        }
        properties
            .insert(bare.to_owned(), json!({"type": "string", "description": meaning.trim()}));
    }
    let method = match risk {
        "destructive" => "delete",
        _ => "post",
    };
    let schema = json!({"type": "object", "properties": properties, "required": required});
    let body = json!({"content": {"application/json": {"schema": schema}}});
    let mut operation = json!({
        "operationId": name, "description": description,
        "responses": {"200": {"description": "done"}},
    });
    if !properties.is_empty() {
        operation["requestBody"] = body;
    }
    (name, json!({ method: operation }))
}

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/search").join(name);
    std::fs::read_to_string(path).unwrap()
}

fn search(index: &Index, query: &str, limit: usize) -> SearchFound {
    index.search(&Search { query, limit, seen: &|_| true, wanted: &|_| true })
}

fn names(catalog: &Catalog, found: &SearchFound) -> Vec<String> {
    found.hits.iter().map(|hit| catalog.tools()[hit.place].name.clone()).collect()
}

#[test]
fn questions_in_two_languages_find_their_tool() {
    let catalog = catalog(&fixture("tools.txt"));
    assert!(catalog.tools().len() >= 200, "{}", catalog.tools().len());
    let index = Index::new(catalog.tools());
    // Of all, and of those with Chinese in the question: how many were right at 1, 5 and 10.
    let mut right = [[0_usize; 3]; 2];
    let mut asked = [0_usize; 2];
    let mut missed = Vec::new();
    for line in fixture("questions.txt").lines().filter(|line| !line.starts_with('#')) {
        let (question, answers) = line.split_once(" => ").unwrap();
        let answers: Vec<&str> = answers.split(", ").collect();
        for answer in &answers {
            assert!(catalog.get(answer).is_some(), "no tool `{answer}`");
        }
        let found = names(&catalog, &search(&index, question, 10));
        let rank = found.iter().position(|name| answers.contains(&name.as_str()));
        let groups = if question.is_ascii() { 0..1 } else { 0..2 };
        for group in groups {
            asked[group] += 1;
            for (column, most) in [1, 5, 10].into_iter().enumerate() {
                right[group][column] += usize::from(rank.is_some_and(|rank| rank < most));
            }
        }
        if rank != Some(0) {
            missed.push(format!(
                "{question}: {rank:?} {:?}",
                found.iter().take(4).collect::<Vec<_>>()
            ));
        }
    }
    assert!(asked[0] >= 100 && asked[1] >= 30, "{asked:?}");
    let percent = |group: usize, column: usize| right[group][column] * 100 / asked[group];
    let figures = [0, 1].map(|group| [0, 1, 2].map(|column| percent(group, column)));
    println!("recall in percent at 1, 5 and 10, of all {asked:?}: {figures:?}");
    let enough = |figures: [usize; 3], least: [usize; 3]| {
        figures.iter().zip(least).all(|(figure, least)| *figure >= least)
    };
    assert!(enough(figures[0], [72, 85, 88]), "{figures:?} {missed:#?}");
    assert!(enough(figures[1], [72, 88, 91]), "{figures:?} {missed:#?}");
}

/// Tools of one service, and their index.
fn few(lines: &str) -> (Catalog, Index) {
    let catalog = catalog(&format!("= svc\n{lines}"));
    let index = Index::new(catalog.tools());
    (catalog, index)
}

const FEW: &str = "\
order_create | write | Creates an order for a customer. | customer*: Who buys; note: A remark
order_delete | destructive | Deletes an order. | order_id*: Number
order_list | read | Lists orders by state. | state: open or closed
invoice_list | read | Lists invoices. | customer: Who pays; state: open or paid
http_server_restart | write | Boots a machine again. | host*: Name
dingdan_chaxun | read | 查询订单的配送状态。 | 订单号*: 订单编号
";

#[test]
fn what_may_not_be_seen_changes_nothing_that_is_seen() {
    let tools = fixture("tools.txt");
    let whole = catalog(&tools);
    // Every third tool is not there at all, or there and hidden.
    let is_kept = |name: &str| name.bytes().map(usize::from).sum::<usize>() % 3 != 0;
    let kept: String = tools
        .lines()
        .filter(|line| !line.contains('|') || is_kept(line.split('|').next().unwrap().trim()))
        .map(|line| format!("{line}\n"))
        .collect();
    let part = catalog(&kept);
    assert!(part.tools().len() < whole.tools().len() && part.tools().len() > 100);
    let (all, some) = (Index::new(whole.tools()), Index::new(part.tools()));
    let seen = |place: usize| is_kept(&whole.tools()[place].name);
    let words = "zzz repositry delte ord tok a 单 查询 发票 cancel order.get get 2fa 🙂 the";
    let questions = fixture("questions.txt");
    let questions = questions.lines().map(|line| line.split(" => ").next().unwrap());
    for query in questions.chain(words.split(' ')) {
        let hidden = all.search(&Search { query, limit: 20, seen: &seen, wanted: &|_| true });
        let absent = search(&some, query, 20);
        assert_eq!(names(&whole, &hidden), names(&part, &absent), "{query}");
        assert_eq!(hidden.total, absent.total, "{query}");
        for (hidden, absent) in hidden.hits.iter().zip(&absent.hits) {
            assert_eq!((hidden.score, &hidden.matches), (absent.score, &absent.matches), "{query}");
        }
    }
}

#[test]
fn a_name_in_any_spelling_comes_first() {
    let (catalog, index) = few(FEW);
    for query in [
        "order_list",
        "OrderList",
        "order.list",
        "functions.order_list",
        " ORDER-LIST ",
        "what does order_list do with an invoice?",
    ] {
        let found = search(&index, query, 3);
        assert_eq!(names(&catalog, &found)[0], "order_list", "{query}");
        assert!(found.hits[0].named, "{query}");
    }
    assert!(!search(&index, "list order", 1).hits[0].named, "words in another order are no name");
}

#[test]
fn a_tool_whose_first_sentence_is_the_question_comes_before_those_that_have_it_in_passing() {
    // As in large documents: short names, long texts, and neighbours that have every word in theirs.
    let long = "The caller must have access to the repository, and the rate of calls is limited. "
        .repeat(6);
    let text = format!(
        "pulls_merge | write | Merge a pull request. {long} | body: How; pull_number*: Number\n\
         pulls_list | read | List pull requests. {long} | state: open or closed; head: A branch\n\
         commits_list_pull_requests | read | List pull requests associated with a commit. {long} \
         | merge: Of which merge\n\
         pull_request_stacks_unstack | write | Take a pull request out of a stack. After a merge it \
         lists the rest. {long} | pull_request*: Number; merge: Whether\n\
         pull_request_review_update | write | Update pull request review protection. {long} | \
         merge: Who may merge a pull request; list: Whom\n"
    );
    let (catalog, index) = few(&text);
    for (question, wanted, most) in [
        ("merge a pull request", "pulls_merge", 1),
        ("how do I merge pull requests?", "pulls_merge", 1),
        // Another tool has all of this in its name.
        ("list pull requests", "pulls_list", 2),
    ] {
        let found = names(&catalog, &search(&index, question, most));
        assert!(found.iter().any(|name| name == wanted), "{question}: {found:?}");
    }
}

#[test]
fn a_hit_says_which_word_was_found_where_and_how() {
    let (catalog, index) = few(FEW);
    let reason = |query: &str, tool: &str, word: &str| {
        let found = search(&index, query, 10);
        let hit = found.hits.iter().find(|hit| catalog.tools()[hit.place].name == tool);
        let hit = hit.unwrap_or_else(|| panic!("`{query}` does not find {tool}: {found:?}"));
        let one = hit.matches.iter().find(|one| one.word == word).unwrap().clone();
        let fields: Vec<&str> = one.fields.iter().map(|field| field.as_str()).collect();
        (one.how.as_str(), one.found, fields.join(" "))
    };
    let is =
        |how: &'static str, found: &str, fields: &str| (how, found.to_owned(), fields.to_owned());
    assert_eq!(reason("orders", "order_list", "orders"), is("word", "order", "name description"));
    assert_eq!(reason("buys", "order_create", "buys"), is("word", "buy", "arguments"));
    assert_eq!(
        reason("remove it", "order_delete", "remove"),
        is("synonym", "delet", "name description")
    );
    assert_eq!(reason("invo", "invoice_list", "invo"), is("prefix", "invoic", "name description"));
    assert_eq!(
        reason("invoce", "invoice_list", "invoce"),
        is("spelling", "invoic", "name description")
    );
    assert_eq!(
        reason("订单", "dingdan_chaxun", "订单"),
        is("word", "订单", "description arguments")
    );
    assert_eq!(
        reason("删除订单", "order_delete", "删除"),
        is("synonym", "delet", "name description")
    );
    assert_eq!(
        reason("order status", "dingdan_chaxun", "order"),
        is("synonym", "订单", "description arguments")
    );
    assert_eq!(reason("HTTPServer", "http_server_restart", "http"), is("word", "http", "name"));
    assert_eq!(
        reason("httpserver", "http_server_restart", "httpserver"),
        is("word", "httpserver", "name")
    );
    assert_eq!(
        reason("ｏｒｄｅｒ", "order_list", "order"),
        is("word", "order", "name description")
    );
}

#[test]
fn filters_and_limits_leave_the_count_right() {
    let (catalog, index) = few(FEW);
    let found = search(&index, "list", 1);
    assert_eq!((found.hits.len(), found.total), (1, 2), "{:?}", names(&catalog, &found));
    let wanted = |place: usize| catalog.tools()[place].name.starts_with("invoice");
    let query = "list";
    let found = index.search(&Search { query, limit: 5, seen: &|_| true, wanted: &wanted });
    assert_eq!((names(&catalog, &found), found.total), (vec!["invoice_list".to_owned()], 1));
}

#[test]
fn questions_that_ask_for_nothing_find_nothing() {
    let (_, index) = few(FEW);
    let long = "订单 order ".repeat(200);
    for query in ["", " ", "???", "\u{0}", "🙂", "' OR 1=1 --", "\"*\"", "xyzzyplugh", "的了吗"]
    {
        let found = search(&index, query, 10);
        assert_eq!((found.total, found.hits.len()), (0, 0), "{query}");
    }
    assert!(search(&index, &long, 10).total > 0);
    let empty = Index::new(&[]);
    assert_eq!(search(&empty, "order", 10).total, 0);
}

#[test]
fn an_outline_has_the_first_sentence_and_the_arguments() {
    let (catalog, _) =
        few("a | read | Takes a place, e.g. Paris. And more. | place*: Where; days: How many\n\
         b | read | 查询订单。还有更多。 | \n");
    let tool = catalog.get("a").unwrap();
    assert_eq!(tool.lead(), "Takes a place, e.g. Paris.");
    let arguments: Vec<_> = tool.arguments().map(|one| (one.name, one.required)).collect();
    assert_eq!(arguments, [("place", true), ("days", false)]);
    assert_eq!(catalog.get("b").unwrap().lead(), "查询订单。");
    assert!(tool.tokens() > catalog.get("b").unwrap().tokens());
}
