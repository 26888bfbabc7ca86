//! The second stage: a helper process that takes its stdin and a plan from PID 1, gives up every
//! privilege and becomes the tool. Reports a failure on the line to PID 1, never in the tool's output.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::fs::{Gid, Uid};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, setsid};
use rustix::thread::{set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use switchboard_runner::http;

use crate::launch::Plan;
use crate::spawner;

/// Queued signals and timers of a tool; the kernel counts them for its user on the whole host.
const SIGNALS: u64 = 256;

/// Runs as the helper. Returns when there is no tool to become, or when it was the tool itself.
pub(crate) fn main() -> ExitCode {
    prepare().map_or(ExitCode::FAILURE, serve)
}

/// Waits for the plan and becomes the tool.
pub(crate) fn serve(mut line: UnixStream) -> ExitCode {
    let Ok(plan) = receive(&mut line) else {
        return ExitCode::FAILURE;
    };
    let own = own_arguments(&plan);
    let message = match (confine(&plan), own) {
        (Ok(()), Some(arguments)) => {
            // The end of the line says that the tool has started.
            drop(line);
            return http::serve(&arguments, proxy(&plan));
        }
        (Ok(()), None) => start(&plan),
        (Err(message), _) => message,
    };
    line.write_all(message.as_bytes()).ok();
    ExitCode::FAILURE
}

/// The arguments of the HTTP client, if that is what shall run: it is this very program, and starting
/// it once more would cost as much as all the rest of the call.
fn own_arguments(plan: &Plan) -> Option<Vec<OsString>> {
    let [program, mode, arguments @ ..] = plan.argv.as_slice() else {
        return None;
    };
    let own = mode == "http" && std::env::current_exe().is_ok_and(|own| own == *program);
    own.then(|| arguments.iter().map(OsString::from).collect())
}

fn proxy(plan: &Plan) -> &str {
    let value = plan.env.iter().rev().find(|(name, _)| name == "HTTP_PROXY");
    value.map_or("", |(_, value)| value)
}

/// All that needs no plan, so that it is done before the call comes.
fn prepare() -> io::Result<UnixStream> {
    let line = UnixStream::from(rustix::stdio::stdin().try_clone_to_owned()?);
    let stdin = spawner::receive(&line)?;
    rustix::stdio::dup2_stdin(stdin.first().ok_or(io::ErrorKind::UnexpectedEof)?)?;
    restrict()?;
    separate()?;
    Ok(line)
}

/// What children inherit.
pub(crate) fn restrict() -> io::Result<()> {
    set_no_new_privs(true)?;
    let lower =
        |resource, most| setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    lower(Resource::Core, 0)?;
    // Linux takes any lower limit. gVisor refuses to set these two, and shares them with nobody.
    lower(Resource::Msgqueue, 0).ok();
    lower(Resource::Sigpending, SIGNALS).ok();
    Ok(())
}

/// What each helper does for itself.
pub(crate) fn separate() -> io::Result<()> {
    setsid()?;
    // The kernel shall end the tool before PID 1. Not every sandbox has the file.
    fs::write("/proc/self/oom_score_adj", "1000").ok();
    Ok(())
}

fn receive(line: &mut UnixStream) -> io::Result<Plan> {
    let mut length = [0; 4];
    line.read_exact(&mut length)?;
    let mut text = vec![0; usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX)];
    line.read_exact(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

/// Becomes the program. Returns what went wrong.
fn start(plan: &Plan) -> String {
    let Some((program, arguments)) = plan.argv.split_first() else {
        return "the command is empty".into();
    };
    let error =
        Command::new(program).args(arguments).env_clear().envs(plan.env.iter().cloned()).exec();
    format!("cannot start `{program}`: {error}")
}

/// Limits, user and folder of the tool.
fn confine(plan: &Plan) -> Result<(), String> {
    give_up(plan).map_err(|error| format!("cannot give up privileges: {error}"))?;
    std::env::set_current_dir(&plan.cwd)
        .map_err(|error| format!("cannot enter working directory `{}`: {error}", plan.cwd))
}

fn give_up(plan: &Plan) -> io::Result<()> {
    let limits = [
        (Resource::Nofile, Some(plan.open_files)),
        (Resource::Fsize, Some(plan.file_bytes)),
        (Resource::Nproc, plan.processes),
        (Resource::As, plan.memory_bytes),
    ];
    for (resource, wanted) in limits {
        let Some(wanted) = wanted else { continue };
        let hard = getrlimit(resource).maximum;
        let value = Some(hard.map_or(wanted, |hard| wanted.min(hard)));
        setrlimit(resource, Rlimit { current: value, maximum: value })?;
    }
    let (user, group) = (Uid::from_raw(plan.user), Gid::from_raw(plan.user));
    set_thread_groups(&[])?;
    set_thread_res_gid(group, group, group)?;
    set_thread_res_uid(user, user, user)?;
    Ok(())
}
