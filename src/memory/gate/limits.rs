//! How much a draft may hold, and which characters: a [`Draft`] in, what is too much out.

use serde::Serialize;

use super::Faults;
use crate::memory::fault::Violation;
use crate::memory::unit::Draft;

/// Bytes of a whole draft.
const DRAFT: usize = 4 << 20;
/// Bytes of its text.
const TEXT: usize = 1 << 20;
/// Bytes of its value, and of the words of one image.
pub(crate) const VALUE: usize = 64 << 10;
/// Characters of names: title, source, source id, group, speaker, and the parts of entities and facts.
const NAME: usize = 512;
/// Characters of a trigger.
const TRIGGER: usize = 200;
const TRIGGERS: usize = 32;
const ENTITIES: usize = 64;
const FACTS: usize = 64;
const IMAGES: usize = 32;
const TABLES: usize = 32;
/// Columns of a table, and rows of all tables.
const COLUMNS: usize = 64;
const ROWS: usize = 10_000;
/// Bytes of a table's cell.
const CELL: usize = 4 << 10;
/// Units that one is made from.
const SOURCES: usize = 64;
/// Longest text that an error repeats, in characters.
const SHOWN: usize = 64;

/// Whether the draft is small enough to be looked at.
pub(super) fn size(draft: &Draft) -> Result<(), Violation> {
    let say = |place: &str, bytes: usize, most: usize, mend: &str| {
        Err(Violation::new(place, format!("has {bytes} bytes, at most {most} are taken; {mend}")))
    };
    if draft.text.len() > TEXT {
        return say("/text", draft.text.len(), TEXT, "cut it into units of one `group`");
    }
    let mut bytes = 0_usize;
    each(draft, &mut |_, text| bytes = bytes.saturating_add(text.len() + 8));
    let vectors: usize = draft.images.iter().map(|image| image.vector.len() * 4).sum();
    let bytes = bytes.saturating_add(vectors).saturating_add(weight(&draft.metadata));
    if bytes > DRAFT { say("", bytes, DRAFT, "write less in one unit") } else { Ok(()) }
}

/// Bytes of the metadata's texts and members.
fn weight(metadata: &serde_json::Map<String, serde_json::Value>) -> usize {
    metadata.iter().map(|(name, value)| name.len() + value.to_string().len()).sum()
}

/// Counts, lengths and characters.
pub(super) fn check(draft: &Draft, faults: &mut Faults) {
    let counts = [
        ("triggers", draft.triggers.len(), TRIGGERS),
        ("entities", draft.entities.len(), ENTITIES),
        ("facts", draft.facts.len(), FACTS),
        ("images", draft.images.len(), IMAGES),
        ("tables", draft.tables.len(), TABLES),
        ("derived_from", draft.derived_from.len(), SOURCES),
    ];
    for (name, count, most) in counts {
        if count > most {
            faults
                .say(format!("/{name}"), format!("has {count} members, at most {most} are taken"));
        }
    }
    let rows: usize = draft.tables.iter().map(|table| table.rows.len()).sum();
    if rows > ROWS {
        faults.say("/tables", format!("have {rows} rows, at most {ROWS} are taken in one unit"));
    }
    for (at, table) in draft.tables.iter().enumerate() {
        if table.columns.len() > COLUMNS {
            let count = table.columns.len();
            faults.say(format!("/tables/{at}/columns"), format!("are {count}, at most {COLUMNS}"));
        }
    }
    each(draft, &mut |place, text| characters(place, text, faults));
}

/// Characters that no text has, and lengths.
fn characters(place: Place<'_>, text: &str, faults: &mut Faults) {
    let bad = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    if let Some((at, found)) = text.char_indices().find(|(_, c)| bad(*c)) {
        let code = u32::from(found);
        faults.say(
            place.pointer(),
            format!(
                "has the control character U+{code:04X} at byte {at}; send the text without it"
            ),
        );
    }
    let (length, most, what) = match place.size() {
        Size::Name => (text.chars().count(), NAME, "characters"),
        Size::Trigger => (text.chars().count(), TRIGGER, "characters"),
        Size::Cell => (text.len(), CELL, "bytes"),
        Size::Value => (text.len(), VALUE, "bytes"),
        Size::Text => (text.len(), TEXT, "bytes"),
    };
    if length > most {
        faults.say(place.pointer(), format!("has {length} {what}, at most {most} are taken"));
    }
    if matches!(place.size(), Size::Name | Size::Trigger) && text.contains(['\n', '\r']) {
        faults.say(place.pointer(), "has several lines; send one");
    }
}

