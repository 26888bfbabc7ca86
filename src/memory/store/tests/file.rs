//! The embedded store's file: kept over restarts, guarded, checked, and full.

use std::io::{Seek, SeekFrom, Write as _};
use std::path::Path;

use super::super::{Ask, Config, Error, SqliteConfig, Store, open};
use super::kit::{
    MODEL, TENANT, ask_vector, ask_words, at, change, draft, put, put_vector, scope, sqlite_at,
    version, write,
};
use crate::memory::{End, Ended, Entity, Place, Scope, Version};

#[tokio::test]
async fn what_was_kept_is_found_after_a_restart() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("deep/folder/memory.db");
    let store = sqlite_at(&path).await.unwrap();
    let mut whole = version("水泵漏水 leaks");
    whole.draft.triggers = vec!["leaking pump".into()];
    whole.draft.entities = vec![Entity { kind: "part".into(), value: "PX".into() }];
    whole.draft.place = Some(Place { latitude: 1.0, longitude: 2.0, kind: "site".into() });
    whole.draft.metadata.insert("line".into(), "pumps".into());
    let seq = put(&*store, whole).await;
    store.embed(MODEL, &[(seq, 0, vec![0.5, -0.5])]).await.unwrap();
    let gone = put_vector(&*store, "gone", MODEL, &[1.0, 0.0]).await;
    let unit = store.load(TENANT, &[gone]).await.unwrap()[0].unit.clone();
    let ended = put(&*store, version("ended")).await;
    let end = Ended { at: at("2999-01-01T00:00:00Z"), why: End::Forgotten, by: None };
    let ends = super::super::Change { ended: Some(Some(end)), ..change(ended) };
    store.change(Some(("run", "forgets")), &[ends]).await.unwrap();
    for number in 0..1200 {
        put(&*store, Version { tenant: "many".into(), ..version(&format!("n{number}")) }).await;
    }
    store.erase(TENANT, &unit).await.unwrap();
    let waits = write(draft("waits"));
    store.accept(vec![waits.clone()]).await.unwrap();
    let ask = Ask {
        trigger: Some("leaking pump".into()),
        entities: vec![Entity { kind: String::new(), value: "px".into() }],
        words: Some("水泵".into()),
        vector: Some((MODEL.into(), vec![1.0, -1.0])),
        nearest: Some((1.0, 2.0, Vec::new())),
        limit: 9,
        ..Ask::default()
    };
    let known = Scope { known_at: Some(at("2998-01-01T00:00:00Z")), ..scope() };
    let told = async |store: &dyn Store| {
        let found = store.search(&scope(), &ask).await.unwrap();
        let before = ask_words(store, &known, "ended").await;
        let versions = store.load(TENANT, &[seq, gone, ended]).await.unwrap();
        let many = ask_words(store, &Scope { tenant: "many".into(), ..scope() }, "n1199").await;
        (format!("{found:?}"), before, versions, many, store.counts(None).await.unwrap().versions)
    };
    let before = told(&*store).await;
    assert_eq!((before.1.len(), before.3.len(), before.4), (1, 1, 1202));
    store.close().await.unwrap();
    assert!(!path.with_file_name("memory.db-wal").exists(), "one file holds everything");
    drop(store);

    let store = sqlite_at(&path).await.unwrap();
    assert_eq!(told(&*store).await, before);
    assert_eq!(store.waiting(None, 9).await.unwrap(), [waits]);
    assert_eq!(store.undo("run").await.unwrap(), 1);
    assert_eq!(ask_words(&*store, &scope(), "ended").await.len(), 1);
    let next = put(&*store, version("next")).await;
    assert!(next > ended + 1200);
}

#[tokio::test]
async fn erased_words_are_not_in_the_file_any_more() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("memory.db");
    let store = sqlite_at(&path).await.unwrap();
    let seq = put_vector(&*store, "Zebrafinkenkasten", MODEL, &[1.0]).await;
    put(&*store, version("Quaggakasten")).await;
    let unit = store.load(TENANT, &[seq]).await.unwrap()[0].unit.clone();
    assert_eq!(store.erase(TENANT, &unit).await.unwrap(), 1);
    let held = |word: &str| {
        ["memory.db", "memory.db-wal"].iter().any(|name| {
            let bytes = std::fs::read(home.path().join(name)).unwrap_or_default();
            bytes.windows(word.len()).any(|window| window == word.as_bytes())
        })
    };
    assert!(held("Quaggakasten"));
    assert!(!held("Zebrafinkenkasten"));
}

