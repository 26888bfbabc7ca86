//! Vectors with the write, and later where the embedder was down.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;

use super::kit::{Bench, WAIT, manual, with};
use crate::memory::embed::{Embedder, Error, Model, Role};
use crate::memory::{Stage, WritingConfig};

/// Counts the letters of a text, and can be out of order.
#[derive(Debug)]
struct Letters {
    model: Model,
    down: AtomicBool,
    short: AtomicBool,
    texts: AtomicUsize,
}

impl Letters {
    fn new(down: bool, short: bool) -> Arc<Self> {
        Arc::new(Self {
            model: Model { name: "letters".into(), dimensions: 27 },
            down: AtomicBool::new(down),
            short: AtomicBool::new(short),
            texts: AtomicUsize::new(0),
        })
    }
}

#[async_trait]
impl Embedder for Letters {
    fn model(&self) -> &Model {
        &self.model
    }

    async fn embed(&self, _: Role, texts: &[String]) -> Result<Vec<Vec<f32>>, Error> {
        if self.down.load(Ordering::Acquire) {
            return Err(Error::Config {
                key: "memory.embedder",
                reason: "it is out of order".into(),
            });
        }
        if texts.iter().any(|text| text.contains("unspeakable")) {
            let (endpoint, reason) = ("letters".into(), "a text is refused".into());
            return Err(Error::Refused { endpoint, status: 400, reason });
        }
        self.texts.fetch_add(texts.len(), Ordering::AcqRel);
        let size = if self.short.load(Ordering::Acquire) { 5 } else { 27 };
        let count = |text: &String| {
            let mut vector = vec![0.01_f32; size];
            for byte in text.bytes().filter(u8::is_ascii_alphabetic) {
                let at = usize::from(byte.to_ascii_lowercase() - b'a').min(size - 1);
                vector[at] += 1.0;
            }
            vector
        };
        Ok(texts.iter().map(count).collect())
    }

    fn calibrate(&self, cosine: f32) -> f32 {
        cosine
    }
}

async fn vectors(bench: &Bench) -> u64 {
    bench.store.counts(None).await.unwrap().vectors.iter().map(|(_, count)| count).sum()
}

#[tokio::test]
async fn a_unit_is_stored_with_its_vectors_and_equal_content_costs_none() {
    let embedder = Letters::new(false, false);
    let bench = Bench::with(Some(embedder.clone()), WritingConfig::default()).await;
    let cora = bench.curator();
    let receipt = bench.put(&cora, manual("1", "The valve opens at five bar.")).await;
    assert!(receipt.remarks.is_empty(), "{receipt:?}");
    assert_eq!(vectors(&bench).await, 1);
    let asked = embedder.texts.load(Ordering::Acquire);
    assert_eq!(
        bench.put(&cora, manual("1", "The valve opens at five bar.")).await.stage,
        Stage::Unchanged
    );
    assert_eq!(embedder.texts.load(Ordering::Acquire), asked);
    // A collection without vectors gets none, neither now nor later.
    let shared = with(
        manual("2", "Nobody looks for this by vector."),
        serde_json::json!({"collection": "shared"}),
    );
    assert_eq!(bench.put(&cora, shared).await.stage, Stage::Stored);
    assert_eq!(vectors(&bench).await, 1);
}

#[tokio::test]
async fn an_embedder_that_is_down_or_answers_wrongly_stops_nothing_and_is_caught_up_with() {
    for short in [false, true] {
        let embedder = Letters::new(!short, short);
        let bench = Bench::with(Some(embedder.clone()), WritingConfig::default()).await;
        let cora = bench.curator();
        let receipt = bench.put(&cora, manual("1", "The valve opens at five bar.")).await;
        assert_eq!(receipt.stage, Stage::Stored);
        assert!(receipt.remarks.iter().any(|line| line.contains("without vectors")), "{receipt:?}");
        assert_eq!(vectors(&bench).await, 0);
        embedder.down.store(false, Ordering::Release);
        embedder.short.store(false, Ordering::Release);
        let caught_up = async {
            while vectors(&bench).await == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(WAIT.unwrap(), caught_up).await.unwrap();
    }
}

#[tokio::test]
async fn a_text_that_the_embedder_refuses_keeps_no_other_from_its_vector() {
    let embedder = Letters::new(false, false);
    let bench = Bench::with(Some(embedder.clone()), WritingConfig::default()).await;
    let cora = bench.curator();
    let refused = bench.stored(&cora, manual("1", "The unspeakable rule of the house.")).await;
    for number in 2..5 {
        bench
            .stored(
                &cora,
                manual(&number.to_string(), &format!("Rule number {number} of the house.")),
            )
            .await;
    }
    let caught_up = async {
        while vectors(&bench).await < 3 || bench.load(refused.seq).await.remarks.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(WAIT.unwrap(), caught_up).await.unwrap();
    let remarks = bench.load(refused.seq).await.remarks;
    assert_eq!(remarks, ["part 0 has no vector: the embedder refuses its text"]);
    // New writes are stored with their vectors again.
    let again = async {
        let mut number = 10;
        loop {
            number += 1;
            let rule = manual(&number.to_string(), &format!("Rule number {number} of the house."));
            if bench.put(&cora, rule).await.remarks.is_empty() {
                return;
            }
        }
    };
    tokio::time::timeout(WAIT.unwrap(), again).await.unwrap();
}
