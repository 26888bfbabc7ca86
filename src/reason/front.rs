//! One request to the reasoning from its arrival to its run: asks policy who may, has the runs do it, keeps
//! the record of each run that is asked for. Holds what is in force, and puts it in force again when files
//! change. Knows nothing of the wire.

mod record;
mod standing;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use arc_swap::ArcSwapOption;
use futures::Stream;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::agent::DEFAULT;
use super::{Asked, Config, Error, Filter, Kept, RunId, Runs, Summary, Visitor};
use crate::evidence::Trace;
use crate::ledger::{self, Ledger};
use crate::memory::{Desk, context as contexts};
use crate::model;
use crate::pipeline::Pipeline;
use crate::policy::{Crew, Decision, Reasoners, Ruling};

pub use standing::Standing;

/// What a front is made of.
#[derive(Debug, Clone)]
pub struct FrontPlace {
    /// The table `reason` of the configuration.
    pub config: Config,
    /// The table `models`.
    pub models: model::Config,
    /// The table `memory.context`.
    pub context: contexts::Config,
    /// The policies folder.
    pub policies: PathBuf,
    /// The only way to a tool.
    pub pipeline: Arc<Pipeline>,
    /// The only way to the memory.
    pub desk: Desk,
    /// Where runs and their calls run; a drain waits for it.
    pub calls: TaskTracker,
    /// Where the work in the background runs.
    pub tasks: TaskTracker,
    /// Ends everything.
    pub stop: CancellationToken,
}

