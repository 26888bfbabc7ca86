//! The vectors of one model and tenant, in memory, a byte a number: a question's vector in, the
//! likeliest candidates out. All are looked at, so a filter loses none; whoever asks compares the
//! candidates again by the exact vectors in the file.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::num::NonZero;
use std::ops::Range;
use std::panic::resume_unwind;
use std::thread;

use super::postings::index;

/// Vectors of one block; blocks never move while they grow.
const BLOCK: usize = 4096;
/// Vectors from which on several threads look at them.
const MANY: usize = 65_536;
/// Threads that look, at most.
const THREADS: usize = 4;
/// What a place without a vector is marked with.
const NONE: u32 = u32::MAX;

/// A vector in bytes: each number is `codes / 127` of the greatest one.
#[derive(Debug, Clone)]
pub(super) struct Code {
    codes: Vec<i8>,
    /// Makes a product of codes a product of vectors of length 1.
    scale: f32,
}

impl Code {
    /// A vector, brought to length 1; one of no length, or with what is no number, is like none.
    pub(super) fn new(vector: &[f32]) -> Self {
        let length = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
        let greatest = vector.iter().fold(0_f32, |most, x| most.max(x.abs()));
        if !length.is_finite() || length == 0.0 || greatest == 0.0 {
            return Self { codes: vec![0; vector.len()], scale: 0.0 };
        }
        let codes = vector.iter().map(|x| byte(x / greatest * 127.0)).collect();
        Self { codes, scale: single(f64::from(greatest) / 127.0 / length) }
    }

    /// How many numbers it has.
    pub(super) const fn dimensions(&self) -> usize {
        self.codes.len()
    }
}

/// The vectors. `place` is that of the chunk, or of the version for images.
#[derive(Debug)]
pub(super) struct Vectors {
    dimensions: usize,
    blocks: Vec<Vec<i8>>,
    scales: Vec<f32>,
    places: Vec<u32>,
    ids: Vec<i64>,
    /// By place: where its vector is, the latest one where there are several.
    at: Vec<u32>,
}

/// A candidate; the id is that of its exact vector in the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    pub(super) score: f32,
    pub(super) place: u32,
    pub(super) id: i64,
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    /// The worst is the greatest, so that a heap gives it up first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(other.id.cmp(&self.id))
    }
}

impl Vectors {
    pub(super) const fn new(dimensions: usize) -> Self {
        Self {
            dimensions,
            blocks: Vec::new(),
            scales: Vec::new(),
            places: Vec::new(),
            ids: Vec::new(),
            at: Vec::new(),
        }
    }

    /// Adds a vector, or puts it in the place of the one with the same id.
    pub(super) fn add(&mut self, place: u32, id: i64, code: &Code) {
        if code.codes.len() != self.dimensions {
            return;
        }
        if self.replace(place, id, code) {
            return;
        }
        let at = u32::try_from(self.scales.len()).unwrap_or(NONE);
        if self.scales.len().is_multiple_of(BLOCK) {
            self.blocks.push(Vec::with_capacity(self.dimensions * 64));
        }
        if let Some(block) = self.blocks.last_mut() {
            block.extend_from_slice(&code.codes);
        }
        self.scales.push(code.scale);
        self.places.push(place);
        self.ids.push(id);
        if self.at.len() <= index(place) {
            self.at.resize(index(place) + 1, NONE);
        }
        if let Some(slot) = self.at.get_mut(index(place)) {
            *slot = at;
        }
    }

    fn replace(&mut self, place: u32, id: i64, code: &Code) -> bool {
        let Some(at) = self.at.get(index(place)).filter(|at| **at != NONE).map(|at| index(*at))
        else {
            return false;
        };
        if self.ids.get(at) != Some(&id) {
            return false;
        }
        let from = at % BLOCK * self.dimensions;
        let old = self.blocks.get_mut(at / BLOCK);
        let old = old.and_then(|block| block.get_mut(from..from + self.dimensions));
        if let (Some(old), Some(scale)) = (old, self.scales.get_mut(at)) {
            old.copy_from_slice(&code.codes);
            *scale = code.scale;
        }
        true
    }

