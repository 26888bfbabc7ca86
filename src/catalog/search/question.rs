//! A question in, what it looks for out: each thing with the words of the catalog that may stand for
//! it, of those tools only that may be seen. Reads the index; ranks nothing.

use super::glossary;
use super::index::Index;
use super::words::{Kind, Word, each, fold, is_stop, stem, without_fillers};
use super::{How, is, rarity};

/// Things that one question can look for.
const CONCEPTS: usize = 48;
/// Shortest word that stands for those that begin so, in bytes: of several words, and alone, as it is
/// while someone types.
const PREFIX: (usize, usize) = (4, 2);
/// Most words that one word is the beginning of.
const COMPLETIONS: usize = 24;
/// Most other spellings of one word.
const SPELLINGS: usize = 4;
/// How much two words count once more that some tool writes as one.
const JOINED: f32 = 0.3;
/// How sure it is that a synonym is meant: the first of its group, and another.
const MAIN: f32 = 0.85;
const OTHER: f32 = 0.7;

/// One thing that is looked for.
#[derive(Debug)]
pub(super) struct Concept {
    /// The question's own word for it.
    pub(super) word: String,
    /// How much of the question it is.
    pub(super) weight: f32,
    /// What it may be called.
    pub(super) choices: Vec<Choice>,
}

/// A word of the catalog that may stand for a thing.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) term: usize,
    /// How much it says, and how surely it is the same.
    pub(super) worth: f32,
    pub(super) how: How,
}

/// What a question looks for. Words that no tool has that may be seen have no choices.
pub(super) fn concepts(index: &Index, query: &str, seen: &[bool]) -> Vec<Concept> {
    let text = without_fillers(&fold(query));
    let mut words = Vec::new();
    each(&text, &mut |word| {
        if words.len() < 4 * CONCEPTS {
            words.push(word);
        }
    });
    let prefix = if words.len() == 1 { PREFIX.1 } else { PREFIX.0 };
    let all = seen.iter().filter(|seen| **seen).count();
    let reader = Reader { index, seen, all, prefix };
    let joined: Vec<Concept> =
        words.windows(2).filter_map(|pair| reader.joined(pair)).take(CONCEPTS).collect();
    // A question of nothing but fillers is about them.
    let is_filler = |word: &Word| word.kind == Kind::Word && is_stop(&word.plain);
    if !words.iter().all(is_filler) {
        words.retain(|word| !is_filler(word));
    }
    let mut found = reader.phrases(&text);
    let covered: Vec<String> = found.iter().map(|concept| concept.word.clone()).collect();
    found.extend(joined);
    found.extend(words.iter().filter_map(|word| reader.concept(word, &covered)));
    found.truncate(CONCEPTS);
    found
}

struct Reader<'r> {
    index: &'r Index,
    seen: &'r [bool],
    all: usize,
    prefix: usize,
}

/// A word that may stand for a thing, before it is known how rare the thing is.
type Draft = (usize, f32, How);

