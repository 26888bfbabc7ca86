//! The ledger as lines of JSON: a head, records with the fields that chain them, the marks that
//! vouch for them, and an end. Written here, and verified again where there is no database.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::{Connection, Row as SqlRow, params_from_iter};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::key::PublicKey;
use super::mark::{self, Mark};
use super::query::{self, COLUMNS, Query};
use super::record::{Hash, Row};
use super::verify::{Against, Damage, Kind, Verification, unsigned};
use super::{Error, reply, seal, store};

/// The newest form that this version writes and reads.
const FORM: u32 = 1;

/// One line of an export.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Line {
    Head(Head),
    Record(Box<Exported>),
    Mark(Mark),
    End(End),
}

/// What the export is of.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    form: u32,
    ledger: Option<String>,
    key: Option<String>,
    /// Whether it has every record of the ledger.
    complete: bool,
    /// Place and digest of the record before the oldest one that the ledger has.
    after: u64,
    after_digest: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    records: u64,
    last: u64,
    digest: String,
}

/// One record. `previous` and `hash` chain it; a masked reply counts by its digest.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exported {
    seq: u64,
    call_id: String,
    received: Timestamp,
    caller: String,
    tenant: String,
    conversation: String,
    tool: String,
    status: String,
    code: Option<String>,
    arguments: String,
    /// An object; or the text, where it is not written as this program writes it.
    facts: Value,
    reply_digest: String,
    /// With what looks secret masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reply: Option<Value>,
    /// Byte for byte, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reply_raw: Option<String>,
    previous: String,
    hash: String,
}

impl Exported {
    fn read(row: &SqlRow<'_>, raw: bool) -> rusqlite::Result<Self> {
        let (seq, hash, content) = query::read_row(row)?;
        let bytes: Vec<u8> = row.get(13)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let read: Option<Value> = serde_json::from_str(&content.facts).ok();
        let masked = (!raw).then(|| reply::shown(&text, read.as_ref().unwrap_or(&Value::Null)));
        let is_own = |facts: &Value| {
            let written = facts.to_string();
            facts.is_object() && written == content.facts
        };
        let facts = read.filter(is_own);
        Ok(Self {
            seq: unsigned(seq),
            call_id: content.call_id,
            received: Timestamp::from_millisecond(content.time_ms).unwrap_or_default(),
            caller: content.caller,
            tenant: content.tenant,
            conversation: content.conversation,
            tool: content.tool,
            status: content.status,
            code: content.code,
            arguments: content.arguments,
            facts: facts.unwrap_or(Value::String(content.facts)),
            reply_digest: hex::encode(content.reply_digest),
            reply: masked,
            reply_raw: raw.then_some(text),
            previous: row.get::<_, Option<Hash>>(14)?.map(hex::encode).unwrap_or_default(),
            hash: hex::encode(hash),
        })
    }

    /// The hash that the record should have; `None` when a digest is none.
    fn link(&self) -> Option<String> {
        let row = Row {
            call_id: self.call_id.clone(),
            time_ms: self.received.as_millisecond(),
            caller: self.caller.clone(),
            tenant: self.tenant.clone(),
            conversation: self.conversation.clone(),
            tool: self.tool.clone(),
            status: self.status.clone(),
            code: self.code.clone(),
            arguments: self.arguments.clone(),
            facts: match &self.facts {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            },
            reply: Vec::new(),
            reply_digest: digest(&self.reply_digest)?,
            original: None,
        };
        let seq = i64::try_from(self.seq).ok()?;
        Some(hex::encode(row.parts().link(&digest(&self.previous)?, seq)))
    }

    fn damage(&self, kind: Kind, reason: impl Into<String>) -> Damage {
        let call_id = Some(self.call_id.clone());
        Damage { kind, seq: Some(self.seq), call_id, reason: reason.into() }
    }
}

fn digest(text: &str) -> Option<Hash> {
    hex::decode(text).ok()?.try_into().ok()
}

