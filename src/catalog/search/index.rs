//! The index of one catalog: tools in, for each word the tools that have it out, with how much it
//! weighs there. Immutable, and made once for a catalog.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::super::Tool;
use super::fields::{LEADS, Part, parts};
use super::words::{Kind, each, fold, is_stop, squeeze, stem};

/// BM25's `k1`: from where on further occurrences of a word add little.
const SATURATION: f32 = 1.2;
/// Most that a word can weigh in one tool.
const HEAVIEST: f32 = SATURATION + 1.0;
/// Most words of one text that are read.
const WORDS: usize = 2000;

/// The words of a catalog's tools. Takes some 2 KiB a tool.
#[derive(Debug, Default)]
pub struct Index {
    tools: usize,
    /// Every word once, sorted.
    terms: Vec<Box<str>>,
    /// Which letters each has; tells at once that two cannot be nearly the same.
    letters: Vec<u32>,
    /// Where the tools of each word begin; one more than there are words.
    starts: Vec<u32>,
    places: Vec<u32>,
    impacts: Vec<u16>,
    fields: Vec<u8>,
    /// Of each tool, how many words that mean something its description begins with.
    leads: Vec<u8>,
    /// Names without case and separators, sorted, and operations likewise.
    names: Vec<(Box<str>, u32)>,
}

/// A tool that has a word.
#[derive(Debug, Clone, Copy)]
pub(super) struct Posting {
    pub(super) place: usize,
    pub(super) impact: f32,
    pub(super) fields: u8,
}

impl Index {
    /// Reads every tool: some 20 µs each.
    pub fn new(tools: &[Arc<Tool>]) -> Self {
        let mut known: HashMap<String, Vec<(u32, u16, u8)>> = HashMap::new();
        let mut names = Vec::with_capacity(tools.len());
        let mut leads = Vec::with_capacity(tools.len());
        for (tool, place) in tools.iter().zip(0_u32..) {
            let (weighed, lead) = weigh(tool);
            leads.push(lead);
            for (term, (weight, fields)) in weighed {
                let impact = quantize(weight * HEAVIEST / (SATURATION + weight));
                known.entry(term).or_default().push((place, impact, fields));
            }
            let own = [Some(tool.name.as_str()), tool.operation.as_deref()];
            let spelt = own.into_iter().flatten().map(squeeze).filter(|name| !name.is_empty());
            names.extend(spelt.map(|name| (name.into_boxed_str(), place)));
        }
        names.sort();
        names.dedup();
        let mut index = Self { tools: tools.len(), names, leads, ..Self::default() };
        let sorted: BTreeMap<String, Vec<(u32, u16, u8)>> = known.into_iter().collect();
        for (term, postings) in sorted {
            index.starts.push(u32::try_from(index.places.len()).unwrap_or(u32::MAX));
            index.letters.push(letters(&term));
            index.terms.push(term.into_boxed_str());
            for (place, impact, fields) in postings {
                index.places.push(place);
                index.impacts.push(impact);
                index.fields.push(fields);
            }
        }
        index.starts.push(u32::try_from(index.places.len()).unwrap_or(u32::MAX));
        index.places.shrink_to_fit();
        index.impacts.shrink_to_fit();
        index.fields.shrink_to_fit();
        index
    }

    /// How many tools it knows.
    pub const fn tools(&self) -> usize {
        self.tools
    }

    /// Bytes that it holds.
    pub fn bytes(&self) -> usize {
        let text = |all: usize, one: &str| all + one.len() + size_of::<Box<str>>();
        let words = self.terms.iter().fold(0, |all, term| text(all, term));
        let names = self.names.iter().fold(0, |all, (name, _)| text(all, name) + 8);
        words
            + names
            + self.places.len() * 7
            + self.leads.len()
            + (self.starts.len() + self.letters.len()) * 4
    }

    /// How much of the sentence that a tool's description begins with `words` of its words are, 0 to 1.
    pub(super) fn share_of_lead(&self, place: usize, words: u8) -> f32 {
        match self.leads.get(place) {
            None | Some(0) => 0.0,
            Some(all) => f32::from(words.min(*all)) / f32::from(*all),
        }
    }

    /// The tools that have the word.
    pub(super) fn postings(&self, term: usize) -> impl Iterator<Item = Posting> {
        let range = self.range(term);
        let places = self.places.get(range.clone()).unwrap_or_default();
        let impacts = self.impacts.get(range.clone()).unwrap_or_default();
        let fields = self.fields.get(range).unwrap_or_default();
        places.iter().zip(impacts).zip(fields).map(|((place, impact), fields)| Posting {
            place: usize::try_from(*place).unwrap_or(usize::MAX),
            impact: restore(*impact),
            fields: *fields,
        })
    }

    /// The word in one tool.
    pub(super) fn posting(&self, term: usize, place: usize) -> Option<Posting> {
        let range = self.range(term);
        let wanted = u32::try_from(place).ok()?;
        let at = self.places.get(range.clone())?.binary_search(&wanted).ok()? + range.start;
        Some(Posting {
            place,
            impact: restore(*self.impacts.get(at)?),
            fields: *self.fields.get(at)?,
        })
    }

