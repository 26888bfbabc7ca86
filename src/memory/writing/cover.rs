//! Redacts a whole draft with one set of placeholders. What names things (source, source id, group,
//! model) cannot be redacted, since two would become one, nor can numbers: there it is refused.

use serde_json::Value;

use crate::decimal::Decimal;
use crate::mask::Rules;
use crate::memory::collection::Collection;
use crate::memory::fault::Violation;
use crate::memory::gate::{texts, word};
use crate::memory::redact::{Names, field};
use crate::memory::seals::Seal;
use crate::memory::unit::{Draft, Table};
use crate::pointer::escape;

/// Takes out what the collection hides; with a key its placeholders are the same in every unit.
pub(super) fn cover(
    draft: &mut Draft,
    collection: &Collection,
    key: Option<&Seal>,
) -> Result<u64, Vec<Violation>> {
    let rules = collection.rules();
    let wrong: Vec<Violation> =
        kept(draft).into_iter().filter_map(|one| one.fault(&rules)).collect();
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let mut names = Names::of(texts(draft));
    if let Some(key) = key {
        names = names.keyed(key.as_bytes());
    }
    let mut cover = Cover { rules, names, count: 0 };
    cover.draft(draft);
    Ok(cover.count)
}

/// What cannot be redacted, since a placeholder in its place would say something else.
struct Kept {
    place: String,
    name: String,
    text: String,
    mend: &'static str,
}

impl Kept {
    fn fault(&self, rules: &Rules) -> Option<Violation> {
        let found = field(&self.name, &self.text, rules, &mut Names::default()).found;
        let kind = word(&found.first()?.kind);
        let message = format!("holds what is redacted here ({kind}), and {}", self.mend);
        Some(Violation::new(&self.place, message))
    }
}

fn kept(draft: &Draft) -> Vec<Kept> {
    let name = |place: String, text: &str| Kept {
        place,
        name: String::new(),
        text: text.to_owned(),
        mend: "as a name it must be kept as it is; send another name, such as a digest of this one",
    };
    let mut all = vec![
        name("/source".to_owned(), &draft.source),
        name("/source_id".to_owned(), &draft.source_id),
        name("/group".to_owned(), &draft.group),
    ];
    let models = draft.images.iter().enumerate();
    all.extend(
        models.map(|(at, image)| name(format!("/images/{at}/vector_model"), &image.vector_model)),
    );
    let mut number = |place: String, name: &str, text: String| {
        let mend =
            "a number has no place for a mark; leave it out, or send it in a field for texts";
        all.push(Kept { place, name: name.to_owned(), text, mend });
    };
    if let Some(position) = draft.position {
        number("/position".to_owned(), "", position.unsigned_abs().to_string());
    }
    for (name, value) in &draft.metadata {
        if let Value::Number(value) = value {
            let spelled = Decimal::parse(value.as_str()).and_then(|value| value.whole());
            let text = spelled.unwrap_or_else(|| value.to_string());
            let text = text.trim_start_matches('-').to_owned();
            number(format!("/metadata/{}", escape(name)), name, text);
        }
    }
    all
}

struct Cover {
    rules: Rules,
    names: Names,
    count: u64,
}

impl Cover {
    fn text(&mut self, text: &mut String) {
        self.named("", text);
    }

    /// A text under a name, which may say that all of it is secret.
    fn named(&mut self, name: &str, text: &mut String) {
        if text.is_empty() {
            return;
        }
        let done = field(name, text, &self.rules, &mut self.names);
        self.count += u64::try_from(done.found.len()).unwrap_or_default();
        *text = done.text;
    }

    fn draft(&mut self, draft: &mut Draft) {
        for text in [&mut draft.text, &mut draft.value, &mut draft.key, &mut draft.speaker] {
            self.text(text);
        }
        draft.triggers.iter_mut().for_each(|text| self.text(text));
        for image in &mut draft.images {
            let words = [&mut image.description, &mut image.ocr_text];
            for text in words.into_iter().chain([&mut image.uri, &mut image.media_type]) {
                self.text(text);
            }
        }
        for fact in &mut draft.facts {
            self.named(&fact.attribute, &mut fact.value);
            for text in [&mut fact.entity, &mut fact.attribute, &mut fact.unit] {
                self.text(text);
            }
        }
        for entity in &mut draft.entities {
            self.named(&entity.kind, &mut entity.value);
            self.text(&mut entity.kind);
        }
        if let Some(place) = &mut draft.place {
            self.text(&mut place.kind);
        }
        draft.tables.iter_mut().for_each(|table| self.table(table));
        for (name, value) in &mut draft.metadata {
            self.value(name, value);
        }
    }

    fn table(&mut self, table: &mut Table) {
        self.text(&mut table.caption);
        table.columns.iter_mut().for_each(|text| self.text(text));
        for row in &mut table.rows {
            for (column, cell) in table.columns.iter().zip(row) {
                self.named(column, cell);
            }
        }
    }

    fn value(&mut self, name: &str, value: &mut Value) {
        match value {
            Value::String(text) => self.named(name, text),
            Value::Array(members) => {
                for member in members {
                    if let Value::String(text) = member {
                        self.named(name, text);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
        }
    }
}
