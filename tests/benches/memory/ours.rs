//! The embedded store under the bench, in a process of its own, whose memory is then that of the
//! store alone: units in, rates out; questions in, times and what was found out.

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use switchboard::memory::{
    Ask, Chunk, Compare, Draft, Entity, Filter, Kind, Layer, Origin, Owned, Scope, Settlement,
    SqliteConfig, Stage, State, Store, StoreConfig, Trust, UnitId, Version, Write, open_store,
};

use super::data::{Asked, Files, OPEN, Row, TOP, Width};
use crate::measure::{peak, resident, spent};

/// The name under which vectors are kept.
const MODEL: &str = "made";
const COLLECTION: &str = "manuals";
/// Writes in one go.
const BATCH: usize = 500;
/// Candidates of each layer: three times as many as are wanted (M4).
const OVERSAMPLED: usize = 3 * TOP;

async fn open(files: &Files, name: &str) -> std::sync::Arc<dyn Store> {
    let sqlite = SqliteConfig { path: files.path(name), ..Default::default() };
    open_store(&StoreConfig::Sqlite(sqlite)).await.unwrap()
}

/// 2020-01-01, and so many days.
pub(super) fn day(number: u32) -> Timestamp {
    let first: Timestamp = "2020-01-01T00:00:00Z".parse().unwrap();
    first + SignedDuration::from_hours(24 * i64::from(number))
}

/// One who acknowledges and works on writes as the write path does: accepted in one transaction,
/// settled in another.
pub async fn fill(files: &Files, name: &str, with_vectors: bool) -> Value {
    let store = open(files, name).await;
    let (mut took, mut count, own) = (Duration::ZERO, 0_u64, std::process::id());
    let mut numbers = Vec::new();
    let mut used = Duration::ZERO;
    let mut units = files.units();
    loop {
        let batch: Vec<_> = units.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        let (writes, settlements): (Vec<_>, Vec<_>) = (count..)
            .zip(batch)
            .map(|(number, (row, vector))| work(number, &row, with_vectors.then_some(vector)))
            .unzip();
        count += writes.len() as u64;
        let (begun, before) = (Instant::now(), spent(own));
        store.accept(writes).await.unwrap();
        let stored = store.settle(settlements).await.unwrap();
        took += begun.elapsed();
        used += spent(own) - before;
        numbers.extend(stored.into_iter().flat_map(|seq| seq.unwrap().to_le_bytes()));
    }
    let (begun, before) = (Instant::now(), spent(own));
    store.close().await.unwrap();
    took += begun.elapsed();
    used += spent(own) - before;
    std::fs::write(files.path(&format!("{name}.seqs")), numbers).unwrap();
    let peak = peak(std::process::id()).unwrap();
    let bytes = std::fs::metadata(files.path(name)).unwrap().len();
    json!({ "rate": count as f64 / took.as_secs_f64(), "peak": peak, "bytes": bytes,
        "each": used.as_secs_f64() * 1e6 / count as f64 })
}

fn draft(number: u64, row: &Row) -> Draft {
    let at = day(row.from);
    let metadata = Map::from_iter([("product_line".to_owned(), Value::from(row.line))]);
    Draft {
        source_time: Some(at.to_string()),
        text: row.text.clone(),
        metadata,
        valid_from: Some(at.to_string()),
        valid_to: (row.to != OPEN).then(|| day(row.to).to_string()),
        entities: vec![Entity { kind: "number".to_owned(), value: number_in(&row.text) }],
        ..Draft::new(COLLECTION, "manual/all", &format!("u{number}"), Kind::Knowledge)
    }
}

fn work(number: u64, row: &Row, vector: Option<Vec<f32>>) -> (Write, Settlement) {
    let at = day(row.from);
    let tenant = format!("tenant-{}", row.tenant);
    let draft = draft(number, row);
    let receipt = UnitId::generate().to_string();
    let write = Write {
        receipt: receipt.clone(),
        tenant: tenant.clone(),
        caller: "bench".to_owned(),
        draft: draft.clone(),
        arrived: Timestamp::now(),
        ruling: "{}".to_owned(),
    };
    let chunk = Chunk {
        ordinal: 0,
        text: row.text.clone(),
        vector: vector.map(|vector| (MODEL.to_owned(), vector)),
    };
    let version = Version {
        unit: UnitId::generate(),
        seq: 0,
        tenant,
        owner: "bench".to_owned(),
        layer: Layer::Curated,
        draft,
        source_time: at,
        valid_from: Some(at),
        valid_to: (row.to != OPEN).then(|| day(row.to)),
        recorded: Timestamp::now(),
        ended: None,
        state: State::Active,
        trust: Trust(90),
        origin: Origin::Curator,
        digest: format!("{number:064x}"),
        remarks: Vec::new(),
        conflicts: Vec::new(),
        used: None,
        uses: 0,
    };
    let settlement = Settlement {
        receipt,
        stage: Stage::Stored,
        remarks: Vec::new(),
        version: Some((version, vec![chunk])),
        known: None,
        changes: Vec::new(),
    };
    (write, settlement)
}

