//! One OpenAPI document and the files it refers to, all read before anything else looks at them.
//! No file outside the main document's folder is opened, and nothing is fetched but what
//! [`remote`](super::remote) permits.

use std::collections::HashMap;
use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::anchors::Anchors;
use super::extensions::Extensions;
use super::plain;
use super::refs::split;
use super::remote::{Allowed, Fetcher, check_url};
use super::report::Note;
use super::resources::Resources;
use super::slips::Slips;
use super::yaml;
use crate::catalog::digest::of_text;
use crate::catalog::file::{Fault, MAX_FILE, join_inside, read_text};

/// Most files that one document may be spread over.
const MAX_FILES: usize = 5_000;
/// Stands for the digest of a file that cannot be read.
const UNREAD: &str = "-";

/// Which OpenAPI a document is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V20,
    V30,
    V31,
}

/// Where the main document is.
#[derive(Debug, Clone)]
pub(in crate::catalog) enum Origin {
    File(PathBuf),
    Url(Url),
}

impl Origin {
    /// A URL when the text is one, a path otherwise.
    pub(in crate::catalog) fn url(text: &str) -> Option<Result<Url, String>> {
        let known = ["https://", "http://"].iter().any(|scheme| text.starts_with(scheme));
        known.then(|| {
            let url = Url::parse(text).map_err(|error| format!("is no URL: {error}"))?;
            check_url(&url).map(|()| url)
        })
    }
}

/// The name of one file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Name {
    /// By its path inside the folder.
    Inside(PathBuf),
    Remote(Url),
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inside(path) => path.display().fmt(f),
            Self::Remote(url) => url.fmt(f),
        }
    }
}

/// A file of the folder that a document was made of, or would have been.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::catalog) struct Input {
    /// Inside the document's folder.
    pub(in crate::catalog) path: PathBuf,
    /// SHA-256 of its text in hex; `-` for what cannot be read.
    pub(in crate::catalog) digest: String,
}

impl Input {
    /// Whether the file is still what it was.
    pub(in crate::catalog) fn holds(&self, folder: &Path) -> bool {
        let mut room = MAX_FILE;
        let now = text_of(folder, &self.path, &mut room);
        now.map_or_else(|_| UNREAD.to_owned(), |text| of_text(&text)) == self.digest
    }
}

/// The main document (file 0) and every file that it reaches.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) version: Version,
    pub(super) files: Vec<File>,
    index: HashMap<Name, usize>,
    broken: HashMap<Name, String>,
    allowed: Allowed,
    /// Filled when first asked for.
    pub(super) anchors: OnceLock<Anchors>,
    pub(super) extensions: OnceLock<Extensions>,
    pub(super) resources: OnceLock<Resources>,
    /// What is written in another type than it has.
    pub(super) slips: Slips,
    /// Some schema may have an `$id`.
    pub(super) names_schemas: bool,
    /// Some schema may be what a `$dynamicRef` or a `$recursiveRef` leads to.
    pub(super) is_dynamic: bool,
}

/// One file.
#[derive(Debug)]
pub(super) struct File {
    name: Name,
    pub(super) value: Value,
    spellings: yaml::Spellings,
    /// SHA-256 of its text in hex.
    digest: String,
    names_schemas: bool,
    is_dynamic: bool,
}

impl File {
    fn new(name: Name, text: &str) -> Result<Self, Fault> {
        let (value, spellings) = yaml::parse_spelled(text)?;
        Ok(Self {
            name,
            digest: of_text(text),
            value,
            spellings,
            // A search of the text is far cheaper than a walk through what it holds.
            names_schemas: text.contains("$id"),
            is_dynamic: text.contains("$dynamicAnchor") || text.contains("$recursiveAnchor"),
        })
    }
}

/// What is left of the bounds while files are read.
struct Reader<'r> {
    folder: &'r Path,
    fetcher: Fetcher,
    room: u64,
}

