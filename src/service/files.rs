//! Files from and to the wire. Their names and types are checked by the schema room.

use crate::call::{File, MAX_FILES};
use crate::catalog;
use crate::proto::tools as proto;

/// Bytes of a name or a media type. Shorter ones that are wrong are told to the model.
const LONGEST: usize = 255;

/// Whether no tool takes or gives so many.
fn is_too_many(count: usize) -> bool {
    u32::try_from(count).unwrap_or(u32::MAX) > MAX_FILES
}

/// What cannot be about names of files that a call wants.
pub(super) fn fault(names: &[String]) -> Option<String> {
    if is_too_many(names.len()) {
        return Some(format!("has {} names; at most {MAX_FILES}", names.len()));
    }
    let long = names.iter().position(|name| name.len() > LONGEST)?;
    Some(format!("{long} has a name of more than {LONGEST} bytes"))
}

/// The files of a call; or what is wrong with them on the way. Hashes their content, which takes
/// time when there is much of it.
pub(super) fn take(files: Vec<proto::File>) -> Result<Vec<File>, String> {
    if is_too_many(files.len()) {
        return Err(format!("has {} files; at most {MAX_FILES}", files.len()));
    }
    let long = |file: &proto::File| file.name.len() > LONGEST || file.media_type.len() > LONGEST;
    if let Some(long) = files.iter().position(long) {
        return Err(format!("{long} has a name or a media type of more than {LONGEST} bytes"));
    }
    files
        .into_iter()
        .enumerate()
        .map(|(index, wire)| {
            let file = File::new(wire.name, &wire.media_type, wire.content);
            match wire.sha256.is_empty() || wire.sha256.eq_ignore_ascii_case(&file.facts.sha256) {
                true => Ok(file),
                false => Err(format!("{index} has another SHA-256 than it says")),
            }
        })
        .collect()
}

/// The files of a reply.
pub(super) fn give(files: &[File]) -> Vec<proto::File> {
    files
        .iter()
        .map(|File { facts, content }| proto::File {
            name: facts.name.clone(),
            media_type: facts.media_type.clone(),
            content: content.clone(),
            sha256: facts.sha256.clone(),
        })
        .collect()
}

/// What a tool takes and gives; `None` for nothing.
pub(super) fn declared(files: &catalog::Files) -> Option<proto::tool::Files> {
    let take = files.take.as_ref().map(|take| proto::tool::Take {
        count: take.count,
        bytes: take.bytes,
        media_types: take.media_types.clone(),
    });
    let give = files.give.as_ref().map(|give| proto::tool::Give {
        count: give.count,
        bytes: give.bytes,
        names: give.names.clone(),
    });
    let any = take.is_some() || give.is_some() || files.stdout.is_some();
    let stdout = files.stdout.clone().unwrap_or_default();
    any.then_some(proto::tool::Files { take, give, stdout })
}