/// Where a text of a draft stands: its field, and steps below it.
#[derive(Debug, Clone, Copy)]
struct Place<'p> {
    field: &'p str,
    at: Option<usize>,
    part: &'p str,
}

enum Size {
    Name,
    Trigger,
    Cell,
    Value,
    Text,
}

impl Place<'_> {
    fn pointer(self) -> String {
        let at = self.at.map_or_else(String::new, |at| format!("/{at}"));
        let part = if self.part.is_empty() { String::new() } else { format!("/{}", self.part) };
        format!("/{}{at}{part}", self.field)
    }

    fn size(self) -> Size {
        match (self.field, self.part) {
            ("triggers", _) => Size::Trigger,
            ("text", _) => Size::Text,
            ("value", _) | ("images", "description" | "ocr_text") => Size::Value,
            ("tables", "rows") => Size::Cell,
            _ => Size::Name,
        }
    }
}

/// The texts of a draft in which anything can be said: all but the collection, times, digests and the
/// metadata.
pub(in crate::memory) fn texts(draft: &Draft) -> Vec<&str> {
    let mut all = Vec::new();
    each(draft, &mut |place, text| {
        let fixed = matches!(place.field, "collection" | "source_time" | "valid_from" | "valid_to");
        if !fixed && place.part != "sha256" && !text.is_empty() {
            all.push(text);
        }
    });
    all
}

/// Gives every text of a draft but its metadata, with its place.
fn each<'d>(draft: &'d Draft, give: &mut dyn FnMut(Place<'d>, &'d str)) {
    let mut one = |field, at, part, text: &'d str| give(Place { field, at, part }, text);
    one("collection", None, "", &draft.collection);
    one("source", None, "", &draft.source);
    one("source_id", None, "", &draft.source_id);
    one("key", None, "", &draft.key);
    one("text", None, "", &draft.text);
    one("value", None, "", &draft.value);
    one("group", None, "", &draft.group);
    one("speaker", None, "", &draft.speaker);
    for (field, text) in [
        ("source_time", &draft.source_time),
        ("valid_from", &draft.valid_from),
        ("valid_to", &draft.valid_to),
    ] {
        one(field, None, "", text.as_deref().unwrap_or_default());
    }
    for (at, trigger) in draft.triggers.iter().enumerate() {
        one("triggers", Some(at), "", trigger);
    }
    for (at, entity) in draft.entities.iter().enumerate() {
        one("entities", Some(at), "kind", &entity.kind);
        one("entities", Some(at), "value", &entity.value);
    }
    for (at, fact) in draft.facts.iter().enumerate() {
        one("facts", Some(at), "entity", &fact.entity);
        one("facts", Some(at), "attribute", &fact.attribute);
        one("facts", Some(at), "value", &fact.value);
        one("facts", Some(at), "unit", &fact.unit);
    }
    if let Some(place) = &draft.place {
        one("place", None, "type", &place.kind);
    }
    for (at, image) in draft.images.iter().enumerate() {
        one("images", Some(at), "uri", &image.uri);
        one("images", Some(at), "media_type", &image.media_type);
        one("images", Some(at), "sha256", &image.sha256);
        one("images", Some(at), "description", &image.description);
        one("images", Some(at), "ocr_text", &image.ocr_text);
        one("images", Some(at), "vector_model", &image.vector_model);
    }
    for (at, table) in draft.tables.iter().enumerate() {
        one("tables", Some(at), "caption", &table.caption);
        table.columns.iter().for_each(|text| one("tables", Some(at), "columns", text));
        table.rows.iter().flatten().for_each(|text| one("tables", Some(at), "rows", text));
    }
}

/// A text as an error repeats it.
pub(super) fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN).collect()
}

/// A value such as a kind or an origin, as it is written.
pub(crate) fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|one| Some(one.as_str()?.to_owned()))
        .unwrap_or_default()
}

/// A text as it is compared: without case, width, invisible characters, spaces and marks.
pub(crate) fn fold(text: &str) -> String {
    let folded = crate::mask::folded(text);
    folded.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
