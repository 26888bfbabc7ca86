//! Redacts a whole draft with one set of placeholders. What names things (source, source id, group)
//! cannot be redacted, since two would become one: there it is refused.

use serde_json::Value;

use crate::mask::Rules;
use crate::memory::collection::Collection;
use crate::memory::fault::Violation;
use crate::memory::redact::{Names, field, redact};
use crate::memory::seals::Seal;
use crate::memory::unit::{Draft, Table};

/// Takes out what the collection hides; with a key its placeholders are the same in every unit.
pub(super) fn cover(
    draft: &mut Draft,
    collection: &Collection,
    key: Option<&Seal>,
) -> Result<u64, Vec<Violation>> {
    let rules = collection.rules();
    let mut wrong = Vec::new();
    for (name, text) in
        [("source", &draft.source), ("source_id", &draft.source_id), ("group", &draft.group)]
    {
        let found = redact(text, &rules, &mut Names::default()).found;
        if let Some(found) = found.first() {
            let kind = super::super::gate::word(&found.kind);
            let message = format!(
                "holds what is redacted here ({kind}), and as a name it must be kept as it is; send \
                 another name, such as a digest of this one"
            );
            wrong.push(Violation::new(format!("/{name}"), message));
        }
    }
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

/// The texts that are redacted, or are part of a name.
fn texts(draft: &Draft) -> Vec<&str> {
    let mut all = vec![draft.text.as_str(), &draft.value, &draft.key, &draft.speaker, &draft.group];
    all.extend(draft.triggers.iter().map(String::as_str));
    all.extend(
        draft.images.iter().flat_map(|one| [one.description.as_str(), &one.ocr_text, &one.uri]),
    );
    all.extend(draft.facts.iter().flat_map(|one| [one.entity.as_str(), &one.value]));
    all.extend(draft.entities.iter().map(|one| one.value.as_str()));
    for Table { caption, columns, rows } in &draft.tables {
        all.extend(
            [caption].into_iter().chain(columns).chain(rows.iter().flatten()).map(String::as_str),
        );
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
            for text in [&mut image.description, &mut image.ocr_text, &mut image.uri] {
                self.text(text);
            }
        }
        for fact in &mut draft.facts {
            self.text(&mut fact.entity);
            self.named(&fact.attribute, &mut fact.value);
        }
        for entity in &mut draft.entities {
            self.named(&entity.kind, &mut entity.value);
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
