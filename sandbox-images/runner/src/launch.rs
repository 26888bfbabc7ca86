//! Starts tools. A helper process waits, started ahead of the call that will need it; a [`Plan`]
//! turns it into the tool (see `stage`). Hands out the tool's pipes and the news of its end.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use std::process::{Command, Stdio};
use std::rc::Rc;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::oneshot;

use crate::reap::{Ended, Reaper};

/// Longest message of a helper that could not become the tool.
const MESSAGE: u64 = 4096;

/// Everything a helper needs to become the tool.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) argv: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) cwd: String,
    pub(crate) open_files: u64,
    pub(crate) file_bytes: u64,
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

/// Keeps one helper ready.
pub(crate) struct Launcher {
    reaper: Rc<Reaper>,
    ready: RefCell<Option<Helper>>,
}

impl Launcher {
    pub(crate) fn new(reaper: Rc<Reaper>) -> Self {
        Self {
            reaper,
            ready: RefCell::new(None),
        }
    }

    /// Starts a helper ahead of time. A failure shows when a tool is started.
    pub(crate) fn prepare(&self) {
        let mut ready = self.ready.borrow_mut();
        if ready.is_none() {
            *ready = self.start().ok();
        }
    }

    /// The helper that waits, or a new one.
    pub(crate) fn take(&self) -> io::Result<Helper> {
        let waiting = self.ready.borrow_mut().take();
        if let Some(mut helper) = waiting
            && helper.ended.try_recv().is_err()
        {
            return Ok(helper);
        }
        self.start()
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
        pass(&ours, &stdin)?;
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
        self.0
            .write_all(&length.to_be_bytes())
            .await
            .map_err(lost)?;
        self.0.write_all(&plan).await.map_err(lost)?;
        let mut message = Vec::new();
        // A tool that starts ends the line; a reset means the same.
        self.0.take(MESSAGE).read_to_end(&mut message).await.ok();
        if message.is_empty() {
            Ok(())
        } else {
            Err(String::from_utf8_lossy(&message).into())
        }
    }
}

/// Hands a descriptor over.
fn pass(socket: &StdStream, fd: &OwnedFd) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = [fd.as_fd()];
    if !control.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    sendmsg(
        socket,
        &[IoSlice::new(&[0])],
        &mut control,
        SendFlags::NOSIGNAL,
    )?;
    Ok(())
}
