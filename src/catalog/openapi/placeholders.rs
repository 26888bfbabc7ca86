//! Placeholders of a path as other routers write them: `{id:[0-9]+}`, `{path*}`, `{ id }` in, the
//! plain `{id}` of OpenAPI out where it is declared. What would change the escaping is refused.

use super::refs::Spot;
use super::report::Reason;
use super::schema::Converter;

/// A path with plain placeholders, or the reason why there is none.
pub(super) fn settle<'a>(
    converter: &mut Converter<'a>,
    [item, operation]: [&Spot<'a>; 2],
    path: &str,
) -> Result<String, Reason> {
    let mut settled = String::new();
    let mut rest = path;
    while let Some((text, after)) = rest.split_once('{') {
        let Some((inside, tail)) = closed(after) else {
            break;
        };
        let fail = |why: &str| {
            converter
                .reason(operation, format!("path `{path}` has the placeholder `{{{inside}}}`{why}"))
        };
        let name = plain(inside);
        if name.is_empty() || name.contains(['{', '}', '/']) {
            return Err(fail(", which names no parameter"));
        }
        if let Some(operator) = inside.chars().next().filter(|c| "+#./;?&|!@=,".contains(*c)) {
            return Err(fail(&format!(
                ", whose operator `{operator}` writes its value in another way than path \
                 parameters are; write `{{{name}}}`"
            )));
        }
        let is = |entry: Spot<'a>, name: &str| {
            let spot = converter.document.follow_refs(entry);
            spot.is_ok_and(|spot| {
                spot.text("name") == Some(name) && spot.text("in") == Some("path")
            })
        };
        let declared = |name: &str| {
            let mut levels = [item, operation].into_iter().filter_map(|one| one.get("parameters"));
            levels.any(|list| list.items().any(|entry| is(entry, name)))
        };
        let taken = if inside == name || declared(inside) { inside } else { name };
        if taken != inside {
            let message = format!("`{{{inside}}}` of the path is taken as `{{{taken}}}`");
            converter.note(operation, "parameters", message);
        }
        settled.push_str(text);
        settled.push_str(&format!("{{{taken}}}"));
        rest = tail;
    }
    settled.push_str(rest);
    Ok(settled)
}

/// Splits at the brace that closes the one before `text`; patterns hold braces too.
fn closed(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return Some((text.get(..at)?, text.get(at + 1..)?)),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The name in a placeholder, without a pattern behind `:` and without what marks it as long or
/// optional.
fn plain(inside: &str) -> &str {
    let name = inside.trim().trim_start_matches(['+', '#', '.', '/', ';', '?', '&', '*']);
    let name = name.split_once(':').map_or(name, |(name, _)| name);
    name.trim_end_matches(['*', '?', '+']).trim()
}
