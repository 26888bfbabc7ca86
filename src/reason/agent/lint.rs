//! What is wrong between agents, and between them and what is around: [`Agents`] and [`Surroundings`]
//! in, findings out, each with the file and how to mend it. Nothing of it costs an agent.

use super::{Agent, Agents, Role, fits};
use crate::catalog::{Problem, nearest};

/// What agents name, as it is at hand. Empty lists are not held against anything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Surroundings<'s> {
    /// Names of tools.
    pub tools: &'s [&'s str],
    /// Names of collections.
    pub collections: &'s [&'s str],
    /// Names of roles and endpoints of models.
    pub models: &'s [&'s str],
    /// Ids of rules.
    pub rules: &'s [&'s str],
}

/// What agents say of each other that does not hold.
pub(super) fn among(agents: &Agents) -> Vec<Problem> {
    let mut found = Vec::new();
    for (one, file) in agents.named.files().filter(|(one, _)| one.role == Role::Orchestrator) {
        for (at, pattern) in one.team.workers.iter().enumerate() {
            let is_there =
                agents.iter().any(|other| other.role == Role::Worker && fits(pattern, &other.name));
            if !is_there {
                let names = named(agents, Role::Worker);
                let message = format!("`{pattern}` fits no worker{}", hint(pattern, &names));
                found.push(finding(file, &format!("team.workers[{at}]"), message));
            }
        }
        if agents.team(one).all(|other| other.name == one.name) {
            let message = "has no worker; declare one with `role = \"worker\"`".to_owned();
            found.push(finding(file, "team", message));
        }
        let judge = one.team.judge.as_deref();
        if let Some(judge) = judge.filter(|_| agents.judge(one).is_none()) {
            let message = match agents.get(judge) {
                Some(_) => format!("`{judge}` is no judge; its file must say `role = \"judge\"`"),
                None => {
                    let names = named(agents, Role::Judge);
                    format!("no agent is called `{judge}`{}", hint(judge, &names))
                }
            };
            let message = format!("{message}; until then `team.settle` decides");
            found.push(finding(file, "team.judge", message));
        }
    }
    found
}

impl Agents {
    /// What agents name that is not there.
    pub fn lint(&self, around: Surroundings<'_>) -> Vec<Problem> {
        let mut found = Vec::new();
        for (one, file) in self.named.files() {
            let mut lists = vec![
                ("tools", "tool", one.tools.as_slice(), around.tools),
                (
                    "memory.collections",
                    "collection",
                    one.memory.collections.as_slice(),
                    around.collections,
                ),
            ];
            let rules: Vec<String> =
                one.claims.values().flat_map(|claim| claim.rules.iter().cloned()).collect();
            lists.push(("claims", "rule", &rules, around.rules));
            for (key, what, patterns, known) in lists {
                for pattern in patterns.iter().filter(|_| !known.is_empty()) {
                    if !known.iter().any(|name| fits(pattern, name)) {
                        let message = format!("`{pattern}` fits no {what}{}", hint(pattern, known));
                        found.push(finding(file, key, message));
                    }
                }
            }
            found.extend(model(one, file, around.models));
        }
        found
    }
}

fn model(one: &Agent, file: &str, known: &[&str]) -> Option<Problem> {
    let model = one.model();
    if known.is_empty() || known.contains(&model) {
        return None;
    }
    let message = format!("`{model}` is neither a role nor an endpoint{}", hint(model, known));
    Some(finding(file, "model", message))
}

fn named(agents: &Agents, role: Role) -> Vec<&str> {
    agents.iter().filter(|one| one.role == role).map(|one| one.name.as_str()).collect()
}

/// Names that may be meant.
pub(in crate::reason) fn hint(wanted: &str, known: &[&str]) -> String {
    match nearest(wanted, known.iter().copied()).as_slice() {
        [] if known.is_empty() => "; there is none".to_owned(),
        [] => {
            let some: Vec<&str> = known.iter().copied().take(12).collect();
            format!("; there are `{}`", some.join("`, `"))
        }
        [best, ..] => format!("; did you mean `{best}`?"),
    }
}

fn finding(file: &str, place: &str, message: String) -> Problem {
    Problem { file: file.to_owned(), place: place.to_owned(), message, fatal: false }
}