    /// The best `keep` of those that `counts` lets through; many are shared out among threads.
    pub(super) fn best(
        &self,
        question: &Code,
        keep: usize,
        counts: &(dyn Fn(usize) -> bool + Sync),
    ) -> Vec<Candidate> {
        let all = self.blocks.len();
        let many = self.scales.len() >= MANY;
        let threads = thread::available_parallelism().map_or(1, NonZero::get).min(THREADS);
        let share = if many { all.div_ceil(threads).max(1) } else { all.max(1) };
        let parts = (0..all).step_by(share).map(|from| from..(from + share).min(all));
        if !many {
            return parts.flat_map(|part| self.best_in(part, question, keep, counts)).collect();
        }
        let found = thread::scope(|scope| {
            let look = |part| scope.spawn(move || self.best_in(part, question, keep, counts));
            let looks: Vec<_> = parts.map(look).collect();
            let found = looks
                .into_iter()
                .flat_map(|look| look.join().unwrap_or_else(|panic| resume_unwind(panic)));
            found.collect::<Vec<_>>()
        });
        let mut best = Best { heap: BinaryHeap::with_capacity(keep + 1), keep };
        found.into_iter().for_each(|candidate| best.offer(candidate));
        best.heap.into_vec()
    }

    fn best_in(
        &self,
        blocks: Range<usize>,
        question: &Code,
        keep: usize,
        counts: &dyn Fn(usize) -> bool,
    ) -> Vec<Candidate> {
        let wide: Vec<i16> = question.codes.iter().map(|code| i16::from(*code)).collect();
        let mut best = Best { heap: BinaryHeap::with_capacity(keep + 1), keep };
        let first = blocks.start * BLOCK;
        let blocks = self.blocks.get(blocks).unwrap_or_default();
        let rows = blocks.iter().flat_map(|block| block.chunks_exact(self.dimensions.max(1)));
        let about = self.places.iter().zip(&self.scales).zip(&self.ids).skip(first);
        for (row, ((place, scale), id)) in rows.zip(about) {
            if counts(index(*place)) {
                let score = product(row, &wide) * scale * question.scale;
                best.offer(Candidate { score, place: *place, id: *id });
            }
        }
        best.heap.into_vec()
    }

    /// The same of a few places only, for which one look each is cheaper.
    pub(super) fn best_of(
        &self,
        question: &Code,
        keep: usize,
        places: &mut dyn Iterator<Item = u32>,
    ) -> Vec<Candidate> {
        let wide: Vec<i16> = question.codes.iter().map(|code| i16::from(*code)).collect();
        let mut best = Best { heap: BinaryHeap::with_capacity(keep + 1), keep };
        for place in places {
            let at = self.at.get(index(place)).filter(|at| **at != NONE).map(|at| index(*at));
            let found = at.and_then(|at| {
                let from = at % BLOCK * self.dimensions;
                let row = self.blocks.get(at / BLOCK)?.get(from..from + self.dimensions)?;
                Some((row, self.scales.get(at)?, self.ids.get(at)?))
            });
            if let Some((row, scale, id)) = found {
                let score = product(row, &wide) * scale * question.scale;
                best.offer(Candidate { score, place, id: *id });
            }
        }
        best.heap.into_vec()
    }
}

struct Best {
    heap: BinaryHeap<Candidate>,
    keep: usize,
}

impl Best {
    fn offer(&mut self, candidate: Candidate) {
        if self.heap.len() < self.keep {
            self.heap.push(candidate);
        } else if self.heap.peek().is_some_and(|worst| candidate.score > worst.score) {
            self.heap.pop();
            self.heap.push(candidate);
        }
    }
}

/// The exact cosine of two vectors; 0 where one has no length or holds what is no number.
pub(super) fn cosine(left: &[f32], right: &[f32]) -> f64 {
    let (mut product, mut ours, mut theirs) = (0_f64, 0_f64, 0_f64);
    for (left, right) in left.iter().zip(right) {
        let (left, right) = (f64::from(*left), f64::from(*right));
        product += left * right;
        ours += left * left;
        theirs += right * right;
    }
    let cosine = product / (ours.sqrt() * theirs.sqrt());
    if cosine.is_finite() { cosine } else { 0.0 }
}

#[expect(clippy::cast_precision_loss, reason = "an estimate; the exact product follows")]
fn product(codes: &[i8], question: &[i16]) -> f32 {
    let sum: i32 =
        codes.iter().zip(question).map(|(code, other)| i32::from(*code) * i32::from(*other)).sum();
    sum as f32
}

#[expect(clippy::cast_possible_truncation, reason = "between -127 and 127 by its making")]
const fn byte(number: f32) -> i8 {
    // As `round`, which is a call for each number where the processor need not have it.
    (number + 0.5_f32.copysign(number)) as i8
}

#[expect(clippy::cast_possible_truncation, reason = "an estimate; the exact product follows")]
const fn single(number: f64) -> f32 {
    number as f32
}
