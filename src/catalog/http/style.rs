//! Parameter styles: one argument in, its text in the path, query, header or cookie out. Every
//! value is percent-encoded for its place, or refused where the place knows no encoding.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::Value;

use super::{Parameter, Style};
use crate::catalog::error::Error;

/// Everything but RFC 3986 unreserved characters.
const STRICT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Reserved characters stay, but none that ends a value or the query.
const RESERVED: &AsciiSet = &STRICT
    .remove(b':')
    .remove(b'/')
    .remove(b'?')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b',')
    .remove(b';')
    .remove(b'=');
/// Literal text of a path template: what may stand in a path stays, escapes included.
const LITERAL: &AsciiSet = &RESERVED.remove(b'&').remove(b'+').remove(b'%').remove(b'\'').add(b'?');

impl Style {
    /// What stands between the items of a list that is written as one value.
    pub(in crate::catalog) const fn separator(self) -> &'static str {
        match self {
            Self::SpaceDelimited => " ",
            Self::PipeDelimited => "|",
            Self::TabDelimited => "\t",
            Self::Form | Self::Simple | Self::Label | Self::Matrix | Self::DeepObject => ",",
        }
    }

    /// The name that OpenAPI has for it; Swagger 2.0's for what it has none for.
    pub(in crate::catalog) const fn as_str(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Label => "label",
            Self::Matrix => "matrix",
            Self::Form => "form",
            Self::SpaceDelimited => "spaceDelimited",
            Self::PipeDelimited => "pipeDelimited",
            Self::DeepObject => "deepObject",
            Self::TabDelimited => "tsv",
        }
    }
}

/// The same, where it stands in a URL.
fn encoded_separator(style: Style) -> &'static str {
    match style {
        Style::SpaceDelimited => "%20",
        Style::PipeDelimited => "%7C",
        Style::TabDelimited => "%09",
        Style::Form | Style::Simple | Style::Label | Style::Matrix | Style::DeepObject => ",",
    }
}

/// A list or an object as one text, not encoded; `None` when it holds what is no text.
pub(super) fn joined(style: Style, value: &Value) -> Option<String> {
    let texts = match value {
        Value::Array(items) => items.iter().map(scalar).collect::<Option<Vec<_>>>()?,
        other => vec![scalar(other)?],
    };
    Some(texts.join(style.separator()))
}

/// The shapes that styles are defined for.
pub(super) enum Values<'v> {
    One(Cow<'v, str>),
    List(Vec<Cow<'v, str>>),
    Map(Vec<(&'v str, Cow<'v, str>)>),
}

impl<'v> Values<'v> {
    /// Reads an argument; refuses what lies deeper than styles go.
    pub(super) fn read(parameter: &Parameter, value: &'v Value) -> Result<Self, Error> {
        if parameter.json {
            return Ok(Self::One(Cow::Owned(value.to_string())));
        }
        let flat = |item: &'v Value| {
            scalar(item).ok_or_else(|| {
                let reason = format!(
                    "holds a list or object inside a list or object, which a {} parameter cannot carry",
                    parameter.place.as_str()
                );
                Error::argument(&parameter.argument, reason)
            })
        };
        Ok(match value {
            Value::Array(items) if !parameter.inner.is_empty() => {
                let one = |item| match nested(parameter, item, &parameter.inner)? {
                    Some(text) => Ok(text),
                    None => flat(item),
                };
                Self::List(items.iter().map(one).collect::<Result<_, Error>>()?)
            }
            Value::Array(items) => Self::List(items.iter().map(flat).collect::<Result<_, _>>()?),
            Value::Object(map) => Self::Map(
                map.iter()
                    .filter(|(_, member)| !member.is_null())
                    .map(|(key, member)| Ok((key.as_str(), flat(member)?)))
                    .collect::<Result<_, Error>>()?,
            ),
            other => Self::One(flat(other)?),
        })
    }

    fn encoded(self, encode: impl Fn(&str) -> String) -> Values<'static> {
        match self {
            Self::One(text) => Values::One(Cow::Owned(encode(&text))),
            Self::List(items) => {
                Values::List(items.iter().map(|item| Cow::Owned(encode(item))).collect())
            }
            Self::Map(members) => Values::List(
                members
                    .iter()
                    .flat_map(|(key, member)| [encode(key), encode(member)])
                    .map(Cow::Owned)
                    .collect(),
            ),
        }
    }
}

