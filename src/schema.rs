//! Room 3: are the arguments what the tool's schema says. [`Resolved`] in, [`Checked`] out, its
//! arguments read strictly, repaired where nothing is lost, and checked again. Runs nothing.

mod canon;
mod files;
mod flaw;
mod hint;
mod notation;
mod partial;
mod reader;
mod reference;
mod repair;
mod shallow;
mod shape;
mod store;
mod terms;
mod validator;
mod violation;
mod wrapping;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::call::{Call, Code, Dialect, Failure, Withheld, digest_of};
use crate::catalog::{Repair, Resolved, Tool};

pub use canon::{canonical, digest};
pub use flaw::{Flaw, FlawKind};
pub use partial::unknown;
pub(crate) use reader::{Bounds, read, read_last};
pub(crate) use reference::follow;
pub use violation::Violation;
pub(crate) use wrapping::ENDS;

pub(crate) use notation::translate as from_notation;
pub(crate) use repair::loosely;
pub(crate) use shape::{Shape, fits};
use store::Slot;
use terms::own;
pub(crate) use terms::own_terms;
use validator::{Compiled, Pair};
use violation::explain;
pub(crate) use violation::{MAX_VIOLATIONS, short_pointer};

/// Largest arguments, in bytes of JSON text.
pub const MAX_ARGUMENTS_BYTES: usize = 1 << 20;
/// Deepest arguments, in levels of arrays and objects.
pub const MAX_DEPTH: usize = 64;
/// New tools whose validators are kept from the start; of more, each is made on first use.
const KEPT: usize = 256;
const BOUNDS: Bounds = Bounds { bytes: MAX_ARGUMENTS_BYTES, depth: MAX_DEPTH };

/// Arguments that fit their schema, after every repair and default.
#[derive(Debug, Clone, PartialEq)]
pub struct Arguments {
    /// The value that policy sees, that runs, is cached and is recorded.
    pub value: Value,
    /// The same as canonical JSON (RFC 8785 order; numbers keep their exact value).
    pub canonical: String,
    /// SHA-256 of `canonical`, in hex.
    pub digest: String,
    /// What was changed on the way.
    pub repairs: Vec<Change>,
}

/// One repair. Texts are shortened beyond 200 characters, secrets are `"***"`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// What was done: `type` (text to number or boolean, number to text), `rename`, `default`,
    /// `decode` (JSON text to what it holds), `notation` (to JSON from Python literals, raw control
    /// characters, comments, keys without quotes, typographic punctuation, characters that nobody
    /// sees, or from inside a fence, thinking and the marks of a call), `enum`, `integer` (5.0 to 5), `unwrap` (the real
    /// arguments stood inside an envelope), `drop` (empty text or null where nothing was meant),
    /// or `more` (`to` counts the changes that are not listed).
    pub kind: String,
    /// JSON Pointer of the place after the repair.
    pub pointer: String,
    /// JSON text before; empty when there was nothing. For `rename` the old name.
    pub from: String,
    /// JSON text after; empty when there is nothing. For `rename` the new name.
    pub to: String,
}

/// A call whose arguments fit.
#[derive(Debug)]
pub struct Checked {
    pub(crate) resolved: Resolved,
    pub(crate) arguments: Arguments,
}

impl Checked {
    /// SHA-256 in hex over all that makes this call this call, under a policy set: its caller, the
    /// tool's definition, the arguments that run, and its files. Approvals, caches and duplicates go
    /// by it.
    pub fn identity(&self, policy_version: &str) -> String {
        let (admitted, tool) = (&self.resolved.admitted, &self.resolved.tool);
        let files = admitted.call.files_digest();
        hex::encode(digest_of([
            &admitted.caller.tenant,
            &admitted.caller.name,
            &tool.digest,
            policy_version,
            &self.arguments.digest,
            &files,
        ]))
    }
}

