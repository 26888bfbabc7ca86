//! Regular expressions of schemas: an ECMA 262 pattern in, whether the linear-time engine can
//! enforce it out. A look-ahead at the very start is taken apart into patterns that it can.

use serde_json::{Value, json};

/// How a pattern can be enforced.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Pattern {
    /// As it stands.
    Plain,
    /// By these schemas together.
    Parts(Vec<Value>),
    /// Not at all, for this reason.
    No(&'static str),
}

/// What stands between the slashes of a pattern that is written as a literal of JavaScript, and its
/// flags; `None` for one whose slashes may be meant.
pub(super) fn literal(pattern: &str) -> Option<(&str, &str)> {
    let (inside, flags) = pattern.strip_prefix('/')?.rsplit_once('/')?;
    let plain = inside.starts_with('^') || inside.ends_with('$') || !flags.is_empty();
    let known = flags.bytes().all(|flag| b"dgimsuvy".contains(&flag));
    let whole = !inside.replace("\\/", "").contains('/');
    (plain && known && whole && !inside.is_empty()).then_some((inside, flags))
}

/// Judges one pattern.
pub(super) fn judge(pattern: &str) -> Pattern {
    if compiles(pattern) {
        return Pattern::Plain;
    }
    if let Some(parts) = take_apart(pattern) {
        return Pattern::Parts(parts);
    }
    let around = ["(?=", "(?!", "(?<=", "(?<!"];
    if around.iter().any(|mark| pattern.contains(mark)) {
        Pattern::No("it needs look-around, which takes unbounded time")
    } else if ('1'..='9').any(|digit| pattern.contains(&format!("\\{digit}"))) {
        Pattern::No("it needs a back-reference, which takes unbounded time")
    } else {
        Pattern::No("it is no valid regular expression")
    }
}

/// Whether the engine that checks arguments takes the pattern.
pub(super) fn compiles(pattern: &str) -> bool {
    jsonschema_regex::to_rust_regex(pattern)
        .is_ok_and(|translated| regex::Regex::new(&translated).is_ok())
}

/// `^(?!a)(?=b)c` is: `^c`, and `^b`, and not `^a`. True only without an alternative at top level.
fn take_apart(pattern: &str) -> Option<Vec<Value>> {
    let mut rest = pattern.strip_prefix('^')?;
    let mut parts = Vec::new();
    loop {
        let negative = match rest.get(..3) {
            Some("(?!") => true,
            Some("(?=") => false,
            _ => break,
        };
        let inside = rest.get(3..)?;
        let end = closing(inside)?;
        let ahead = format!("^(?:{})", inside.get(..end)?);
        if !compiles(&ahead) {
            return None;
        }
        parts.push(if negative {
            json!({ "not": { "type": "string", "pattern": ahead } })
        } else {
            json!({ "pattern": ahead })
        });
        rest = inside.get(end + 1..)?;
    }
    let tail = format!("^{rest}");
    if parts.is_empty() || has_alternative(rest) || !compiles(&tail) {
        return None;
    }
    if !rest.is_empty() {
        parts.insert(0, json!({ "pattern": tail }));
    }
    Some(parts)
}

/// Runs over a pattern, telling each character with its depth in groups; skips classes and escapes.
fn scan(text: &str, mut visit: impl FnMut(usize, char, usize) -> bool) -> Option<usize> {
    let (mut depth, mut class, mut escaped) = (0_usize, false, false);
    for (at, c) in text.char_indices() {
        if escaped {
            escaped = false;
            continue;
        }
        match c {
            '\\' => escaped = true,
            '[' if !class => class = true,
            ']' if class => class = false,
            _ if class => {}
            _ => {
                if visit(at, c, depth) {
                    return Some(at);
                }
                match c {
                    '(' => depth += 1,
                    ')' => depth = depth.saturating_sub(1),
                    _ => {}
                }
            }
        }
    }
    None
}

fn closing(text: &str) -> Option<usize> {
    scan(text, |_, c, depth| c == ')' && depth == 0)
}

fn has_alternative(text: &str) -> bool {
    scan(text, |_, c, depth| c == '|' && depth == 0).is_some()
}
