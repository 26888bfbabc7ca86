//! Full text by BM25: terms of a question in, chunks in scope by their score out. How rare a term is
//! is counted over all chunks that the caller may know of, whatever the rest of the scope.

use deadpool_postgres::Object;

use super::Error;
use super::query::{Limits, Query};
use super::row::keep;
use crate::memory::store::{Hit, words};

/// Chunks from which on a term that most of them have is left out of questions with rarer ones.
const MANY: f64 = 10_000.0;

/// Chunks by their words, best first.
pub(super) async fn search(
    client: &Object,
    limits: &Limits<'_>,
    text: &str,
    limit: i64,
) -> Result<Vec<Hit>, Error> {
    let terms: Vec<String> = words::ask(text).iter().map(|term| keep(term)).collect();
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    let (terms, weights, mean) = weigh(client, limits, &terms).await?;
    let mut query = Query::new("SELECT p.seq, p.ordinal, ");
    let (terms, weights) = (query.bind(terms), query.bind(weights));
    let (mean, realms) = (query.bind(mean), query.bind(limits.realms.clone()));
    query.add(&format!(
        "sum(w.weight * p.times * 2.2 / (p.times + 1.2 * (0.25 + 0.75 * p.length / {mean}::float8))) AS score \
         FROM unnest({terms}::text[], {weights}::float8[]) AS w(term, weight) \
         JOIN postings p ON p.realm = ANY({realms}) AND p.term = w.term \
         JOIN versions v ON v.seq = p.seq WHERE "
    ));
    limits.add_to(&mut query)?;
    let limit = query.bind(limit);
    query.add(&format!(
        " GROUP BY p.seq, p.ordinal ORDER BY score DESC, p.seq DESC, p.ordinal LIMIT {limit}"
    ));
    let rows = client.query(&query.text, &query.values()).await?;
    // The server adds up in any order, which shows in the last digits.
    let even = |hit: Hit| Hit { score: (hit.score * 1e9).round() / 1e9, ..hit };
    rows.iter().map(|row| hit(row).map(even)).collect()
}

/// A hit out of version, chunk and score.
pub(super) fn hit(row: &tokio_postgres::Row) -> Result<Hit, Error> {
    let ordinal = u32::try_from(row.try_get::<_, i32>(1)?).unwrap_or_default();
    Ok(Hit { seq: row.try_get(0)?, ordinal, score: row.try_get(2)? })
}

/// The terms that are there, what each is worth, and the mean length of a chunk.
async fn weigh(
    client: &Object,
    limits: &Limits<'_>,
    terms: &[String],
) -> Result<(Vec<String>, Vec<f64>, f64), Error> {
    let (owned, owners) = limits.owners();
    let asked = "SELECT coalesce(sum(chunks), 0)::float8, \
                 greatest(coalesce(sum(length)::float8 / nullif(sum(chunks)::float8, 0), 1), 1) \
                 FROM (SELECT chunks, length FROM realms WHERE id = ANY($1) UNION ALL \
                 SELECT s.chunks, s.length FROM unnest($2::int[], $3::text[]) AS o(realm, owner) \
                 JOIN spaces s ON s.realm = o.realm AND s.owner = o.owner) known";
    let statement = client.prepare_cached(asked).await?;
    let row = client.query_one(&statement, &[&limits.whole, &owned, &owners]).await?;
    let (all, mean): (f64, f64) = (row.try_get(0)?, row.try_get(1)?);
    let asked = "SELECT term, sum(n)::float8 AS n FROM (\
                 SELECT term, count(*) AS n FROM postings \
                 WHERE realm = ANY($1) AND term = ANY($4) GROUP BY term UNION ALL \
                 SELECT p.term, count(*) FROM unnest($2::int[], $3::text[]) AS o(realm, owner) \
                 JOIN postings p ON p.realm = o.realm AND p.term = ANY($4) \
                 JOIN versions v ON v.seq = p.seq AND v.owner = o.owner GROUP BY p.term\
                 ) known GROUP BY term ORDER BY n";
    let statement = client.prepare_cached(asked).await?;
    let mut found: Vec<(String, f64)> = Vec::new();
    for row in client.query(&statement, &[&limits.whole, &owned, &owners, &terms]).await? {
        found.push((row.try_get(0)?, row.try_get(1)?));
    }
    let is_common = |having: f64| all >= MANY && having * 2.0 > all;
    if found.first().is_some_and(|(_, having)| !is_common(*having)) {
        found.retain(|(_, having)| !is_common(*having));
    }
    let worth = |having: f64| (1.0 + (all - having + 0.5).max(0.0) / (having + 0.5)).ln();
    let (terms, weights) = found.into_iter().map(|(term, having)| (term, worth(having))).unzip();
    Ok((terms, weights, mean))
}
