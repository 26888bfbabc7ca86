//! Room 5: runs an authorized call in a sandbox and always removes it. [`Authorized`] in,
//! [`Ran`] out. Takes no decision about the call; what came of it is shaped by the next room.

mod abilities;
mod cgroup;
mod config;
mod desk;
mod egress;
mod engine;
mod error;
mod exchange;
mod facts;
mod guard;
mod hub;
mod janitor;
mod keeper;
mod kill;
mod link;
mod member;
mod order;
mod outcome;
mod pool;
mod recipe;
mod seccomp;
mod secrets;
mod share;
mod sight;
mod teardown;
mod teller;
#[cfg(test)]
mod tests;
mod veil;
mod verdict;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use metrics::counter;
use switchboard_runner::{Report, Request, Taken};
use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tokio_util::compat::FuturesAsyncReadCompatExt;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::call::{Event, File};
use crate::catalog::{LONGEST_WALL, Limits, Profile, Tier, Tool};
use crate::policy::Authorized;
use desk::Seat;
use egress::{Keyring, Pass};
use engine::Engine;
use exchange::{Heard, Parcel, Silence, exchange};
use guard::Guard;
use hub::{Grant, Holding, Hub};
use member::{Registry, Yard};
use order::Order;
use pool::Pools;
use recipe::{Images, Owner, Recipe};
use sight::Seen;
use teardown::Reaper;
use teller::Teller;

pub use config::Config;
pub use egress::GateLimits;
pub use error::{Error, Lack};
pub use facts::{EngineFacts, ImageFact, NoLimits, images, inspect_engine};
pub use janitor::clear;
pub use kill::Killer;
pub use outcome::{
    EgressAttempt, End, GivenFile, HttpAnswer, MorePages, Outcome, PoolUse, Refused,
};
pub use sight::Sight;

/// Longest drain.
const DRAIN: Duration = Duration::from_secs(15);
/// Added to the life of a container over what its age limits and the longest call allow.
const LIFE_SLACK: Duration = Duration::from_secs(600);

/// A call that ran, however it ended.
#[derive(Debug)]
pub struct Ran {
    pub(crate) authorized: Authorized,
    pub(crate) outcome: Outcome,
}

/// Whether calls can be served.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Readiness {
    /// The engine answers, and each pool has members.
    pub ready: bool,
    /// Why not; empty when ready.
    pub reason: String,
}

/// The sandbox room. Clones share everything.
#[derive(Debug, Clone)]
pub struct Sandbox {
    hub: Arc<Hub>,
}

impl Sandbox {
    /// Starts the room's tasks. An engine that does not answer is no error: the room becomes ready
    /// when it does, and refuses calls until then.
    pub async fn start(
        config: Config,
        tasks: TaskTracker,
        stop: CancellationToken,
    ) -> Result<Self, Error> {
        config.check()?;
        let engine = Engine::new(config.engine.clone(), config.engine_timeout());
        let engine = Arc::new(engine);
        let (waste, queue) = mpsc::unbounded_channel();
        let registry = Registry::new(waste);
        let owner = Owner {
            instance: config.instance.clone(),
            boot: uuid::Uuid::new_v4().simple().to_string(),
            lifetime: config.idle().max(config.worker_age()) + LONGEST_WALL + LIFE_SLACK,
        };
        let hub = Arc::new(Hub {
            images: ArcSwap::default(),
            reaper: Reaper::new(Arc::clone(&engine), Arc::clone(&registry), owner.clone()),
            yard: Yard { engine, registry, owner, tasks: tasks.clone() },
            pools: Mutex::new(Pools::new(Instant::now())),
            posts: Mutex::new(HashMap::new()),
            asked: CancellationToken::new(),
            abilities: ArcSwap::default(),
            profiles: ArcSwap::default(),
            lacking: Mutex::new(vec!["no tools are loaded yet".to_owned()]),
            vault: Arc::default(),
            evicted: Mutex::new(None),
            shares: Mutex::default(),
            capacity: Arc::new(Semaphore::new(config.containers())),
            creates: Arc::new(Semaphore::new(config.parallel())),
            changed: Notify::new(),
            urgent: Notify::new(),
            suspect: Notify::new(),
            readiness: watch::Sender::new(Readiness {
                ready: false,
                reason: "the sandbox is starting".to_owned(),
            }),
            tasks,
            stop,
            drained: CancellationToken::new(),
            config,
        });
        keeper::start(&hub, queue);
        Ok(Self { hub })
    }

