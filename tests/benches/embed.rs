//! The embedder with the default model: a question, a passage and an import, beside the bare model in
//! the same process and in turns; what loading it takes in time and memory.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, Value};
use switchboard::memory::embed::{Config, Embedder, Local, Role, open};
use tokio_util::task::TaskTracker;

use crate::measure::{Samples, figure, processor, resident};

const ROUNDS: usize = 60;
/// Of 20 tokens with the prefix and the marks around it.
const QUESTION: &str = "why does pump P-210 lose pressure after about half an hour?";
/// Of some 25 tokens; eight of them are about 200.
const SENTENCE: &str =
    "Ticket 4471: pump P-210 lost pressure after an hour of running; the shaft seal had worn. ";
/// Units of one import.
const UNITS: usize = 946;

pub async fn run() {
    let folder = std::env::var_os("SWITCHBOARD_MODEL").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/target/model")),
        PathBuf::from,
    );
    let before = resident(std::process::id());
    let begun = Instant::now();
    let local = Local { folder: folder.clone(), ..Local::default() };
    let embedder = open(&Config { local, ..Config::default() }, &TaskTracker::new());
    let embedder = embedder.unwrap().unwrap();
    figure("embed.load", begun.elapsed().as_secs_f64() * 1000.0, "ms");
    figure("embed.resident", resident(std::process::id()) - before, "MiB");

    let bare = Bare::load(&folder.join("model.onnx"));
    let passage = SENTENCE.repeat(8);
    pair(&*embedder, &bare, "question", (Role::Query, QUESTION, 20)).await;
    pair(&*embedder, &bare, "passage", (Role::Passage, &passage, 200)).await;

    // What a unit is: title and text of those of the labelled set, some 44 tokens each.
    let own: Vec<String> = labelled().cycle().take(UNITS).collect();
    imported(&*embedder, "import", &own).await;
    let short: Vec<String> = (0..UNITS).map(|n| format!("{n} {SENTENCE}")).collect();
    imported(&*embedder, "import_30_tokens", &short).await;
    let long: Vec<String> = (0..UNITS / 8).map(|n| format!("{n} {passage}")).collect();
    imported(&*embedder, "import_200_tokens", &long).await;
}

/// Titles and texts of the labelled set.
fn labelled() -> impl Iterator<Item = String> + Clone {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/memory/units.jsonl");
    let units = std::fs::read_to_string(path).unwrap();
    let texts = units.lines().map(|line| {
        let unit: serde_json::Value = serde_json::from_str(line).unwrap();
        format!("{}\n{}", unit["key"].as_str().unwrap_or_default(), unit["text"].as_str().unwrap())
    });
    texts.collect::<Vec<_>>().into_iter()
}

/// Times an import, with questions beside it.
async fn imported(embedder: &dyn Embedder, name: &str, units: &[String]) {
    let (begun, used) = (Instant::now(), processor(std::process::id()));
    let mut asked = Samples::default();
    let import = embedder.embed(Role::Passage, units);
    let questions = async {
        for _ in 0..5 {
            let begun = Instant::now();
            one(embedder, Role::Query, QUESTION).await;
            asked.time(begun.elapsed());
        }
    };
    let (vectors, ()) = tokio::join!(import, questions);
    assert_eq!(vectors.unwrap().len(), units.len());
    let (took, count) = (begun.elapsed().as_secs_f64(), units.len() as f64);
    figure(&format!("embed.{name}.rate"), count / took, "units/s");
    let used = (processor(std::process::id()) - used).as_secs_f64() * 1000.0;
    figure(&format!("embed.{name}.processor"), used / count, "ms/unit");
    figure(&format!("embed.{name}.question_p50"), asked.median(), "ms");
}

/// Times a text of so many tokens, and the bare model with as many.
async fn pair(embedder: &dyn Embedder, bare: &Bare, name: &str, of: (Role, &str, usize)) {
    let (role, text, tokens) = of;
    let (mut whole, mut alone) = (Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        one(embedder, role, text).await;
        whole.time(begun.elapsed());
        let begun = Instant::now();
        bare.run(tokens);
        alone.time(begun.elapsed());
    }
    figure(&format!("embed.{name}.p50"), whole.median(), "ms");
    figure(&format!("embed.{name}.least"), whole.least(), "ms");
    figure(&format!("embed.{name}.bare_p50"), alone.median(), "ms");
    figure(&format!("embed.{name}.bare_least"), alone.least(), "ms");
}

async fn one(embedder: &dyn Embedder, role: Role, text: &str) {
    let vectors = embedder.embed(role, &[text.to_owned()]).await.unwrap();
    assert_eq!(vectors[0].len(), embedder.model().dimensions);
}

/// The model without tokenizer, threads and all else of the product.
struct Bare {
    model: Model,
    inputs: [NodeId; 2],
    output: NodeId,
    pool: Arc<ThreadPool>,
}

impl Bare {
    fn load(path: &std::path::Path) -> Self {
        let mut options = ModelOptions::with_all_ops();
        let model = options.prepack_weights(true).load_file(path).unwrap();
        let node = |name| model.node_id(name).unwrap();
        let inputs = [node("input_ids"), node("attention_mask")];
        let output = node("last_hidden_state");
        Self { inputs, output, model, pool: Arc::new(ThreadPool::with_num_threads(1)) }
    }

    fn run(&self, tokens: usize) {
        let id = |at: usize| i32::try_from(at * 7919 % 200_000 + 5).unwrap();
        let ids = (0..tokens).map(id).collect();
        let values = [ids, vec![1; tokens]];
        let inputs = self.inputs.iter().zip(values);
        let inputs = inputs
            .map(|(node, values)| (*node, Value::from_shape([1, tokens], values).unwrap().into()))
            .collect();
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(&self.pool)));
        assert_eq!(self.model.run(inputs, &[self.output], Some(options)).unwrap().len(), 1);
    }
}