#[tokio::test]
async fn a_second_daemon_is_refused_and_the_first_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("memory.db");
    let store = sqlite_at(&path).await.unwrap();
    let error = sqlite_at(&path).await.unwrap_err();
    assert!(matches!(error, Error::InUse { .. }), "{error}");
    assert!(error.to_string().contains("memory.store.path"), "{error}");
    put(&*store, version("goes on")).await;
    store.close().await.unwrap();
    let store = sqlite_at(&path).await.unwrap();
    assert_eq!(ask_words(&*store, &scope(), "goes on").await.len(), 1);
}

#[tokio::test]
async fn another_file_is_refused_and_left_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    let text = home.path().join("notes.txt");
    std::fs::write(&text, "these are no units ".repeat(500)).unwrap();
    let database = home.path().join("other.db");
    rusqlite::Connection::open(&database).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    let newer = home.path().join("newer.db");
    sqlite_at(&newer).await.unwrap().close().await.unwrap();
    rusqlite::Connection::open(&newer).unwrap().pragma_update(None, "user_version", 99).unwrap();
    for path in [&text, &database, &newer] {
        let before = std::fs::read(path).unwrap();
        let error = sqlite_at(path).await.unwrap_err();
        assert!(matches!(error, Error::Open { .. }), "{error}");
        assert_eq!(std::fs::read(path).unwrap(), before);
    }
    let error = sqlite_at(&home.path().join("notes.txt/memory.db")).await.unwrap_err();
    assert!(matches!(error, Error::Open { .. }), "{error}");
}

#[tokio::test]
async fn damage_is_told_and_nothing_is_overwritten() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("memory.db");
    let store = sqlite_at(&path).await.unwrap();
    for number in 0..200 {
        put(&*store, version(&format!("number {number} {}", "word ".repeat(100)))).await;
    }
    store.close().await.unwrap();
    let whole = std::fs::read(&path).unwrap();
    let page = 4096;
    for at in (page..whole.len()).step_by(page * 7) {
        std::fs::write(&path, &whole).unwrap();
        overwrite(&path, at, &[0xa5; 64]);
        let damaged = std::fs::read(&path).unwrap();
        match sqlite_at(&path).await {
            Err(error) => {
                assert!(matches!(error, Error::Damaged { .. }), "at {at}: {error}");
                assert!(error.to_string().contains(".recover"), "{error}");
                assert_eq!(std::fs::read(&path).unwrap(), damaged, "at {at}");
            }
            // What was hit holds nothing, such as the unused middle of a page.
            Ok(store) => {
                let found = store.list(&scope(), None, 999).await.unwrap();
                assert_eq!(found.len(), 200, "at {at}");
                store.close().await.unwrap();
            }
        }
    }
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let error = sqlite_at(&path).await.unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
}

fn overwrite(path: &Path, at: usize, bytes: &[u8]) {
    let mut file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(u64::try_from(at).unwrap())).unwrap();
    file.write_all(bytes).unwrap();
}

/// Writes until nothing more is taken; gives how many units were stored, and why no more.
async fn fill(store: &dyn Store) -> (usize, Error) {
    for number in 0..5000 {
        let write = write(draft(&format!("number {number} {}", "word ".repeat(200))));
        let settlement =
            super::kit::settlement(&write.receipt, super::kit::of(write.draft.clone()));
        let taken = match store.accept(vec![write]).await {
            Ok(()) => store.settle(vec![settlement]).await.map(|_| ()),
            Err(error) => Err(error),
        };
        if let Err(error) = taken {
            return (number, error);
        }
    }
    panic!("it never became full");
}

/// A disk of its own, of so many kilobytes; `None` for who may not have one.
struct Disk(tempfile::TempDir);

