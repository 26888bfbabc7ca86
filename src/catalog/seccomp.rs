//! The system calls that a tool may make: the text of `policies/seccomp/NAME.toml` in, a [`Seccomp`]
//! or a fault that names the entry out. How an engine wants it spelled is not known here.

mod values;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::digest::digest;
use super::file::{Fault, nearest, parse_toml};

/// Name of the profile that is used where none is named.
pub(super) const DEFAULT: &str = "default";
/// What the default profile is where the policies folder has none.
const BUILT_IN: &str = include_str!("../../policies/seccomp/default.toml");
/// Arguments of a system call.
const ARGUMENTS: u32 = 6;
/// Alternatives of one entry; each is a rule for the engine.
const ALTERNATIVES: usize = 256;
/// The kernel looks at no more of the arguments that are compared.
const INT: u64 = 0xffff_ffff;

/// A list of system calls; what is not on it fails with EPERM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Seccomp {
    /// The file's stem.
    pub name: String,
    /// SHA-256 in hex over what it allows, comments and reasons left out.
    pub digest: Arc<str>,
    /// In the order of the file.
    #[serde(skip)]
    pub rules: Vec<SeccompRule>,
}

/// Some calls, and what happens to them when all conditions hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SeccompRule {
    /// Names of system calls; one that a machine does not have is skipped there.
    pub calls: Vec<String>,
    /// The error that they fail with; `None`: they are allowed.
    pub errno: Option<u32>,
    /// At most one for each argument; none: always.
    pub conditions: Vec<Condition>,
}

/// A condition on one argument: its bits under `mask` equal `value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Condition {
    /// Place of the argument, from 0.
    pub argument: u32,
    /// The bits that count.
    pub mask: u64,
    /// What they must be.
    pub value: u64,
}

