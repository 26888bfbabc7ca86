//! Ledgers that were damaged on purpose, in each way: what verification names.

use rusqlite::params;

use super::*;
use crate::ledger::record::{Hash, TEXTS};

/// A closed ledger of eight records, of which each is a refused call; and the calls' ids.
async fn eight(folder: &TempDir) -> Vec<String> {
    let ledger = Ledger::open(&config(folder)).unwrap();
    let mut ids = Vec::new();
    for index in 0..8 {
        let given = Record { code: Some(Code::ToolTimeout), ..record("t") };
        ids.push(given.call_id.clone());
        ledger.record(given, &format!("{{\"index\":{index}}}")).await.unwrap();
    }
    ledger.close().await.unwrap();
    ids
}

fn found(folder: &TempDir) -> Verification {
    let config = config(folder);
    let against = Against { checkpoints: Some(config.checkpoints_path()), ..Against::default() };
    verify(&config.path, &against).unwrap()
}

/// Kind, place and reason of each damage.
fn told(folder: &TempDir) -> Vec<(Kind, Option<u64>, String)> {
    let found = found(folder);
    found.damage.into_iter().map(|one| (one.kind, one.seq, one.reason)).collect()
}

fn lines(folder: &TempDir) -> Vec<String> {
    let text = fs::read_to_string(config(folder).checkpoints_path()).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn put(folder: &TempDir, lines: &[String]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(config(folder).checkpoints_path(), text).unwrap();
}

#[tokio::test]
async fn flipped_bit_is_found_in_each_column() {
    let columns = ["time_ms", "reply", "reply_digest", "hash"].into_iter().chain(TEXTS);
    for column in columns {
        let folder = tempfile::tempdir().unwrap();
        let ids = eight(&folder).await;
        let sql = if column == "time_ms" {
            "UPDATE call SET time_ms = time_ms + 1 - 2 * (time_ms & 1) WHERE seq = 4".to_owned()
        } else {
            let connection = Connection::open(config(&folder).path).unwrap();
            let read = format!("SELECT hex({column}) FROM call WHERE seq = 4");
            let held: String = connection.query_row(&read, [], |row| row.get(0)).unwrap();
            let mut bytes = hex::decode(held).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            let kind = if TEXTS.contains(&column) { "TEXT" } else { "BLOB" };
            format!(
                "UPDATE call SET {column} = CAST(x'{}' AS {kind}) WHERE seq = 4",
                hex::encode(bytes)
            )
        };
        tamper(&folder, &sql);
        let found = found(&folder);
        assert_eq!(found.damage.len(), 1, "{column}: {found:#?}");
        let damage = &found.damage[0];
        assert_eq!((damage.kind, damage.seq), (Kind::Changed, Some(4)), "{column}: {damage:?}");
        assert!(damage.reason.contains(&format!("`{column}`")), "{column}: {damage:?}");
        assert!(column == "call_id" || damage.call_id.as_ref() == Some(&ids[3]), "{damage:?}");
        assert_eq!((found.records, found.vouched_to), (7, 8), "{column}: the others stand");
    }
}

#[tokio::test]
async fn rows_that_went_came_or_moved_are_named() {
    let swap = |a: u64, b: u64| {
        format!(
            "UPDATE call SET seq = -1 WHERE seq = {a}; UPDATE call SET seq = {a} WHERE seq = {b};
             UPDATE call SET seq = {b} WHERE seq = -1"
        )
    };
    let copy = |seq: i64| {
        format!(
            "INSERT INTO call SELECT {seq}, 'forged', time_ms, caller, tenant, conversation, tool,
             status, code, arguments, facts, reply, reply_digest, hash FROM call WHERE seq = 2"
        )
    };
    let renumber = "UPDATE call SET seq = -seq - 1 WHERE seq > 3; UPDATE call SET seq = -seq
                    WHERE seq < 0; ";
    for (sql, kind, seq, word) in [
        ("DELETE FROM call WHERE seq = 4".to_owned(), Kind::Missing, 4, "record 4 is gone"),
        ("DELETE FROM call WHERE seq IN (4, 5)".to_owned(), Kind::Missing, 4, "4 to 5"),
        (
            "DELETE FROM call WHERE seq = 4; UPDATE call SET seq = seq - 1 WHERE seq > 4"
                .to_owned(),
            Kind::Missing,
            4,
            "renumbered",
        ),
        (
            "DELETE FROM call WHERE seq = 7; UPDATE call SET seq = 7 WHERE seq = 8".to_owned(),
            Kind::Missing,
            7,
            "renumbered",
        ),
        (swap(4, 5), Kind::Reordered, 4, "it is record 5"),
        (swap(2, 6), Kind::Reordered, 2, "it is record 6"),
        ("UPDATE call SET seq = 99 WHERE seq = 8".to_owned(), Kind::Reordered, 99, "record 8"),
        (format!("{renumber}{}", copy(4)), Kind::Inserted, 4, "was not written here"),
        (copy(9), Kind::Inserted, 9, "behind record 8"),
        ("DELETE FROM call WHERE seq > 6".to_owned(), Kind::Cut, 7, "7 to 8"),
        ("DELETE FROM call WHERE seq < 3".to_owned(), Kind::Missing, 1, "1 to 2"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        eight(&folder).await;
        tamper(&folder, &sql);
        let told = told(&folder);
        let (first, at, reason) = &told[0];
        assert_eq!((*first, *at), (kind, Some(seq)), "{sql}: {told:#?}");
        assert!(reason.contains(word), "{sql}: {told:#?}");
        assert!(told.len() <= 2, "one damage is not told of many times: {told:#?}");
    }
}

/// Changes a record, and computes every digest from there on anew, as one who knows how would.
fn forge(folder: &TempDir) {
    let connection = Connection::open(config(folder).path).unwrap();
    connection.execute("UPDATE call SET caller = 'somebody' WHERE seq = 4", []).unwrap();
    let hash_of = |seq: i64| -> Hash {
        let sql = "SELECT hash FROM call WHERE seq = ?1";
        connection.query_row(sql, [seq], |row| row.get(0)).unwrap()
    };
    for seq in 4..=8 {
        let sql = format!("SELECT {} FROM call WHERE seq = ?1", query::COLUMNS);
        let (_, _, row) = connection.query_row(&sql, [seq], query::read_row).unwrap();
        let hash = row.parts().link(&hash_of(seq - 1), seq);
        connection.execute("UPDATE call SET hash = ?1 WHERE seq = ?2", params![hash, seq]).unwrap();
        connection.execute("UPDATE chain SET head_hash = ?1", [hash]).unwrap();
    }
}

#[tokio::test]
async fn chain_that_was_computed_anew_does_not_fit_its_checkpoints() {
    let folder = tempfile::tempdir().unwrap();
    eight(&folder).await;
    forge(&folder);
    let told = told(&folder);
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!((told[0].0, told[0].1), (Kind::Rewritten, Some(1)), "{told:#?}");
    assert!(matches!(Ledger::open(&config(&folder)), Err(Error::Corrupt { .. })));
    // Even a checkpoint file that was shortened with it does not help.
    let first = lines(&folder)[..1].to_vec();
    put(&folder, &first);
    tamper(&folder, "DELETE FROM mark WHERE number > 1");
    assert!(found(&folder).holds(), "nothing is left that could tell");
}

#[tokio::test]
async fn cut_end_with_a_chain_that_was_mended_is_found_by_the_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    eight(&folder).await;
    tamper(
        &folder,
        "DELETE FROM call WHERE seq > 6; UPDATE chain SET head_seq = 6,
         head_hash = (SELECT hash FROM call WHERE seq = 6); DELETE FROM mark WHERE seq > 6",
    );
    let told = told(&folder);
    assert_eq!((told[0].0, told[0].1), (Kind::Cut, Some(7)), "{told:#?}");
    assert!(told[0].2.contains("vouches for record 8"), "{told:#?}");
    let error = Ledger::open(&config(&folder)).unwrap_err();
    assert!(error.to_string().contains("vouches for record 8"), "{error}");
}

#[tokio::test]
async fn replaced_file_is_named() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    eight(&folder).await;
    eight(&other).await;
    let older = fs::read(config(&folder).path).unwrap();
    let ledger = Ledger::open(&config(&folder)).unwrap();
    keep(&ledger, 3).await;
    ledger.close().await.unwrap();
    let own = fs::read(config(&folder).path).unwrap();

    fs::write(config(&folder).path, older).unwrap();
    let told_older = told(&folder);
    assert!(told_older.iter().any(|one| one.0 == Kind::Cut), "{told_older:#?}");

    fs::copy(config(&other).path, config(&folder).path).unwrap();
    let told_other = told(&folder);
    assert!(told_other.iter().any(|one| one.0 == Kind::Replaced), "{told_other:#?}");
    assert!(Ledger::open(&config(&folder)).is_err(), "its key is another one");

    fs::write(config(&folder).path, "").unwrap();
    assert_eq!(told(&folder)[0].0, Kind::Foreign);
    let error = Ledger::open(&config(&folder)).unwrap_err();
    assert!(error.to_string().contains("belongs to the ledger"), "{error}");
    fs::write(config(&folder).path, "a shopping list".repeat(99)).unwrap();
    assert_eq!(told(&folder)[0].0, Kind::Foreign);

    let half = own.len() / 2;
    fs::write(config(&folder).path, &own[..half]).unwrap();
    assert_eq!(told(&folder)[0].0, Kind::Unreadable);
}

