//! What a set must look like to be used, and what a reviewer is told when it does not.

use super::*;

fn problems(text: &str) -> Vec<String> {
    let schema = json!({ "type": "object", "required": ["id"], "properties": {
        "id": { "type": "string" },
        "any": {},
    }});
    let tools = [
        tool("orders.get", Risk::Read, schema.clone()),
        tool("orders.delete", Risk::Destructive, schema),
    ];
    match Policies::load(folder(text).path(), &tools) {
        Err(Error::Invalid { problems }) => problems
            .into_iter()
            .map(|problem| format!("{}:{}: {}", problem.file, problem.place, problem.message))
            .collect(),
        other => panic!("{other:?}"),
    }
}

/// The one problem, which must name the place.
fn problem(text: &str, place: &str) -> String {
    let found = problems(text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with(place), "{found:?}");
    found[0].clone()
}

#[test]
fn syntax_error_is_refused_with_its_line() {
    problem(
        &policy("p", "permit (principal, action, resource)\nwhen { context.attended ;"),
        "cedar/a.cedar:4:",
    );
}

#[test]
fn rule_in_another_spelling_is_never_read_as_a_permit() {
    for text in [
        "effect: deny",
        "deny (principal, action, resource);",
        "FORBID (principal, action, resource);",
        "forbid (principal, actions, resource);",
        "forbid permit (principal, action, resource);",
        "@id(\"a\") forbid (principal, action, resource);",
    ] {
        let text = policy("ok", "permit (principal, action, resource);") + &policy("p", text);
        assert!(!problems(&text).is_empty(), "{text}");
    }
}

#[test]
fn policy_that_names_no_known_tool_is_refused() {
    let text = "\n\n".to_owned()
        + &policy(
            "p",
            r#"forbid (principal, action == Switchboard::Action::"orders.delet", resource);"#,
        );
    let message = problem(&text, "cedar/a.cedar:5:");
    assert!(message.contains("orders.delet"), "{message}");
    assert!(message.contains("`p`"), "{message}");
}

