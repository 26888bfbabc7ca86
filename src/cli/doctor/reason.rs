//! The part of the checklist about reasoning: models, their keys, rules, agents, who may start a run, and
//! the file of runs. Asks no model.

use std::path::Path;

use tokio_util::task::TaskTracker;

use super::{Check, mode};
use crate::catalog::{Catalog, Problem};
use crate::config::Config;
use crate::evidence::Rules;
use crate::memory::Collections;
use crate::model::{self, Models, Role};
use crate::policy::Reasoners;
use crate::reason::{Agents, Surroundings};

const MEND: &str = "mend the file";

/// The checks; `catalog` is what the tools of agents are held against.
pub(super) fn checks(config: &Config, catalog: &Catalog, checks: &mut Vec<Check>) {
    if config.reason.enabled == Some(false) {
        checks.push(Check::good("reasoning", "off, by reason.enabled"));
        return;
    }
    models(&config.models, checks);
    let folder = &config.policies.folder;
    let (rules, problems) = Rules::load_with(folder, None);
    found("rules", &problems, checks);
    let count = rules.all().len();
    checks.push(Check::good("rules", format!("{count} in {}", folder.join("rules").display())));
    agents(config, catalog, &rules, checks);
    checks.push(starters(folder));
    if let Some(path) = config.reason.path.as_deref().filter(|path| path.exists()) {
        checks.push(mode("runs", path, 0o077, "chmod 600"));
    }
}

/// Each problem as a line of its own.
fn found(check: &'static str, problems: &[Problem], checks: &mut Vec<Check>) {
    checks.extend(problems.iter().map(|problem| {
        let what = format!("{} {}: {}", problem.file, problem.place, problem.message);
        Check::warning(check, what, MEND)
    }));
}

fn models(config: &model::Config, checks: &mut Vec<Check>) {
    // What was spent belongs to the daemon that runs.
    let unspent = model::Config { spending: None, ..config.clone() };
    let models = match Models::open(&unspent, &TaskTracker::new()) {
        Ok(models) => models,
        Err(error) => {
            let mend = "mend [models] of the configuration; until then no run is started";
            return checks.push(Check::bad("models", error.to_string(), mend));
        }
    };
    let roles: Vec<String> =
        config.roles.iter().map(|(role, names)| format!("{role}: {}", names.join(", "))).collect();
    checks.push(if models.serves(Role::Reasoner) {
        Check::good("models", roles.join("; "))
    } else {
        let mend = "give an endpoint of [models.endpoints] the role in [models.roles]; without it only \
                    rules answer";
        Check::warning("models", "no endpoint has the role reasoner", mend)
    });
    for (name, endpoint) in &config.endpoints {
        checks.push(match &endpoint.key_file {
            Some(path) => mode("model's key", path, 0o077, "put the key there, and chmod 600 it"),
            None => {
                let key = endpoint.key_env.as_ref();
                let key =
                    key.map_or_else(|| "no key".to_owned(), |key| format!("its key is in ${key}"));
                Check::good(
                    "model",
                    format!("{name}: {} at {}; {key}", endpoint.model, endpoint.url),
                )
            }
        });
    }
}

fn agents(config: &Config, catalog: &Catalog, rules: &Rules, checks: &mut Vec<Check>) {
    let folder = &config.policies.folder;
    let (agents, problems) = Agents::load_with(folder, None);
    found("agents", &problems, checks);
    let (collections, _) = Collections::load(folder);
    let tools: Vec<&str> = catalog.tools().iter().map(|tool| tool.name.as_str()).collect();
    let collections: Vec<&str> = collections.iter().map(|one| one.name.as_str()).collect();
    let roles = config.models.roles.keys().map(|role| role.as_str());
    let models: Vec<&str> =
        config.models.endpoints.keys().map(String::as_str).chain(roles).collect();
    let rules: Vec<&str> = rules.all().iter().map(|one| one.rule.id.as_str()).collect();
    let around =
        Surroundings { tools: &tools, collections: &collections, models: &models, rules: &rules };
    found("agents", &agents.lint(around), checks);
    let names: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
    let names =
        if names.is_empty() { "none beside the default one".to_owned() } else { names.join(", ") };
    checks.push(Check::good("agents", names));
}

/// Who may start a run.
fn starters(folder: &Path) -> Check {
    match Reasoners::load(folder) {
        Ok(reasoners) => match reasoners.warnings().next() {
            Some(warning) => {
                Check::warning("policies on runs", warning, "write one in `reason/*.cedar`")
            }
            None => Check::good("policies on runs", format!("version {}", reasoners.version())),
        },
        Err(error) => {
            Check::bad("policies on runs", error.to_string(), "until then nobody starts a run")
        }
    }
}
