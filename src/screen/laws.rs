//! Which atoms of a sentence together order something from a model. Evened-out text in, the places
//! that do and how much each weighs out. Sentences that stand side by side are weighed together.

use std::ops::Range;

use super::Rule;
use super::atoms::Atom;
use super::sought::{Sought, Tried};

/// Longest sentence that is looked at as one, in bytes; a longer one is cut.
const LONGEST: usize = 700;
/// Sentences that are weighed together.
const WINDOW: usize = 3;

/// What a sentence must hold, what it must not, and how much that weighs, in percent.
struct Law {
    rule: Rule,
    weight: u32,
    /// One bit for each atom.
    needs: u64,
    without: u64,
}

const fn law(rule: Rule, weight: u32, needs: &[Atom], without: &[Atom]) -> Law {
    Law { rule, weight, needs: bits(needs), without: bits(without) }
}

const fn bits(mut atoms: &[Atom]) -> u64 {
    let mut bits = 0;
    while let Some((first, rest)) = atoms.split_first() {
        bits |= first.bit();
        atoms = rest;
    }
    bits
}

/// Atoms that say how much a place weighs, whatever it is.
const SHARES: u64 = bits(&[Atom::Told, Atom::Quote, Atom::Negated]);

const LAWS: &[Law] = &[
    law(Rule::Answer, 70, &[Atom::Dictated], &[Atom::Contact, Atom::Program]),
    law(Rule::Answer, 60, &[Atom::Only], &[]),
    law(Rule::Standing, 60, &[Atom::Forever, Atom::Speech, Atom::Order], &[Atom::Contact]),
    law(Rule::Tool, 30, &[Atom::Tool], &[]),
    law(Rule::Tool, 60, &[Atom::Tool, Atom::Around], &[]),
    law(Rule::Tool, 60, &[Atom::Tool, Atom::Load], &[]),
    law(Rule::Tool, 60, &[Atom::Tool, Atom::Reader], &[]),
    law(Rule::Tool, 50, &[Atom::Tool, Atom::Ai, Atom::Must], &[]),
    law(Rule::Tool, 30, &[Atom::Tool, Atom::Target], &[]),
    law(Rule::Tool, 60, &[Atom::Yours], &[]),
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
    law(Rule::Override, 30, &[Atom::Task, Atom::You], &[]),
    law(Rule::Override, 40, &[Atom::Unchecked, Atom::You], &[Atom::Contact]),
    law(Rule::Concealment, 60, &[Atom::Secretly], &[]),
    law(Rule::Exfiltration, 40, &[Atom::Leak], &[Atom::Negated]),
    law(Rule::Exfiltration, 40, &[Atom::Leak, Atom::Target], &[Atom::Negated]),
    law(Rule::Exfiltration, 40, &[Atom::Leak, Atom::You], &[Atom::Negated]),
    law(Rule::Address, 60, &[Atom::Reader, Atom::Must], &[]),
    law(Rule::Address, 30, &[Atom::Reader], &[]),
    law(Rule::Address, 55, &[Atom::Reader, Atom::Ai], &[]),
    law(Rule::Address, 55, &[Atom::Reader, Atom::Reads], &[]),
    law(Rule::Address, 60, &[Atom::Ai, Atom::Reads, Atom::Must], &[]),
    law(Rule::Address, 50, &[Atom::Reader, Atom::Order], &[]),
    law(Rule::Task, 60, &[Atom::Action, Atom::Mine], &[Atom::Contact]),
    law(Rule::Task, 60, &[Atom::Fetch], &[Atom::Contact]),
    law(Rule::Task, 60, &[Atom::Money], &[Atom::Contact]),
    law(Rule::Task, 60, &[Atom::Saying], &[]),
    law(Rule::Task, 15, &[Atom::Action], &[]),
    law(Rule::Task, 60, &[Atom::Action, Atom::Own, Atom::Target], &[Atom::Contact]),
    law(Rule::Override, 45, &[Atom::Done], &[]),
    law(Rule::Standing, 30, &[Atom::Assistant], &[]),
    law(Rule::Standing, 40, &[Atom::Assistant, Atom::Forever], &[]),
    law(Rule::Tool, 40, &[Atom::Assistant, Atom::Tool], &[]),
    law(Rule::Exfiltration, 40, &[Atom::Assistant, Atom::Leak], &[Atom::Negated]),
    law(Rule::Exfiltration, 55, &[Atom::Every, Atom::Target], &[Atom::Contact]),
    law(Rule::Exfiltration, 60, &[Atom::Prompt], &[]),
    law(Rule::Standing, 55, &[Atom::Reply], &[]),
    law(Rule::Answer, 30, &[Atom::Tell], &[]),
    law(Rule::Answer, 30, &[Atom::Tell, Atom::Target], &[]),
    law(Rule::Authority, 50, &[Atom::Rank, Atom::Heading], &[]),
    law(Rule::Override, 30, &[Atom::Unchecked, Atom::Must, Atom::You], &[Atom::Contact]),
    law(Rule::Role, 60, &[Atom::Role, Atom::You], &[]),
    law(Rule::Role, 55, &[Atom::Become, Atom::Agent], &[]),
    law(Rule::Role, 55, &[Atom::Become, Atom::Ai], &[]),
    law(Rule::Role, 55, &[Atom::Become, Atom::Limitless], &[]),
    law(Rule::Role, 55, &[Atom::Become, Atom::Unchecked], &[]),
    law(Rule::Role, 60, &[Atom::Role, Atom::Limitless], &[]),
    law(Rule::Role, 40, &[Atom::Become, Atom::Heading], &[]),
    law(Rule::Concealment, 20, &[Atom::Hush], &[]),
    law(Rule::Concealment, 40, &[Atom::Hush, Atom::Assistant], &[]),
    law(Rule::Concealment, 40, &[Atom::Hush, Atom::Agent, Atom::Reads], &[]),
    law(Rule::Concealment, 40, &[Atom::Hush, Atom::Reader], &[]),
    law(Rule::Authority, 25, &[Atom::Ruled], &[]),
    law(Rule::Authority, 45, &[Atom::Ruled, Atom::Unchecked], &[]),
    law(Rule::Authority, 45, &[Atom::Ruled, Atom::Leak], &[]),
    law(Rule::Task, 40, &[Atom::Payee, Atom::Ai, Atom::Must], &[Atom::Negated]),
    law(Rule::Task, 40, &[Atom::Payee, Atom::Assistant], &[Atom::Negated]),
    law(Rule::Standing, 40, &[Atom::Assistant, Atom::Unchecked], &[Atom::Negated]),
];

