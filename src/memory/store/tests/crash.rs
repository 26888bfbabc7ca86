//! The embedded store's process is killed while it writes, again and again, each time at another
//! moment: what was acknowledged is there, and nothing is there by halves.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use super::super::{Chunk, Settlement, Stage, Store};
use super::kit::{
    Dice, MODEL, TENANT, ask_vector, ask_words, at, change, chunk, draft, put, scope, settlement,
    sqlite_at, version, write,
};
use crate::memory::{End, Ended};

/// Names the file to the process that is killed.
const FILE: &str = "SWITCHBOARD_TEST_MEMORY";
const KILLS: u64 = 24;

/// What the process does until it is killed: it says each receipt once the write is taken, and each
/// version once it is settled.
#[tokio::test]
async fn the_process_that_is_killed() {
    let Some(path) = std::env::var_os(FILE) else { return };
    let store = sqlite_at(Path::new(&path)).await.unwrap();
    for write in store.waiting(None, 1000).await.unwrap() {
        settle(&*store, &write.receipt, &write.draft.text).await;
    }
    loop {
        let batch: Vec<_> = (0..5)
            .map(|_| write(draft(&format!("word{} common", uuid::Uuid::now_v7().simple()))))
            .collect();
        store.accept(batch.clone()).await.unwrap();
        for write in &batch {
            println!("taken {}", write.receipt);
        }
        for write in &batch[..4] {
            let seq = settle(&*store, &write.receipt, &write.draft.text).await;
            println!("settled {} {seq}", write.receipt);
        }
        let last = store.list(&scope(), None, 1).await.unwrap().remove(0);
        match last.seq % 3 {
            0 => {
                store.erase(TENANT, &last.unit).await.unwrap();
                println!("erased {}", last.seq);
            }
            1 => {
                let end = Ended { at: at("2026-01-01T00:00:00Z"), why: End::Forgotten, by: None };
                let end = super::super::Change { ended: Some(Some(end)), ..change(last.seq) };
                store.change(Some((&last.unit.to_string(), "forgets")), &[end]).await.unwrap();
            }
            _ => {}
        }
    }
}

async fn settle(store: &dyn Store, receipt: &str, text: &str) -> i64 {
    let version = version(text);
    let vector = Some((MODEL.to_owned(), vec![1.0, 0.5, 0.25]));
    let chunks = vec![
        Chunk { vector: vector.clone(), ..chunk(&version) },
        Chunk { ordinal: 1, vector, ..chunk(&version) },
    ];
    let settled =
        Settlement { version: Some((version, chunks)), ..settlement(receipt, self::version("")) };
    store.settle(vec![settled]).await.unwrap()[0].unwrap()
}

#[tokio::test]
async fn a_kill_at_any_moment_loses_nothing_and_leaves_no_half() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("memory.db");
    let mut dice = Dice(11);
    let (mut taken, mut settled, mut erased) = (Vec::new(), Vec::new(), Vec::new());
    for kill in 0..KILLS {
        let own = std::env::current_exe().unwrap();
        let mut child = Command::new(own)
            .args([
                "memory::store::tests::crash::the_process_that_is_killed",
                "--exact",
                "--nocapture",
            ])
            .env(FILE, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        // Some lines on, and then within the commits that follow.
        let on = 3 + dice.roll(60);
        let mut read = 0;
        let mut note = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
            ["taken", receipt] => taken.push(receipt.to_owned()),
            ["settled", receipt, seq] => {
                settled.push((receipt.to_owned(), seq.parse::<i64>().unwrap()));
            }
            ["erased", seq] => erased.push(seq.parse::<i64>().unwrap()),
            _ => {}
        };
        for line in lines.by_ref() {
            note(&line);
            read += 1;
            if read == on {
                break;
            }
        }
        for _ in 0..dice.roll(40_000) {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        lines.for_each(|line| note(&line));
        assert!(read == on, "the process ended by itself");
        check(&path, (&taken, &settled, &erased), kill).await;
    }
    assert!(settled.len() > 100 && !erased.is_empty());
}

async fn check(
    path: &Path,
    (taken, settled, erased): (&[String], &[(String, i64)], &[i64]),
    kill: u64,
) {
    let store = sqlite_at(path).await.unwrap();
    let waiting = store.waiting(None, 100_000).await.unwrap();
    for receipt in taken {
        let told = store.receipt(TENANT, receipt).await.unwrap();
        let told = told.unwrap_or_else(|| panic!("kill {kill} lost {receipt}"));
        let waits = waiting.iter().any(|write| write.receipt == *receipt);
        assert_eq!(waits, told.stage == Stage::Accepted, "{told:?}");
        // One that was erased while it waited was refused.
        assert!(matches!(told.stage, Stage::Accepted | Stage::Stored), "{told:?}");
    }
    for (receipt, seq) in settled {
        let told = store.receipt(TENANT, receipt).await.unwrap().unwrap();
        assert_eq!(told.stored.unwrap().1, *seq);
    }
    for seq in erased {
        assert!(store.load(TENANT, &[*seq]).await.unwrap().is_empty(), "{seq} came back");
    }
    let counts = store.counts(Some(TENANT)).await.unwrap();
    let listed = store.list(&scope(), None, 100_000).await.unwrap();
    assert_eq!(counts.units, u64::try_from(listed.len()).unwrap());
    assert_eq!((counts.chunks, &counts.vectors[..]), {
        (counts.units * 2, &[(MODEL.to_owned(), counts.units * 2)][..])
    });
    for version in listed.iter().take(40) {
        let word = version.draft.text.split(' ').next().unwrap();
        let hits = ask_words(&*store, &scope(), word).await;
        assert_eq!(hits.iter().map(|hit| hit.seq).collect::<Vec<_>>(), [version.seq; 2]);
    }
    assert_eq!(ask_vector(&*store, &scope(), MODEL, &[1.0, 0.5, 0.25]).await.len(), 20);
    let seqs: Vec<i64> = listed.iter().map(|version| version.seq).collect();
    assert!(seqs.windows(2).all(|two| two[0] > two[1]));
    let last = put(&*store, version("after the kill")).await;
    assert!(settled.iter().all(|(_, seq)| *seq < last));
    let unit = store.load(TENANT, &[last]).await.unwrap()[0].unit.clone();
    store.erase(TENANT, &unit).await.unwrap();
    store.close().await.unwrap();
}
