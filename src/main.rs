//! The `switchboard` binary: reads the command line and hands over to `cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    switchboard::cli::run()
}