impl Seccomp {
    /// The default profile that is part of the program.
    pub fn built_in() -> Self {
        // A text that could not be read would allow nothing; a test reads it.
        parse(DEFAULT, BUILT_IN).unwrap_or_else(|_| Self {
            name: DEFAULT.to_owned(),
            digest: "".into(),
            rules: Vec::new(),
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeccompFile {
    allow: Vec<AllowFile>,
    #[serde(default)]
    fail: Vec<FailFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AllowFile {
    why: String,
    calls: Vec<String>,
    #[serde(default, rename = "where")]
    conditions: Vec<ConditionFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FailFile {
    why: String,
    errno: String,
    calls: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConditionFile {
    arg: u32,
    one_of: Option<Vec<String>>,
    mask: Option<Vec<String>>,
    none_of: Option<Vec<String>>,
}

/// Reads the text of one profile.
pub(super) fn parse(name: &str, text: &str) -> Result<Seccomp, Fault> {
    let file: SeccompFile = parse_toml(text)?;
    let mut rules = Vec::new();
    let mut seen = Seen::default();
    for (index, entry) in file.allow.iter().enumerate() {
        let place = place("allow", index, &entry.calls);
        explained(&place, &entry.why)?;
        seen.see(&place, &entry.calls, !entry.conditions.is_empty())?;
        rules.extend(
            alternatives(&place, &entry.conditions)?.into_iter().map(|conditions| SeccompRule {
                calls: entry.calls.clone(),
                errno: None,
                conditions,
            }),
        );
    }
    for (index, entry) in file.fail.iter().enumerate() {
        let place = place("fail", index, &entry.calls);
        explained(&place, &entry.why)?;
        seen.see(&place, &entry.calls, false)?;
        let errno = values::errno(&entry.errno).ok_or_else(|| {
            let known = values::error_names().join("`, `");
            let message = format!("`{}` is no error known here; known are `{known}`", entry.errno);
            Fault::new(format!("{place}.errno"), message)
        })?;
        let calls = entry.calls.clone();
        rules.push(SeccompRule { calls, errno: Some(errno), conditions: Vec::new() });
    }
    let digest = digest(&json!(rules)).into();
    Ok(Seccomp { name: name.to_owned(), digest, rules })
}

/// Where an entry stands, for a reader of the file.
fn place(table: &str, index: usize, calls: &[String]) -> String {
    let first = calls.first().map_or("", String::as_str);
    format!("{table}[{index}] (`{first}`)")
}

fn explained(place: &str, why: &str) -> Result<(), Fault> {
    if why.trim().is_empty() {
        return Err(Fault::new(format!("{place}.why"), "is empty; say what the calls are for"));
    }
    Ok(())
}

/// The calls of the entries so far.
#[derive(Debug, Default)]
struct Seen {
    always: BTreeSet<String>,
    sometimes: BTreeSet<String>,
}

impl Seen {
    /// A call that one entry names without conditions needs no other: the engine would drop the
    /// conditions, and the file would promise what does not hold.
    fn see(&mut self, place: &str, calls: &[String], narrowed: bool) -> Result<(), Fault> {
        let fault = |message: String| Err(Fault::new(format!("{place}.calls"), message));
        if calls.is_empty() {
            return fault("is empty; name at least one call".to_owned());
        }
        for call in calls {
            let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
            if call.is_empty() || !call.bytes().all(plain) {
                return fault(format!("`{call}` is no name of a system call"));
            }
            let clash = self.always.contains(call) || !narrowed && self.sometimes.contains(call);
            if clash {
                return fault(format!(
                    "`{call}` stands in another entry too, and one of them has no `where`; \
                     the call would be let through without conditions, or not at all"
                ));
            }
        }
        let seen = if narrowed { &mut self.sometimes } else { &mut self.always };
        for call in calls {
            if !seen.insert(call.clone()) && !narrowed {
                return fault(format!("names `{call}` twice"));
            }
        }
        Ok(())
    }
}

/// Every combination of the values that the conditions allow; one without conditions for none.
fn alternatives(place: &str, file: &[ConditionFile]) -> Result<Vec<Vec<Condition>>, Fault> {
    let mut all: Vec<Vec<Condition>> = vec![Vec::new()];
    let mut arguments = BTreeSet::new();
    for (index, condition) in file.iter().enumerate() {
        let place = format!("{place}.where[{index}]");
        if condition.arg >= ARGUMENTS || !arguments.insert(condition.arg) {
            let message = format!("`arg = {}` is above 5 or named twice", condition.arg);
            return Err(Fault::new(place, message));
        }
        let choices = choices(&place, condition)?;
        all = all
            .into_iter()
            .flat_map(|before| {
                choices.iter().map(move |choice| {
                    before.iter().copied().chain([*choice]).collect::<Vec<Condition>>()
                })
            })
            .collect();
        if all.len() > ALTERNATIVES {
            let message = format!("gives more than {ALTERNATIVES} combinations; split the entry");
            return Err(Fault::new(place, message));
        }
    }
    Ok(all)
}

/// The conditions of which one must hold.
fn choices(place: &str, file: &ConditionFile) -> Result<Vec<Condition>, Fault> {
    let argument = file.arg;
    match (&file.one_of, &file.none_of) {
        (Some(names), None) => {
            let mask = match &file.mask {
                Some(bits) => union(place, bits)?,
                None => INT,
            };
            let values = names.iter().map(|name| value(place, name));
            let choices: Vec<Condition> = values
                .map(|value| Ok(Condition { argument, mask, value: value? }))
                .collect::<Result<_, Fault>>()?;
            match choices.iter().find(|choice| choice.value & mask != choice.value) {
                Some(_) => Err(Fault::new(place, "has a value with bits outside of its `mask`")),
                None if choices.is_empty() => Err(Fault::new(place, "`one_of` is empty")),
                None => Ok(choices),
            }
        }
        (None, Some(bits)) if file.mask.is_none() && !bits.is_empty() => {
            Ok(vec![Condition { argument, mask: union(place, bits)?, value: 0 }])
        }
        _ => Err(Fault::new(place, "needs `one_of`, with `mask` if wished, or `none_of`")),
    }
}

fn union(place: &str, names: &[String]) -> Result<u64, Fault> {
    names.iter().try_fold(0, |bits, name| Ok(bits | value(place, name)?))
}

fn value(place: &str, name: &str) -> Result<u64, Fault> {
    values::value(name).ok_or_else(|| {
        let hint = match nearest(name, values::names()).first() {
            Some(best) => format!("; did you mean `{best}`?"),
            None => String::new(),
        };
        Fault::new(place, format!("`{name}` is no constant known here{hint}"))
    })
}
