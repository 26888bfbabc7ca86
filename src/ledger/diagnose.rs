//! What is wrong with a record that does not follow the one before it: the record and its
//! neighbours in, the [`Damage`] and the place from which verification can go on out.

use rusqlite::{Connection, OptionalExtension};
use sha2::{Digest, Sha256};

use super::Error;
use super::record::{Hash, Parts, TEXTS};
use super::verify::{At, COLUMNS, Damage, Ends, Kind, View, unsigned};

/// Records that may have been removed in one place when the later ones were renumbered.
const RENUMBERED: i64 = 1000;
/// Bytes of a record up to which a changed bit in it is looked for.
const SEARCHED_BYTES: usize = 8 << 10;

/// How much work the searches may still make.
#[derive(Debug)]
pub(super) struct Limits {
    /// Hashes to find the place that a record was taken from.
    homes: u64,
    /// Records in which a changed bit is looked for.
    bits: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { homes: 3_000_000, bits: 8 }
    }
}

/// A record as the database holds it.
struct Held {
    seq: i64,
    hash: Hash,
    time_ms: i64,
    texts: [Vec<u8>; 9],
    reply_digest: Vec<u8>,
    reply: Vec<u8>,
}

impl Held {
    fn of(view: &View<'_>) -> Self {
        Self {
            seq: view.seq,
            hash: view.hash,
            time_ms: view.parts.time_ms,
            texts: view.parts.texts.map(<[u8]>::to_vec),
            reply_digest: view.parts.reply_digest.to_vec(),
            reply: view.reply.to_vec(),
        }
    }

    /// The first record from a place on; `Err` with its place when it holds what no record does.
    fn read(connection: &Connection, from: i64) -> rusqlite::Result<Option<Result<Self, i64>>> {
        let sql = format!("SELECT {COLUMNS} FROM call WHERE seq >= ?1 ORDER BY seq LIMIT 1");
        let mut statement = connection.prepare_cached(&sql)?;
        let read = |row: &rusqlite::Row<'_>| {
            let place = row.get(0)?;
            Ok(View::of(row).map(|view| Self::of(&view)).ok_or(place))
        };
        statement.query_row([from], read).optional()
    }

    fn parts(&self) -> Parts<'_> {
        Parts {
            time_ms: self.time_ms,
            texts: self.texts.each_ref().map(Vec::as_slice),
            reply_digest: &self.reply_digest,
        }
    }

    fn link(&self, previous: &Hash, seq: i64) -> Hash {
        self.parts().link(previous, seq)
    }

    fn call_id(&self) -> Option<String> {
        let [call_id, ..] = &self.texts;
        Some(String::from_utf8_lossy(call_id).into_owned())
    }

    fn damage(&self, kind: Kind, seq: i64, reason: impl Into<String>) -> Damage {
        let (seq, reason) = (Some(unsigned(seq)), reason.into());
        Damage { kind, seq, call_id: self.call_id(), reason }
    }

    /// The column in which one bit is not as it was written.
    fn flipped(&self, previous: &Hash, seq: i64) -> Option<&'static str> {
        if self.texts.iter().map(Vec::len).sum::<usize>() > SEARCHED_BYTES {
            return None;
        }
        for bit in 0..64 {
            let parts = Parts { time_ms: self.time_ms ^ (1 << bit), ..self.parts() };
            if parts.link(previous, seq) == self.hash {
                return Some("time_ms");
            }
        }
        for (at, name) in TEXTS.into_iter().enumerate() {
            let mut text = self.texts.get(at)?.clone();
            for byte in 0..text.len() {
                for bit in 0..8 {
                    *text.get_mut(byte)? ^= 1 << bit;
                    let mut parts = self.parts();
                    *parts.texts.get_mut(at)? = &text;
                    if parts.link(previous, seq) == self.hash {
                        return Some(name);
                    }
                    *text.get_mut(byte)? ^= 1 << bit;
                }
            }
        }
        None
    }
}

/// A record that is not right, with what stands around it.
struct Case<'c> {
    snapshot: &'c Connection,
    ends: &'c Ends,
    at: &'c At,
    row: Held,
    /// The record right after it, if there is one.
    next: Option<Held>,
    /// Whether nothing at all follows.
    last: bool,
}