    /// Sets which pools there are, from the profiles of `tools`. Reads the images file anew, so a
    /// rebuilt image takes over here; containers of pools no longer wanted are removed.
    pub fn furnish(&self, tools: &[Arc<Tool>]) {
        let mut lacking = Vec::new();
        match Images::read(&self.hub.config.images) {
            Ok(images) => self.hub.images.store(Arc::new(images)),
            Err(error) => lacking.push(error.line()),
        }
        let images = self.hub.images.load();
        let mut wanted = HashMap::new();
        for tool in tools {
            let profile = &tool.profile;
            match Recipe::new(profile, &images) {
                Ok(recipe) => {
                    wanted.insert(profile.name.clone(), (recipe, profile.pool));
                }
                Err(error) => {
                    let line = format!("profile `{}`: {}", profile.name, error.line());
                    if !lacking.contains(&line) {
                        lacking.push(line);
                    }
                }
            }
        }
        let mut profiles: Vec<_> = tools.iter().map(|tool| Arc::clone(&tool.profile)).collect();
        profiles.sort_by(|a, b| a.name.cmp(&b.name));
        profiles.dedup_by(|a, b| Arc::ptr_eq(a, b));
        self.hub.vault.furnish(&profiles);
        self.hub.profiles.store(Arc::new(profiles));
        let wanted = wanted.into_values().collect();
        *self.hub.lacking() = lacking;
        let drained = self.hub.pools().furnish(wanted, Instant::now());
        drop(drained);
        keeper::report(&self.hub);
        self.hub.changed.notify_one();
    }

    /// Runs an authorized call. An error means that it did not run. Dropping the future cancels the
    /// call: its tool is killed and its container removed; `sight` then tells what is known of it.
    /// A slow listener to `events` does not hold the tool back: it gets larger pieces.
    pub async fn run(
        &self,
        authorized: Authorized,
        events: Option<mpsc::Sender<Event>>,
        sight: &Sight,
    ) -> Result<Ran, Error> {
        let order = Order::new(&authorized)?;
        let outcome = self.execute(order, events, sight).await;
        let outcome = outcome.inspect_err(|refusal| {
            let cause = refusal.cause();
            counter!("switchboard_sandbox_refusals_total", "cause" => cause).increment(1);
        })?;
        Ok(Ran { authorized, outcome })
    }

    /// Whether a profile can be used: the engine can enforce it, and the values of its secrets can be
    /// had. Where it cannot, the place in the profile and why.
    pub fn check(&self, profile: &Arc<Profile>) -> Result<(), (&'static str, String)> {
        self.hub.abilities.load().check(profile).map_err(|why| ("runtime", why))?;
        let keyring = self.hub.vault.keyring(profile);
        keyring.map(drop).map_err(|error| ("secrets", error.line()))
    }

    /// Whether calls can be served, now and whenever it changes.
    pub fn readiness(&self) -> watch::Receiver<Readiness> {
        self.hub.readiness.subscribe()
    }

    /// Ends the room: every container of this boot is removed, also those of running calls. Returns
    /// when they are gone, or after 15 s; what is left then goes at the next start.
    pub async fn drain(&self) {
        self.hub.stop.cancel();
        drop(self.hub.pools().clear());
        self.hub.posts().clear();
        self.hub.reaper.drain(DRAIN).await;
        self.hub.drained.cancel();
    }

