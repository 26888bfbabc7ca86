//! A model in this process: texts in, vectors out, made by threads of its own, so that neither the
//! runtime nor a question waits for an import.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use async_trait::async_trait;
use metrics::counter;
use rten::ThreadPool;
use tokio::sync::oneshot;

use super::engine::{Engine, pool};
use super::folder::Folder;
use super::{Embedder, Error, Local as Config, Model, Role};

/// Bytes of texts that run together: a run is short, so that the threads go on to what comes next.
const BYTES: usize = 4 << 10;
/// How much more willingly than questions the threads of passages leave the processor to others.
const NICE: i32 = 10;
/// Most threads.
const THREADS: usize = 64;

/// Texts that run together.
struct Run {
    role: Role,
    texts: Vec<String>,
    done: oneshot::Sender<Result<Vec<Vec<f32>>, Error>>,
}

/// A model in this process.
pub(super) struct Local {
    engine: Arc<Engine>,
    model: Model,
    queries: Sender<Run>,
    passages: Sender<Run>,
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Local").field(&self.model).finish()
    }
}

impl Local {
    /// Loads the model and starts its threads, which end when it is dropped.
    pub(super) fn open(config: &Config) -> Result<Self, Error> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let threads = config.threads.unwrap_or_else(|| cores.min(4));
        if threads == 0 || threads > THREADS {
            return Err(Error::Config {
                key: "memory.embedder.local.threads",
                reason: format!("{threads} is not from 1 to {THREADS}"),
            });
        }
        Self::load(&config.folder, threads)
    }

    fn load(folder: &Path, threads: usize) -> Result<Self, Error> {
        let engine = Arc::new(Engine::load(Folder::open(folder)?)?);
        let model = Model {
            name: engine.name().to_owned(),
            dimensions: engine.folder().manifest.dimensions,
        };
        let queries = start(&engine, "embed-query", threads, 0)?;
        let passages = start(&engine, "embed-passage", threads, NICE)?;
        Ok(Self { engine, model, queries, passages })
    }

    /// Which texts run together: those of about the same length, as padding costs as much as text.
    fn plan(&self, texts: &[String]) -> Vec<Vec<usize>> {
        let most = self.engine.folder().manifest.batch;
        let length = |at: usize| texts.get(at).map_or(0, String::len);
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|at| length(*at));
        let mut runs: Vec<Vec<usize>> = Vec::new();
        for at in order {
            match runs.last_mut() {
                Some(run) if run.len() < most && (run.len() + 1) * length(at) <= BYTES => {
                    run.push(at);
                }
                _ => runs.push(vec![at]),
            }
        }
        runs
    }
}

#[async_trait]
impl Embedder for Local {
    fn model(&self) -> &Model {
        &self.model
    }

    async fn embed(&self, role: Role, texts: &[String]) -> Result<Vec<Vec<f32>>, Error> {
        let queue = match role {
            Role::Query => &self.queries,
            Role::Passage => &self.passages,
        };
        let mut waiting = Vec::new();
        for places in self.plan(texts) {
            let texts = places.iter().filter_map(|at| texts.get(*at).cloned()).collect();
            let (done, result) = oneshot::channel();
            queue.send(Run { role, texts, done }).map_err(|_gone| Error::Ended)?;
            waiting.push((places, result));
        }
        let mut vectors = vec![Vec::new(); texts.len()];
        for (places, result) in waiting {
            let found = result.await.map_err(|_gone| Error::Ended)??;
            for (at, vector) in places.into_iter().zip(found) {
                if let Some(place) = vectors.get_mut(at) {
                    *place = vector;
                }
            }
        }
        Ok(vectors)
    }

    fn calibrate(&self, cosine: f32) -> f32 {
        self.engine.folder().calibration.score(cosine)
    }
}

/// Starts threads that take runs until nobody sends any more.
fn start(engine: &Arc<Engine>, name: &str, count: usize, nice: i32) -> Result<Sender<Run>, Error> {
    let (sender, receiver) = channel();
    let receiver = Arc::new(Mutex::new(receiver));
    for _ in 0..count {
        let (engine, receiver) = (Arc::clone(engine), Arc::clone(&receiver));
        let name = name.to_owned();
        let failed = |error: std::io::Error| Error::Run {
            model: engine.name().to_owned(),
            reason: format!("its threads cannot start: {error}"),
        };
        let (worker, taken) = (Arc::clone(&engine), receiver);
        thread::Builder::new()
            .name(name)
            .spawn(move || work(&worker, &taken, nice))
            .map_err(failed)?;
    }
    Ok(sender)
}

fn work(engine: &Engine, receiver: &Mutex<Receiver<Run>>, nice: i32) {
    let pool = pool();
    pool.run(|| {
        // On Linux it is the thread's own; where it may not, questions are a little slower.
        if let Err(error) = rustix::process::nice(nice) {
            tracing::debug!(%error, "the threads that make vectors keep their priority");
        }
    });
    loop {
        let next = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(run) = next else { return };
        // Whoever asked may have gone.
        if run.done.is_closed() {
            continue;
        }
        let made = catch_unwind(AssertUnwindSafe(|| make(engine, &pool, &run)));
        let result = made.unwrap_or_else(|_panic| {
            Err(Error::Run {
                model: engine.name().to_owned(),
                reason: "it panicked; the log tells where".to_owned(),
            })
        });
        // Nobody waits for what nobody wants.
        drop(run.done.send(result));
    }
}

fn make(engine: &Engine, pool: &Arc<ThreadPool>, run: &Run) -> Result<Vec<Vec<f32>>, Error> {
    let texts: Vec<_> = run.texts.iter().map(|text| engine.tokens(run.role, text)).collect();
    let cut = texts.iter().filter(|text| text.cut).count();
    if cut > 0 {
        counter!("switchboard_memory_embed_cut_total")
            .increment(u64::try_from(cut).unwrap_or(u64::MAX));
    }
    engine.run(pool, run.role, &texts)
}
