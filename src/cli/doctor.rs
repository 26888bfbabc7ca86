//! `switchboard doctor`: a checklist of the installation, with a verdict and a mend per line.

mod reason;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;
use serde::Serialize;

use super::{Failed, print};
use crate::catalog::Catalog;
use crate::config::Config;
use crate::ledger::Ledger;
use crate::policy::Policies;
use crate::sandbox::{self, EngineFacts, NoLimits};
use crate::schema::Schemas;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The daemon's configuration file.
    #[arg(long, default_value = "/etc/switchboard/switchboard.toml")]
    config: PathBuf,
    /// One line of JSON for each check.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Good,
    Warning,
    Bad,
}

/// One line of the checklist.
#[derive(Debug, Serialize)]
struct Check {
    check: &'static str,
    verdict: Verdict,
    found: String,
    mend: String,
}

impl Check {
    fn good(check: &'static str, found: impl Into<String>) -> Self {
        Self { check, verdict: Verdict::Good, found: found.into(), mend: String::new() }
    }

    fn bad(check: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { check, verdict: Verdict::Bad, found: found.into(), mend: mend.into() }
    }

    fn warning(check: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { verdict: Verdict::Warning, ..Self::bad(check, found, mend) }
    }
}

pub(super) async fn run(options: Options) -> Result<ExitCode, Failed> {
    let mut checks = vec![clock()];
    match Config::read(&options.config) {
        Ok(config) => {
            checks.push(Check::good("configuration", options.config.display().to_string()));
            engine(&sandbox::inspect_engine(&config.sandbox).await, &mut checks);
            policies(&config, &mut checks);
            checks.push(roots(&config));
            files(&config, &mut checks);
        }
        Err(error) => checks.push(Check::bad("configuration", error.to_string(), "mend the file")),
    }
    let bad = checks.iter().any(|check| check.verdict == Verdict::Bad);
    if options.json {
        for check in &checks {
            print::json(check)?;
        }
    } else {
        let mut rows = vec![["VERDICT", "CHECK", "FOUND", "MEND"].map(str::to_owned).to_vec()];
        rows.extend(checks.into_iter().map(|check| {
            let verdict = format!("{:?}", check.verdict).to_lowercase();
            vec![verdict, check.check.to_owned(), check.found, check.mend]
        }));
        print::table(&rows)?;
    }
    Ok(if bad { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// A clock before the release of this program is wrong; records and tokens would be too.
fn clock() -> Check {
    let now = Timestamp::now();
    match now.as_second() < 1_767_225_600 {
        true => Check::bad("clock", now.to_string(), "set the clock; 2026 has begun"),
        false => Check::good("clock", now.to_string()),
    }
}

fn engine(facts: &EngineFacts, checks: &mut Vec<Check>) {
    let start = "start the Docker engine (deploy/engine.sh), or set sandbox.engine";
    checks.push(match &facts.api {
        Ok(api) => Check::good(
            "engine",
            format!("{}, API {api}", facts.engine.as_deref().unwrap_or("version unknown")),
        ),
        Err(error) => Check::bad("engine", format!("{}: {error}", facts.endpoint), start),
    });
    checks.push(match &facts.cgroup {
        Some(version) => Check::good("control groups", format!("version {version}")),
        None => Check::bad("control groups", "unknown", start),
    });
    checks.push(match facts.seccomp {
        Some(true) => Check::good("system call filter", "seccomp"),
        Some(false) => Check::bad(
            "system call filter",
            "the engine has no seccomp",
            "use an engine and a kernel that have it; no call runs without",
        ),
        None => Check::bad("system call filter", "unknown", start),
    });
    checks.push(Check::good("runtimes", facts.runtimes.join(", ")));
    checks.push(match &facts.limits {
        Ok(limits) => Check::good("limits read back", limits.clone()),
        Err(NoLimits::Untried(why)) => Check::bad(
            "limits read back",
            format!("not tried: {why}"),
            "mend the engine and the images first",
        ),
        Err(NoLimits::Unenforced(why)) => Check::bad(
            "limits read back",
            why.clone(),
            "a limit that does not hold \
            is refused: give the engine the memory, pids and cpu controllers",
        ),
    });
    images(facts, checks);
}

fn images(facts: &EngineFacts, checks: &mut Vec<Check>) {
    let build = "run sandbox-images/build.sh";
    match &facts.images {
        Err(error) => checks.push(Check::bad("images", error.clone(), build)),
        Ok(images) => checks.extend(images.iter().map(|image| {
            let name = format!("{} {}", image.name, image.id);
            match (image.present, image.reference_matches) {
                (true, true) => Check::good("image", name),
                (true, false) => Check::warning(
                    "image",
                    format!("{name}: its reference names another image"),
                    build,
                ),
                (false, _) => Check::bad("image", format!("{name} is not in the engine"), build),
            }
        })),
    }
}

fn policies(config: &Config, checks: &mut Vec<Check>) {
    let folder = &config.policies.folder;
    let images = sandbox::images(&config.sandbox);
    let catalog = Catalog::load(folder, &|name| images.get(name).cloned());
    for problem in catalog.problems() {
        let found = format!("{} {}: {}", problem.file, problem.place, problem.message);
        checks.push(Check::warning("catalog", found, "mend the file"));
    }
    let (_, broken) = Schemas::compile(catalog.tools());
    for (tool, why) in &broken {
        checks.push(Check::warning("schema", format!("{tool}: {why}"), "mend the schema"));
    }
    let catalog = catalog.without(&broken);
    let tools = format!("{} tools", catalog.tools().len());
    checks.push(Check::good("catalog", format!("{tools} in {}", folder.display())));
    checks.push(match Policies::load(folder, catalog.tools()) {
        Ok(policies) => Check::good("policies", format!("version {}", policies.version())),
        Err(error) => Check::bad("policies", error.to_string(), "the daemon will not start"),
    });
    reason::checks(config, &catalog, checks);
}

fn roots(config: &Config) -> Check {
    let mend = "install ca-certificates, or mend sandbox.gate.extra_ca";
    match config.sandbox.gate.load_roots() {
        Ok(()) => Check::good("certificates", "trusted ones are there"),
        Err(error) => Check::warning(
            "certificates",
            format!("no tool reaches a host over TLS: {error}"),
            mend,
        ),
    }
}

fn files(config: &Config, checks: &mut Vec<Check>) {
    let ledger = &config.ledger.path;
    checks.push(match ledger.exists().then(|| Ledger::open_read_only(ledger)) {
        Some(Ok(_)) => mode("ledger", ledger, 0o077, "chmod 600"),
        Some(Err(error)) => Check::bad("ledger", error.to_string(), "move the file away"),
        None => Check::good("ledger", format!("{} will be made", ledger.display())),
    });
    if config.policies.folder.exists() {
        let mend = "chmod -R go-w: who can write here decides what may run";
        checks.push(mode("policies folder", &config.policies.folder, 0o022, mend));
    }
    let socket = &config.server.socket;
    if socket.exists() && !config.server.allow_world_socket {
        checks.push(mode("socket", socket, 0o007, "chmod 660: who can connect can run tools"));
    }
}

fn mode(check: &'static str, path: &Path, forbidden: u32, mend: &str) -> Check {
    match std::fs::metadata(path).map(|found| found.permissions().mode() & 0o777) {
        Ok(mode) if mode & forbidden == 0 => {
            Check::good(check, format!("{} has mode {mode:04o}", path.display()))
        }
        Ok(mode) => Check::bad(check, format!("{} has mode {mode:04o}", path.display()), mend),
        Err(error) => Check::bad(check, format!("{}: {error}", path.display()), mend),
    }
}