    async fn execute(
        &self,
        order: Order,
        events: Option<mpsc::Sender<Event>>,
        sight: &Sight,
    ) -> Result<Outcome, Error> {
        let asked = Instant::now();
        let left = remaining(order.deadline)?;
        let patience = left.unwrap_or(Duration::MAX).min(self.hub.config.queue_wait());
        // A call of the first moment: nothing is known yet of an engine that was not asked.
        drop(tokio::time::timeout(patience, self.hub.asked.cancelled()).await);
        let keyring = self.hub.vault.fetch(&order.profile).await?;
        let recipe = Arc::new(Recipe::new(&order.profile, &self.hub.images.load())?);
        let grant = match order.profile.tier {
            Tier::Call => self.hub.take(&recipe, &order.who, patience).await?,
            Tier::Worker => self.hub.join(&recipe, (&order.scope, &order.who), patience).await?,
        };
        let queue = asked.elapsed();
        let use_label = match grant.pool {
            PoolUse::Hit => "hit",
            PoolUse::Waited => "waited",
            PoolUse::Cold => "cold",
        };
        counter!("switchboard_sandbox_pool_total", "use" => use_label).increment(1);
        let outcome = self.serve(&order, (&grant, keyring), events, (sight, queue)).await?;
        let end = verdict::label(&outcome.end);
        counter!("switchboard_sandbox_verdicts_total", "end" => end).increment(1);
        Ok(outcome)
    }

    /// One call in a container that is at hand.
    async fn serve(
        &self,
        order: &Order,
        (grant, keyring): (&Grant, Arc<Keyring>),
        events: Option<mpsc::Sender<Event>>,
        (sight, queue): (&Sight, Duration),
    ) -> Result<Outcome, Error> {
        let begun = Instant::now();
        let mut limits = order.profile.limits;
        if let Some(left) = remaining(order.deadline)? {
            limits.wall = limits.wall.min(left);
        }
        let shared = grant.holding.is_shared();
        let recipe = &grant.holding.member().recipe;
        let request = request(order, recipe, &limits, !shared);
        let parcel = Parcel::pack(request, &order.stdin, &order.files)?;
        let link = grant.holding.member().link();
        let mut heard = Heard::veiled(keyring.veil());
        let nonce = &parcel.request.nonce;
        let seat = pass(&order.profile, keyring)
            .map(|pass| link.desk().seat(nonce, pass, &self.hub.config.gate));
        sight.see(seen(grant, queue, limits, seat.as_ref()));
        let mut guard = Guard::new(&grant.holding, sight);
        let mut teller = Teller::new(events);
        let said = match link.open().await {
            Some(stream) => {
                let bound = limits.wall + self.hub.config.grace() + parcel.transfer();
                exchange(stream.compat(), &parcel, bound, &mut teller, &mut heard).await
            }
            None => Err(Silence::Gone("the container ended before the call".to_owned())),
        };
        let killed = guard.settle(&said);
        heard.finish(&mut teller);
        drop(teller);
        let egress = seat.map(Seat::close).unwrap_or_default();
        let end = match &said {
            Ok(report) => verdict::judge(report, shared),
            Err(silence) => self.explain(silence, heard.started, &grant.holding).await,
        };
        let report = said.unwrap_or_else(|_silence| silent(&heard, begun.elapsed()));
        let tool = Duration::from_micros(report.wall_us);
        let (end, http, stdout) = answer(order, end, heard.stdout);
        Ok(Outcome {
            end,
            killed,
            stdout,
            stderr: heard.stderr.into(),
            http,
            files: heard.given,
            stdout_bytes: report.stdout_bytes,
            stderr_bytes: report.stderr_bytes,
            oom_kills: report.oom_kills,
            egress,
            pool: grant.pool,
            queue,
            sandbox: begun.elapsed().saturating_sub(tool),
            tool,
            cpu: Duration::from_micros(report.cpu_us),
            peak_memory: report.peak_bytes,
            image_digest: grant.holding.member().recipe.key.image.clone(),
            container: grant.holding.member().id.clone(),
            limits,
        })
    }

