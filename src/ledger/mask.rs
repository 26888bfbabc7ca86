//! Text and arguments in, the same without what must not be kept in the clear out. Masked are:
//! values whose schema says `writeOnly` or `format: password`; values under names such as
//! `password` or `api_key`; and, in any text, mainland identity numbers and bank cards with a right
//! check digit, mainland mobile numbers, keys and tokens with a known prefix, and private keys. A
//! secret without any of these marks is not found.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::catalog::Tool;

/// What stands in the place of a masked value.
pub(super) const MASK: &str = "[masked]";

/// Ends of names, in lower case and without `_` and `-`, whose values are secret.
const SECRET_NAMES: [&str; 13] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "secretkey",
    "apikey",
    "accesskey",
    "privatekey",
    "accesstoken",
    "authtoken",
    "authorization",
    "credentials",
];
/// Beginnings of keys and tokens, and the least length of the whole.
const SECRET_PREFIXES: [(&str, usize); 9] = [
    ("sk-", 20),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghs_", 20),
    ("github_pat_", 30),
    ("glpat-", 20),
    ("xoxb-", 20),
    ("AKIA", 20),
    ("eyJ", 40),
];
/// Digits of the longest personal number.
const NUMBER_DIGITS: usize = 19;
/// Schemas nested deeper than this are taken as not annotated.
const MAX_DEPTH: u32 = 64;

/// Masks what belongs to one tool's calls.
#[derive(Debug, Default)]
pub(super) struct Masker<'a> {
    schema: Option<&'a Value>,
    aliases: Option<&'a BTreeMap<String, String>>,
}

impl<'a> Masker<'a> {
    /// For a tool's arguments; without a tool only names and patterns count.
    pub(super) fn of_tool(tool: Option<&'a Tool>) -> Self {
        Self {
            schema: tool.map(|tool| &tool.input_schema),
            aliases: tool.map(|tool| &tool.aliases),
        }
    }

    /// Arguments as they came, JSON or not; only the first `keep` bytes of the answer are right, and
    /// no more work is done than they need. Their spelling is kept when nothing needs a mask, and
    /// when reading them as JSON lost nothing: a repeated name could hide a secret.
    pub(super) fn json(&self, text: &str, keep: usize) -> String {
        let Ok(value) = serde_json::from_str::<Value>(text) else {
            return mask_start(text, keep);
        };
        let schemas: Vec<&Value> = self.schema.into_iter().collect();
        let mut budget = Budget { left: keep, changed: false };
        let masked = self.value(&value, &schemas, 0, &mut budget);
        let reprinted = value.to_string();
        if !budget.changed && compact(text) == reprinted {
            text.to_owned()
        } else {
            masked.to_string()
        }
    }

    /// JSON text that stands at a JSON Pointer of the arguments.
    pub(super) fn at(&self, pointer: &str, text: &str) -> String {
        let mut schemas: Vec<&Value> = self.schema.into_iter().collect();
        for token in pointer.split('/').skip(1) {
            let name = token.replace("~1", "/").replace("~0", "~");
            schemas = self.below(&schemas, &name);
            if is_secret_name(&name) || is_secret(&schemas) {
                return format!("\"{MASK}\"");
            }
        }
        mask_text(text)
    }

