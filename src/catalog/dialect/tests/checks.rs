//! What each provider's published rules say of a tool, as checkers: a definition in, what is wrong with
//! it out. Written from the rules, and from nothing that exports.

use std::collections::BTreeSet;

use regex::Regex;
use serde_json::{Map, Value};

use super::Dialect;

/// Everything that a provider would refuse.
pub(super) fn check(definition: &Value, dialect: Dialect) -> Vec<String> {
    let mut wrong = Vec::new();
    match dialect {
        Dialect::Openai => openai(definition, &mut wrong),
        Dialect::OpenaiStrict => {
            openai(definition, &mut wrong);
            if definition["function"]["strict"] == true {
                strict(&definition["function"]["parameters"], &mut wrong);
            } else if definition["function"]["strict"] != false {
                wrong.push("does not say whether it is strict".to_owned());
            }
        }
        Dialect::Anthropic => anthropic(definition, &mut wrong),
        Dialect::Gemini => gemini(definition, &mut wrong),
        Dialect::Plain => plain(definition, &mut wrong),
    }
    wrong
}

fn only(map: &Value, known: &[&str], wrong: &mut Vec<String>) {
    for key in map.as_object().into_iter().flatten().map(|(key, _)| key) {
        if !known.contains(&key.as_str()) {
            wrong.push(format!("`{key}` is no member here"));
        }
    }
}

fn named(definition: &Value, pattern: &str, wrong: &mut Vec<String>) {
    let name = definition["name"].as_str().unwrap_or_default();
    if !Regex::new(pattern).unwrap().is_match(name) {
        wrong.push(format!("name `{name}`"));
    }
    if !definition["description"].is_string() {
        wrong.push("no description".to_owned());
    }
}

/// Visits every schema inside a JSON Schema, with its pointer.
fn each<'s>(schema: &'s Value, at: &str, visit: &mut dyn FnMut(&'s Map<String, Value>, &str)) {
    let Some(map) = schema.as_object() else { return };
    visit(map, at);
    for (key, value) in map {
        let here = format!("{at}/{key}");
        match (key.as_str(), value) {
            (
                "properties" | "patternProperties" | "$defs" | "dependentSchemas",
                Value::Object(all),
            ) => {
                all.iter().for_each(|(name, inner)| each(inner, &format!("{here}/{name}"), visit));
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(all)) => all
                .iter()
                .enumerate()
                .for_each(|(index, inner)| each(inner, &format!("{here}/{index}"), visit)),
            (
                "items"
                | "additionalProperties"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames"
                | "unevaluatedItems"
                | "unevaluatedProperties",
                inner,
            ) => each(inner, &here, visit),
            _ => {}
        }
    }
}

/// What every host that takes JSON Schema wants.
fn json_schema(schema: &Value, wrong: &mut Vec<String>) {
    if schema["type"] != "object" {
        wrong.push("the root is no object".to_owned());
    }
    for key in ["anyOf", "oneOf", "allOf", "enum", "not", "$ref"] {
        if schema.get(key).is_some() {
            wrong.push(format!("`{key}` at the root"));
        }
    }
    if let Err(error) = jsonschema::draft202012::meta::validate(schema) {
        wrong.push(format!("no JSON Schema: {error}"));
    }
    if let Err(error) = jsonschema::draft202012::options()
        .with_pattern_options(jsonschema::PatternOptions::fancy_regex())
        .build(schema)
    {
        wrong.push(format!("does not compile: {error}"));
    }
    each(schema, "", &mut |map, at| {
        if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
            let target = reference.strip_prefix('#').and_then(|pointer| schema.pointer(pointer));
            if target.is_none() {
                wrong.push(format!("{at}: `{reference}` leads nowhere"));
            }
        }
        if map.get("enum").and_then(Value::as_array).is_some_and(Vec::is_empty) {
            wrong.push(format!("{at}: an empty enum"));
        }
        let types = map.get("type").cloned().unwrap_or_default();
        let is_list =
            types == "array" || types.as_array().is_some_and(|all| all.contains(&"array".into()));
        if is_list && !map.get("items").is_some_and(Value::is_object) {
            wrong.push(format!("{at}: a list without items"));
        }
        let unknown = map.keys().find(|key| key.starts_with("x-") || *key == "nullable");
        if let Some(key) = unknown {
            wrong.push(format!("{at}: `{key}`"));
        }
    });
}

/// Patterns that the provider's engine refuses.
fn python_patterns(schema: &Value, wrong: &mut Vec<String>) {
    let bad =
        Regex::new(r"\\[pPcCGKQEXRNuk]\{|\\[pPcCzGKQEhHRXk]|\(\?<[A-Za-z]|\(\?<[=!][^)]*[*+?{|]")
            .unwrap();
    each(schema, "", &mut |map, at| {
        let pattern = map.get("pattern").and_then(Value::as_str).unwrap_or_default();
        if bad.is_match(pattern) {
            wrong.push(format!("{at}: pattern `{pattern}`"));
        }
    });
}

