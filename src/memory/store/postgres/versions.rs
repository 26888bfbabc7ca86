//! Versions as they are read: by number, unit, source, claim, document, digest, and in a scope.

use tokio_postgres::types::ToSql;

use super::query::{Limits, Query, add_filter};
use super::row::{EVER, FOREVER, VERSION, keep, micros, name, version};
use super::{Error, Link};
use crate::memory::scope::{Compare, Filter, Scope};
use crate::memory::store::{Rival, words};
use crate::memory::unit::{Draft, State, UnitId, Version};

async fn read(
    link: &Link,
    condition: &str,
    values: &[&(dyn ToSql + Sync)],
) -> Result<Vec<Version>, Error> {
    let client = link.client().await?;
    let statement = client.prepare_cached(&format!("{VERSION}{condition}")).await?;
    client.query(&statement, values).await?.iter().map(version).collect()
}

/// Versions by their number, in the order asked for.
pub(super) async fn load(link: &Link, tenant: &str, seqs: &[i64]) -> Result<Vec<Version>, Error> {
    let condition = "r.tenant = $1 AND v.seq = ANY($2)";
    let found = read(link, condition, &[&keep(tenant), &seqs]).await?;
    let by_seq: std::collections::HashMap<i64, Version> =
        found.into_iter().map(|version| (version.seq, version)).collect();
    Ok(seqs.iter().filter_map(|seq| by_seq.get(seq).cloned()).collect())
}

/// All versions of a unit, newest first.
pub(super) async fn history(
    link: &Link,
    tenant: &str,
    unit: &UnitId,
) -> Result<Vec<Version>, Error> {
    let condition = "r.tenant = $1 AND v.unit = $2 ORDER BY v.seq DESC";
    read(link, condition, &[&keep(tenant), &unit.as_str()]).await
}

/// Versions of a source id that have not ended.
pub(super) async fn of_source(
    link: &Link,
    tenant: &str,
    draft: &Draft,
) -> Result<Vec<Version>, Error> {
    let condition = format!(
        "r.tenant = $1 AND r.collection = $2 AND v.source = $3 AND md5(v.source_id) = md5($4) \
         AND v.source_id = $4 AND v.ended = {FOREVER} ORDER BY v.seq"
    );
    let collection = keep(&draft.collection);
    let (source, id) = (keep(&draft.source), keep(&draft.source_id));
    read(link, &condition, &[&keep(tenant), &collection, &source, &id]).await
}

/// Versions of a collection that speak of one of these entities' attributes.
pub(super) async fn rivals(
    link: &Link,
    (tenant, collection): (&str, &str),
    claims: &[(String, String)],
    rival: &Rival,
) -> Result<Vec<Version>, Error> {
    let (from, to, limit) = ends(rival);
    let condition = format!(
        "r.tenant = $1 AND r.collection = $2 AND v.ended = {FOREVER} AND v.state = 'active' \
         AND ($5::text = '' OR v.series <> $5) AND v.valid_from < $6 AND v.valid_to > $7 AND v.seq IN (SELECT f.seq \
         FROM facts f JOIN unnest($3::text[], $4::text[]) c(entity, attribute) \
         ON left(f.entity, 100) = left(c.entity, 100) AND f.entity = c.entity \
         AND f.attribute = c.attribute WHERE f.realm = \
         (SELECT id FROM realms WHERE tenant = $1 AND collection = $2)) \
         ORDER BY v.seq DESC LIMIT $8"
    );
    let claim = |name: &str| keep(&words::name(name));
    let (entities, attributes): (Vec<String>, Vec<String>) =
        claims.iter().map(|(entity, attribute)| (claim(entity), claim(attribute))).unzip();
    let of = (keep(tenant), keep(collection));
    let but = keep(&rival.but);
    let values: [&(dyn ToSql + Sync); 8] =
        [&of.0, &of.1, &entities, &attributes, &but, &to, &from, &limit];
    read(link, &condition, &values).await
}

/// The interval of a rival, and how many are wanted.
fn ends(rival: &Rival) -> (i64, i64, i64) {
    let limit = i64::try_from(rival.limit).unwrap_or(i64::MAX);
    (rival.from.map_or(EVER, micros), rival.to.map_or(FOREVER, micros), limit)
}

/// Versions of a collection with this digest.
pub(super) async fn equal(
    link: &Link,
    (tenant, collection): (&str, &str),
    digest: &str,
) -> Result<Vec<Version>, Error> {
    let condition = format!(
        "r.tenant = $1 AND r.collection = $2 AND v.digest = $3 AND v.ended = {FOREVER} ORDER BY v.seq"
    );
    read(link, &condition, &[&keep(tenant), &keep(collection), &keep(digest)]).await
}

