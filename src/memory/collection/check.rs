//! What serde cannot tell of a collection's declaration: a [`Collection`] in, all that is wrong with it
//! out, each with its key and how to mend it.

use serde_json::Number;

use super::{Access, Collection, Field, Form};
use crate::decimal;
use crate::mask::Kind;
use crate::memory::unit::Origin;

/// Tokens of a chunk, least and most.
const CHUNK: std::ops::RangeInclusive<u32> = 256..=512;
/// Longest name, in bytes.
const NAME: usize = 64;
/// Names that filters give to a unit's own fields.
const OWN: [&str; 5] = ["source", "source_id", "group", "kind", "origin"];

/// Whether a text fits a pattern in which `*` stands for any run of characters.
pub(super) fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part).and_then(|at| rest.get(at + part.len()..)) {
            Some(behind) => rest = behind,
            None => return false,
        }
    }
    true
}

/// A kind of value that is redacted, by its name.
pub(super) fn kind(name: &str) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| crate::memory::gate::word(kind) == name)
}

/// What is wrong with a declaration: key and message.
pub(super) fn check(one: &Collection) -> Vec<(String, String)> {
    let mut wrong = Vec::new();
    let mut say = |place: &str, message: String| wrong.push((place.to_owned(), message));
    if !is_name(&one.name) {
        say(
            "name",
            format!(
                "`{}` is no name; at most {NAME} of `a-z 0-9 . _ -`, a letter or digit first",
                one.name
            ),
        );
    }
    if one.description.trim().is_empty() {
        say("description", "is empty; say what the collection holds".to_owned());
    }
    if one.kinds.is_empty() {
        say(
            "kinds",
            "takes no kind; name `knowledge`, `case`, `preference` or `result`".to_owned(),
        );
    }
    if one.sources.is_empty() {
        say("sources", "takes no source; name patterns such as `manual/*`".to_owned());
    }
    for (at, pattern) in one.sources.iter().enumerate() {
        let bare = pattern.trim().is_empty() || pattern.chars().any(char::is_control);
        if bare || pattern.matches('*').count() > 8 {
            say(
                &format!("sources[{at}]"),
                format!(
                    "`{}` is no pattern of a source; at most 8 `*` and some text",
                    pattern.escape_debug()
                ),
            );
        }
    }
    if jiff::tz::TimeZone::get(&one.time_zone).is_err() {
        say(
            "time_zone",
            format!(
                "`{}` is no time zone; take an IANA name such as `UTC` or `Asia/Shanghai`",
                one.time_zone
            ),
        );
    }
    if !(1..=2).contains(&one.reviewers) {
        say("reviewers", format!("{} is not 1 or 2", one.reviewers));
    }
    if !CHUNK.contains(&one.chunk_tokens) {
        say("chunk_tokens", format!("{} is not from 256 to 512", one.chunk_tokens));
    }
    for (at, name) in one.redact.iter().flatten().enumerate() {
        if kind(name).is_none() {
            let known = Kind::ALL.map(|kind| crate::memory::gate::word(&kind)).join("`, `");
            say(&format!("redact[{at}]"), format!("`{name}` is no kind; known are `{known}`"));
        }
    }
    check_trust(one, &mut say);
    check_fields(one, &mut say);
    check_access(&one.access, one.origin, &mut say);
    wrong
}

fn check_trust(one: &Collection, say: &mut impl FnMut(&str, String)) {
    for (origin, trust) in &one.trust {
        if *trust > 100 {
            say(&format!("trust.{}", spell(*origin)), format!("{trust} is not from 0 to 100"));
        }
    }
    if !one.trust.contains_key(&one.origin) {
        say(
            "trust",
            format!(
                "has nothing for `{0}`, the collection's own origin; add `{0} = ...`",
                spell(one.origin)
            ),
        );
    }
    if let Some((origin, _)) = one.trust.iter().find(|(origin, _)| **origin < one.origin) {
        say(
            "trust",
            format!(
                "`{}` stands above the collection's own origin `{}`, and a caller can only lower it",
                spell(*origin),
                spell(one.origin)
            ),
        );
    }
    let rising = one.trust.values().zip(one.trust.values().skip(1)).any(|(one, next)| next > one);
    if rising {
        say(
            "trust",
            "believes a later origin more than an earlier one of `curator`, `person`, \
             `model`, `tool`, `file`, `web`: a caller could gain by naming it; let it never rise"
                .to_owned(),
        );
    }
}

fn check_fields(one: &Collection, say: &mut impl FnMut(&str, String)) {
    for (name, field) in &one.metadata {
        let place = format!("metadata.{name}");
        if !is_field(name) {
            say(&place, "is no name; `a-z 0-9 _`, a letter first, at most 64".to_owned());
        }
        if OWN.contains(&name.as_str()) {
            say(&place, "is the name of a unit's own field; take another".to_owned());
        }
        check_field(&place, field, say);
    }
    if let Some(document) = &one.document {
        match one.metadata.get(document) {
            None => say("document", format!("`{document}` is not declared in `metadata`")),
            Some(field) if field.form != Form::Text => {
                say("document", format!("`{document}` must have the type `text`"));
            }
            Some(_) => {}
        }
    }
    for (name, attribute) in &one.attributes {
        let place = format!("attributes.{name}.tolerance");
        let text = &attribute.tolerance;
        let number: Option<Number> = text.parse().ok();
        let inside = number.is_some_and(|number| {
            let bound = |at: u32| decimal::compare(&number, &Number::from(at));
            bound(0).is_ge() && bound(1).is_lt()
        });
        if !text.is_empty() && !inside {
            say(&place, format!("`{text}` is no share from 0 to below 1, such as \"0.02\""));
        }
    }
}

fn check_field(place: &str, field: &Field, say: &mut impl FnMut(&str, String)) {
    if !field.values.is_empty() && !matches!(field.form, Form::Text | Form::Texts) {
        say(&format!("{place}.enum"), "is for `text` and `texts` only".to_owned());
    }
    let mut seen = std::collections::BTreeSet::new();
    if let Some(twice) = field.values.iter().find(|value| !seen.insert(*value)) {
        say(&format!("{place}.enum"), format!("has `{twice}` twice"));
    }
}

fn check_access(access: &Access, origin: Origin, say: &mut impl FnMut(&str, String)) {
    let lists = [("read", &access.read), ("write", &access.write), ("review", &access.review)];
    for (name, list) in lists {
        for (at, entry) in list.iter().enumerate() {
            let known = entry.split_once(':').is_some_and(|(kind, name)| {
                matches!(kind, "caller" | "role" | "tenant") && !name.trim().is_empty()
            });
            if entry != "any" && !known {
                let message = format!(
                    "`{entry}` is nobody; write `any`, `caller:NAME`, `role:NAME` or `tenant:NAME`"
                );
                say(&format!("access.{name}[{at}]"), message);
            }
        }
    }
    if origin == Origin::Curator && access.write.iter().any(|entry| entry == "any") {
        say(
            "access.write",
            "lets everybody write as a curator; name the role that curates, or give \
             the collection another `origin`"
                .to_owned(),
        );
    }
}

fn spell(origin: Origin) -> String {
    serde_json::to_value(origin)
        .ok()
        .and_then(|value| Some(value.as_str()?.to_owned()))
        .unwrap_or_default()
}

fn is_name(name: &str) -> bool {
    let legal = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b'-')
    };
    name.len() <= NAME
        && name.bytes().all(legal)
        && name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
}

fn is_field(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    name.len() <= NAME
        && name.bytes().all(legal)
        && name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase())
}
