//! Places: boxes are looked up by the server, distances and areas are worked out here, exactly.

use deadpool_postgres::Object;

use super::query::{Limits, Query};
use super::row::keep;
use super::{Error, Link};
use crate::memory::place::{self, Bounds, Point, Ring};
use crate::memory::scope::Spot;
use crate::memory::store::Hit;

/// The condition that a place `p` lies in one of the boxes.
fn add_boxes(boxes: &[Bounds], query: &mut Query) {
    let parts: Vec<String> = boxes
        .iter()
        .map(|one| {
            let (west, south) = (query.bind(one.west), query.bind(one.south));
            let (east, north) = (query.bind(one.east), query.bind(one.north));
            format!(
                "point(p.longitude, p.latitude) <@ box(point({west}, {south}), point({east}, {north}))"
            )
        })
        .collect();
    query.add(&format!("({})", parts.join(" OR ")));
}

fn add_kinds(kinds: &[String], query: &mut Query) {
    if !kinds.is_empty() {
        let kinds = query.bind(kinds.iter().map(|kind| keep(kind)).collect::<Vec<_>>());
        query.add(&format!(" AND p.kind = ANY({kinds})"));
    }
}

/// Versions of these realms whose place meets a condition.
pub(super) async fn meeting(
    client: &Object,
    realms: &[i32],
    spot: &Spot,
) -> Result<Vec<i64>, Error> {
    let refuse = |error: place::Error| Error::Engine(error.to_string());
    let ring = match spot {
        Spot::Inside { ring, .. } => Some(Ring::new(ring).map_err(refuse)?),
        Spot::Within { latitude, longitude, metres, .. } => {
            place::check((*latitude, *longitude)).map_err(refuse)?;
            place::check_metres(*metres).map_err(refuse)?;
            None
        }
    };
    let (boxes, kinds) = match (spot, &ring) {
        (Spot::Within { latitude, longitude, metres, kinds }, _) => {
            (place::around((*latitude, *longitude), *metres), kinds)
        }
        (Spot::Inside { kinds, .. }, ring) => {
            (ring.as_ref().map(Ring::bounds).unwrap_or_default(), kinds)
        }
    };
    if boxes.is_empty() {
        return Ok(Vec::new());
    }
    let mut query =
        Query::new("SELECT p.seq, p.latitude, p.longitude FROM places p WHERE p.realm = ");
    let realms = query.bind(realms.to_vec());
    query.add(&format!("ANY({realms})"));
    add_kinds(kinds, &mut query);
    query.add(" AND ");
    add_boxes(&boxes, &mut query);
    let rows = client.query(&query.text, &query.values()).await?;
    let meets = |point: Point| match (spot, &ring) {
        (Spot::Within { latitude, longitude, metres, .. }, _) => {
            place::metres((*latitude, *longitude), point) <= *metres
        }
        (Spot::Inside { .. }, ring) => ring.as_ref().is_some_and(|ring| ring.has(point)),
    };
    let mut found = Vec::new();
    for row in &rows {
        if meets((row.try_get(1)?, row.try_get(2)?)) {
            found.push(row.try_get(0)?);
        }
    }
    Ok(found)
}

/// The nearest versions in scope, nearest first; their scores are metres, negative.
///
/// Those that are nearest on the map of degrees give a distance that the true ones do not exceed; all
/// within it are then measured.
pub(super) async fn nearest(
    client: &Object,
    limits: &Limits<'_>,
    (latitude, longitude, kinds): (f64, f64, &[String]),
    limit: i64,
) -> Result<Vec<Hit>, Error> {
    let from = (latitude, longitude);
    place::check(from).map_err(|error| Error::Engine(error.to_string()))?;
    let mut query = select(limits, kinds)?;
    let (x, y) = (query.bind(longitude), query.bind(latitude));
    let most = query.bind(limit);
    query
        .add(&format!(" ORDER BY point(p.longitude, p.latitude) <-> point({x}, {y}) LIMIT {most}"));
    let rows = client.query(&query.text, &query.values()).await?;
    let mut found = measured(&rows, from)?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if found.len() >= limit
        && let Some(farthest) = found.iter().map(|(_, metres)| *metres).reduce(f64::max)
    {
        let mut query = select(limits, kinds)?;
        query.add(" AND ");
        add_boxes(&place::around(from, farthest), &mut query);
        let rows = client.query(&query.text, &query.values()).await?;
        found = measured(&rows, from)?;
    }
    found.sort_by(|left, right| left.1.total_cmp(&right.1).then(right.0.cmp(&left.0)));
    found.truncate(limit);
    Ok(found.into_iter().map(|(seq, metres)| Hit { seq, ordinal: 0, score: -metres }).collect())
}

fn select(limits: &Limits<'_>, kinds: &[String]) -> Result<Query, Error> {
    let mut query = Query::new(
        "SELECT p.seq, p.latitude, p.longitude FROM places p JOIN versions v ON v.seq = p.seq WHERE ",
    );
    limits.add_to(&mut query)?;
    add_kinds(kinds, &mut query);
    Ok(query)
}

fn measured(rows: &[tokio_postgres::Row], from: Point) -> Result<Vec<(i64, f64)>, Error> {
    let measure = |row: &tokio_postgres::Row| {
        let point = (row.try_get(1)?, row.try_get(2)?);
        Ok((row.try_get(0)?, place::metres(from, point)))
    };
    rows.iter().map(measure).collect()
}

/// Distances in metres of those versions that have a place.
pub(super) async fn distances(
    link: &Link,
    seqs: &[i64],
    from: Point,
) -> Result<Vec<(i64, f64)>, Error> {
    place::check(from).map_err(|error| Error::Engine(error.to_string()))?;
    let client = link.client().await?;
    let statement = client
        .prepare_cached(
            "SELECT p.seq, p.latitude, p.longitude FROM unnest($1::bigint[]) WITH ORDINALITY a(seq, n) \
             JOIN places p ON p.seq = a.seq ORDER BY a.n",
        )
        .await?;
    measured(&client.query(&statement, &[&seqs]).await?, from)
}
