//! What makes a model choose a tool wrongly or fill it wrongly, though nothing is broken. Tools in,
//! findings out; a finding never keeps a tool from being called.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value};

use super::{Catalog, Place, Placement, Target, Tool};

/// More arguments than this are hard to fill.
const MAX_ARGUMENTS: usize = 5;
/// Fewer words than this do not tell when to choose a tool.
const MIN_WORDS: usize = 4;
/// Two descriptions that share this much of their words cannot be told apart.
const ALIKE: f64 = 0.9;

/// One remark of the linter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// The tool.
    pub tool: String,
    /// JSON Pointer of the place in the input schema; empty for the tool itself.
    pub pointer: String,
    /// Short stable name of the rule.
    pub rule: &'static str,
    /// What is wrong and how to mend it, in one line.
    pub message: String,
}

/// Looks over every tool of a catalog.
pub fn lint(catalog: &Catalog) -> Vec<Finding> {
    let mut findings = Vec::new();
    for tool in catalog.tools() {
        look(tool, &mut findings);
    }
    alike(catalog, &mut findings);
    findings.sort();
    findings
}

fn look(tool: &Tool, findings: &mut Vec<Finding>) {
    let mut add = |pointer: String, rule: &'static str, message: String| {
        findings.push(Finding { tool: tool.name.clone(), pointer, rule, message });
    };
    if let Some(message) = vague(tool) {
        add(String::new(), "description", message);
    }
    let empty = Map::new();
    let schema = &tool.input_schema;
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties = properties.unwrap_or(&empty);
    if properties.len() > MAX_ARGUMENTS {
        let message = format!(
            "takes {} arguments; models fill more than {MAX_ARGUMENTS} badly, so split the tool or \
             drop some",
            properties.len()
        );
        add(String::new(), "arguments", message);
    }
    let open = !matches!(schema.get("additionalProperties"), Some(Value::Bool(false)));
    if open && !schema.get("unevaluatedProperties").is_some_and(Value::is_boolean) {
        let message = "takes arguments that it does not declare, so a misspelt one goes unnoticed; \
                       add `additionalProperties = false`";
        add(String::new(), "open", message.to_owned());
    }
    for (name, property) in properties {
        let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        for (rule, message) in parameter(schema, property) {
            add(pointer.clone(), rule, message);
        }
    }
    if let Some(message) = unreachable_server(tool) {
        add(String::new(), "egress", message);
    }
    for message in overruled(tool) {
        add(String::new(), "secret", message);
    }
}

/// A description must say more than the name does.
fn vague(tool: &Tool) -> Option<String> {
    let words = words(&tool.description);
    let ideographs = tool.description.chars().filter(|c| !c.is_ascii() && c.is_alphabetic());
    let from_path = tool.description.split_once(' ').is_some_and(|(method, path)| {
        path.starts_with('/') && method.bytes().all(|b| b.is_ascii_uppercase())
    });
    if from_path {
        return Some("has no description; say what it does and when to choose it".to_owned());
    }
    // Chinese and Japanese write without spaces: two characters are about a word.
    if words.len() < MIN_WORDS && ideographs.count() < 2 * MIN_WORDS {
        return Some(format!(
            "description `{}` is too short to choose by; say what it does and when to choose it",
            tool.description
        ));
    }
    let name: BTreeSet<String> = words_of(&tool.name);
    let more = words.iter().filter(|word| !name.contains(*word)).count();
    (more < 2).then(|| "description only repeats the name".to_owned())
}

fn words(text: &str) -> BTreeSet<String> {
    words_of(text)
}

fn words_of(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// Follows local references, which say as much as what they point at.
fn deref<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let mut at = schema;
    for _ in 0..16 {
        let target = at
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|text| root.pointer(text.strip_prefix('#')?));
        match target {
            Some(target) => at = target,
            None => break,
        }
    }
    at
}

/// What is missing for a model to fill one argument.
fn parameter(root: &Value, schema: &Value) -> Vec<(&'static str, String)> {
    let target = deref(root, schema);
    let described = [schema, target].iter().any(|place| {
        let text = place.get("description").and_then(Value::as_str);
        text.is_some_and(|text| !text.trim().is_empty())
    });
    let has = |keys: &[&str]| keys.iter().any(|key| target.get(*key).is_some());
    let mut found = Vec::new();
    if !described {
        let message = "has no description; say what to put there, with an example";
        found.push(("parameter", message.to_owned()));
    }
    let union = has(&["anyOf", "oneOf", "allOf", "enum", "const"]);
    match target.get("type").and_then(Value::as_str) {
        Some("number" | "integer") if !union => {
            let bounds = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
            if !has(&bounds) {
                let message = "is a number without bounds; give `minimum` and `maximum`";
                found.push(("bounds", message.to_owned()));
            }
            if !described || !names_unit(schema, target) {
                let message = "is a number whose description names no unit";
                found.push(("unit", message.to_owned()));
            }
        }
        Some("string")
            if !union && !has(&["format", "pattern", "maxLength", "contentEncoding"]) =>
        {
            let message = "is free text without `format`, `pattern`, `enum` or `maxLength`";
            found.push(("format", message.to_owned()));
        }
        Some("array") if !has(&["items", "prefixItems"]) => {
            found.push(("items", "is a list that does not say of what".to_owned()));
        }
        None if !union && !has(&["type", "$ref", "not"]) => {
            found.push(("type", "takes any value; give it a `type`".to_owned()));
        }
        _ => {}
    }
    found
}

