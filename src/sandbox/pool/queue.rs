//! The calls that wait for a container of one pool: one line for each caller, served in turn, so that
//! a caller with many calls delays another by one at a time. Pure bookkeeping.

use std::collections::{HashMap, VecDeque};

use super::Who;

/// Lines of waiting things, one a caller.
#[derive(Debug)]
pub(in crate::sandbox) struct Queue<T> {
    lines: HashMap<Who, VecDeque<T>>,
    /// The callers that have a line, whose turn comes first in front.
    turns: VecDeque<Who>,
    length: usize,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { lines: HashMap::new(), turns: VecDeque::new(), length: 0 }
    }
}

impl<T> Queue<T> {
    /// How many wait.
    pub(in crate::sandbox) const fn len(&self) -> usize {
        self.length
    }

    /// How many of one caller wait.
    pub(in crate::sandbox) fn of(&self, who: &Who) -> usize {
        self.lines.get(who).map_or(0, VecDeque::len)
    }

    /// How many would be served before a newcomer of this caller, at most.
    pub(in crate::sandbox) fn ahead(&self, who: &Who) -> usize {
        let own = self.of(who);
        let others = self.lines.iter().filter(|(other, _)| *other != who);
        own + others.map(|(_, line)| line.len().min(own + 1)).sum::<usize>()
    }

    /// Lets one wait, at the end of its caller's line.
    pub(in crate::sandbox) fn push(&mut self, who: &Who, item: T) {
        let line = self.lines.entry(Who::clone(who)).or_default();
        if line.is_empty() {
            self.turns.push_back(Who::clone(who));
        }
        line.push_back(item);
        self.length += 1;
    }

    /// Takes the first of the caller whose turn it is.
    pub(in crate::sandbox) fn pop(&mut self) -> Option<(Who, T)> {
        while let Some(who) = self.turns.pop_front() {
            let Some(line) = self.lines.get_mut(&who) else { continue };
            let item = line.pop_front();
            if line.is_empty() {
                self.lines.remove(&who);
            } else {
                self.turns.push_back(Who::clone(&who));
            }
            if let Some(item) = item {
                self.length = self.length.saturating_sub(1);
                return Some((who, item));
            }
        }
        None
    }

    /// Makes a place for a newcomer of `who` by taking the newest of the longest line. `None` when
    /// that line would then be shorter than the newcomer's: it has no claim to the place.
    pub(in crate::sandbox) fn displace(&mut self, who: &Who) -> Option<T> {
        let own = self.of(who);
        let longest = self.lines.iter().max_by_key(|(_, line)| line.len());
        let (longest, _) = longest.filter(|(_, line)| line.len() > own + 1)?;
        let longest = Who::clone(longest);
        // The line keeps at least one, and so its turn.
        let item = self.lines.get_mut(&longest)?.pop_back()?;
        self.length = self.length.saturating_sub(1);
        Some(item)
    }

    /// Lets go of those that no longer wait.
    pub(in crate::sandbox) fn retain(&mut self, waits: impl Fn(&T) -> bool) {
        self.lines.retain(|_, line| {
            line.retain(&waits);
            !line.is_empty()
        });
        let lines = &self.lines;
        self.turns.retain(|who| lines.contains_key(who));
        self.length = self.lines.values().map(VecDeque::len).sum();
    }

    /// Those that wait, in no order.
    pub(in crate::sandbox) fn iter(&self) -> impl Iterator<Item = &T> {
        self.lines.values().flatten()
    }

    /// Empties the queue.
    pub(in crate::sandbox) fn take(&mut self) -> Vec<T> {
        let all = std::mem::take(self);
        all.lines.into_values().flatten().collect()
    }
}
