//! Keys and checkpoints: when they are made, what they bind, and ledgers from before there were any.

use rusqlite::params;
use sha2::{Digest, Sha256};

use super::*;
use crate::ledger::keeping::Keeping;
use crate::ledger::record::{Hash, Row};

/// What the first version made.
const FIRST: &str = "
    CREATE TABLE call (
        seq INTEGER PRIMARY KEY, call_id TEXT NOT NULL UNIQUE, time_ms INTEGER NOT NULL,
        caller TEXT NOT NULL, tenant TEXT NOT NULL, conversation TEXT NOT NULL,
        tool TEXT NOT NULL, status TEXT NOT NULL, code TEXT, arguments TEXT NOT NULL,
        facts TEXT NOT NULL, reply BLOB NOT NULL, reply_digest BLOB NOT NULL, hash BLOB NOT NULL
    ) STRICT;
    CREATE INDEX call_time ON call (time_ms);
    CREATE INDEX call_tool ON call (tool);
    CREATE INDEX call_caller ON call (caller);
    CREATE INDEX call_code ON call (code) WHERE code IS NOT NULL;
    CREATE INDEX call_conversation ON call (conversation) WHERE conversation <> '';
    CREATE TABLE chain (
        one INTEGER PRIMARY KEY CHECK (one = 1), base_seq INTEGER NOT NULL,
        base_hash BLOB NOT NULL, head_seq INTEGER NOT NULL, head_hash BLOB NOT NULL
    ) STRICT;
    PRAGMA application_id = 1398230087;
    PRAGMA user_version = 1;
";

