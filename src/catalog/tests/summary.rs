//! Expressions of short views.

use serde_json::json;

use crate::catalog::{Step, SummaryField};

#[test]
fn an_expression_selects_places() {
    let value = json!({"orders": [{"id": 1, "a/b": {"x": true}}, {"id": 2}, {"id": 3}]});
    let select = |text: &str| SummaryField::parse(text).unwrap().select(&value).len();
    for (text, places) in [
        ("$", 1),
        ("$.orders[*].id", 3),
        ("$.orders[?@.id > 1].id", 2),
        ("$.orders[?@['id'] == 1 || @.id == 3]", 2),
        ("$.orders[-1:]", 1),
        ("$..id", 3),
        ("$.orders[*]['id', 'a/b']", 4),
        ("$.absent", 0),
    ] {
        assert_eq!(select(text), places, "{text}");
    }
    let field = SummaryField::parse("$..x").unwrap();
    let way = [Step::Name("orders"), Step::Index(0), Step::Name("a/b"), Step::Name("x")];
    assert_eq!(field.select(&value), [way]);
}

#[test]
fn a_wrong_expression_is_refused_with_its_place() {
    for (text, part) in [
        ("orders[*]", "at character 1"),
        ("$.orders[", "`$.orders[` is no JSONPath"),
        ("$.orders[?@.id ==]", "at character"),
        ("", "at character 1"),
        ("$.a[?@..b]", "at character 7: a filter looks at its own item only"),
        ("$.a[?@.b == $.c]", "at character 13"),
        ("$.a[?@['$'] == '..' && $.x]", "at character 24"),
    ] {
        let why = SummaryField::parse(text).unwrap_err();
        assert!(why.contains(part), "{text}: {why}");
    }
    for text in ["$..a[?@.b == '$..']", "$.a[?@.b].c..d", "$['?']..x", "$.a[?@['x]'] == 1][0]"] {
        assert!(SummaryField::parse(text).is_ok(), "{text}");
    }
    assert!(SummaryField::parse(&format!("$.{}", "a".repeat(600))).unwrap_err().contains("602"));
}
