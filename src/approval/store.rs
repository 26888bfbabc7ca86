//! The database of approvals: every change is one transaction that is on the disk when it returns.
//! It knows nothing of who may decide.

use std::fs::File;
use std::path::Path;

use jiff::Timestamp;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use super::{Approval, Config, Decided, Error, Filter, State, Wanted};
use crate::config::{self, database};

/// Approvals that a list has at most.
const LIMIT: u32 = 1000;

const FORM: config::Form = config::Form {
    key: "approvals.path",
    // `SWAP`.
    application: 0x5357_4150,
    format: 1,
    schema: CREATE,
};
const CREATE: &str = "
    CREATE TABLE approval (
        id TEXT PRIMARY KEY,
        revision INTEGER NOT NULL UNIQUE,
        state TEXT NOT NULL,
        digest TEXT NOT NULL,
        caller TEXT NOT NULL,
        tenant TEXT NOT NULL,
        conversation TEXT NOT NULL,
        asked_ms INTEGER NOT NULL,
        decide_by_ms INTEGER NOT NULL,
        use_by_ms INTEGER,
        wanted TEXT NOT NULL,
        decided TEXT,
        used_by TEXT
    ) STRICT;
    CREATE INDEX approval_digest ON approval (digest);
    CREATE INDEX approval_state ON approval (state);
";
const COLUMNS: &str =
    "id, revision, state, asked_ms, decide_by_ms, use_by_ms, wanted, decided, used_by";

/// The writing end; no other process has one as long as this lives.
#[derive(Debug)]
pub(super) struct Store {
    connection: Connection,
    revision: i64,
    /// The revision up to which arguments of what is settled were dropped.
    cleared: i64,
    /// Held, not read: its lock ends with the process, however that ends.
    _lock: File,
}