type Judged = (Damage, At);

/// Says what is wrong with the record at `place`, and where to go on.
pub(super) fn judge(
    snapshot: &Connection,
    ends: &Ends,
    (at, place): (&At, i64),
    limits: &mut Limits,
) -> Result<Judged, Error> {
    let row = match Held::read(snapshot, place)? {
        Some(Ok(row)) => row,
        Some(Err(_)) | None => return Ok(malformed(at, place)),
    };
    let after = Held::read(snapshot, place + 1)?;
    let last = after.is_none();
    let next = after.and_then(Result::ok).filter(|next| next.seq == place + 1);
    let case = Case { snapshot, ends, at, row, next, last };
    if place + at.shift > ends.head {
        return case.beyond(limits);
    }
    if place > at.seq + 1 {
        return Ok(case.gap());
    }
    if let Some(judged) = case.reply().or_else(|| case.digest()).or_else(|| case.neighbours()) {
        return Ok(judged);
    }
    match case.moved(limits)? {
        Some(judged) => Ok(judged),
        None => Ok(case.changed(limits)),
    }
}

fn malformed(at: &At, place: i64) -> Judged {
    let damage = Damage {
        kind: Kind::Changed,
        seq: Some(unsigned(place)),
        call_id: None,
        reason: "a column holds a value of another type than a record has there".to_owned(),
    };
    (damage, At { seq: place, blind: true, ..*at })
}