/// Versions of a collection whose metadata has the value: that text, or a number or truth spelled so.
pub(super) async fn alike(
    link: &Link,
    (tenant, collection): (&str, &str),
    (field, value): (&str, &str),
    rival: &Rival,
) -> Result<Vec<Version>, Error> {
    let client = link.client().await?;
    let asked = "SELECT id FROM realms WHERE tenant = $1 AND collection = $2";
    let statement = client.prepare_cached(asked).await?;
    let found = client.query_opt(&statement, &[&keep(tenant), &keep(collection)]).await?;
    let Some(realm) = found else { return Ok(Vec::new()) };
    let realm: i32 = realm.try_get(0)?;
    let mut query = Query::new(VERSION);
    let own = query.bind(realm);
    let (from, to, limit) = ends(rival);
    let (but, from, to) = (query.bind(keep(&rival.but)), query.bind(from), query.bind(to));
    query.add(&format!(
        "v.realm = {own} AND v.ended = {FOREVER} AND v.state = 'active' \
         AND ({but}::text = '' OR v.series <> {but}) AND v.valid_from < {to} AND v.valid_to > {from} AND "
    ));
    let text = serde_json::Value::from(value);
    let plain = serde_json::from_str(value)
        .ok()
        .filter(|value: &serde_json::Value| value.is_number() || value.is_boolean());
    let values = std::iter::once(text).chain(plain).collect();
    let filter = Filter { field: field.to_owned(), compare: Compare::Any, values };
    add_filter(&filter, &[realm], &mut query);
    let limit = query.bind(limit);
    query.add(&format!(" ORDER BY v.seq DESC LIMIT {limit}"));
    let rows = client.query(&query.text, &query.values()).await?;
    let versions = rows.iter().map(version).collect::<Result<Vec<_>, _>>()?;
    // Two spellings of one instant or number are not alike.
    let spelled = |version: &Version| match version.draft.metadata.get(field) {
        None => true,
        Some(serde_json::Value::String(found)) => found == value,
        Some(found) => {
            let found = found.to_string();
            found == value
        }
    };
    Ok(versions.into_iter().filter(spelled).collect())
}

/// Versions that have not ended, in the order of their number.
pub(super) async fn walk(
    link: &Link,
    (tenant, states): (Option<&str>, &[State]),
    (after, limit): (i64, usize),
) -> Result<Vec<Version>, Error> {
    let tenant = tenant.map(keep);
    let states: Vec<String> = states.iter().map(name).collect::<Result<_, _>>()?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let condition = format!(
        "v.seq > $1 AND v.ended = {FOREVER} AND ($2::text IS NULL OR r.tenant = $2) \
         AND ($3::text[] = '{{}}' OR v.state = ANY($3)) ORDER BY v.seq LIMIT $4"
    );
    read(link, &condition, &[&after, &tenant, &states, &limit]).await
}

/// Versions in a scope, newest first.
pub(super) async fn list(
    link: &Link,
    scope: &Scope,
    before: Option<i64>,
    limit: usize,
) -> Result<Vec<Version>, Error> {
    let client = link.client().await?;
    let Some(limits) = Limits::of(&client, scope).await? else {
        return Ok(Vec::new());
    };
    let mut query = Query::new(VERSION);
    limits.add_to(&mut query)?;
    let before = query.bind(before.unwrap_or(FOREVER));
    let limit = query.bind(i64::try_from(limit).unwrap_or(i64::MAX));
    query.add(&format!(" AND v.seq < {before} ORDER BY v.seq DESC LIMIT {limit}"));
    let rows = client.query(&query.text, &query.values()).await?;
    rows.iter().map(version).collect()
}

/// How collections stand: what changes with each version that is stored, ended, decided or erased.
pub(super) async fn revision(
    link: &Link,
    tenant: &str,
    collections: &[String],
) -> Result<String, Error> {
    let client = link.client().await?;
    let statement = client
        .prepare_cached(&format!(
            "SELECT count(*), coalesce(max(v.seq), 0), count(*) FILTER (WHERE v.ended = {FOREVER}), \
             coalesce(max(v.ended) FILTER (WHERE v.ended < {FOREVER}), 0), \
             coalesce(sum(hashtext(v.state) * (v.seq % 65521 + 1)), 0)::text FROM versions v \
             JOIN realms r ON r.id = v.realm WHERE r.tenant = $1 AND r.collection = ANY($2)"
        ))
        .await?;
    let names: Vec<String> = collections.iter().map(|name| keep(name)).collect();
    let row = client.query_one(&statement, &[&keep(tenant), &names]).await?;
    let mut parts = Vec::with_capacity(5);
    for at in 0..4 {
        parts.push(row.try_get::<_, i64>(at)?.to_string());
    }
    parts.push(row.try_get::<_, &str>(4)?.to_owned());
    Ok(parts.join(" "))
}
