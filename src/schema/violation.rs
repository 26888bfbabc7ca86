//! Errors for models: the validator's errors in, one helpful line for each offending place out.
//! Alternatives are collapsed to the nearest one, secrets masked. Decides nothing.

mod cut;
mod needs;
mod phrase;

use std::sync::Arc;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{ValidationError, Validator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::flaw::FlawKind;
use super::reader::join;
use super::reference::follow;
use super::shallow::union_of;
use super::validator::{Compiled, HARD_PATTERN, collect_errors, count, is_sensitive};
use crate::pointer;
use needs::{Needs, Tried, rivals};

pub(crate) use phrase::short_pointer;
pub(super) use phrase::{MASK, named, nearest};

/// Most violations that are reported of one call.
pub(crate) const MAX_VIOLATIONS: usize = 20;
/// Most alternatives within alternatives that are looked into.
const MAX_UNIONS: usize = 8;
/// Most alternatives of one place, and most values in it, that are compared.
const MAX_BRANCHES: usize = 64;
const MAX_COMPARED: usize = 5_000;

/// One place where the arguments are not what the schema says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Violation {
    /// JSON Pointer of the place, in the arguments as the caller wrote them.
    pub pointer: String,
    /// The schema keyword that does not hold (`type`, `enum`, `required`, ...), `conflict` for two
    /// names of one property, `integer` for one beyond all bounds, or for text that could not be
    /// read, of all arguments or of one that is given as JSON text, `size`, `depth`, `duplicate_key`, `truncated`, `trailing`,
    /// `number`, `text`, `reserved_key`, `syntax`; or for the files of a call `files`, `output_files`,
    /// `file_name`, `file_count`, `file_bytes`, `file_media_type`, `file_content`.
    pub kind: String,
    /// What was expected and what came, in one line.
    pub message: String,
    /// The expectation as a piece of JSON Schema; null where there is none.
    pub expected: Value,
    /// What came: scalars as they are (shortened, secrets as `***`), else a description.
    pub got: Value,
}

/// Explains why `value` does not fit, in at most [`MAX_VIOLATIONS`] places; the number is how many
/// were found in all. Empty for a value that fits.
pub(super) fn explain(compiled: &Compiled, value: &Value) -> (Vec<Violation>, usize) {
    let mut explainer = Explainer { compiled, found: Vec::new(), total: 0 };
    if !compiled.is_valid(value) {
        explainer.explain_all(value);
    }
    (explainer.found, explainer.total)
}

/// Explains like [`explain`], but only what is wrong whatever will stand at some places of `value`,
/// given as JSON Pointers.
pub(super) fn explain_beside(
    compiled: &Compiled,
    value: &Value,
    places: &[String],
) -> (Vec<Violation>, usize) {
    let mut explainer = Explainer { compiled, found: Vec::new(), total: 0 };
    if let Some(locator) = compiled.locator("") {
        let frame = Frame::whole(compiled.located_schema());
        for error in collect_errors(&locator, value) {
            if places.iter().all(|place| holds_beside(&error, place)) {
                explainer.explain_one(&error, frame);
            }
        }
    }
    (explainer.found, explainer.total)
}

/// Whether an error stays whatever will stand at `place`: it is about something else, and no condition
/// led to it; or about what holds the place, and only its type and the names in it matter.
fn holds_beside(error: &ValidationError<'_>, place: &str) -> bool {
    let path = error.evaluation_path().as_str();
    if ["/then/", "/else/"].iter().any(|condition| path.contains(condition)) {
        return false;
    }
    let at = error.instance_path().as_str();
    let is_inside = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    match (is_inside(place, at), is_inside(at, place)) {
        (false, false) => true,
        (true, false) => matches!(
            error.kind(),
            Kind::Required { .. }
                | Kind::AdditionalProperties { .. }
                | Kind::Type { .. }
                | Kind::MinProperties { .. }
                | Kind::MaxProperties { .. }
                | Kind::MinItems { .. }
                | Kind::MaxItems { .. }
                | Kind::PropertyNames { .. }
        ),
        (_, true) => false,
    }
}

