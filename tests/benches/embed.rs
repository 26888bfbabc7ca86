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
/// Of some 28 tokens; eight of them are about 200.
const SENTENCE: &str =
    "Ticket 4471: pump P-210 lost pressure after an hour of running; the shaft seal had worn. ";
const UNITS: usize = 1500;

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

    let units: Vec<String> = (0..UNITS).map(|n| format!("{n} {SENTENCE}")).collect();
    let (begun, used) = (Instant::now(), processor(std::process::id()));
    let mut asked = Samples::default();
    let import = embedder.embed(Role::Passage, &units);
    let questions = async {
        for _ in 0..5 {
            let begun = Instant::now();
            one(&*embedder, Role::Query, QUESTION).await;
            asked.time(begun.elapsed());
        }
    };
    let (vectors, ()) = tokio::join!(import, questions);
    assert_eq!(vectors.unwrap().len(), UNITS);
    figure("embed.import.rate", UNITS as f64 / begun.elapsed().as_secs_f64(), "units/s");
    let used = processor(std::process::id()) - used;
    figure("embed.import.processor", used.as_secs_f64() * 1000.0 / UNITS as f64, "ms/unit");
    figure("embed.import.question_p50", asked.median(), "ms");
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