impl Document {
    /// Reads the document at `origin`, the files beside and below it that it names, and those that
    /// it names at hosts that are allowed.
    pub(super) fn open(origin: &Origin, allowed: &Allowed) -> Result<Self, Fault> {
        let unreadable = |error| Fault::new("", format!("cannot be read: {error}"));
        let mut allowed = allowed.clone();
        let mut folder = PathBuf::new();
        let (name, text) = match origin {
            Origin::File(path) => {
                let real = path.canonicalize().map_err(unreadable)?;
                folder = real.parent().unwrap_or_else(|| Path::new("/")).to_path_buf();
                let name = real.file_name().map(PathBuf::from).unwrap_or_default();
                (Name::Inside(name), read_text(&real)?)
            }
            Origin::Url(url) => {
                allowed.add(url);
                let text = Fetcher::new(allowed.clone()).fetch(url);
                (Name::Remote(url.clone()), text.map_err(|why| Fault::new("", why))?)
            }
        };
        let file = File::new(name, &text)?;
        drop(text);
        let mut document = Self::from_file(file, allowed.clone())?;
        let fetcher = Fetcher::new(allowed);
        document.follow(&mut Reader { folder: &folder, fetcher, room: MAX_FILE });
        document.mend();
        Ok(document)
    }

    fn from_file(file: File, allowed: Allowed) -> Result<Self, Fault> {
        Ok(Self {
            version: version(&file.value)?,
            index: HashMap::from([(file.name.clone(), 0)]),
            names_schemas: file.names_schemas,
            is_dynamic: file.is_dynamic,
            files: vec![file],
            broken: HashMap::new(),
            allowed,
            anchors: OnceLock::new(),
            extensions: OnceLock::new(),
            resources: OnceLock::new(),
            slips: Slips::default(),
        })
    }

    /// Forgets what was worked out of the files, when these were changed.
    pub(super) fn forget(&mut self) {
        self.anchors.take();
        self.extensions.take();
        self.resources.take();
    }

    /// Reads the named files until no new one is named.
    fn follow(&mut self, reader: &mut Reader<'_>) {
        let mut next = 0;
        while let Some(file) = self.files.get(next) {
            let mut wanted = Vec::new();
            gather(&file.value, &mut wanted);
            let names: Vec<Name> = wanted
                .into_iter()
                .filter_map(|reference| self.beside(&file.name, reference).ok())
                .collect();
            next += 1;
            for name in names {
                if self.index.contains_key(&name) || self.broken.contains_key(&name) {
                    continue;
                }
                match reader.load(&name) {
                    Ok(_) if self.files.len() >= MAX_FILES => {
                        let reason = format!("more than {MAX_FILES} files");
                        self.broken.insert(name, reason);
                    }
                    Ok(file) => {
                        self.index.insert(name, self.files.len());
                        self.names_schemas |= file.names_schemas;
                        self.is_dynamic |= file.is_dynamic;
                        self.files.push(file);
                    }
                    Err(reason) => {
                        self.broken.insert(name, reason);
                    }
                }
            }
        }
    }

    /// The files of the folder that this was made of; `None` when some came from elsewhere.
    pub(super) fn inputs(&self, folder: &Path) -> Option<Vec<Input>> {
        let known = self.files.iter().map(|file| (&file.name, file.digest.clone()));
        let mut inputs = Vec::new();
        for (name, digest) in known {
            match name {
                Name::Inside(path) if has_kind(path) => {
                    inputs.push(Input { path: path.clone(), digest });
                }
                Name::Inside(_) | Name::Remote(_) => return None,
            }
        }
        for name in self.broken.keys() {
            let Name::Inside(path) = name else { return None };
            let text = text_of(folder, path, &mut u64::from(u32::MAX));
            let digest = text.map_or_else(|_| UNREAD.to_owned(), |text| of_text(&text));
            inputs.push(Input { path: path.clone(), digest });
        }
        Some(inputs)
    }

    /// The other files that cannot be read.
    pub(super) fn broken(&self) -> Vec<Note> {
        let all = self.broken.iter();
        let mut all: Vec<Note> = all.map(|(name, why)| Note::new(name.to_string(), why)).collect();
        all.sort_by(|one, two| one.place.cmp(&two.place));
        all
    }

