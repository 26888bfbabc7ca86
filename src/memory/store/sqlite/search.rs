//! A question to the layers: the scope becomes a mask, each layer ranks what it lets through, and
//! vectors are compared again exactly. Reads memory first and the file for what is exact.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension};

use super::super::{Ask, Error, Found, Hit, Look, Looked};
use super::fault::Fault;
use super::postings::index;
use super::shelf::{Mask, Shelf, by_row, is_looked_up};
use super::shelves::Shelves;
use super::vectors::{Candidate, Code, cosine};
use super::{models, read, rows, words};
use crate::memory::place::{self, Ring};
use crate::memory::{Filter, Scope, Spot};

/// Candidates that are compared exactly beyond those that are wanted. The estimate is off by less
/// than a hundredth; so many more lose none of the best.
const MARGIN: usize = 64;
/// Metres around a point in which the nearest are looked for, one after the other; the last is beyond
/// the farthest two points.
const RINGS: [f64; 6] = [1e3, 1e4, 1e5, 1e6, 5e6, 2.1e7];

/// A vector to compare with: the model's number, its bytes, and its numbers.
type Probe<'a> = Option<(i64, Code, &'a [f32])>;

/// Asks every layer that the question has something for.
pub(super) fn search(
    connection: &Connection,
    shelves: &Shelves,
    scope: &Scope,
    ask: &Ask,
) -> Result<Found, Fault> {
    let sets = sets(connection, scope)?;
    let text = ask
        .vector
        .as_ref()
        .map(|question| probe(connection, question, models::known_text(connection, &question.0)));
    let image = ask.image.as_ref().map(|question| {
        let of = (scope.tenant.as_str(), question.0.as_str());
        probe(connection, question, models::known_image(connection, of))
    });
    let terms = ask.words.as_deref().map(words::ask);
    let keep = ask.limit.saturating_add(MARGIN.max(ask.limit / 2));
    let found = shelves.look(&scope.tenant, |shelf| {
        if is_narrow(scope, ask) {
            let (trigger, entity) = named(shelf, ask, &shelf.test(scope));
            return Layers { trigger, entity, ..Layers::default() };
        }
        let mask = shelf.mask(scope, &sets);
        let (trigger, entity) = named(shelf, ask, &|place| mask.has(place));
        Layers {
            trigger,
            entity,
            words: terms
                .as_ref()
                .map(|terms| chunks(shelf, shelf.by_words(&mask, terms), ask.limit)),
            vector: candidates(&text, |model, code| shelf.by_vector(&mask, (model, code), keep)),
            image: candidates(&image, |model, code| shelf.by_image(&mask, (model, code), keep)),
            mask,
        }
    });
    let looked = found.unwrap_or_default();
    let nearest = ask.nearest.as_ref().map(|(latitude, longitude, kinds)| {
        nearest(connection, (*latitude, *longitude), kinds, ask.limit, &|seq| {
            let place = shelves.look(&scope.tenant, |shelf| shelf.place(seq)).flatten();
            place.is_some_and(|place| looked.mask.has(index(place)))
        })
    });
    let some = |asked: bool, hits: Option<Vec<Hit>>| asked.then(|| Ok(hits.unwrap_or_default()));
    Ok(Found {
        trigger: some(ask.trigger.is_some(), looked.trigger),
        entity: some(!ask.entities.is_empty(), looked.entity),
        words: some(ask.words.is_some(), looked.words),
        vector: text
            .map(|probe| exact(connection, "vector", numbers(probe?), &looked.vector, ask.limit)),
        image: image
            .map(|probe| exact(connection, "picture", numbers(probe?), &looked.image, ask.limit)),
        nearest: nearest.map(|hits| hits.map_err(|fault| told(connection, fault))),
    })
}

/// Whether so few versions are looked at that the scope is asked of each and not of all before.
const fn is_narrow(scope: &Scope, ask: &Ask) -> bool {
    let named = ask.words.is_none() && ask.vector.is_none() && ask.image.is_none();
    named && ask.nearest.is_none() && scope.filters.is_empty() && scope.spot.is_none()
}

