//! Reading of `policies/agents/*.toml`.

use std::path::Path;

use super::*;

const LEAD: &str = r#"
name = "lead"
description = "plans"
role = "orchestrator"
instructions = "Plan."
[team]
workers = ["find-*"]
judge = "judge"
[claims.revenue]
description = "revenue"
type = "number"
unit = "EUR"
tolerance = "0.02"
scope = ["quarter"]
"#;
const WORKER: &str = r#"
name = "find-orders"
description = "finds orders"
role = "worker"
instructions = "Find."
tools = ["orders.*", "python.run"]
memory = { collections = ["cas*"], layers = ["curated"] }
"#;
const JUDGE: &str = r#"
name = "judge"
description = "judges"
role = "judge"
instructions = "Judge."
"#;

fn write(home: &Path, name: &str, text: &str) {
    std::fs::create_dir_all(home.join("agents")).unwrap();
    std::fs::write(home.join("agents").join(name), text).unwrap();
}

/// The agents of some files, which must be right.
pub(in crate::reason) fn agents(files: &[&str]) -> Agents {
    let home = tempfile::tempdir().unwrap();
    for (at, file) in files.iter().enumerate() {
        write(home.path(), &format!("{at}.toml"), file);
    }
    let (agents, problems) = Agents::load(home.path());
    assert!(problems.is_empty(), "{problems:?}");
    agents
}

/// Place and message of what is wrong with a file, and whether it costs the agent.
fn problems(text: &str) -> Vec<(String, String)> {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "one.toml", text);
    let (loaded, problems) = Agents::load(home.path());
    let fatal = problems.iter().any(|one| one.fatal);
    assert_eq!(loaded.iter().count(), usize::from(!fatal), "{problems:?}");
    problems
        .into_iter()
        .map(|one| {
            assert_eq!(one.file, "agents/one.toml");
            (one.place, one.message)
        })
        .collect()
}

#[test]
fn the_shipped_agents_are_right() {
    let policies = Path::new(env!("CARGO_MANIFEST_DIR")).join("policies");
    let (loaded, problems) = Agents::load(&policies);
    assert!(problems.is_empty(), "{problems:#?}");
    let names: Vec<&str> = loaded.iter().map(|one| one.name.as_str()).collect();
    for name in ["forecast-history", "forecast-judge", "forecast-lead", "forecast-orders"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let lead = loaded.get("forecast-lead").unwrap();
    let team: Vec<&str> = loaded.team(lead).map(|one| one.name.as_str()).collect();
    assert_eq!(team, ["forecast-history", "forecast-lead", "forecast-orders"]);
    assert_eq!(loaded.judge(lead).unwrap().name, "forecast-judge");
}

#[test]
fn every_fault_of_a_file_is_told_with_its_line_and_key() {
    assert_eq!(problems(WORKER), []);
    let lead = |from: &str, to: &str| LEAD.replace(from, to);
    let worker = |from: &str, to: &str| WORKER.replace(from, to);
    for (text, place, words) in [
        (worker("\"find-orders\"", "\"Find Orders\""), "line 2, `name`", "is no name"),
        (worker("\"find-orders\"", "\"default\""), "line 2, `name`", "take another name"),
        (worker("\"finds orders\"", "\" \""), "line 3, `description`", "good for"),
        (worker("\"Find.\"", "\"\""), "line 5, `instructions`", "how the agent works"),
        (
            worker("\"Find.\"", &format!("\"{}\"", "a".repeat(17_000))),
            "line 5, `instructions`",
            "at most 16384",
        ),
        (worker("\"worker\"", "\"helper\""), "line 4, `role`", "helper"),
        (worker("\"orders.*\"", "\" \""), "line 6, `tools[0]`", "no pattern of a tool"),
        (worker("\"python.run\"", "\"*a*b*c*d*e*f*g*h*\""), "line 6, `tools[1]`", "at most 8 `*`"),
        (worker("\"cas*\"", "\"\""), "line 7, `memory.collections[0]`", "no pattern of a coll"),
        (worker("\"curated\"", "\"both\""), "line 7, `memory`", "both"),
        (format!("{WORKER}[team]\njudge = \"judge\""), "line 8, `team`", "orchestrator only"),
        (format!("{WORKER}[limits]\ntasks = 4"), "line 9, `limits.tasks`", "orchestrator only"),
        (format!("{WORKER}[limits]\nsteps = 0"), "line 9, `limits.steps`", "from 1 to 50"),
        (format!("{WORKER}[limits]\nwall = \"0s\""), "line 9, `limits.wall`", "no time at all"),
        (format!("{WORKER}[limits]\nwall = \"soon\""), "line 9, `wall`", "not a duration"),
        (format!("{WORKER}[budget]\nmoney = \"-1\""), "line 9, `budget.money`", "no amount"),
        (format!("{WORKER}[budget]\nmoney = \"1,5\""), "line 9, `budget.money`", "no amount"),
        (format!("{WORKER}[colour]\nred = 1"), "line 8", "unknown key `colour`"),
        (format!("{JUDGE}tools = [\"python.run\"]"), "line 6, `tools`", "evidence packs"),
        (
            format!("{JUDGE}memory = {{ collections = [\"a\"] }}"),
            "line 6, `memory`",
            "evidence packs",
        ),
        (lead("[team]", "[limits]\nparallel = 17\n[team]"), "line 7, `limits.parallel`", "1 to 16"),
        (lead("[team]", "[limits]\ntasks = 0\n[team]"), "line 7, `limits.tasks`", "1 to 32"),
        (lead("judge = \"judge\"", "review_below = 1.5"), "line 8, `team.review_below`", "0 to 1"),
        (lead("settle", "settle"), "team.workers[0]", "fits no worker"),
        (lead("[claims.revenue]", "[claims.\"Re venue\"]"), "line 9, `claims.Re venue`", "no name"),
        (lead("\"0.02\"", "\"1\""), "line 13, `claims.revenue.tolerance`", "no share"),
        (lead("\"0.02\"", "\"2%\""), "line 13, `claims.revenue.tolerance`", "no share"),
        (lead("\"number\"", "\"text\""), "line 12, `claims.revenue.unit`", "is for numbers"),
        (lead("[\"quarter\"]", "[\"a b\"]"), "line 14, `claims.revenue.scope[0]`", "no name"),
        (
            lead("description = \"revenue\"", "description = \"\""),
            "line 10, `claims.revenue.description`",
            "is empty",
        ),
    ] {
        let found = problems(&text);
        let right = found.iter().any(|(at, message)| at == place && message.contains(words));
        assert!(right, "{place}: {words}: {found:?}");
    }
}

#[test]
fn what_agents_say_of_each_other_is_held_against_the_others() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "lead.toml", LEAD);
    write(home.path(), "worker.toml", WORKER);
    write(home.path(), "judge.toml", JUDGE);
    let load = || Agents::load(home.path());
    let (agents, problems) = load();
    assert!(problems.is_empty(), "{problems:?}");
    let around = Surroundings {
        tools: &["orders.list", "python.run"],
        collections: &["cases"],
        models: &["reasoner", "judge"],
        rules: &["transfer"],
    };
    assert_eq!(agents.lint(around), []);

    let wrong = |text: &str, place: &str, words: &str| {
        write(home.path(), "lead.toml", text);
        let (agents, mut problems) = load();
        problems.extend(agents.lint(around));
        let right = problems
            .iter()
            .any(|one| one.place == place && one.message.contains(words) && !one.fatal);
        assert!(right, "{place}: {words}: {problems:?}");
    };
    wrong(
        &LEAD.replace("find-*", "find-invoices"),
        "team.workers[0]",
        "did you mean `find-orders`",
    );
    wrong(
        &LEAD.replace("judge = \"judge\"", "judge = \"find-orders\""),
        "team.judge",
        "is no judge",
    );
    wrong(
        &LEAD.replace("judge = \"judge\"", "judge = \"juge\""),
        "team.judge",
        "did you mean `judge`",
    );
    wrong(&format!("tools = [\"mail.*\"]{LEAD}"), "tools", "fits no tool");
    wrong(&format!("model = \"reasonr\"{LEAD}"), "model", "did you mean `reasoner`");
    wrong(
        &format!("memory = {{ collections = [\"case\"] }}{LEAD}"),
        "memory.collections",
        "`cases`",
    );
    wrong(&format!("{LEAD}rules = [\"transfers\"]"), "claims", "did you mean `transfer`");
    std::fs::remove_file(home.path().join("agents/worker.toml")).unwrap();
    wrong(LEAD, "team", "has no worker");
}

