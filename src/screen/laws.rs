//! Which atoms of a sentence together order something from a model. Evened-out text in, the places
//! that do and how much each weighs out. Sentences that stand side by side are weighed together.

use std::ops::Range;

use super::Rule;
use super::atoms::{self, Atom};

/// Longest sentence that is looked at as one, in bytes; a longer one is cut.
const LONGEST: usize = 700;
/// Sentences that are weighed together.
const WINDOW: usize = 3;

/// What a sentence must hold, what it must not, and how much that weighs, in percent.
struct Law {
    rule: Rule,
    weight: u32,
    needs: &'static [Atom],
    without: &'static [Atom],
}

const fn law(rule: Rule, weight: u32, needs: &'static [Atom], without: &'static [Atom]) -> Law {
    Law { rule, weight, needs, without }
}

const LAWS: &[Law] = &[
    law(Rule::Answer, 70, &[Atom::Dictated], &[Atom::Contact, Atom::Program]),
    law(Rule::Answer, 60, &[Atom::Only], &[]),
    law(Rule::Standing, 60, &[Atom::Forever, Atom::Speech, Atom::Order], &[Atom::Contact]),
    law(Rule::Tool, 30, &[Atom::Tool], &[]),
    law(Rule::Tool, 60, &[Atom::Tool, Atom::Around], &[]),
    law(Rule::Tool, 60, &[Atom::Tool, Atom::Load], &[]),
    law(Rule::Tool, 60, &[Atom::Tool, Atom::Reader], &[]),
    law(Rule::Tool, 50, &[Atom::Tool, Atom::Ai, Atom::Must], &[]),
    law(Rule::Memory, 60, &[Atom::Memory], &[]),
    law(Rule::Memory, 30, &[Atom::Remember], &[]),
    law(Rule::Memory, 60, &[Atom::Remember, Atom::Unchecked], &[]),
    law(Rule::Memory, 60, &[Atom::Remember, Atom::Agent], &[]),
    law(Rule::Authority, 60, &[Atom::Above], &[]),
    law(Rule::Authority, 30, &[Atom::Rank], &[]),
    law(Rule::Authority, 60, &[Atom::Rank, Atom::Agent], &[]),
    law(Rule::Authority, 60, &[Atom::Rank, Atom::Ai], &[]),
    law(Rule::Authority, 50, &[Atom::Rank, Atom::Unchecked], &[]),
    law(Rule::Authority, 50, &[Atom::Rank, Atom::You, Atom::Order], &[Atom::Contact]),
    law(Rule::Authority, 25, &[Atom::Heading], &[]),
    law(Rule::Authority, 60, &[Atom::Heading, Atom::Agent, Atom::Must], &[]),
    law(Rule::Authority, 50, &[Atom::Heading, Atom::Unchecked], &[]),
    law(Rule::Authority, 40, &[Atom::Heading, Atom::Leak], &[]),
    law(Rule::Override, 60, &[Atom::Drop], &[]),
    law(Rule::Override, 40, &[Atom::Task], &[]),
    law(Rule::Override, 30, &[Atom::Task, Atom::Order], &[]),
    law(Rule::Override, 40, &[Atom::Unchecked, Atom::You], &[Atom::Contact]),
    law(Rule::Concealment, 60, &[Atom::Secretly], &[]),
    law(Rule::Exfiltration, 40, &[Atom::Leak], &[]),
    law(Rule::Exfiltration, 40, &[Atom::Leak, Atom::Target], &[]),
    law(Rule::Exfiltration, 40, &[Atom::Leak, Atom::You], &[]),
    law(Rule::Address, 60, &[Atom::Reader, Atom::Must], &[]),
    law(Rule::Address, 30, &[Atom::Reader], &[]),
    law(Rule::Address, 60, &[Atom::Ai, Atom::Reads, Atom::Must], &[]),
    law(Rule::Address, 50, &[Atom::Reader, Atom::Order], &[]),
    law(Rule::Task, 60, &[Atom::Action, Atom::Mine], &[Atom::Contact]),
    law(Rule::Role, 60, &[Atom::Role, Atom::You], &[]),
];

/// One place that breaks a law, or that a pattern hits.
#[derive(Debug, Clone)]
pub(super) struct Hit {
    pub(super) rule: Rule,
    /// In percent.
    pub(super) weight: u32,
    pub(super) range: Range<usize>,
}

/// The hits of the sentences that weigh most together, and what they come to. `known` are hits that
/// were found otherwise; they weigh where they stand.
pub(super) fn find(text: &str, known: &[Hit]) -> (Vec<Hit>, f32) {
    let mut hits: Vec<(usize, usize, Hit)> = Vec::new();
    for (place, range) in sentences(text).into_iter().enumerate() {
        let sentence = text.get(range.clone()).unwrap_or_default();
        let bits = atoms::of(sentence);
        // Who tells of orders does not give them; several at once do not become harmless by it.
        let share = if bits & Atom::Told.bit() == 0 { 1 } else { 2 };
        for (number, law) in LAWS.iter().enumerate().filter(|_| bits != 0) {
            let all = law.needs.iter().all(|atom| bits & atom.bit() != 0);
            if all && law.without.iter().all(|atom| bits & atom.bit() == 0) {
                let weight = law.weight / share;
                let hit = Hit { rule: law.rule, weight, range: range.clone() };
                hits.push((place, number, hit));
            }
        }
        let here = known.iter().enumerate().filter(|(_, hit)| range.contains(&hit.range.start));
        hits.extend(here.map(|(number, hit)| {
            let hit = Hit { weight: hit.weight / share, ..hit.clone() };
            (place, LAWS.len() + number, hit)
        }));
    }
    heaviest(&hits)
}

/// The heaviest run of sentences: its hits, each law once, and their weight together.
fn heaviest(hits: &[(usize, usize, Hit)]) -> (Vec<Hit>, f32) {
    let mut best: (Vec<Hit>, f32) = (Vec::new(), 0.0);
    for (index, (first, ..)) in hits.iter().enumerate() {
        let window = hits.iter().skip(index).take_while(|(place, ..)| *place < first + WINDOW);
        let mut laws: Vec<usize> = Vec::new();
        let mut own: Vec<Hit> = Vec::new();
        for (_, number, hit) in window {
            if !laws.contains(number) {
                laws.push(*number);
                own.push(hit.clone());
            }
        }
        let score = together(own.iter().map(|hit| hit.weight));
        if score > best.1 {
            best = (own, score);
        }
    }
    best
}

/// What weights, each in percent, come to together.
pub(super) fn together(weights: impl Iterator<Item = u32>) -> f32 {
    let left = weights.fold(1.0_f32, |left, weight| left * (1.0 - percent(weight)));
    1.0 - left
}

fn percent(weight: u32) -> f32 {
    f32::from(u16::try_from(weight.min(100)).unwrap_or(100)) / 100.0
}

/// The sentences of a text: up to a line's end, a mark that ends one, or a point with a space behind.
fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut rest = text.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let end = at + c.len_utf8();
        let ends = match c {
            '\n' | '。' | '!' | '?' | '؟' | '।' => true,
            '.' => rest.peek().is_none_or(|(_, next)| next.is_whitespace()),
            ' ' => end - start > LONGEST,
            _ => end - start > 2 * LONGEST,
        };
        if ends {
            found.push(start..end);
            start = end;
        }
    }
    found.push(start..text.len());
    found.retain(|range| text.get(range.clone()).is_some_and(|own| own.trim().len() > 3));
    found
}