    fn value(
        &self,
        value: &Value,
        schemas: &[&'a Value],
        depth: u32,
        budget: &mut Budget,
    ) -> Value {
        if budget.left == 0 {
            // What stands here is cut off.
            return Value::Null;
        }
        if depth > MAX_DEPTH {
            return budget.mask();
        }
        match value {
            Value::String(text) => Value::String(budget.text(text)),
            Value::Number(number) => {
                let text = number.to_string();
                let masked = budget.text(&text);
                if text.starts_with(&masked) { value.clone() } else { Value::String(masked) }
            }
            Value::Array(items) => {
                budget.spend(1);
                let below = self.below(schemas, "0");
                let secret = is_secret(&below);
                let mask = |item: &Value| {
                    if secret && !item.is_null() {
                        return budget.mask();
                    }
                    self.value(item, &below, depth + 1, budget)
                };
                items.iter().map(mask).collect()
            }
            Value::Object(members) => {
                budget.spend(1);
                let mask = |(name, member): (&String, &Value)| {
                    if budget.left == 0 {
                        return (name.clone(), Value::Null);
                    }
                    let below = self.below(schemas, name);
                    let secret = is_secret_name(name) || is_secret(&below);
                    let masked = if secret && !member.is_null() {
                        budget.mask()
                    } else {
                        self.value(member, &below, depth + 1, budget)
                    };
                    (name.clone(), masked)
                };
                Value::Object(members.iter().map(mask).collect())
            }
            Value::Null | Value::Bool(_) => {
                budget.spend(1);
                value.clone()
            }
        }
    }

    /// The schemas that may say something of a member or an item.
    fn below(&self, schemas: &[&'a Value], name: &str) -> Vec<&'a Value> {
        let real = self.aliases.and_then(|aliases| aliases.get(name)).map_or(name, String::as_str);
        let mut parts = Vec::new();
        for schema in schemas {
            self.flatten(schema, &mut parts);
        }
        let is_index = name.bytes().all(|byte| byte.is_ascii_digit());
        let mut found = Vec::new();
        for part in parts {
            let properties = part.get("properties");
            found.extend(properties.and_then(|declared| declared.get(real)));
            found.extend(part.get("additionalProperties").filter(|_| !is_index));
            found.extend(part.get("items").filter(|_| is_index));
        }
        let mut flat = Vec::new();
        for schema in &found {
            self.flatten(schema, &mut flat);
        }
        if flat.iter().any(|part| is_annotated(part)) {
            // A reference may lead to the annotation.
            found.push(&SECRET);
        }
        found
    }

    /// Lists a schema and all that `$ref` and combinations add to it.
    fn flatten(&self, schema: &'a Value, parts: &mut Vec<&'a Map<String, Value>>) {
        let Value::Object(object) = schema else {
            return;
        };
        if parts.len() > 64 || parts.iter().any(|part| std::ptr::eq(*part, object)) {
            return;
        }
        parts.push(object);
        let target = object.get("$ref").and_then(Value::as_str);
        let target = target.and_then(|target| target.strip_prefix('#'));
        if let Some(target) = target.and_then(|pointer| self.schema?.pointer(pointer)) {
            self.flatten(target, parts);
        }
        for key in ["allOf", "anyOf", "oneOf"] {
            for part in object.get(key).and_then(Value::as_array).into_iter().flatten() {
                self.flatten(part, parts);
            }
        }
    }
}

/// How much of the masked text is still wanted, and whether it differs from what came.
struct Budget {
    left: usize,
    changed: bool,
}

impl Budget {
    fn spend(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }

    fn mask(&mut self) -> Value {
        self.spend(MASK.len());
        self.changed = true;
        Value::String(MASK.to_owned())
    }

    fn text(&mut self, text: &str) -> String {
        let masked = mask_start(text, self.left);
        self.spend(masked.len().max(1));
        self.changed |= !text.starts_with(&masked);
        masked
    }
}

/// JSON text without the white space between its tokens.
fn compact(text: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    text.chars()
        .filter(|c| {
            let keep = in_string || !c.is_ascii_whitespace();
            match c {
                '"' if !escaped => in_string = !in_string,
                _ => {}
            }
            escaped = in_string && *c == '\\' && !escaped;
            keep
        })
        .collect()
}

/// Stands for any schema that marks its value as secret.
static SECRET: Value = Value::Bool(false);

fn is_secret(schemas: &[&Value]) -> bool {
    schemas.iter().any(|schema| std::ptr::eq(*schema, &SECRET))
}

fn is_annotated(schema: &Map<String, Value>) -> bool {
    schema.get("writeOnly") == Some(&Value::Bool(true))
        || schema.get("format").and_then(Value::as_str) == Some("password")
}

fn is_secret_name(name: &str) -> bool {
    let plain: String = name
        .chars()
        .filter(|c| !matches!(c, '_' | '-' | ' '))
        .flat_map(char::to_lowercase)
        .collect();
    SECRET_NAMES.iter().any(|secret| plain.ends_with(secret)) || plain == "token"
}

/// Any text, with the patterns of this module masked. The rest stays byte for byte.
pub(super) fn mask_text(text: &str) -> String {
    mask_start(text, usize::MAX)
}

/// As [`mask_text`], but stops once it has `keep` bytes; a pattern is judged as a whole even where
/// it goes on behind them.
fn mask_start(text: &str, keep: usize) -> String {
    let mut out = String::with_capacity(text.len().min(keep));
    let mut rest = text;
    // Bytes after the end of the token that was last looked for. All words of a token share its
    // end, so that each byte is read once for it, however many words there are.
    let mut after_token = usize::MAX;
    while out.len() < keep
        && let Some(start) = rest.find(|c: char| c.is_ascii_alphanumeric() || c == '-')
    {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        if from.len() <= after_token {
            after_token = from.len() - token_length(from);
        }
        let token = from.get(..from.len() - after_token).unwrap_or_default();
        let length = sensitive_prefix(from, token);
        if length > 0 {
            out.push_str(MASK);
            rest = from.get(length..).unwrap_or_default();
        } else {
            let word = from.find(|c: char| !is_word(c)).unwrap_or(from.len()).max(1);
            let (word, after) = from.split_at(word);
            out.push_str(word);
            rest = after;
        }
    }
    if out.len() < keep {
        out.push_str(rest);
    }
    out
}

/// Length of the key-like piece with which a text begins.
fn token_length(text: &str) -> usize {
    let end = text.find(|c: char| !(is_word(c) || matches!(c, '-' | '.'))).unwrap_or(text.len());
    text.get(..end).unwrap_or_default().trim_end_matches('.').len()
}

/// Length of the sensitive piece with which a text begins; 0 when it does not.
fn sensitive_prefix(text: &str, token: &str) -> usize {
    if text.starts_with("-----BEGIN ") {
        let header = text.split_inclusive("-----").nth(1).unwrap_or_default();
        if header.contains("PRIVATE KEY") {
            let end = text.find("-----END ").unwrap_or(text.len());
            let tail = text.get(end + 9..).and_then(|tail| tail.find("-----"));
            return tail.map_or(text.len(), |tail| end + 9 + tail + 5);
        }
    }
    let is_key =
        |(prefix, length): &(&str, usize)| token.starts_with(prefix) && token.len() >= *length;
    if SECRET_PREFIXES.iter().any(is_key) {
        return token.len();
    }
    numbers(text)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Length of the longest personal number with which a text begins; 0 when it does not. It may be
/// written in groups, and further groups may follow that are not part of it.
fn numbers(text: &str) -> usize {
    let mut digits = String::new();
    let (mut length, mut found) = (0, 0);
    let mut bytes = text.bytes().enumerate().peekable();
    while let Some((at, byte)) = bytes.next() {
        let next_is_digit = bytes.peek().is_some_and(|(_, next)| next.is_ascii_digit());
        match byte {
            b'0'..=b'9' => digits.push(char::from(byte)),
            b'x' | b'X' if digits.len() == 17 => digits.push('X'),
            b' ' | b'-' if next_is_digit && !digits.is_empty() => {
                if is_personal(&digits) {
                    found = length;
                }
                continue;
            }
            _ => break,
        }
        if digits.len() > NUMBER_DIGITS {
            return found;
        }
        length = at + 1;
    }
    let followed = text.get(length..).and_then(|rest| rest.chars().next());
    if !followed.is_some_and(is_word) && is_personal(&digits) { length } else { found }
}

fn is_personal(digits: &str) -> bool {
    is_mobile(digits) || is_identity(digits) || is_card(digits)
}

fn is_mobile(digits: &str) -> bool {
    let national = digits.strip_prefix("86").unwrap_or(digits);
    let mut all = national.bytes();
    national.len() == 11 && all.next() == Some(b'1') && matches!(all.next(), Some(b'3'..=b'9'))
}

/// GB 11643: seventeen digits with a date in them, and a check character by ISO 7064 MOD 11-2.
fn is_identity(digits: &str) -> bool {
    let number = |from: usize, to: usize| digits.get(from..to).and_then(|part| part.parse().ok());
    let (Some(year), Some(month), Some(day)) = (number(6, 10), number(10, 12), number(12, 14))
    else {
        return false;
    };
    let is_date = (1850..2100_u32).contains(&year)
        && (1..=12_u32).contains(&month)
        && (1..=31_u32).contains(&day);
    let sum = digits.chars().try_fold(0, |sum: u32, c| {
        let value = if c == 'X' { 10 } else { c.to_digit(10)? };
        Some((sum * 2 + value) % 11)
    });
    digits.len() == 18 && is_date && sum == Some(1)
}

/// Fourteen to nineteen digits that begin as cards do, and a check digit by Luhn.
fn is_card(digits: &str) -> bool {
    let begins = digits.starts_with(['3', '4', '5', '6']) || digits.starts_with("22");
    let sum: Option<u32> = digits
        .chars()
        .rev()
        .enumerate()
        .map(|(place, c)| {
            let value = c.to_digit(10)? << (place % 2);
            Some(if value > 9 { value - 9 } else { value })
        })
        .sum();
    (14..=19).contains(&digits.len()) && begins && sum.is_some_and(|sum| sum % 10 == 0)
}
