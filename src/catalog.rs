//! Room 2: which tools exist. Reads manifests, OpenAPI documents and sandbox profiles into one
//! [`Catalog`], and resolves a call's tool name in it: [`Admitted`] in, [`Resolved`] out.

mod address;
mod build;
mod cache;
mod ceiling;
mod declared;
mod dialect;
mod digest;
mod envelope;
mod error;
mod file;
mod files;
mod http;
mod lint;
mod listed;
mod load;
mod loops;
mod manifest;
mod node;
mod openapi;
mod outline;
mod pattern;
mod profile;
mod resolve;
mod search;
mod seccomp;
mod secret;
mod source;
mod summary;
mod target;
#[cfg(test)]
mod tests;
mod units;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::admission::{Admitted, Limit};

pub(crate) use address::{Network, special};
pub use cache::Cache;
pub use ceiling::Ceiling;
pub(crate) use declared::{Flaw, Named, declared};
pub use dialect::{
    Dialect, Export, Exported, Exports, Loss, Mould, Plans, export, exported_keys, exported_name,
    restore,
};
pub use envelope::Envelope;
pub use error::Error;
pub(crate) use file::{Fault, nearest, parse_toml, read_text};
pub use files::{Files, Give, Take};
pub(crate) use http::is_same;
pub use http::{
    Body, Field, Follow, Format, HttpRequest, HttpTarget, Key, Manner, Pages, Parameter, Place,
    Retry, Shape, Style,
};
pub use lint::{Finding, Level, RULES, Rule, lint};
pub(crate) use listed::denoted;
pub use load::{Images, Usable, import};
pub use openapi::{ImportReport, Imported, Lines, Note, Skipped};
pub use outline::Argument;
pub use profile::{
    EgressLimits, EgressRule, LONGEST_WALL, Limits, Pool, Profile, Runtime, Tier, Unread,
    worker_calls,
};
pub use search::{Field as SearchField, Found as SearchFound, Hit, How, Index, Match, Search};
pub use seccomp::{Condition, Seccomp, SeccompRule};
pub use secret::{HostPort, Origin, Placement, Secret};
pub use summary::{Step, SummaryField};

/// One tool: everything that the later rooms need to know of it. Immutable once loaded.
#[derive(Debug, Clone)]
pub struct Tool {
    /// Unique name, at most 64 characters of `A-Z a-z 0-9 _ . -`.
    pub name: String,
    /// Written for a model.
    pub description: String,
    /// JSON Schema 2020-12 of the arguments; its type is object. A schema with `x-sensitive: true`,
    /// here or in the output, has its values masked wherever a person could see them.
    pub input_schema: Value,
    /// JSON Schema 2020-12 of the data of a successful reply.
    pub output_schema: Option<Value>,
    /// What runs.
    pub target: Target,
    /// Files that go in and come out.
    pub files: Files,
    /// The envelope it runs in.
    pub profile: Arc<Profile>,
    /// The source it came from: a manifest's file stem or an OpenAPI source's name.
    pub source: String,
    /// The OpenAPI operation's id, or its method and path; `None` for a manifest's tool.
    pub operation: Option<String>,
    /// What harm a call can do.
    pub risk: Risk,
    /// Whether running it twice is as good as once.
    pub idempotent: bool,
    /// How long a result may be served again; `None` for a tool that is not cacheable.
    pub cache_ttl: Option<Duration>,
    /// Whether arguments may be repaired.
    pub repair: Repair,
    /// Declared other names of parameters: alias to real name.
    pub aliases: BTreeMap<String, String>,
    /// JSONPath expressions of the short view; empty for none.
    pub summary_fields: Vec<SummaryField>,
    /// Limits of its own, over all callers.
    pub rate: Limit,
    /// SHA-256 in hex over the whole definition, profile and image included.
    pub digest: String,
    /// What the way back from each dialect goes by, once a call of the dialect came.
    pub plans: Plans,
}

