//! Alternatives that differ in what they demand: their errors in, which members would do out. Whoever
//! is told of one alternative alone makes up a value for it, though another is at hand.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::{Map, Value, json};

use super::{is_here, phrase, resolve};

/// Most alternatives that are listed.
const MAX_LISTED: usize = 12;

/// An alternative and its errors.
pub(super) type Tried<'t, 'e> = (&'t Value, Vec<ValidationError<'e>>);

/// What alternatives demand beside what is given: for each, the names of its members.
pub(super) struct Needs {
    keyword: String,
    all: Vec<Vec<Need>>,
}

#[derive(PartialEq, Eq)]
struct Need {
    name: String,
    /// The one value that the alternative allows, as JSON text.
    only: Option<String>,
}

impl Needs {
    /// The alternatives that lack members and nothing else; `None` where `nearest` is none of them, or
    /// there is but one.
    pub(super) fn of<'t>(
        (root, keyword): (&Value, &str),
        tried: &'t [Tried<'t, '_>],
        nearest: &'t Tried<'t, '_>,
    ) -> Option<Self> {
        let mut all: Vec<Vec<Need>> = Vec::new();
        let own = missing(root, nearest)?;
        for one in tried {
            let needs = missing(root, one);
            all.extend(needs.filter(|needs| !all.contains(needs)));
        }
        (all.len() > 1 && all.contains(&own)).then(|| Self { keyword: keyword.to_owned(), all })
    }

    /// What must be given, in words.
    pub(super) fn words(&self) -> String {
        let single = self.all.iter().all(|needs| needs.len() == 1);
        let texts: Vec<String> =
            self.all.iter().take(MAX_LISTED).map(|all| together(all)).collect();
        let mut words = format!("must have {}", texts.join(if single { " or " } else { ", or " }));
        if let Some(more @ 1..) = self.all.len().checked_sub(MAX_LISTED) {
            words.push_str(&format!(" (or what {more} more alternatives demand)"));
        }
        let untold = self.all.iter().flatten().all(|need| need.only.is_none());
        if self.keyword == "oneOf" && single && untold {
            words.push_str(", and only one of them");
        }
        words
    }

    /// The same as a piece of schema.
    pub(super) fn expected(&self) -> Value {
        let names = |needs: &Vec<Need>| -> Vec<String> {
            needs.iter().map(|need| phrase::shorten(&need.name)).collect()
        };
        let all = self.all.iter().take(MAX_LISTED).map(|one| json!({ "required": names(one) }));
        let all: Vec<Value> = all.collect();
        json!({ self.keyword.as_str(): all })
    }
}

fn together(needs: &[Need]) -> String {
    let text = |need: &Need| {
        let name = phrase::shorten(&need.name);
        match &need.only {
            Some(value) => format!("`{name}` ({value})"),
            None => format!("`{name}`"),
        }
    };
    needs.iter().take(MAX_LISTED).map(text).collect::<Vec<_>>().join(" and ")
}

/// The members that an alternative lacks, when that is all that is wrong with it.
fn missing(root: &Value, (branch, errors): &Tried<'_, '_>) -> Option<Vec<Need>> {
    let mut needs = Vec::new();
    for error in errors {
        let Kind::Required { property } = error.kind() else {
            return None;
        };
        if !is_here(error) {
            return None;
        }
        let name = property.as_str()?.to_owned();
        let only = only(root, branch, &name);
        needs.push(Need { name, only });
    }
    (!needs.is_empty()).then_some(needs)
}

/// The one value that an alternative allows for a member.
fn only(root: &Value, branch: &Value, name: &str) -> Option<String> {
    let member = resolve(root, branch).get("properties")?.get(name)?;
    let member = resolve(root, member);
    let value = match (member.get("const"), member.get("enum").and_then(Value::as_array)) {
        (Some(value), _) => value,
        (None, Some(values)) => values.first().filter(|_| values.len() == 1)?,
        (None, None) => return None,
    };
    Some(phrase::value_text(value))
}

/// Of several alternatives that all fit because of what each demands: the members that tell them
/// apart, of which only one may be given.
pub(super) fn rivals<'t>(root: &'t Value, tried: &[Tried<'t, '_>]) -> Option<Vec<&'t str>> {
    let fitting = tried.iter().filter(|(_, errors)| errors.is_empty());
    let demands: Vec<Vec<&str>> = fitting
        .map(|(branch, _)| {
            let required =
                resolve(root, branch).as_object().and_then(|map: &Map<_, _>| map.get("required"));
            let required = required.and_then(Value::as_array);
            required.into_iter().flatten().filter_map(Value::as_str).collect()
        })
        .collect();
    let own = |at: usize, names: &Vec<&'t str>| {
        let mut others = demands.iter().enumerate().filter(|(other, _)| *other != at);
        names.iter().copied().find(|name| !others.any(|(_, theirs)| theirs.contains(name)))
    };
    let found: Option<Vec<&str>> =
        demands.iter().enumerate().map(|(at, names)| own(at, names)).collect();
    found.filter(|found| found.len() > 1)
}
