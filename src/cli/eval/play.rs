//! `eval play`: the model that suites are run with, by itself: a script and an address in, answers out to
//! whichever daemon asks there.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use tokio_util::task::TaskTracker;

use super::player::{self, Player};
use super::script::Line;
use crate::catalog;
use crate::cli::{Failed, print};

#[derive(Debug, Args)]
pub(in crate::cli) struct Options {
    /// The script.
    script: PathBuf,
    /// Where it answers; with port 0 at a free one, which is told.
    #[arg(long, default_value = "127.0.0.1:18090")]
    listen: SocketAddr,
}

pub(super) async fn run(options: &Options) -> Result<ExitCode, Failed> {
    let script = read(&options.script).map_err(Failed::usage)?;
    let (player, tasks) = (Player::standing(script), TaskTracker::new());
    let bound = player::serve(player, None, options.listen, &tasks).await;
    let bound = bound.map_err(Failed::usage)?;
    print::text(&format!("the model is played: listening on http://{bound}"))?;
    tasks.close();
    tasks.wait().await;
    Err(Failed::answer("the model is not played any more"))
}

/// Reads a script.
fn read(path: &Path) -> Result<Vec<Line>, String> {
    let wrong = |why: String| format!("the script `{}`: {why}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let lines = catalog::yaml(&text).map_err(wrong)?;
    let lines: Vec<Line> =
        serde_json::from_value(lines).map_err(|error| wrong(error.to_string()))?;
    for (at, line) in lines.iter().enumerate() {
        line.check().map_err(|why| wrong(format!("answer {}: {why}", at + 1)))?;
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_of_the_quickstart_is_read_and_a_wrong_one_is_told() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let lines = read(&root.join("deploy/quickstart/model.yaml")).unwrap();
        assert!(lines.iter().any(|line| !line.calls.is_empty()), "{lines:?}");
        let file = tempfile::NamedTempFile::new().unwrap();
        for (text, part) in [
            ("- { sees: [a] }", "answer 1: an answer says nothing"),
            ("- { says: a }", "says"),
            ("a: b", "script"),
            ("", "is empty"),
        ] {
            std::fs::write(file.path(), text).unwrap();
            let why = read(file.path()).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}