impl Tool {
    /// Whether what it gives can come from outside the platform: it sends HTTP requests, or may
    /// connect somewhere through the egress gate.
    pub fn reaches_outside(&self) -> bool {
        let rules = self.profile.egress.as_deref().unwrap_or_default();
        matches!(self.target, Target::Http(_)) || !rules.is_empty()
    }
}

/// What harm a call of a tool can do; policies group tools by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// Only reads.
    Read,
    /// Changes something that can be changed back.
    Write,
    /// Deletes or overwrites.
    Destructive,
    /// Sends something to the outside world: mail, money, messages.
    Outbound,
}

impl Risk {
    /// The risk as it is written in manifests.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Destructive => "destructive",
            Self::Outbound => "outbound",
        }
    }
}

/// Whether wrong-looking arguments may be repaired where nothing is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Repair {
    /// Never.
    Off,
    /// Only the repairs that lose nothing.
    Safe,
}

/// What runs when a tool is called.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// A program in the profile's image.
    Command(Command),
    /// An HTTP request, sent from a sandbox through the egress gate.
    Http(HttpTarget),
}

/// A program in the profile's image. It is started without a shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Command {
    /// Program and arguments. An element that is exactly `{/pointer}` is replaced by the argument
    /// at that JSON Pointer: a string as it is, anything else as JSON text.
    pub argv: Vec<String>,
    /// What the program reads on standard input.
    #[serde(default)]
    pub stdin: Stdin,
    /// Environment variables, beside `PATH`, `HOME`, `LANG` and `TMPDIR`.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Reads standard output as JSON only, and answers EXECUTION_ERROR when it is not.
    #[serde(default)]
    pub json_output: bool,
}

/// What a program reads on standard input; always followed by end of file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stdin {
    /// The arguments as JSON text.
    #[default]
    Json,
    /// Nothing.
    None,
    /// The argument at this JSON Pointer: a string as it is, anything else as JSON text.
    Pointer(String),
}

/// Something in the policies folder that could not be used; the rest was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file, relative to the policies folder.
    pub file: String,
    /// The place in the file: a key, an operation, a line. Empty for the whole file.
    pub place: String,
    /// What is wrong and how to mend it, in one line.
    pub message: String,
    /// Whether the whole file was left out (else only the place was).
    pub fatal: bool,
}

/// Every tool that can be called, and the profiles they run in. Immutable: a reload makes a new one.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// Sorted by name.
    tools: Vec<Arc<Tool>>,
    /// Tools by the file they came from, relative to the policies folder.
    files: BTreeMap<String, Vec<Arc<Tool>>>,
    /// Documents by the source that names them, both relative to the policies folder.
    documents: BTreeMap<String, String>,
    /// Files of a source's document that could not be read when its tools were made.
    broken: BTreeMap<String, BTreeSet<String>>,
    /// Profiles by their file.
    profiles: BTreeMap<String, Arc<Profile>>,
    /// Seccomp profiles by their file.
    seccomp: BTreeMap<String, Arc<Seccomp>>,
    /// What no profile may exceed, when the operator has said.
    ceiling: Option<Arc<Ceiling>>,
    problems: Vec<Problem>,
    digest: String,
}

impl Catalog {
    /// Every tool, sorted by name.
    pub fn tools(&self) -> &[Arc<Tool>] {
        &self.tools
    }

    /// The document that an OpenAPI source names, relative to the policies folder; `None` of another
    /// file, and of a document that lies elsewhere.
    pub fn document_of(&self, source: &str) -> Option<&str> {
        self.documents.get(source).map(String::as_str)
    }

    /// The file that a tool came from, relative to the policies folder; empty when there is none.
    pub fn file_of(&self, name: &str) -> &str {
        let has = |tools: &[Arc<Tool>]| tools.iter().any(|tool| tool.name == name);
        let file = self.files.iter().find(|(_, tools)| has(tools));
        file.map_or("", |(file, _)| file.as_str())
    }

