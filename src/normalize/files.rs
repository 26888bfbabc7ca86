//! Files of a reply: what the sandbox collected, what a program wrote or an upstream sent that is no
//! text. Outcome in, files and reasons out. The media type is what the content shows; what a tool
//! says of it counts only where the content shows nothing.

use bytes::Bytes;
use serde_json::{Value, json};

use super::output::{Content, Form};
use super::verdict::Fault;
use crate::call::{Code, Failure, File};
use crate::catalog::Tool;
use crate::sandbox::{Outcome, Refused};

/// A file that was promised and is not in the reply.
#[derive(Debug)]
pub(super) struct Absent {
    name: String,
    why: Refused,
}

/// Adds the files that the sandbox collected.
pub(super) fn collect(outcome: &Outcome, content: &mut Content) {
    for file in &outcome.files {
        match &file.content {
            Ok(bytes) => content.files.push(File::new(&file.name, "", bytes.clone())),
            Err(why) => absent(content, &file.name, why.clone()),
        }
    }
}

/// Standard output that is a file.
pub(super) fn stdout(name: &str, bytes: &Bytes, cut: bool) -> Content {
    let mut content = Content::new(Form::File, Value::Null);
    match (cut, bytes.is_empty()) {
        (false, false) => content.files.push(File::new(name, "", bytes.clone())),
        (false, true) => absent(&mut content, name, Refused::Missing),
        (true, _) => absent(&mut content, name, Refused::Ended),
    }
    content
}

/// A body that is no text. One that was cut is of no use.
pub(super) fn body(bytes: &Bytes, declared: &str, cut: bool) -> Content {
    let mut content = Content::new(Form::File, Value::Null);
    if cut {
        absent(&mut content, "body", Refused::Ended);
        return content;
    }
    let kind = infer::get(bytes);
    let ending = kind.map_or("bin", |kind| kind.extension());
    let shown = kind.map_or(declared, |kind| kind.mime_type());
    let media_type = if is_media_type(shown) { shown } else { "application/octet-stream" };
    content.files.push(File::new(format!("body.{ending}"), media_type, bytes.clone()));
    content
}

/// Whether a body of this media type is a file, even where its bytes could be read as text.
pub(super) fn is_binary(media: &str) -> bool {
    let kind = ["image/", "audio/", "video/", "font/"].iter().any(|kind| media.starts_with(kind));
    kind && !media.ends_with("+xml")
        || matches!(
            media,
            "application/pdf"
                | "application/zip"
                | "application/gzip"
                | "application/x-tar"
                | "application/vnd.rar"
                | "application/x-7z-compressed"
                | "application/wasm"
        )
        || media.starts_with("application/vnd.openxmlformats-")
        || media.starts_with("application/vnd.oasis.opendocument.")
}

fn is_media_type(text: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&^_.+-/".contains(&byte);
    text.len() <= 100 && text.matches('/').count() == 1 && text.bytes().all(legal)
}

fn absent(content: &mut Content, name: &str, why: Refused) {
    content.note("file_absent", format!("`{name}` {}", words(&why)));
    content.absent.push(Absent { name: name.to_owned(), why });
}

/// The fault of a tool that did what it should, but for files that it should give.
pub(super) fn judge(tool: &Tool, content: &Content) -> Option<Fault> {
    let first = content.absent.first()?;
    let listed: Vec<Value> = content
        .absent
        .iter()
        .map(|file| json!({"name": file.name, "reason": words(&file.why)}))
        .collect();
    let large = content.absent.iter().find(|file| matches!(file.why, Refused::TooLarge(_)));
    let failure = match (large, &tool.files.give) {
        (Some(file), Some(give)) => {
            let message = format!(
                "the file `{}` {}: ask for less, {} bytes of files are given at most",
                file.name,
                words(&file.why),
                give.bytes
            );
            Failure::new(Code::OutputLimit, message)
                .with_details(json!({"limit_bytes": give.bytes, "files": listed}))
        }
        _ => {
            let message = format!("the file `{}` {}", first.name, words(&first.why));
            Failure::new(Code::ExecutionError, message).with_details(json!({"files": listed}))
        }
    };
    Some(Fault::new(failure))
}

fn words(why: &Refused) -> String {
    match why {
        Refused::Missing => "was not written by the tool".to_owned(),
        Refused::TooLarge(bytes) => format!("has {bytes} bytes, which is too much"),
        Refused::NotRegular(what) => format!("is {what}, and only plain files are given"),
        Refused::Linked => "has several names, and only files with one are given".to_owned(),
        Refused::Ended => "was not finished when the tool was ended".to_owned(),
        Refused::Unreadable(reason) => format!("cannot be read: {reason}"),
    }
}
