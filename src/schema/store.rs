//! Where the validators of one tool lie: made when the catalog is loaded, or on first use. A tool in,
//! its validators or the reason why there are none out.

use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use super::validator::Pair;
use crate::catalog::Tool;

/// Tools for which another thread is worth its start.
const SHARE: usize = 64;

/// The validators of one tool.
#[derive(Debug)]
pub(super) struct Slot {
    tool: Arc<Tool>,
    pair: OnceLock<Option<Pair>>,
}

impl Slot {
    /// Without validators yet.
    pub(super) fn empty(tool: &Arc<Tool>) -> Self {
        Self { tool: Arc::clone(tool), pair: OnceLock::new() }
    }

    /// The validators; `None` when they cannot be made, which fails every call.
    pub(super) fn pair(&self) -> Option<&Pair> {
        self.pair.get_or_init(|| Pair::build(&self.tool).ok()).as_ref()
    }
}

fn build(tool: &Arc<Tool>, keep: bool) -> Result<Slot, String> {
    let pair = Pair::build(tool)?;
    let slot = Slot::empty(tool);
    if keep {
        slot.pair.get_or_init(|| Some(pair));
    }
    Ok(slot)
}

/// Compiles the schemas of each tool, in order; with `keep`, the validators stay.
pub(super) fn build_all(tools: &[&Arc<Tool>], keep: bool) -> Vec<Result<Slot, String>> {
    let all = |part: &[&Arc<Tool>]| part.iter().map(|tool| build(tool, keep)).collect::<Vec<_>>();
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(8);
    if threads < 2 || tools.len() < SHARE {
        return all(tools);
    }
    std::thread::scope(|scope| {
        let parts: Vec<_> = tools
            .chunks(tools.len().div_ceil(threads))
            .map(|part| (part, scope.spawn(move || all(part))))
            .collect();
        let ended = parts.into_iter().flat_map(|(part, thread)| {
            // A thread that panicked is tried again here, where the panic has its place.
            thread.join().unwrap_or_else(|_panic| all(part))
        });
        ended.collect()
    })
}
