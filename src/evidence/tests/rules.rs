//! Declared rules: the shipped ones decide, the right one is picked, and broken ones say how to mend them.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value as Json, json};

use super::made::{self, builder, by_rule, memory, now, opening, picked, time, tool};
use crate::evidence::{
    Builder, Config, Decision, Fact, Found, Plan, Reason, Rules, Stuck, Trace, Unfit, Want, check,
    rule_refusals,
};

fn decision(trace: &Trace) -> Decision {
    trace.answer.as_ref().unwrap().decision.clone().unwrap()
}

fn words(trace: &Trace) -> &str {
    &trace.answer.as_ref().unwrap().text
}

#[test]
fn the_shipped_rules_decide_without_a_model() {
    let transfer = made::transfer();
    let decided = decision(&transfer);
    assert_eq!((decided.value.as_str(), decided.holds), ("second_approval", true));
    assert_eq!(decided.rule.as_deref(), Some("transfer.second-approval"));
    assert!(words(&transfer).contains("15000 EUR") && words(&transfer).contains("10000 EUR"));
    let complaints = made::complaints();
    assert_eq!(decision(&complaints).value, "known");
    assert_eq!(words(&complaints), "有：批次 B-0413 已有 2 起记录。");
    let returned = made::returned();
    assert_eq!(decision(&returned).value, "returnable");
    assert!(words(&returned).contains("21 days before 2026-11-30"), "{}", words(&returned));
    for trace in [transfer, complaints, returned] {
        assert_eq!(check(&trace), Vec::new());
        assert_eq!(rule_refusals(&trace, &made::rules()), Vec::new());
        assert!(trace.answer.unwrap().unsupported.is_empty());
    }
}

#[test]
fn a_dated_rule_is_picked_by_the_date_asked_about() {
    let question = "Did a transfer of 15,000 EUR need a second approval?";
    let rules = made::rules();
    let then = time("2025-12-31T23:59:59Z");
    let old = rules.pick(question, then).unwrap().unwrap();
    let new = rules.pick(question, time("2026-01-01T00:00:00Z")).unwrap().unwrap();
    assert_eq!(old.rule.id, new.rule.id);
    assert_ne!(old.digest, new.digest);
    let opening = crate::evidence::Opening { as_of: then, ..opening("run-1", question) };
    let trace = by_rule(opening, &old, &BTreeMap::new(), (&[], &Json::Null));
    assert_eq!(decision(&trace).value, "single_approval");
    assert_eq!(check(&trace), Vec::new());
    let late = Plan::begin(old, &mut builder(question), &BTreeMap::new(), now());
    assert!(matches!(late, Err(Stuck::Missing { fact, .. }) if fact == "as_of"));
    let before = rules.pick(question, time("2024-06-01T00:00:00Z"));
    assert!(matches!(before, Err(Unfit::NotInForce { .. })));
    assert_eq!(
        rules.pick("What is the weather?", now()).unwrap().map(|one| one.rule.id.clone()),
        None
    );
    let mut stale = trace;
    stale.as_of = now();
    assert!(check(&stale).iter().any(|one| one.reason == Reason::NotInForce));
}

#[test]
fn a_batch_is_read_from_either_language() {
    let value = |question: &str| {
        let rule = picked(question);
        let mut builder = builder(question);
        let plan = Plan::begin(rule, &mut builder, &BTreeMap::new(), now()).unwrap();
        plan.known()["batch"].value.to_string()
    };
    assert_eq!(value("Were there complaints about batch B-0413 before?"), "B-0413");
    assert_eq!(value("Any complaint on lot 25-11?"), "25-11");
    assert_eq!(value("批次S88-2402有过投诉吗"), "S88-2402");
    assert_eq!(value("B-0413这个批次以前有投诉吗"), "B-0413");
}

fn begun(question: &str) -> Result<(Plan, Builder), Stuck> {
    let rules = made::rules();
    let rule = rules.all().iter().find(|one| one.file.ends_with("transfer-2026.toml")).unwrap();
    let mut builder = builder(question);
    let rule = std::sync::Arc::clone(rule);
    let plan = Plan::begin(rule, &mut builder, &BTreeMap::new(), now())?;
    Ok((plan, builder))
}

#[test]
fn what_a_question_does_not_give_is_said() {
    assert!(matches!(begun("Is a transfer fine?"), Err(Stuck::Missing { .. })));
    assert!(matches!(begun("A transfer of 5 EUR or of 7 EUR?"), Err(Stuck::Several { .. })));
    assert!(matches!(begun("A transfer of 1.234 EUR?"), Err(Stuck::Unread { .. })));
    let (plan, _) = begun("A transfer of 15,000?").unwrap();
    assert_eq!(plan.known()["amount"].value.to_string(), "15000 EUR", "the rule has a currency");
    for other in ["15000 florps", "15000 mWh", "15000 parcels", "15000箱"] {
        let Err(Stuck::Unread { source, .. }) = begun(&format!("A transfer of {other}?")) else {
            panic!("{other} became an amount of money");
        };
        assert!(source.to_string().contains(other), "{source}");
    }
}

