//! Files of one call. Those it brings are written below the working directory before the tool starts;
//! those the tool gives are read when nothing of the tool is alive any more. Follows no link, waits
//! for no other process, holds one piece at a time.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fchmod, fstat, mkdirat, openat,
    openat2, statat,
};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Uid, set_dumpable_behavior};
use rustix::thread::set_thread_res_uid;
use switchboard_runner::file::{IN, OUT, is_name};
use switchboard_runner::{Given, Kind, Refused, Request, Taken};

use crate::wire::Wire;

/// Largest payload of a frame with a file's bytes.
const PIECE: usize = 64 << 10;

/// The folder from which files are given, opened before the tool could touch it.
pub(crate) struct Folder(OwnedFd);

/// Writes the files that a call brings, and opens the folder for those that it wants back. `None`
/// when it wants none.
pub(crate) async fn take(wire: &Wire, request: &Request) -> Result<Option<Folder>, String> {
    if request.take.is_empty() && request.give.is_empty() {
        return Ok(None);
    }
    // Other calls could reach into the folders.
    if !request.last {
        return Err("files need a sandbox that no other call shares".into());
    }
    if !request.take.iter().map(|file| &file.name).chain(&request.give).all(|name| is_name(name)) {
        return Err("a file's name is not allowed".into());
    }
    let base = open_folder(CWD, &request.cwd).map_err(failed("open", &request.cwd))?;
    let folder = match request.give.is_empty() {
        true => None,
        false => Some(Folder(make(&base, OUT, 0o777).map_err(failed("make the folder", OUT))?)),
    };
    if !request.take.is_empty() {
        let place = make(&base, IN, 0o755).map_err(failed("make the folder", IN))?;
        receive(wire, &place, &request.take).await?;
    }
    Ok(folder)
}

fn failed<'n>(what: &'n str, name: &'n str) -> impl Fn(Errno) -> String + 'n {
    move |error| format!("cannot {what} `{name}`: {error}")
}

fn open_folder(at: impl std::os::fd::AsFd, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, name, flags, Mode::empty())
}

/// A new folder; one that is there already is an error.
fn make(base: &OwnedFd, name: &str, mode: u32) -> Result<OwnedFd, Errno> {
    mkdirat(base, name, Mode::RWXU)?;
    let folder = open_folder(base, name)?;
    fchmod(&folder, Mode::from_raw_mode(mode))?;
    Ok(folder)
}

/// Writes the files from the frames that carry them. Their owner is root, so that the tool can read
/// them and nothing else.
async fn receive(wire: &Wire, place: &OwnedFd, files: &[Taken]) -> Result<(), String> {
    let mut payload = Vec::new();
    let mut at = 0;
    for Taken { name, bytes } in files {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let flags = flags | OFlags::NOFOLLOW;
        let file = openat(place, name.as_str(), flags, Mode::RUSR | Mode::RGRP | Mode::ROTH);
        let mut file = File::from(file.map_err(failed("write", name))?);
        let mut left = *bytes;
        while left > 0 {
            if at == payload.len() {
                at = 0;
                match wire.receive(&mut payload).await {
                    Ok(Some(Kind::Take)) if !payload.is_empty() => {}
                    Ok(_) | Err(_) => return Err(format!("the file `{name}` came in part only")),
                }
            }
            let rest = payload.get(at..).unwrap_or_default();
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
            let piece = rest.get(..most).unwrap_or_default();
            file.write_all(piece).map_err(|error| format!("cannot write `{name}`: {error}"))?;
            at += piece.len();
            left -= u64::try_from(piece.len()).unwrap_or(left);
        }
    }
    match at == payload.len() {
        true => Ok(()),
        false => Err("more came than the call's files hold".into()),
    }
}

/// Says for each file of a call whose tool did not end by itself that it is not given.
pub(crate) fn give_none(request: &Request, why: &Refused) -> Vec<Given> {
    let none = |name: &String| Given { name: name.clone(), bytes: 0, refused: Some(why.clone()) };
    request.give.iter().map(none).collect()
}