    /// The verdict when there is no report.
    async fn explain(&self, silence: &Silence, started: bool, holding: &Holding) -> End {
        match silence {
            Silence::Flood => End::OutputLimit,
            Silence::Broken(reason) => End::Lost(reason.clone()),
            Silence::Gone(_) if self.hub.stop.is_cancelled() => End::Cancelled,
            Silence::Gone(_) if holding.starved(&self.hub.yard.engine).await => End::OutOfMemory,
            Silence::Gone(_) if holding.outgrew() => End::ProcessLimit,
            Silence::Gone(reason) => End::Lost(reason.clone()),
            Silence::Late if started => End::Timeout,
            Silence::Late => End::Lost("the sandbox did not answer".to_owned()),
        }
    }
}

/// What the gate has to know of a call; `None` where no port is opened.
fn pass(profile: &Profile, keyring: Arc<Keyring>) -> Option<Pass> {
    let rules = profile.egress.clone()?;
    Some(Pass { rules, tighter: profile.egress_limits, keyring })
}

fn seen(grant: &Grant, queue: Duration, limits: Limits, seat: Option<&Seat<'_>>) -> Seen {
    let member = grant.holding.member();
    Seen {
        pool: grant.pool,
        queue,
        begun: Instant::now(),
        image_digest: member.recipe.key.image.clone(),
        container: member.id.clone(),
        limits,
        killed: None,
        trail: seat.map(Seat::trail),
    }
}

/// Time left for the caller; an error once less than a millisecond is left.
fn remaining(deadline: Option<Instant>) -> Result<Option<Duration>, Error> {
    let Some(at) = deadline else { return Ok(None) };
    let left = at.saturating_duration_since(Instant::now());
    if left < Duration::from_millis(1) {
        return Err(Error::Deadline);
    }
    Ok(Some(left))
}

fn request(order: &Order, recipe: &Recipe, limits: &Limits, last: bool) -> Request {
    Request {
        nonce: uuid::Uuid::new_v4().simple().to_string(),
        argv: order.argv_within(limits.wall),
        env: order.env.clone(),
        cwd: "/tmp".to_owned(),
        wall_ms: u64::try_from(limits.wall.as_millis()).unwrap_or(u64::MAX),
        output_bytes: limits.output,
        open_files: u64::from(limits.open_files),
        file_bytes: limits.disk,
        processes: recipe.guest_processes(),
        memory_bytes: recipe.guest_memory(),
        egress: order.profile.egress.is_some(),
        last,
        take: order
            .files
            .iter()
            .map(|File { facts, .. }| Taken { name: facts.name.clone(), bytes: facts.bytes })
            .collect(),
        give: order.wanted.clone(),
        give_bytes: order.wanted_bytes,
    }
}

/// What is known of a call without a report.
fn silent(heard: &Heard, took: Duration) -> Report {
    let length = |bytes: &[u8]| u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    Report {
        nonce: String::new(),
        exit: switchboard_runner::Exit::NotStarted(String::new()),
        stopped: None,
        wall_us: match heard.started {
            true => u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            false => 0,
        },
        cpu_us: 0,
        peak_bytes: 0,
        stdout_bytes: length(&heard.stdout),
        stderr_bytes: length(&heard.stderr),
        oom_kills: 0,
        forks_refused: 0,
        disk_full: false,
        given: Vec::new(),
    }
}

/// Reads the HTTP client's answer off its standard output, as much of it as came.
fn answer(order: &Order, end: End, stdout: Vec<u8>) -> (End, Option<HttpAnswer>, bytes::Bytes) {
    let Some(form) = order.answer else { return (end, None, stdout.into()) };
    let answer = order::parse_answer(stdout.into(), form);
    let end = match end {
        // The body was longer than the cap; what fits was written.
        End::Exited(5) => End::OutputLimit,
        End::Exited(0) if answer.is_none() => {
            End::Lost("the HTTP client wrote no answer".to_owned())
        }
        end => end,
    };
    (end, answer, bytes::Bytes::new())
}
