//! Statements put together with their values, and a scope as the conditions of one: exactly those of
//! `Scope::has`, to the microsecond. Sends nothing.

use serde_json::Value;
use tokio_postgres::types::ToSql;

use super::Error;
use super::places;
use super::row::{FOREVER, keep, micros, name};
use crate::decimal;
use crate::memory::scope::{Compare, Filter, Scope};
use crate::memory::unit::State;

/// A statement and its values.
#[derive(Debug, Default)]
pub(super) struct Query {
    pub(super) text: String,
    values: Vec<Box<dyn ToSql + Sync + Send>>,
}

impl Query {
    /// One that begins so.
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), values: Vec::new() }
    }

    /// Goes on with text.
    pub(super) fn add(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    /// Takes a value; gives what stands for it in the text.
    pub(super) fn bind(&mut self, value: impl ToSql + Sync + Send + 'static) -> String {
        self.values.push(Box::new(value));
        format!("${}", self.values.len())
    }

    /// The values in their order.
    pub(super) fn values(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.values.iter().map(|value| -> &(dyn ToSql + Sync) { value.as_ref() }).collect()
    }
}

/// What may be found, ready to be put into statements.
#[derive(Debug)]
pub(super) struct Limits<'s> {
    scope: &'s Scope,
    /// All realms in the scope.
    pub(super) realms: Vec<i32>,
    /// Those of which everything may be found.
    pub(super) whole: Vec<i32>,
    /// Those of which only one owner's may.
    owned: Vec<(i32, String)>,
    /// Versions whose place meets the condition, where there is one.
    here: Option<Vec<i64>>,
}

impl<'s> Limits<'s> {
    /// Looks up what a scope names; `None` when nothing can be in it.
    pub(super) async fn of(
        client: &deadpool_postgres::Object,
        scope: &'s Scope,
    ) -> Result<Option<Self>, Error> {
        let names: Vec<String> =
            scope.collections.iter().map(|owned| keep(&owned.collection)).collect();
        let asked = "SELECT id, collection FROM realms WHERE tenant = $1 AND collection = ANY($2)";
        let statement = client.prepare_cached(asked).await?;
        let rows = client.query(&statement, &[&keep(&scope.tenant), &names]).await?;
        let mut limits =
            Self { scope, realms: Vec::new(), whole: Vec::new(), owned: Vec::new(), here: None };
        for row in rows {
            let (realm, name): (i32, String) = (row.try_get(0)?, row.try_get(1)?);
            limits.realms.push(realm);
            for owned in scope.collections.iter().filter(|owned| keep(&owned.collection) == name) {
                match &owned.owner {
                    None => limits.whole.push(realm),
                    Some(owner) => limits.owned.push((realm, keep(owner))),
                }
            }
        }
        if limits.realms.is_empty() {
            return Ok(None);
        }
        if let Some(spot) = &scope.spot {
            limits.here = Some(places::meeting(client, &limits.realms, spot).await?);
        }
        Ok(Some(limits))
    }

    /// Realms of which one owner's may be found and nothing else, and whose.
    pub(super) fn owners(&self) -> (Vec<i32>, Vec<String>) {
        let own = self.owned.iter().filter(|(realm, _)| !self.whole.contains(realm));
        own.cloned().unzip()
    }

    /// Whose versions may be found.
    pub(super) fn tenant(&self) -> &str {
        &self.scope.tenant
    }

    /// Adds the scope's conditions on `v`, a version.
    pub(super) fn add_to(&self, query: &mut Query) -> Result<(), Error> {
        let whole = query.bind(self.whole.clone());
        query.add(&format!("(v.realm = ANY({whole})"));
        for (realm, owner) in &self.owned {
            let (realm, owner) = (query.bind(*realm), query.bind(owner.clone()));
            query.add(&format!(" OR (v.realm = {realm} AND v.owner = {owner})"));
        }
        query.add(")");
        match self.scope.known_at.map(micros) {
            None => {
                query.add(&format!(" AND v.ended = {FOREVER}"));
            }
            Some(at) => {
                let at = query.bind(at);
                query.add(&format!(" AND v.recorded <= {at} AND v.ended > {at}"));
            }
        }
        let at = query.bind(micros(self.scope.as_of));
        query.add(&format!(" AND v.valid_from <= {at} AND v.valid_to > {at}"));
        let states = [
            (true, State::Active),
            (self.scope.held, State::Held),
            (self.scope.quarantined, State::Quarantined),
            (self.scope.archived, State::Archived),
        ];
        let states = states.iter().filter(|(wanted, _)| *wanted).map(|(_, state)| name(state));
        let states = query.bind(states.collect::<Result<Vec<String>, Error>>()?);
        query.add(&format!(" AND v.state = ANY({states})"));
        if !self.scope.kinds.is_empty() {
            let kinds = self.scope.kinds.iter().map(name).collect::<Result<Vec<_>, _>>()?;
            let kinds = query.bind(kinds);
            query.add(&format!(" AND v.kind = ANY({kinds})"));
        }
        if let Some(here) = &self.here {
            let here = query.bind(here.clone());
            query.add(&format!(" AND v.seq = ANY({here})"));
        }
        for filter in &self.scope.filters {
            query.add(" AND ");
            add_filter(filter, &self.realms, query);
        }
        Ok(())
    }
}

