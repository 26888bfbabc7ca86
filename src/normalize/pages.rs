//! Pages of one result: the first page's content and the others in, one content with the items of
//! all out. Says whether there is more; fetches nothing.

use serde_json::Value;

use super::output::{Content, Form, parse};
use crate::catalog::{Target, Tool};
use crate::sandbox::MorePages;

/// Adds the items of later pages to those of the first.
pub(super) fn join(content: &mut Content, more: &MorePages, tool: &Tool) {
    let Target::Http(target) = &tool.target else { return };
    let Some(rule) = &target.manner.pages else { return };
    content.pages = Some(1);
    let mut end = more.end.as_str();
    if content.form == Form::Json
        && let Some(Value::Array(items)) = content.data.pointer_mut(&rule.items)
    {
        for (at, body) in more.bodies.iter().enumerate() {
            let Some(later) = items_of(body, &rule.items) else {
                end = "no_items";
                break;
            };
            items.extend(later);
            content.pages = u32::try_from(at + 2).ok();
        }
    }
    content.next_link.clone_from(&more.next);
    if let Some(why) = words(end) {
        let pages = content.pages.unwrap_or(1);
        content.note("more_pages", format!("the items of {pages} pages are here; {why}"));
        content.cut = true;
    }
}

fn items_of(body: &[u8], pointer: &str) -> Option<Vec<Value>> {
    let text = std::str::from_utf8(body).ok()?.trim_start_matches('\u{feff}');
    let mut page = parse(text.trim()).ok()?;
    match page.pointer_mut(pointer)?.take() {
        Value::Array(items) => Some(items),
        _ => None,
    }
}

/// Why there may be more; `None` when there is no more.
fn words(end: &str) -> Option<&'static str> {
    Some(match end {
        "last" => return None,
        "pages" => "no more are fetched in one call",
        "items" => "that is as many items as one call fetches",
        "bytes" => "the next one did not fit into the tool's output limit",
        "time" => "there was no time for the next one",
        "loop" => "the next one was fetched already",
        "elsewhere" => "the next one lies at another origin and is not followed",
        "malformed" => "where the next one lies cannot be understood",
        "failed" => "the next one could not be fetched",
        "no_items" => "the last one has no items where they should be",
        _ => "the tool was ended before the next one",
    })
}
