//! Placeholders that are the same in every unit of a tenant.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::kit::{Bench, caller, note};
use crate::memory::{Error, Rights, Stage, StoreError, WritingConfig};

const NUMBER: &str = "138 0013 8000";

fn client(id: &str, text: &str) -> Value {
    json!({"collection": "clients", "source": "desk", "source_id": id, "kind": "case", "text": text})
}

/// The placeholder of a text that holds one.
fn word(text: &str) -> String {
    let begun = text.split_once("[PHONE_");
    let (_, rest) = begun.unwrap_or_else(|| panic!("no placeholder in {text}"));
    let (word, _) = rest.split_once(']').unwrap();
    format!("[PHONE_{word}]")
}

#[tokio::test]
async fn one_number_has_one_placeholder_in_all_units_of_a_tenant_and_another_elsewhere() {
    let bench = Bench::new().await;
    let uma = bench.user();
    let first = bench.stored(&uma, client("1", &format!("Called back at {NUMBER}."))).await;
    let second = bench.stored(&uma, client("2", "The caller was +86 13800138000 again.")).await;
    let other = bench.stored(&uma, client("3", "The caller was 139 0013 9000.")).await;
    let (first, second) = (word(&first.draft.text), word(&second.draft.text));
    assert_eq!(first, second);
    assert_eq!(first.len(), "[PHONE_]".len() + 12, "{first}");
    assert_ne!(first, word(&other.draft.text));

    let stranger = Rights::of(&caller("uma", "other", &[]), &bench.collections.load());
    let theirs = bench.put(&stranger, client("1", &format!("Called back at {NUMBER}."))).await;
    let theirs = bench.store.load("other", &[theirs.stored.unwrap().1]).await.unwrap().remove(0);
    assert_ne!(first, word(&theirs.draft.text));

    // A collection that does not ask for it tells nothing across units.
    let fresh = bench.stored(&uma, note("1", &format!("Prefers calls at {NUMBER}."))).await;
    assert_eq!(word(&fresh.draft.text), "[PHONE_1]");
}

#[tokio::test]
async fn the_key_is_made_once_and_for_its_owner_alone() {
    let bench = Bench::new().await;
    let path = bench.home.path().join("placeholders");
    let first = bench.stored(&bench.user(), client("1", &format!("Called {NUMBER}."))).await;
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let bench = bench.again(WritingConfig::default()).await;
    let second = bench.stored(&bench.user(), client("2", &format!("Called {NUMBER} too."))).await;
    assert_eq!(word(&first.draft.text), word(&second.draft.text));
}

#[tokio::test]
async fn without_its_key_nothing_is_written() {
    let bench = Bench::new().await;
    let path = bench.home.path().join("placeholders");
    for (text, mode, told) in
        [("ab".repeat(32), 0o644, "chmod 600"), ("short".to_owned(), 0o600, "32 bytes")]
    {
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        let refused = bench.try_put(&bench.user(), client("1", "Called 138 0013 8000.")).await;
        let Err(Error::Store(StoreError::Open { reason, .. })) = refused else {
            panic!("{refused:?}")
        };
        assert!(reason.contains(told), "{reason}");
        std::fs::remove_file(&path).unwrap();
    }
    assert_eq!(bench.store.counts(None).await.unwrap().versions, 0);
    // Others do without.
    assert_eq!(
        bench.put(&bench.user(), note("1", "Prefers tea, always.")).await.stage,
        Stage::Stored
    );
}