/// An item of a list that may hold lists, as text; `None` for what has none.
fn nested<'v>(
    parameter: &Parameter,
    value: &'v Value,
    levels: &[Style],
) -> Result<Option<Cow<'v, str>>, Error> {
    let (Value::Array(items), Some((style, deeper))) = (value, levels.split_first()) else {
        let text = scalar(value);
        let around = [parameter.style].into_iter().filter(|_| !parameter.explode);
        let mut separators = around.chain(parameter.inner.iter().copied()).map(Style::separator);
        let held = |text: &str| separators.find(|between| text.contains(between));
        return match text.as_deref().and_then(held) {
            Some(between) => {
                let reason = format!("holds lists in lists, where no item may hold `{between}`");
                Err(Error::argument(&parameter.argument, reason))
            }
            None => Ok(text),
        };
    };
    let texts = items.iter().map(|item| nested(parameter, item, deeper));
    let texts = texts.collect::<Result<Option<Vec<_>>, Error>>()?;
    Ok(texts.map(|texts| Cow::Owned(texts.join(style.separator()))))
}

/// Leaves the commas between items of lists inside a list as those of a list are left.
fn keep_commas(parameter: &Parameter, encoded: String) -> String {
    match parameter.inner.iter().any(|style| style.separator() == ",") {
        true => encoded.replace("%2C", ","),
        false => encoded,
    }
}

/// The text of a scalar; `None` for a list or an object.
pub(super) fn scalar(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::Null => Some(Cow::Borrowed("")),
        Value::Bool(true) => Some(Cow::Borrowed("true")),
        Value::Bool(false) => Some(Cow::Borrowed("false")),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Array(_) | Value::Object(_) => None,
    }
}

pub(super) fn encode(text: &str) -> String {
    utf8_percent_encode(text, STRICT).to_string()
}

/// A name as it is read from a query.
pub(super) fn decode(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8_lossy()
}

/// Literal text of a path template.
pub(super) fn literal(text: &str) -> String {
    utf8_percent_encode(text, LITERAL).to_string()
}

/// A value's text inside a path segment.
pub(super) fn path(parameter: &Parameter, value: &Value) -> Result<String, Error> {
    let name = encode(&parameter.name);
    let values = Values::read(parameter, value)?;
    let pairs = match (&values, parameter.explode) {
        (Values::Map(members), true) => Some(
            members
                .iter()
                .map(|(key, member)| format!("{}={}", encode(key), encode(member)))
                .collect::<Vec<_>>(),
        ),
        _ => None,
    };
    let exploded = pairs.is_some();
    let encode_value = |text: &str| keep_commas(parameter, encode(text));
    let items: Vec<String> = match (pairs, values.encoded(encode_value)) {
        (Some(pairs), _) => pairs,
        (None, Values::One(text)) => vec![text.into_owned()],
        (None, Values::List(items)) => items.into_iter().map(Cow::into_owned).collect(),
        (None, Values::Map(_)) => Vec::new(),
    };
    if items.iter().all(String::is_empty) {
        return Err(Error::argument(&parameter.argument, "must not be empty in a path"));
    }
    let each = parameter.explode;
    Ok(match parameter.style {
        Style::Label => format!(".{}", items.join(if each { "." } else { "," })),
        Style::Matrix if exploded => format!(";{}", items.join(";")),
        Style::Matrix if each => items.iter().map(|item| format!(";{name}={item}")).collect(),
        Style::Matrix => format!(";{name}={}", items.join(",")),
        Style::Simple
        | Style::Form
        | Style::SpaceDelimited
        | Style::PipeDelimited
        | Style::TabDelimited
        | Style::DeepObject => items.join(encoded_separator(parameter.style)),
    })
}

/// Refuses pairs of one parameter that bear the name of another one: the object whose members they
/// are would say twice what a policy saw once.
pub(super) fn check_pairs<'n>(
    parameter: &Parameter,
    pairs: &[String],
    others: impl Iterator<Item = Cow<'n, str>>,
) -> Result<(), Error> {
    let others: Vec<Cow<'n, str>> = others.collect();
    for pair in pairs {
        let name = decode(pair.split('=').next().unwrap_or_default());
        if let Some(other) = others.iter().find(|other| **other == name) {
            let reason =
                format!("may have no member that is sent as `{other}`, which is another parameter");
            return Err(Error::argument(&parameter.argument, reason));
        }
    }
    Ok(())
}

