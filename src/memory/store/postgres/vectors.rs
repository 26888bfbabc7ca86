//! The vector layer: a question's vector in, chunks or images in scope by their cosine out. Few are
//! compared one by one, exactly; of many the index gives candidates, which are compared in full.

use deadpool_postgres::Object;

use super::models::{self, INDEXED, Key};
use super::query::{Limits, Query};
use super::terms::hit;
use super::{Error, Link};
use crate::memory::store::Hit;

/// Candidates of the index for each hit that is wanted, and at least so many: half precision can swap
/// neighbours, and the walk finds nearly all only when it looks at many.
const OVERSAMPLED: i64 = 4;
const LEAST: i64 = 200;
/// What a walk over the index looks at; see pgvector's own page on iterative scans. Under a filter it
/// goes on, in order, until it has enough.
const WALK: &str = "SET LOCAL hnsw.iterative_scan = strict_order; SET LOCAL hnsw.ef_search = 1000; \
     SET LOCAL hnsw.max_scan_tuples = 2000000; SET LOCAL enable_seqscan = off; \
     SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; \
     SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off";

/// Chunks by their vectors, best first.
pub(super) async fn search(
    link: &Link,
    client: &mut Object,
    limits: &Limits<'_>,
    (model, vector): (&str, &[f32]),
    limit: i64,
) -> Result<Vec<Hit>, Error> {
    let Some(number) = known(client, &models::text(model), vector.len()).await? else {
        return Ok(Vec::new());
    };
    if vector.len() > INDEXED || few(link, client, limits).await? {
        return one_by_one(client, limits, (number, vector), limit).await;
    }
    let size = vector.len();
    let mut query = Query::new("WITH near AS MATERIALIZED (SELECT x.seq, x.ordinal, x.vector ");
    query.add(&format!("FROM vectors_{number} x JOIN versions v ON v.seq = x.seq WHERE "));
    limits.add_to(&mut query)?;
    let asked = query.bind(vector.to_vec());
    let wide = query.bind(limit.saturating_mul(OVERSAMPLED).max(LEAST));
    let limit = query.bind(limit);
    query.add(&format!(
        " ORDER BY x.vector::halfvec({size}) <=> {asked}::real[]::vector::halfvec({size}) LIMIT {wide}) \
         SELECT seq, ordinal, 1 - (vector <=> {asked}::real[]::vector) AS score FROM near \
         WHERE vector_norm(vector) > 0 ORDER BY score DESC, seq DESC, ordinal LIMIT {limit}"
    ));
    let step = client.transaction().await?;
    step.batch_execute(WALK).await?;
    let rows = step.query(&query.text, &query.values()).await?;
    step.commit().await?;
    rows.iter().map(hit).collect()
}

/// Versions by the vectors of their images, best first.
pub(super) async fn images(
    client: &Object,
    limits: &Limits<'_>,
    (model, vector): (&str, &[f32]),
    limit: i64,
) -> Result<Vec<Hit>, Error> {
    let Some(number) = known(client, &models::image(limits.tenant(), model), vector.len()).await?
    else {
        return Ok(Vec::new());
    };
    let mut query = Query::new("SELECT x.seq, 0, ");
    let (asked, model) = (query.bind(vector.to_vec()), query.bind(number));
    query.add(&format!(
        "max(1 - (x.vector <=> {asked}::real[]::vector)) AS score FROM pictures x \
         JOIN versions v ON v.seq = x.seq WHERE x.model = {model} AND vector_norm(x.vector) > 0 AND "
    ));
    limits.add_to(&mut query)?;
    let limit = query.bind(limit);
    query.add(&format!(" GROUP BY x.seq ORDER BY score DESC, x.seq DESC LIMIT {limit}"));
    let rows = client.query(&query.text, &query.values()).await?;
    rows.iter().map(hit).collect()
}

/// The number of a model that has vectors here; refuses another length.
async fn known(client: &Object, key: &Key, given: usize) -> Result<Option<i32>, Error> {
    match models::find_on(client, key).await? {
        None => Ok(None),
        Some((_, expected)) if expected != given => {
            Err(Error::Dimensions { model: key.2.clone(), expected, given })
        }
        Some((number, _)) => Ok(Some(number)),
    }
}

/// Whether the chunks in scope are few enough to be compared one by one.
async fn few(link: &Link, client: &Object, limits: &Limits<'_>) -> Result<bool, Error> {
    let mut query = Query::new("SELECT count(*) FROM (SELECT FROM versions v WHERE ");
    limits.add_to(&mut query)?;
    let most = query.bind(link.exact().saturating_add(1));
    query.add(&format!(" LIMIT {most}) found"));
    let found: i64 = client.query_one(&query.text, &query.values()).await?.try_get(0)?;
    Ok(found <= link.exact())
}

async fn one_by_one(
    client: &Object,
    limits: &Limits<'_>,
    (model, vector): (i32, &[f32]),
    limit: i64,
) -> Result<Vec<Hit>, Error> {
    let mut query = Query::new("SELECT x.seq, x.ordinal, ");
    let (asked, model) = (query.bind(vector.to_vec()), query.bind(model));
    query.add(&format!(
        "1 - (x.vector <=> {asked}::real[]::vector) AS score FROM vectors x \
         JOIN versions v ON v.seq = x.seq WHERE x.model = {model} AND vector_norm(x.vector) > 0 AND "
    ));
    limits.add_to(&mut query)?;
    let limit = query.bind(limit);
    query.add(&format!(" ORDER BY score DESC, x.seq DESC, x.ordinal LIMIT {limit}"));
    let rows = client.query(&query.text, &query.values()).await?;
    rows.iter().map(hit).collect()
}
