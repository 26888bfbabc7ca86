//! Words of names and descriptions, and what they tell of an action. Text in, words out.

use std::collections::BTreeSet;

use crate::catalog::Risk;

/// Verbs of tools that only look.
const READS: [&str; 22] = [
    "check", "compare", "count", "describe", "download", "explain", "export", "fetch", "find",
    "get", "inspect", "list", "look", "lookup", "preview", "query", "read", "retrieve", "search",
    "show", "validate", "view",
];
/// Verbs of tools that change something.
const WRITES: [&str; 27] = [
    "add", "append", "apply", "archive", "assign", "attach", "copy", "create", "disable", "edit",
    "enable", "import", "insert", "merge", "modify", "move", "patch", "put", "rename", "replace",
    "restore", "save", "set", "submit", "update", "upload", "write",
];
/// Verbs of tools that take something away.
const DESTROYS: [&str; 10] = [
    "delete", "destroy", "drop", "erase", "prune", "purge", "remove", "revoke", "truncate", "wipe",
];
/// Verbs of tools that do something else.
const OTHERS: [&str; 55] = [
    "accept",
    "activate",
    "approve",
    "authorize",
    "ban",
    "block",
    "book",
    "build",
    "buy",
    "calculate",
    "cancel",
    "clear",
    "close",
    "complete",
    "compute",
    "configure",
    "confirm",
    "connect",
    "convert",
    "decide",
    "decline",
    "deploy",
    "detect",
    "dispatch",
    "execute",
    "extract",
    "finalize",
    "follow",
    "generate",
    "invite",
    "join",
    "leave",
    "lock",
    "log",
    "login",
    "mark",
    "notify",
    "open",
    "parse",
    "pay",
    "pin",
    "post",
    "publish",
    "refund",
    "register",
    "reject",
    "render",
    "request",
    "rerun",
    "resolve",
    "run",
    "send",
    "start",
    "stop",
    "translate",
];

/// The words of a text, in small letters.
pub(super) fn words(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// The words of a name in their order: `getOrder` and `orders.get-all` have several.
pub(super) fn parts(name: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut small = false;
    let mut within = false;
    for c in name.chars() {
        if !c.is_alphanumeric() {
            within = false;
            continue;
        }
        if !within || (c.is_uppercase() && small) {
            found.push(String::new());
        }
        if let Some(last) = found.last_mut() {
            last.extend(c.to_lowercase());
        }
        (small, within) = (!c.is_uppercase(), true);
    }
    found
}

/// Whether a name has a word for what is done. A name in other letters is taken to have one.
pub(super) fn has_verb(parts: &[String]) -> bool {
    let all: [&[&str]; 4] = [&READS, &WRITES, &DESTROYS, &OTHERS];
    let known = |word: &str| all.iter().any(|verbs| verbs.contains(&word));
    let verb = |word: &String| {
        known(word.as_str()) || word.strip_suffix('s').is_some_and(known) || !word.is_ascii()
    };
    parts.iter().any(verb)
}

/// What the first or the last word of a name says against its risk.
pub(super) fn contradiction(parts: &[String], risk: Risk) -> Option<String> {
    let ends = [parts.first()?.as_str(), parts.last()?.as_str()];
    let one_of = |verbs: &[&str]| ends.into_iter().find(|word| verbs.contains(word));
    let reads = one_of(&READS);
    let wrong = match risk {
        Risk::Read => one_of(&DESTROYS).or_else(|| one_of(&WRITES).filter(|_| reads.is_none())),
        Risk::Destructive | Risk::Outbound => reads,
        Risk::Write => one_of(&DESTROYS),
    }?;
    // `get-delete-status` looks at a deletion.
    if reads.is_some() && risk == Risk::Read {
        return None;
    }
    Some(format!("is called `{wrong}`, and its risk is `{}`", risk.as_str()))
}
