//! What is stored of many versions at once, column by column, so that each table takes one statement
//! whatever their number. Makes the rows of the indexes; sends them, and nothing else.

use deadpool_postgres::Transaction;
use serde_json::Value;
use tokio_postgres::types::ToSql;

use super::Error;
use super::models::{self, Models};
use super::query::column;
use super::row::{EVER, FOREVER, json, keep, micros, name};
use crate::decimal;
use crate::memory::store::Chunk;
use crate::memory::store::words;
use crate::memory::unit::{Draft, Version};

/// Rows of one table: a name with its columns, and how each column's text becomes its type.
#[derive(Debug)]
struct Table {
    into: &'static str,
    casts: &'static [&'static str],
    columns: Vec<Vec<Option<String>>>,
}

/// Rows of all tables.
#[derive(Debug)]
pub(super) struct Sheet {
    versions: Table,
    facets: Table,
    triggers: Table,
    entities: Table,
    facts: Table,
    chunks: Table,
    postings: Table,
    vectors: Table,
    pictures: Table,
    places: Table,
    uses: Table,
    /// A row a version.
    pub(super) sums: Vec<Sum>,
}

/// Realm and owner, and how many chunks of which length together.
pub(super) type Sum = ((i32, String), (i64, i64));

impl Table {
    const fn new(into: &'static str, casts: &'static [&'static str]) -> Self {
        Self { into, casts, columns: Vec::new() }
    }

    fn add<const N: usize>(&mut self, row: [Option<String>; N]) {
        self.columns.resize_with(N, Vec::new);
        self.columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }

    async fn send(&self, step: &Transaction<'_>) -> Result<(), Error> {
        if self.columns.is_empty() {
            return Ok(());
        }
        let (mut casts, mut columns, mut names) = (Vec::new(), Vec::new(), Vec::new());
        for (at, cast) in self.casts.iter().enumerate() {
            names.push(format!("c{at}"));
            columns.push(format!("${}::text[]", at + 1));
            casts.push(match *cast {
                "words" => format!("string_to_array(c{at}, ' ')"),
                "text" => format!("c{at}"),
                other => format!("c{at}::{other}"),
            });
        }
        let text = format!(
            "INSERT INTO {} SELECT {} FROM unnest({}) AS rows({})",
            self.into,
            casts.join(", "),
            columns.join(", "),
            names.join(", ")
        );
        let statement = step.prepare_cached(&text).await?;
        let values: Vec<&(dyn ToSql + Sync)> =
            self.columns.iter().map(|column| -> &(dyn ToSql + Sync) { column }).collect();
        step.execute(&statement, &values).await?;
        Ok(())
    }
}

impl Sheet {
    pub(super) const fn new() -> Self {
        Self {
            versions: Table::new(
                "versions (seq, realm, unit, owner, state, kind, origin, source, source_id, series, \
                 position, valid_from, valid_to, recorded, ended, digest, ending, remarks, conflicts, \
                 body)",
                &[
                    "bigint", "int", "text", "text", "text", "text", "text", "text", "text",
                    "text", "bigint", "bigint", "bigint", "bigint", "bigint", "text", "text",
                    "text", "text", "text",
                ],
            ),
            facets: Table::new(
                "facets (seq, realm, field, listed, word, number, instant, truth)",
                &["bigint", "int", "text", "boolean", "text", "numeric", "numeric", "boolean"],
            ),
            triggers: Table::new(
                "triggers (seq, realm, terms, whole)",
                &["bigint", "int", "words", "text"],
            ),
            entities: Table::new(
                "entities (seq, realm, kind, value)",
                &["bigint", "int", "text", "text"],
            ),
            facts: Table::new(
                "facts (seq, realm, entity, attribute)",
                &["bigint", "int", "text", "text"],
            ),
            chunks: Table::new("chunks (seq, ordinal, body)", &["bigint", "int", "text"]),
            postings: Table::new(
                "postings (realm, term, seq, ordinal, times, length)",
                &["int", "text", "bigint", "int", "int", "int"],
            ),
            vectors: Table::new(
                "vectors (model, seq, ordinal, vector)",
                &["int", "bigint", "int", "vector"],
            ),
            pictures: Table::new("pictures (seq, model, vector)", &["bigint", "int", "vector"]),
            places: Table::new(
                "places (seq, realm, kind, latitude, longitude)",
                &["bigint", "int", "text", "float8", "float8"],
            ),
            uses: Table::new("uses (seq, used, uses)", &["bigint", "bigint", "bigint"]),
            sums: Vec::new(),
        }
    }

    /// Adds a version with its chunks; `models` are the numbers of the vectors' models.
    pub(super) fn add(
        &mut self,
        (realm, version): (i32, &Version),
        chunks: &[Chunk],
        models: &Models,
    ) -> Result<(), Error> {
        let (seq, of) = (Some(version.seq.to_string()), Some(realm.to_string()));
        self.add_row(realm, version)?;
        let draft = &version.draft;
        self.add_facets((&seq, &of), draft);
        self.add_names((&seq, &of), draft);
        let mut length = 0;
        for chunk in chunks {
            let ordinal = Some(chunk.ordinal.to_string());
            self.chunks.add([seq.clone(), ordinal.clone(), Some(keep(&chunk.text))]);
            let (terms, words) = words::tally(&chunk.text);
            length += i64::from(words);
            for (term, times) in terms {
                self.postings.add([
                    of.clone(),
                    Some(keep(&term)),
                    seq.clone(),
                    ordinal.clone(),
                    Some(times.to_string()),
                    Some(words.to_string()),
                ]);
            }
            if let Some((name, numbers)) = &chunk.vector {
                let model = Some(models.number(&models::text(name))?.to_string());
                self.vectors.add([model, seq.clone(), ordinal, Some(vector(numbers))]);
            }
        }
        let count = i64::try_from(chunks.len()).unwrap_or(i64::MAX);
        self.sums.push(((realm, keep(&version.owner)), (count, length)));
        for image in draft.images.iter().filter(|image| !image.vector.is_empty()) {
            let of = models::image(&version.tenant, &image.vector_model);
            let model = Some(models.number(&of)?.to_string());
            self.pictures.add([seq.clone(), model, Some(vector(&image.vector))]);
        }
        if version.uses > 0 || version.used.is_some() {
            let used = version.used.map(|used| micros(used).to_string());
            self.uses.add([seq.clone(), used, Some(version.uses.to_string())]);
        }
        if let Some(place) = &draft.place {
            let (latitude, longitude) = (place.latitude.to_string(), place.longitude.to_string());
            let kind = Some(keep(&place.kind));
            self.places.add([seq, of, kind, Some(latitude), Some(longitude)]);
        }
        Ok(())
    }