#[test]
fn a_reload_keeps_the_last_good_state_and_a_second_name_is_refused() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "one.toml", WORKER);
    let (first, _) = Agents::load(home.path());
    write(home.path(), "one.toml", "name = ");
    write(home.path(), "two.toml", JUDGE);
    let (second, problems) = Agents::load_with(home.path(), Some(&first));
    assert_eq!(second.get("find-orders"), first.get("find-orders"));
    assert!(second.get("judge").is_some());
    assert!(problems[0].message.ends_with("its last good state holds"), "{problems:?}");
    assert_ne!(first.digest(), second.digest());
    write(home.path(), "one.toml", WORKER);
    write(home.path(), "two.toml", WORKER);
    let (third, problems) = Agents::load_with(home.path(), Some(&second));
    assert_eq!((third.iter().count(), problems.len()), (1, 1));
    assert!(problems[0].message.contains("declared in `agents/one.toml` already"));
    assert_eq!(third.digest(), first.digest());
    std::fs::remove_file(home.path().join("agents/one.toml")).unwrap();
    std::fs::remove_file(home.path().join("agents/two.toml")).unwrap();
    assert_eq!(Agents::load_with(home.path(), Some(&third)).0.iter().count(), 0);
}

#[test]
fn an_agent_sees_its_own_tools_and_collections_and_leads_its_own_team() {
    let read = |text: &str| toml::from_str::<Agent>(text).unwrap();
    let (lead, worker, judge) = (read(LEAD), read(WORKER), read(JUDGE));
    for (tool, seen) in [
        ("orders.list", true),
        ("python.run", true),
        ("python.runner", false),
        ("orders", false),
        ("mail.orders.list", false),
    ] {
        assert_eq!(worker.may_use(tool), seen, "{tool}");
    }
    assert!(!judge.may_use("orders.list"));
    for (collection, layer, seen) in [
        ("cases", Layer::Curated, true),
        ("cases", Layer::Notes, false),
        ("manuals", Layer::Curated, false),
    ] {
        assert_eq!(worker.may_recall(collection, layer), seen, "{collection}");
    }
    assert!(lead.may_lead(&worker) && lead.may_lead(&lead));
    assert!(!lead.may_lead(&judge) && !worker.may_lead(&worker) && !worker.may_lead(&judge));
    let other = Agent { name: "write".to_owned(), ..worker };
    assert!(!lead.may_lead(&other), "not of its team");
    assert_eq!((lead.model(), judge.model()), ("reasoner", "judge"));
}