/// Writes the records that match, oldest first; `raw` leaves the replies as callers got them.
/// `write` gets each line, and ends the export by answering false.
pub(super) fn write(
    connection: &Connection,
    (query, raw): (&Query, bool),
    write: &mut dyn FnMut(&str) -> bool,
) -> Result<(), Error> {
    let snapshot = connection.unchecked_transaction()?;
    let sql = "SELECT base_seq, base_hash FROM chain";
    let (base, base_hash): (i64, Hash) =
        snapshot.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let signed = store::is_signed(&snapshot)?;
    let (ledger, key) = if signed { seal::identity(&snapshot)? } else { None }.unzip();
    let head = Head {
        form: FORM,
        ledger,
        key,
        complete: *query == Query::default(),
        after: unsigned(base),
        after_digest: hex::encode(base_hash),
    };
    let mut say = |line: &Line| {
        // Only a map with keys that are no text could fail, and there is none.
        write(&serde_json::to_string(line).unwrap_or_default())
    };
    let mut end = End { records: 0, last: head.after, digest: head.after_digest.clone() };
    if !say(&Line::Head(head)) {
        return Ok(());
    }
    let (conditions, values) = query::conditions(query);
    let sql = format!(
        "SELECT {COLUMNS}, reply, coalesce((SELECT hash FROM call AS p WHERE p.seq = call.seq - 1),
            (SELECT base_hash FROM chain WHERE base_seq = call.seq - 1))
        FROM call WHERE {conditions} ORDER BY seq"
    );
    let mut statement = snapshot.prepare(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    while let Some(row) = rows.next()? {
        let record = Exported::read(row, raw)?;
        end = End { records: end.records + 1, last: record.seq, digest: record.hash.clone() };
        if !say(&Line::Record(Box::new(record))) {
            return Ok(());
        }
    }
    let marks = if signed { mark::stored(&snapshot)? } else { Vec::new() };
    for mark in marks.into_iter().flatten().filter(|mark| mark.sequence <= end.last) {
        if !say(&Line::Mark(mark)) {
            return Ok(());
        }
    }
    say(&Line::End(end));
    Ok(())
}

/// Verification of an export, line by line.
#[derive(Default)]
struct Reader {
    found: Verification,
    head: Option<Head>,
    /// Place and hash of the last record.
    last: Option<(u64, String)>,
    ended: Option<End>,
    marks: Vec<Mark>,
}

/// Verifies an export. One that has not all records proves those that it has, not their number.
pub(super) fn verify(path: &Path, against: &Against) -> Result<Verification, Error> {
    let unopened = |source| Error::Open { path: path.to_owned(), source: Arc::new(source) };
    let mut reader = Reader::default();
    let mut hashes = std::collections::BTreeMap::new();
    for (at, line) in BufReader::new(File::open(path).map_err(unopened)?).split(b'\n').enumerate() {
        let line = line.map_err(unopened)?;
        match serde_json::from_slice(&line) {
            Ok(Line::Record(record)) => {
                hashes.insert(record.seq, record.hash.clone());
                reader.record(&record);
            }
            Ok(Line::Head(head)) if at == 0 && head.form <= FORM => reader.begin(head, against),
            Ok(Line::Mark(mark)) => reader.marks.push(mark),
            Ok(Line::End(end)) if reader.ended.is_none() => reader.ended = Some(end),
            Ok(Line::Head(_) | Line::End(_)) | Err(_) => {
                let reason = format!("line {} is not what an export has there", at + 1);
                reader.found.tell(Kind::Unreadable, None, reason);
            }
        }
        if reader.found.damage.len() >= 100 {
            return Ok(reader.found);
        }
    }
    reader.end(&hashes);
    Ok(reader.found)
}

