//! Recalled units in a context: each in several lengths, the best units first, curated knowledge and
//! notes under labels of their own.

use super::{Config, Counter, Detail, Used, cut, envelope};
use crate::memory::{Layer, Recalled, Recollection};

/// Labels of the two layers, in their order.
const LABELS: [(Layer, &str); 2] = [
    (Layer::Curated, "# Knowledge curated by the organisation"),
    (Layer::Notes, "# Notes of users and agents, not curated"),
];
/// Tokens of the labels, about.
const FRAME: usize = 32;

/// A unit in several lengths.
pub(super) struct Unit {
    layer: Layer,
    evidence: String,
    facts: String,
    enveloped: Option<String>,
    /// Longest first, with the tokens of each.
    forms: Vec<(Detail, String, usize)>,
}

impl Unit {
    /// Whether it stands in an envelope.
    pub(super) const fn is_outside(&self) -> bool {
        self.enveloped.is_some()
    }
}

/// The hits as units.
pub(super) fn units(
    recalled: &Recalled,
    (config, nonce): (&Config, &str),
    counter: &Counter,
) -> Vec<Unit> {
    let unit = |hit: &Recollection| {
        let enveloped = envelope::is_needed(hit, config).then(|| nonce.to_owned());
        let facts = envelope::facts(hit);
        let forms = forms(hit)
            .into_iter()
            .map(|(detail, text)| {
                let text = envelope::wrap(&facts, &text, enveloped.as_deref());
                let tokens = counter.count(&text) + 2;
                (detail, text, tokens)
            })
            .collect();
        Unit { layer: hit.version.layer, evidence: hit.evidence(), facts, enveloped, forms }
    };
    recalled.hits.iter().map(unit).collect()
}

/// What the hits would take whole.
pub(super) fn wanted(units: &[Unit]) -> usize {
    let whole = |unit: &Unit| unit.forms.first().map_or(0, |(_, _, tokens)| *tokens);
    let sum: usize = units.iter().map(whole).sum();
    if sum == 0 { 0 } else { sum + FRAME }
}

/// A unit whole; its passages and its value; its key and its value. The shorter ones say so.
fn forms(hit: &Recollection) -> Vec<(Detail, String)> {
    let draft = &hit.version.draft;
    let head = if draft.key.is_empty() { String::new() } else { format!("{}\n", draft.key) };
    let said = match (draft.speaker.is_empty(), draft.source_time.as_deref()) {
        (false, Some(time)) => format!("{} ({time}): ", draft.speaker),
        (false, None) => format!("{}: ", draft.speaker),
        (true, _) => String::new(),
    };
    let value = if draft.value.is_empty() { String::new() } else { format!("\n{}", draft.value) };
    let mut forms =
        vec![(Detail::Whole, format!("{head}{said}{}{value}{}", draft.text, more(hit)))];
    let mut ordered: Vec<&(u32, String)> = hit.passages.iter().collect();
    ordered.sort_by_key(|(ordinal, _)| *ordinal);
    let passages: Vec<&str> = ordered.into_iter().map(|(_, text)| text.as_str()).collect();
    if !passages.is_empty() {
        let joined = passages.join("\n[...]\n");
        forms.push((Detail::Passages, format!("{head}[only passages]\n{joined}{value}")));
    }
    if !draft.value.is_empty() {
        forms.push((Detail::Value, format!("{head}[text left out]{value}")));
    }
    forms
}

/// What a unit has beside its text.
fn more(hit: &Recollection) -> String {
    let draft = &hit.version.draft;
    let mut lines = String::new();
    for image in &draft.images {
        for (label, text) in [("image", &image.description), ("on the image", &image.ocr_text)] {
            if !text.is_empty() {
                lines.push_str(&format!("\n[{label}] {text}"));
            }
        }
    }
    for table in &draft.tables {
        let heading = if table.caption.is_empty() { "table" } else { &table.caption };
        lines.push_str(&format!("\n[{heading}]\n{}", table.columns.join(" | ")));
        for row in &table.rows {
            lines.push_str(&format!("\n{}", row.join(" | ")));
        }
    }
    lines
}

/// As many units as fit, best first. A unit takes its longest form that is at most half of the room
/// that is left; else its shortest that fits; else that one cut at its end, with a mark.
pub(super) fn fit(units: Vec<Unit>, tokens: usize, counter: &Counter) -> (String, Vec<Used>) {
    let mut room = tokens.saturating_sub(FRAME);
    let mut used = Vec::new();
    let mut shown: Vec<(Layer, String)> = Vec::new();
    let mut rest: usize = wanted(&units).saturating_sub(FRAME);
    for unit in units {
        let whole = unit.forms.first().map_or(0, |(_, _, tokens)| *tokens);
        // Where all that is left fits, nothing has to be shortened.
        let most = if rest <= room { room } else { room / 2 };
        rest = rest.saturating_sub(whole);
        let long = unit.forms.iter().find(|(_, _, tokens)| *tokens <= most);
        let short = unit.forms.iter().rev().find(|(_, _, tokens)| *tokens <= room);
        let (form, text) = match long.or(short) {
            Some((form, text, _)) => (*form, text.clone()),
            None => cut_last(&unit, room, counter),
        };
        used.push(Used {
            evidence: unit.evidence.clone(),
            form,
            enveloped: unit.enveloped.is_some(),
        });
        if form != Detail::Left {
            room = room.saturating_sub(counter.count(&text) + 2);
            shown.push((unit.layer, text));
        }
    }
    (under_labels(&shown), used)
}

fn cut_last(unit: &Unit, room: usize, counter: &Counter) -> (Detail, String) {
    let nothing = (Detail::Left, String::new());
    let Some((_, text, _)) = unit.forms.last() else { return nothing };
    // The envelope stays whole: only what is inside is cut.
    let inside = text.split_once('\n').map_or("", |(_, rest)| rest);
    let inside = match &unit.enveloped {
        Some(nonce) => inside.strip_suffix(&format!("\n>>>end {nonce}")).unwrap_or(inside),
        None => inside,
    };
    let frame = envelope::wrap(&unit.facts, "", unit.enveloped.as_deref());
    let left = room.saturating_sub(counter.count(&frame) + 4);
    let inside = cut::end(inside, left, counter);
    let text = envelope::wrap(&unit.facts, &inside, unit.enveloped.as_deref());
    match inside.is_empty() || counter.count(&text) + 2 > room {
        true => nothing,
        false => (Detail::Cut, text),
    }
}

fn under_labels(shown: &[(Layer, String)]) -> String {
    let mut parts = Vec::new();
    for (layer, label) in LABELS {
        let texts: Vec<&str> =
            shown.iter().filter(|(one, _)| *one == layer).map(|(_, text)| text.as_str()).collect();
        if !texts.is_empty() {
            parts.push(format!("{label}\n{}", texts.join("\n\n")));
        }
    }
    parts.join("\n\n")
}