/// The number at the beginning of each text.
pub(super) fn number_in(text: &str) -> String {
    text.split(' ').nth(1).unwrap_or_default().trim_end_matches('.').to_owned()
}

fn scope(width: Width, asked: &Asked) -> Scope {
    let line = Filter {
        field: "product_line".to_owned(),
        compare: Compare::Any,
        values: vec![Value::from(asked.line)],
    };
    Scope {
        tenant: format!("tenant-{}", asked.tenant),
        collections: vec![Owned { collection: COLLECTION.to_owned(), owner: None }],
        as_of: day(asked.day),
        known_at: None,
        kinds: Vec::new(),
        filters: if width == Width::Narrow { vec![line] } else { Vec::new() },
        spot: None,
        held: false,
        quarantined: false,
        archived: false,
    }
}

/// Opens the store and asks: by vector alone, as the peer is asked, and all layers at once.
pub async fn ask(files: &Files, name: &str) -> Vec<Value> {
    let begun = Instant::now();
    let store = open(files, name).await;
    let (opened, used) = (begun.elapsed(), spent(std::process::id()));
    let seqs = std::fs::read(files.path(&format!("{name}.seqs"))).unwrap();
    let (seqs, _) = seqs.as_chunks();
    let seqs: Vec<i64> = seqs.iter().map(|eight| i64::from_le_bytes(*eight)).collect();
    let questions = files.questions();
    let begun = Instant::now();
    one(&*store, Width::Tenant, &questions[0], false).await;
    let start = (opened + begun.elapsed()).as_secs_f64() * 1000.0;
    let mut out = vec![json!({ "start": start, "processor": used.as_secs_f64() * 1000.0,
        "resident": resident(std::process::id()) })];
    for width in Width::ALL {
        for layers in [false, true] {
            let (mut took, mut found) = (Vec::new(), Vec::new());
            for question in &questions {
                let begun = Instant::now();
                let hits = one(&*store, width, question, layers).await;
                took.push(begun.elapsed().as_secs_f64() * 1000.0);
                let number = |seq: &i64| seqs.binary_search(seq).unwrap();
                found.push(hits.iter().map(number).take(TOP).collect::<Vec<_>>());
            }
            let width = width.name();
            out.push(json!({ "width": width, "layers": layers, "took": took, "found": found }));
        }
    }
    out.push(json!({ "peak": peak(std::process::id()) }));
    store.close().await.unwrap();
    out
}

/// Opens a store without vectors, and asks by words alone.
pub async fn words(files: &Files, name: &str) -> Vec<Value> {
    let (own, begun) = (std::process::id(), Instant::now());
    let (before, used) = (resident(own), spent(own));
    let store = open(files, name).await;
    let start = begun.elapsed().as_secs_f64() * 1000.0;
    let used = (spent(own) - used).as_secs_f64() * 1000.0;
    let grown = resident(own) - before;
    let (mut took, mut found) = (Vec::new(), Vec::new());
    for (asked, _) in files.questions() {
        let scope = scope(Width::Tenant, &asked);
        let ask = Ask { words: Some(asked.text), limit: OVERSAMPLED, ..Default::default() };
        let begun = Instant::now();
        let hits = store.search(&scope, &ask).await.unwrap().words.unwrap().unwrap();
        took.push(begun.elapsed().as_secs_f64() * 1000.0);
        // Units were stored one after the other.
        found.push(hits.iter().map(|hit| hit.seq - 1).collect::<Vec<_>>());
    }
    store.close().await.unwrap();
    vec![json!({ "start": start, "processor": used, "took": took, "found": found,
        "resident": grown })]
}

/// One question; answers what the vectors found.
async fn one(
    store: &dyn Store,
    width: Width,
    (asked, vector): &(Asked, Vec<f32>),
    layers: bool,
) -> Vec<i64> {
    let text = layers.then(|| asked.text.clone());
    let entity = Entity { kind: String::new(), value: number_in(&asked.text) };
    let ask = Ask {
        trigger: text.clone(),
        entities: if layers { vec![entity] } else { Vec::new() },
        words: text,
        vector: Some((MODEL.to_owned(), vector.clone())),
        limit: if layers { OVERSAMPLED } else { TOP },
        ..Default::default()
    };
    let found = store.search(&scope(width, asked), &ask).await.unwrap();
    if layers {
        assert!(!found.words.unwrap().unwrap().is_empty(), "words of {}", asked.text);
        assert!(!found.entity.unwrap().unwrap().is_empty(), "entity of {}", asked.text);
    }
    found.vector.unwrap().unwrap().iter().map(|hit| hit.seq).collect()
}