#[tokio::test]
async fn checkpoints_that_were_edited_removed_or_cut_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..3 {
        let ledger = Ledger::open(&config(&folder)).unwrap();
        keep(&ledger, 2).await;
        ledger.close().await.unwrap();
    }
    let whole = lines(&folder);
    assert_eq!(whole.len(), 4, "one anchor, and one checkpoint each time that it was closed");
    assert!(found(&folder).holds());
    let mut edited = whole.clone();
    edited[2] = edited[2].replace("\"sequence\":4", "\"sequence\":3");
    let mut gone = whole.clone();
    gone.remove(2);
    let mut garbage = whole.clone();
    garbage[1] = "nonsense".to_owned();
    for (text, kind, word) in [
        (edited, Kind::Signature, "checkpoint 3"),
        (gone, Kind::Checkpoint, "where 3 is due"),
        (whole[..3].to_vec(), Kind::Checkpoint, "was cut"),
        (Vec::new(), Kind::Checkpoint, "no checkpoint of this ledger"),
        (garbage, Kind::Checkpoint, "line 2"),
    ] {
        put(&folder, &text);
        let told = told(&folder);
        assert_eq!(told.len(), 1, "{told:#?}");
        assert!(told[0].0 == kind && told[0].2.contains(word), "{told:#?}");
    }
    put(&folder, &whole[2..]);
    assert!(found(&folder).holds(), "older lines may be kept elsewhere");
    fs::remove_file(config(&folder).checkpoints_path()).unwrap();
    assert_eq!(told(&folder)[0].0, Kind::Checkpoint);
    put(&folder, &whole);
    let torn = fs::read(config(&folder).checkpoints_path()).unwrap();
    fs::write(config(&folder).checkpoints_path(), &torn[..torn.len() - 9]).unwrap();
    assert!(told(&folder).iter().any(|one| one.2.contains("last line")), "{:#?}", told(&folder));
    put(&folder, &whole);
    tamper(&folder, "UPDATE mark SET line = replace(line, '\"number\":3', '\"number\":9')");
    assert_eq!(told(&folder)[0].0, Kind::Checkpoint);
}

