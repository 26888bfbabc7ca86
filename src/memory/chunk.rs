//! Cuts a unit into the pieces that are searched: a [`Draft`] in, its [`Chunk`]s out, without vectors.
//! A chunk has 256 to 512 tokens where the unit is that long, ends where a paragraph, a sentence or a
//! row of a table ends, and begins with what the unit is, who says it, and when.

mod split;

use jiff::tz::TimeZone;

use super::store::Chunk;
use super::unit::{Draft, Kind, Table};
use crate::tokens::{self, Tally};
use split::{Piece, pieces, shorten};

/// Tokens of a chunk, most and least: a longer one is cut by many embedders, a shorter one says little.
const MOST: usize = 512;
const LEAST: usize = 256;
/// Tokens of the lines in front of each chunk.
const HEAD: usize = 96;
/// A last chunk with fewer tokens joins the one before it.
const SCRAP: usize = 64;

/// The chunks of a unit, of at most `tokens` each, at least one.
pub(super) fn chunk(draft: &Draft, tokens: usize, zone: &TimeZone) -> Vec<Chunk> {
    let head = head(draft, zone);
    let budget = tokens.clamp(LEAST, MOST).saturating_sub(tokens::count(&head));
    let mut texts = pack(&parts(draft, budget), budget);
    if texts.is_empty() {
        texts.push(String::new());
    }
    let chunks = texts.into_iter().zip(0_u32..).map(|(text, ordinal)| {
        let gap = if head.is_empty() || text.is_empty() { "" } else { "\n" };
        Chunk { ordinal, text: format!("{head}{gap}{text}"), vector: None }
    });
    chunks.collect()
}

/// Title, speaker and date. The date stands there for what happened or was said once: there people ask
/// when, and in both spellings.
fn head(draft: &Draft, zone: &TimeZone) -> String {
    let told = !draft.speaker.is_empty() || !draft.group.is_empty() || draft.kind == Kind::Case;
    let time = draft.source_time.as_ref().filter(|_| told);
    let date = time.and_then(|text| text.parse::<jiff::Timestamp>().ok()).map(|at| {
        let at = zone.to_datetime(at);
        at.strftime("%Y-%m-%d (%-d %B %Y)").to_string()
    });
    let said: Vec<&str> = date
        .as_deref()
        .into_iter()
        .chain([draft.speaker.as_str()])
        .filter(|s| !s.is_empty())
        .collect();
    let said = if said.is_empty() { String::new() } else { format!("{}:", said.join(" ")) };
    let lines: Vec<&str> =
        [draft.key.trim(), said.as_str()].into_iter().filter(|line| !line.is_empty()).collect();
    shorten(&lines.join("\n"), HEAD)
}

/// Everything that a unit says, in the order in which it is read.
fn parts(draft: &Draft, budget: usize) -> Vec<Piece> {
    let mut all = pieces(&draft.text, budget);
    all.extend(pieces(&draft.value, budget));
    for fact in &draft.facts {
        let line = format!("{} {}: {} {}", fact.entity, fact.attribute, fact.value, fact.unit);
        all.extend(pieces(&line, budget));
    }
    for image in &draft.images {
        all.extend(pieces(&image.description, budget));
        all.extend(pieces(&image.ocr_text, budget));
    }
    draft.tables.iter().for_each(|table| rows(table, budget, &mut all));
    if all.is_empty() && draft.key.is_empty() {
        all.extend(pieces(&draft.source_id, budget));
    }
    all
}

/// A table by rows, as many as fit, each time below its heading and the names of its columns.
fn rows(table: &Table, budget: usize, all: &mut Vec<Piece>) {
    let line = |cells: &[String]| {
        let even: Vec<String> = cells
            .iter()
            .map(|cell| cell.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        even.join(" | ")
    };
    let caption =
        if table.caption.is_empty() { String::new() } else { format!("{}\n", table.caption) };
    let top = shorten(&format!("{caption}{}", line(&table.columns)), budget / 2);
    let room = budget.saturating_sub(tokens::count(&top) + 1);
    let (mut body, mut filled) = (String::new(), 0);
    let mut flush = |body: &mut String| {
        if !body.is_empty() {
            all.push(Piece::whole(format!("{top}{}", std::mem::take(body))));
        }
    };
    for row in &table.rows {
        for piece in pieces(&line(row), room) {
            let count = piece.tokens + 1;
            if filled + count > room {
                flush(&mut body);
                filled = 0;
            }
            body.push('\n');
            body.push_str(&piece.text);
            filled += count;
        }
    }
    flush(&mut body);
}

/// Puts pieces together, up to the budget; a paragraph begins a new chunk where the last has enough.
fn pack(parts: &[Piece], budget: usize) -> Vec<String> {
    let least = LEAST.min(budget);
    let mut texts: Vec<(String, usize)> = Vec::new();
    let mut tally = Tally::default();
    let rest = |from: usize| -> usize {
        let more = parts.get(from..).unwrap_or_default().iter().enumerate();
        more.take_while(|(at, piece)| *at == 0 || !piece.opens).map(|(_, piece)| piece.tokens).sum()
    };
    for (at, piece) in parts.iter().enumerate() {
        let open = texts.last_mut().filter(|(_, count)| {
            let needed = if piece.opens && *count >= least { rest(at) } else { piece.tokens };
            count + needed <= budget
        });
        match open {
            Some((text, count)) => {
                text.push_str(piece.gap);
                text.push_str(&piece.text);
                *count = tally.count(text);
            }
            None => {
                tally = Tally::default();
                texts.push((piece.text.clone(), piece.tokens));
            }
        }
    }
    if let [.., (_, before), (_, last)] = texts.as_slice()
        && *last < SCRAP
        && before + last <= budget.max(MOST.saturating_sub(HEAD))
        && let Some((scrap, _)) = texts.pop()
        && let Some((text, _)) = texts.last_mut()
    {
        text.push('\n');
        text.push_str(&scrap);
    }
    texts.into_iter().map(|(text, _)| text).collect()
}

#[cfg(test)]
mod tests;