    /// This catalog and another one, whose files lie in `folder`. Of two tools of one name the other
    /// one is left out, which becomes a problem.
    #[must_use]
    pub fn beside(mut self, folder: &str, other: Self) -> Self {
        for (file, tools) in other.files {
            let (known, free): (Vec<_>, Vec<_>) =
                tools.into_iter().partition(|tool| self.get(&tool.name).is_some());
            let file = format!("{folder}/{file}");
            self.problems.extend(known.iter().map(|tool| Problem {
                file: file.clone(),
                place: tool.name.clone(),
                message: format!("another tool is already called `{}`; rename this one", tool.name),
                fatal: free.is_empty(),
            }));
            self.files.insert(file, free);
        }
        self.documents.extend(
            other.documents.iter().map(|(file, document)| {
                (format!("{folder}/{file}"), format!("{folder}/{document}"))
            }),
        );
        for (file, profile) in other.profiles {
            self.profiles.insert(format!("{folder}/{file}"), profile);
        }
        self.problems.extend(
            other
                .problems
                .into_iter()
                .map(|problem| Problem { file: format!("{folder}/{}", problem.file), ..problem }),
        );
        self.index();
        self
    }

    /// Every sandbox profile, sorted by name.
    pub fn profiles(&self) -> impl Iterator<Item = &Arc<Profile>> {
        self.profiles.values()
    }

    /// The tool of exactly this name.
    pub fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        self.place(name).and_then(|at| self.tools.get(at))
    }

    /// The place of the tool of exactly this name among all tools.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.tools.binary_search_by(|tool| tool.name.as_str().cmp(name)).ok()
    }

    /// What no profile may exceed; `None` when the folder has no `sandbox/ceiling.toml`.
    pub fn ceiling(&self) -> Option<&Ceiling> {
        self.ceiling.as_deref()
    }

    /// What could not be used, file by file.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// SHA-256 in hex over all tools and profiles.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The catalog without some tools; each is given with the reason, which becomes a problem.
    #[must_use]
    pub fn without(mut self, broken: &[(String, String)]) -> Self {
        for (name, reason) in broken {
            for (file, tools) in &mut self.files {
                let before = tools.len();
                tools.retain(|tool| tool.name != *name);
                if tools.len() < before {
                    self.problems.push(Problem {
                        file: file.clone(),
                        place: name.clone(),
                        message: reason.clone(),
                        fatal: tools.is_empty(),
                    });
                }
            }
        }
        self.index();
        self
    }

    /// Brings `tools` and `digest` in line with `files` and `profiles`.
    fn index(&mut self) {
        self.tools = self.files.values().flatten().cloned().collect();
        self.tools.sort_by(|a, b| a.name.cmp(&b.name));
        let tools: Vec<&str> = self.tools.iter().map(|tool| tool.digest.as_str()).collect();
        let profiles: Vec<&Profile> = self.profiles.values().map(Arc::as_ref).collect();
        let mut whole = serde_json::json!({ "tools": tools, "profiles": profiles });
        if let (Some(ceiling), Some(whole)) = (&self.ceiling, whole.as_object_mut()) {
            whole.insert("ceiling".to_owned(), serde_json::json!(**ceiling));
        }
        self.digest = digest::digest(&whole);
    }
}

/// One value of a YAML or JSON text, numbers exact; why not and where, in one line, when it is neither.
pub fn yaml(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Err("is empty".to_owned());
    }
    let said = |fault: file::Fault| format!("{} {}", fault.place, fault.message);
    openapi::value(text).map_err(|fault| said(fault).trim_start().to_owned())
}

/// A call whose tool is known.
#[derive(Debug)]
pub struct Resolved {
    pub(crate) admitted: Admitted,
    pub(crate) tool: Arc<Tool>,
}
