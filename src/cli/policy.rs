//! `switchboard policy`: what a reviewer of policies needs, all from files, without daemon or engine.
//! One file a subcommand.

mod check;
mod diff;
mod explain;
mod html;
mod markdown;
pub(super) mod replay;
mod report;
mod shadow;
mod test;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::Failed;
use crate::catalog::Catalog;
use crate::policy::{Review, RuleFacts};
use crate::sandbox;

/// The folder of a daemon that was installed as the documentation says.
const FOLDER: &str = "/etc/switchboard/policies";

#[derive(Debug, Subcommand)]
pub(super) enum Policy {
    /// Report what is wrong with policies, profiles and tools, and what is hardly meant so.
    ///
    /// Exit code 1 when there is an error; with --strict also for a warning.
    Check(check::Options),
    /// Run the tables of tests in `tests/*.yaml` of the policies folder.
    ///
    /// A table: `caller` (for cases that name none: name, tenant, roles) and `cases`, each with `name`,
    /// `tool`, `arguments`, `caller`, `conversation` or `session` (conversation, calls, taint), `files`
    /// (name, media_type, bytes), `expect` (permit, approval, deny, invalid or unknown) and `policies`,
    /// the ids that should decide. Tools and profiles that only the tests need lie in `tests/tools/`
    /// and `tests/sandbox/`.
    Test(test::Options),
    /// Tell why one call is permitted, denied or waits for a person, and what would change that.
    Explain(explain::Options),
    /// Write one page for an audit: every tool, who may call it, under which envelope.
    Report(report::Options),
    /// Show which calls two policies folders decide differently; exit code 1 when there are any.
    Diff(diff::Options),
    /// Decide recorded calls again by today's schemas and policies; nothing runs.
    Replay(replay::Options),
    /// List recorded calls that the candidate policy set of `[policies] shadow` decided otherwise.
    Shadow(shadow::Options),
}

/// Where the policies are, and the images that they name.
#[derive(Debug, Args)]
pub(super) struct Folder {
    /// The policies folder.
    #[arg(long, default_value = FOLDER)]
    catalog: PathBuf,
    /// The file with the ids of images that sandbox-images/build.sh wrote. Without it digests of tools
    /// differ from a daemon's.
    #[arg(long)]
    images: Option<PathBuf>,
}

pub(super) async fn run(policy: Policy) -> Result<ExitCode, Failed> {
    match policy {
        Policy::Check(options) => check::run(&options),
        Policy::Test(options) => test::run(&options),
        Policy::Explain(options) => explain::run(options),
        Policy::Report(options) => report::run(&options),
        Policy::Diff(options) => diff::run(options).await,
        Policy::Replay(options) => replay::run(options).await,
        Policy::Shadow(options) => shadow::run(options).await,
    }
}

impl Folder {
    fn review(&self) -> Result<Review, Failed> {
        let images = images(self.images.as_deref())?;
        review(&self.catalog, &images, None)
    }
}

/// The ids of images by their names; none without a file.
fn images(file: Option<&Path>) -> Result<BTreeMap<String, String>, Failed> {
    let Some(file) = file else { return Ok(BTreeMap::new()) };
    let config = sandbox::Config { images: file.to_owned(), ..sandbox::Config::default() };
    let images = sandbox::images(&config);
    match images.is_empty() {
        true => Err(Failed::usage(format!("`{}` names no images", file.display()))),
        false => Ok(images),
    }
}

/// Loads a policies folder for review; with `tests` also the tools in it that only tests need.
fn review(
    folder: &Path,
    images: &BTreeMap<String, String>,
    tests: Option<&Path>,
) -> Result<Review, Failed> {
    let load = |folder: &Path| {
        if !folder.is_dir() {
            return Err(Failed::usage(format!("`{}` is not a folder", folder.display())));
        }
        let image = |name: &str| match images.is_empty() {
            true => Some(String::new()),
            false => images.get(name).cloned(),
        };
        Ok(Catalog::load_with(folder, &image, None))
    };
    let catalog = load(folder)?;
    let catalog = match tests.filter(|tests| tests.is_dir()) {
        Some(tests) => catalog.beside("tests", load(tests)?),
        None => catalog,
    };
    Review::load(folder, catalog).map_err(Failed::usage)
}

/// A policy in one line: who answers for it, and where it stands.
fn line(rule: &RuleFacts) -> String {
    format!("{} {} (owner {}, {}:{})", rule.effect, rule.id, rule.owner, rule.file, rule.line)
}