fn openai(definition: &Value, wrong: &mut Vec<String>) {
    only(definition, &["type", "function"], wrong);
    let function = &definition["function"];
    only(function, &["name", "description", "parameters", "strict"], wrong);
    named(function, "^[a-zA-Z0-9_-]{1,64}$", wrong);
    if function["description"].as_str().is_some_and(|text| text.chars().count() > 1024) {
        wrong.push("a description of more than 1024 characters".to_owned());
    }
    json_schema(&function["parameters"], wrong);
    python_patterns(&function["parameters"], wrong);
}

/// The subset of strict mode, and its limits.
fn strict(schema: &Value, wrong: &mut Vec<String>) {
    let (mut members, mut listed, mut characters) = (0, 0, 0);
    each(schema, "", &mut |map, at| {
        strict_place(map, at, wrong);
        let declared = map.get("properties").and_then(Value::as_object);
        for (name, _) in declared.into_iter().flatten() {
            members += 1;
            characters += name.chars().count();
        }
        let values = map.get("enum").and_then(Value::as_array);
        for value in values.into_iter().flatten().chain(map.get("const")) {
            listed += 1;
            characters += value.as_str().unwrap_or_default().chars().count();
        }
    });
    // Null is listed beside the thousand values where a member can be left out.
    for (count, most) in [(members, 5000), (listed, 2000), (characters, 120_000)] {
        if count > most {
            wrong.push(format!("{count} is more than {most}"));
        }
    }
    let depth = depth(schema, schema, &mut Vec::new());
    if depth > 10 {
        wrong.push(format!("{depth} levels"));
    }
}

fn strict_place(map: &Map<String, Value>, at: &str, wrong: &mut Vec<String>) {
    const KNOWN: [&str; 20] = [
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "anyOf",
        "enum",
        "const",
        "$ref",
        "$defs",
        "description",
        "pattern",
        "format",
        "multipleOf",
        "maximum",
        "exclusiveMaximum",
        "minimum",
        "exclusiveMinimum",
        "minItems",
        "maxItems",
    ];
    for key in map.keys().filter(|key| !KNOWN.contains(&key.as_str())) {
        wrong.push(format!("{at}: `{key}` in strict mode"));
    }
    if map.contains_key("$ref") {
        if map.len() > 1 {
            wrong.push(format!("{at}: something beside `$ref`"));
        }
    } else if !map.contains_key("type") && !map.contains_key("anyOf") {
        wrong.push(format!("{at}: no type"));
    }
    let types = map.get("type").cloned().unwrap_or_default();
    let is_object =
        types == "object" || types.as_array().is_some_and(|all| all.contains(&"object".into()));
    if is_object {
        let declared: BTreeSet<&str> =
            map["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let required: BTreeSet<&str> =
            map["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        if declared != required || map["additionalProperties"] != false {
            wrong.push(format!("{at}: not all members are required, or it is open"));
        }
    }
}

/// Levels of objects and lists, a recursive part once.
fn depth<'s>(root: &'s Value, schema: &'s Value, open: &mut Vec<&'s str>) -> usize {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        if open.contains(&reference) || open.len() > 20 {
            return 0;
        }
        open.push(reference);
        let count = root
            .pointer(reference.trim_start_matches('#'))
            .map_or(0, |target| depth(root, target, open));
        open.pop();
        return count;
    }
    let branches = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    let beside = branches.map(|branch| depth(root, branch, open)).max().unwrap_or(0);
    let members = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let inside: Vec<&Value> = members.map(|(_, inner)| inner).chain(schema.get("items")).collect();
    let below = inside.iter().map(|inner| depth(root, inner, open)).max().unwrap_or(0);
    beside.max(below + usize::from(!inside.is_empty()))
}

fn anthropic(definition: &Value, wrong: &mut Vec<String>) {
    only(definition, &["name", "description", "input_schema"], wrong);
    named(definition, "^[a-zA-Z0-9_-]{1,64}$", wrong);
    let schema = &definition["input_schema"];
    json_schema(schema, wrong);
    python_patterns(schema, wrong);
    let legal = Regex::new("^[a-zA-Z0-9_.-]{1,64}$").unwrap();
    each(schema, "", &mut |map, at| {
        let members = map.get("properties").and_then(Value::as_object);
        for name in members.into_iter().flatten().map(|(name, _)| name) {
            if !legal.is_match(name) {
                wrong.push(format!("{at}: key `{name}`"));
            }
        }
    });
}

