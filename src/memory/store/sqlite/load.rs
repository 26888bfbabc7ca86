//! The indexes, made of the file at the start: rows are read and taken apart by several threads,
//! stretch by stretch, and put in order by one. Reads nearly all of the file, so damage shows.

use std::num::NonZero;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::thread;

use rusqlite::Connection;

use super::super::Error;
use super::entry::{Entry, Event, Vector, What};
use super::fault::{Fault, parsed};
use super::file;
use super::rows::{MODELS, chunk_id, chunk_of, named, unpacked, vector_id, vector_of};
use super::shelves::Shelves;
use super::vectors::Code;
use super::words::Bag;

/// Versions of one stretch.
const STRETCH: i64 = 1024;
/// Threads that read, at most.
const THREADS: usize = 4;
/// Stretches that each of them may be ahead.
const AHEAD: usize = 2;

/// Makes the indexes of all that is in the file.
pub(super) fn load(path: &Path, newest: i64, shelves: &Shelves) -> Result<(), Error> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(THREADS);
    let stretches = newest.div_euclid(STRETCH) + i64::from(newest % STRETCH > 0);
    let stretches: Vec<i64> = (0..stretches).map(|at| 1 + at * STRETCH).collect();
    if stretches.is_empty() {
        return Ok(());
    }
    thread::scope(|scope| {
        let mut readers = Vec::new();
        for own in 0..threads {
            let (found, stretch) = sync_channel(AHEAD);
            let own: Vec<i64> = stretches.iter().skip(own).step_by(threads).copied().collect();
            let read = move || -> Result<(), Error> {
                let connection = file::open_reader(path)?;
                for from in own {
                    let read = read(&connection, from).map_err(|fault| fault.told(path));
                    if found.send(read).is_err() {
                        break;
                    }
                }
                Ok(())
            };
            readers.push((stretch, scope.spawn(read)));
        }
        for (at, _) in stretches.iter().enumerate() {
            let Some((stretch, _)) = readers.get(at % threads) else { break };
            let Ok(read) = stretch.recv() else { break };
            shelves.apply(read?);
        }
        for (stretch, reader) in readers {
            drop(stretch);
            let ended = reader.join();
            ended.unwrap_or_else(|_panic| Err(Error::Engine("a reader ended early".to_owned())))?;
        }
        Ok(())
    })
}

fn read(connection: &Connection, from: i64) -> Result<Vec<Event>, Fault> {
    let to = from + STRETCH;
    let mut entries = entries(connection, from, to)?;
    let mut statement =
        connection.prepare_cached("SELECT id, text FROM chunk WHERE id >= ?1 AND id < ?2")?;
    let mut rows = statement.query([chunk_id(from, 0), chunk_id(to, 0)])?;
    while let Some(row) = rows.next()? {
        let (seq, ordinal) = chunk_of(row.get(0)?);
        let text = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
        find(&mut entries, seq)?.chunks.push((ordinal, Bag::new(text)));
    }
    for (table, is_image) in [("vector", false), ("picture", true)] {
        let sql = format!("SELECT id, numbers FROM {table} WHERE id >= ?1 AND id < ?2");
        let mut statement = connection.prepare_cached(&sql)?;
        let bounds = [vector_id(chunk_id(from, 0), 0), vector_id(chunk_id(to, 0), 0)];
        let mut rows = statement.query(bounds)?;
        while let Some(row) = rows.next()? {
            let id: i64 = row.get(0)?;
            let bytes = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            let (chunk, model) = vector_of(id);
            debug_assert!(model < MODELS, "ids hold their model");
            let (seq, ordinal) = chunk_of(chunk);
            let what =
                if is_image { What::Image { model } } else { What::Chunk { ordinal, model } };
            let code = Code::new(&unpacked(bytes));
            find(&mut entries, seq)?.vectors.push(Vector { what, id, code });
        }
    }
    // Tenant by tenant, so that what an index touches stays near; of each tenant in order.
    entries.sort_by(|one, two| one.tenant.cmp(&two.tenant));
    Ok(entries.into_iter().map(|entry| Event::Add(Box::new(entry))).collect())
}

fn find(entries: &mut [Entry], seq: i64) -> Result<&mut Entry, Fault> {
    let lost = || Fault::Broken(format!("version {seq} is gone, and a part of it is there"));
    let at = entries.binary_search_by_key(&seq, |entry| entry.seq);
    at.ok().and_then(|at| entries.get_mut(at)).ok_or_else(lost)
}

fn entries(connection: &Connection, from: i64, to: i64) -> Result<Vec<Entry>, Fault> {
    let sql = "SELECT seq, tenant, collection, owner, kind, state, origin, valid_from, valid_to,
        recorded, ended_at, draft FROM version WHERE seq >= ?1 AND seq < ?2 ORDER BY seq";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([from, to])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let text = |at: usize| row.get_ref(at)?.as_str().map_err(rusqlite::Error::from);
        let seq: i64 = row.get(0)?;
        found.push(Entry {
            tenant: row.get(1)?,
            seq,
            collection: row.get(2)?,
            owner: row.get(3)?,
            kind: named(text(4)?)?,
            kind_name: row.get(4)?,
            origin: row.get(6)?,
            state: named(text(5)?)?,
            from: row.get::<_, Option<i64>>(7)?.unwrap_or(i64::MIN),
            to: row.get::<_, Option<i64>>(8)?.unwrap_or(i64::MAX),
            recorded: row.get(9)?,
            ended: row.get::<_, Option<i64>>(10)?.unwrap_or(i64::MAX),
            facets: parsed(text(11)?, &format!("version {seq}"))?,
            chunks: Vec::new(),
            vectors: Vec::new(),
        });
    }
    Ok(found)
}