fn marks(config: &Config) -> Vec<crate::ledger::Mark> {
    let text = fs::read_to_string(config.checkpoints_path()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A ledger of the first format whose records before `from` were pruned.
fn first_format(config: &Config, from: i64) {
    let connection = Connection::open(&config.path).unwrap();
    connection.execute_batch(&format!("PRAGMA journal_mode = WAL; {FIRST}")).unwrap();
    let (base, mut hash): (i64, Hash) = (from - 1, [u8::from(from > 1); 32]);
    connection
        .execute("INSERT INTO chain VALUES (1, ?1, ?2, ?1, ?2)", params![base, hash])
        .unwrap();
    for seq in from..from + 5 {
        let reply = "{}".to_owned();
        let mut row = Row::of_record(record("old"), reply, &Keeping::new(config).unwrap()).unwrap();
        row.facts =
            "{\"decision\":{\"policies\":[\"p\"],\"version\":\"v\"},\"run\":null}".to_owned();
        row.reply_digest = Sha256::digest("{}").into();
        hash = row.parts().link(&hash, seq);
        connection
            .execute(
                "INSERT INTO call VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
                params![
                    seq, row.call_id, row.time_ms, row.caller, row.tenant, row.conversation,
                    row.tool, row.status, row.code, row.arguments, row.facts, row.reply,
                    row.reply_digest, hash
                ],
            )
            .unwrap();
        connection
            .execute("UPDATE chain SET head_seq = ?1, head_hash = ?2", params![seq, hash])
            .unwrap();
    }
}

#[tokio::test]
async fn ledger_of_the_first_format_is_read_signed_and_goes_on() {
    for from in [1, 41] {
        let folder = tempfile::tempdir().unwrap();
        let config = config(&folder);
        first_format(&config, from);
        let unsigned = verify(&config.path, &Against::default()).unwrap();
        assert!(
            unsigned.holds() && unsigned.records == 5 && unsigned.key.is_none(),
            "{unsigned:#?}"
        );
        let before = Ledger::open_read_only(&config.path).unwrap();
        assert_eq!(before.search(Query::default()).await.unwrap().len(), 5);
        assert_eq!(public_key(&config.path).unwrap(), None);
        drop(before);
        let ledger = Ledger::open(&config).unwrap();
        let old = ledger.search(Query::default()).await.unwrap();
        let entry = ledger.get(&old[0].call_id).await.unwrap().unwrap();
        assert_eq!(tell(&entry).code, "SUCCESS");
        keep(&ledger, 2).await;
        ledger.close().await.unwrap();
        let found = verify(&config.path, &Against::default()).unwrap();
        let head = u64::try_from(from).unwrap() + 6;
        assert!(found.holds(), "{found:#?}");
        assert_eq!((found.records, found.head, found.vouched_to), (7, head, head));
    }
}

#[tokio::test]
async fn key_is_made_once_private_and_belongs_to_its_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(&folder);
    let open = || Ledger::open(&config);
    open().unwrap().close().await.unwrap();
    let key = fs::read(config.key_path()).unwrap();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(config.key_path()), mode(config.checkpoints_path())), (0o600, 0o600));
    open().unwrap().close().await.unwrap();
    assert_eq!(fs::read(config.key_path()).unwrap(), key, "it stays");

    let refused = || match open() {
        Err(Error::Key { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    fs::set_permissions(config.key_path(), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(refused().contains("chmod 600"));
    fs::remove_file(config.key_path()).unwrap();
    assert!(refused().contains("missing"));
    let other = tempfile::tempdir().unwrap();
    let stranger = super::config(&other);
    Ledger::open(&stranger).unwrap().close().await.unwrap();
    fs::copy(stranger.key_path(), config.key_path()).unwrap();
    assert!(refused().contains("put the old key back"));
    fs::write(config.key_path(), "no key").unwrap();
    assert!(refused().contains("PEM"));
    fs::write(config.key_path(), key).unwrap();
    open().unwrap().close().await.unwrap();
}

#[tokio::test]
async fn checkpoints_come_after_records_after_a_time_and_at_the_end() {
    for (records, every) in [(5, 3600), (1_000_000, 0)] {
        let folder = tempfile::tempdir().unwrap();
        let config = Config {
            checkpoint_records: records,
            checkpoint_every: Duration::from_secs(every),
            ..config(&folder)
        };
        let ledger = Ledger::open(&config).unwrap();
        assert_eq!(marks(&config).len(), 1, "where the chain begins");
        keep(&ledger, 5).await;
        while marks(&config).iter().all(|mark| mark.sequence < 5) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let count = marks(&config).len();
        keep(&ledger, 1).await;
        ledger.close().await.unwrap();
        let last = marks(&config).pop().unwrap();
        assert_eq!((last.sequence, last.purpose), (6, Purpose::Checkpoint));
        assert!(last.message().starts_with("switchboard ledger 1\ncheckpoint\n"));
        Ledger::open(&config).unwrap().close().await.unwrap();
        let now = marks(&config).len();
        assert!(
            now > count && marks(&config).pop().unwrap() == last,
            "nothing new, nothing signed"
        );
    }
}

#[tokio::test]
async fn retention_leaves_a_signed_anchor_and_a_prune_by_hand_does_not_pass_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(&folder);
    let ledger = Ledger::open(&config).unwrap();
    let old = Timestamp::now() - SignedDuration::from_hours(24 * 31);
    for _ in 0..20 {
        ledger.record(Record { received: old, ..record("old") }, "{}").await.unwrap();
    }
    keep(&ledger, 10).await;
    prune(&ledger).await.unwrap();
    ledger.close().await.unwrap();
    let against = Against { checkpoints: Some(config.checkpoints_path()), ..Against::default() };
    let found = verify(&config.path, &against).unwrap();
    assert!(found.holds(), "{found:#?}");
    assert_eq!((found.pruned_to, found.records, found.vouched_to), (20, 10, 30));
    assert!(found.complete_from.unwrap() > old);
    let anchor = marks(&config).into_iter().rfind(|mark| mark.purpose == Purpose::Anchor).unwrap();
    assert_eq!(anchor.sequence, 20);
    tamper(
        &folder,
        "UPDATE chain SET base_seq = 25, base_hash = (SELECT hash FROM call WHERE seq = 25);
         DELETE FROM call WHERE seq <= 25",
    );
    let told = verify(&config.path, &against).unwrap().damage;
    assert_eq!((told[0].kind, told[0].seq), (Kind::Missing, Some(1)), "{told:#?}");
    assert!(told[0].reason.contains("no signed anchor"), "{told:#?}");
}

#[tokio::test]
async fn signed_ledger_that_is_made_to_look_unsigned_is_found_and_not_signed_anew() {
    let (folder, ledger) = fresh();
    let config = config(&folder);
    keep(&ledger, 3).await;
    ledger.close().await.unwrap();
    tamper(
        &folder,
        "DROP TABLE seal; DROP TABLE mark; DROP TABLE original; PRAGMA user_version = 1;",
    );
    fs::remove_file(config.checkpoints_path()).unwrap();
    let against = Against { checkpoints: Some(config.checkpoints_path()), ..Against::default() };
    assert!(!verify(&config.path, &against).unwrap().holds());
    let refused = Ledger::open(&config).unwrap_err();
    assert!(matches!(&refused, Error::Key { .. }), "{refused:?}");
    assert!(refused.to_string().contains("never signed"), "{refused}");
    // Looked at and found good, with the key out of the way, it begins a new signed life.
    fs::rename(config.key_path(), folder.path().join("old.key")).unwrap();
    Ledger::open(&config).unwrap().close().await.unwrap();
}
