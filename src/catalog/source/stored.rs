//! What a document gave, as it is kept in the cache: a line for the files and the report, then one for
//! each tool. Bytes in, the same out, or nothing when a file is no longer what it was.

use std::num::NonZeroUsize;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::catalog::openapi::{Found, ImportReport, Input};

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
struct Head<R, I> {
    inputs: I,
    report: R,
    tools: usize,
}

pub(super) fn write(found: &[Found], report: &ImportReport, inputs: &[Input]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    serde_json::to_writer(&mut bytes, &Head { inputs, report, tools: found.len() }).ok()?;
    for one in found {
        bytes.push(b'\n');
        serde_json::to_writer(&mut bytes, one).ok()?;
    }
    Some(bytes)
}

/// Every file is read again and compared, so that nothing is taken from the cache that the files
/// themselves do not say.
pub(super) fn read(bytes: &[u8], document: &Path) -> Option<(Vec<Found>, ImportReport)> {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let head: Head<ImportReport, Vec<Input>> = serde_json::from_slice(lines.next()?).ok()?;
    let lines: Vec<&[u8]> = lines.collect();
    let folder = document.parent()?.canonicalize().ok()?;
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(8);
    let share = lines.len().div_ceil(threads).max(1);
    let found = std::thread::scope(|scope| {
        let one = |line: &&[u8]| serde_json::from_slice::<Found>(line).ok();
        let parts: Vec<_> = lines
            .chunks(share)
            .map(|part| scope.spawn(move || part.iter().map(one).collect::<Option<Vec<_>>>()))
            .collect();
        if !head.inputs.iter().all(|input| input.holds(&folder)) {
            return None;
        }
        let mut found = Vec::with_capacity(lines.len());
        for part in parts {
            found.extend(part.join().ok()??);
        }
        Some(found)
    })?;
    (found.len() == head.tools).then_some((found, head.report))
}
