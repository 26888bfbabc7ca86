//! The linter's rules, each on a tool that breaks it and on one that does not.

use std::collections::BTreeSet;

use super::policies::Policies;
use crate::catalog::{Finding, RULES, lint};

/// A manifest that no rule but `output` has anything to say to.
fn manifest(edits: &[(&str, &str)]) -> String {
    let mut text = "name = 'orders.count'\ndescription = 'Counts the orders of one customer; choose it to learn how many there are'\nrisk = 'read'\nprofile = 'plain'\n[input_schema]\ntype = 'object'\nrequired = ['customer']\nadditionalProperties = false\nproperties.customer = { type = 'string', maxLength = 9, description = 'The id of the customer, such as C-17' }\n#more\n[command]\nargv = ['true']\n".to_owned();
    for (old, new) in edits {
        assert!(text.contains(old), "{old}");
        text = text.replacen(old, new, 1);
    }
    text
}

fn findings(files: &[(&str, String)]) -> Vec<Finding> {
    let policies = Policies::new();
    policies.write("sandbox/plain.toml", "image = 'shell'\n");
    for (name, text) in files {
        policies.write(name, text);
    }
    let catalog = policies.load();
    assert!(!catalog.tools().is_empty(), "{:?}", catalog.problems());
    lint(&catalog)
}

fn rules(edits: &[(&str, &str)]) -> BTreeSet<&'static str> {
    let found = findings(&[("tools/orders.count.toml", manifest(edits))]);
    found.into_iter().map(|one| one.rule).filter(|rule| *rule != "output").collect()
}

fn more(line: &str) -> BTreeSet<&'static str> {
    rules(&[("#more", line)])
}

#[test]
fn every_rule_has_a_mend_and_a_source_and_their_names_are_sorted() {
    assert!(RULES.windows(2).all(|two| two[0].id < two[1].id));
    for rule in RULES {
        assert!(rule.source.starts_with("https://") && !rule.source.contains(' '), "{rule:?}");
        assert!(!rule.mend.is_empty() && !rule.about.ends_with('.'), "{rule:?}");
    }
}

#[test]
fn a_tool_that_is_well_described_has_nothing_to_mend() {
    assert_eq!(rules(&[]), BTreeSet::new());
}

#[test]
fn names_and_risks_that_contradict_each_other_are_found() {
    assert_eq!(rules(&[("orders.count", "orders.delete")]), ["verb"].into());
    assert_eq!(rules(&[("orders.count", "createOrder")]), ["verb"].into());
    assert_eq!(rules(&[("orders.count", "get-delete-status")]), BTreeSet::new());
    assert_eq!(
        rules(&[("orders.count", "orders.list"), ("'read'", "'destructive'")]),
        ["verb"].into()
    );
    assert_eq!(rules(&[("orders.count", "orders.data")]), ["name"].into());
    assert_eq!(rules(&[("orders.count", "orderApi2")]), ["name"].into());
}

#[test]
fn arguments_without_bounds_units_or_meaning_are_found() {
    assert_eq!(
        more("properties.days = { type = 'integer', description = 'How long' }"),
        ["bounds", "unit"].into()
    );
    assert_eq!(
        more("properties.state = { enum = ['a', 'b', 'c'], description = 'State of the order' }"),
        ["enum"].into()
    );
    assert_eq!(
        more("properties.state = { enum = [1, 2], description = 'State: 1 is open, 2 is closed' }"),
        BTreeSet::new()
    );
    assert_eq!(
        more(
            "properties.part = { type = 'string', pattern = '^P-[0-9]+$', description = 'The part' }"
        ),
        ["example"].into()
    );
    assert_eq!(
        more(
            "properties.Customer_ = { type = 'string', maxLength = 3, description = 'The customer too' }"
        ),
        ["confusable"].into()
    );
}

#[test]
fn objects_that_must_be_given_inside_each_other_are_found() {
    let object = |inner: &str| {
        format!(
            "{{ type = 'object', description = 'Part of it', required = ['x'], properties.x = {inner} }}"
        )
    };
    let text = "{ type = 'string', maxLength = 3, description = 'What' }";
    let deep = object(&object(&object(text)));
    let edits = [("required = ['customer']", "required = ['customer', 'deep']")];
    let line = format!("properties.deep = {deep}");
    let with = |more: &str| rules(&[edits[0], ("#more", more)]);
    assert_eq!(with(&line), ["depth"].into());
    assert_eq!(with(&format!("properties.deep = {}", object(text))), BTreeSet::new());
}

#[test]
fn long_descriptions_and_large_schemas_are_found() {
    let long = "and more words ".repeat(100);
    assert_eq!(rules(&[("there are", &long)]), ["length"].into());
    let large = format!(
        "properties.note = {{ type = 'string', maxLength = 3, description = '{}' }}",
        "words ".repeat(4000)
    );
    assert_eq!(more(&large), ["size"].into());
}

#[test]
fn twins_are_found_among_thousands_without_comparing_each_with_each() {
    let mut paths = String::new();
    for number in 0..3000 {
        let text = match number % 3 {
            // A thousand the same, a thousand nearly the same, a thousand of their own.
            0 => "Gives back one thing of the collection by its id".to_owned(),
            1 => format!(
                "Gives a long list of the many different things of kind w{} that are there now and here",
                number % 2
            ),
            _ => format!("Number{number} does alpha{number} beta{number} gamma{number}"),
        };
        paths.push_str(&format!(
            "  /p{number}: {{get: {{operationId: get-p{number}, summary: {text}}}}}\n"
        ));
    }
    let document = format!(
        "openapi: 3.0.3\ninfo: {{title: T, version: '1'}}\nservers: [{{url: 'https://a.example'}}]\npaths:\n{paths}"
    );
    let found = findings(&[
        ("openapi/d.yaml", document),
        ("openapi/s.toml", "document = 'openapi/d.yaml'\nprofile = 'plain'\n".to_owned()),
    ]);
    let alike: Vec<&Finding> = found.iter().filter(|one| one.rule == "alike").collect();
    assert_eq!(alike.len(), 2000);
    let place = &found.iter().find(|one| one.tool == "get-p7").unwrap().operation;
    assert_eq!(place, "/paths/~1p7/get");
}
