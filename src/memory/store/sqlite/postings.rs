//! The full text index of one tenant, in memory: terms of chunks in, chunks by BM25 out. It is made
//! of the texts in the file at every start, so the two cannot differ. Knows no scope: whoever asks
//! says which chunks count. Why it is not SQLite's own index stands at [`Postings`].

use smallvec::SmallVec;

use super::terms::{self, ByNumber};
use super::words::Bag;

/// How soon a term that is repeated adds nothing more.
const SATURATION: f32 = 1.2;
/// How much length counts against a chunk: three quarters of the way to its full proportion.
const LENGTH: f32 = 0.75;
/// Stands for the length of a chunk that was taken out again.
const GONE: u32 = u32::MAX;
/// Of how many chunks of a list one may be gone before the list is made anew: whatever is taken out,
/// each list is read a few times at most.
const SLACK: u32 = 4;
/// Chunks from which on a term that most of them have is left out of questions with rarer ones.
const MANY: usize = 10_000;

/// Where one term occurs: chunk after chunk, each as the distance from the one before, doubled, and
/// odd for a term that is there once; else the count follows. Seven bits a byte.
#[derive(Debug, Default)]
struct List {
    /// Most terms are rare: up to here they need no memory of their own.
    bytes: SmallVec<[u8; 16]>,
    /// Chunks that are there.
    chunks: u32,
    /// Chunks in it that were taken out again.
    gone: u32,
    last: u32,
}

/// How many chunks, and words in them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Size {
    chunks: usize,
    words: u64,
}

/// The index.
///
/// Beside FTS5 (a table a tenant, characters of Chinese spaced out, pairs asked for as phrases) on 100,000
/// units of 20 tenants, questions of 60 characters (`tests/benches/memory/fts5.rs`; two cores under load):
///
/// | | here | FTS5 |
/// | --- | --- | --- |
/// | a question: least, median | 0.13, 0.28 ms | 5.4, 15 ms |
/// | start, processor time | 1.3 s, of 2.5 s for all indexes | none |
/// | a unit written, processor time | 13 us | 38 us |
/// | in memory; in the file | 104 MB with all other indexes; none | 13 MB; 26 MB |
///
/// Of the first 20 both find the same 98 %. FTS5 scores every match before the scope can leave any out,
/// and takes longer alone than recall may with all its layers.
#[derive(Debug, Default)]
pub(super) struct Postings {
    lists: ByNumber<List>,
    lengths: Vec<u32>,
    total: u64,
    /// Chunks that were taken out again.
    gone: usize,
}

impl Postings {
    /// Adds the next chunk.
    pub(super) fn add(&mut self, bag: &Bag) {
        let chunk = u32::try_from(self.lengths.len()).unwrap_or(u32::MAX);
        for (term, count) in bag.terms() {
            self.lists.entry(term).or_default().add(chunk, count);
        }
        self.lengths.push(bag.length);
        self.total += u64::from(bag.length);
    }

    /// Takes a chunk out again, with the words that only it had.
    pub(super) fn remove(&mut self, chunk: u32, bag: &Bag) {
        let Some(length) = self.lengths.get_mut(index(chunk)) else { return };
        *length = GONE;
        for (term, _) in bag.terms() {
            let Some(list) = self.lists.get_mut(&term) else { continue };
            (list.chunks, list.gone) = (list.chunks.saturating_sub(1), list.gone + 1);
            if list.chunks == 0 {
                self.lists.remove(&term);
            } else if list.gone.saturating_mul(SLACK) > list.chunks {
                *list = list.left(&self.lengths);
            }
        }
        self.total = self.total.saturating_sub(u64::from(bag.length));
        self.gone += 1;
    }

    /// Bytes of the list of a term.
    #[cfg(test)]
    pub(super) fn bytes(&self, term: &str) -> usize {
        let list = self.lists.get(&terms::number(term));
        list.map_or(0, |list| list.bytes.len())
    }

    /// Scores of the chunks that have any of the terms and that `counts` lets through; in no order.
    pub(super) fn score(
        &self,
        terms: &[String],
        counts: &dyn Fn(usize) -> bool,
    ) -> Vec<(usize, f32)> {
        let lists = self.lists(terms).map(|list| (list, index(list.chunks))).collect();
        let size = Size { chunks: self.lengths.len().saturating_sub(self.gone), words: self.total };
        self.weigh(lists, size, counts)
    }

    /// The same where only a part of the chunks may be known of: so many there are of them, and `has`
    /// tells which.
    pub(super) fn score_in(
        &self,
        terms: &[String],
        counts: &dyn Fn(usize) -> bool,
        (size, has): (Size, &dyn Fn(usize) -> bool),
    ) -> Vec<(usize, f32)> {
        let having = |list: &List| {
            let mut having = 0;
            list.each(&mut |chunk, _| having += usize::from(has(index(chunk))));
            having
        };
        let lists = self.lists(terms).map(|list| (list, having(list)));
        let lists = lists.filter(|(_, having)| *having > 0).collect();
        self.weigh(lists, size, counts)
    }

