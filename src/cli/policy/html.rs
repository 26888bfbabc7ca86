//! The Markdown of a report in, one page of HTML out, with nothing from elsewhere. It knows what
//! `markdown.rs` writes and no more; every character of text is escaped.

use std::fmt::Write as _;

const HEAD: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
<title>Policy report</title><style>\
body{font:15px/1.5 sans-serif;max-width:70em;margin:2em auto;padding:0 1em}\
table{border-collapse:collapse;width:100%}td,th{border:1px solid #bbb;padding:.3em .6em;\
text-align:left;vertical-align:top}code{font-size:.92em;overflow-wrap:anywhere}\
</style></head><body>\n";

/// What the lines before belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    None,
    List,
    Table,
}

pub(super) fn page(markdown: &str) -> String {
    let mut out = HEAD.to_owned();
    let mut block = Block::None;
    for line in markdown.lines() {
        let next = match line.as_bytes().first() {
            Some(b'|') => Block::Table,
            Some(b'-') => Block::List,
            _ => Block::None,
        };
        let heading = next == Block::Table && block != Block::Table;
        enter(&mut out, &mut block, next);
        // Writing to a String cannot fail.
        match line.split_once(' ') {
            _ if line.starts_with("| ---") || line.is_empty() => {}
            _ if next == Block::Table => row(&mut out, line, if heading { "th" } else { "td" }),
            Some(("-", rest)) => writeln!(out, "<li>{}</li>", inline(rest)).unwrap_or_default(),
            Some((marks @ ("#" | "##" | "###"), rest)) => {
                let level = marks.len();
                writeln!(out, "<h{level}>{}</h{level}>", inline(rest)).unwrap_or_default();
            }
            _ => writeln!(out, "<p>{}</p>", inline(line)).unwrap_or_default(),
        }
    }
    enter(&mut out, &mut block, Block::None);
    out.push_str("</body></html>\n");
    out
}

fn enter(out: &mut String, block: &mut Block, next: Block) {
    if *block == next {
        return;
    }
    out.push_str(match block {
        Block::None => "",
        Block::List => "</ul>\n",
        Block::Table => "</table>\n",
    });
    out.push_str(match next {
        Block::None => "",
        Block::List => "<ul>\n",
        Block::Table => "<table>\n",
    });
    *block = next;
}

fn row(out: &mut String, line: &str, cell: &str) {
    out.push_str("<tr>");
    let inside = line.trim_start_matches("| ").trim_end_matches('|').trim_end();
    for text in inside.split(" | ") {
        write!(out, "<{cell}>{}</{cell}>", inline(text)).unwrap_or_default();
    }
    out.push_str("</tr>\n");
}

/// Code between one or two backticks, and escaped text.
fn inline(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('`') {
        escape(&mut out, before, true);
        let (fence, after) = match after.strip_prefix('`') {
            Some(after) => ("``", after),
            None => ("`", after),
        };
        let (inside, after) = after.split_once(fence).unwrap_or((after, ""));
        out.push_str("<code>");
        escape(&mut out, &inside.replace("\\|", "|"), false);
        out.push_str("</code>");
        rest = after;
    }
    escape(&mut out, rest, true);
    out
}

/// `marked` text has backslashes before what would be markup.
fn escape(out: &mut String, text: &str, marked: bool) {
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let c = match c {
            '\\' if marked => chars.next().unwrap_or('\\'),
            other => other,
        };
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
}