impl Case<'_> {
    /// The place at which the record would have been written.
    fn seq(&self) -> i64 {
        self.row.seq + self.at.shift
    }

    /// Whether the next record continues this hash, written at `seq`.
    fn continues(&self, hash: &Hash, seq: i64) -> bool {
        self.next.as_ref().is_some_and(|next| next.link(hash, seq) == next.hash)
    }

    /// Whether this is the hash of the newest record of all.
    fn ends_with(&self, hash: &Hash) -> bool {
        self.last && *hash == self.ends.head_hash
    }

    /// Goes on after the record, whose hash was `hash`.
    fn after(&self, hash: Hash) -> At {
        At { seq: self.row.seq, hash, blind: false, ..*self.at }
    }

    fn gap(&self) -> Judged {
        let (from, to) = (self.at.seq + 1, self.row.seq - 1);
        let gone = if from == to {
            format!("record {from} is")
        } else {
            format!("records {from} to {to} are")
        };
        let damage = self.row.damage(
            Kind::Missing,
            from,
            format!("{gone} gone; what follows is call {}", self.row.call_id().unwrap_or_default()),
        );
        // The hash that the next record continues went with the one before it.
        let at = At { seq: to, blind: true, ..*self.at };
        (Damage { call_id: None, ..damage }, at)
    }

    fn beyond(&self, limits: &mut Limits) -> Result<Judged, Error> {
        let at = At { seq: self.row.seq, ..*self.at };
        let head = self.ends.head;
        let (kind, reason) = match self.home(limits)? {
            Some(home) if home <= head => {
                (Kind::Reordered, format!("it is record {home}, which was put behind the end"))
            }
            Some(_) | None => (
                Kind::Inserted,
                format!("it stands behind record {head}, the last one that was written"),
            ),
        };
        Ok((self.row.damage(kind, self.row.seq, reason), at))
    }

    /// The reply, or the digest that stands for it.
    fn reply(&self) -> Option<Judged> {
        let row = &self.row;
        let digest = Sha256::digest(&row.reply);
        if digest.as_slice() == row.reply_digest {
            return None;
        }
        let right = self.at.blind || row.link(&self.at.hash, self.seq()) == row.hash;
        let parts = Parts { reply_digest: &digest, ..row.parts() };
        let column = if right {
            "reply"
        } else if parts.link(&self.at.hash, self.seq()) == row.hash {
            "reply_digest"
        } else {
            return None;
        };
        let damage = row.damage(Kind::Changed, row.seq, format!("its `{column}` was changed"));
        Some((damage, self.after(row.hash)))
    }

    /// The record's own digest.
    fn digest(&self) -> Option<Judged> {
        let written = self.row.link(&self.at.hash, self.seq());
        let told = self.continues(&written, self.seq() + 1) || self.ends_with(&written);
        told.then(|| {
            let reason = "its `hash` was changed";
            (self.row.damage(Kind::Changed, self.row.seq, reason), self.after(written))
        })
    }

    /// Records that came in, changed places or went, the later ones being renumbered.
    fn neighbours(&self) -> Option<Judged> {
        let (row, seq) = (&self.row, self.seq());
        if let Some(next) = &self.next
            && self.continues(&self.at.hash, seq)
        {
            if row.link(&next.hash, seq + 1) == row.hash {
                let damage = row.damage(
                    Kind::Reordered,
                    row.seq,
                    format!(
                        "it is record {}, which changed places with record {} (call {})",
                        next.seq,
                        row.seq,
                        next.call_id().unwrap_or_default()
                    ),
                );
                return Some((damage, At { seq: next.seq, ..self.after(row.hash) }));
            }
            let reason = "it was not written here: the record after it continues the one before it, \
                          and the later ones were renumbered";
            let at = At { seq: row.seq, shift: self.at.shift - 1, ..*self.at };
            return Some((row.damage(Kind::Inserted, row.seq, reason), at));
        }
        let gone =
            (1..=RENUMBERED).find(|gone| self.continues(&row.hash, seq + 1 + gone)).or_else(
                || Some(self.ends.head - seq).filter(|n| *n > 0 && self.ends_with(&row.hash)),
            )?;
        let damage = row.damage(
            Kind::Missing,
            row.seq,
            format!(
                "{gone} before it gone, and the later ones were renumbered",
                gone = if gone == 1 {
                    "a record is".to_owned()
                } else {
                    format!("{gone} records are")
                }
            ),
        );
        let shift = self.at.shift + gone;
        Some((damage, At { shift, ..self.after(row.hash) }))
    }

    /// A record that was written at another place.
    fn moved(&self, limits: &mut Limits) -> Result<Option<Judged>, Error> {
        let Some(home) = self.home(limits)? else {
            return Ok(None);
        };
        let row = &self.row;
        let damage = row.damage(
            Kind::Reordered,
            row.seq,
            format!("it is record {home}, which was put in this place"),
        );
        // What was here may have been put there.
        let there = Held::read(self.snapshot, home - self.at.shift)?.and_then(Result::ok);
        let known = there.filter(|there| self.continues(&there.hash, self.seq() + 1));
        let at = match known {
            Some(there) => self.after(there.hash),
            None => At { blind: true, ..self.after(row.hash) },
        };
        Ok(Some((damage, at)))
    }

    /// The place at which the record continues the one before it.
    fn home(&self, limits: &mut Limits) -> Result<Option<i64>, Error> {
        let Ends { base, base_hash, .. } = self.ends;
        if self.row.link(base_hash, base + 1) == self.row.hash {
            return Ok(Some(base + 1));
        }
        let mut statement = self.snapshot.prepare_cached("SELECT seq, hash FROM call")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if limits.homes == 0 {
                return Ok(None);
            }
            limits.homes -= 1;
            let (seq, hash): (i64, Hash) = (row.get(0)?, row.get(1)?);
            let place = seq + 1 + self.at.shift;
            if seq != self.row.seq && self.row.link(&hash, place) == self.row.hash {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    fn changed(&self, limits: &mut Limits) -> Judged {
        let row = &self.row;
        if !self.continues(&row.hash, self.seq() + 1) && !self.ends_with(&row.hash) {
            let reason = "its content and its digest were changed: neither fits the record before \
                          nor the one after";
            let at = At { blind: true, ..self.after(row.hash) };
            return (row.damage(Kind::Changed, row.seq, reason), at);
        }
        let may = limits.bits > 0;
        limits.bits = limits.bits.saturating_sub(1);
        let bit = may.then(|| row.flipped(&self.at.hash, self.seq())).flatten();
        let reason = bit.map_or_else(
            || "its content was changed".to_owned(),
            |column| format!("one bit of its `{column}` was changed"),
        );
        (row.damage(Kind::Changed, row.seq, reason), self.after(row.hash))
    }
}