    fn range(&self, term: usize) -> std::ops::Range<usize> {
        let at = |term: usize| {
            self.starts.get(term).and_then(|at| usize::try_from(*at).ok()).unwrap_or_default()
        };
        at(term)..at(term.saturating_add(1))
    }

    pub(super) fn term(&self, term: usize) -> &str {
        self.terms.get(term).map_or("", |term| term)
    }

    pub(super) fn find(&self, term: &str) -> Option<usize> {
        self.terms.binary_search_by(|known| (**known).cmp(term)).ok()
    }

    /// Words that begin so, the word itself left out.
    pub(super) fn beginning<'i>(&'i self, prefix: &'i str) -> impl Iterator<Item = usize> + 'i {
        let from = self.terms.partition_point(|term| **term < *prefix);
        let rest = self.terms.iter().enumerate().skip(from);
        rest.take_while(move |(_, term)| term.starts_with(prefix))
            .filter(move |(_, term)| ***term != *prefix)
            .map(|(at, _)| at)
    }

    /// Words that are spelt nearly so: within `distance` letters that are other, missing, too many or
    /// swapped.
    pub(super) fn near<'i>(
        &'i self,
        word: &'i str,
        distance: usize,
    ) -> impl Iterator<Item = (usize, usize)> + 'i {
        let own = letters(word);
        let length = word.len();
        let most = u32::try_from(2 * distance).unwrap_or(u32::MAX);
        self.letters.iter().zip(&self.terms).enumerate().filter_map(move |(at, (letters, term))| {
            if (letters ^ own).count_ones() > most || term.len().abs_diff(length) > distance {
                return None;
            }
            let far = strsim::osa_distance(word, term);
            (far <= distance).then_some((at, far))
        })
    }

    /// The tools whose whole name the question is, or holds as one word.
    pub(super) fn named(&self, query: &str) -> impl Iterator<Item = usize> {
        let whole = query.trim().trim_start_matches("functions.");
        let is_name = |word: &&str| word.contains(['.', '_', '-', '/']);
        let words =
            whole.split_whitespace().map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
        let spelt: Vec<String> =
            std::iter::once(whole).chain(words.filter(is_name)).map(squeeze).collect();
        spelt.into_iter().filter(|name| !name.is_empty()).flat_map(|name| {
            let from = self.names.partition_point(|(known, _)| **known < *name);
            let rest = self.names.iter().skip(from);
            rest.take_while(move |(known, _)| **known == *name)
                .filter_map(|(_, place)| usize::try_from(*place).ok())
        })
    }
}

/// Each word of a tool, with its weight over all fields and the fields in which it stands; and how many
/// words that mean something its description begins with.
fn weigh(tool: &Tool) -> (HashMap<String, (f32, u8)>, u8) {
    let mut weights: HashMap<String, (f32, u8)> = HashMap::new();
    let mut lead = 0;
    for (part, text) in parts(tool) {
        let (mut counts, length) = count(&part, &text);
        if part.leads {
            let telling = counts.keys().filter(|term| !is_stop(term)).count();
            lead = u8::try_from(telling).unwrap_or(u8::MAX);
        }
        let shorten = 1.0 - part.length + part.length * length / part.usual;
        for (term, times) in counts.drain() {
            let entry = weights.entry(term).or_default();
            entry.0 += part.weight * times / shorten.max(0.1);
            entry.1 |= part.field.bit() | if part.leads { LEADS } else { 0 };
        }
    }
    (weights, lead)
}

/// How often each word stands in a text, and its length in words.
fn count(part: &Part, text: &str) -> (HashMap<String, f32>, f32) {
    let mut counts: HashMap<String, f32> = HashMap::new();
    let (mut length, mut read) = (0.0, 0);
    let mut before: Option<String> = None;
    each(&fold(text), &mut |word| {
        read += 1;
        if read > WORDS {
            return;
        }
        // A pair of characters is half a word more than the two are.
        length += if word.kind == Kind::Word { 1.0 } else { 0.5 };
        // `pullRequest` is also found as one word.
        if part.field == super::Field::Name
            && word.kind == Kind::Word
            && let Some(before) = before.replace(word.plain.clone())
        {
            *counts.entry(stem(&format!("{before}{}", word.plain))).or_default() += 1.0;
        }
        *counts.entry(word.term).or_default() += 1.0;
    });
    (counts, length)
}

/// The set of a word's characters, as far as 32 bits tell them apart.
fn letters(word: &str) -> u32 {
    word.chars().fold(0, |set, c| set | 1 << (u32::from(c) % 32))
}

/// A weight in 16 bits.
fn quantize(weight: f32) -> u16 {
    // Steps of a quarter of a percent are fine enough to rank by.
    let mut steps = 0_u16;
    let share = (weight / HEAVIEST).clamp(0.0, 1.0);
    for bit in (0..16).rev() {
        let tried = steps | 1 << bit;
        if f32::from(tried) / f32::from(u16::MAX) <= share {
            steps = tried;
        }
    }
    steps.max(1)
}

/// The weight again.
fn restore(steps: u16) -> f32 {
    f32::from(steps) / f32::from(u16::MAX) * HEAVIEST
}
