//! Policies as a reviewer writes them, against tools as a catalog makes them.

mod load;
mod memory;
mod reason;
mod session;
mod shape;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::admission::Admitted;
use crate::call::{Call, Code, File};
use crate::catalog::{
    Command, EgressRule, Limits, Pool, Profile, Repair, Resolved, Risk, Runtime, Seccomp, Stdin,
    Target, Tier,
};
use crate::schema::Arguments;

/// The policies that the repository ships.
fn shipped() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/policies"))
}

/// A policies folder with one file, `a.cedar`.
fn folder(text: &str) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("cedar")).unwrap();
    std::fs::write(root.path().join("cedar/a.cedar"), text).unwrap();
    root
}

fn load(text: &str, tools: &[Arc<Tool>]) -> Policies {
    Policies::load(folder(text).path(), tools).unwrap()
}

fn policy(id: &str, text: &str) -> String {
    format!("@id(\"{id}\")\n@owner(\"tests\")\n{text}\n")
}

fn profile(hosts: &[&str]) -> Profile {
    Profile {
        name: "small".into(),
        image: "shell".into(),
        tier: Tier::Call,
        runtime: Runtime::Runc,
        seccomp: Arc::new(Seccomp::built_in()),
        accept_unread: Vec::new(),
        limits: Limits {
            wall: Duration::from_secs(3),
            memory: 512 << 20,
            cpu_millis: 1000,
            processes: 64,
            output: 1 << 20,
            disk: 64 << 20,
            inodes: 4096,
            open_files: 256,
        },
        egress: (!hosts.is_empty()).then(|| {
            let rule =
                |host: &&str| EgressRule { host: (*host).into(), port: 443, networks: Vec::new() };
            hosts.iter().map(rule).collect()
        }),
        egress_limits: Default::default(),
        secrets: Vec::new(),
        pool: Pool { min: 1, max: 8 },
    }
}

fn tool_in(name: &str, risk: Risk, schema: Value, profile: Profile) -> Arc<Tool> {
    Arc::new(Tool {
        name: name.into(),
        description: String::new(),
        input_schema: schema,
        output_schema: None,
        target: Target::Command(Command {
            argv: vec!["true".into()],
            stdin: Stdin::None,
            env: BTreeMap::new(),
            json_output: false,
        }),
        files: crate::catalog::Files::default(),
        profile: Arc::new(profile),
        operation: None,
        source: name.split('.').next().unwrap_or(name).into(),
        risk,
        idempotent: true,
        cache_ttl: None,
        repair: Repair::Safe,
        aliases: BTreeMap::new(),
        summary_fields: Vec::new(),
        rate: crate::admission::Limit::default(),
        digest: format!("digest of {name}"),
        plans: crate::catalog::Plans::default(),
    })
}

fn tool(name: &str, risk: Risk, schema: Value) -> Arc<Tool> {
    tool_in(name, risk, schema, profile(&[]))
}

/// A tool with this input schema, for the tests of other rooms.
pub(crate) fn sample(schema: Value) -> Arc<Tool> {
    tool("sample.tool", Risk::Read, schema)
}

fn transfer() -> Arc<Tool> {
    tool(
        "bank.transfer",
        Risk::Read,
        json!({ "type": "object", "required": ["amount"], "properties": {
            "amount": { "type": "integer" },
            "repo": { "type": "string", "default": "prod/main" },
            "rate": { "type": "number" },
            "note": { "anyOf": [{ "type": "string" }, { "type": "integer" }] },
        }}),
    )
}

fn caller() -> Caller {
    Caller { name: "uid:1000".into(), tenant: "north".into(), roles: vec!["clerk".into()] }
}

fn checked(tool: &Arc<Tool>, arguments: &str) -> Checked {
    let mut call = Call::new(tool.name.clone(), arguments);
    call.conversation = "c1".into();
    Checked {
        resolved: Resolved { admitted: Admitted::for_test(call, caller()), tool: tool.clone() },
        arguments: Arguments {
            value: serde_json::from_str(arguments).unwrap(),
            canonical: arguments.into(),
            digest: String::new(),
            repairs: Vec::new(),
        },
    }
}

/// The code of the refusal, or the ids that permit.
fn decide(policies: &Policies, tool: &Arc<Tool>, arguments: &str) -> Result<Vec<String>, Code> {
    policies
        .authorize(checked(tool, arguments), None)
        .map(|authorized| authorized.decision.policies)
        .map_err(|error| error.failure().code)
}