    /// The file that a reference in `from` names.
    pub(super) fn find(&self, from: usize, reference: &str) -> Result<usize, String> {
        let Some(base) = self.files.get(from) else {
            return Err("was not read".to_owned());
        };
        if reference.starts_with('#') {
            return Ok(from);
        }
        let name = self.beside(&base.name, reference)?;
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

    /// A value's text, as its author wrote it where it is a number.
    pub(super) fn spelling(&self, file: usize, pointer: &str, value: &Value) -> String {
        let written = self.files.get(file).and_then(|file| file.spellings.get(pointer));
        written.filter(|_| value.is_number()).cloned().unwrap_or_else(|| plain(value))
    }

    /// Where a file is; `folder` is where the document's own folder is taken to be.
    pub(super) fn url(&self, file: usize, folder: &Url) -> Option<Url> {
        match &self.files.get(file)?.name {
            Name::Inside(path) => folder.join(&path.to_string_lossy()).ok(),
            Name::Remote(url) => Some(url.clone()),
        }
    }

    /// A place as it stands in a message: the pointer, after the file when it is not the main one.
    pub(super) fn describe(&self, file: usize, pointer: &str) -> String {
        match self.files.get(file) {
            Some(named) if file > 0 => format!("{}#{pointer}", named.name),
            Some(_) | None => format!("#{pointer}"),
        }
    }
}

fn version(value: &Value) -> Result<Version, Fault> {
    let Some(map) = value.as_object() else {
        return Err(Fault::new("", "is not an OpenAPI document: no object at its root"));
    };
    if let Some(old) = map.get("swagger").map(plain) {
        if old == "2" || old.starts_with("2.") {
            return Ok(Version::V20);
        }
        let message = format!("is Swagger `{old}`; 2.0 and OpenAPI 3.0 and 3.1 are supported");
        return Err(Fault::new("/swagger", message));
    }
    let declared = map.get("openapi").map(plain).unwrap_or_default();
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

/// Collects every reference to another file.
fn gather<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(map) => {
            for (key, member) in map {
                match member {
                    Value::String(text)
                        if matches!(key.as_str(), "$ref" | "$dynamicRef")
                            && !text.starts_with('#') =>
                    {
                        found.push(text);
                    }
                    // A discriminator's mapping names schemas too, some of them without a folder.
                    Value::Object(names) if key == "mapping" => {
                        let files = names.values().filter_map(Value::as_str);
                        found.extend(files.filter(|name| is_file(name)));
                        gather(member, found);
                    }
                    other => gather(other, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether a mapping's value names a file, rather than a schema of this one.
pub(super) fn is_file(name: &str) -> bool {
    let (file, _) = split(name);
    [".json", ".yaml", ".yml"].iter().any(|end| file.ends_with(end))
}

impl Document {
    /// The name of a referenced file, from the file that names it.
    fn beside(&self, base: &Name, reference: &str) -> Result<Name, String> {
        let (target, _) = split(reference);
        if target.is_empty() {
            return Ok(base.clone());
        }
        let leaves = || {
            "leaves the document; references are fetched only over HTTPS, and from hosts that \
             `references` in the source's file names"
                .to_owned()
        };
        if target.contains('\\') {
            return Err(leaves());
        }
        let folder = match base {
            Name::Remote(base) => {
                let url = base.join(target).map_err(|error| format!("is no URL: {error}"))?;
                return self.allowed.permit(&url).map(|()| Name::Remote(url));
            }
            Name::Inside(path) => path.parent().unwrap_or_else(|| Path::new("")),
        };
        if let Ok(url) = Url::parse(target) {
            check_url(&url).map_err(|_why| leaves())?;
            return self.allowed.permit(&url).map(|()| Name::Remote(url));
        }
        let target = percent_encoding::percent_decode_str(target)
            .decode_utf8()
            .map_err(|error| format!("is not UTF-8: {error}"))?;
        if target.starts_with('/') || target.contains('\\') || Url::parse(&target).is_ok() {
            return Err(leaves());
        }
        let whole = folder.join(target.as_ref());
        let inside = join_inside(Path::new(""), &whole.to_string_lossy());
        inside.map(Name::Inside).ok_or_else(|| "leaves the folder of the document".to_owned())
    }
}

impl Reader<'_> {
    fn load(&mut self, name: &Name) -> Result<File, String> {
        let text = match name {
            Name::Inside(path) => text_of(self.folder, path, &mut self.room)?,
            Name::Remote(url) => self.fetcher.fetch(url)?,
        };
        let file = File::new(name.clone(), &text);
        file.map_err(|fault| format!("{}: {}", fault.place, fault.message))
    }
}

/// Whether a file is JSON or YAML by its name.
fn has_kind(name: &Path) -> bool {
    let kind = name.extension().and_then(|kind| kind.to_str());
    matches!(kind, Some("json" | "yaml" | "yml"))
}

/// The text of a file inside the folder; `room` is how many bytes more may be read.
fn text_of(folder: &Path, name: &Path, room: &mut u64) -> Result<String, String> {
    if !has_kind(name) {
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
    Ok(text)
}
