//! What daemon and runner agree on about the files of a call: which names are allowed, how a file is
//! announced, and why one was not given.

use serde::{Deserialize, Serialize};

/// Longest name of a file, in bytes.
pub const MAX_NAME: usize = 128;
/// Folder below the working directory with the files that a call brings.
pub const IN: &str = "in";
/// Folder below the working directory for the files that a tool gives.
pub const OUT: &str = "out";

/// Whether `name` can be the name of a file: one to [`MAX_NAME`] characters of `A-Z a-z 0-9 . _ -`,
/// of which the first is neither `.` nor `-`, and the last no `.`.
///
/// So no name leads elsewhere, is hidden, is taken for an option by a program, or is changed by a
/// file system on its way.
pub fn is_name(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(legal)
        && !name.starts_with(['.', '-'])
        && !name.ends_with('.')
}

/// A file that a call brings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taken {
    /// Its name, see [`is_name`].
    pub name: String,
    /// Its length.
    pub bytes: u64,
}

/// A file that the tool should give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// Its name, see [`is_name`].
    pub name: String,
    /// How many bytes of it were sent.
    pub bytes: u64,
    /// Why it is not given; what was sent of it is of no use then.
    pub refused: Option<Refused>,
}

/// Why a file is not given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refused {
    /// There is no file of that name.
    Missing,
    /// It has so many bytes, which is more than may be given, together with those before it.
    TooLarge(u64),
    /// It is no regular file but this: `a symbolic link`, `a folder` and the like.
    NotRegular(String),
    /// It has more than one name, so it may be another file than it seems.
    Linked,
    /// The tool was ended before it had finished.
    Ended,
    /// It could not be read, for this reason.
    Unreadable(String),
}