    fn add_row(&mut self, realm: i32, version: &Version) -> Result<(), Error> {
        let draft = &version.draft;
        let position = draft.position.unwrap_or(FOREVER);
        self.versions.add(
            [
                version.seq.to_string(),
                realm.to_string(),
                version.unit.as_str().to_owned(),
                keep(&version.owner),
                name(&version.state)?,
                name(&draft.kind)?,
                name(&version.origin)?,
                keep(&draft.source),
                keep(&draft.source_id),
                keep(&draft.group),
                position.to_string(),
                version.valid_from.map_or(EVER, micros).to_string(),
                version.valid_to.map_or(FOREVER, micros).to_string(),
                micros(version.recorded).to_string(),
                version.ended.as_ref().map_or(FOREVER, |ended| micros(ended.at)).to_string(),
                keep(&version.digest),
                version.ended.as_ref().map(json).transpose()?.unwrap_or_default(),
                json(&version.remarks)?,
                json(&version.conflicts)?,
                json(version)?,
            ]
            .map(Some),
        );
        if version.ended.is_none()
            && let Some(ending) = self.versions.columns.get_mut(16).and_then(|all| all.last_mut())
        {
            *ending = None;
        }
        Ok(())
    }

    fn add_facets(&mut self, (seq, of): (&Option<String>, &Option<String>), draft: &Draft) {
        let mut put = |field: &str, value: &Value, listed: bool| {
            let (mut word, mut number, mut instant, mut truth) = (None, None, None, None);
            match value {
                Value::String(text) => {
                    word = Some(keep(text));
                    instant = text
                        .parse::<jiff::Timestamp>()
                        .ok()
                        .map(|instant| instant.as_nanosecond().to_string());
                }
                Value::Number(of) => {
                    number = decimal::is_storable(of).then(|| decimal::spell(of));
                }
                Value::Bool(of) => truth = Some(of.to_string()),
                Value::Null | Value::Array(_) | Value::Object(_) => {}
            }
            let listed = Some(listed.to_string());
            let field = Some(keep(field));
            self.facets.add([seq.clone(), of.clone(), field, listed, word, number, instant, truth]);
        };
        for (field, value) in &draft.metadata {
            // A name of the unit's own members is never looked up in its metadata.
            if column(field).is_some() {
                continue;
            }
            match value {
                Value::Array(members) => {
                    put(field, &Value::Null, true);
                    members.iter().for_each(|member| put(field, member, true));
                }
                single => put(field, single, false),
            }
        }
        // Members of the unit itself are columns; only as instants they are looked up here.
        let own =
            [("source", &draft.source), ("source_id", &draft.source_id), ("group", &draft.group)];
        for (field, text) in own {
            if text.parse::<jiff::Timestamp>().is_ok() {
                put(field, &Value::from(text.as_str()), false);
            }
        }
    }

    fn add_names(&mut self, (seq, of): (&Option<String>, &Option<String>), draft: &Draft) {
        for trigger in &draft.triggers {
            // In the form in which questions are asked.
            let trigger = &crate::memory::normal(trigger);
            let terms = words::ask(trigger);
            if !terms.is_empty() {
                let whole = words::series(trigger).join(" ");
                let terms = Some(keep(&terms.join(" ")));
                self.triggers.add([seq.clone(), of.clone(), terms, Some(keep(&whole))]);
            }
        }
        for entity in &draft.entities {
            let kind = Some(keep(&words::name(&entity.kind)));
            let value = Some(keep(&words::name(&entity.value)));
            self.entities.add([seq.clone(), of.clone(), kind, value]);
        }
        for fact in &draft.facts {
            let entity = Some(keep(&words::name(&fact.entity)));
            let attribute = Some(keep(&words::name(&fact.attribute)));
            self.facts.add([seq.clone(), of.clone(), entity, attribute]);
        }
    }

    /// Sends all rows.
    pub(super) async fn send(&self, step: &Transaction<'_>) -> Result<(), Error> {
        let tables = [
            &self.versions,
            &self.facets,
            &self.triggers,
            &self.entities,
            &self.facts,
            &self.chunks,
            &self.postings,
            &self.vectors,
            &self.pictures,
            &self.places,
            &self.uses,
        ];
        for table in tables {
            table.send(step).await?;
        }
        Ok(())
    }
}

/// A vector as pgvector reads it; the shortest digits that give the same numbers again.
pub(super) fn vector(numbers: &[f32]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(numbers.len() * 12 + 2);
    text.push('[');
    for (at, number) in numbers.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        // Writing into a String does not fail.
        let _written = write!(text, "{comma}{number}");
    }
    text.push(']');
    text
}
