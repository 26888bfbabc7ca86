//! Errors for models: the validator's errors in, one helpful line for each offending place out.
//! Alternatives are collapsed to the nearest one, secrets masked. Decides nothing.

mod phrase;

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::reader::join;
use super::validator::{HARD_PATTERN, is_sensitive};

pub(super) use phrase::{MASK, named, nearest};

/// Most violations that are reported of one call.
pub(super) const MAX_VIOLATIONS: usize = 20;
/// Most errors looked at: a megabyte of wrong items has as many.
const MAX_ERRORS: usize = 2_000;
/// Most alternatives within alternatives that are looked into.
const MAX_UNIONS: usize = 8;

/// One place where the arguments are not what the schema says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Violation {
    /// JSON Pointer of the place, in the arguments as the caller wrote them.
    pub pointer: String,
    /// The schema keyword that does not hold (`type`, `enum`, `required`, ...), `conflict` for two
    /// names of one property, `integer` for one beyond all bounds, or for text that could not be
    /// read `size`, `depth`, `duplicate_key`, `truncated`, `trailing`,
    /// `number`, `text`, `reserved_key`, `syntax`.
    pub kind: String,
    /// What was expected and what came, in one line.
    pub message: String,
    /// The expectation as a piece of JSON Schema; null where there is none.
    pub expected: Value,
    /// What came: scalars as they are (shortened, secrets as `***`), else a description.
    pub got: Value,
}

/// Explains `errors` of a value checked against `schema`, at most [`MAX_VIOLATIONS`]; the number
/// is how many were found in all.
pub(super) fn explain<'e>(
    errors: impl Iterator<Item = ValidationError<'e>>,
    schema: &Value,
) -> (Vec<Violation>, usize) {
    let mut found: Vec<Violation> = Vec::new();
    let mut total = 0;
    for error in errors.take(MAX_ERRORS) {
        let mut some = Vec::new();
        explain_one(&error, schema, &mut some, 0);
        for violation in some {
            if found.contains(&violation) {
                continue;
            }
            total += 1;
            if found.len() < MAX_VIOLATIONS {
                found.push(violation);
            }
        }
    }
    (found, total)
}

fn explain_one(
    error: &ValidationError<'_>,
    schema: &Value,
    out: &mut Vec<Violation>,
    level: usize,
) {
    let site = Site::new(error, schema);
    match error.kind() {
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } if level < MAX_UNIONS => {
            explain_union(&site, context, schema, out, level);
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            out.extend(unexpected.iter().map(|name| site.unknown(name)));
        }
        Kind::Required { property } => {
            out.push(site.missing(property.as_str().unwrap_or_default(), schema));
        }
        _ => out.push(site.plain()),
    }
}

/// Reports the errors of the alternative that the value comes nearest to.
fn explain_union(
    site: &Site<'_>,
    context: &[Vec<ValidationError<'static>>],
    schema: &Value,
    out: &mut Vec<Violation>,
    level: usize,
) {
    let here = |error: &ValidationError<'_>| error.instance_path().as_str() == site.place();
    let nearest = context
        .iter()
        .filter(|errors| {
            !errors
                .iter()
                .any(|error| matches!(error.kind(), Kind::Type { .. }) && here(error))
        })
        .min_by_key(|errors| {
            let other_tag = errors.iter().any(|error| {
                matches!(error.kind(), Kind::Constant { .. } | Kind::Enum { .. }) && !here(error)
            });
            (other_tag, errors.len())
        });
    if let Some(errors) = nearest {
        for error in errors.iter().take(MAX_VIOLATIONS) {
            explain_one(error, schema, out, level + 1);
        }
        return;
    }
    let mut types: Vec<String> = Vec::new();
    for error in context.iter().flatten().filter(|error| here(error)) {
        for name in type_names(error.kind()) {
            if !types.contains(&name) {
                types.push(name);
            }
        }
    }
    out.push(site.wrong_type(&types));
}

/// The types that a `type` error allows.
fn type_names(kind: &Kind) -> Vec<String> {
    match kind {
        Kind::Type {
            kind: TypeKind::Single(one),
        } => vec![one.to_string()],
        Kind::Type {
            kind: TypeKind::Multiple(set),
        } => set.iter().map(|one| one.to_string()).collect(),
        _ => Vec::new(),
    }
}

// === impl Site ===

/// An error with the schemas that led to it.
struct Site<'e> {
    error: &'e ValidationError<'e>,
    /// The schema objects from the root down to the one that holds the failed keyword.
    chain: Vec<&'e Map<String, Value>>,
}