/// Sends the files that the call wants back. Nothing of the tool may be alive. An error is that of
/// the daemon's going away.
pub(crate) async fn give(
    wire: &Wire,
    folder: &Folder,
    request: &Request,
    user: u32,
) -> io::Result<Vec<Given>> {
    let mut room = request.give_bytes;
    let mut given = Vec::with_capacity(request.give.len());
    for name in &request.give {
        let (bytes, refused) = match as_user(user, || open(folder, name, room)) {
            Ok((file, length)) => send(wire, file, length).await?,
            Err(refused) => (0, Some(refused)),
        };
        room = room.saturating_sub(bytes);
        given.push(Given { name: name.clone(), bytes, refused });
    }
    Ok(given)
}

/// Does something with the rights of the tool: PID 1 has no capability to read what it made, and
/// should open nothing that the tool could not.
fn as_user<T>(user: u32, work: impl FnOnce() -> Result<T, Refused>) -> Result<T, Refused> {
    let become_user = |effective: Uid| {
        let done = set_thread_res_uid(Uid::ROOT, effective, Uid::ROOT);
        // The kernel may make a process readable again when its user changes.
        done.and_then(|()| set_dumpable_behavior(DumpableBehavior::NotDumpable))
            .map_err(|error| unreadable(error.into()))
    };
    become_user(Uid::from_raw(user))?;
    let result = work();
    become_user(Uid::ROOT)?;
    result
}

#[expect(clippy::needless_pass_by_value, reason = "errors are handed over where they arise")]
fn unreadable(error: io::Error) -> Refused {
    Refused::Unreadable(error.to_string())
}

/// Opens a regular file that has one name and fits, and tells its length. The name is one segment, so
/// that nothing but its last part could be a link.
fn open(folder: &Folder, name: &str, room: u64) -> Result<(File, u64), Refused> {
    let found = |error: Errno| match error {
        Errno::NOENT => Refused::Missing,
        Errno::LOOP => Refused::NotRegular("a symbolic link".into()),
        error => unreadable(error.into()),
    };
    // A device is not even opened; what was opened is looked at once more.
    let seen = statat(&folder.0, name, AtFlags::SYMLINK_NOFOLLOW).map_err(found)?;
    judge(&seen, room)?;
    let file = open_beneath(&folder.0, name).map_err(found)?;
    let stat = fstat(&file).map_err(found)?;
    let place = fstat(&folder.0).map_err(found)?;
    if stat.st_dev != place.st_dev {
        return Err(Refused::Unreadable("it lies on another file system".into()));
    }
    Ok((File::from(file), judge(&stat, room)?))
}

/// The length of a file that may be given.
fn judge(stat: &Stat, room: u64) -> Result<u64, Refused> {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => None,
        FileType::Symlink => Some("a symbolic link"),
        FileType::Directory => Some("a folder"),
        FileType::Fifo => Some("a FIFO"),
        FileType::Socket => Some("a socket"),
        FileType::CharacterDevice | FileType::BlockDevice => Some("a device"),
        FileType::Unknown => Some("of an unknown kind"),
    };
    if let Some(kind) = kind {
        return Err(Refused::NotRegular(kind.into()));
    }
    if stat.st_nlink != 1 {
        return Err(Refused::Linked);
    }
    match u64::try_from(stat.st_size) {
        Ok(length) if length <= room => Ok(length),
        length => Err(Refused::TooLarge(length.unwrap_or_default())),
    }
}

fn open_beneath(folder: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = flags | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV;
    match openat2(folder, name, flags, Mode::empty(), resolve) {
        // Kernels and system call filters that do not have it. A name of one segment needs no more.
        Err(Errno::NOSYS | Errno::PERM) => openat(folder, name, flags, Mode::empty()),
        opened => opened,
    }
}

/// Sends `length` bytes; what the file has beyond or below is an error.
async fn send(wire: &Wire, mut file: File, length: u64) -> io::Result<(u64, Option<Refused>)> {
    let mut piece = vec![0; PIECE];
    let mut sent = 0;
    while sent < length {
        let most = usize::try_from(length - sent).unwrap_or(PIECE).min(PIECE);
        let read = match file.read(piece.get_mut(..most).unwrap_or_default()) {
            Ok(0) => return Ok((sent, Some(Refused::Unreadable("it became shorter".into())))),
            Ok(read) => read,
            Err(error) => return Ok((sent, Some(unreadable(error)))),
        };
        wire.send(Kind::Give, piece.get(..read).unwrap_or_default()).await?;
        sent += u64::try_from(read).unwrap_or_default();
    }
    Ok((sent, None))
}
