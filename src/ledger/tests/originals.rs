//! Original arguments: kept only with a key, readable only with it, gone with their record.

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::*;
use crate::ledger::keeping::Keeping;
use crate::ledger::key::Key;

const SECRET: &str = r#"{ "phone": "13800138000" }"#;

fn key(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path
}

fn keeping(folder: &TempDir) -> (Config, PathBuf) {
    let key = key(folder, "originals.key", &"5a".repeat(32));
    (Config { originals: Some(Originals { key: key.clone() }), ..config(folder) }, key)
}

async fn call(ledger: &Ledger, arguments: &str) -> String {
    let given = Record { arguments_json: arguments.into(), ..record("t") };
    ledger.record(given.clone(), "{}").await.unwrap();
    given.call_id
}

#[tokio::test]
async fn original_is_read_with_its_key_and_stands_nowhere_in_the_clear() {
    let folder = tempfile::tempdir().unwrap();
    let (config, key_path) = keeping(&folder);
    let ledger = Ledger::open(&config).unwrap();
    let masked = call(&ledger, SECRET).await;
    let plain = call(&ledger, "{\"a\":1}").await;
    let long = format!("{{\"phone\":\"13800138000\",\"text\":\"{}\"}}", "x".repeat(100_000));
    let cut = call(&ledger, &long).await;
    assert_eq!(ledger.original(&masked, &key_path).await.unwrap().as_deref(), Some(SECRET));
    assert_eq!(ledger.original(&cut, &key_path).await.unwrap(), Some(long), "uncut");
    assert_eq!(ledger.original(&plain, &key_path).await.unwrap(), None, "nothing was masked");
    assert_eq!(ledger.original("unknown", &key_path).await.unwrap(), None);
    let beside = Ledger::open_read_only(&config.path).unwrap();
    assert_eq!(beside.original(&masked, &key_path).await.unwrap().as_deref(), Some(SECRET));

    let other = key(&folder, "other.key", &"5b".repeat(32));
    let error = ledger.original(&masked, &other).await.unwrap_err().to_string();
    assert!(error.contains("another key"), "{error}");

    let mut exported = String::new();
    let mut write = |line: &str| {
        exported.push_str(line);
        true
    };
    export(&config.path, &Query::default(), true, &mut write).unwrap();
    ledger.close().await.unwrap();
    let bytes = fs::read(&config.path).unwrap();
    assert!(!bytes.windows(11).any(|window| window == b"13800138000"));
    assert!(!exported.contains("13800138000") && !exported.contains("sealed"));
}

#[tokio::test]
async fn tampered_and_exchanged_originals_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (config, key_path) = keeping(&folder);
    let ledger = Ledger::open(&config).unwrap();
    let first = call(&ledger, SECRET).await;
    let second = call(&ledger, SECRET).await;
    let same = "SELECT count(DISTINCT sealed) FROM original";
    let count: i64 =
        Connection::open(&config.path).unwrap().query_row(same, [], |row| row.get(0)).unwrap();
    assert_eq!(count, 2, "equal texts do not look alike");
    tamper(
        &folder,
        "UPDATE original SET sealed = (SELECT sealed FROM original WHERE seq = 1) WHERE seq = 2",
    );
    assert!(ledger.original(&first, &key_path).await.is_ok());
    let error = ledger.original(&second, &key_path).await.unwrap_err().to_string();
    assert!(error.contains("is that of another call"), "{error}");
    let connection = Connection::open(&config.path).unwrap();
    let read = "SELECT sealed FROM original WHERE seq = 1";
    let sealed: Vec<u8> = connection.query_row(read, [], |row| row.get(0)).unwrap();
    let changes: [fn(&mut Vec<u8>); 5] = [
        |bytes| *bytes.last_mut().unwrap() ^= 1,
        |bytes| bytes[20] ^= 1,
        |bytes| bytes.truncate(20),
        Vec::clear,
        |bytes| bytes[0] = 2,
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut changed = sealed.clone();
        change(&mut changed);
        let write = "UPDATE original SET sealed = ?1 WHERE seq = 1";
        connection.execute(write, [changed]).unwrap();
        let read = ledger.original(&first, &key_path).await;
        assert!(matches!(read, Err(Error::Original(_))), "{number}: {read:?}");
    }
}

#[tokio::test]
async fn originals_go_with_their_records() {
    let folder = tempfile::tempdir().unwrap();
    let (config, key_path) = keeping(&folder);
    let ledger = Ledger::open(&config).unwrap();
    let received = Timestamp::now() - SignedDuration::from_hours(24 * 31);
    let old = Record { received, arguments_json: SECRET.into(), ..record("old") };
    ledger.record(old.clone(), "{}").await.unwrap();
    let young = call(&ledger, SECRET).await;
    assert!(ledger.original(&old.call_id, &key_path).await.unwrap().is_some());
    prune(&ledger).await.unwrap();
    assert_eq!(ledger.original(&old.call_id, &key_path).await.unwrap(), None);
    assert!(ledger.original(&young, &key_path).await.unwrap().is_some());
    let count = "SELECT count(*) FROM original";
    let count: i64 =
        Connection::open(&config.path).unwrap().query_row(count, [], |row| row.get(0)).unwrap();
    assert_eq!(count, 1);
    assert_eq!(ledger.verify().await.unwrap().damage, []);
}

#[tokio::test]
async fn without_a_key_nothing_is_kept_and_a_bad_key_is_refused() {
    let (folder, ledger) = fresh();
    let id = call(&ledger, SECRET).await;
    let path = key(&folder, "k", &"5a".repeat(32));
    assert_eq!(ledger.original(&id, &path).await.unwrap(), None);
    ledger.close().await.unwrap();

    let open = |path: &PathBuf| {
        let originals = Some(Originals { key: path.clone() });
        Keeping::new(&Config { originals, ..config(&folder) }).map(|_keeping| ())
    };
    assert!(open(&path).is_ok());
    assert!(open(&key(&folder, "base64", &(STANDARD.encode([7; 32]) + "\n"))).is_ok());
    for (text, reason) in [("", "32 bytes"), ("5a5a", "32 bytes"), ("no key at all", "32 bytes")] {
        let error = open(&key(&folder, "bad", text)).unwrap_err().to_string();
        assert!(error.contains(reason) && error.contains("bad"), "{error}");
    }
    assert!(matches!(open(&folder.path().join("absent")), Err(Error::Open { .. })));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(open(&path).unwrap_err().to_string().contains("others can read it"));
}

#[tokio::test]
async fn ledger_of_the_second_format_is_read_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (config, key_path) = keeping(&folder);
    let ledger = Ledger::open(&super::config(&folder)).unwrap();
    let ids = keep(&ledger, 3).await;
    ledger.close().await.unwrap();
    let signed = Key::open(&config.key_path(), None).unwrap().public();
    tamper(&folder, "DROP TABLE original; PRAGMA user_version = 2");
    let before = Ledger::open_read_only(&config.path).unwrap();
    assert_eq!(before.original(&ids[0], &key_path).await.unwrap(), None);
    drop(before);
    let ledger = Ledger::open(&config).unwrap();
    let id = call(&ledger, SECRET).await;
    assert!(ledger.original(&id, &key_path).await.unwrap().is_some());
    ledger.close().await.unwrap();
    let against = Against { key: Some(signed), ..Against::default() };
    let found = verify(&config.path, &against).unwrap();
    assert!(found.holds() && found.records == 4, "the key and the chain stay: {found:#?}");
}
