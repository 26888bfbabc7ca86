//! Pages of one result: the first page's content and the others in, one content with the items of
//! all out. Says whether there is more; fetches nothing.

use serde_json::Value;

use super::output::{Content, Form, parse};
use crate::catalog::{Follow, Pages, Target, Tool};
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
        let mut told = None;
        for (at, body) in more.bodies.iter().enumerate() {
            let Some((later, next)) = items_of(body, rule) else {
                end = "no_items";
                break;
            };
            items.extend(later);
            told = Some(next);
            content.pages = u32::try_from(at + 2).ok();
        }
        // Who goes on from here goes on behind the last page, not the first.
        if let (Some(next), Some(pointer)) = (told, next_at(rule))
            && let Some(place) = content.data.pointer_mut(pointer)
        {
            *place = next;
        }
    }
    content.next_link.clone_from(&more.next);
    if let Some(why) = words(end) {
        let pages = content.pages.unwrap_or(1);
        let status = more.status.map(|status| format!(": the upstream answered {status}"));
        let wait = more.retry_after.map(|wait| format!("; it may be asked again after {wait} s"));
        let (status, wait) = (status.unwrap_or_default(), wait.unwrap_or_default());
        let detail = format!("the items of {pages} pages are here; {why}{status}{wait}");
        content.note("more_pages", detail);
        content.cut = true;
    }
}

/// Where a page's body says which one is next.
fn next_at(rule: &Pages) -> Option<&str> {
    match &rule.next {
        Follow::Url(pointer) | Follow::Cursor { pointer, .. } => Some(pointer),
        Follow::Link | Follow::Number { .. } => None,
    }
}

/// The items of a page, and what it says of the next one; null when it says nothing.
fn items_of(body: &[u8], rule: &Pages) -> Option<(Vec<Value>, Value)> {
    let text = std::str::from_utf8(body).ok()?.trim_start_matches('\u{feff}');
    let mut page = parse(text.trim()).ok()?;
    let next = next_at(rule).and_then(|pointer| page.pointer(pointer)).cloned();
    match page.pointer_mut(&rule.items)?.take() {
        Value::Array(items) => Some((items, next.unwrap_or_default())),
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