impl Reader<'_> {
    /// The word, if a tool has it that may be seen.
    fn known(&self, term: &str) -> Option<usize> {
        self.index.find(term).filter(|term| self.is_known(*term))
    }

    fn is_known(&self, term: usize) -> bool {
        self.index.postings(term).any(|one| is(self.seen, one.place))
    }

    /// A thing with all that it may be called. It is as rare as the tools that have any of that, so
    /// that a rare synonym says no more than the word itself; what is not `sure` does not count there.
    fn concept_of(&self, word: String, weight: f32, drafts: Vec<Draft>) -> Concept {
        let most = drafts.iter().fold(0.0, |most: f32, draft| most.max(draft.1));
        let mut having = vec![false; self.seen.len()];
        for (term, _, _) in drafts.iter().filter(|draft| draft.1 >= most / 2.0) {
            for one in self.index.postings(*term).filter(|one| is(self.seen, one.place)) {
                having.get_mut(one.place).into_iter().for_each(|having| *having = true);
            }
        }
        let rarity = rarity(having.iter().filter(|having| **having).count(), self.all);
        let choices = drafts
            .into_iter()
            .map(|(term, surety, how)| Choice { term, worth: rarity * surety, how })
            .collect();
        Concept { word, weight, choices }
    }

    /// Chinese words of the glossary.
    fn phrases(&self, text: &str) -> Vec<Concept> {
        let chars: Vec<char> = text.chars().collect();
        let (mut found, mut at) = (Vec::new(), 0);
        while at < chars.len() && found.len() < CONCEPTS {
            let phrase = (1..=glossary::LONGEST).rev().find_map(|length| {
                let phrase: String = chars.get(at..at + length)?.iter().collect();
                let entry = glossary::entry(&phrase).filter(|_| !phrase.is_ascii())?;
                Some((phrase, length, entry))
            });
            let Some((word, length, entry)) = phrase else {
                at += 1;
                continue;
            };
            at += length;
            let mut drafts = Vec::new();
            drafts.extend(self.known(&tail(&word)).map(|term| (term, 1.0, How::Word)));
            self.synonyms(entry, &mut drafts);
            let weight = if length == 1 { 0.7 } else { 1.0 };
            found.push(self.concept_of(word, weight, drafts));
        }
        found
    }

    /// What one word looks for; those `covered` were looked at already.
    fn concept(&self, word: &Word, covered: &[String]) -> Option<Concept> {
        let is_covered = || covered.iter().any(|phrase| phrase.contains(&word.plain));
        let weight = match word.kind {
            Kind::Word => 1.0,
            Kind::Pair | Kind::Single if is_covered() => return None,
            Kind::Pair => 0.8,
            Kind::Single => 0.15,
        };
        let mut drafts = Vec::new();
        drafts.extend(self.known(&word.term).map(|term| (term, 1.0, How::Word)));
        if word.kind == Kind::Word {
            if let Some(entry) = glossary::entry(&word.term) {
                self.synonyms(entry, &mut drafts);
            }
            if !word.plain.bytes().all(|b| b.is_ascii_digit()) {
                self.complete(word, &mut drafts);
            }
            if drafts.is_empty() {
                self.respell(word, &mut drafts);
            }
        }
        Some(self.concept_of(word.plain.clone(), weight, drafts))
    }

    /// What else a word may be called.
    fn synonyms(&self, entry: &glossary::Entry, drafts: &mut Vec<Draft>) {
        for names in [&entry.same, &entry.other] {
            for (rank, name) in names.iter().enumerate() {
                let surety = if rank == 0 { MAIN } else { OTHER };
                let known = self.known(&tail(name));
                drafts.extend(known.map(|term| (term, surety, How::Synonym)));
            }
        }
    }

    /// The words that begin so; and of what is done again, that which is done.
    fn complete(&self, word: &Word, drafts: &mut Vec<Draft>) {
        let surety = if drafts.is_empty() { 0.6 } else { 0.3 };
        if word.plain.len() >= self.prefix {
            let longer = self.index.beginning(&word.plain).filter(|term| self.is_known(*term));
            drafts.extend(longer.take(COMPLETIONS).map(|term| (term, surety, How::Prefix)));
        }
        if drafts.is_empty()
            && let Some(once) = word.plain.strip_prefix("re").filter(|once| once.len() >= 3)
        {
            drafts.extend(self.known(&stem(once)).map(|term| (term, 0.6, How::Prefix)));
        }
    }

    /// The words that are spelt nearly so, nearest first.
    fn respell(&self, word: &Word, drafts: &mut Vec<Draft>) {
        let distance = match word.term.len() {
            0..=3 => return,
            4..=7 => 1,
            _ => 2,
        };
        let near = self.index.near(&word.term, distance);
        let mut near: Vec<_> = near.filter(|(term, _)| self.is_known(*term)).collect();
        near.sort_by_key(|(term, far)| (*far, *term));
        let of = |(term, far)| (term, if far == 1 { 0.6 } else { 0.4 }, How::Spelling);
        drafts.extend(near.into_iter().take(SPELLINGS).map(of));
    }

    /// Two words that tools write as one.
    fn joined(&self, pair: &[Word]) -> Option<Concept> {
        let [left, right] = pair else { return None };
        if left.kind != Kind::Word || right.kind != Kind::Word {
            return None;
        }
        let term = self.known(&stem(&format!("{}{}", left.plain, right.plain)))?;
        let word = format!("{} {}", left.plain, right.plain);
        // Where both are words of their own too, it is only one more sign.
        let apart = [left, right].iter().all(|one| self.known(&one.term).is_some());
        let weight = if apart { JOINED } else { 1.0 };
        Some(self.concept_of(word, weight, vec![(term, 1.0, How::Word)]))
    }
}

/// The term by which a word of the glossary is found: of a long Chinese one its last two characters.
fn tail(word: &str) -> String {
    let length = word.chars().count();
    match word.is_ascii() {
        true => word.to_owned(),
        false => word.chars().skip(length.saturating_sub(2)).collect(),
    }
}