/// Why arguments were refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// The text is not the JSON it should be.
    #[error("the arguments cannot be read: {0}")]
    Unreadable(Flaw),
    /// JSON, but not an object.
    #[error("the arguments must be a JSON object, but are {0}")]
    NotObject(String),
    /// An object that does not fit the schema.
    #[error("{}", headline(.violations, *.total))]
    Violations {
        /// The first of them, in the terms of the caller.
        violations: Vec<Violation>,
        /// How many there are in all.
        total: usize,
        /// Repairs that were tried and did not suffice.
        repairs: Vec<Change>,
    },
    /// The tool's schema did not compile, or was never compiled.
    #[error(
        "the schema of the tool `{0}` could not be used when it was loaded: mend its definition"
    )]
    NotCompiled(String),
}

fn headline(violations: &[Violation], total: usize) -> String {
    let first = violations.first().map_or("", |first| &first.message);
    match total.saturating_sub(1) {
        0 => first.to_owned(),
        1 => format!("{first} (and 1 more place)"),
        more => format!("{first} (and {more} more places)"),
    }
}

impl Error {
    /// The error as it stands in a reply.
    pub fn failure(&self) -> Failure {
        let details = match self {
            Self::Unreadable(flaw) => json!({
                "violations": [{
                    "pointer": violation::short_pointer(&flaw.pointer),
                    "kind": flaw.kind.as_str(),
                    "message": flaw.message,
                    "expected": null,
                    "got": null,
                }],
                "repairs": [],
                "offset": flaw.offset,
                "line": flaw.line,
                "column": flaw.column,
            }),
            Self::NotObject(got) => json!({
                "violations": [{
                    "pointer": "",
                    "kind": "type",
                    "message": self.to_string(),
                    "expected": {"type": "object"},
                    "got": got,
                }],
                "repairs": [],
            }),
            Self::Violations { violations, total, repairs } => {
                json!({"violations": violations, "total": total, "repairs": repairs})
            }
            Self::NotCompiled(_) => {
                return Failure::new(Code::Internal, self.to_string());
            }
        };
        Failure::new(Code::SchemaValidationError, self.to_string()).with_details(details)
    }
}

// === impl Schemas ===

/// The validators of a catalog, by the tools' digests. In a large catalog they are made when they are
/// first used, since most tools of it never are.
#[derive(Debug, Default)]
pub struct Schemas {
    tools: HashMap<String, Arc<Slot>>,
}

impl Schemas {
    /// Compiles the schemas of `tools`. A tool whose schema cannot be used is named with the
    /// reason; [`Schemas::check`] refuses its calls.
    pub fn compile(tools: &[Arc<Tool>]) -> (Self, Vec<(String, String)>) {
        Self::compile_reusing(tools, &Self::default())
    }

    /// Like [`Schemas::compile`], but takes over what `previous` has of unchanged tools.
    pub fn compile_reusing(tools: &[Arc<Tool>], previous: &Self) -> (Self, Vec<(String, String)>) {
        let (known, new): (Vec<_>, Vec<_>) =
            tools.iter().partition(|tool| previous.tools.contains_key(&tool.digest));
        let keep = new.len() <= KEPT;
        let (mut compiled, mut problems) = (HashMap::with_capacity(tools.len()), Vec::new());
        for tool in known {
            let slot = previous.tools.get(&tool.digest).cloned();
            compiled.extend(slot.map(|slot| (tool.digest.clone(), slot)));
        }
        for (tool, built) in new.iter().zip(store::build_all(&new, keep)) {
            match built {
                Ok(slot) => drop(compiled.insert(tool.digest.clone(), Arc::new(slot))),
                Err(why) => problems.push((tool.name.clone(), why)),
            }
        }
        (Self { tools: compiled }, problems)
    }

    /// The validators of tools whose schemas are known to compile; each is made on first use.
    pub fn trust(tools: &[Arc<Tool>]) -> Self {
        let slot = |tool: &Arc<Tool>| (tool.digest.clone(), Arc::new(Slot::empty(tool)));
        Self { tools: tools.iter().map(slot).collect() }
    }

    /// Checks, and where needed repairs, the arguments of a call, and checks its files.
    pub fn check(&self, resolved: Resolved) -> Result<Checked, Error> {
        let call = &resolved.admitted.call;
        let result = withheld(call)
            .and_then(|()| files::check(&resolved.tool, call))
            .map_err(|wrong| Error::Violations {
                violations: vec![*wrong],
                total: 1,
                repairs: Vec::new(),
            })
            .and_then(|()| self.check_in(call.dialect, &resolved.tool, &call.arguments_json))
            .and_then(|arguments| self.written(&resolved.tool, call, arguments));
        let outcome = match &result {
            Ok(arguments) if arguments.repairs.is_empty() => "ok",
            Ok(_) => "repaired",
            Err(_) => "refused",
        };
        metrics::counter!("switchboard_schema_checks_total", "outcome" => outcome).increment(1);
        let arguments = result?;
        Ok(Checked { resolved, arguments })
    }

