//! Where an operation is sent: the servers of operation, path and document in, one base URL out.
//! A server is never guessed; without an absolute one the operation is skipped.

use std::collections::BTreeMap;

use serde_json::Value;
use url::Url;

use super::refs::Spot;
use super::report::Reason;
use super::schema::Converter;
use super::swagger;
use crate::catalog::http::check_server;

/// What the operator says about servers.
#[derive(Debug, Clone, Default)]
pub(in crate::catalog) struct ServerSettings {
    /// Used instead of every server that the document names.
    pub(in crate::catalog) server: Option<String>,
    /// Where the document was published; relative servers are relative to it.
    pub(in crate::catalog) location: Option<String>,
    /// Values of server variables.
    pub(in crate::catalog) variables: BTreeMap<String, String>,
    /// Goes on without an absolute server, with a note: for a report on a document alone.
    pub(in crate::catalog) none_yet: bool,
}

/// Stands for a server that nobody has named yet.
const NONE_YET: &str = "https://server.invalid";

/// The base URL of an operation; `levels` are operation, path item and document, nearest first.
pub(super) fn choose(
    converter: &mut Converter<'_>,
    levels: [&Spot<'_>; 3],
    settings: &ServerSettings,
) -> Result<String, Reason> {
    if let Some(server) = &settings.server {
        return check_server(server).map_err(|why| Reason::new("server", why));
    }
    let [operation, _, root] = levels;
    let listed = levels.into_iter().find_map(|level| {
        let servers: Vec<Spot<'_>> = level.get("servers")?.items().collect();
        (!servers.is_empty()).then_some(servers)
    });
    let listed = listed.unwrap_or_default();
    let usable = |spot: &&Spot<'_>| {
        fill(spot, settings).is_ok_and(|text| match (Url::parse(&text), &settings.location) {
            (Ok(_), _) => check_server(&text).is_ok(),
            (Err(_), location) => location.is_some(),
        })
    };
    let best = listed.iter().find(usable);
    if let (Some(best), Some(first)) = (best, listed.first())
        && best.pointer != first.pointer
    {
        converter.note(best, "", "is the first server of the list that can be used");
    }
    for spot in &listed {
        converter.heed(spot)?;
    }
    let named = best.or_else(|| listed.first()).cloned();
    let (place, text) = match &named {
        _ if converter.is_swagger() => {
            let (place, text) = swagger::server(root, operation);
            (place, Ok(text))
        }
        Some(spot) => (converter.document.describe(spot.file, &spot.pointer), fill(spot, settings)),
        None => ("#/servers".to_owned(), Ok("/".to_owned())),
    };
    let fail = |why: String| Reason::new(place.clone(), why);
    let text = text.map_err(fail)?;
    match (Url::parse(&text), &settings.location) {
        (Ok(_), _) => check_server(&text).map_err(fail),
        (Err(error), _) if error != url::ParseError::RelativeUrlWithoutBase => {
            Err(fail(format!("server `{text}` is no URL: {error}")))
        }
        (Err(_), Some(location)) => {
            let joined = Url::parse(location).and_then(|base| base.join(&text));
            match joined {
                Ok(url) => check_server(url.as_str()).map_err(fail),
                Err(error) => Err(fail(format!("server `{text}` makes no URL: {error}"))),
            }
        }
        (Err(_), None) => {
            let mend = "set `server` (or `location`, the URL the document is published at) in the \
                        source's file";
            if settings.none_yet {
                let message =
                    format!("server `{text}` is relative: no tool can be called before you {mend}");
                converter.remark(fail(message));
                return Ok(NONE_YET.to_owned());
            }
            Err(fail(format!("server `{text}` is relative; {mend}")))
        }
    }
}

fn fill(spot: &Spot<'_>, settings: &ServerSettings) -> Result<String, String> {
    let mut text = String::new();
    let mut rest = spot.text("url").ok_or("server has no `url`")?;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, tail) = after.split_once('}').ok_or("server has an unclosed `{` in its URL")?;
        let variable = spot.value.get("variables").and_then(|all| all.get(name));
        let default = variable.and_then(|variable| variable.get("default"));
        let value = match (settings.variables.get(name), default) {
            (Some(value), _) => one_of(name, value, variable.and_then(|all| all.get("enum")))?,
            (None, Some(Value::String(value))) => value.clone(),
            (None, Some(Value::Number(value))) => value.to_string(),
            (None, _) => {
                return Err(format!(
                    "server variable `{name}` has no default; set it in `variables`"
                ));
            }
        };
        text.push_str(before);
        text.push_str(&value);
        rest = tail;
    }
    text.push_str(rest);
    Ok(text)
}

/// The operator's value of a variable, when the document allows it.
fn one_of(name: &str, value: &str, allowed: Option<&Value>) -> Result<String, String> {
    let allowed = allowed.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let known: Vec<String> = allowed.iter().map(super::plain).collect();
    if known.is_empty() || known.iter().any(|known| known == value) {
        return Ok(value.to_owned());
    }
    Err(format!(
        "server variable `{name}` is `{value}` in `variables`, and must be one of `{}`",
        known.join("`, `")
    ))
}
