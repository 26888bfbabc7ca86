//! The process of the write path is killed, again and again, each time at another moment: what was
//! acknowledged comes to its end, once, in its order.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use super::kit::{Bench, manual};
use crate::memory::{Draft, Stage, WritingConfig};

/// Names the folder to the process that is killed.
const FOLDER: &str = "SWITCHBOARD_TEST_WRITING";
const KILLS: u64 = 20;

/// What the process does until it is killed: it says each receipt once the write is acknowledged.
#[tokio::test]
async fn the_process_that_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let bench = open(Path::new(&folder)).await;
    let cora = bench.curator();
    for at in 0_u64.. {
        let drafts = (0..7)
            .map(|id| {
                let text = format!("Rule {id} has wording {}.", uuid::Uuid::now_v7().simple());
                serde_json::from_value::<Draft>(manual(&format!("{id}"), &text)).unwrap()
            })
            .collect();
        let wait = (at % 3 == 0).then_some(std::time::Duration::from_millis(5));
        for receipt in bench.writing.remember(&cora, drafts, wait).await {
            println!("taken {}", receipt.unwrap().id);
        }
    }
}

/// A bench over a folder that stays.
async fn open(folder: &Path) -> Bench {
    let mut bench = tempfile::Builder::new();
    bench.disable_cleanup(true);
    let own = bench.tempdir().unwrap();
    std::fs::remove_dir(own.path()).unwrap();
    std::os::unix::fs::symlink(folder, own.path()).unwrap();
    Bench::at(own, None, WritingConfig::default()).await
}

#[tokio::test]
async fn a_kill_at_any_moment_loses_no_acknowledged_write_and_works_none_off_twice() {
    let home = tempfile::tempdir().unwrap();
    let mut taken: Vec<String> = Vec::new();
    for kill in 0..KILLS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "memory::writing::tests::crash::the_process_that_is_killed",
                "--exact",
                "--nocapture",
            ])
            .env(FOLDER, home.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut told =
            lines.filter_map(|line| Some(line.split_once("taken ")?.1.trim().to_owned()));
        let before = taken.len();
        // Each time after another number of acknowledgements.
        taken.extend(told.by_ref().take(usize::try_from(1 + kill * 5 % 37).unwrap()));
        assert!(taken.len() > before, "the process ended by itself");
        child.kill().unwrap();
        taken.extend(told);
        child.wait().unwrap();
    }
    let bench = open(home.path()).await;
    bench.writing.settled().await;
    let cora = bench.curator();
    let mut versions: BTreeMap<i64, String> = BTreeMap::new();
    for id in &taken {
        let receipt = bench.writing.receipt(&cora, id, None).await.unwrap();
        assert_eq!(receipt.stage, Stage::Stored, "{receipt:?}");
        let (_, seq) = receipt.stored.unwrap();
        assert!(versions.insert(seq, id.clone()).is_none(), "{id} shares version {seq}");
    }
    // Seven units, of which one version each is open: the last; nothing was stored twice.
    let counts = bench.store.counts(None).await.unwrap();
    assert_eq!((counts.units, counts.chunks, counts.waiting), (7, 7, 0));
    assert!(counts.versions >= u64::try_from(taken.len()).unwrap());
    assert_eq!(bench.known("manuals", "2026-06-01T00:00:00Z", None).await.len(), 7);
}
