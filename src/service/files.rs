//! Files from and to the wire. Their names and types are checked by the schema room.

use crate::call::File;
use crate::catalog;
use crate::proto::tools as proto;

/// Files of one call in one direction; no tool takes or gives more.
const MOST: usize = 64;
/// Bytes of a name or a media type. Shorter ones that are wrong are told to the model.
const LONGEST: usize = 255;

/// What cannot be about names of files that a call wants.
pub(super) fn fault(names: &[String]) -> Option<String> {
    if names.len() > MOST {
        return Some(format!("has {} names; at most {MOST}", names.len()));
    }
    let long = names.iter().position(|name| name.len() > LONGEST)?;
    Some(format!("{long} has a name of more than {LONGEST} bytes"))
}

/// The files of a call; or what is wrong with them on the way. Hashes their content, which takes
/// time when there is much of it.
pub(super) fn take(files: Vec<proto::File>) -> Result<Vec<File>, String> {
    if files.len() > MOST {
        return Err(format!("has {} files; at most {MOST}", files.len()));
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