impl Store {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let refused = |reason: String| Error::Open { path: path.to_owned(), reason };
        let (connection, lock) = database(path, &FORM).map_err(refused)?;
        // A decision that was told to a person outlives a loss of power too.
        connection.pragma_update(None, "synchronous", "FULL")?;
        let newest = "SELECT coalesce(max(revision), 0) FROM approval";
        let unread = |error: rusqlite::Error| refused(format!("{error}: move the file away"));
        let revision = connection.query_row(newest, [], |row| row.get(0)).map_err(unread)?;
        Ok(Self { connection, revision, cleared: 0, _lock: lock })
    }

    /// The revision of the last change.
    pub(super) fn revision(&self) -> u64 {
        unsigned(self.revision)
    }

    pub(super) fn get(&self, id: &str, now: Timestamp) -> Result<Option<Approval>, Error> {
        let sql = format!("SELECT {COLUMNS} FROM approval WHERE id = ?1");
        let found = self.connection.prepare_cached(&sql)?.query_row([id], read).optional()?;
        Ok(found.map(|approval| at(approval, now)))
    }

    /// The newest approval that says something to a call like this one.
    pub(super) fn latest(
        &self,
        wanted: &Wanted,
        now: Timestamp,
    ) -> Result<Option<Approval>, Error> {
        let sql = format!(
            "SELECT {COLUMNS} FROM approval
             WHERE digest = ?1 AND conversation = ?2 AND state IN ('pending', 'approved', 'denied')
             ORDER BY revision DESC LIMIT 1"
        );
        let values = [&wanted.digest, &wanted.conversation];
        let found = self.connection.prepare_cached(&sql)?.query_row(values, read).optional()?;
        Ok(found.map(|approval| at(approval, now)).filter(|approval| match approval.state {
            State::Pending | State::Approved => true,
            // What a person refused is not asked again at once.
            State::Denied => now < approval.decide_by,
            State::Expired | State::Used => false,
        }))
    }

    /// The approval that a call names, if it holds for that call or still may.
    pub(super) fn fitting(
        &self,
        id: &str,
        wanted: &Wanted,
        now: Timestamp,
    ) -> Result<Approval, Error> {
        let own = |found: &Approval| {
            found.wanted.caller == wanted.caller && found.wanted.tenant == wanted.tenant
        };
        let unknown = Error::Unfit {
            id: id.to_owned(),
            state: None,
            why: "there is none with that id for this caller",
        };
        let found = self.get(id, now)?.filter(own).ok_or(unknown)?;
        let asked = &found.wanted;
        let why = match found.state {
            _ if asked.tool != wanted.tool => "it is for another tool",
            _ if asked.tool_digest != wanted.tool_digest => {
                "the tool's definition has changed since"
            }
            _ if asked.policy_version != wanted.policy_version => "the policies have changed since",
            _ if asked.conversation != wanted.conversation => "it is for another conversation",
            _ if asked.digest != wanted.digest => "it is for other arguments or files",
            State::Used => "it was used before",
            State::Expired => "it has expired",
            State::Pending | State::Approved | State::Denied => return Ok(found),
        };
        Err(Error::unfit(&found, why))
    }

    /// Refuses one more where too many are pending.
    pub(super) fn room(&self, wanted: &Wanted, config: &Config) -> Result<(), Error> {
        let count = "SELECT count(*), count(CASE WHEN caller = ?1 AND tenant = ?2 THEN 1 END)
            FROM approval WHERE state = 'pending'";
        let (all, own): (u32, u32) = self
            .connection
            .prepare_cached(count)?
            .query_row([&wanted.caller, &wanted.tenant], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if own >= config.pending_per_caller {
            return Err(Error::Crowded { pending: own, whose: "all of this caller" });
        }
        if all >= config.pending {
            return Err(Error::Crowded { pending: all, whose: "of all callers together" });
        }
        Ok(())
    }

    pub(super) fn insert(
        &mut self,
        wanted: &Wanted,
        now: Timestamp,
        decide_by: Timestamp,
    ) -> Result<Approval, Error> {
        let id = uuid::Uuid::now_v7().to_string();
        let text = serde_json::to_string(wanted).unwrap_or_default();
        let (asked, by) = (now.as_millisecond(), decide_by.as_millisecond());
        let revision = self.revision + 1;
        self.connection.execute(
            "INSERT INTO approval (id, revision, state, digest, caller, tenant, conversation,
                asked_ms, decide_by_ms, wanted)
             VALUES (?1, ?2, 'pending', ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                id,
                revision,
                wanted.digest,
                wanted.caller,
                wanted.tenant,
                wanted.conversation,
                asked,
                by,
                text
            ],
        )?;
        self.revision = revision;
        count("asked");
        self.get(&id, now)?.ok_or(Error::Unknown { id })
    }

    /// Uses an approval for a call; false when another call was faster.
    pub(super) fn claim(
        &mut self,
        approval: &Approval,
        call_id: &str,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let set = "UPDATE approval SET state = 'used', used_by = ?3, revision = ?2
            WHERE id = ?1 AND state = 'approved' AND use_by_ms > ?4";
        let values = params![approval.id, self.revision + 1, call_id, now.as_millisecond()];
        let claimed = self.connection.execute(set, values)? == 1;
        self.revision += i64::from(claimed);
        if claimed {
            count("used");
        }
        Ok(claimed)
    }

    /// Undoes the claim of a call.
    pub(super) fn unclaim(&mut self, id: &str, call_id: &str) -> Result<(), Error> {
        let set = "UPDATE approval SET state = 'approved', used_by = NULL, revision = ?2
            WHERE id = ?1 AND state = 'used' AND used_by = ?3";
        let changed = self.connection.execute(set, params![id, self.revision + 1, call_id])? == 1;
        self.revision += i64::from(changed);
        Ok(())
    }

    pub(super) fn decide(
        &mut self,
        id: &str,
        decided: &Decided,
        use_by: Option<Timestamp>,
    ) -> Result<Approval, Error> {
        let unknown = || Error::Unknown { id: id.to_owned() };
        // As it stood when the person decided: recording that took its time, in which it may have been
        // marked as expired.
        let now = time(decided.at_ms);
        let found = self.get(id, now)?.ok_or_else(unknown)?;
        if found.decided.is_some() || now >= found.decide_by {
            return Err(Error::NotPending { id: found.id, state: found.state });
        }
        let state = if decided.approve { State::Approved } else { State::Denied };
        let text = serde_json::to_string(decided).unwrap_or_default();
        let use_by = use_by.map(Timestamp::as_millisecond);
        self.connection.execute(
            "UPDATE approval SET state = ?2, decided = ?3, use_by_ms = ?4, revision = ?5
             WHERE id = ?1",
            params![id, state.as_str(), text, use_by, self.revision + 1],
        )?;
        self.revision += 1;
        count(state.as_str());
        self.get(id, now)?.ok_or_else(unknown)
    }

    pub(super) fn list(&self, filter: &Filter, now: Timestamp) -> Result<Vec<Approval>, Error> {
        let mut conditions = "true".to_owned();
        let mut values = Vec::new();
        if let Some(after) = filter.changed_after {
            conditions.push_str(" AND revision > ?");
            values.push(Sql::Integer(i64::try_from(after).unwrap_or(i64::MAX)));
        }
        if let Some(before) = &filter.before {
            conditions.push_str(" AND id < ?");
            values.push(Sql::Text(before.clone()));
        }
        // What is marked as pending or approved may have expired since.
        let stored: Vec<&str> = State::ALL
            .into_iter()
            .filter(|state| {
                let may_expire = matches!(state, State::Pending | State::Approved);
                filter.states.is_empty()
                    || filter.states.contains(state)
                    || (may_expire && filter.states.contains(&State::Expired))
            })
            .map(State::as_str)
            .collect();
        conditions.push_str(&format!(" AND state IN ('{}')", stored.join("', '")));
        let order = if filter.changed_after.is_some() { "revision" } else { "id DESC" };
        let sql = format!("SELECT {COLUMNS} FROM approval WHERE {conditions} ORDER BY {order}");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let wanted = |approval: &Approval| {
            filter.states.is_empty() || filter.states.contains(&approval.state)
        };
        let limit = usize::try_from(filter.limit.clamp(1, LIMIT)).unwrap_or_default();
        let mut found = Vec::new();
        for approval in statement.query_map(params_from_iter(values), read)? {
            let approval = at(approval?, now);
            if wanted(&approval) {
                found.push(approval);
            }
            if found.len() == limit {
                break;
            }
        }
        Ok(found)
    }

    /// Marks what has expired.
    pub(super) fn expire(&mut self, now: Timestamp) -> Result<(), Error> {
        let late = "SELECT id FROM approval
            WHERE (state = 'pending' AND decide_by_ms <= ?1)
               OR (state = 'approved' AND use_by_ms <= ?1)";
        let ids: Vec<String> = self
            .connection
            .prepare_cached(late)?
            .query_map([now.as_millisecond()], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        for id in ids {
            let set = "UPDATE approval SET state = 'expired', revision = ?2 WHERE id = ?1";
            self.connection.execute(set, params![id, self.revision + 1])?;
            self.revision += 1;
            count("expired");
        }
        Ok(())
    }

    /// Drops the arguments of what is settled: nobody has to judge them any more, and the ledger has
    /// what is to be kept of them.
    pub(super) fn clear(&mut self) -> Result<(), Error> {
        let sql = "UPDATE approval SET wanted = json_set(wanted, '$.arguments', '')
            WHERE revision > ?1 AND state IN ('used', 'denied', 'expired')";
        if self.revision > self.cleared {
            self.connection.execute(sql, [self.cleared])?;
            self.cleared = self.revision;
        }
        Ok(())
    }

    /// Removes what was settled and asked for before a time.
    pub(super) fn forget(&mut self, before: Timestamp) -> Result<(), Error> {
        // The newest stays, so that revisions go on from it after a restart.
        let sql = "DELETE FROM approval WHERE asked_ms < ?1
            AND state NOT IN ('pending', 'approved') AND revision < ?2";
        self.connection.execute(sql, params![before.as_millisecond(), self.revision])?;
        Ok(())
    }

    /// How many are pending.
    pub(super) fn pending(&self) -> Result<f64, Error> {
        let sql = "SELECT count(*) FROM approval WHERE state = 'pending'";
        let pending: u32 = self.connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        Ok(f64::from(pending))
    }
}

