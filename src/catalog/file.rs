//! Reads the files of the policies folder: a path in, a typed value or a [`Fault`] that names the
//! place out. Never reads outside the folder it is given.

use std::path::{Component, Path, PathBuf};

use serde::de::DeserializeOwned;

/// Largest file that is read, in bytes.
pub(super) const MAX_FILE: u64 = 64 << 20;

/// What is wrong with a file, and where in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The file, when it is another one than was to be read; relative to the policies folder.
    pub(crate) file: Option<String>,
    pub(crate) place: String,
    pub(crate) message: String,
}

impl Fault {
    pub(super) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { file: None, place: place.into(), message: message.into() }
    }
}

/// Reads a text file of bounded size.
pub(crate) fn read_text(path: &Path) -> Result<String, Fault> {
    let fail = |error: std::io::Error| Fault::new("", format!("cannot be read: {error}"));
    let meta = std::fs::metadata(path).map_err(fail)?;
    if !meta.is_file() {
        return Err(Fault::new("", "is not a regular file"));
    }
    if meta.len() > MAX_FILE {
        let message = format!("has {} bytes; at most {MAX_FILE} are read", meta.len());
        return Err(Fault::new("", message));
    }
    let bytes = std::fs::read(path).map_err(fail)?;
    let text = match bytes.as_slice() {
        // What Windows writes; YAML asks for it too.
        [0xff, 0xfe, rest @ ..] if !rest.is_empty() => wide(rest, u16::from_le_bytes)?,
        [0xfe, 0xff, rest @ ..] if !rest.is_empty() => wide(rest, u16::from_be_bytes)?,
        _ => String::from_utf8(bytes)
            .map_err(|error| Fault::new("", format!("is not UTF-8: {}", error.utf8_error())))?,
    };
    match text.strip_prefix('\u{feff}') {
        Some(rest) => Ok(rest.to_owned()),
        None => Ok(text),
    }
}

/// UTF-16 behind its mark.
fn wide(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, Fault> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let text = String::from_utf16(&pairs.iter().copied().map(unit).collect::<Vec<_>>());
    text.ok()
        .filter(|_| rest.is_empty())
        .ok_or_else(|| Fault::new("", "is neither UTF-8 nor valid UTF-16"))
}

/// Parses TOML; a key that is not known is named with the nearest known one.
pub(crate) fn parse_toml<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    toml::from_str(text).map_err(|error| {
        let place = error.span().map_or_else(String::new, |span| {
            let before = text.get(..span.start).unwrap_or(text);
            let line = before.matches('\n').count();
            // The parser names the line only; the key in front of `=` says more.
            let key = text.lines().nth(line).and_then(|line| line.split_once('='));
            match key.map(|(key, _)| key.trim()) {
                Some(key) if !key.is_empty() => format!("line {}, `{key}`", line + 1),
                Some(_) | None => format!("line {}", line + 1),
            }
        });
        Fault::new(place, one_line(&explain(error.message())))
    })
}

/// Turns serde's list of known keys into a hint at the nearest.
fn explain(message: &str) -> String {
    let Some(rest) = message.strip_prefix("unknown field `") else {
        return message.to_owned();
    };
    let mut names = rest.split('`').step_by(2);
    let key = names.next().unwrap_or_default();
    let known: Vec<&str> = rest.split('`').skip(2).step_by(2).collect();
    match nearest(key, known.iter().copied()).first() {
        Some(best) => format!("unknown key `{key}`; did you mean `{best}`?"),
        None => format!("unknown key `{key}`; known are `{}`", known.join("`, `")),
    }
}

/// At most three of `names` that are close to `wanted`, closest first.
pub(crate) fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let wanted = fold(wanted);
    let mut close: Vec<(f64, &str)> = names
        .map(|name| (strsim::jaro_winkler(&wanted, &fold(name)), name))
        .filter(|(score, _)| *score >= 0.8)
        .collect();
    close.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    close.into_iter().take(3).map(|(_, name)| name).collect()
}

/// A name without its case and with every separator the same.
pub(super) fn fold(name: &str) -> String {
    name.chars()
        .map(|c| match c {
            '-' | '.' | ' ' => '_',
            other => other.to_ascii_lowercase(),
        })
        .collect()
}

/// Joins a relative path to a folder without touching the disk; `None` when it leaves the folder.
pub(super) fn join_inside(folder: &Path, relative: &str) -> Option<PathBuf> {
    let mut depth = 0_usize;
    let mut path = folder.to_path_buf();
    for part in Path::new(relative).components() {
        match part {
            Component::Normal(name) => {
                path.push(name);
                depth += 1;
            }
            Component::ParentDir => {
                depth = depth.checked_sub(1)?;
                path.pop();
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (depth > 0).then_some(path)
}

/// Reads a file named in another file; symbolic links that leave `root` are refused.
pub(super) fn locate(root: &Path, relative: &str) -> Result<PathBuf, Fault> {
    let leaves = || {
        let message = format!("`{relative}` leaves the policies folder; name a file inside it");
        Fault::new("", message)
    };
    let path = join_inside(root, relative).ok_or_else(leaves)?;
    let missing = |error| Fault::new("", format!("`{relative}` cannot be read: {error}"));
    let real = path.canonicalize().map_err(missing)?;
    let base = root.canonicalize().map_err(missing)?;
    if real.starts_with(&base) { Ok(real) } else { Err(leaves()) }
}

/// Makes one line of what may be many.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
