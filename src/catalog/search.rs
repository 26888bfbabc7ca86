//! Tools by what they do: a catalog's tools in, an [`Index`] out; a question and the tools that may be
//! seen in, the best of them out, each with the reason. What may not be seen changes nothing: neither
//! counts nor scores.

mod fields;
mod glossary;
mod index;
mod question;
mod words;

use std::collections::HashSet;

pub use fields::Field;
use fields::LEADS;
pub use index::Index;
use question::{Choice, Concept, concepts};

/// How much more a tool is worth whose first sentence is nothing but the question.
const WHOLE: f32 = 0.6;

/// What is looked for.
#[derive(Clone, Copy)]
pub struct Search<'s> {
    /// A question in Chinese or English, words, or a tool's name.
    pub query: &'s str,
    /// At most so many tools.
    pub limit: usize,
    /// Whether the tool at this place of the catalog may be seen at all.
    pub seen: &'s dyn Fn(usize) -> bool,
    /// Whether it is among those that are looked for; asked only of those that may be seen.
    pub wanted: &'s dyn Fn(usize) -> bool,
}

impl std::fmt::Debug for Search<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Search").field("query", &self.query).finish_non_exhaustive()
    }
}

/// The best tools, and how many fit at all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Tools that are wanted and fit any word.
    pub total: usize,
}

/// A tool that fits.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Its place in the catalog.
    pub place: usize,
    /// How well it fits; compares within one answer only.
    pub score: f32,
    /// Whether the question is, or holds, its very name.
    pub named: bool,
    /// What fits.
    pub matches: Vec<Match>,
}

/// A word of the question and where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The word of the question.
    pub word: String,
    /// What stands in the tool, as the index has it: an English word is a stem.
    pub found: String,
    /// How the two are the same.
    pub how: How,
    /// The fields in which it stands.
    pub fields: Vec<Field>,
}

/// How a word of a question is that of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// The same word, or another form of it.
    Word,
    /// Another word for the same, also of the other language.
    Synonym,
    /// The tool's word begins with it.
    Prefix,
    /// The tool's word is spelt nearly so.
    Spelling,
}

impl How {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Word => "word",
            Self::Synonym => "synonym",
            Self::Prefix => "prefix",
            Self::Spelling => "spelling",
        }
    }
}

impl Index {
    /// Finds the tools that fit best. Takes time by the number of tools that have any of the words.
    pub fn search(&self, search: &Search<'_>) -> Found {
        let seen: Vec<bool> = (0..self.tools()).map(search.seen).collect();
        let concepts = concepts(self, search.query, &seen);
        let tally = self.tally(&concepts, &seen);
        let named: HashSet<usize> =
            self.named(search.query).filter(|place| is(&seen, *place)).collect();
        let mut hits: Vec<Hit> = tally
            .into_iter()
            .enumerate()
            .filter(|(place, score)| {
                (*score > 0.0 || named.contains(place)) && (search.wanted)(*place)
            })
            .map(|(place, score)| Hit {
                place,
                score,
                named: named.contains(&place),
                matches: Vec::new(),
            })
            .collect();
        let total = hits.len();
        let better = |a: &Hit, b: &Hit| {
            b.named.cmp(&a.named).then(b.score.total_cmp(&a.score)).then(a.place.cmp(&b.place))
        };
        if search.limit < hits.len() {
            hits.select_nth_unstable_by(search.limit, better);
            hits.truncate(search.limit);
        }
        hits.sort_by(better);
        for hit in &mut hits {
            hit.matches = self.reasons(&concepts, hit.place);
        }
        Found { hits, total }
    }

    /// The score of each tool; 0 for one that may not be seen.
    fn tally(&self, concepts: &[Concept], seen: &[bool]) -> Vec<f32> {
        let mut scores = vec![0.0_f32; self.tools()];
        let mut covered = vec![0.0_f32; self.tools()];
        let mut leading = vec![0_u8; self.tools()];
        let mut best = vec![(0.0_f32, 0_u8); self.tools()];
        let mut touched = Vec::new();
        let whole: f32 = concepts.iter().map(|concept| concept.weight).sum();
        for concept in concepts {
            for choice in &concept.choices {
                for posting in self.postings(choice.term) {
                    let place = posting.place;
                    let Some(best) = best.get_mut(place).filter(|_| is(seen, place)) else {
                        continue;
                    };
                    if best.0 == 0.0 {
                        touched.push(place);
                    }
                    best.0 = best.0.max(choice.worth * posting.impact);
                    best.1 |= posting.fields & LEADS;
                }
            }
            for place in touched.drain(..) {
                let Some((best, leads)) = best.get_mut(place).map(std::mem::take) else { continue };
                if let Some(score) = scores.get_mut(place) {
                    *score += concept.weight * best;
                }
                if let Some(covered) = covered.get_mut(place) {
                    *covered += concept.weight;
                }
                if let Some(leading) = leading.get_mut(place).filter(|_| leads != 0) {
                    *leading = leading.saturating_add(1);
                }
            }
        }
        // A tool that has much of the question is meant rather than one that has one rare word of it; and
        // one whose first sentence is the question and little else rather than one that has it in passing.
        for (place, (score, covered)) in scores.iter_mut().zip(covered).enumerate() {
            let covered = covered / whole.max(f32::MIN_POSITIVE);
            let said = leading.get(place).map_or(0.0, |words| self.share_of_lead(place, *words));
            *score *= (0.4 + 0.6 * covered) * (1.0 + WHOLE * covered * said * said);
        }
        scores
    }

    fn reasons(&self, concepts: &[Concept], place: usize) -> Vec<Match> {
        let of_concept = |concept: &Concept| {
            let worth = |choice: &Choice| {
                let posting = self.posting(choice.term, place)?;
                Some((choice.worth * posting.impact, choice.how, choice.term, posting.fields))
            };
            let best = concept.choices.iter().filter_map(worth).max_by(|a, b| a.0.total_cmp(&b.0));
            best.map(|(_, how, term, fields)| Match {
                word: concept.word.clone(),
                found: self.term(term).to_owned(),
                how,
                fields: Field::ALL.into_iter().filter(|field| fields & field.bit() != 0).collect(),
            })
        };
        concepts.iter().filter_map(of_concept).collect()
    }
}

fn is(seen: &[bool], place: usize) -> bool {
    seen.get(place).copied().unwrap_or(false)
}

/// How much a word says of which tool is meant, when so many of all have it.
fn rarity(having: usize, all: usize) -> f32 {
    let float = |count: usize| f32::from(u16::try_from(count).unwrap_or(u16::MAX));
    let (having, all) = (float(having), float(all));
    (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
}