impl Reader {
    fn begin(&mut self, head: Head, against: &Against) {
        let named = head.key.as_deref().and_then(|key| PublicKey::parse(key).ok());
        if let Some(given) = against.key.filter(|given| Some(*given) != named) {
            let named = named.map_or_else(|| "no key".to_owned(), |key| format!("the key {key}"));
            let reason = format!("the export is of a ledger signed with {named}, not with {given}");
            self.found.tell(Kind::Key, None, reason);
        }
        self.found.key_given = named.is_some() && against.key == named;
        (self.found.ledger, self.found.key) = (head.ledger.clone(), named);
        self.found.pruned_to = head.after;
        if head.complete {
            self.last = Some((head.after, head.after_digest.clone()));
        }
        self.head = Some(head);
    }

    fn record(&mut self, record: &Exported) {
        let complete = self.head.as_ref().is_some_and(|head| head.complete);
        self.found.complete_from.get_or_insert(record.received);
        let last = self.last.replace((record.seq, record.hash.clone()));
        if let Some((before, _)) = &last
            && complete
            && record.seq > before + 1
        {
            let reason = format!("records {} to {} are gone", before + 1, record.seq - 1);
            self.found.tell(Kind::Missing, Some(before + 1), reason);
        }
        let out_of_order = last.as_ref().is_some_and(|(before, _)| record.seq <= *before);
        let follows = last
            .as_ref()
            .is_none_or(|(before, hash)| record.seq != before + 1 || *hash == record.previous);
        let raw = record.reply_raw.as_ref();
        let reply_fits =
            raw.is_none_or(|raw| hex::encode(Sha256::digest(raw)) == record.reply_digest);
        let damage = if out_of_order {
            record.damage(Kind::Reordered, "it stands behind a later record")
        } else if record.link().as_ref() != Some(&record.hash) {
            record.damage(Kind::Changed, "its content or one of its digests was changed")
        } else if !follows {
            record.damage(Kind::Changed, "it does not continue the record before it")
        } else if !reply_fits {
            record.damage(Kind::Changed, "its `reply_raw` was changed")
        } else {
            self.found.records += 1;
            return;
        };
        self.found.damage.push(damage);
    }

    fn end(&mut self, hashes: &std::collections::BTreeMap<u64, String>) {
        let (seq, hash) = self.last.clone().unwrap_or_default();
        self.found.head = seq;
        if self.head.is_none() {
            self.found.tell(Kind::Cut, None, "the export has no head".to_owned());
        }
        let total = u64::try_from(hashes.len()).unwrap_or(u64::MAX);
        let reason = match &self.ended {
            None => "the export has no end: it was cut".to_owned(),
            Some(end) if end.records > total => {
                format!("the export had {} records, and has {total}", end.records)
            }
            Some(end) if total > 0 && end.digest != hash => {
                format!("the export ended with another record {}", end.last)
            }
            Some(_) => return self.compare(hashes),
        };
        self.found.tell(Kind::Cut, Some(seq + 1), reason);
        self.compare(hashes);
    }

    fn compare(&mut self, hashes: &std::collections::BTreeMap<u64, String>) {
        let Some(key) = self.found.key else { return };
        for mark in std::mem::take(&mut self.marks) {
            let Mark { number, sequence, time, .. } = &mark;
            let kept = hashes.get(sequence);
            if Some(&mark.ledger) != self.found.ledger.as_ref() || !mark.is_signed_by(&key) {
                let reason = format!("checkpoint {number} is not as it was signed: it was edited");
                self.found.tell(Kind::Signature, Some(*sequence), reason);
            } else if kept.is_some_and(|hash| *hash != mark.digest) {
                self.found.tell(Kind::Rewritten, Some(*sequence), format!(
                    "checkpoint {number} of {time} vouches for another record {sequence}: it or one \
                     before it was changed and the digests computed anew"
                ));
            } else if kept.is_some() {
                self.found.checkpoints += 1;
                self.found.vouched_to = self.found.vouched_to.max(*sequence);
            }
        }
    }
}