fn count(outcome: &'static str) {
    metrics::counter!("switchboard_approvals_total", "outcome" => outcome).increment(1);
}

/// The approval as it stands at a time, whether or not that was marked yet.
fn at(mut approval: Approval, now: Timestamp) -> Approval {
    let late = match approval.state {
        State::Pending => approval.decide_by <= now,
        State::Approved => approval.use_by.is_none_or(|by| by <= now),
        State::Denied | State::Expired | State::Used => false,
    };
    if late {
        approval.state = State::Expired;
    }
    approval
}

fn read(row: &Row<'_>) -> rusqlite::Result<Approval> {
    let state: String = row.get(2)?;
    let (wanted, decided): (String, Option<String>) = (row.get(6)?, row.get(7)?);
    let use_by: Option<i64> = row.get(5)?;
    Ok(Approval {
        id: row.get(0)?,
        revision: unsigned(row.get(1)?),
        // What cannot be read holds for nothing.
        state: State::parse(&state).unwrap_or(State::Expired),
        asked: time(row.get(3)?),
        decide_by: time(row.get(4)?),
        use_by: use_by.map(time),
        wanted: parse(6, &wanted)?,
        decided: decided.map(|text| parse(7, &text)).transpose()?,
        used_by: row.get(8)?,
    })
}

fn parse<T: serde::de::DeserializeOwned>(column: usize, text: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error.into())
    })
}

fn time(millis: i64) -> Timestamp {
    Timestamp::from_millisecond(millis).unwrap_or_default()
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
