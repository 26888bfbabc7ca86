//! Starts tools. Helper processes wait, made ahead of the calls that will need them; a [`Plan`] turns
//! one into the tool (see `stage`). Hands out the tool's pipes and the news of its end.

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use std::process::{Command, Stdio};
use std::rc::Rc;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::oneshot::{self, error::TryRecvError};

use crate::reap::{Ended, Reaper};
use crate::spawner::send;

/// Longest message of a helper that could not become the tool.
const MESSAGE: u64 = 4096;
/// Helpers that wait in the worker tier.
const SPARE: usize = 4;

/// Everything a helper needs to become the tool.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) argv: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) cwd: String,
    pub(crate) open_files: u64,
    pub(crate) file_bytes: u64,
    pub(crate) processes: Option<u64>,
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) user: u32,
}

/// A process that waits for its plan, and then is the tool.
pub(crate) struct Helper {
    pub(crate) pid: Option<Pid>,
    pub(crate) ended: oneshot::Receiver<Ended>,
    pub(crate) stdin: pipe::Sender,
    pub(crate) stdout: pipe::Receiver,
    pub(crate) stderr: pipe::Receiver,
    pub(crate) control: Control,
}

/// The line to a helper. It closes when the tool starts.
pub(crate) struct Control(UnixStream);

/// Keeps helpers ready.
pub(crate) struct Launcher {
    reaper: Rc<Reaper>,
    ready: RefCell<Vec<Helper>>,
    /// The line to the spawner, in the worker tier.
    spawner: RefCell<Option<StdStream>>,
}

impl Launcher {
    pub(crate) fn new(reaper: Rc<Reaper>) -> Self {
        Self { reaper, ready: RefCell::default(), spawner: RefCell::default() }
    }

    /// Starts a helper ahead of the first call. A failure shows when a tool is started.
    pub(crate) fn prepare(&self) {
        self.ready.borrow_mut().extend(self.start());
    }

    /// Makes a helper ready for a further call.
    pub(crate) async fn refill(&self) {
        if self.ready.borrow().len() < SPARE
            && let Ok(helper) = self.make().await
        {
            self.ready.borrow_mut().push(helper);
        }
    }

    /// A helper that waits, or a new one.
    pub(crate) async fn take(&self) -> io::Result<Helper> {
        loop {
            let waiting = self.ready.borrow_mut().pop();
            let Some(mut helper) = waiting else { break };
            if matches!(helper.ended.try_recv(), Err(TryRecvError::Empty)) {
                return Ok(helper);
            }
        }
        if self.spawner.borrow().is_some() { self.make().await } else { self.start() }
    }

    /// Has the spawner make a helper; starts one if it cannot.
    async fn make(&self) -> io::Result<Helper> {
        match self.spawn().await {
            Ok(helper) => Ok(helper),
            Err(_) => {
                drop(self.spawner.take());
                self.start()
            }
        }
    }

    async fn spawn(&self) -> io::Result<Helper> {
        let (stdin, feed) = pipe_with(PipeFlags::CLOEXEC)?;
        let (stdout, output) = pipe_with(PipeFlags::CLOEXEC)?;
        let (stderr, errors) = pipe_with(PipeFlags::CLOEXEC)?;
        let mut control = {
            let mut spawner = self.spawner.borrow_mut();
            let orders = match &mut *spawner {
                Some(orders) => orders,
                None => spawner.insert(self.start_spawner()?),
            };
            let (ours, theirs) = StdStream::pair()?;
            let fds = [theirs.as_fd(), stdin.as_fd(), output.as_fd(), errors.as_fd()];
            send(orders, &fds)?;
            ours.set_nonblocking(true)?;
            UnixStream::from_std(ours)?
        };
        drop((stdin, output, errors));
        let mut number = [0; 4];
        control.read_exact(&mut number).await?;
        let pid = Pid::from_raw(i32::from_be_bytes(number)).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Helper {
            pid: Some(pid),
            ended: self.reaper.adopt(pid),
            stdin: pipe::Sender::from_owned_fd(feed)?,
            stdout: pipe::Receiver::from_owned_fd(stdout)?,
            stderr: pipe::Receiver::from_owned_fd(stderr)?,
            control: Control(control),
        })
    }

    fn start_spawner(&self) -> io::Result<StdStream> {
        let (ours, theirs) = StdStream::pair()?;
        let child = Command::new(std::env::current_exe()?)
            .arg("spawn")
            .env_clear()
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        // Its end shows on its line.
        drop(self.reaper.watch(child));
        Ok(ours)
    }

    fn start(&self) -> io::Result<Helper> {
        let (ours, theirs) = StdStream::pair()?;
        let (stdin, feed) = pipe_with(PipeFlags::CLOEXEC)?;
        let mut child = Command::new(std::env::current_exe()?)
            .arg("exec")
            .env_clear()
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let pipes = child.stdout.take().zip(child.stderr.take());
        let (pid, ended) = self.reaper.watch(child);
        let (stdout, stderr) = pipes.ok_or(io::ErrorKind::BrokenPipe)?;
        send(&ours, &[stdin.as_fd()])?;
        ours.set_nonblocking(true)?;
        Ok(Helper {
            pid,
            ended,
            stdin: pipe::Sender::from_owned_fd(feed)?,
            stdout: pipe::Receiver::from_owned_fd(stdout.into())?,
            stderr: pipe::Receiver::from_owned_fd(stderr.into())?,
            control: Control(UnixStream::from_std(ours)?),
        })
    }
}

impl Control {
    /// Sends the plan and waits until the tool runs; an error says why it does not.
    pub(crate) async fn launch(mut self, plan: &Plan) -> Result<(), String> {
        let lost = |error: io::Error| format!("cannot reach the helper: {error}");
        let plan = serde_json::to_vec(plan).map_err(|error| lost(error.into()))?;
        let length = u32::try_from(plan.len()).unwrap_or(u32::MAX);
        self.0.write_all(&length.to_be_bytes()).await.map_err(lost)?;
        self.0.write_all(&plan).await.map_err(lost)?;
        let mut message = Vec::new();
        // A tool that starts ends the line; a reset means the same.
        self.0.take(MESSAGE).read_to_end(&mut message).await.ok();
        if message.is_empty() { Ok(()) } else { Err(String::from_utf8_lossy(&message).into()) }
    }
}