fn plain(definition: &Value, wrong: &mut Vec<String>) {
    only(definition, &["type", "function"], wrong);
    let function = &definition["function"];
    only(function, &["name", "description", "parameters"], wrong);
    named(function, "^[a-zA-Z0-9_-]{1,64}$", wrong);
    json_schema(&function["parameters"], wrong);
    let shorthand = Regex::new(r"\\[dDwWsSbBpPu]|\(\?").unwrap();
    each(&function["parameters"], "", &mut |map, at| {
        if map.get("type").is_some_and(|types| !types.is_string()) {
            wrong.push(format!("{at}: type is no single text"));
        }
        let pattern = map.get("pattern").and_then(Value::as_str);
        if pattern.is_some_and(|one| {
            shorthand.is_match(one) || !one.starts_with('^') || !one.ends_with('$')
        }) {
            wrong.push(format!("{at}: pattern {pattern:?}"));
        }
    });
}

fn gemini(definition: &Value, wrong: &mut Vec<String>) {
    only(definition, &["name", "description", "parameters"], wrong);
    named(definition, "^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$", wrong);
    if let Some(schema) = definition.get("parameters") {
        if schema["type"] != "OBJECT" {
            wrong.push("the parameters are no OBJECT".to_owned());
        }
        let mut count = 0;
        google(schema, "", &mut count, wrong);
        if count > 12_000 {
            wrong.push(format!("{count} schemas"));
        }
    }
}

fn google(schema: &Value, at: &str, count: &mut usize, wrong: &mut Vec<String>) {
    *count += 1;
    let Some(map) = schema.as_object() else {
        return wrong.push(format!("{at}: is no object"));
    };
    if let Some(parts) = map.get("anyOf") {
        let parts = parts.as_array().unwrap();
        if map.len() > 1 || parts.len() < 2 {
            wrong.push(format!("{at}: something beside anyOf, or one alternative"));
        }
        for (index, part) in parts.iter().enumerate() {
            google(part, &format!("{at}/anyOf/{index}"), count, wrong);
        }
        return;
    }
    wrong.extend(google_place(map).into_iter().map(|what| format!("{at}: {what}")));
    let legal = Regex::new("^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$").unwrap();
    let members = map.get("properties").and_then(Value::as_object);
    for (key, inner) in members.into_iter().flatten() {
        if !legal.is_match(key) {
            wrong.push(format!("{at}: key `{key}`"));
        }
        google(inner, &format!("{at}/{key}"), count, wrong);
    }
    if let Some(items) = map.get("items") {
        google(items, &format!("{at}/items"), count, wrong);
    }
}

/// What is wrong with one schema of the subset, whatever is inside.
fn google_place(map: &Map<String, Value>) -> Vec<String> {
    const KNOWN: [&str; 16] = [
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "enum",
        "maxItems",
        "minItems",
        "properties",
        "required",
        "minLength",
        "maxLength",
        "pattern",
        "items",
        "minimum",
        "maximum",
    ];
    let mut wrong: Vec<String> =
        map.keys().filter(|key| !KNOWN.contains(&key.as_str())).cloned().collect();
    let mut refuse = |is_wrong: bool, what: &str| wrong.extend(is_wrong.then(|| what.to_owned()));
    let name = map.get("type").and_then(Value::as_str).unwrap_or_default();
    let of = |keywords: &[&str]| keywords.iter().any(|keyword| map.contains_key(*keyword));
    let (is_list, is_object) = (name == "ARRAY", name == "OBJECT");
    let is_number = name == "NUMBER" || name == "INTEGER";
    refuse(!is_list && !is_object && !is_number && name != "STRING" && name != "BOOLEAN", "type");
    refuse(map.get("nullable").is_some_and(|value| *value != true), "nullable");
    refuse(of(&["items"]) != is_list, "items");
    refuse(of(&["minItems", "maxItems"]) && !is_list, "a keyword of lists");
    refuse(
        of(&["minLength", "maxLength", "pattern", "enum"]) && name != "STRING",
        "a keyword of texts",
    );
    refuse(of(&["minimum", "maximum"]) && !is_number, "a keyword of numbers");
    if let Some(values) = map.get("enum") {
        let values = values.as_array().unwrap();
        let texts = values.iter().all(|one| one.as_str().is_some_and(|text| !text.is_empty()));
        refuse(values.is_empty() || !texts, "enum");
    }
    let formats: &[&str] = match name {
        "STRING" => &["date-time", "enum"],
        "INTEGER" => &["int32", "int64"],
        "NUMBER" => &["float", "double"],
        _ => &[],
    };
    let format = map.get("format").and_then(Value::as_str);
    refuse(format.is_some_and(|format| !formats.contains(&format)), "format");
    let pattern = map.get("pattern").and_then(Value::as_str);
    let compiles = |one: &str| regex_syntax::Parser::new().parse(one).is_ok();
    refuse(pattern.is_some_and(|one| !compiles(one)), "pattern");
    let members = map.get("properties").and_then(Value::as_object);
    refuse(
        is_object != members.is_some_and(|members| !members.is_empty()),
        "an OBJECT without members",
    );
    let required = map.get("required").and_then(Value::as_array).into_iter().flatten();
    let known = |name: &Value| members.is_some_and(|all| all.contains_key(name.as_str().unwrap()));
    refuse(!required.into_iter().all(known), "required without a member");
    wrong
}