/// What triggers and entities find.
fn named(
    shelf: &Shelf,
    ask: &Ask,
    counts: &dyn Fn(usize) -> bool,
) -> (Option<Vec<Hit>>, Option<Vec<Hit>>) {
    let trigger = ask.trigger.as_ref().map(|text| shelf.by_trigger(counts, text));
    let entity = (!ask.entities.is_empty()).then(|| shelf.by_entity(counts, &ask.entities));
    let hits = |found| units(shelf, found, ask.limit);
    (trigger.map(hits), entity.map(hits))
}

/// What bears on one write.
pub(super) fn look(
    connection: &Connection,
    shelves: &Shelves,
    look: &Look,
) -> Result<Looked, Fault> {
    let Look { tenant, draft, digest, kin } = look;
    let same = read::of_source(connection, tenant, draft)?;
    let equal = digest.as_ref().map(|digest| {
        read::equal(connection, (tenant.as_str(), draft.collection.as_str()), digest)
    });
    let mut seqs = Vec::new();
    for (scope, ask) in kin {
        let found = search(connection, shelves, scope, ask)?;
        let layers = [found.entity, found.words].into_iter().flatten();
        seqs.extend(layers.filter_map(Result::ok).flatten().map(|hit| hit.seq));
    }
    seqs.sort_unstable();
    seqs.dedup();
    let kin = read::load(connection, tenant, &seqs)?;
    Ok(Looked { same, equal: equal.transpose()?.unwrap_or_default(), kin })
}

/// Versions in a scope, newest first.
pub(super) fn list(
    connection: &Connection,
    shelves: &Shelves,
    scope: &Scope,
    (before, limit): (Option<i64>, usize),
) -> Result<Vec<i64>, Fault> {
    let sets = sets(connection, scope)?;
    let found =
        shelves.look(&scope.tenant, |shelf| shelf.newest(&shelf.mask(scope, &sets), before, limit));
    Ok(found.unwrap_or_default())
}

/// Whether a version is in a scope.
pub(super) fn allowed(
    connection: &Connection,
    shelves: &Shelves,
    scope: &Scope,
) -> Result<impl Fn(i64) -> bool + use<>, Fault> {
    let sets = sets(connection, scope)?;
    let mask = shelves.look(&scope.tenant, |shelf| shelf.mask(scope, &sets)).unwrap_or_default();
    let (shelves, tenant) = (shelves.clone(), scope.tenant.clone());
    Ok(move |seq| {
        let place = shelves.look(&tenant, |shelf| shelf.place(seq)).flatten();
        place.is_some_and(|place| mask.has(index(place)))
    })
}

/// What the indexes in memory found.
#[derive(Default)]
struct Layers {
    trigger: Option<Vec<Hit>>,
    entity: Option<Vec<Hit>>,
    words: Option<Vec<Hit>>,
    vector: Vec<Candidate>,
    image: Vec<Candidate>,
    mask: Mask,
}

/// What a fault means for one layer.
fn told(connection: &Connection, fault: Fault) -> Error {
    fault.told(Path::new(connection.path().unwrap_or_default()))
}

fn probe<'a>(
    connection: &Connection,
    (model, question): &'a (String, Vec<f32>),
    known: Result<Option<(i64, usize)>, Fault>,
) -> Result<Probe<'a>, Error> {
    let known = known.map_err(|fault| told(connection, fault))?;
    let Some((number, expected)) = known else {
        return Ok(None);
    };
    if expected != question.len() {
        let model = model.clone();
        return Err(Error::Dimensions { model, expected, given: question.len() });
    }
    Ok(Some((number, Code::new(question), question)))
}

fn numbers(probe: Probe<'_>) -> Option<&[f32]> {
    probe.map(|(_, _, numbers)| numbers)
}