/// What errors are about: a part of a schema, and the place of the value it was applied to.
#[derive(Clone, Copy)]
struct Frame<'s> {
    /// The schema that references are resolved in.
    root: &'s Value,
    /// The part of it at which evaluation paths begin.
    start: &'s Value,
    place: &'s str,
    sensitive: bool,
    /// How many alternatives lie around it.
    level: usize,
}

impl<'s> Frame<'s> {
    fn whole(schema: &'s Value) -> Self {
        Self { root: schema, start: schema, place: "", sensitive: false, level: 0 }
    }
}

struct Explainer<'s> {
    compiled: &'s Compiled,
    found: Vec<Violation>,
    total: usize,
}

impl Explainer<'_> {
    fn explain_all(&mut self, value: &Value) {
        if let Some(locator) = self.compiled.locator("") {
            let frame = Frame::whole(self.compiled.located_schema());
            for error in collect_errors(&locator, value) {
                self.explain_one(&error, frame);
            }
        }
        // Some things only the whole schema sees: `unevaluatedProperties` beside alternatives.
        if self.total == 0
            && let Some(error) = self.compiled.first_error(value)
        {
            self.explain_one(&error, Frame::whole(self.compiled.schema()));
        }
    }

    fn explain_one(&mut self, error: &ValidationError<'_>, frame: Frame<'_>) {
        if self.found.len() >= MAX_VIOLATIONS {
            self.total += 1;
            return;
        }
        let site = Site::new(error, frame);
        match error.kind() {
            Kind::Not { schema } if frame.level < MAX_UNIONS => match union_of(schema) {
                Some(pointer) => self.explain_union(&site, pointer),
                None => self.push(site.plain()),
            },
            Kind::AdditionalProperties { unexpected }
            | Kind::UnevaluatedProperties { unexpected } => {
                for name in unexpected {
                    self.push(site.unknown(name));
                }
            }
            Kind::Required { property } => {
                self.push(site.missing(property.as_str().unwrap_or_default()));
            }
            _ => self.push(site.plain()),
        }
    }

    /// Reports the errors of the alternative that the value comes nearest to. `pointer` is where
    /// the alternatives stand in the located schema.
    fn explain_union(&mut self, site: &Site<'_>, pointer: &str) {
        let value = site.error.instance().as_ref();
        let root = self.compiled.located_schema();
        let group = root.pointer(pointer).and_then(Value::as_object);
        let Some((keyword, list)) = group.and_then(|group| group.iter().next()) else {
            return self.push(site.no_alternative());
        };
        let branches = list.as_array().map(Vec::as_slice).unwrap_or_default();
        if count(value) > MAX_COMPARED || branches.len() > MAX_BRANCHES {
            return self.push(site.no_alternative());
        }
        let inner = join(pointer, keyword);
        let places = (0..branches.len()).map(|index| join(&inner, &index.to_string()));
        let locators: Vec<Arc<Validator>> =
            places.filter_map(|place| self.compiled.locator(&place)).collect();
        let tried: Vec<Tried<'_, '_>> = branches
            .iter()
            .zip(&locators)
            .map(|(branch, locator)| (branch, collect_errors(locator, value)))
            .collect();
        if locators.len() < branches.len() || tried.iter().any(|(_, errors)| errors.is_empty()) {
            return self.push(site.several(&rivals(root, &tried).unwrap_or_default()));
        }
        let mut types: Vec<String> = Vec::new();
        for error in tried.iter().flat_map(|(_, errors)| errors).filter(|one| is_here(one)) {
            let names = type_names(error.kind());
            types
                .extend(names.into_iter().filter(|name| !types.contains(name)).collect::<Vec<_>>());
        }
        let nearest = nearest_branch(&tried).filter(|_| !cut::is_cut(value, &types));
        let Some(nearest) = nearest else {
            return self.push(site.wrong_type(&types));
        };
        if let Some(needs) = Needs::of((root, keyword), &tried, nearest) {
            return self.push(site.needs(&needs));
        }
        let (branch, errors) = nearest;
        let frame = Frame {
            root,
            start: branch,
            place: &site.place,
            sensitive: site.sensitive,
            level: site.level + 1,
        };
        for error in errors.iter().take(MAX_VIOLATIONS) {
            self.explain_one(error, frame);
        }
    }

    fn push(&mut self, violation: Violation) {
        if self.found.contains(&violation) {
            return;
        }
        self.total += 1;
        if self.found.len() < MAX_VIOLATIONS {
            self.found.push(violation);
        }
    }
}