    /// Checks arguments given as JSON text against `tool`. Cost is bounded whatever comes.
    pub fn check_text(&self, tool: &Tool, arguments_json: &str) -> Result<Arguments, Error> {
        self.check_in(None, tool, arguments_json)
    }

    /// Like [`Schemas::check_text`], of arguments that are written in a dialect's terms. Putting them
    /// into the tool's own is no repair: it is done for every tool, and not listed among the repairs.
    pub fn check_in(
        &self,
        dialect: Option<Dialect>,
        tool: &Tool,
        arguments_json: &str,
    ) -> Result<Arguments, Error> {
        let compiled = self.input(tool)?;
        let read = match tool.repair {
            Repair::Off => take_valid((tool, dialect), compiled, arguments_json)
                .map(|value| (value, Vec::new())),
            Repair::Safe => repair::repair((tool, dialect), compiled, arguments_json),
        };
        let (value, repairs) = read.map_err(|error| terms::told(error, dialect, tool))?;
        let canonical = canonical(&value);
        Ok(Arguments { digest: digest(&canonical), canonical, value, repairs })
    }

    /// The arguments with the changes that were made before results were put into them.
    fn written(
        &self,
        tool: &Tool,
        call: &Call,
        mut arguments: Arguments,
    ) -> Result<Arguments, Error> {
        if let Some(written) = &call.written {
            let sensitive = self.input(tool)?.sensitive;
            arguments.repairs.splice(0..0, repair::translations(sensitive, written));
        }
        Ok(arguments)
    }

    fn pair(&self, tool: &Tool) -> Option<&Pair> {
        self.tools.get(&tool.digest).and_then(|slot| slot.pair())
    }

    /// The validator of a tool's arguments.
    fn input(&self, tool: &Tool) -> Result<&Compiled, Error> {
        let pair = self.pair(tool).ok_or_else(|| Error::NotCompiled(tool.name.clone()))?;
        Ok(&pair.input)
    }

    /// Checks the data of a successful reply against the tool's output schema, if it has one.
    pub fn check_output(&self, tool: &Tool, data: &Value) -> Result<(), Vec<Violation>> {
        let Some(output) = self.pair(tool).and_then(|pair| pair.output.as_ref()) else {
            return Ok(());
        };
        let (violations, _) = explain(output, data);
        if violations.is_empty() { Ok(()) } else { Err(violations) }
    }
}

/// What speaks against a call before its arguments are looked at.
fn withheld(call: &Call) -> Result<(), Box<Violation>> {
    let Some(Withheld { is_cut, why }) = &call.withheld else { return Ok(()) };
    Err(Box::new(Violation {
        pointer: String::new(),
        kind: if *is_cut { FlawKind::Truncated.as_str() } else { "withheld" }.to_owned(),
        message: why.clone(),
        expected: Value::Null,
        got: Value::Null,
    }))
}

/// What is wrong with a text that is JSON in no notation that is read as such.
pub(crate) fn flaw(text: &str) -> Option<Flaw> {
    repair::reading(text).err()
}

/// The arguments as they are, when they are an object and fit.
fn take_valid(
    (tool, dialect): (&Tool, Option<Dialect>),
    compiled: &Compiled,
    arguments_json: &str,
) -> Result<Value, Error> {
    let value = read(arguments_json, BOUNDS).map_err(Error::Unreadable)?;
    if !value.is_object() {
        return Err(Error::NotObject(kind_of(&value).to_owned()));
    }
    let value = own(dialect, tool, Cow::Owned(value)).into_owned();
    if compiled.is_valid(&value) {
        return Ok(value);
    }
    let (violations, total) = explain(compiled, &value);
    Err(Error::Violations { violations, total, repairs: Vec::new() })
}

/// The JSON type of a value, with its article.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
pub(crate) mod tests;