fn candidates(
    probe: &Option<Result<Probe<'_>, Error>>,
    look: impl FnOnce(i64, &Code) -> Vec<Candidate>,
) -> Vec<Candidate> {
    match probe {
        Some(Ok(Some((model, code, _)))) => look(*model, code),
        _ => Vec::new(),
    }
}

/// Compares candidates by the exact vectors in the file.
fn exact(
    connection: &Connection,
    table: &str,
    question: Option<&[f32]>,
    candidates: &[Candidate],
    limit: usize,
) -> Result<Vec<Hit>, Error> {
    let Some(question) = question else {
        return Ok(Vec::new());
    };
    let compare = || -> Result<Vec<Hit>, Fault> {
        let sql = format!("SELECT numbers FROM {table} WHERE id = ?1");
        let mut statement = connection.prepare_cached(&sql)?;
        let mut hits = Vec::with_capacity(candidates.len());
        for Candidate { id, .. } in candidates.iter().copied() {
            let numbers = statement
                .query_row([id], |row| Ok(row.get_ref(0)?.as_blob().map(rows::unpacked)?))
                .optional()?;
            let (seq, ordinal) = rows::chunk_of(rows::vector_of(id).0);
            // One that is gone was removed since.
            let numbers = numbers.filter(|numbers| numbers.len() == question.len());
            hits.extend(numbers.map(|n| Hit { seq, ordinal, score: cosine(&n, question) }));
        }
        Ok(hits)
    };
    let hits = compare().map_err(|fault| told(connection, fault))?;
    if table == "picture" {
        let hits = hits.into_iter().map(|hit| Hit { ordinal: 0, ..hit }).collect();
        return Ok(best_of_each(ranked(hits, usize::MAX), limit));
    }
    Ok(ranked(hits, limit))
}

/// The first hit of each version.
fn best_of_each(hits: Vec<Hit>, limit: usize) -> Vec<Hit> {
    let mut seen = std::collections::HashSet::new();
    hits.into_iter().filter(|hit| seen.insert(hit.seq)).take(limit).collect()
}

/// The best first; of equal ones the newest.
fn ranked(mut hits: Vec<Hit>, limit: usize) -> Vec<Hit> {
    let order = |left: &Hit, right: &Hit| {
        let by_score = right.score.total_cmp(&left.score);
        by_score.then(right.seq.cmp(&left.seq)).then(left.ordinal.cmp(&right.ordinal))
    };
    if limit == 0 {
        return Vec::new();
    }
    if hits.len() > limit {
        hits.select_nth_unstable_by(limit - 1, order);
        hits.truncate(limit);
    }
    hits.sort_unstable_by(order);
    hits
}

fn units(shelf: &Shelf, found: Vec<(u32, f64)>, limit: usize) -> Vec<Hit> {
    let hit = |(place, score)| Some(Hit { seq: shelf.seq(place)?, ordinal: 0, score });
    ranked(found.into_iter().filter_map(hit).collect(), limit)
}

fn chunks(shelf: &Shelf, found: Vec<(usize, f32)>, limit: usize) -> Vec<Hit> {
    let hit = |(chunk, score): (usize, f32)| {
        let (seq, ordinal) = shelf.chunk_at(chunk)?;
        Some(Hit { seq, ordinal, score: f64::from(score) })
    };
    ranked(found.into_iter().filter_map(hit).collect(), limit)
}

/// For each condition that the indexes do not answer, the versions that meet it, in order.
fn sets(connection: &Connection, scope: &Scope) -> Result<Vec<Vec<i64>>, Fault> {
    let mut sets = Vec::new();
    for filter in scope.filters.iter().filter(|filter| by_row(filter)) {
        let mut set = meeting(connection, &scope.tenant, filter)?;
        set.sort_unstable();
        sets.push(set);
    }
    if let Some(spot) = &scope.spot {
        let mut set = at(connection, spot)?;
        set.sort_unstable();
        sets.push(set);
    }
    Ok(sets)
}

