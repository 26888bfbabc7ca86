//! Which files a tool takes and gives: the `[files]` table of a manifest in, [`Files`] out, checked
//! against what a sandbox and a message can hold.

use serde::{Deserialize, Serialize};

use super::file::Fault;
use super::units::Size;
use super::{Limits, Profile, Target, Tier};
use crate::call::{BadName, MAX_FILES, MAX_FILES_BYTES, check_names};

/// What a file costs in the scratch file system beyond its content: it fills whole pages.
const PAGE: u64 = 4096;

/// The files of a tool. A tool without a `[files]` table takes and gives none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Files {
    /// Files that a call may bring; they lie in `/tmp/in`.
    pub take: Option<Take>,
    /// Files that a call can have back, from `/tmp/out`.
    pub give: Option<Give>,
    /// Standard output is a file of this name and no data.
    pub stdout: Option<String>,
}

/// Which files a call may bring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Take {
    /// At most so many; at least 1.
    pub count: u32,
    /// At most so many bytes in all.
    pub bytes: u64,
    /// Media types, `image/*` for all of a kind; empty for any.
    pub media_types: Vec<String>,
}

/// Which files a tool gives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Give {
    /// At most so many; at least 1.
    pub count: u32,
    /// At most so many bytes in all.
    pub bytes: u64,
    /// The files that there are. Empty: the call names those that it wants.
    pub names: Vec<String>,
}

impl Take {
    /// Whether files of this media type are taken.
    pub fn allows(&self, media_type: &str) -> bool {
        self.media_types.is_empty()
            || self.media_types.iter().any(|allowed| match allowed.strip_suffix('*') {
                Some(kind) => media_type.starts_with(kind),
                None => media_type == allowed,
            })
    }
}

impl Files {
    /// The files that are collected for a call that asks for `asked`.
    pub fn wanted<'f>(&'f self, asked: &'f [String]) -> &'f [String] {
        match &self.give {
            Some(give) if asked.is_empty() => &give.names,
            _ => asked,
        }
    }
}

/// The table as it stands in a manifest.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FilesTable {
    take: Option<TakeTable>,
    give: Option<GiveTable>,
    stdout: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TakeTable {
    count: u32,
    bytes: Size,
    #[serde(default)]
    media_types: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GiveTable {
    count: Option<u32>,
    bytes: Size,
    #[serde(default)]
    names: Vec<String>,
}

/// Checks the table by itself.
pub(super) fn read(table: FilesTable) -> Result<Files, Fault> {
    let take = table.take.map(|take| Take {
        count: take.count,
        bytes: take.bytes.0,
        media_types: take.media_types,
    });
    let give = match table.give {
        None => None,
        Some(give) => {
            let named = u32::try_from(give.names.len()).unwrap_or(u32::MAX);
            let count = match (give.count, named) {
                (Some(count), 0) => count,
                (None, named) if named > 0 => named,
                (None, _) => return Err(Fault::new("files.give", "needs a `count`, or `names`")),
                (Some(_), _) => {
                    return Err(Fault::new("files.give", "has `names`; leave `count` out"));
                }
            };
            Some(Give { count, bytes: give.bytes.0, names: give.names })
        }
    };
    let files = Files { take, give, stdout: table.stdout };
    check_sizes(&files)?;
    check_words(&files)?;
    Ok(files)
}

fn check_sizes(files: &Files) -> Result<(), Fault> {
    let take = files.take.as_ref().map(|take| ("files.take", take.count, take.bytes));
    let give = files.give.as_ref().map(|give| ("files.give", give.count, give.bytes));
    for (place, count, bytes) in take.into_iter().chain(give) {
        if !(1..=MAX_FILES).contains(&count) {
            let message = format!("allows {count} files; from 1 to {MAX_FILES} can be handled");
            return Err(Fault::new(place, message));
        }
        if !(1..=MAX_FILES_BYTES).contains(&bytes) {
            let message =
                format!("allows {bytes} bytes; from 1 to {MAX_FILES_BYTES} can be handled");
            return Err(Fault::new(place, message));
        }
    }
    Ok(())
}

fn check_words(files: &Files) -> Result<(), Fault> {
    let names = files.give.iter().flat_map(|give| &give.names).chain(&files.stdout);
    check_names(names).map_err(|bad| {
        let message = match bad {
            BadName::Illegal(name) => format!(
                "`{name}` is no name of a file; write 1 to 128 characters of `A-Z a-z 0-9 . _ -`, \
                 the first no `.` or `-`, the last no `.`"
            ),
            BadName::Twice(name) => format!("names `{name}` twice, whatever the case"),
        };
        Fault::new("files", message)
    })?;
    for media_type in files.take.iter().flat_map(|take| &take.media_types) {
        let legal = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|byte| {
                    byte.is_ascii_lowercase()
                        || byte.is_ascii_digit()
                        || b"!#$&^_.+-".contains(&byte)
                })
        };
        let parts = media_type.split_once('/');
        if !parts.is_some_and(|(kind, sub)| legal(kind) && (legal(sub) || sub == "*")) {
            let message = format!(
                "`{media_type}` is no media type; write for example `image/png` or `image/*`"
            );
            return Err(Fault::new("files.take.media_types", message));
        }
    }
    Ok(())
}

/// Checks that what runs, and what it runs in, can handle the files.
pub(super) fn check(files: &Files, target: &Target, profile: &Profile) -> Result<(), Fault> {
    if *files == Files::default() {
        return Ok(());
    }
    let Target::Command(command) = target else {
        return Err(Fault::new("files", "are for a tool with `[command]` only"));
    };
    if profile.tier != Tier::Call {
        let message = format!(
            "need a sandbox that no other call shares, and `{}` has the tier `worker`",
            profile.name
        );
        return Err(Fault::new("files", message));
    }
    let Limits { memory, disk, inodes, output, .. } = profile.limits;
    if files.stdout.is_some() && command.json_output {
        return Err(Fault::new("files.stdout", "cannot stand beside `json_output`"));
    }
    if files.stdout.is_some() && output > MAX_FILES_BYTES {
        let message = format!("needs a `limits.output` of at most {MAX_FILES_BYTES} bytes");
        return Err(Fault::new("files.stdout", message));
    }
    let take = files.take.as_ref().map_or((0, 0), |take| (take.count, take.bytes));
    let give = files.give.as_ref().map_or((0, 0), |give| (give.count, give.bytes));
    let count = u64::from(take.0) + u64::from(give.0);
    let needed = take.1 + give.1 + count * PAGE;
    // The scratch file system lies in memory, and counts against both.
    for (limit, least) in [("disk", disk), ("memory", memory)] {
        if needed > least {
            let message = format!(
                "can take {needed} bytes, and `limits.{limit}` of the profile `{}` is {least}",
                profile.name
            );
            return Err(Fault::new("files", message));
        }
    }
    // The root of the file system, and the two folders.
    if count + 3 > inodes {
        let message = format!(
            "need {} files and folders, and `limits.inodes` of the profile `{}` is {inodes}",
            count + 3,
            profile.name
        );
        return Err(Fault::new("files", message));
    }
    Ok(())
}
