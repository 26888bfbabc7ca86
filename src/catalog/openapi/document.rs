//! One OpenAPI document and the files it refers to, all read before anything else looks at them.
//! Nothing is ever fetched, and no file outside the main document's folder is opened.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::refs::split;
use super::yaml;
use crate::catalog::file::{Fault, MAX_FILE, join_inside, read_text};

/// Most files that one document may be spread over.
const MAX_FILES: usize = 5_000;

/// Which OpenAPI a document is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V30,
    V31,
}

/// The main document (file 0) and every file that it reaches.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) version: Version,
    pub(super) files: Vec<File>,
    index: HashMap<PathBuf, usize>,
    broken: HashMap<PathBuf, String>,
}

/// One file, by its path inside the folder.
#[derive(Debug)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) value: Value,
}

impl Document {
    /// Reads the document at `path` and the files beside and below it that it names.
    pub(super) fn open(path: &Path) -> Result<Self, Fault> {
        let unreadable = |error| Fault::new("", format!("cannot be read: {error}"));
        let real = path.canonicalize().map_err(unreadable)?;
        let folder = real.parent().unwrap_or_else(|| Path::new("/")).to_path_buf();
        let value = yaml::parse(&read_text(&real)?)?;
        let name = real.file_name().map(PathBuf::from).unwrap_or_default();
        let mut document = Self::from_value(value, name)?;
        document.follow(&folder);
        Ok(document)
    }

    fn from_value(value: Value, path: PathBuf) -> Result<Self, Fault> {
        let version = version(&value)?;
        let index = HashMap::from([(path.clone(), 0)]);
        Ok(Self { version, files: vec![File { path, value }], index, broken: HashMap::new() })
    }

    /// Reads the named files until no new one is named.
    fn follow(&mut self, folder: &Path) {
        let mut next = 0;
        let mut room = MAX_FILE;
        while let Some(file) = self.files.get(next) {
            let mut wanted = Vec::new();
            gather(&file.value, &mut wanted);
            let base = file.path.clone();
            let names: Vec<PathBuf> =
                wanted.into_iter().filter_map(|reference| beside(&base, reference).ok()).collect();
            next += 1;
            for name in names {
                if self.index.contains_key(&name) || self.broken.contains_key(&name) {
                    continue;
                }
                match load(folder, &name, &mut room) {
                    Ok(_) if self.files.len() >= MAX_FILES => {
                        let reason = format!("more than {MAX_FILES} files");
                        self.broken.insert(name, reason);
                    }
                    Ok(value) => {
                        self.index.insert(name.clone(), self.files.len());
                        self.files.push(File { path: name, value });
                    }
                    Err(reason) => {
                        self.broken.insert(name, reason);
                    }
                }
            }
        }
    }

    /// The file that a reference in `from` names.
    pub(super) fn find(&self, from: usize, reference: &str) -> Result<usize, String> {
        let base = self.files.get(from).map(|file| file.path.as_path());
        let name = beside(base.unwrap_or_else(|| Path::new("")), reference)?;
        match (self.index.get(&name), self.broken.get(&name)) {
            (Some(index), _) => Ok(*index),
            (None, Some(reason)) => Err(reason.clone()),
            (None, None) => Err("was not read".to_owned()),
        }
    }

    /// The root value of a file.
    pub(super) fn root(&self, file: usize) -> &Value {
        self.files.get(file).map_or(&Value::Null, |file| &file.value)
    }

    /// A place as it stands in a message: the pointer, after the file when it is not the main one.
    pub(super) fn describe(&self, file: usize, pointer: &str) -> String {
        match self.files.get(file) {
            Some(named) if file > 0 => format!("{}#{pointer}", named.path.display()),
            Some(_) | None => format!("#{pointer}"),
        }
    }
}

fn version(value: &Value) -> Result<Version, Fault> {
    let Some(map) = value.as_object() else {
        return Err(Fault::new("", "is not an OpenAPI document: no object at its root"));
    };
    if let Some(old) = map.get("swagger") {
        let message = format!(
            "is Swagger {}, which is not supported; convert it to OpenAPI 3.0 first, for example \
             with `swagger2openapi` or converter.swagger.io",
            text(old)
        );
        return Err(Fault::new("/swagger", message));
    }
    let declared = map.get("openapi").map(text).unwrap_or_default();
    if declared == "3.0" || declared.starts_with("3.0.") {
        Ok(Version::V30)
    } else if declared == "3.1" || declared.starts_with("3.1.") {
        Ok(Version::V31)
    } else if declared.is_empty() {
        let message = "is not an OpenAPI document: it has no key `openapi`";
        Err(Fault::new("", message))
    } else {
        let message = format!("declares openapi `{declared}`; 3.0 and 3.1 are supported");
        Err(Fault::new("/openapi", message))
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Collects every reference to another file.
fn gather<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(map) => {
            for (key, member) in map {
                match member {
                    Value::String(text) if key == "$ref" && !text.starts_with('#') => {
                        found.push(text);
                    }
                    other => gather(other, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The path of a referenced file inside the folder, from the file that names it.
fn beside(base: &Path, reference: &str) -> Result<PathBuf, String> {
    let (target, _) = split(reference);
    if target.is_empty() {
        return Ok(base.to_path_buf());
    }
    let target = percent_encoding::percent_decode_str(target)
        .decode_utf8()
        .map_err(|error| format!("is not UTF-8: {error}"))?;
    let scheme = target.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    });
    if scheme || target.starts_with('/') || target.contains('\\') {
        return Err("leaves the document, and references are never fetched".to_owned());
    }
    let folder = base.parent().unwrap_or_else(|| Path::new(""));
    let whole = folder.join(target.as_ref());
    let inside = join_inside(Path::new(""), &whole.to_string_lossy());
    inside.ok_or_else(|| "leaves the folder of the document".to_owned())
}

fn load(folder: &Path, name: &Path, room: &mut u64) -> Result<Value, String> {
    let kind = name.extension().and_then(|kind| kind.to_str());
    if !matches!(kind, Some("json" | "yaml" | "yml")) {
        return Err("is neither JSON nor YAML by its name".to_owned());
    }
    let path = folder.join(name);
    let real = path.canonicalize().map_err(|error| format!("cannot be read: {error}"))?;
    if !real.starts_with(folder) || real.components().any(|part| part == Component::ParentDir) {
        return Err("leaves the folder of the document by a symbolic link".to_owned());
    }
    let text = read_text(&real).map_err(|fault| fault.message)?;
    let size = u64::try_from(text.len()).unwrap_or(u64::MAX);
    *room = room
        .checked_sub(size)
        .ok_or_else(|| format!("makes the document larger than {MAX_FILE} bytes"))?;
    yaml::parse(&text).map_err(|fault| format!("{}: {}", fault.place, fault.message))
}
