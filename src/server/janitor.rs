//! The janitor's process: started beside the daemon, it sleeps on a pipe that ends when the daemon
//! does, by whatever cause, and then removes what a killed daemon could not.

use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};

use super::Error;
use crate::sandbox::Config;

/// Keeps the janitor asleep; dropped by the end of this process, however it ends.
#[derive(Debug)]
pub(super) struct Janitor {
    _pipe: Option<ChildStdin>,
}

/// Starts the janitor in a process group of its own, so that a signal to the daemon's spares it.
pub(super) fn start(config: &Config, boot: &str) -> Result<Janitor, Error> {
    let program = std::env::current_exe()
        .map_err(|source| Error::System { what: "cannot find the own program", source })?;
    let mut child = Command::new(program)
        .args(["janitor", "--engine", &config.engine])
        .args(["--instance", &config.instance, "--boot", boot])
        // The daemon's environment can hold secrets, and this program needs nothing of it.
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|source| Error::System { what: "cannot start the janitor", source })?;
    Ok(Janitor { _pipe: child.stdin.take() })
}
