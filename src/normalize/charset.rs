//! Which encoding an upstream's text is in, and the text: bytes, media type and the named charset
//! in, a [`Decoded`] out. Order of trust: byte order mark, `Content-Type`, document, UTF-8.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// Bytes at the start of a document that may name its encoding (HTML standard).
const SNIFFED: usize = 1024;

/// Decoded text.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) text: String,
    /// Name of the encoding, by the WHATWG's list.
    pub(super) charset: &'static str,
    /// Characters that had to be replaced by U+FFFD.
    pub(super) broken: usize,
    /// Whether the named encoding is not known, so that UTF-8 was used.
    pub(super) unknown: bool,
}

/// Decodes `bytes`. `label` is the charset of the `Content-Type`; `document` says that the text
/// is HTML or XML, which may name its own.
pub(super) fn decode(bytes: &[u8], label: Option<&str>, document: bool) -> Decoded {
    let named = label.map(|label| Encoding::for_label(label.as_bytes()));
    let (encoding, skip) = match Encoding::for_bom(bytes) {
        Some(found) => found,
        None => {
            let declared = || if document { sniff(bytes) } else { None };
            let encoding = match named {
                Some(Some(encoding)) => encoding,
                Some(None) => UTF_8,
                None => declared().unwrap_or(UTF_8),
            };
            (encoding, 0)
        }
    };
    let bytes = bytes.get(skip..).unwrap_or_default();
    let (text, failed) = encoding.decode_without_bom_handling(bytes);
    Decoded {
        broken: if failed { text.matches('\u{fffd}').count().max(1) } else { 0 },
        text: text.into_owned(),
        charset: encoding.name(),
        unknown: skip == 0 && matches!(named, Some(None)),
    }
}

/// The encoding that an HTML or XML document names at its start.
fn sniff(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = bytes.get(..SNIFFED.min(bytes.len()))?;
    let head = String::from_utf8_lossy(start).to_ascii_lowercase();
    let head = without_comments(&head);
    let label = xml_declared(&head).or_else(|| meta_declared(&head))?;
    let encoding = Encoding::for_label(label.as_bytes())?;
    // A document whose ASCII could be read is not in UTF-16, whatever it says.
    let wide = encoding == UTF_16LE || encoding == UTF_16BE;
    Some(if wide { UTF_8 } else { encoding })
}

fn without_comments(head: &str) -> String {
    let mut kept = String::new();
    let mut rest = head;
    while let Some((before, after)) = rest.split_once("<!--") {
        kept.push_str(before);
        rest = after.split_once("-->").map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept
}

fn xml_declared(head: &str) -> Option<&str> {
    let declaration = head.trim_start().strip_prefix("<?xml")?;
    let (declaration, _) = declaration.split_once("?>")?;
    value_after(declaration, "encoding")
}

/// `content` counts only where `http-equiv` says that it is a `Content-Type` (HTML standard).
fn meta_declared(head: &str) -> Option<&str> {
    head.split("<meta").skip(1).find_map(|rest| {
        let (tag, _) = rest.split_once('>')?;
        if !tag.starts_with(|c: char| c.is_ascii_whitespace() || c == '/') {
            return None;
        }
        let attributes = attributes(tag);
        let named = |name: &str| attributes.iter().find(|(key, _)| *key == name).map(|(_, v)| *v);
        let content = || {
            named("http-equiv").filter(|header| header.trim() == "content-type")?;
            value_after(named("content")?, "charset")
        };
        named("charset").map(str::trim).filter(|label| !label.is_empty()).or_else(content)
    })
}

/// Names and values of what stands in a tag.
fn attributes(tag: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut rest = tag;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if rest.is_empty() {
            return found;
        }
        let is_end = |c: char| c.is_ascii_whitespace() || matches!(c, '=' | '/');
        let end = rest.find(is_end).unwrap_or(rest.len());
        let (name, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let after = after.trim_start();
        let Some(value) = after.strip_prefix('=').map(str::trim_start) else {
            found.push((name, ""));
            rest = after;
            continue;
        };
        let quoted = ['"', '\''].into_iter().find_map(|quote| {
            let inner = value.strip_prefix(quote)?;
            Some(inner.split_once(quote).unwrap_or((inner, "")))
        });
        let bare = || value.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((value, ""));
        let (value, after) = quoted.unwrap_or_else(bare);
        found.push((name, value));
        rest = after;
    }
}

/// The value in `NAME = "value"`, quoted or not.
fn value_after<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, after) = text.split_once(name)?;
    let value = after.trim_start().strip_prefix('=')?.trim_start();
    let value = value.trim_start_matches(['"', '\'']);
    let end = value.find(['"', '\'', ';', ' ', '\t', '\n', '\r', '/', '>']);
    let value = end.map_or(value, |end| value.get(..end).unwrap_or(value));
    (!value.is_empty()).then_some(value)
}
