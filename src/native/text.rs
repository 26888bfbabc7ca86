//! A model's text that may hold a call where no native one is: the text and the caller's tools in, one
//! [`Reading`] out. Only what can be read in exactly one way is a call; everything else runs nothing.
//!
//! The rules, in their order:
//! 1. What stands in `<think>` before the answer, in inline code, in a quotation, in a line that begins
//!    with `>` or in a fenced block of another language than JSON is no call.
//! 2. A call is a JSON object (or the same in another notation that `schema` reads as JSON, or as a JSON
//!    string) of a name and arguments, as `text/shape` lists them; or an array of those; or one of the marked forms of open
//!    models, as `text/tags` lists them. It stands alone, in a fence, or after and before prose.
//! 3. A name that is no tool of the caller makes no call, unless the text is nothing but the call or
//!    the form is marked: then the answer is that there is no such tool.
//! 4. Several calls run together only in one array or in marked forms. Two objects that stand apart are
//!    not run, nor is a call beside a final answer or beside a broken one.
//! 5. What is announced as an example or stands below the heading of one, stands in a comment or in
//!    brackets, has text after it in its own line, or a result after it that no tool gave, is not run.
//! 6. What ends too early, or is no JSON for another reason, is not run and not completed; nor is a text
//!    that is nothing but a tool's name and arguments in another notation, which `text/alone` tells.

mod alone;
mod doubt;
mod fence;
mod find;
mod found;
mod lead;
mod marks;
mod shape;
mod tags;
mod value;

use serde_json::Value;

use super::hint::Unclear;
use super::{Asked, Kind};
use crate::schema::ENDS;

use find::Finder;
use found::{Found, What};
use shape::Wanted;
use value::unquote;

/// Longest text that is searched, in bytes; a longer one is prose.
pub const MAX_TEXT: usize = 1 << 20;

/// A tool as the model was told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// Its name.
    pub name: String,
    /// The schema of its arguments.
    pub schema: Value,
}

/// Finds the tool of the caller that a name means.
pub type Tools<'a> = dyn Fn(&str) -> Option<Known> + 'a;

/// What a text is.
#[derive(Debug, Clone, PartialEq)]
pub enum Reading {
    /// No call: the text is the answer.
    Prose,
    /// A final answer in the form of a call, as `{"action":"final","text":".."}`.
    Final {
        /// The answer.
        text: String,
        /// The object that it stood in, as JSON text.
        json: String,
    },
    /// Calls to run.
    Calls(Vec<Asked>),
    /// Something like a call, which does not run.
    Unclear(Unclear),
}

/// Reads a text.
pub fn search(text: &str, tools: &Tools<'_>) -> Reading {
    let reading = searched(text, tools);
    let outcome = match &reading {
        Reading::Prose => "prose",
        Reading::Final { .. } => "final",
        Reading::Calls(_) => "calls",
        Reading::Unclear(_) => "unclear",
    };
    metrics::counter!("switchboard_native_texts_total", "reading" => outcome).increment(1);
    reading
}

fn searched(text: &str, tools: &Tools<'_>) -> Reading {
    if text.len() > MAX_TEXT {
        return Reading::Prose;
    }
    let inner = unquote(text.trim());
    let text = bare(inner.as_deref().unwrap_or(text));
    match decide(text, Finder::new(text, tools).find()) {
        Reading::Prose => alone::read(text, tools).map_or(Reading::Prose, Reading::Unclear),
        reading => reading,
    }
}

/// Reads the text of a message that was cut off: what is like a call in it does not run.
pub fn search_cut(text: &str, why: &str, tools: &Tools<'_>) -> Reading {
    match search(text, tools) {
        Reading::Calls(calls) => {
            let tool = calls.iter().find_map(|call| tools(&call.name));
            let found = tool.as_ref().map_or("a call", |tool| tool.name.as_str());
            let message = format!("found `{found}` called in the text, but {why}");
            Reading::Unclear(Unclear::new(message, text, 0, tool.as_ref()))
        }
        other => other,
    }
}

/// The text without what a model ends it with and a host should have left out.
fn bare(text: &str) -> &str {
    let mut text = text.trim_end();
    while let Some(rest) = ENDS.iter().find_map(|end| text.strip_suffix(end)) {
        text = rest.trim_end();
    }
    text
}

fn decide(text: &str, mut found: Vec<Found>) -> Reading {
    let alone = found.len() == 1;
    let partly = found.iter().find(|one| {
        let some = matches!(&one.what, What::Calls { known: false, tool: Some(_), .. });
        some && !one.marked && !(alone && one.is_whole(text))
    });
    if let Some(one) = partly {
        let why = "found several calls, of which some are of tools that there are not, so none ran: \
                   send one JSON array of calls, and nothing else";
        return Reading::Unclear(Unclear::new(why.to_owned(), text, one.at, one.tool()));
    }
    found.retain(|one| match &one.what {
        What::Calls { known, .. } => *known || one.marked || alone && one.is_whole(text),
        What::Weak => !alone,
        What::Odd { .. } => alone && one.is_whole(text),
        What::Final { .. } | What::Broken { .. } => true,
    });
    // What is cut off without a word of a tool only counts beside a call.
    if found.iter().all(|one| matches!(one.what, What::Weak)) {
        return Reading::Prose;
    }
    let Some(first) = found.first() else { return Reading::Prose };
    if let Some(broken) = found.iter().find_map(|one| one.unclear(text)) {
        return Reading::Unclear(broken);
    }
    if let (What::Final { answer, json }, 1) = (&first.what, found.len()) {
        return Reading::Final { text: answer.clone(), json: json.clone() };
    }
    let several = |why: &str| {
        let tool = found.iter().find_map(Found::tool);
        Reading::Unclear(Unclear::new(why.to_owned(), text, first.at, tool))
    };
    let answer = found.iter().any(|one| matches!(one.what, What::Final { .. }));
    if answer || doubt::answers(text, &found) {
        return several(
            "found a final answer and more beside it, so nothing ran: send either the answer or \
             one call, and nothing else",
        );
    }
    let marked = found.iter().filter(|one| one.marked).count();
    if found.len() > 1 && marked < found.len() {
        return several(&format!(
            "found {} separate calls and cannot tell which are meant, so none ran: send one JSON \
             object, or all of them in one JSON array, and nothing else",
            found.len()
        ));
    }
    if let Some((one, why)) = found.iter().find_map(|one| Some((one, doubt::of(text, one)?))) {
        let why = format!(
            "found a call, but {why}, so it did not run: to make it, send only the JSON object"
        );
        return Reading::Unclear(Unclear::new(why, text, one.at, one.tool()));
    }
    let wanted = found.into_iter().flat_map(|one| one.what.calls());
    Reading::Calls(wanted.map(Wanted::asked).collect())
}

impl Wanted {
    fn asked(self) -> Asked {
        let Self { name, arguments } = self;
        Asked { id: String::new(), name, arguments, kind: Kind::Function, ..Asked::default() }
    }
}