fn meeting(connection: &Connection, tenant: &str, filter: &Filter) -> Result<Vec<i64>, Fault> {
    let column = if filter.field == "group" { "series" } else { "source_id" };
    let mut found = Vec::new();
    if is_looked_up(filter) {
        let sql = format!(
            "SELECT seq FROM version WHERE {column} = ?1 AND {column} <> '' AND tenant = ?2"
        );
        let mut statement = connection.prepare_cached(&sql)?;
        for value in filter.values.iter().filter_map(|value| value.as_str()) {
            let mut rows = statement.query([value, tenant])?;
            while let Some(row) = rows.next()? {
                found.push(row.get(0)?);
            }
        }
        return Ok(found);
    }
    let sql = format!("SELECT seq, {column} FROM version WHERE tenant = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([tenant])?;
    while let Some(row) = rows.next()? {
        let value = serde_json::Value::from(row.get::<_, String>(1)?);
        if filter.compare.holds(&value, &filter.values) {
            found.push(row.get(0)?);
        }
    }
    Ok(found)
}

/// A version that has a place.
struct Placed {
    seq: i64,
    point: place::Point,
}

/// Versions in boxes, each once, of these types of places.
fn placed(
    connection: &Connection,
    boxes: &[place::Bounds],
    kinds: &[String],
) -> Result<Vec<Placed>, Fault> {
    let sql = "SELECT v.seq, v.latitude, v.longitude, v.draft ->> '$.place.type'
        FROM place p JOIN version v ON v.seq = p.seq
        WHERE p.north >= ?1 AND p.south <= ?2 AND p.east >= ?3 AND p.west <= ?4";
    let mut statement = connection.prepare_cached(sql)?;
    let mut found: Vec<Placed> = Vec::new();
    for bounds in boxes {
        let mut rows = statement.query([bounds.south, bounds.north, bounds.west, bounds.east])?;
        while let Some(row) = rows.next()? {
            let kind: Option<String> = row.get(3)?;
            if kinds.is_empty() || kind.is_some_and(|kind| kinds.contains(&kind)) {
                let point = (row.get(1)?, row.get(2)?);
                found.push(Placed { seq: row.get(0)?, point });
            }
        }
    }
    found.sort_unstable_by_key(|placed| placed.seq);
    found.dedup_by_key(|placed| placed.seq);
    Ok(found)
}

/// Versions of all tenants that are where the spot says.
fn at(connection: &Connection, spot: &Spot) -> Result<Vec<i64>, Fault> {
    let refused = |error: place::Error| Fault::Asked(Error::Engine(error.to_string()));
    let found = match spot {
        Spot::Within { latitude, longitude, metres, kinds } => {
            let from = (*latitude, *longitude);
            place::check(from).map_err(refused)?;
            place::check_metres(*metres).map_err(refused)?;
            let mut found = placed(connection, &place::around(from, *metres), kinds)?;
            found.retain(|placed| place::metres(from, placed.point) <= *metres);
            found
        }
        Spot::Inside { ring, kinds } => {
            let ring = Ring::new(ring).map_err(refused)?;
            let mut found = placed(connection, &ring.bounds(), kinds)?;
            found.retain(|placed| ring.has(placed.point));
            found
        }
    };
    Ok(found.into_iter().map(|placed| placed.seq).collect())
}

/// The nearest versions of a point, in wider and wider rings.
fn nearest(
    connection: &Connection,
    from: place::Point,
    kinds: &[String],
    limit: usize,
    counts: &dyn Fn(i64) -> bool,
) -> Result<Vec<Hit>, Fault> {
    place::check(from).map_err(|error| Fault::Asked(Error::Engine(error.to_string())))?;
    let mut hits = Vec::new();
    for radius in RINGS {
        let found = placed(connection, &place::around(from, radius), kinds)?;
        let near = found.into_iter().filter(|placed| counts(placed.seq)).map(|placed| Hit {
            seq: placed.seq,
            ordinal: 0,
            score: -place::metres(from, placed.point),
        });
        hits = near.filter(|hit| -hit.score <= radius).collect();
        if hits.len() >= limit {
            break;
        }
    }
    Ok(ranked(hits, limit))
}