/// Whether an error is about the very value that was checked, not a part of it.
fn is_here(error: &ValidationError<'_>) -> bool {
    error.instance_path().is_empty()
}

/// The alternative with the fewest errors, of those that allow the value's type; one whose tag is
/// another comes last.
fn nearest_branch<'t, 'e>(tried: &'t [Tried<'t, 'e>]) -> Option<&'t Tried<'t, 'e>> {
    let wrong_type =
        |error: &ValidationError<'_>| matches!(error.kind(), Kind::Type { .. }) && is_here(error);
    tried.iter().filter(|(_, errors)| !errors.iter().any(wrong_type)).min_by_key(|(_, errors)| {
        let other_tag = errors.iter().any(|error| {
            matches!(error.kind(), Kind::Constant { .. } | Kind::Enum { .. }) && !is_here(error)
        });
        (other_tag, errors.len())
    })
}

/// The types that a `type` error allows.
fn type_names(kind: &Kind) -> Vec<String> {
    match kind {
        Kind::Type { kind: TypeKind::Single(one) } => vec![one.to_string()],
        Kind::Type { kind: TypeKind::Multiple(set) } => {
            set.iter().map(|one| one.to_string()).collect()
        }
        _ => Vec::new(),
    }
}

// === impl Site ===

/// An error with the schemas that led to it.
struct Site<'e> {
    error: &'e ValidationError<'e>,
    root: &'e Value,
    /// The schema objects from the start of the part down to the holder of the failed keyword.
    chain: Vec<&'e Map<String, Value>>,
    place: String,
    sensitive: bool,
    level: usize,
}

impl<'e> Site<'e> {
    fn new(error: &'e ValidationError<'_>, frame: Frame<'e>) -> Self {
        let path = error.evaluation_path().as_str();
        // A part was compiled by way of a reference to it.
        let path = path.strip_prefix("/$ref").unwrap_or(path);
        let chain = chain(frame.root, frame.start, path);
        Self {
            sensitive: frame.sensitive || chain.iter().any(|schema| is_sensitive(schema)),
            place: format!("{}{}", frame.place, error.instance_path().as_str()),
            root: frame.root,
            level: frame.level,
            chain,
            error,
        }
    }

    fn violation(&self, pointer: &str, expected: Value, got: Value, words: &str) -> Violation {
        let kind = match self.error.kind().keyword() {
            HARD_PATTERN => "pattern",
            keyword => keyword,
        };
        Violation {
            kind: kind.to_owned(),
            message: format!("{} {words}", named(pointer)),
            pointer: short_pointer(pointer),
            expected,
            got,
        }
    }

    fn wrong_type(&self, types: &[String]) -> Violation {
        let (came, got) = phrase::came(self.error.instance(), self.sensitive);
        let (wanted, expected) = phrase::types(types);
        let is_cut = cut::is_cut(self.error.instance(), types);
        let (kind, words) = if is_cut {
            let why = "but is JSON text that ends too early: truncated, send it again, complete";
            (FlawKind::Truncated.as_str(), format!("must be {wanted}, {why}"))
        } else {
            ("type", format!("must be {wanted}, but is {came}"))
        };
        let mut violation = self.violation(&self.place, expected, got, &words);
        violation.kind = kind.to_owned();
        violation
    }

    /// None of the alternatives fits.
    fn no_alternative(&self) -> Violation {
        self.of_union("anyOf", "must fit one of the alternatives")
    }

    /// More than one of the alternatives fits; `rivals` are the members that make each of them do.
    fn several(&self, rivals: &[&str]) -> Violation {
        let mut words = "must fit exactly one of the alternatives, but fits several: ".to_owned();
        match rivals {
            [] => words.push_str("give what tells them apart"),
            names => words.push_str(&format!("give only one of {}", phrase::list(names))),
        }
        self.of_union("oneOf", &words)
    }

