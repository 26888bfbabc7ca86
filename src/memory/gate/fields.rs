//! What a draft has to have beside its metadata: kind, source, something to say, places, images,
//! tables and series that can be used.

use super::Faults;
use super::limits::{fold, shown, word};
use crate::memory::collection::Collection;
use crate::memory::conflict;
use crate::memory::unit::{Draft, Image, Place};

/// Numbers of a vector.
const DIMENSIONS: usize = 8192;

/// Checks them all.
pub(super) fn check(draft: &Draft, collection: &Collection, faults: &mut Faults) {
    if !collection.kinds.contains(&draft.kind) {
        let kinds: Vec<String> = collection.kinds.iter().map(word).collect();
        let message = format!(
            "is `{}`, which `{}` does not take; it takes `{}`",
            word(&draft.kind),
            collection.name,
            kinds.join("`, `")
        );
        faults.say("/kind", message);
    }
    if draft.source.trim().is_empty() {
        faults.say("/source", "is empty; send who or what the unit comes from");
    } else if !collection.takes_source(&draft.source) {
        let message = format!(
            "is `{}`, which `{}` does not take; it takes `{}`",
            shown(&draft.source),
            collection.name,
            collection.sources.join("`, `")
        );
        faults.say("/source", message);
    }
    if draft.source_id.trim().is_empty() {
        faults.say(
            "/source_id",
            "is empty; send the unit's id at its source, by which it is replaced",
        );
    }
    content(draft, faults);
    claims(draft, faults);
    if let Some(place) = &draft.place {
        coordinates(place, faults);
    }
    for (at, image) in draft.images.iter().enumerate() {
        picture(at, image, faults);
    }
    tables(draft, faults);
    if draft.position.is_some() && draft.group.trim().is_empty() {
        faults.say("/position", "is a place in a series, and `group` does not name one");
    }
}

/// Gives declared attributes their declared spelling, and finds those that a draft contradicts itself in.
pub(super) fn attributes(draft: &mut Draft, collection: &Collection, faults: &mut Faults) {
    for fact in &mut draft.facts {
        let mut declared = collection.attributes.keys();
        if !collection.attributes.contains_key(&fact.attribute)
            && let Some(name) = declared.find(|name| fold(name) == fold(&fact.attribute))
        {
            fact.attribute.clone_from(name);
        }
    }
    for (at, other) in conflict::doubled(draft, collection) {
        let message = format!(
            "is another than `{}`, which the draft says too, and `{}` has one value at a time in `{}`; \
             send one, or two units that hold at different times",
            shown(&other),
            draft.facts.get(at).map_or("", |fact| fact.attribute.as_str()),
            collection.name
        );
        faults.say(format!("/facts/{at}/value"), message);
    }
}

/// A unit has something to say.
fn content(draft: &Draft, faults: &mut Faults) {
    let words = |text: &String| text.chars().any(char::is_alphanumeric);
    let says = words(&draft.text)
        || words(&draft.value)
        || !draft.facts.is_empty()
        || draft.images.iter().any(|one| words(&one.description) || words(&one.ocr_text))
        || draft.images.iter().any(|one| !one.vector.is_empty())
        || draft.tables.iter().any(|table| table.rows.iter().flatten().any(words));
    if !says {
        faults
            .say("", "says nothing; send `text`, `value`, `facts`, `tables`, or images with words");
    }
    for (at, trigger) in draft.triggers.iter().enumerate() {
        if !trigger.chars().any(char::is_alphanumeric) {
            faults.say(format!("/triggers/{at}"), "has no letter and no digit; leave it out");
        }
    }
}

fn claims(draft: &Draft, faults: &mut Faults) {
    let mut empty = |field: &str, at: usize, part: &str, text: &str| {
        if text.trim().is_empty() {
            faults.say(format!("/{field}/{at}/{part}"), "is empty");
        }
    };
    for (at, entity) in draft.entities.iter().enumerate() {
        empty("entities", at, "kind", &entity.kind);
        empty("entities", at, "value", &entity.value);
    }
    for (at, fact) in draft.facts.iter().enumerate() {
        empty("facts", at, "entity", &fact.entity);
        empty("facts", at, "attribute", &fact.attribute);
        empty("facts", at, "value", &fact.value);
    }
}

fn coordinates(place: &Place, faults: &mut Faults) {
    let ends = [("latitude", place.latitude, 90.0), ("longitude", place.longitude, 180.0)];
    for (name, value, most) in ends {
        if !(value.is_finite() && value.abs() <= most) {
            let message = format!("is {value}; send degrees from -{most} to {most}");
            faults.say(format!("/place/{name}"), message);
        }
    }
}

fn picture(at: usize, image: &Image, faults: &mut Faults) {
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if image.sha256.len() != 64 || !image.sha256.bytes().all(hex) {
        let message = "is no SHA-256; send 64 hex digits in lower case, of the image's bytes";
        faults.say(format!("/images/{at}/sha256"), message);
    }
    if image.vector.len() > DIMENSIONS {
        let message = format!("has {} numbers, at most {DIMENSIONS}", image.vector.len());
        faults.say(format!("/images/{at}/vector"), message);
    }
    if let Some(number) = image.vector.iter().position(|number| !number.is_finite()) {
        let message = "is no finite number; send the vector as the model gave it";
        faults.say(format!("/images/{at}/vector/{number}"), message);
    } else if !image.vector.is_empty() && image.vector.iter().all(|number| *number == 0.0) {
        faults.say(format!("/images/{at}/vector"), "has no length; leave it out");
    }
    if image.vector.is_empty() != image.vector_model.trim().is_empty() {
        let message =
            "and `vector` go together: vectors are compared only with those of the same model";
        faults.say(format!("/images/{at}/vector_model"), message);
    }
}

fn tables(draft: &Draft, faults: &mut Faults) {
    for (at, table) in draft.tables.iter().enumerate() {
        if table.columns.is_empty() {
            faults.say(format!("/tables/{at}/columns"), "is empty; name the columns");
        }
        let wanted = table.columns.len();
        if let Some((row, cells)) =
            table.rows.iter().enumerate().find(|(_, row)| row.len() != wanted)
        {
            let message = format!("has {} cells, and the table has {wanted} columns", cells.len());
            faults.say(format!("/tables/{at}/rows/{row}"), message);
        }
    }
}