#[test]
fn policy_that_names_no_known_source_is_refused() {
    let text =
        policy("p", r#"forbid (principal, action, resource == Switchboard::Source::"odrers");"#);
    let message = problem(&text, "cedar/a.cedar:3:");
    assert!(message.contains("odrers"), "{message}");
}

#[test]
fn type_error_is_refused_with_policy_and_line() {
    let text = policy("first", "permit (principal, action, resource);")
        + &policy("second", "forbid (principal, action, resource)\nwhen { context.input.id > 3 };");
    let found = problems(&text);
    assert!(found.iter().all(|found| found.starts_with("cedar/a.cedar:7:")), "{found:?}");
    assert!(found.iter().all(|found| found.contains("`second`")), "{found:?}");
}

#[test]
fn argument_that_cannot_be_read_is_refused_when_named() {
    for name in ["any", "absent"] {
        let text = policy(
            "p",
            &format!(
                r#"forbid (principal, action == Switchboard::Action::"orders.get", resource) when {{ context.input has {name} && context.input.{name} == "x" }};"#
            ),
        );
        let schema = json!({ "type": "object", "properties": { "any": {} } });
        let tools = [tool("orders.get", Risk::Read, schema)];
        // `has` on what is never there is false for Cedar; the reviewer is told that the policy can
        // never apply.
        match Policies::load(folder(&text).path(), &tools) {
            Err(Error::Invalid { .. }) => {}
            Ok(policies) => assert!(
                policies.warnings().iter().any(|warning| warning.contains("`p`")),
                "{:?}",
                policies.warnings()
            ),
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn unknown_function_of_partial_evaluation_cannot_be_written() {
    let text = policy("p", r#"permit (principal, action, resource) when { unknown("x") };"#);
    assert!(!problems(&text).is_empty());
}

#[test]
fn id_and_owner_are_mandatory() {
    let found = problems("permit (principal, action, resource);");
    assert_eq!(
        found,
        [
            "cedar/a.cedar:1: policy without `@id(\"...\")`: write it above the policy",
            "cedar/a.cedar:1: policy without `@owner(\"...\")`: write it above the policy",
        ]
    );
    problem(
        "@id(\"a\") @owner(\" \")\npermit (principal, action, resource);",
        "cedar/a.cedar:1: policy without `@owner",
    );
}

#[test]
fn id_is_unique_over_all_files() {
    let text = policy("twice", "permit (principal, action, resource);");
    let root = folder(&text);
    std::fs::write(root.path().join("cedar/b.cedar"), &text).unwrap();
    let error = Policies::load(root.path(), &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the policy set is refused: cedar/b.cedar:1: policy `twice` already stands at \
         cedar/a.cedar:1: ids are unique over all files"
    );
}

#[test]
fn template_is_refused() {
    let message = problem(
        &policy("t", "forbid (principal == ?principal, action, resource);"),
        "cedar/a.cedar",
    );
    assert!(message.contains("template"), "{message}");
}

#[test]
fn every_problem_is_reported_at_once() {
    let root = folder("permit (");
    std::fs::write(root.path().join("cedar/b.cedar"), [0xff, 0xfe]).unwrap();
    std::fs::write(root.path().join("cedar/c.cedar"), "permit (principal, action, resource);")
        .unwrap();
    let Err(Error::Invalid { problems }) = Policies::load(root.path(), &[]) else {
        panic!("the set was accepted")
    };
    let files: Vec<&str> = problems.iter().map(|problem| problem.file.as_str()).collect();
    assert_eq!(files[0], "cedar/a.cedar");
    assert!(files.contains(&"cedar/b.cedar") && files.contains(&"cedar/c.cedar"), "{files:?}");
}

#[test]
fn no_policy_denies_every_call_and_says_so() {
    let tool = transfer();
    let root = tempfile::tempdir().unwrap();
    for text in [None, Some(""), Some("// permit (principal, action, resource);\n")] {
        if let Some(text) = text {
            std::fs::create_dir_all(root.path().join("cedar")).unwrap();
            std::fs::write(root.path().join("cedar/a.cedar"), text).unwrap();
        }
        let policies = Policies::load(root.path(), std::slice::from_ref(&tool)).unwrap();
        assert_eq!(policies.warnings().len(), 1);
        assert_eq!(decide(&policies, &tool, r#"{"amount":1}"#), Err(Code::PolicyDenied));
    }
}

#[test]
fn file_that_is_not_read_is_warned_of() {
    let root = folder(&policy("p", "permit (principal, action, resource);"));
    std::fs::write(root.path().join("cedar/deny.cedar.bak"), "").unwrap();
    std::fs::write(root.path().join("cedar/.deny.swp"), "").unwrap();
    std::fs::create_dir(root.path().join("cedar/more.cedar")).unwrap();
    let policies = Policies::load(root.path(), &[transfer()]).unwrap();
    assert_eq!(policies.warnings().len(), 2, "{:?}", policies.warnings());
    assert!(policies.warnings()[0].starts_with("cedar/deny.cedar.bak"));
}

#[test]
fn policy_that_can_never_apply_is_warned_of() {
    let text = policy(
        "never",
        r#"permit (principal, action == Switchboard::Action::"bank.transfer", resource == Switchboard::Source::"bank") when { false };"#,
    );
    let policies = load(&text, &[transfer()]);
    assert_eq!(policies.warnings().len(), 1, "{:?}", policies.warnings());
    assert!(policies.warnings()[0].starts_with("cedar/a.cedar:1:"));
}

#[test]
fn version_follows_the_files_and_the_catalog() {
    let text = policy("p", "permit (principal, action, resource);");
    let one = load(&text, &[transfer()]);
    assert_eq!(one.version(), load(&text, &[transfer()]).version());
    assert_ne!(one.version(), load(&text, &[]).version());
    assert_ne!(one.version(), load(&(text + "// more\n"), &[transfer()]).version());
}

#[test]
fn unreadable_folder_is_an_error() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("cedar"), "a file").unwrap();
    let error = Policies::load(root.path(), &[]).unwrap_err();
    assert!(matches!(error, Error::Read { .. }), "{error}");
}

/// A tool made of an operation of a document.
fn made(name: &str, operation: &str, risk: Risk) -> Arc<Tool> {
    let plain = tool(name, risk, json!({ "type": "object", "properties": {} }));
    Arc::new(Tool { operation: Some(operation.into()), ..Tool::clone(&plain) })
}

#[test]
fn an_operation_is_named_by_its_own_id_however_its_tool_is_called() {
    let long = "orgs/custom-properties-for-repos-create-or-update-organization-definitions";
    let tools = [
        made("orgs__custom-properties-for-repos-create_12345678", long, Risk::Write),
        made("repos__get", "repos/get", Risk::Read),
    ];
    let group = |id: &str| format!("Switchboard::Action::\"operation:{id}\"");
    let set = policy("all", "permit (principal, action, resource);")
        + &policy("not", &format!("forbid (principal, action in {}, resource);", group(long)));
    let policies = load(&set, &tools);
    assert_eq!(decide(&policies, &tools[0], "{}"), Err(Code::PolicyDenied));
    assert_eq!(decide(&policies, &tools[1], "{}").unwrap(), ["all"]);
    assert!(!policies.visible(&caller(), &tools[0]));
    let typo =
        policy("typo", &format!("forbid (principal, action in {}, resource);", group("repos/gte")));
    assert!(Policies::load(folder(&typo).path(), &tools).is_err(), "a group that no tool is in");
}

#[test]
fn a_set_that_was_checked_is_remembered_until_a_letter_of_it_changes() {
    let home = tempfile::tempdir().unwrap();
    let cache = crate::catalog::Cache::open(&home.path().join("cache")).unwrap();
    let tools = [made("repos__get", "repos/get", Risk::Read)];
    let good = policy("one", "permit (principal, action, resource) when { context.attended };")
        + &policy(
            "odd",
            "permit (principal, action in Switchboard::Action::\"risk:read\", resource) when { \"a\" == \"b\" };",
        );
    let root = folder(&good);
    let first = Policies::load_cached(root.path(), &tools, Some(&cache)).unwrap();
    let again = Policies::load_cached(root.path(), &tools, Some(&cache)).unwrap();
    assert_eq!(first.version(), again.version());
    assert_eq!(first.warnings(), again.warnings(), "what the check had to say is said again");
    let bad = folder(&good.replace("context.attended", "context.attendd"));
    assert!(Policies::load_cached(bad.path(), &tools, Some(&cache)).is_err());
    assert!(Policies::load_cached(bad.path(), &tools, Some(&cache)).is_err(), "nor remembered");
    let other = [tool("repos__get", Risk::Write, json!({ "type": "object", "properties": {} }))];
    let changed = Policies::load_cached(root.path(), &other, Some(&cache)).unwrap();
    assert_ne!(changed.version(), first.version(), "another catalog is another set");
}
