//! The pieces of a unigram model and the best way to make a word of them: a word in, ids out.

use std::ops::Range;

/// How much worse an unknown character is than the worst piece.
const UNKNOWN: f64 = 10.0;

/// All pieces in the order of their bytes, in two flat lists: there are some 250,000.
#[derive(Debug)]
pub(super) struct Pieces {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    unknown: u32,
    unknown_score: f64,
}

#[derive(Debug)]
struct Entry {
    /// Where its bytes begin; they end where the next one's begin.
    start: u32,
    id: u32,
    score: f32,
}

/// The best way to a place in a word.
#[derive(Clone, Copy)]
struct Node {
    score: f64,
    from: usize,
    id: u32,
}

impl Pieces {
    /// Takes pieces with their ids and scores; `None` when they have more than 4 GiB.
    pub(super) fn new(mut pieces: Vec<(String, u32, f32)>, unknown: u32) -> Option<Self> {
        pieces.sort_unstable_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
        let worst = pieces.iter().map(|piece| piece.2).fold(0.0_f32, f32::min);
        let mut bytes = Vec::with_capacity(pieces.iter().map(|piece| piece.0.len()).sum());
        let mut entries = Vec::with_capacity(pieces.len());
        for (piece, id, score) in &pieces {
            entries.push(Entry { start: u32::try_from(bytes.len()).ok()?, id: *id, score: *score });
            bytes.extend_from_slice(piece.as_bytes());
        }
        let unknown_score = f64::from(worst) - UNKNOWN;
        Some(Self { bytes, entries, unknown, unknown_score })
    }

    fn piece(&self, at: usize) -> &[u8] {
        let start = |at: usize| self.entries.get(at).and_then(|e| usize::try_from(e.start).ok());
        let end = start(at + 1).unwrap_or(self.bytes.len());
        start(at).and_then(|start| self.bytes.get(start..end)).unwrap_or_default()
    }

    /// Of a range of pieces that are equal up to `depth`, those that go on with `byte`.
    fn narrow(&self, range: Range<usize>, depth: usize, byte: u8) -> Range<usize> {
        // A piece that ends here is before all that go on.
        let next = |at: usize| self.piece(at).get(depth).copied();
        let start = first(range.clone(), |at| next(at) >= Some(byte));
        let end = first(start..range.end, |at| next(at) > Some(byte));
        start..end
    }

    /// Adds the ids of the most probable pieces of a word. Unknown characters in a row are one.
    pub(super) fn split(&self, word: &str, ids: &mut Vec<u32>) {
        let none = Node { score: f64::NEG_INFINITY, from: 0, id: self.unknown };
        let mut nodes = vec![none; word.len() + 1];
        if let Some(begin) = nodes.first_mut() {
            begin.score = 0.0;
        }
        for (start, character) in word.char_indices() {
            let Some(here) = nodes.get(start).map(|node| node.score) else { continue };
            let single = character.len_utf8();
            let mut known = false;
            self.prefixes(word, start, |length, entry| {
                known |= length == single;
                let score = here + f64::from(entry.score);
                improve(&mut nodes, start + length, Node { score, from: start, id: entry.id });
            });
            if !known {
                let score = here + self.unknown_score;
                let node = Node { score, from: start, id: self.unknown };
                improve(&mut nodes, start + single, node);
            }
        }
        self.trace(&nodes, word.len(), ids);
    }

    /// Calls `found` with the length and the entry of each piece that the word has at `start`.
    fn prefixes(&self, word: &str, start: usize, mut found: impl FnMut(usize, &Entry)) {
        let mut range = 0..self.entries.len();
        let rest = word.as_bytes().get(start..).unwrap_or_default();
        for (depth, byte) in rest.iter().enumerate() {
            range = self.narrow(range, depth, *byte);
            if range.is_empty() {
                return;
            }
            let length = depth + 1;
            if self.piece(range.start).len() == length
                && let Some(entry) = self.entries.get(range.start)
            {
                found(length, entry);
            }
        }
    }

    /// Follows the best way back from the end.
    fn trace(&self, nodes: &[Node], mut at: usize, ids: &mut Vec<u32>) {
        let begin = ids.len();
        while at > 0
            && let Some(node) = nodes.get(at)
        {
            let again =
                node.id == self.unknown && ids.len() > begin && ids.last() == Some(&self.unknown);
            if !again {
                ids.push(node.id);
            }
            at = node.from;
        }
        if let Some(own) = ids.get_mut(begin..) {
            own.reverse();
        }
    }
}

fn improve(nodes: &mut [Node], at: usize, better: Node) {
    if let Some(node) = nodes.get_mut(at)
        && better.score > node.score
    {
        *node = better;
    }
}

/// The first place in a range from which on `past` is true.
fn first(mut range: Range<usize>, past: impl Fn(usize) -> bool) -> usize {
    while !range.is_empty() {
        let middle = range.start + range.len() / 2;
        if past(middle) {
            range.end = middle;
        } else {
            range.start = middle + 1;
        }
    }
    range.start
}
