//! SQLite's own full text index, FTS5, on the units of the bench: what the store would cost if its words
//! were kept in the file and not in memory. As it has to be for Chinese: characters spaced out, a pair of
//! them asked for as a phrase; a table a tenant, so that none changes the ranking of another.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use serde_json::{Value, json};

use super::data::{Asked, Files, TENANTS};
use crate::measure::{peak, processor, resident};

const NAME: &str = "fts5.db";
/// Rows of one transaction.
const BATCH: usize = 500;

fn open(files: &Files) -> Connection {
    let connection = Connection::open(files.path(NAME)).unwrap();
    let tune = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON;
        PRAGMA cache_size = -8192;";
    connection.execute_batch(tune).unwrap();
    connection.set_prepared_statement_cache_capacity(64);
    connection
}

/// Adds all units to the index.
pub fn fill(files: &Files) -> Value {
    let connection = open(files);
    connection.execute_batch("CREATE TABLE unit (id INTEGER PRIMARY KEY, since, until)").unwrap();
    for tenant in 0..TENANTS {
        // With `secure-delete`, what is forgotten leaves no trace, as in the store.
        let sql = format!(
            "CREATE VIRTUAL TABLE words_{tenant} USING fts5 (text, content = '',
             contentless_delete = 1, tokenize = 'porter unicode61');
             INSERT INTO words_{tenant} (words_{tenant}, rank) VALUES ('secure-delete', 1);"
        );
        connection.execute_batch(&sql).unwrap();
    }
    let (mut took, mut count, mut units) = (Duration::ZERO, 0_u32, files.units());
    let before = processor(std::process::id());
    loop {
        let batch: Vec<_> = units.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        let begun = Instant::now();
        connection.execute_batch("BEGIN").unwrap();
        for (row, _) in batch {
            let sql = format!("INSERT INTO words_{} (rowid, text) VALUES (?1, ?2)", row.tenant);
            let mut insert = connection.prepare_cached(&sql).unwrap();
            insert.execute(params![count, spaced(&row.text)]).unwrap();
            let sql = "INSERT INTO unit VALUES (?1, ?2, ?3)";
            let mut insert = connection.prepare_cached(sql).unwrap();
            insert.execute(params![count, row.from, row.to]).unwrap();
            count += 1;
        }
        connection.execute_batch("COMMIT").unwrap();
        took += begun.elapsed();
    }
    let used = (processor(std::process::id()) - before).as_secs_f64() * 1e6;
    let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
    connection.query_row(checkpoint, [], |_| Ok(())).unwrap();
    let bytes = std::fs::metadata(files.path(NAME)).unwrap().len();
    json!({ "rate": f64::from(count) / took.as_secs_f64(), "bytes": bytes,
        "each": used / f64::from(count), "peak": peak(std::process::id()) })
}

/// Asks by words alone.
pub fn ask(files: &Files) -> Vec<Value> {
    let begun = Instant::now();
    let connection = open(files);
    let questions = files.questions();
    let before = resident(std::process::id());
    let start = begun.elapsed().as_secs_f64() * 1000.0;
    let (mut took, mut found) = (Vec::new(), Vec::new());
    for (asked, _) in &questions {
        let begun = Instant::now();
        found.push(one(&connection, asked));
        took.push(begun.elapsed().as_secs_f64() * 1000.0);
    }
    let grown = resident(std::process::id()) - before;
    vec![json!({ "start": start, "took": took, "found": found, "resident": grown })]
}

fn one(connection: &Connection, asked: &Asked) -> Vec<u64> {
    let table = format!("words_{}", asked.tenant);
    let sql = format!(
        "SELECT w.rowid FROM {table} w JOIN unit u ON u.id = w.rowid
         WHERE {table} MATCH ?1 AND u.since <= ?2 AND ?2 < u.until ORDER BY w.rank LIMIT 60"
    );
    let mut statement = connection.prepare_cached(&sql).unwrap();
    let rows = statement.query_map(params![question(&asked.text), asked.day], |row| row.get(0));
    rows.unwrap().map(|id: Result<i64, _>| id.unwrap().cast_unsigned()).collect()
}

const fn is_dense(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

fn spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for c in text.chars() {
        if is_dense(c) {
            write!(out, " {c} ").unwrap();
        } else {
            out.push(c);
        }
    }
    out
}

/// Words and pairs of characters, any of which will do.
fn question(text: &str) -> String {
    let mut terms: Vec<String> = Vec::new();
    let (mut word, mut last) = (String::new(), None);
    for c in text.chars().chain([' ']) {
        if c.is_alphanumeric() && !is_dense(c) {
            (word, last) = (format!("{word}{c}"), None);
            continue;
        }
        if !word.is_empty() {
            terms.push(format!("\"{}\"", std::mem::take(&mut word)));
        }
        if let Some(last) = last.filter(|_| is_dense(c)) {
            terms.push(format!("\"{last} {c}\""));
        }
        last = is_dense(c).then_some(c);
    }
    terms.sort();
    terms.dedup();
    terms.join(" OR ")
}