/// The column of a name that stands for a member of the unit itself.
pub(super) fn column(field: &str) -> Option<&'static str> {
    match field {
        "source" => Some("v.source"),
        "source_id" => Some("v.source_id"),
        "group" => Some("v.series"),
        "kind" => Some("v.kind"),
        "origin" => Some("v.origin"),
        _ => None,
    }
}

/// Adds one condition on metadata.
pub(super) fn add_filter(filter: &Filter, realms: &[i32], query: &mut Query) {
    match filter.compare {
        Compare::Any => add_any(filter, realms, query),
        Compare::None => {
            if column(&filter.field).is_none() {
                let facets = facets(filter, realms, query);
                query.add(&format!("v.seq IN ({facets}) AND "));
            }
            query.add("NOT ");
            add_any(filter, realms, query);
        }
        Compare::Less => add_order(filter, "<", realms, query),
        Compare::Most => add_order(filter, "<=", realms, query),
        Compare::More => add_order(filter, ">", realms, query),
        Compare::Least => add_order(filter, ">=", realms, query),
    }
}

/// The versions that have the field, as the beginning of a statement.
fn facets(filter: &Filter, realms: &[i32], query: &mut Query) -> String {
    let (within, field) = (query.bind(realms.to_vec()), query.bind(keep(&filter.field)));
    format!("SELECT f.seq FROM facets f WHERE f.realm = ANY({within}) AND f.field = {field}")
}

/// One `IN` where that is enough: the server makes a join of it, and begins with the smaller side.
fn add_any(filter: &Filter, realms: &[i32], query: &mut Query) {
    let own = column(&filter.field);
    let (mut parts, mut any) = (Vec::new(), Vec::new());
    for value in &filter.values {
        match (own, value) {
            (None, value) => any.extend(equal(value, query)),
            (Some(own), Value::String(text)) => {
                parts.push(format!("{own} = {}", query.bind(keep(text))));
                if text.parse::<jiff::Timestamp>().is_ok() {
                    any.extend(equal(value, query));
                }
            }
            (Some(_), _) => {}
        }
    }
    if !any.is_empty() {
        let facets = facets(filter, realms, query);
        parts.push(format!("v.seq IN ({facets} AND ({}))", any.join(" OR ")));
    }
    match parts.as_slice() {
        [] => query.add("false"),
        [one] => query.add(one),
        _ => query.add(&format!("({})", parts.join(" OR "))),
    };
}

/// Two texts are compared as instants where both are, else by code points; nothing across types.
fn equal(value: &Value, query: &mut Query) -> Option<String> {
    match value {
        Value::String(text) => Some(match text.parse::<jiff::Timestamp>() {
            Ok(instant) => {
                let instant = query.bind(instant.as_nanosecond().to_string());
                format!("f.instant = {instant}::text::numeric")
            }
            Err(_text) => {
                let text = query.bind(keep(text));
                format!("(left(f.word, 100) = left({text}, 100) AND f.word = {text})")
            }
        }),
        Value::Number(number) if decimal::is_storable(number) => {
            let number = query.bind(decimal::spell(number));
            Some(format!("f.number = {number}::text::numeric"))
        }
        Value::Bool(truth) => {
            let truth = query.bind(*truth);
            Some(format!("f.truth = {truth}"))
        }
        Value::Number(_) | Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Only a single value has an order; those of the unit's own members are texts.
fn add_order(filter: &Filter, sign: &str, realms: &[i32], query: &mut Query) {
    let single = |query: &mut Query| facets(filter, realms, query) + " AND NOT f.listed";
    let condition = match (column(&filter.field), filter.values.first()) {
        (own, Some(Value::String(text))) => {
            let word = query.bind(keep(text));
            let instant = text.parse::<jiff::Timestamp>().ok().map(|instant| {
                let instant = query.bind(instant.as_nanosecond().to_string());
                format!("f.instant {sign} {instant}::text::numeric")
            });
            match (own, instant) {
                (None, None) => {
                    format!("v.seq IN ({} AND f.word {sign} {word})", single(query))
                }
                (None, Some(instant)) => format!(
                    "v.seq IN ({} AND ({instant} OR f.instant IS NULL AND f.word {sign} {word}))",
                    single(query)
                ),
                (Some(own), None) => format!("{own} {sign} {word}"),
                // Of the unit's own members only those that are instants are there.
                (Some(own), Some(instant)) => {
                    let facets = single(query);
                    format!(
                        "(v.seq IN ({facets} AND {instant}) \
                         OR v.seq NOT IN ({facets}) AND {own} {sign} {word})"
                    )
                }
            }
        }
        (None, Some(Value::Number(number))) if decimal::is_storable(number) => {
            let number = query.bind(decimal::spell(number));
            format!("v.seq IN ({} AND f.number {sign} {number}::text::numeric)", single(query))
        }
        (None, Some(Value::Bool(truth))) => {
            let truth = query.bind(*truth);
            format!("v.seq IN ({} AND f.truth {sign} {truth})", single(query))
        }
        _ => "false".to_owned(),
    };
    query.add(&condition);
}
