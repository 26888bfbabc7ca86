//! What a refused caller is told.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{check, kinds, message, one, tool, violations};
use crate::call::{Code, Dialect};
use crate::catalog::exported_keys;
use crate::schema::Schemas;

#[test]
fn one_line_says_what_was_wanted_and_what_came() {
    let integer = || json!({"type": "integer", "minimum": 1, "maximum": 9});
    for (schema, given, expected) in [
        (integer(), r#""ten""#, "`/v` must be an integer, but is the string `ten`"),
        (integer(), "0", "`/v` must be at least 1, but is the number `0`"),
        (integer(), "10", "`/v` must be at most 9, but is the number `10`"),
        (
            json!({"enum": ["open", "closed"]}),
            r#""opne""#,
            "`/v` must be one of `open`, `closed`, but is the string `opne`; did you mean `open`",
        ),
        (
            json!({"type": "string", "maxLength": 2}),
            r#""abc""#,
            "`/v` must have at most 2 characters, but has 3 characters",
        ),
        (
            json!({"type": "string", "pattern": "^a+$"}),
            r#""b""#,
            "`/v` must match the pattern `^a+$`, but is the string `b`",
        ),
        (
            json!({"type": "string", "format": "date"}),
            r#""31.1.2026""#,
            "`/v` must be a `date` such as `2026-01-31`, but is the string `31.1.2026`",
        ),
        (
            json!({"type": "array", "maxItems": 1}),
            "[1,2]",
            "`/v` must have at most 1 items, but has 2 items",
        ),
        (
            json!({"type": "integer", "multipleOf": 5}),
            "7",
            "`/v` must be a multiple of 5, but is the number `7`",
        ),
        (json!({"const": "x"}), r#""y""#, "`/v` must be `x`, but is the string `y`"),
    ] {
        assert_eq!(message(one(schema), &format!(r#"{{"v":{given}}}"#)), expected);
    }
}

#[test]
fn a_property_may_be_called_as_a_keyword_is() {
    for name in ["default", "const", "enum", "example", "examples", "pattern"] {
        let whole = json!({"type": "integer", "format": "int32"});
        let schema = json!({"type": "object", "properties": {name: whole}});
        let given = format!(r#"{{"v":{{"{name}":2147483648}}}}"#);
        let said = message(one(schema), &given);
        assert!(said.contains("must be at most 2147483647"), "{name}: {said}");
    }
}

#[test]
fn integer_formats_are_ranges_unless_the_schema_says_otherwise() {
    let format = |name: &str| json!({"type": "integer", "format": name});
    for (schema, given, expected) in [
        (format("int32"), "2147483648", "must be at most 2147483647"),
        (format("int32"), "-2147483649", "must be at least -2147483648"),
        (format("int64"), "9223372036854775808", "must be at most 9223372036854775807"),
        (json!({"type": "integer", "format": "int32", "minimum": 0}), "3e9", "at most 2147483647"),
    ] {
        let said = message(one(schema), &format!(r#"{{"v":{given}}}"#));
        assert!(said.contains(expected), "{said}");
    }
    for (schema, given) in [
        (format("int32"), "2147483647"),
        (format("int64"), "-9223372036854775808"),
        (format("int128"), "9223372036854775808"),
        (json!({"type": "integer", "format": "int32", "maximum": 4294967295_u32}), "4294967295"),
        (json!({"type": "integer", "format": "int32", "minimum": 3000000000_u32}), "3000000001"),
        (json!({"type": "integer", "format": "int32", "default": 3000000000_u32}), "3000000000"),
        (json!({"format": "int32", "enum": [3000000000_u32]}), "3000000000"),
        (json!({"type": "string", "format": "int64"}), r#""9223372036854775808""#),
    ] {
        let checked = check(one(schema.clone()), &format!(r#"{{"v":{given}}}"#));
        assert!(checked.is_ok(), "{schema} {given}");
    }
}

#[test]
fn names_are_compared_with_what_was_given() {
    let schema = || {
        json!({"type": "object", "required": ["customer_id"], "additionalProperties": false,
            "properties": {"customer_id": {"type": "integer", "description": "number of the customer"},
                "limit": {"type": "integer"}}})
    };
    let error = check(schema(), r#"{"custmer_id":1}"#).unwrap_err();
    let found = violations(&error);
    let texts: Vec<&str> = found.iter().map(|one| one.message.as_str()).collect();
    assert!(
        texts.contains(
            &"`/custmer_id` is not a property of this tool's input; did you mean `customer_id`"
        ),
        "{texts:?}"
    );
    assert!(
        texts.contains(
            &"`/customer_id` is missing: an integer (number of the customer); you gave `custmer_id`"
        ),
        "{texts:?}"
    );
    assert!(error.failure().message.ends_with("(and 1 more place)"));
    let unlike = message(schema(), r#"{"customer_id":1,"zzz":1}"#);
    assert!(unlike.ends_with("the known ones are `customer_id`, `limit`"), "{unlike}");
}

#[test]
fn alternatives_are_collapsed_to_the_nearest() {
    let shapes = json!({"oneOf": [
        {"type": "object", "required": ["kind", "radius"],
            "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}}},
        {"type": "object", "required": ["kind", "side"],
            "properties": {"kind": {"const": "square"}, "side": {"type": "number"}}},
        {"type": "string"},
    ]});
    let error = check(one(shapes.clone()), r#"{"v":{"kind":"square","side":"wide"}}"#).unwrap_err();
    let found = violations(&error);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].pointer, "/v/side");
    assert_eq!(found[0].message, "`/v/side` must be a number, but is the string `wide`");
    let error = check(one(shapes), r#"{"v":true}"#).unwrap_err();
    let found = violations(&error);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].message, "`/v` must be an object or a string, but is `true`");
}

#[test]
fn alternatives_that_demand_other_members_are_all_named() {
    let text = || json!({"type": "string"});
    let by = |keyword: &str, lists: &[&[&str]]| {
        let branches: Vec<Value> = lists.iter().map(|list| json!({"required": list})).collect();
        json!({"type": "object", "additionalProperties": false, keyword: branches,
            "properties": {"sku": text(), "ean": text(), "shop": text(), "shelf": text()}})
    };
    let cases = [
        (by("anyOf", &[&["sku"], &["ean"]]), "must have `sku` or `ean`"),
        (by("oneOf", &[&["sku"], &["ean"]]), "must have `sku` or `ean`, and only one of them"),
        (by("anyOf", &[&["shop", "shelf"], &["ean"]]), "must have `shop` and `shelf`, or `ean`"),
    ];
    for (schema, wanted) in cases {
        let error = check(schema.clone(), "{}").unwrap_err();
        let found = violations(&error);
        assert_eq!((found.len(), found[0].pointer.as_str()), (1, ""));
        assert_eq!(found[0].message, format!("the value as a whole {wanted}"));
        assert_eq!(found[0].kind, "required");
        assert!(found[0].expected.to_string().contains("required"), "{}", found[0].expected);
        let inner = check(one(schema), r#"{"v":{}}"#).unwrap_err();
        assert_eq!(violations(&inner)[0].message, format!("`/v` {wanted}"));
    }
    // What is given already need not be named.
    let halfway = by("anyOf", &[&["shop", "shelf"], &["ean", "shop"]]);
    let said = message(halfway, r#"{"shop":"a"}"#);
    assert_eq!(said, "the value as a whole must have `shelf` or `ean`");
    let both = by("oneOf", &[&["sku"], &["ean"]]);
    let said = message(both, r#"{"sku":"a","ean":"b"}"#);
    assert!(said.ends_with("but fits several: give only one of `sku`, `ean`"), "{said}");
}

#[test]
fn an_alternative_without_its_tag_is_named_with_it() {
    let shape = |kind: &str, size: &str| {
        json!({"type": "object", "required": ["kind", size],
            "properties": {"kind": {"const": kind}, size: {"type": "number"}}})
    };
    let shapes = json!({"oneOf": [shape("circle", "radius"), shape("square", "side")]});
    let said = message(one(shapes.clone()), r#"{"v":{}}"#);
    let wanted = "`/v` must have `kind` (`circle`) and `radius`, or `kind` (`square`) and `side`";
    assert_eq!(said, wanted);
    let said = message(one(shapes), r#"{"v":{"kind":"square"}}"#);
    assert_eq!(said, "`/v/side` is missing: a number", "the tag says which one is meant");
}

#[test]
fn healed_places_are_not_reported() {
    let schema = json!({"type": "object", "properties": {
        "limit": {"type": "integer"}, "status": {"enum": ["open", "closed"]}}});
    let error = check(schema, r#"{"limit":"5","status":"bogus"}"#).unwrap_err();
    assert_eq!(kinds(&error), ["enum"]);
    let details = error.failure().details;
    assert_eq!(details["repairs"][0]["pointer"], "/limit");
}

#[test]
fn secrets_in_alternatives_stay_hidden() {
    let secret = json!({"anyOf": [{"type": "string", "format": "password", "maxLength": 3},
        {"$ref": "#/$defs/pin"}]});
    let mut schema = one(secret);
    schema["$defs"] = json!({"pin": {"type": "integer", "writeOnly": true, "minimum": 0}});
    for given in [r#""hunter2""#, "-48151623"] {
        let failure = check(schema.clone(), &format!(r#"{{"v":{given}}}"#)).unwrap_err().failure();
        let text = format!("{failure:?}");
        assert!(!text.contains("hunter2") && !text.contains("48151623"), "{text}");
    }
}

#[test]
fn long_names_are_shortened() {
    let name = "k".repeat(500_000);
    let schema = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    let failure = check(schema, &format!(r#"{{"{name}":true}}"#)).unwrap_err().failure();
    assert!(failure.details.to_string().len() < 4 << 10);
    let failure = check(json!({"type": "object"}), &format!(r#"{{"{name}":01}}"#)).unwrap_err();
    assert!(failure.failure().details.to_string().len() < 4 << 10);
}

#[test]
fn violations_are_bounded() {
    let schema = one(json!({"type": "array", "items": {"type": "boolean"}}));
    let items = vec!["7"; 40_000].join(",");
    let started = Instant::now();
    let failure = check(schema.clone(), &format!(r#"{{"v":[{items}]}}"#)).unwrap_err().failure();
    assert_eq!(failure.code, Code::SchemaValidationError);
    assert_eq!(failure.details["violations"].as_array().map(Vec::len), Some(20));
    assert!(failure.details.to_string().len() < 16 << 10);
    assert!(started.elapsed() < Duration::from_secs(5));
    let items = vec!["7"; 400_000].join(",");
    let many = check(schema, &format!(r#"{{"v":[{items}]}}"#)).unwrap_err();
    assert_eq!(violations(&many)[0].pointer, "/v/0");
    let long = "x".repeat(500_000);
    let schema = one(json!({"enum": vec![long.clone(); 1]}));
    let failure = check(schema, &format!(r#"{{"v":"y{long}"}}"#)).unwrap_err().failure();
    assert!(failure.details.to_string().len() < 4 << 10);
}

fn compile(schema: Value) -> Result<(), String> {
    let (_, problems) = Schemas::compile(&[Arc::new(tool(schema))]);
    problems.into_iter().next().map_or(Ok(()), |(name, why)| {
        assert_eq!(name, "probe");
        Err(why)
    })
}

#[test]
fn an_unusable_schema_is_reported_with_its_place() {
    for (schema, place) in [
        (one(json!({"type": "strin"})), "/properties/v"),
        (one(json!({"type": "string", "pattern": "("})), "/properties/v/pattern"),
        (one(json!({"$ref": "https://example.com/a.json"})), "example.com"),
        (one(json!({"$ref": "#/$defs/none"})), "none"),
    ] {
        let why = compile(schema).unwrap_err();
        assert!(why.contains(place), "{why}");
    }
    let mut deep = json!({});
    for _ in 0..120 {
        deep = json!({"not": {"not": deep}});
    }
    assert!(compile(one(deep)).unwrap_err().contains("nested"));
}

#[test]
fn patterns_cost_little_whatever_they_are() {
    let long = format!("{}!", "a".repeat(40));
    let huge = "a".repeat(500_000);
    for (pattern, good, bad) in [
        ("^(?!admin).+$", "root", "admin1"),
        ("^(a+)+$", "aaa", long.as_str()),
        (r"^(\w)\1$", "aa", "ab"),
        (r"^(?=(a+)+$)(?!b).*$", "aaa", long.as_str()),
        (r"^(?=(a*)*c)", "aac", huge.as_str()),
    ] {
        let tool = Arc::new(tool(one(json!({"type": "string", "pattern": pattern}))));
        let (schemas, problems) = Schemas::compile(&[Arc::clone(&tool)]);
        assert_eq!(problems, [], "{pattern}");
        let started = Instant::now();
        assert!(schemas.check_text(&tool, &json!({"v": good}).to_string()).is_ok(), "{pattern}");
        let error = schemas.check_text(&tool, &json!({"v": bad}).to_string()).unwrap_err();
        assert_eq!(kinds(&error), ["pattern"]);
        assert!(error.failure().message.contains("must match the pattern"), "{error}");
        // In a debug build on a busy machine; the bar itself is a tenth of this.
        assert!(started.elapsed() < Duration::from_secs(1), "{pattern} {:?}", started.elapsed());
    }
}

#[test]
fn output_is_checked_against_its_own_schema() {
    let mut tool = tool(json!({"type": "object"}));
    tool.output_schema = Some(json!({"type": "object", "required": ["n"]}));
    let tool = Arc::new(tool);
    let (schemas, _) = Schemas::compile(&[Arc::clone(&tool)]);
    assert_eq!(schemas.check_output(&tool, &json!({"n": 1})), Ok(()));
    let found = schemas.check_output(&tool, &json!({"m": 1})).unwrap_err();
    assert_eq!(found[0].pointer, "/n");
}

#[test]
fn a_model_is_told_of_arguments_under_the_names_that_it_knows() {
    let tool = tool(json!({
        "type": "object", "required": ["filter[name]"], "additionalProperties": false,
        "properties": {
            "filter[name]": {"type": "string"},
            "page[size]": {"type": "integer"},
            "sort": {"enum": ["page[size]", "name"]},
        },
    }));
    let (schemas, _) = Schemas::compile(&[Arc::new(tool.clone())]);
    let told = |dialect, given: &str| {
        let error = schemas.check_in(dialect, &tool, given).unwrap_err();
        violations(&error).into_iter().map(|one| (one.pointer, one.message)).collect::<Vec<_>>()
    };
    let keys = exported_keys(&tool, Dialect::Anthropic);
    let (name, size) = (&keys["filter[name]"], &keys["page[size]"]);
    let given = format!(r#"{{"{size}": "many", "sort": "x"}}"#);
    let seen = told(Some(Dialect::Anthropic), &given);
    let places: Vec<&str> = seen.iter().map(|(pointer, _)| pointer.as_str()).collect();
    for key in [name, size] {
        assert!(places.contains(&format!("/{key}").as_str()), "{places:?}");
        assert!(seen.iter().any(|(_, message)| message.contains(&format!("`/{key}`"))), "{seen:?}");
    }
    // A value that is spelled like an argument stays what it is.
    assert!(seen.iter().any(|(_, message)| message.contains("`page[size]`")), "{seen:?}");
    assert!(seen.iter().all(|(_, message)| !message.contains("filter[name]")), "{seen:?}");
    let own = told(None, r#"{"page[size]": "many"}"#);
    assert!(own.iter().any(|(pointer, _)| pointer == "/filter[name]"), "{own:?}");
}
