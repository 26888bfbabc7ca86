//! The JSON Schema is what the code writes, no more and no less.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::made;
use crate::evidence::confidence::Formula;
use crate::evidence::derive::How;
use crate::evidence::read::Type;
use crate::evidence::{Combine, Operator, StepKind, Trace, schema, schema_text};

fn validator() -> jsonschema::Validator {
    jsonschema::draft202012::new(&schema()).unwrap()
}

#[test]
fn traces_are_of_the_schema() {
    let validator = validator();
    for (name, trace) in made::all() {
        let json = serde_json::to_value(&trace).unwrap();
        let wrong: Vec<String> = validator.iter_errors(&json).map(|one| one.to_string()).collect();
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
        let mut more = json.clone();
        more["steps"][0]["note"] = json!("x");
        assert!(!validator.is_valid(&more));
        assert!(serde_json::from_value::<Trace>(more).is_err());
    }
}

/// All names of members that a schema allows.
fn allowed(json: &Json, found: &mut BTreeSet<String>) {
    if let Some(all) = json.get("properties").and_then(Json::as_object) {
        found.extend(all.keys().cloned());
    }
    match json {
        Json::Object(all) => all.values().for_each(|one| allowed(one, found)),
        Json::Array(all) => all.iter().for_each(|one| allowed(one, found)),
        _ => {}
    }
}

fn named(json: &Json, found: &mut BTreeSet<String>) {
    match json {
        Json::Object(all) => {
            for (name, one) in all {
                found.insert(name.clone());
                if name != "inputs" {
                    named(one, found);
                }
            }
        }
        Json::Array(all) => all.iter().for_each(|one| named(one, found)),
        _ => {}
    }
}

#[test]
fn the_schema_names_every_member_that_is_written() {
    let mut in_schema = BTreeSet::new();
    allowed(&schema(), &mut in_schema);
    let mut written = BTreeSet::new();
    for (_, trace) in made::all() {
        named(&serde_json::to_value(trace).unwrap(), &mut written);
    }
    // Members that no trace of these tests has, but the types have.
    let rare = [
        "currency",
        "date",
        "instant",
        "members",
        "from",
        "to",
        "number",
        "text",
        "missing",
        "unsupported",
        "operator",
        "valid_to",
    ];
    let unwritten: Vec<&String> =
        in_schema.difference(&written).filter(|name| !rare.contains(&name.as_str())).collect();
    assert!(unwritten.is_empty(), "the code never writes {unwritten:?}");
    let unknown: Vec<&String> = written.difference(&in_schema).collect();
    assert!(unknown.is_empty(), "the schema lacks {unknown:?}");
}

#[test]
fn the_words_of_the_schema_are_those_of_the_code() {
    let schema = schema();
    let words = |pointer: &str| -> BTreeSet<String> {
        let all = schema.pointer(pointer).unwrap().as_array().unwrap();
        all.iter().map(|one| one.as_str().unwrap().to_owned()).collect()
    };
    let spelled = |all: Vec<Json>| -> BTreeSet<String> {
        all.iter().map(|one| one.as_str().unwrap().to_owned()).collect()
    };
    let of = |all: &[&dyn erased::Spell]| spelled(all.iter().map(|one| one.spell()).collect());
    let operators: Vec<Json> = Operator::ALL.iter().map(|one| json!(one)).collect();
    assert_eq!(words("/$defs/operator/enum"), spelled(operators));
    let hows: Vec<Json> = How::ALL.iter().map(|one| json!(one)).collect();
    assert_eq!(words("/$defs/how/enum"), spelled(hows));
    assert_eq!(words("/$defs/combine/enum"), of(&[&Combine::All, &Combine::Any, &Combine::State]));
    assert_eq!(
        words("/$defs/step/properties/type/enum"),
        of(&[
            &StepKind::FactRetrieval,
            &StepKind::NumericalComparison,
            &StepKind::LogicalInference,
            &StepKind::ToolResult
        ])
    );
    assert_eq!(
        words("/$defs/confidence/properties/formula/enum"),
        of(&[
            &Formula::Retrieval,
            &Formula::Tool,
            &Formula::Comparison,
            &Formula::Combination,
            &Formula::Statement,
            &Formula::Answer
        ])
    );
    assert_eq!(
        words("/$defs/kind/enum"),
        of(&[
            &Type::Number,
            &Type::Quantity,
            &Type::Money,
            &Type::Percent,
            &Type::Date,
            &Type::Instant,
            &Type::Bool,
            &Type::Text,
            &Type::Set,
            &Type::Range
        ])
    );
    assert!(schema_text().ends_with("}\n"));
}

/// Anything that is written as one word.
mod erased {
    use serde_json::{Value as Json, json};

    pub(super) trait Spell {
        fn spell(&self) -> Json;
    }

    impl<T: serde::Serialize> Spell for T {
        fn spell(&self) -> Json {
            json!(self)
        }
    }
}