#[tokio::test]
async fn records_that_went_with_the_log_are_missed() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config { checkpoint_records: 1, ..config(&folder) };
    let ledger = Ledger::open(&config).unwrap();
    keep(&ledger, 3).await;
    while lines(&folder).len() < 2 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // As after a crash: everything since the start is in the log alone.
    let copy = tempfile::tempdir().unwrap();
    let there = Config { path: copy.path().join("ledger.db"), ..Config::default() };
    fs::copy(&config.path, &there.path).unwrap();
    fs::copy(config.checkpoints_path(), there.checkpoints_path()).unwrap();
    fs::copy(config.key_path(), there.key_path()).unwrap();
    let told = told(&copy);
    assert!(told.iter().any(|one| one.0 == Kind::Cut && one.1 == Some(1)), "{told:#?}");
    assert!(matches!(Ledger::open(&there), Err(Error::Corrupt { .. })));
}

#[tokio::test]
async fn wrong_key_is_named() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    eight(&folder).await;
    eight(&other).await;
    let key = |folder: &TempDir| public_key(&config(folder).path).unwrap().unwrap();
    let by = |key| {
        let against = Against { key: Some(key), checkpoints: None };
        verify(&config(&folder).path, &against).unwrap()
    };
    let right = by(key(&folder));
    assert!(right.holds() && right.key_given && right.vouched_to == 8, "{right:#?}");
    assert_eq!(by(key(&other)).damage[0].kind, Kind::Key);
    let pem = key(&folder).to_pem();
    assert_eq!(PublicKey::parse(&pem).unwrap(), key(&folder));
    assert_eq!(PublicKey::parse(&key(&folder).to_string()).unwrap(), key(&folder));
    assert!(PublicKey::parse("00").is_err() && PublicKey::parse("").is_err());
}

