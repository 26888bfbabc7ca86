//! Vectors with the write, and later where the embedder was down.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;

use super::kit::{Bench, WAIT, caller, manual, with};
use crate::memory::embed::{Embedder, Error, Model, Role};
use crate::memory::recall::{self, Recall};
use crate::memory::{Owned, Question, Sense, Stage, WritingConfig};

/// Counts the letters of a text, and can be out of order.
#[derive(Debug)]
struct Letters {
    model: Model,
    down: AtomicBool,
    short: AtomicBool,
    texts: AtomicUsize,
    /// Refuses texts with this word.
    refuses: &'static str,
}

impl Letters {
    fn new(down: bool, short: bool) -> Arc<Self> {
        Self::named("letters", down, short, "\0")
    }

    fn named(name: &str, down: bool, short: bool, refuses: &'static str) -> Arc<Self> {
        Arc::new(Self {
            model: Model { name: name.into(), dimensions: 27 },
            refuses,
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
            let reason = "it is out of order".into();
            return Err(Error::Unreachable { endpoint: "letters".into(), reason });
        }
        if texts.iter().any(|text| text.contains(self.refuses)) {
            let reason = "a word of it is refused".into();
            return Err(Error::Refused { endpoint: "letters".into(), status: 400, reason });
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
        assert!(!bench.writing.coverage().fault().is_empty());
        embedder.down.store(false, Ordering::Release);
        embedder.short.store(false, Ordering::Release);
        until(async || vectors(&bench).await > 0).await;
        until(async || bench.writing.coverage().missing("acme") == 0).await;
        assert_eq!(bench.writing.coverage().fault(), "");
    }
}

async fn until(is_so: impl AsyncFn() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(WAIT.unwrap(), waiting).await.unwrap();
}

async fn of_models(bench: &Bench) -> Vec<(String, u64)> {
    bench.store.counts(None).await.unwrap().vectors
}

#[tokio::test]
async fn another_model_takes_over_only_when_all_its_vectors_are_made_and_recall_tells_until_then() {
    let bench = Bench::with(Some(Letters::new(false, false)), WritingConfig::default()).await;
    let cora = bench.curator();
    bench.put(&cora, manual("1", "The valve opens at five bar.")).await;
    assert_eq!(of_models(&bench).await, [("letters".to_owned(), 1)]);

    let other = Letters::named("other letters", true, false, "\0");
    let bench = bench.again_with(Some(other.clone()), WritingConfig::default()).await;
    until(async || bench.writing.coverage().missing("acme") == 1).await;
    assert_eq!(bench.writing.coverage().missing("stranger"), 0);
    // Questions are made into vectors by one that works; the units' own are not there yet.
    let asks: Arc<dyn Embedder> = Letters::named("other letters", false, false, "\0");
    let recall = Recall::new(
        Arc::clone(&bench.store),
        Some(asks),
        Arc::clone(&bench.collections),
        recall::Config::default(),
        &bench.tasks,
    );
    let recall = recall.unwrap().covered(bench.writing.coverage());
    let owned = [Owned { collection: "manuals".into(), owner: None }];
    let question = Question { text: "valve five bar".into(), ..Question::default() };
    let ask =
        async || recall.recall(&caller("cora", "acme", &[]), &owned, &question).await.unwrap();
    let partial = ask().await;
    assert_eq!(partial.hits.len(), 1, "the other layers answer");
    let (sense, why) = &partial.failed[0];
    assert_eq!(*sense, Sense::Vector);
    assert!(why.contains("partial: 1 chunks"), "{why}");
    let scores = &partial.hits[0].scores;
    assert!(scores.iter().all(|score| score.sense != Sense::Vector), "models were mixed");
    assert_eq!(of_models(&bench).await, [("letters".to_owned(), 1)], "thrown away too early");

    other.down.store(false, Ordering::Release);
    until(async || of_models(&bench).await == [("other letters".to_owned(), 1)]).await;
    until(async || bench.writing.coverage().missing("acme") == 0).await;
    let whole = ask().await;
    assert!(whole.failed.is_empty(), "{:?}", whole.failed);
    assert!(whole.hits[0].scores.iter().any(|score| score.sense == Sense::Vector));
}

#[tokio::test]
async fn a_text_that_is_refused_does_not_keep_others_from_their_vectors() {
    let embedder = Letters::named("letters", true, false, "unspeakable");
    let bench = Bench::with(Some(embedder.clone()), WritingConfig::default()).await;
    let cora = bench.curator();
    let refused =
        bench.stored(&cora, manual("1", "The unspeakable valve opens at five bar.")).await;
    bench.put(&cora, manual("2", "The hatch opens at six bar.")).await;
    bench.put(&cora, manual("3", "The door opens at noon.")).await;
    embedder.down.store(false, Ordering::Release);
    until(async || vectors(&bench).await == 2).await;
    until(async || bench.writing.coverage().missing("acme") == 1).await;
    let told = ["part 0 has no vector: the embedder refuses its text"];
    until(async || bench.load(refused.seq).await.remarks == told).await;
}