    fn of_union(&self, kind: &str, words: &str) -> Violation {
        let (_, got) = phrase::came(self.error.instance(), self.sensitive);
        Violation { kind: kind.to_owned(), ..self.violation(&self.place, Value::Null, got, words) }
    }

    /// Each of several alternatives lacks other members.
    fn needs(&self, needs: &Needs) -> Violation {
        let got = Value::Null;
        Violation {
            kind: "required".to_owned(),
            ..self.violation(&self.place, needs.expected(), got, &needs.words())
        }
    }

    fn plain(&self) -> Violation {
        let types = type_names(self.error.kind());
        if !types.is_empty() {
            return self.wrong_type(&types);
        }
        let (mut words, expected) = phrase::wanted(self.error);
        let (came, got) = phrase::came_to(self.error, self.sensitive);
        if !came.is_empty() {
            words = format!("{words}, but {came}");
        }
        if let (Kind::Enum { options }, Value::String(given)) =
            (self.error.kind(), self.error.instance().as_ref())
            && !self.sensitive
        {
            let names = options.as_array().into_iter().flatten().filter_map(Value::as_str);
            words.push_str(&phrase::did_you_mean(nearest(given, names)));
        }
        self.violation(&self.place, expected, got, &words)
    }

    fn known(&self) -> Vec<&'e str> {
        let properties = self.chain.last().and_then(|schema| schema.get("properties"));
        properties
            .and_then(Value::as_object)
            .map(|map| map.keys().map(String::as_str).collect())
            .unwrap_or_default()
    }

    fn unknown(&self, name: &str) -> Violation {
        let known = self.known();
        let mut words = "is not a property of this tool's input".to_owned();
        match nearest(name, known.iter().copied()) {
            Some(near) => words.push_str(&phrase::did_you_mean(Some(near))),
            None if known.is_empty() => words.push_str("; leave it out"),
            None => words.push_str(&format!("; the known ones are {}", phrase::list(&known))),
        }
        let expected = serde_json::json!({"properties": known});
        let got = Value::String(phrase::shorten(name));
        self.violation(&join(&self.place, name), expected, got, &words)
    }

    fn missing(&self, name: &str) -> Violation {
        let holder = self.chain.last();
        let property = holder
            .and_then(|schema| schema.get("properties")?.get(name))
            .map(|property| resolve(self.root, property));
        let mut words = "is missing".to_owned();
        if let Some(schema) = property {
            words.push_str(&phrase::describe(schema));
        }
        let known = self.known();
        let given = self.error.instance().as_object();
        let strangers = given.into_iter().flat_map(Map::keys).map(String::as_str);
        let strangers = strangers.filter(|given| !known.contains(given));
        if let Some(near) = nearest(name, strangers) {
            words.push_str(&format!("; you gave `{}`", phrase::shorten(near)));
        }
        let expected = property.map_or(Value::Null, phrase::outline);
        self.violation(&join(&self.place, name), expected, Value::Null, &words)
    }
}

/// The schema that `schema` refers to, or itself.
fn resolve<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let mut current = schema;
    for _ in 0..16 {
        let target = current.get("$ref").and_then(Value::as_str);
        match target.and_then(|target| follow(root, target)) {
            Some(next) => current = next,
            None => break,
        }
    }
    current
}

/// The schema objects on an evaluation path, references followed.
fn chain<'s>(root: &'s Value, start: &'s Value, path: &str) -> Vec<&'s Map<String, Value>> {
    let mut found = Vec::new();
    let mut current = start;
    for token in path.split('/').skip(1) {
        found.extend(current.as_object());
        let token = pointer::unescape(token);
        let next = if token == "$ref" {
            let target = current.get("$ref").and_then(Value::as_str);
            target.and_then(|target| follow(root, target))
        } else {
            match current {
                Value::Array(items) => token.parse().ok().and_then(|index: usize| items.get(index)),
                _ => current.get(token.as_str()),
            }
        };
        match next {
            Some(next) => current = next,
            None => break,
        }
    }
    found
}