/// Whether a description says what is counted.
fn names_unit(schema: &Value, target: &Value) -> bool {
    const UNITS: [&str; 36] = [
        "number of",
        "count",
        "how many",
        "maximum",
        "most",
        "limit",
        "page",
        "id",
        "index",
        "offset",
        "second",
        "minute",
        "hour",
        "day",
        "week",
        "month",
        "year",
        "byte",
        "kib",
        "mib",
        "metre",
        "meter",
        "kilo",
        "percent",
        "%",
        "cent",
        "euro",
        "dollar",
        "yuan",
        "pixel",
        "degree",
        "unix",
        "ms",
        "size",
        "port",
        "version",
    ];
    [schema, target].iter().any(|place| {
        let text = place.get("description").and_then(Value::as_str);
        let text = text.unwrap_or_default().to_lowercase();
        UNITS.iter().any(|unit| text.contains(unit))
            || text.chars().any(|c| "个秒分时天元米页".contains(c))
    })
}

/// An HTTP tool whose profile lets no connection to its own server through.
fn unreachable_server(tool: &Tool) -> Option<String> {
    let Target::Http(target) = &tool.target else {
        return None;
    };
    let url = url::Url::parse(&target.server).ok()?;
    let host = url.host_str()?.trim_matches(['[', ']']);
    let port = url.port_or_known_default()?;
    let rules = tool.profile.egress.as_deref().unwrap_or_default();
    let fits = rules.iter().any(|rule| rule.port == port && rule.names(host));
    (!fits).then(|| {
        format!(
            "every call will be denied: sandbox/{}.toml has no egress rule for `{host}` port {port}",
            tool.profile.name
        )
    })
}

/// What a secret of the profile changes in an HTTP tool, against what its author may expect.
fn overruled(tool: &Tool) -> Vec<String> {
    let Target::Http(target) = &tool.target else {
        return Vec::new();
    };
    let Some((url, host, port)) = url::Url::parse(&target.server).ok().and_then(|url| {
        let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
        let port = url.port_or_known_default()?;
        Some((url, host, port))
    }) else {
        return Vec::new();
    };
    let bound =
        tool.profile.secrets.iter().filter(|secret| {
            secret.hosts.iter().any(|bound| bound.host == host && bound.port == port)
        });
    let loopback = host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    let mut found = Vec::new();
    for secret in bound {
        let name = &secret.name;
        if url.scheme() == "http" && !secret.plain_http && !loopback && host != "localhost" {
            found.push(format!(
                "every call will be denied: secret `{name}` is not sent over plain HTTP; write \
                 https:// as the server, or `plain_http = true` for an internal network"
            ));
        }
        let taken = |place: Place, wire: &str| match &secret.place {
            Placement::Query(own) => place == Place::Query && own.eq_ignore_ascii_case(wire),
            header => {
                place == Place::Header
                    && header.header().is_some_and(|own| own.eq_ignore_ascii_case(wire))
            }
        };
        let arguments = target.parameters.iter().filter(|one| taken(one.place, &one.name));
        found.extend(arguments.map(|one| {
            format!("argument `{}` is never sent: secret `{name}` takes its place", one.argument)
        }));
        let fixed = target.headers.iter().filter(|(wire, _)| taken(Place::Header, wire));
        found.extend(fixed.map(|(wire, _)| {
            format!("header `{wire}` is never sent: secret `{name}` takes its place")
        }));
    }
    found
}

/// Pairs of tools that share nearly all words of their descriptions.
fn alike(catalog: &Catalog, findings: &mut Vec<Finding>) {
    let bags: Vec<(&str, BTreeSet<String>)> =
        catalog.tools().iter().map(|tool| (tool.name.as_str(), words(&tool.description))).collect();
    // Only tools that share a rare word are compared, so that large catalogs stay cheap.
    let mut holders: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, (_, bag)) in bags.iter().enumerate() {
        for word in bag {
            holders.entry(word).or_default().push(index);
        }
    }
    let mut pairs: BTreeSet<(usize, usize)> = BTreeSet::new();
    for (index, (_, bag)) in bags.iter().enumerate() {
        let rarest =
            bag.iter().filter_map(|word| holders.get(word.as_str())).min_by_key(|list| list.len());
        for other in rarest.into_iter().flatten() {
            if *other != index {
                pairs.insert((index.min(*other), index.max(*other)));
            }
        }
    }
    let mut twins: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (one, two) in pairs {
        let (Some((name, bag)), Some((other, twin))) = (bags.get(one), bags.get(two)) else {
            continue;
        };
        if similarity(bag, twin) >= ALIKE {
            twins.entry(name).or_default().push(other);
        }
    }
    for (tool, others) in twins {
        let first = others.first().copied().unwrap_or_default();
        let more = match others.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        findings.push(Finding {
            tool: tool.to_owned(),
            pointer: String::new(),
            rule: "alike",
            message: format!(
                "description cannot be told apart from that of `{first}`{more}; say when to choose \
                 which"
            ),
        });
    }
}

/// Shared words, as a part of all words.
fn similarity(one: &BTreeSet<String>, two: &BTreeSet<String>) -> f64 {
    let shared = u32::try_from(one.intersection(two).count()).unwrap_or(u32::MAX);
    let all = u32::try_from(one.union(two).count()).unwrap_or(u32::MAX);
    if all == 0 {
        return 0.0;
    }
    f64::from(shared) / f64::from(all)
}
