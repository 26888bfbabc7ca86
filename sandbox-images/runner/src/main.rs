//! The one program in every sandbox image. Without arguments it is PID 1; its other modes are the
//! steps that PID 1 starts as processes of their own.
#![forbid(unsafe_code)]

use std::process::ExitCode;

mod supervise;
mod link;
mod call;
mod files;
mod wire;
mod input;
mod output;
mod launch;
mod stage;
mod spawner;
mod reap;
mod kill;
mod port;
mod cgroup;
mod disk;
mod users;

fn main() -> ExitCode {
    let mode = std::env::args().nth(1);
    match mode.as_deref() {
        None => supervise::main(),
        Some("exec") => stage::main(),
        Some("spawn") => spawner::main(),
        Some("http") => switchboard_runner::http::main(),
        Some(_) => ExitCode::from(2),
    }
}
