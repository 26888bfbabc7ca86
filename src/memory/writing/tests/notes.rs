//! What is told with a draft, such as of its images, stands with its unit.

use super::kit::{Bench, WAIT, manual};
use crate::memory::{Sent, Stage, State};

#[tokio::test]
async fn what_could_not_be_read_of_an_image_is_told_with_the_unit() {
    let bench = Bench::new().await;
    let cora = bench.curator();
    let draft = serde_json::from_value(manual("1", "The gauge as it was photographed.")).unwrap();
    let notes = vec!["image 0: its text was not read: call 138 0013 8000 for help".to_owned()];
    let sent = Sent { draft, notes };
    let receipt = bench.writing.remember(&cora, vec![sent.clone()], WAIT).await.remove(0).unwrap();
    assert_eq!(receipt.stage, Stage::Stored);
    let version = bench.version(&receipt).await;
    assert_eq!(version.state, State::Active, "a remark alone holds nothing back");
    assert_eq!(version.remarks.len(), 1, "{version:?}");
    assert!(version.remarks[0].starts_with("image 0: its text was not read"), "{version:?}");
    assert!(!version.remarks[0].contains("8000"), "{version:?}");
    assert!(receipt.remarks.contains(&version.remarks[0]), "{receipt:?}");

    // It is no part of what the unit says: the same again changes nothing.
    let again = bench.writing.remember(&cora, vec![sent.draft], WAIT).await.remove(0).unwrap();
    assert_eq!((again.stage, again.stored), (Stage::Unchanged, receipt.stored));
}