#[test]
fn what_the_memory_does_not_give_is_said() {
    let (mut plan, mut builder) = begun("A transfer of 15,000?").unwrap();
    let reads = plan.reads();
    let Want::Memory(read) = &reads[0].want else { panic!() };
    assert_eq!((read.collection.as_str(), read.is_count), ("regulations", false));
    assert_eq!(Some(&read.filter), json!({"regulation": "payments"}).as_object());
    let early = plan.decide(&mut builder, now()).unwrap_err();
    assert!(matches!(early, Stuck::Missing { fact, .. } if fact == "limit"));
    let none = plan.clone().recalled(&reads[0].facts, &mut builder, Vec::new(), now());
    assert!(matches!(none, Err(Stuck::Missing { .. })));
    let other = Found {
        facts: vec![Fact::of_unit("transfer", "second_approval_above", "9000", "EUR")],
        ..memory("0199-x@5", "regulations", "Another.", Vec::new())
    };
    let both = vec![made::regulation(), other];
    let several = plan.recalled(&reads[0].facts, &mut builder, both, now());
    assert!(matches!(several, Err(Stuck::Several { .. })));
}

#[test]
fn a_tool_that_failed_or_lacks_the_value_leaves_the_rule_stuck() {
    let question = "Can ORD-10016 be returned?";
    let mut builder = Builder::new(opening("run-1", question), Config::default());
    let mut plan = Plan::begin(picked(question), &mut builder, &BTreeMap::new(), now()).unwrap();
    let reads = plan.reads();
    let Want::Tool { tool: name, arguments } = &reads[0].want else { panic!() };
    assert_eq!(arguments["order_id"], json!("ORD-10016"));
    let data = json!({ "title": "no such order" });
    let lacks = plan.replied(&reads[0].facts, &mut builder, (tool(name, &data), &data), now());
    assert!(lacks.unwrap_err().to_string().contains("/placed_at"));
    let mut failed = tool(name, &data);
    let crate::evidence::Source::Tool { success, .. } = &mut failed.source else { panic!() };
    *success = false;
    let data = json!({ "placed_at": "2026-11-09T10:15:00Z" });
    assert!(plan.replied(&reads[0].facts, &mut builder, (failed, &data), now()).is_err());
}

const PLAIN: &str = r#"
id = "x.one"
owner = "me"
description = "A test."
[when]
all = [["apple"], ["price", "cost"]]
[facts.price]
from = "question"
type = "money"
unit = "EUR"
[facts.most]
from = "rule"
type = "money"
value = "5 EUR"
[decide]
all = [{ left = "price", operator = "<=", right = "most" }]
[then]
decision = "cheap"
answer = { en = "{price} is cheap.", zh = "{price} 便宜。" }
[else]
decision = "dear"
answer = { en = "{price} is dear.", zh = "{price} 贵。" }
"#;

fn loaded(files: &[(&str, String)]) -> (Rules, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    load(folder.path(), files)
}

fn load(folder: &Path, files: &[(&str, String)]) -> (Rules, Vec<String>) {
    std::fs::create_dir_all(folder.join("rules")).unwrap();
    for (name, text) in files {
        std::fs::write(folder.join("rules").join(name), text).unwrap();
    }
    let (rules, problems) = Rules::load(folder);
    let told =
        |one: crate::catalog::Problem| format!("{} {}: {}", one.file, one.place, one.message);
    (rules, problems.into_iter().map(told).collect())
}

#[test]
fn the_most_specific_rule_is_picked_and_two_that_are_equal_are_refused() {
    let general = PLAIN.to_owned();
    let special =
        PLAIN.replace("x.one", "x.two").replace("[[\"apple\"],", "[[\"apple\"], [\"red\"],");
    let (rules, problems) = loaded(&[("a.toml", general.clone()), ("b.toml", special)]);
    assert!(problems.is_empty(), "{problems:?}");
    let id = |question: &str| rules.pick(question, now()).unwrap().map(|one| one.rule.id.clone());
    assert_eq!(id("What may an apple cost?").as_deref(), Some("x.one"));
    assert_eq!(id("What may a red apple cost?").as_deref(), Some("x.two"));
    assert_eq!(id("What may a pineapple cost?"), None, "words are matched whole");
    assert_eq!(id("What may applesauce cost?"), None);
    let twin = general.replace("x.one", "x.three");
    let (rules, _) = loaded(&[("a.toml", general), ("b.toml", twin)]);
    let equal = rules.pick("What may an apple cost?", now()).unwrap_err();
    let text = equal.to_string();
    assert!(
        text.contains("x.one") && text.contains("x.three") && text.contains("b.toml"),
        "{text}"
    );
}

