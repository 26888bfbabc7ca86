//! A question to the layers, each asked inside the scope; neighbours in a group; the words of chunks.

use std::collections::HashMap;

use deadpool_postgres::Object;

use super::query::{Limits, Query};
use super::row::{give, keep};
use super::terms::hit;
use super::{Error, Link, places, terms, vectors};
use crate::memory::scope::Scope;
use crate::memory::store::words;
use crate::memory::store::{Ask, BESIDE, Beside, Found, Hit};
use crate::memory::unit::Entity;

/// Asks each layer that the question names; one that fails leaves the others be.
pub(super) async fn search(link: &Link, scope: &Scope, ask: &Ask) -> Result<Found, Error> {
    let mut client = link.client().await?;
    let limit = i64::try_from(ask.limit).unwrap_or(i64::MAX);
    let Some(limits) = Limits::of(&client, scope).await? else {
        return Ok(nothing(ask));
    };
    let mut found = Found::default();
    if let Some(question) = &ask.trigger {
        found.trigger = Some(by_trigger(&client, &limits, question, limit).await);
    }
    if !ask.entities.is_empty() {
        found.entity = Some(by_entity(&client, &limits, &ask.entities, limit).await);
    }
    if let Some(text) = &ask.words {
        found.words = Some(terms::search(&client, &limits, text, limit).await);
    }
    if let Some((model, vector)) = &ask.vector {
        let asked = (model.as_str(), vector.as_slice());
        found.vector = Some(vectors::search(link, &mut client, &limits, asked, limit).await);
    }
    if let Some((model, vector)) = &ask.image {
        let asked = (model.as_str(), vector.as_slice());
        found.image = Some(vectors::images(&client, &limits, asked, limit).await);
    }
    if let Some((latitude, longitude, kinds)) = &ask.nearest {
        let asked = (*latitude, *longitude, kinds.as_slice());
        found.nearest = Some(places::nearest(&client, &limits, asked, limit).await);
    }
    Ok(found)
}

/// The answer where nothing can be in the scope.
fn nothing(ask: &Ask) -> Found {
    let none = |asked: bool| asked.then(|| Ok(Vec::new()));
    Found {
        trigger: none(ask.trigger.is_some()),
        entity: none(!ask.entities.is_empty()),
        words: none(ask.words.is_some()),
        vector: none(ask.vector.is_some()),
        image: none(ask.image.is_some()),
        nearest: none(ask.nearest.is_some()),
    }
}

/// Versions by their triggers: 1 for one that is the question; between 0.5 and 0.9, the more of the
/// question it is, for one whose words the question contains.
async fn by_trigger(
    client: &Object,
    limits: &Limits<'_>,
    question: &str,
    limit: i64,
) -> Result<Vec<Hit>, Error> {
    let question = &crate::memory::normal(question);
    let bag: Vec<String> = words::tally(question).0.keys().map(|term| keep(term)).collect();
    let whole = keep(&words::series(question).join(" "));
    let asked = words::ask(question).len().max(1);
    let asked = f64::from(u32::try_from(asked).unwrap_or(u32::MAX));
    let mut query = Query::new("SELECT t.seq, 0, ");
    let (bag, whole, asked) = (query.bind(bag), query.bind(whole), query.bind(asked));
    let realms = query.bind(limits.realms.clone());
    query.add(&format!(
        "max(t.score) AS score FROM (SELECT seq, 0.5::float8 + 0.4 * least(cardinality(terms) / {asked}::float8, 1) AS score \
         FROM triggers WHERE realm = ANY({realms}) AND terms[1] = ANY({bag}) AND terms <@ {bag} \
         UNION ALL SELECT seq, 1 FROM triggers WHERE realm = ANY({realms}) \
         AND md5(whole) = md5({whole}) AND whole = {whole} AND whole <> '') t \
         JOIN versions v ON v.seq = t.seq WHERE "
    ));
    finish(client, limits, query, "t.seq", limit).await
}

