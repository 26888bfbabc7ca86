//! What is worked out once for a tool and a dialect: it is what it would be anew, and it is bounded.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Dialect, restore, with};
use crate::catalog::dialect::{Exports, export};
use crate::catalog::{Tool, exported_keys};

fn odd() -> Tool {
    with(json!({
        "filter[name]": {"type": "string"}, "page": {"type": "integer"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "note": {"type": ["string", "null"]},
    }))
}

#[test]
fn a_call_comes_back_the_same_however_many_came_before() {
    let tool = odd();
    for dialect in Dialect::ALL {
        let key = exported_keys(&tool, dialect).get("filter[name]").cloned();
        let mut written = json!({"page": 1, "labels": "{\"a\":\"b\"}"});
        written[key.unwrap_or_else(|| "filter[name]".to_owned())] = json!("x");
        let anew = |tool: &Tool| restore(&tool.clone(), dialect, written.clone());
        let first = anew(&tool);
        assert_eq!(first["filter[name]"], "x", "{dialect}");
        for _ in 0..2 {
            assert_eq!(restore(&tool, dialect, written.clone()), first, "{dialect}");
        }
    }
}

#[test]
fn a_copy_with_another_schema_goes_by_that_one() {
    let tool = odd();
    let size = Value::from("{\"x\":1}");
    assert_eq!(exported_keys(&tool, Dialect::Gemini).len(), 1);
    let other = Tool {
        input_schema: with(json!({"size": {"type": "object"}})).input_schema,
        ..tool.clone()
    };
    assert!(exported_keys(&other, Dialect::Gemini).is_empty());
    assert_eq!(
        restore(&other, Dialect::Gemini, json!({ "size": size })),
        json!({"size": {"x": 1}})
    );
    assert_eq!(exported_keys(&tool, Dialect::Gemini).len(), 1);
}

#[test]
fn an_export_is_made_once_and_is_the_one_that_would_be_made_anew() {
    let (exports, tool) = (Exports::default(), odd());
    for dialect in Dialect::ALL {
        let first = exports.of(&tool, dialect);
        assert!(Arc::ptr_eq(&first, &exports.of(&tool, dialect)), "{dialect}");
        let anew = export(&tool, dialect);
        assert_eq!(first.definition, anew.definition.to_string());
        assert_eq!((&first.name, &first.losses), (&anew.name, &anew.losses));
    }
    let other = Tool { description: "Does more.".to_owned(), digest: "another".to_owned(), ..tool };
    assert!(exports.of(&other, Dialect::Gemini).definition.contains("Does more."));
}

#[test]
fn exports_that_are_kept_are_bounded_together() {
    let bound = 20_000;
    let exports = Exports::within(bound);
    for number in 0..200 {
        let tool = Tool { digest: format!("tool {number}"), ..odd() };
        for dialect in Dialect::ALL {
            assert!(exports.of(&tool, dialect).definition.contains("filter"));
        }
        assert!(exports.kept() <= bound);
    }
    assert!(exports.kept() > 0);
}