/// What stands in the rule, what takes its place, where that is refused, and how.
const BROKEN: [(&str, &str, &str, &str); 19] = [
    ("operator = \"<=\"", "operator = \"under\"", "line 16", "under"),
    ("owner = \"me\"", "owned = \"me\"", "line 3", "did you mean `owner`"),
    ("type = \"money\"\nvalue", "type = \"weight\"\nvalue", "line 13", "weight"),
    ("unit = \"EUR\"", "unit = \"kg\"", "line 10, `facts.price.unit`", "write a currency"),
    (
        "value = \"5 EUR\"",
        "value = \"5 apples\"",
        "line 14, `facts.most.value`",
        "no unit that is known",
    ),
    (
        "value = \"5 EUR\"",
        "value = \"5 EUR\"\ntool = \"x\"",
        "line 15, `facts.most.tool`",
        "take it out",
    ),
    ("from = \"rule\"\n", "from = \"tool\"\n", "line 11, `facts.most`", "needs `tool`"),
    ("right = \"most\"", "right = \"least\"", "line 15, `decide`", "[facts.least]"),
    (
        "type = \"money\"\nvalue = \"5 EUR\"",
        "type = \"quantity\"\nvalue = \"5 kg\"",
        "line 15, `decide`",
        "cannot be compared",
    ),
    ("{price} is dear", "{cost} is dear", "line 22, `else.answer.en`", "{cost}"),
    ("decision = \"dear\"", "decision = \"cheap\"", "line 21, `else.decision`", "decides nothing"),
    ("[[\"apple\"], [\"price\", \"cost\"]]", "[]", "line 5, `when`", "fits every question"),
    ("[when]", "[when]\npatterns = [\"(\"]", "line 6, `when.patterns`", "regular expression"),
    ("id = \"x.one\"", "id = \"X one\"", "line 2, `id`", "lower-case"),
    (
        "id = \"x.one\"",
        "id = \"x.one\"\nvalid_from = \"July\"",
        "line 3, `valid_from`",
        "2026-07-01",
    ),
    (
        "id = \"x.one\"",
        "id = \"x.one\"\ntime_zone = \"Mars\"",
        "line 3, `time_zone`",
        "Asia/Shanghai",
    ),
    (
        "[facts.most]",
        "[facts.other]\nfrom = \"question\"\ntype = \"money\"\n[facts.most]",
        "line 7, `facts.price`",
        "pattern",
    ),
    (
        "[decide]",
        "[facts.sum]\nfrom = \"derived\"\ntype = \"money\"\nhow = \"sum\"\nof = [\"sum\", \"most\"]\n[decide]",
        "line 15, `facts.sum`",
        "needs itself",
    ),
    (
        "[decide]",
        "[facts.spare]\nfrom = \"as_of\"\ntype = \"date\"\n[decide]",
        "line 15, `facts.spare`",
        "used by nothing",
    ),
];

#[test]
fn a_broken_rule_says_what_where_and_how_to_mend_it() {
    for (before, after, place, message) in BROKEN {
        assert!(PLAIN.contains(before), "{before}");
        let (rules, problems) = loaded(&[("a.toml", PLAIN.replacen(before, after, 1))]);
        assert!(rules.all().is_empty(), "{after}");
        let is_told = |one: &String| {
            one.starts_with("rules/a.toml ") && one.contains(place) && one.contains(message)
        };
        assert!(problems.iter().any(is_told), "{after}: {problems:#?}");
    }
}

#[test]
fn versions_that_overlap_and_broken_changes_keep_what_held() {
    let dated = |from: &str, to: &str| {
        PLAIN.replace("owner =", &format!("valid_from = \"{from}\"\nvalid_to = \"{to}\"\nowner ="))
    };
    let apart = [
        ("a.toml", dated("2025-01-01", "2025-12-31")),
        ("b.toml", dated("2026-01-01", "2026-12-31")),
    ];
    assert!(loaded(&apart).1.is_empty());
    let overlap = [
        ("a.toml", dated("2025-01-01", "2026-01-01")),
        ("b.toml", dated("2026-01-01", "2026-12-31")),
    ];
    let (rules, problems) = loaded(&overlap);
    assert_eq!(rules.all().len(), 1);
    assert!(problems[0].contains("`rules/a.toml`"), "{problems:?}");
    let folder = tempfile::tempdir().unwrap();
    let (first, problems) = load(folder.path(), &[("a.toml", PLAIN.to_owned())]);
    assert!(problems.is_empty(), "{problems:?}");
    std::fs::write(folder.path().join("rules/a.toml"), "id = 5").unwrap();
    let (kept, problems) = Rules::load_with(folder.path(), Some(&first));
    assert_eq!(kept.digest(), first.digest());
    assert!(problems[0].message.ends_with("its last good state holds"), "{problems:?}");
    std::fs::remove_file(folder.path().join("rules/a.toml")).unwrap();
    assert!(Rules::load_with(folder.path(), Some(&kept)).0.all().is_empty());
}

#[test]
fn a_rule_that_was_changed_since_is_told_from_the_declared_one() {
    let mut trace = made::transfer();
    let crate::evidence::Source::Rule { digest, .. } = &mut trace.evidence[1].source else {
        panic!()
    };
    digest.replace_range(0..1, if digest.starts_with('0') { "1" } else { "0" });
    let wrong = rule_refusals(&trace, &made::rules());
    assert_eq!(wrong.len(), 1);
    assert_eq!(wrong[0].place, "/evidence/1/source");
}