#[test]
fn shipped_policies_let_read_run_and_hold_back_what_cannot_be_undone() {
    let schema = json!({ "type": "object" });
    let tools = [
        tool("a.read", Risk::Read, schema.clone()),
        tool("a.write", Risk::Write, schema.clone()),
        tool("a.delete", Risk::Destructive, schema.clone()),
        tool("a.mail", Risk::Outbound, schema.clone()),
        tool_in("b.write", Risk::Write, schema.clone(), profile(&["api.example"])),
        tool_in("c.write", Risk::Write, schema, profile(&["127.0.0.1"])),
    ];
    let policies = Policies::load(shipped(), &tools).unwrap();
    assert_eq!(policies.warnings(), [] as [&str; 0]);
    let codes: Vec<_> = tools.iter().map(|tool| decide(&policies, tool, "{}").err()).collect();
    let held = Some(Code::ApprovalRequired);
    assert_eq!(codes, [None, None, held, held, held, None]);
    assert!(tools.iter().all(|tool| policies.visible(&caller(), tool)));
}

#[test]
fn policies_can_speak_of_the_files_of_a_call() {
    let tool = transfer();
    let text = policy("a", "permit (principal, action, resource);")
        + &policy(
            "b",
            "forbid (principal, action, resource) when { context.files.count > 1 \
             || context.files.bytes > 4 || context.files.media_types.contains(\"image/png\") };",
        );
    let policies = load(&text, std::slice::from_ref(&tool));
    let decide = |files: &[(&str, &str)]| {
        let mut checked = checked(&tool, r#"{"amount":1}"#);
        let files =
            files.iter().map(|(kind, text)| File::new("f", kind, (*text).to_owned().into()));
        checked.resolved.admitted.call.files = files.collect();
        policies.authorize(checked, None).is_ok()
    };
    assert!(policies.visible(&caller(), &tool));
    assert!(decide(&[]) && decide(&[("text/plain", "four")]));
    assert!(!decide(&[("text/plain", "fives")]));
    assert!(!decide(&[("text/plain", "a"), ("text/plain", "b")]));
    assert!(!decide(&[("image/png", "a")]));
}

#[test]
fn decision_names_its_policies_and_the_set() {
    let tool = transfer();
    let text = policy("b", "permit (principal, action, resource);")
        + &policy("a", "permit (principal, action, resource);");
    let policies = load(&text, std::slice::from_ref(&tool));
    let authorized = policies.authorize(checked(&tool, r#"{"amount":1}"#), None).unwrap();
    assert_eq!(authorized.decision.policies, ["a", "b"]);
    assert_eq!(authorized.decision.version, policies.version());
    assert_eq!(policies.version().len(), 64);
}

#[test]
fn denial_tells_which_policies_forbid() {
    let tool = transfer();
    let text = policy("all", "permit (principal, action, resource);")
        + &policy("never", "forbid (principal, action, resource);");
    let policies = load(&text, std::slice::from_ref(&tool));
    let failure =
        policies.authorize(checked(&tool, r#"{"amount":1}"#), None).unwrap_err().failure();
    assert_eq!(failure.code, Code::PolicyDenied);
    assert_eq!(failure.details["policies"], json!(["never"]));
    assert_eq!(failure.message, "policy does not permit this call: forbidden by `never`");
}

#[test]
fn arguments_that_run_decide() {
    let tool = transfer();
    let policies = load(
        &policy(
            "small",
            r#"permit (principal, action == Switchboard::Action::"bank.transfer", resource)
               when { context.input.amount <= 100 && context.input has repo
                   && context.input.repo like "sandbox/*" && !(context.input.repo like "*..*") };"#,
        ),
        std::slice::from_ref(&tool),
    );
    let denied = Err(Code::PolicyDenied);
    let ask = |arguments| decide(&policies, &tool, arguments);
    assert_eq!(ask(r#"{"amount":5,"repo":"sandbox/a"}"#), Ok(vec!["small".into()]));
    assert_eq!(ask(r#"{"amount":1e2,"repo":"sandbox/a"}"#), Ok(vec!["small".into()]));
    assert_eq!(ask(r#"{"amount":5000,"repo":"sandbox/a"}"#), denied);
    assert_eq!(ask(r#"{"amount":1e3,"repo":"sandbox/a"}"#), denied);
    assert_eq!(ask(r#"{"amount":5,"repo":"prod/main"}"#), denied);
    assert_eq!(ask(r#"{"amount":5,"repo":"sandbox/../prod/x"}"#), denied);
    assert_eq!(ask(r#"{"amount":5,"repo":"\"prod/x\""}"#), denied);
    assert_eq!(ask(r#"{"amount":5}"#), denied);
}

#[test]
fn value_that_cedar_cannot_hold_denies_only_where_a_policy_reads_it() {
    let tool = transfer();
    let text = policy("all", "permit (principal, action, resource);")
        + &policy(
            "large",
            "forbid (principal, action, resource) when { context.input.amount > 100 };",
        )
        + &policy(
            "rate",
            r#"forbid (principal, action, resource)
               when { context.input has rate && context.input.rate.greaterThan(decimal("2.0")) };"#,
        );
    let policies = load(&text, std::slice::from_ref(&tool));
    let ask = |arguments| decide(&policies, &tool, arguments);
    assert_eq!(ask(r#"{"amount":9,"rate":1.5}"#), Ok(vec!["all".into()]));
    assert_eq!(ask(r#"{"amount":9,"rate":3}"#), Err(Code::PolicyDenied));
    // Beyond 64 bits, and more than four places: neither may slip past `has` or a comparison.
    for arguments in [r#"{"amount":9223372036854775808}"#, r#"{"amount":9,"rate":3.00001}"#] {
        let error = policies.authorize(checked(&tool, arguments), None).unwrap_err();
        assert!(matches!(error, Error::Evaluation { .. }), "{error}");
        assert_eq!(error.failure().code, Code::PolicyDenied);
    }
    let blind = load(
        &policy(
            "blind",
            r#"permit (principal, action, resource) when { context.input has amount
               && context.session.tenant == "north" && context.sandbox.memory > 0 };"#,
        ),
        std::slice::from_ref(&tool),
    );
    assert_eq!(
        decide(&blind, &tool, r#"{"amount":9223372036854775808}"#),
        Ok(vec!["blind".into()])
    );
}

#[test]
fn approval_is_asked_for_only_where_it_would_help() {
    let tool = transfer();
    let text =
        policy("attended", "permit (principal, action, resource) when { context.attended };")
            + &policy(
                "never",
                "forbid (principal, action, resource) when { context.input.amount > 100 };",
            );
    let policies = load(&text, std::slice::from_ref(&tool));
    let error = policies.authorize(checked(&tool, r#"{"amount":1}"#), None).unwrap_err();
    let failure = error.failure();
    assert_eq!(failure.code, Code::ApprovalRequired);
    assert_eq!(failure.details["policies"], json!(["attended"]));
    assert_eq!(decide(&policies, &tool, r#"{"amount":101}"#), Err(Code::PolicyDenied));
}

#[test]
fn identity_session_and_envelope_can_be_asked() {
    let tool = tool_in(
        "web.get",
        Risk::Read,
        json!({ "type": "object" }),
        profile(&["api.example", "cdn.example"]),
    );
    for (condition, permitted) in [
        (r#"principal in Switchboard::Role::"clerk""#, true),
        (r#"principal in Switchboard::Role::"chief""#, false),
        (r#"principal in Switchboard::Tenant::"north""#, true),
        (r#"principal == Switchboard::Caller::"uid:1000""#, true),
        (r#"principal.name like "uid:*" && principal.tenant == "north""#, true),
        (r#"action in Switchboard::Action::"risk:read""#, true),
        (r#"action in Switchboard::Action::"source:web""#, true),
        (r#"action in Switchboard::Action::"risk:write""#, false),
        (r#"resource == Switchboard::Source::"web""#, true),
        (r#"context.session.conversation == "c1""#, true),
        (r#"context.sandbox.egress_hosts.contains("api.example")"#, true),
        ("context.sandbox.egress_ports == [443]", true),
        (r#"["api.example"].containsAll(context.sandbox.egress_hosts)"#, false),
        (r#"context.sandbox.tier == "call" && context.sandbox.runtime == "runc""#, true),
        ("context.sandbox.wall_ms == 3000 && context.sandbox.memory <= 536870912", true),
    ] {
        let text = format!("permit (principal, action, resource) when {{ {condition} }};");
        let policies = load(&policy("p", &text), std::slice::from_ref(&tool));
        assert_eq!(decide(&policies, &tool, "{}").is_ok(), permitted, "{condition}");
    }
}

#[test]
fn scope_that_names_a_tool_or_source_binds_only_that_one() {
    let schema = json!({ "type": "object" });
    let tools = [
        tool("a.one", Risk::Read, schema.clone()),
        tool("a.two", Risk::Read, schema.clone()),
        tool("b.one", Risk::Read, schema),
    ];
    for (scope, permitted) in [
        (r#"principal, action == Switchboard::Action::"a.one", resource"#, [true, false, false]),
        (r#"principal, action in Switchboard::Action::"a.one", resource"#, [true, false, false]),
        (
            r#"principal, action in [Switchboard::Action::"a.one", Switchboard::Action::"b.one"], resource"#,
            [true, false, true],
        ),
        (r#"principal, action in Switchboard::Action::"source:a", resource"#, [true, true, false]),
        (r#"principal, action, resource == Switchboard::Source::"a""#, [true, true, false]),
        (r#"principal, action, resource is Switchboard::Source"#, [true, true, true]),
        (r#"principal is Switchboard::Caller, action, resource"#, [true, true, true]),
    ] {
        let policies = load(&policy("p", &format!("permit ({scope});")), &tools);
        let found: Vec<bool> =
            tools.iter().map(|tool| decide(&policies, tool, "{}").is_ok()).collect();
        assert_eq!(found, permitted, "{scope}");
        let shown: Vec<bool> = tools.iter().map(|tool| policies.visible(&caller(), tool)).collect();
        assert_eq!(shown, permitted, "{scope}");
    }
}

#[test]
fn scope_that_names_a_caller_binds_only_that_one() {
    let tool = transfer();
    for (scope, permitted) in [
        (r#"principal == Switchboard::Caller::"uid:1000""#, true),
        (r#"principal == Switchboard::Caller::"uid:1""#, false),
        (r#"principal in Switchboard::Role::"clerk""#, true),
        (r#"principal in Switchboard::Role::"north""#, false),
        (r#"principal in Switchboard::Tenant::"north""#, true),
        (r#"principal is Switchboard::Caller in Switchboard::Role::"chief""#, false),
        (r#"principal is Switchboard::Caller in Switchboard::Role::"clerk""#, true),
    ] {
        let policies = load(
            &policy("p", &format!("permit ({scope}, action, resource);")),
            std::slice::from_ref(&tool),
        );
        // The second time the situation is remembered.
        for _ in 0..2 {
            let decided = decide(&policies, &tool, r#"{"amount":1}"#);
            assert_eq!(decided.is_ok(), permitted, "{scope}");
        }
    }
}

#[test]
fn callers_are_told_apart_however_their_names_join() {
    let tool = transfer();
    let text = r#"permit (principal in Switchboard::Role::"b", action, resource);"#;
    let policies = load(&policy("p", text), std::slice::from_ref(&tool));
    let ask = |name: &str, tenant: &str, roles: &[&str]| {
        let mut checked = checked(&tool, r#"{"amount":1}"#);
        checked.resolved.admitted.caller = Caller {
            name: name.into(),
            tenant: tenant.into(),
            roles: roles.iter().map(|role| (*role).into()).collect(),
        };
        policies.authorize(checked, None).is_ok()
    };
    assert!(ask("n", "t", &["a", "b"]));
    assert!(!ask("n", "t", &["a1:b"]));
    assert!(!ask("n", "t", &["ab"]));
    assert!(!ask("n", "t1:a", &[]));
    // More callers than are remembered.
    assert!((0..1500).all(|index| ask(&format!("n{index}"), "t", &["b"])));
    assert!(!ask("n", "t", &["a"]));
}

#[test]
fn policy_reads_the_context_in_any_spelling() {
    let tool = transfer();
    for condition in [
        r#"context["input"]["amount"] == 7"#,
        r#"context has input && context has "session" && context has "sandbox" && context has attended"#,
        r#"context has input.amount && context.input.amount == 7"#,
        r#"(if context.attended then context else context).input.amount == 7"#,
        r#"context["\u{69}nput"].amount == 7"#,
        r#"{"a": context}.a.session.tenant == "north""#,
        r#"[context.sandbox.tier].contains("call")"#,
    ] {
        let text = format!("permit (principal, action, resource) when {{ {condition} }};");
        let policies = load(&policy("p", &text), std::slice::from_ref(&tool));
        let decided = decide(&policies, &tool, r#"{"amount":7}"#);
        assert_eq!(decided, Ok(vec!["p".into()]), "{condition}");
    }
}

#[test]
fn tool_is_shown_unless_every_call_of_it_is_denied() {
    let tool = transfer();
    let permit = policy("all", "permit (principal, action, resource);");
    for (text, shown) in [
        (String::new(), false),
        (permit.clone(), true),
        (
            policy("p", "permit (principal, action, resource) when { context.input.amount < 9 };"),
            true,
        ),
        (policy("p", "permit (principal, action, resource) when { context.attended };"), true),
        (
            policy(
                "p",
                r#"permit (principal, action, resource) when { principal in Switchboard::Role::"chief" };"#,
            ),
            false,
        ),
        (
            policy(
                "p",
                r#"permit (principal, action, resource) when { context.session.tenant == "south" };"#,
            ),
            false,
        ),
        (
            policy(
                "p",
                "permit (principal, action, resource) when { context.sandbox.memory < 9 };",
            ),
            false,
        ),
        (
            permit.clone()
                + &policy(
                    "f",
                    "forbid (principal, action, resource) when { context.input.amount > 9 };",
                ),
            true,
        ),
        (
            permit.clone()
                + &policy(
                    "f",
                    r#"forbid (principal, action, resource) when { principal.tenant == "north" };"#,
                ),
            false,
        ),
        (
            permit
                + &policy("f", "forbid (principal, action, resource) unless { context.attended };"),
            true,
        ),
    ] {
        let policies = load(&text, std::slice::from_ref(&tool));
        assert_eq!(policies.visible(&caller(), &tool), shown, "{text}");
    }
}

#[test]
fn policy_that_fails_on_a_call_denies_it() {
    let tool = transfer();
    let text = policy("all", "permit (principal, action, resource);")
        + &policy(
            "sum",
            "forbid (principal, action, resource) when { context.input.amount * 2 == 7 };",
        );
    let policies = load(&text, std::slice::from_ref(&tool));
    let error =
        policies.authorize(checked(&tool, r#"{"amount":9223372036854775807}"#), None).unwrap_err();
    let failure = error.failure();
    assert_eq!(failure.code, Code::PolicyDenied);
    assert_eq!(failure.details["policies"], json!(["sum"]));
}

#[test]
fn tool_whose_definition_changed_is_not_decided() {
    let tool = transfer();
    let policies = Policies::load(shipped(), std::slice::from_ref(&tool)).unwrap();
    let mut changed = (*tool).clone();
    changed.digest = "another".into();
    let error = policies
        .authorize(checked(&Arc::new(changed.clone()), r#"{"amount":1}"#), None)
        .unwrap_err();
    assert!(matches!(error, Error::Stale { .. }), "{error}");
    assert!(!policies.visible(&caller(), &changed));
    assert!(!policies.visible(&caller(), &tool_in("x.y", Risk::Read, json!({}), profile(&[]))));
}

#[test]
fn many_tools_at_once_are_seen_as_one_by_one() {
    let schema = json!({ "type": "object" });
    let mut tools = Vec::new();
    for number in 0..40 {
        let risk = [Risk::Read, Risk::Write, Risk::Destructive][number % 3];
        let hosts: &[&str] = if number % 4 == 0 { &["api.example"] } else { &[] };
        let name = format!("s{}.tool{number}", number % 5);
        tools.push(tool_in(&name, risk, schema.clone(), profile(hosts)));
    }
    let set = [
        policy(
            "read",
            "permit (principal, action in Switchboard::Action::\"risk:read\", resource);",
        ),
        policy(
            "write",
            "permit (principal, action in Switchboard::Action::\"risk:write\", resource)
             when { context.sandbox.egress_hosts.isEmpty() };",
        ),
        policy(
            "named",
            "permit (principal, action, resource) when { action == Switchboard::Action::\"s2.tool2\" };",
        ),
        policy(
            "sources",
            "forbid (principal, action, resource) when { resource == Switchboard::Source::\"s3\" };",
        ),
        policy(
            "clerks",
            "forbid (principal in Switchboard::Role::\"guest\", action, resource)
             unless { principal.tenant == \"north\" };",
        ),
    ];
    let guest = |tenant: &str| Caller {
        name: "g".into(),
        tenant: tenant.into(),
        roles: vec!["guest".into()],
    };
    for chosen in [&set[..], &set[..2], &set[..3], &[set[0].clone(), set[3].clone()]] {
        let policies = load(&chosen.concat(), &tools);
        for caller in [caller(), guest("north"), guest("south")] {
            let one_by_one: Vec<bool> =
                tools.iter().map(|tool| policies.visible(&caller, tool)).collect();
            assert_eq!(policies.sees(&caller, &tools), one_by_one, "{chosen:?} {caller:?}");
        }
    }
    let policies = load(&set.concat(), &tools);
    let seen = policies.sees(&caller(), &tools);
    assert!(seen.iter().any(|seen| *seen) && seen.iter().any(|seen| !seen));
}