    fn lists(&self, words: &[String]) -> impl Iterator<Item = &List> {
        let numbers = words.iter().map(|word| terms::number(word));
        numbers.filter_map(|number| self.lists.get(&number))
    }

    /// Scores by lists and how many chunks each is of, of those that count.
    fn weigh(
        &self,
        mut lists: Vec<(&List, usize)>,
        size: Size,
        counts: &dyn Fn(usize) -> bool,
    ) -> Vec<(usize, f32)> {
        lists.sort_by_key(|(_, having)| *having);
        let all = size.chunks;
        let is_common = |having: usize| all >= MANY && having * 2 > all;
        if lists.first().is_some_and(|(_, rarest)| !is_common(*rarest)) {
            lists.retain(|(_, having)| !is_common(*having));
        }
        let mean = (float(size.words) / float_of(all)).max(1.0);
        let (mut scores, mut touched) = (vec![0_f32; self.lengths.len()], Vec::new());
        for (list, having) in lists {
            let weight = rarity(all, having);
            list.each(&mut |chunk, count| {
                let chunk = index(chunk);
                let (Some(score), Some(length)) = (scores.get_mut(chunk), self.lengths.get(chunk))
                else {
                    return;
                };
                if *length == GONE || !counts(chunk) {
                    return;
                }
                if *score == 0.0 {
                    touched.push(chunk);
                }
                let count = float(u64::from(count));
                let length = float(u64::from(*length)) / mean;
                let full = count + SATURATION * (1.0 - LENGTH + LENGTH * length);
                *score += weight * count * (SATURATION + 1.0) / full;
            });
        }
        touched.into_iter().filter_map(|chunk| Some((chunk, *scores.get(chunk)?))).collect()
    }
}

impl Size {
    /// One chunk more.
    pub(super) fn grow(&mut self, words: u32) {
        (self.chunks, self.words) = (self.chunks + 1, self.words + u64::from(words));
    }

    /// One chunk less.
    pub(super) fn shrink(&mut self, words: u32) {
        self.chunks = self.chunks.saturating_sub(1);
        self.words = self.words.saturating_sub(u64::from(words));
    }

    /// Both together.
    pub(super) fn join(&mut self, other: Self) {
        (self.chunks, self.words) = (self.chunks + other.chunks, self.words + other.words);
    }
}

/// What a term is worth that so many of all chunks have; always more than nothing.
fn rarity(all: usize, having: usize) -> f32 {
    let (all, having) = (float_of(all), float_of(having));
    (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
}

impl List {
    fn add(&mut self, chunk: u32, count: u32) {
        let distance = u64::from(chunk.wrapping_sub(self.last));
        self.write(distance << 1 | u64::from(count == 1));
        if count != 1 {
            self.write(u64::from(count));
        }
        (self.last, self.chunks) = (chunk, self.chunks + 1);
    }

    /// The list without what was taken out.
    fn left(&self, lengths: &[u32]) -> Self {
        let mut list = Self::default();
        self.each(&mut |chunk, count| {
            if lengths.get(index(chunk)).is_some_and(|length| *length != GONE) {
                list.add(chunk, count);
            }
        });
        list
    }

    fn write(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(u8::try_from(number & 0x7f).unwrap_or_default() | 0x80);
            number >>= 7;
        }
        self.bytes.push(u8::try_from(number).unwrap_or_default());
    }

    fn each(&self, sink: &mut dyn FnMut(u32, u32)) {
        let mut bytes = self.bytes.iter();
        let mut read = || {
            let (mut number, mut shift) = (0_u64, 0_u32);
            for byte in bytes.by_ref() {
                number |= u64::from(byte & 0x7f) << shift;
                if byte & 0x80 == 0 {
                    return Some(number);
                }
                shift += 7;
            }
            None
        };
        let mut chunk = 0_u32;
        while let Some(code) = read() {
            chunk = chunk.wrapping_add(u32::try_from(code >> 1).unwrap_or_default());
            let count = if code & 1 == 1 { Some(1) } else { read() };
            sink(chunk, count.and_then(|count| u32::try_from(count).ok()).unwrap_or(1));
        }
    }
}

/// A place in a list.
pub(super) fn index(place: u32) -> usize {
    usize::try_from(place).unwrap_or(usize::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "a score needs seven digits")]
fn float(number: u64) -> f32 {
    number as f32
}

fn float_of(number: usize) -> f32 {
    float(u64::try_from(number).unwrap_or(u64::MAX))
}
