//! Security schemes: what an operation needs to be allowed, in; what the report says of it, and
//! which parameters are keys that no model may be asked for, out.

use serde_json::Value;

use super::body::{Content, Plan};
use super::refs::Spot;
use super::report::Note;
use super::schema::Converter;
use crate::catalog::http::{Format, Key, Place, is_same};

/// One scheme that an operation may need.
#[derive(Debug)]
pub(super) struct Scheme<'a> {
    name: &'a str,
    spot: Spot<'a>,
}

impl Scheme<'_> {
    /// The place and name of the key, for a scheme that is a plain key.
    fn key(&self) -> Option<(&str, &str)> {
        (self.spot.text("type") == Some("apiKey"))
            .then(|| Some((self.spot.text("in")?, self.spot.text("name")?)))?
    }

    /// Where the key stands, and its name.
    fn place_of_key(&self) -> Option<(Place, &str)> {
        let (place, name) = self.key()?;
        let known = [Place::Query, Place::Header, Place::Cookie];
        Some((known.into_iter().find(|known| known.as_str() == place)?, name))
    }

    /// Whether a parameter is the key itself, or one that a server may take for it.
    pub(super) fn is(&self, parameter: &Spot<'_>) -> bool {
        let named = parameter.text("in").zip(parameter.text("name"));
        self.place_of_key().zip(named).is_some_and(|((place, name), (other, own))| {
            place.as_str() == other && is_same(place, name, own)
        })
    }

    /// Whether a form's field would be read as the key: servers put query and form together.
    fn is_field(&self, own: &str) -> bool {
        let key = self.place_of_key();
        key.is_some_and(|(place, name)| place == Place::Query && is_same(place, name, own))
    }

    /// What is said of such a parameter.
    pub(super) fn left_out(&self) -> String {
        let (place, name) = self.key().unwrap_or_default();
        format!(
            "`{name}` ({place}) is the key of security scheme `{}`, which is the operator's and no \
             argument; {} (`keys_as_arguments = true` in the source's file offers it all the same)",
            self.name,
            self.bind()
        )
    }

    /// How an operator binds the key.
    fn bind(&self) -> String {
        let scheme = self.spot.text("scheme").unwrap_or_default().to_ascii_lowercase();
        let how = match (self.spot.text("type").unwrap_or_default(), self.key()) {
            (_, Some(("query", name))) => format!("query = \"{name}\""),
            (_, Some(("header", name))) => format!("header = {{ name = \"{name}\" }}"),
            (_, Some((_, name))) => {
                format!("header = {{ name = \"Cookie\", prefix = \"{name}=\" }}")
            }
            ("http", _) if scheme == "basic" => "basic = { user = \"USER\" }".to_owned(),
            ("basic", _) => "basic = { user = \"USER\" }".to_owned(),
            ("mutualTLS", _) => {
                return "client certificates are not supported".to_owned();
            }
            _ => "header = { name = \"Authorization\", prefix = \"Bearer \" }".to_owned(),
        };
        format!(
            "bind it as a secret of the sandbox profile: `[secrets.{}]` with `{how}`",
            self.name
        )
    }

    fn place(&self) -> String {
        match (self.key(), self.spot.text("type")) {
            (Some((place, name)), _) => format!("apiKey in {place} `{name}`"),
            (None, Some("http")) => {
                format!("http {}", self.spot.text("scheme").unwrap_or_default())
            }
            (None, kind) => kind.unwrap_or("of no type").to_owned(),
        }
    }
}

/// The lists of schemes of which an operation needs one; its own replace the document's.
fn demands<'a>(converter: &Converter<'a>, operation: &Spot<'a>) -> Option<Spot<'a>> {
    operation.get("security").or_else(|| {
        let root = Spot::new(0, "", converter.document.root(0));
        root.get("security")
    })
}

/// The schemes that an operation names.
pub(super) fn needed<'a>(converter: &Converter<'a>, operation: &Spot<'a>) -> Vec<Scheme<'a>> {
    let root = Spot::new(0, "", converter.document.root(0));
    let known = match converter.is_swagger() {
        true => root.get("securityDefinitions"),
        false => root.get("components").and_then(|all| all.get("securitySchemes")),
    };
    let mut found: Vec<Scheme<'a>> = Vec::new();
    for choice in demands(converter, operation).iter().flat_map(Spot::items) {
        for (name, _) in choice.members() {
            let spot = known.as_ref().and_then(|known| known.get(name));
            let spot = spot.and_then(|spot| converter.document.follow_refs(spot).ok());
            match spot {
                Some(spot) if !found.iter().any(|scheme| scheme.name == name) => {
                    found.push(Scheme { name, spot });
                }
                Some(_) | None => {}
            }
        }
    }
    found
}

/// What the report says of an operation that needs a key.
pub(super) fn tell<'a>(
    converter: &Converter<'a>,
    operation: &Spot<'a>,
    schemes: &[Scheme<'a>],
) -> Option<Note> {
    let demands = demands(converter, operation)?;
    let free = demands.items().any(|choice| choice.value == &Value::Object(serde_json::Map::new()));
    if schemes.is_empty() {
        return None;
    }
    let all: Vec<String> = schemes
        .iter()
        .map(|scheme| format!("`{}` ({}): {}", scheme.name, scheme.place(), scheme.bind()))
        .collect();
    let verb = if free { "may be given a key" } else { "needs a key" };
    let place = converter.document.describe(demands.file, &demands.pointer);
    Some(Note::new(place, format!("{verb} of security scheme {}", all.join("; or "))))
}

/// The keys that no argument may set.
pub(super) fn keys(schemes: &[Scheme<'_>]) -> Vec<Key> {
    let key = |scheme: &Scheme<'_>| {
        let (place, name) = scheme.place_of_key()?;
        Some(Key { place, name: name.to_owned(), scheme: scheme.name.to_owned() })
    };
    schemes.iter().filter_map(key).collect()
}

/// Takes the fields of a form that are a scheme's key out of it, unless they are offered.
pub(super) fn withhold<'a>(
    converter: &mut Converter<'a>,
    plan: &mut Plan<'a>,
    schemes: &[Scheme<'a>],
) {
    if converter.offers_keys || !matches!(plan.format, Format::Form | Format::Multipart) {
        return;
    }
    let Content::Fields(flat, written) = &mut plan.content else {
        return;
    };
    let key = |name: &str| schemes.iter().find(|scheme| scheme.is_field(name));
    for (name, spot) in &flat.members {
        if let Some(scheme) = key(name) {
            let message = format!("is sent as the query is read, and {}", scheme.left_out());
            converter.note(spot, "", message);
        }
    }
    flat.members.retain(|(name, _)| key(name).is_none());
    flat.required.retain(|name| key(name).is_none());
    written.retain(|field| key(&field.name).is_none());
}
