//! Models of image vectors, whose names are the callers' own.

use serde_json::{Value, json};

use super::kit::{Bench, WAIT, manual, note, with};
use crate::memory::{Draft, Stage};

fn pictured(id: &str, models: &[&str]) -> Value {
    let image = |model: &&str| {
        json!({"sha256": "0".repeat(64), "description": format!("a picture for {model}"),
            "vector_model": model, "vector": [1.0, 0.5]})
    };
    let images: Vec<Value> = models.iter().map(image).collect();
    with(note(id, &format!("Picture number {id} of the house.")), json!({ "images": images }))
}

#[tokio::test]
async fn a_model_too_many_is_refused_for_its_own_write_alone() {
    let bench = Bench::new().await;
    let (uma, cora) = (bench.user(), bench.curator());
    let names: Vec<String> = (0..16).map(|number| format!("model {number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    bench.stored(&uma, pictured("1", &names)).await;
    let drafts: Vec<Draft> = [pictured("2", &["one more"]), pictured("3", &names[..1])]
        .map(|draft| serde_json::from_value(draft).unwrap())
        .into();
    let receipts = bench.writing.remember(&uma, drafts, WAIT).await;
    let [refused, stored] = [&receipts[0], &receipts[1]].map(|one| one.as_ref().unwrap());
    assert_eq!(refused.stage, Stage::Refused, "{refused:?}");
    assert!(refused.remarks[0].contains("models already"), "{refused:?}");
    assert_eq!(stored.stage, Stage::Stored);
    bench.stored(&cora, manual("1", "The work goes on for everybody.")).await;
}