/// The front of this daemon's reasoning. Clones are the same one.
#[derive(Debug, Clone)]
pub struct Front {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    place: FrontPlace,
    /// `None` while the policies cannot be used.
    reasoners: ArcSwapOption<Reasoners>,
    standing: watch::Sender<Standing>,
    /// Whether a task is about to open the runs.
    opening: AtomicBool,
}

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Unserved {
    /// The daemon reasons, but not now.
    #[error("{0}")]
    Unavailable(String),
    /// Policy does not permit it.
    #[error("{}", denied(.0))]
    Denied(Box<Decision>),
    /// The runs do not do it.
    #[error(transparent)]
    Run(#[from] Error),
    /// The record could not be kept, so there is no run.
    #[error("the run cannot be recorded, so it is not started: try again later")]
    Unrecorded(#[from] ledger::Error),
}

fn denied(decision: &Decision) -> String {
    match decision.policies.as_slice() {
        [] => "no policy in `reason/*.cedar` permits you to start a run".to_owned(),
        ids => format!("you may not start a run: forbidden by `{}`", ids.join("`, `")),
    }
}

impl Front {
    /// Reads the policies, and begins to open the runs where there are to be any. Takes no longer than
    /// reading some small files: requests that come before they are open are told so.
    pub fn start(place: FrontPlace) -> Self {
        let (standing, _) = watch::channel(Standing::Opening);
        let reasoners = ArcSwapOption::empty();
        let inner = Inner { place, reasoners, standing, opening: AtomicBool::new(false) };
        let front = Self { inner: Arc::new(inner) };
        front.load();
        front.open();
        front
    }

    /// Whether there are runs, and why not; changes are seen by who waits for them.
    pub fn standing(&self) -> watch::Receiver<Standing> {
        self.inner.standing.subscribe()
    }

    /// Puts policies, rules and agents in force. What is broken keeps its last good state, and the log
    /// says so. Blocks for as long as reading some small files takes.
    pub fn reload(&self) {
        self.load();
        let standing = self.inner.standing.borrow().clone();
        match standing {
            Standing::Open(runs) => {
                runs.reload();
                // Whether there is anybody to answer may be another matter now.
                self.inner.standing.send_modify(|_| {});
            }
            // What was wrong may have been mended.
            Standing::Down(_) => self.open(),
            Standing::Opening | Standing::Closed => {}
        }
    }

    fn load(&self) {
        match Reasoners::load(&self.inner.place.policies) {
            Ok(reasoners) => {
                for warning in reasoners.warnings() {
                    tracing::warn!("{warning}");
                }
                self.inner.reasoners.store(Some(Arc::new(reasoners)));
            }
            Err(error) => tracing::error!(
                %error,
                "the policies in `reason/*.cedar` were not taken; the last good ones stay"
            ),
        }
    }

    /// Starts a run. It is on the disk, and its record too, when its id is returned.
    pub async fn begin(
        &self,
        visitor: &Visitor,
        received: Instant,
        mut asked: Asked,
    ) -> Result<RunId, Unserved> {
        if asked.agent == DEFAULT {
            asked.agent.clear();
        }
        let runs = self.runs()?;
        if let Some(why) = runs.off() {
            return Err(Error::Off(why.to_owned()).into());
        }
        let told = record::told(&asked);
        let decided = self.decide(&runs, visitor, &asked.agent);
        let decision = match decided {
            Ok(decision) => decision,
            Err(error) => {
                if let Unserved::Denied(decision) = &error {
                    let said = (Some(&**decision), &told, Err(&error));
                    self.record(visitor, received, said).await?;
                }
                return Err(hidden(error, &asked.agent));
            }
        };
        let begun = runs.start(visitor, asked).await.map_err(Unserved::from);
        let said = (Some(&decision), &told, begun.as_ref());
        let recorded = self.record(visitor, received, said).await;
        if let (Ok(run), Err(_)) = (&begun, &recorded) {
            // What nobody can account for is not run.
            drop(runs.cancel(visitor, run).await);
        }
        recorded?;
        begun
    }

    /// Goes on with a run of the caller, if what it waits for has come.
    pub async fn resume(&self, visitor: &Visitor, run: &RunId) -> Result<(), Unserved> {
        let runs = self.runs()?;
        let agent = runs.summary(visitor, run).await?.agent;
        self.decide(&runs, visitor, &agent).map_err(|error| hidden(error, &agent))?;
        Ok(runs.resume(visitor, run).await?)
    }

    /// Ends a run of the caller; false when it had ended.
    pub async fn cancel(&self, visitor: &Visitor, run: &RunId) -> Result<bool, Unserved> {
        Ok(self.runs()?.cancel(visitor, run).await?)
    }

    /// The events of a run of the caller behind `after`, and those still to come.
    pub fn follow(
        &self,
        visitor: &Visitor,
        run: &RunId,
        after: u64,
    ) -> Result<impl Stream<Item = Result<Kept, Error>> + Send + 'static + use<>, Unserved> {
        Ok(self.runs()?.follow(visitor, run, after))
    }

    /// A run of the caller, and its evidence as far as it has come.
    pub async fn trace(
        &self,
        visitor: &Visitor,
        run: &RunId,
    ) -> Result<(Summary, Trace), Unserved> {
        let runs = self.runs()?;
        let trace = runs.trace(visitor, run).await?;
        Ok((runs.summary(visitor, run).await?, trace))
    }

    /// Runs of the caller, those started last first.
    pub async fn list(&self, visitor: &Visitor, filter: Filter) -> Result<Vec<Summary>, Unserved> {
        Ok(self.runs()?.list(visitor, filter).await?)
    }

    /// Whether this caller may have this agent answer.
    fn decide(&self, runs: &Runs, visitor: &Visitor, agent: &str) -> Result<Decision, Unserved> {
        let reasoners = self.inner.reasoners.load_full().ok_or_else(|| {
            Unserved::Unavailable(
                "the policies in `reason/*.cedar` cannot be used; the log says why".to_owned(),
            )
        })?;
        let decision = reasoners.decide(&visitor.caller, &self.crew(runs, agent)?);
        match decision.ruling {
            Ruling::Permit => Ok(decision),
            _ => Err(Unserved::Denied(Box::new(decision))),
        }
    }

    /// What policies see of an agent: its own tools and models, and those of all whom it may give work.
    fn crew(&self, runs: &Runs, agent: &str) -> Result<Crew, Error> {
        let endpoints = |name: &str| endpoints(&self.inner.place.models, name);
        let agents = runs.agents();
        if agent.is_empty() {
            let tools = BTreeSet::from(["*".to_owned()]);
            let models = ["router", "reasoner", "judge"].into_iter().flat_map(endpoints).collect();
            return Ok(Crew { agent: DEFAULT.to_owned(), tools, models });
        }
        let lead = agents.get(agent).ok_or_else(|| Error::Agent(agent.to_owned()))?;
        let team = agents.team(lead).chain(agents.judge(lead)).chain([lead]);
        let (mut tools, mut models) = (BTreeSet::new(), endpoints("router"));
        for one in team {
            tools.extend(one.tools.iter().cloned());
            models.extend(endpoints(one.model()));
        }
        Ok(Crew { agent: lead.name.clone(), tools, models })
    }

    fn ledger(&self) -> &Ledger {
        self.inner.place.pipeline.ledger()
    }
}

/// The endpoints of a role, by its name; else the one of that name.
fn endpoints(models: &model::Config, name: &str) -> BTreeSet<String> {
    let role = models.roles.iter().find(|(role, _)| role.as_str() == name);
    match role {
        Some((_, endpoints)) => endpoints.iter().cloned().collect(),
        None if models.endpoints.contains_key(name) => BTreeSet::from([name.to_owned()]),
        None => BTreeSet::new(),
    }
}

/// An agent that somebody may not use is not named to it.
fn hidden(error: Unserved, agent: &str) -> Unserved {
    match error {
        Unserved::Denied(_) if !agent.is_empty() => Error::Agent(agent.to_owned()).into(),
        error => error,
    }
}