/// Versions by how many of the entities they name.
async fn by_entity(
    client: &Object,
    limits: &Limits<'_>,
    entities: &[Entity],
    limit: i64,
) -> Result<Vec<Hit>, Error> {
    let (mut kinds, mut values) = (Vec::new(), Vec::new());
    for entity in entities {
        kinds.push(keep(&words::name(&entity.kind)));
        values.push(keep(&words::name(&entity.value)));
    }
    let mut query = Query::new("SELECT e.seq, 0, ");
    let (kinds, values) = (query.bind(kinds), query.bind(values));
    let realms = query.bind(limits.realms.clone());
    query.add(&format!(
        "count(DISTINCT a.n)::float8 AS score FROM unnest({kinds}::text[], {values}::text[]) \
         WITH ORDINALITY AS a(kind, value, n) JOIN entities e ON e.realm = ANY({realms}) \
         AND left(e.value, 100) = left(a.value, 100) AND e.value = a.value \
         AND (a.kind = '' OR a.kind = e.kind) JOIN versions v ON v.seq = e.seq WHERE "
    ));
    finish(client, limits, query, "e.seq", limit).await
}

async fn finish(
    client: &Object,
    limits: &Limits<'_>,
    mut query: Query,
    by: &str,
    limit: i64,
) -> Result<Vec<Hit>, Error> {
    limits.add_to(&mut query)?;
    let limit = query.bind(limit);
    query.add(&format!(" GROUP BY {by} ORDER BY score DESC, {by} DESC LIMIT {limit}"));
    let rows = client.query(&query.text, &query.values()).await?;
    rows.iter().map(hit).collect()
}

/// The neighbours of versions in their groups, in scope.
pub(super) async fn beside(
    link: &Link,
    scope: &Scope,
    seqs: &[i64],
    span: u32,
) -> Result<Vec<Beside>, Error> {
    let client = link.client().await?;
    let Some(limits) = Limits::of(&client, scope).await? else {
        return Ok(Vec::new());
    };
    let mut query =
        Query::new("SELECT s.seq, n.seq, n.distance FROM versions s CROSS JOIN LATERAL (");
    let span = query.bind(i64::from(span));
    for (sign, turn, order) in [("", ">", "ASC"), ("-", "<", "DESC")] {
        if sign == "-" {
            query.add(" UNION ALL ");
        }
        query.add(&format!(
            "SELECT q.seq, {sign}(row_number() OVER (ORDER BY q.position {order}, q.seq {order}))::int \
             AS distance FROM (SELECT v.seq, v.position FROM (SELECT * FROM versions w \
             WHERE w.realm = s.realm AND md5(w.series) = md5(s.series) AND w.series = s.series \
             AND w.series <> '' AND (w.position, w.seq) {turn} (s.position, s.seq) \
             ORDER BY w.position {order}, w.seq {order} LIMIT {BESIDE}) v WHERE "
        ));
        limits.add_to(&mut query)?;
        query.add(&format!(" ORDER BY v.position {order}, v.seq {order} LIMIT {span}) q"));
    }
    let (seqs, realms) = (query.bind(seqs.to_vec()), query.bind(limits.realms.clone()));
    query.add(&format!(
        ") n WHERE s.seq = ANY({seqs}) AND s.realm = ANY({realms}) AND s.series <> '' \
         ORDER BY s.seq, n.distance"
    ));
    let rows = client.query(&query.text, &query.values()).await?;
    let read = |row: &tokio_postgres::Row| {
        Ok(Beside { of: row.try_get(0)?, seq: row.try_get(1)?, distance: row.try_get(2)? })
    };
    rows.iter().map(read).collect()
}

/// The words of chunks, in the order asked for; empty for one that is gone.
pub(super) async fn texts(link: &Link, chunks: &[(i64, u32)]) -> Result<Vec<String>, Error> {
    let ordinal = |ordinal: u32| i32::try_from(ordinal).unwrap_or(i32::MAX);
    let (seqs, ordinals): (Vec<i64>, Vec<i32>) =
        chunks.iter().map(|(seq, of)| (*seq, ordinal(*of))).unzip();
    let client = link.client().await?;
    let statement = client
        .prepare_cached(
            "SELECT c.seq, c.ordinal, c.body FROM unnest($1::bigint[], $2::int[]) a(seq, ordinal) \
             JOIN chunks c ON c.seq = a.seq AND c.ordinal = a.ordinal",
        )
        .await?;
    let mut found: HashMap<(i64, i32), String> = HashMap::new();
    for row in client.query(&statement, &[&seqs, &ordinals]).await? {
        found.insert((row.try_get(0)?, row.try_get(1)?), give(row.try_get(2)?));
    }
    let text = |(seq, of): &(i64, u32)| found.get(&(*seq, ordinal(*of))).cloned();
    Ok(chunks.iter().map(|chunk| text(chunk).unwrap_or_default()).collect())
}