/// One place that breaks a law, or that a pattern hits.
#[derive(Debug, Clone)]
pub(super) struct Hit {
    pub(super) rule: Rule,
    /// In percent.
    pub(super) weight: u32,
    pub(super) range: Range<usize>,
}

/// Where a hit stands, and the number of its law; patterns have none.
#[derive(Debug)]
struct Placed {
    sentence: usize,
    law: Option<usize>,
    hit: Hit,
}

/// The hits of the sentences that weigh most together, and what they come to. `known` are hits that
/// were found otherwise; they weigh where they end.
pub(super) fn find(mut sought: Sought<'_>, known: &[Hit]) -> (Vec<Hit>, f32) {
    let mut hits: Vec<Placed> = Vec::new();
    if known.is_empty() && wanted(sought.possible()) == 0 {
        return (Vec::new(), 0.0);
    }
    for (sentence, range) in sentences(sought.text).into_iter().enumerate() {
        let here = known.iter().filter(|hit| range.contains(&hit.range.end.saturating_sub(1)));
        let held = held(&sought.next(range.clone()), here.clone().next().is_some());
        let has = |atom: Atom| held & atom.bit() != 0;
        // Who tells of orders does not give them; several at once do not become harmless by it.
        let share = match (has(Atom::Told), has(Atom::Quote)) {
            (true, true) => 4,
            (true, false) => 2,
            _ if has(Atom::Negated) => 2,
            _ => 1,
        };
        for (number, law) in LAWS.iter().enumerate().filter(|_| held != 0) {
            if law.needs & !held == 0 && law.without & held == 0 {
                let hit = Hit { rule: law.rule, weight: law.weight / share, range: range.clone() };
                hits.push(Placed { sentence, law: Some(number), hit });
            }
        }
        hits.extend(here.map(|hit| {
            let hit = Hit { weight: hit.weight / share, ..hit.clone() };
            Placed { sentence, law: None, hit }
        }));
    }
    heaviest(&hits)
}

/// The atoms of a sentence, as far as they count: none where it can break no law and holds no hit.
fn held(tried: &Tried<'_>, hit: bool) -> u64 {
    let wanted = wanted(tried.possible());
    if wanted == 0 && !hit { 0 } else { tried.held(wanted | SHARES) }
}

/// The atoms that the laws ask for that can be broken by these; 0 where none can.
fn wanted(possible: u64) -> u64 {
    let laws = LAWS.iter().filter(|law| law.needs & !possible == 0);
    laws.fold(0, |wanted, law| wanted | law.needs | law.without)
}

/// The heaviest run of sentences: its hits, each law once, and their weight together.
fn heaviest(hits: &[Placed]) -> (Vec<Hit>, f32) {
    let mut best: (Vec<Hit>, f32) = (Vec::new(), 0.0);
    for (index, first) in hits.iter().enumerate() {
        let near = |placed: &&Placed| placed.sentence < first.sentence + WINDOW;
        let mut own: Vec<&Placed> = Vec::new();
        for placed in hits.iter().skip(index).take_while(near) {
            if placed.law.is_none() || own.iter().all(|known| known.law != placed.law) {
                own.push(placed);
            }
        }
        let score = score(&own);
        if score > best.1 {
            best = (own.iter().map(|placed| placed.hit.clone()).collect(), score);
        }
    }
    best
}

/// What hits come to. A pattern and a law of one rule see the same thing: the heavier counts.
fn score(hits: &[&Placed]) -> f32 {
    let mut rules: Vec<Rule> = hits.iter().map(|placed| placed.hit.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    let left = rules.into_iter().map(|rule| {
        let own = hits.iter().filter(|placed| placed.hit.rule == rule);
        let (laws, patterns): (Vec<&&Placed>, Vec<&&Placed>) =
            own.partition(|placed| placed.law.is_some());
        let heaviest = patterns.iter().map(|placed| placed.hit.weight).max().unwrap_or_default();
        left(laws.iter().map(|placed| placed.hit.weight)).min(left(std::iter::once(heaviest)))
    });
    1.0 - left.product::<f32>()
}

/// What weights, each in percent, together leave of the belief that nothing is ordered.
fn left(weights: impl Iterator<Item = u32>) -> f32 {
    weights.fold(1.0, |left, weight| left * (1.0 - percent(weight)))
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
    found
}