/// A value's `name=value` pairs of the query string.
pub(super) fn query(parameter: &Parameter, value: &Value) -> Result<Vec<String>, Error> {
    let set = if parameter.reserved { RESERVED } else { STRICT };
    let encode_value = |text: &str| match parameter.reserved {
        true => keep_escapes(text),
        false => keep_commas(parameter, utf8_percent_encode(text, set).to_string()),
    };
    let name = encode(&parameter.name);
    if parameter.style == Style::DeepObject && !parameter.json {
        let mut pairs = Vec::new();
        deep(&parameter.name, value, &mut pairs);
        return Ok(pairs
            .into_iter()
            .map(|(key, text)| format!("{}={}", encode(&key), encode_value(&text)))
            .collect());
    }
    let separator = encoded_separator(parameter.style);
    Ok(match (Values::read(parameter, value)?, parameter.explode) {
        (Values::One(text), _) => vec![format!("{name}={}", encode_value(&text))],
        (Values::List(items), true) => {
            items.iter().map(|item| format!("{name}={}", encode_value(item))).collect()
        }
        (Values::Map(members), true) => members
            .iter()
            .map(|(key, member)| format!("{}={}", encode(key), encode_value(member)))
            .collect(),
        (values, false) => match values.encoded(encode_value) {
            Values::List(items) if !items.is_empty() => {
                vec![format!("{name}={}", items.join(separator))]
            }
            Values::List(_) | Values::One(_) | Values::Map(_) => Vec::new(),
        },
    })
}

/// A reserved value, in which escapes that are written already stay as they are (RFC 6570, 3.2.3).
fn keep_escapes(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        kept.extend(utf8_percent_encode(before, RESERVED));
        let digits = after.get(..2).filter(|two| two.bytes().all(|b| b.is_ascii_hexdigit()));
        kept.push_str(if digits.is_some() { "%" } else { "%25" });
        rest = after;
    }
    kept.extend(utf8_percent_encode(rest, RESERVED));
    kept
}

/// OpenAPI defines one level only; lists below it are written with their index.
pub(super) fn deep(name: &str, value: &Value, pairs: &mut Vec<(String, String)>) {
    match value {
        Value::Object(map) => {
            for (key, member) in map {
                deep(&format!("{name}[{key}]"), member, pairs);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                deep(&format!("{name}[{index}]"), item, pairs);
            }
        }
        Value::Null => {}
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            let text = scalar(value).unwrap_or_default().into_owned();
            pairs.push((name.to_owned(), text));
        }
    }
}

/// A header's value. Headers know no encoding, so only visible ASCII, space and tab may stand.
pub(super) fn header(parameter: &Parameter, value: &Value) -> Result<String, Error> {
    let values = Values::read(parameter, value)?;
    let between = parameter.style.separator();
    let parts: Vec<&str> = match &values {
        Values::One(_) => Vec::new(),
        Values::List(items) => items.iter().map(AsRef::as_ref).collect(),
        Values::Map(members) => {
            members.iter().flat_map(|(key, member)| [*key, member.as_ref()]).collect()
        }
    };
    if parts.iter().any(|part| part.contains(between)) {
        let reason = format!("goes into a header, where no item may hold `{between}`");
        return Err(Error::argument(&parameter.argument, reason));
    }
    let text = match (values, parameter.explode) {
        (Values::Map(members), true) => members
            .iter()
            .map(|(key, member)| format!("{key}={member}"))
            .collect::<Vec<_>>()
            .join(","),
        (values, _) => match values.encoded(str::to_owned) {
            Values::One(text) => text.into_owned(),
            Values::List(items) => items.join(between),
            Values::Map(_) => String::new(),
        },
    };
    if text.bytes().all(|b| b == b'\t' || (b' '..=b'~').contains(&b)) {
        Ok(text)
    } else {
        Err(Error::argument(
            &parameter.argument,
            "goes into a header and may hold visible ASCII characters and spaces only",
        ))
    }
}

/// A value's `name=value` pairs of the Cookie header.
pub(super) fn cookie(parameter: &Parameter, value: &Value) -> Result<Vec<String>, Error> {
    let name = encode(&parameter.name);
    Ok(match (Values::read(parameter, value)?, parameter.explode) {
        (Values::List(items), true) => {
            items.iter().map(|item| format!("{name}={}", encode(item))).collect()
        }
        (Values::Map(members), true) => members
            .iter()
            .map(|(key, member)| format!("{}={}", encode(key), encode(member)))
            .collect(),
        (values, _) => match values.encoded(encode) {
            Values::One(text) => vec![format!("{name}={text}")],
            Values::List(items) if !items.is_empty() => {
                vec![format!("{name}={}", items.join(","))]
            }
            Values::List(_) | Values::Map(_) => Vec::new(),
        },
    })
}