impl Disk {
    fn mount(kilobytes: u32) -> Option<Self> {
        let home = tempfile::tempdir().unwrap();
        mount(&format!("size={kilobytes}k"), home.path()).then_some(Self(home))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ended = std::process::Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

fn mount(options: &str, at: &Path) -> bool {
    let mut mount = std::process::Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", options, "none"]).arg(at);
    mount.stderr(std::process::Stdio::null()).status().is_ok_and(|status| status.success())
}

#[tokio::test]
async fn a_full_disk_is_told_and_what_was_kept_stays() {
    let Some(disk) = Disk::mount(2048) else {
        eprintln!("only root can have a disk of its own: not tried");
        return;
    };
    let path = disk.0.path().join("memory.db");
    let store = sqlite_at(&path).await.unwrap();
    let (kept, error) = fill(&*store).await;
    assert!(matches!(error, Error::Full(_)), "{error}");
    assert!(kept > 20, "{kept}");
    assert_eq!(store.list(&scope(), None, 9999).await.unwrap().len(), kept);
    assert_eq!(ask_words(&*store, &scope(), "number").await.len(), kept.min(50));
    store.accept(vec![write(draft(&"still full ".repeat(9999)))]).await.unwrap_err();
    assert!(mount("remount,size=32m", disk.0.path()));
    put(&*store, version("room again")).await;
    store.close().await.unwrap();
    let store = sqlite_at(&path).await.unwrap();
    assert_eq!(store.list(&scope(), None, 9999).await.unwrap().len(), kept + 1);
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_full_store_refuses_writes_and_goes_on_answering() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("memory.db");
    let config = SqliteConfig { path, max_bytes: Some(600_000) };
    let store = open(&Config::Sqlite(config)).await.unwrap();
    let (kept, error) = fill(&*store).await;
    assert!(matches!(error, Error::Full(_)), "{error}");
    assert!(error.to_string().contains("max_bytes"), "{error}");
    assert!(kept > 20);
    let hits = ask_words(&*store, &scope(), "number").await;
    assert_eq!(hits.len(), kept.min(50));
    assert_eq!(store.list(&scope(), None, 9999).await.unwrap().len(), kept);
    let first = store.list(&scope(), Some(2), 1).await.unwrap().remove(0);
    assert!(ask_vector(&*store, &scope(), MODEL, &[1.0]).await.is_empty());
    // What is erased makes room.
    store.erase(TENANT, &first.unit).await.unwrap();
    put(&*store, version("small")).await;
}

#[tokio::test]
async fn a_file_of_the_format_before_is_brought_up_to_date() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("memory.db");
    let store = sqlite_at(&path).await.unwrap();
    let image = serde_json::json!({
        "sha256": "0".repeat(64), "vector_model": "clip", "vector": [1.0, 0.0]
    });
    let mut pictured = version("a picture");
    pictured.draft.images = vec![serde_json::from_value(image).unwrap()];
    let seq = put(&*store, pictured).await;
    store.close().await.unwrap();
    let before = "DROP TABLE image_model; INSERT INTO model VALUES (0, 'clip', 'image', 2);
        DROP INDEX version_ended; ALTER TABLE clock DROP COLUMN tended; PRAGMA user_version = 1";
    rusqlite::Connection::open(&path).unwrap().execute_batch(before).unwrap();
    let store = sqlite_at(&path).await.unwrap();
    let image = Some(("clip".to_owned(), vec![1.0, 0.0]));
    let ask = Ask { image, limit: 9, ..Ask::default() };
    let found = store.search(&scope(), &ask).await.unwrap().image.unwrap().unwrap();
    assert_eq!(found.iter().map(|hit| hit.seq).collect::<Vec<_>>(), [seq]);
    assert_eq!(store.tended().await.unwrap(), None);
}

#[tokio::test]
async fn only_its_owner_can_read_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("own/memory.db");
    let store = sqlite_at(&path).await.unwrap();
    put(&*store, version("private")).await;
    for name in ["memory.db", "memory.db-wal"] {
        let mode = std::fs::metadata(path.with_file_name(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}
