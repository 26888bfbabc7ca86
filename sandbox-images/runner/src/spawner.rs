//! A process of the worker tier that makes helpers by fork(2): starting a program afresh costs more
//! than all the rest of a small call. It takes the descriptors of a helper, never sees a plan, and
//! leaves the helper to PID 1.

use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use fork::{Fork, fork};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::process::{Pid, WaitOptions, getpid, waitpid};

use crate::stage;

/// Descriptors of one helper: its line, stdin, stdout, stderr.
pub(crate) const DESCRIPTORS: usize = 4;

/// Runs as the spawner, until PID 1 closes the line.
pub(crate) fn main() -> ExitCode {
    let Ok(orders) = rustix::stdio::stdin().try_clone_to_owned() else {
        return ExitCode::FAILURE;
    };
    if stage::restrict().is_err() {
        return ExitCode::FAILURE;
    }
    while let Ok(fds) = receive(&orders) {
        match fork() {
            Ok(Fork::Child) => {
                drop(orders);
                return detach(fds);
            }
            Ok(Fork::Parent(pid)) => {
                drop(fds);
                waitpid(Pid::from_raw(pid), WaitOptions::empty()).ok();
            }
            // Without its descriptors PID 1 sees that there is no helper.
            Err(_) => drop(fds),
        }
    }
    ExitCode::SUCCESS
}

/// The helper is the child of a process that ends at once, so that PID 1 inherits it.
fn detach(fds: Vec<OwnedFd>) -> ExitCode {
    match fork() {
        Ok(Fork::Child) => introduce(fds).map_or(ExitCode::FAILURE, stage::serve),
        Ok(Fork::Parent(_)) | Err(_) => ExitCode::SUCCESS,
    }
}

/// Takes up the descriptors and tells PID 1 who it is.
fn introduce(fds: Vec<OwnedFd>) -> io::Result<UnixStream> {
    let [line, stdin, stdout, stderr] =
        <[OwnedFd; DESCRIPTORS]>::try_from(fds).map_err(|_few| io::ErrorKind::InvalidInput)?;
    rustix::stdio::dup2_stdin(&stdin)?;
    rustix::stdio::dup2_stdout(&stdout)?;
    rustix::stdio::dup2_stderr(&stderr)?;
    let mut line = UnixStream::from(line);
    stage::separate()?;
    line.write_all(&getpid().as_raw_nonzero().get().to_be_bytes())?;
    Ok(line)
}

/// Hands descriptors over.
pub(crate) fn send(socket: impl AsFd, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    sendmsg(socket, &[IoSlice::new(&[0])], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Takes what [`send`] handed over.
pub(crate) fn receive(socket: impl AsFd) -> io::Result<Vec<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let flags = RecvFlags::CMSG_CLOEXEC;
    recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, flags)?;
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(some) = message {
            fds.extend(some);
        }
    }
    if fds.is_empty() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(fds) }
}
