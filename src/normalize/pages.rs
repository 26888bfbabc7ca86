//! Pages of one result: the first page's content and the others in, one content with the items of
//! all out. Says whether there is more; fetches nothing.

use serde_json::Value;

use super::body::DUPLICATE_KEY;
use super::output::{Content, Form, parse_last};
use crate::catalog::{Follow, Pages, Target, Tool};
use crate::pointer;
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
        let (mut told, mut twice) = (None, false);
        for (at, body) in more.bodies.iter().enumerate() {
            let Some(page) = read_page(body, rule) else {
                end = "no_items";
                break;
            };
            items.extend(page.items);
            (told, twice) = (Some(page.next), twice || page.twice);
            content.pages = u32::try_from(at + 2).ok();
        }
        if let (Some(next), Some(pointer)) = (told, next_at(rule)) {
            put(&mut content.data, pointer, next);
        }
        if twice && !content.noted("duplicate_key") {
            content.note("duplicate_key", DUPLICATE_KEY);
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

/// A later page.
struct Page {
    items: Vec<Value>,
    /// What it says of the next one, where it says anything.
    next: Option<Value>,
    /// Whether an object in it has two members of one name.
    twice: bool,
}

fn read_page(body: &[u8], rule: &Pages) -> Option<Page> {
    let text = std::str::from_utf8(body).ok()?.trim_start_matches('\u{feff}');
    let (mut page, twice) = parse_last(text.trim()).ok()?;
    let next = next_at(rule).and_then(|pointer| page.pointer(pointer)).cloned();
    match page.pointer_mut(&rule.items)?.take() {
        Value::Array(items) => Some(Page { items, next, twice }),
        _ => None,
    }
}

/// Puts what the last page says of the next one in the place of what the first one said: who goes on
/// from here goes on behind the last.
fn put(data: &mut Value, pointer: &str, next: Option<Value>) {
    match (next, pointer.rsplit_once('/')) {
        (Some(next), _) => {
            if let Some(place) = data.pointer_mut(pointer) {
                *place = next;
            }
        }
        (None, Some((parent, step))) => {
            let parent = data.pointer_mut(parent).and_then(Value::as_object_mut);
            parent.and_then(|parent| parent.shift_remove(&pointer::unescape(step)));
        }
        (None, None) => {}
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