impl<'e> Site<'e> {
    fn new(error: &'e ValidationError<'_>, schema: &'e Value) -> Self {
        Self {
            chain: chain(schema, error.evaluation_path().as_str()),
            error,
        }
    }

    fn place(&self) -> &str {
        self.error.instance_path().as_str()
    }

    fn sensitive(&self) -> bool {
        self.chain.iter().any(|schema| is_sensitive(schema))
    }

    fn violation(&self, pointer: String, expected: Value, got: Value, words: &str) -> Violation {
        let kind = match self.error.kind().keyword() {
            HARD_PATTERN => "pattern",
            keyword => keyword,
        };
        Violation {
            kind: kind.to_owned(),
            message: format!("{} {words}", named(&pointer)),
            pointer,
            expected,
            got,
        }
    }

    fn wrong_type(&self, types: &[String]) -> Violation {
        let (came, got) = phrase::came(self.error.instance(), self.sensitive());
        let (wanted, expected) = phrase::types(types);
        let place = self.place().to_owned();
        let mut violation = self.violation(
            place,
            expected,
            got,
            &format!("must be {wanted}, but is {came}"),
        );
        violation.kind = "type".to_owned();
        violation
    }

    fn plain(&self) -> Violation {
        let types = type_names(self.error.kind());
        if !types.is_empty() {
            return self.wrong_type(&types);
        }
        let (mut words, expected) = phrase::wanted(self.error);
        let (came, got) = phrase::came_to(self.error, self.sensitive());
        if !came.is_empty() {
            words = format!("{words}, but {came}");
        }
        if let (Kind::Enum { options }, Value::String(given)) =
            (self.error.kind(), self.error.instance().as_ref())
            && !self.sensitive()
        {
            let names = options
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str);
            words.push_str(&phrase::did_you_mean(nearest(given, names)));
        }
        self.violation(self.place().to_owned(), expected, got, &words)
    }

    fn known(&self) -> Vec<&'e str> {
        let properties = self
            .chain
            .last()
            .and_then(|schema| schema.get("properties"));
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
        self.violation(join(self.place(), name), expected, got, &words)
    }

    fn missing(&self, name: &str, root: &Value) -> Violation {
        let holder = self.chain.last();
        let property = holder
            .and_then(|schema| schema.get("properties")?.get(name))
            .map(|property| resolve(root, property));
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
        self.violation(join(self.place(), name), expected, Value::Null, &words)
    }
}

/// The schema that `schema` refers to, or itself.
fn resolve<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let mut current = schema;
    for _ in 0..16 {
        let target = current.get("$ref").and_then(Value::as_str);
        match target.and_then(|target| root.pointer(target.strip_prefix('#')?)) {
            Some(next) => current = next,
            None => break,
        }
    }
    current
}

/// The schema objects on an evaluation path, references followed.
fn chain<'s>(root: &'s Value, path: &str) -> Vec<&'s Map<String, Value>> {
    let mut found = Vec::new();
    let mut current = root;
    for token in path.split('/').skip(1) {
        found.extend(current.as_object());
        let token = token.replace("~1", "/").replace("~0", "~");
        let next = if token == "$ref" {
            let target = current.get("$ref").and_then(Value::as_str);
            target.and_then(|target| root.pointer(target.strip_prefix('#')?))
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
