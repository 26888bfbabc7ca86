//! A model in this process: texts in, vectors out, made by threads of its own, so that neither the
//! runtime nor a question waits for an import.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use metrics::counter;
use rten::ThreadPool;
use tokio::sync::{oneshot, watch};

use super::engine::{Engine, pool};
use super::folder::Folder;
use super::{Embedder, Error, Local as Config, Model, Role};

/// Bytes of texts that run together: a run is short, so that the threads go on to what comes next.
const BYTES: usize = 4 << 10;
/// How much more willingly than questions the threads of passages leave the processor to others.
const NICE: i32 = 10;
/// Most threads.
const THREADS: usize = 64;
/// Time after which a model that could not be used is tried again.
const AGAIN: Duration = Duration::from_secs(60);

/// Texts that run together.
struct Run {
    role: Role,
    texts: Vec<String>,
    done: oneshot::Sender<Result<Vec<Vec<f32>>, Error>>,
}

/// A model in this process. It is read at its first use: until then it fills no memory.
pub(super) struct Local {
    folder: Folder,
    model: Model,
    threads: usize,
    state: Arc<watch::Sender<State>>,
}

/// Whether the model was read.
#[derive(Clone)]
enum State {
    Unread,
    Reading,
    Ready(Arc<Ready>),
    /// It cannot be used, as it was found then.
    Failed(Error, Instant),
}

/// A model that was read. Its threads end when it is dropped.
struct Ready {
    queries: Sender<Run>,
    passages: Sender<Run>,
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Local").field(&self.model).finish()
    }
}

impl Local {
    /// Finds the model, and reads what it is. Its weights are read and checked at the first use.
    pub(super) fn open(config: &Config) -> Result<Self, Error> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let threads = config.threads.unwrap_or_else(|| cores.min(4));
        if threads == 0 || threads > THREADS {
            return Err(Error::Config {
                key: "memory.embedder.local.threads",
                reason: format!("{threads} is not from 1 to {THREADS}"),
            });
        }
        let folder = Folder::read(&config.folder)?;
        let model = Model { name: folder.identity(), dimensions: folder.manifest.dimensions };
        Ok(Self { folder, model, threads, state: Arc::new(watch::Sender::new(State::Unread)) })
    }

    /// Begins to read the model where nobody did; one that could not be used is tried again after
    /// some time.
    fn begin(&self) {
        let begun = self.state.send_if_modified(|state| {
            let due = match state {
                State::Unread => true,
                State::Failed(_, at) => at.elapsed() >= AGAIN,
                State::Reading | State::Ready(_) => false,
            };
            if due {
                *state = State::Reading;
            }
            due
        });
        if !begun {
            return;
        }
        let (path, threads) = (self.folder.path.clone(), self.threads);
        let (name, state) = (self.model.name.clone(), Arc::clone(&self.state));
        let work = move || {
            let read = catch_unwind(AssertUnwindSafe(|| Ready::read(&path, &name, threads)));
            let read = read.unwrap_or_else(|_panic| {
                let reason = "it panicked; the log tells where".to_owned();
                Err(Error::Run { model: name.clone(), reason })
            });
            settle(&state, read);
        };
        if let Err(error) = thread::Builder::new().name("embed-read".to_owned()).spawn(work) {
            let reason = format!("its threads cannot start: {error}");
            settle(&self.state, Err(Error::Run { model: self.model.name.clone(), reason }));
        }
    }

    /// The model, once it is read.
    async fn ready(&self) -> Result<Arc<Ready>, Error> {
        self.begin();
        let mut changes = self.state.subscribe();
        loop {
            match &*changes.borrow_and_update() {
                State::Ready(ready) => return Ok(Arc::clone(ready)),
                State::Failed(error, _) => return Err(error.clone()),
                State::Unread | State::Reading => {}
            }
            changes.changed().await.map_err(|_gone| Error::Ended)?;
        }
    }

    /// Which texts run together: those of about the same length, as padding costs as much as text.
    fn plan(&self, texts: &[String]) -> Vec<Vec<usize>> {
        let most = self.folder.manifest.batch;
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
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let ready = self.ready().await?;
        let queue = match role {
            Role::Query => &ready.queries,
            Role::Passage => &ready.passages,
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

    fn is_loading(&self) -> bool {
        matches!(&*self.state.borrow(), State::Reading)
    }

    fn warm(&self) {
        self.begin();
    }

    fn calibrate(&self, cosine: f32) -> f32 {
        self.folder.calibration.score(cosine)
    }
}

impl Ready {
    /// Reads the model and starts its threads. Takes a second or more.
    fn read(path: &Path, name: &str, threads: usize) -> Result<Self, Error> {
        let started = Instant::now();
        let folder = Folder::read(path)?;
        if folder.identity() != name {
            return Err(folder.wrong("it holds another model than at the start; start anew"));
        }
        let engine = Arc::new(Engine::load(folder)?);
        let queries = start(&engine, "embed-query", threads, 0)?;
        let passages = start(&engine, "embed-passage", threads, NICE)?;
        metrics::histogram!("switchboard_memory_embed_load_seconds").record(started.elapsed());
        tracing::info!(model = name, took = ?started.elapsed(), "the embedding model is read");
        Ok(Self { queries, passages })
    }
}

/// Tells those who wait what came of reading the model.
fn settle(state: &watch::Sender<State>, read: Result<Ready, Error>) {
    state.send_replace(match read {
        Ok(ready) => State::Ready(Arc::new(ready)),
        Err(error) => {
            tracing::error!(%error, "units get no vectors, and recall does without");
            State::Failed(error, Instant::now())
        }
    });
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