fn exported(folder: &TempDir, query: &Query, raw: bool) -> Vec<String> {
    let mut lines = Vec::new();
    export(&config(folder).path, query, raw, &mut |line| {
        lines.push(line.to_owned());
        true
    })
    .unwrap();
    lines
}

fn checked(lines: &[String]) -> Verification {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), lines.join("\n")).unwrap();
    verify(file.path(), &Against::default()).unwrap()
}

#[tokio::test]
async fn export_proves_itself_and_what_was_done_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let ids = eight(&folder).await;
    for raw in [false, true] {
        let lines = exported(&folder, &Query::default(), raw);
        let whole = checked(&lines);
        assert!(whole.holds(), "{whole:#?}");
        assert_eq!((whole.records, whole.head, whole.vouched_to), (8, 8, 8));
        let with = |change: &dyn Fn(&mut Vec<String>)| {
            let mut lines = lines.clone();
            change(&mut lines);
            checked(&lines).damage
        };
        let changed = with(&|lines| lines[4] = lines[4].replace("uid:1000", "uid:1001"));
        assert_eq!((changed[0].kind, changed[0].seq), (Kind::Changed, Some(4)));
        assert_eq!(changed[0].call_id.as_ref(), Some(&ids[3]));
        let gone = with(&|lines| drop(lines.remove(4)));
        assert_eq!((gone[0].kind, gone[0].seq), (Kind::Missing, Some(4)), "{gone:#?}");
        let swapped = with(&|lines| lines.swap(4, 5));
        assert!(swapped.iter().any(|one| one.kind == Kind::Reordered), "{swapped:#?}");
        let cut = with(&|lines| lines.truncate(6));
        assert_eq!((cut[0].kind, cut[0].seq), (Kind::Cut, Some(6)), "{cut:#?}");
        let mark = lines.iter().rposition(|line| line.starts_with("{\"mark\"")).unwrap();
        let signed =
            with(&|lines| lines[mark] = lines[mark].replace("\"sequence\":8", "\"sequence\":7"));
        assert_eq!(signed[0].kind, Kind::Signature);
    }
    let some =
        exported(&folder, &Query { status: Some("success".into()), ..Query::default() }, true);
    assert!(checked(&some).holds() && checked(&some).records == 0);
    let secret = Ledger::open(&config(&folder)).unwrap();
    secret.record(record("t"), "{\"password\":\"hunter2\"}").await.unwrap();
    let masked = exported(&folder, &Query::default(), false).join("\n");
    assert!(!masked.contains("hunter2") && checked(&[masked]).holds());
    assert!(exported(&folder, &Query::default(), true).join("\n").contains("hunter2"));
}
