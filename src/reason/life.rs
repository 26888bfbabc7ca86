//! How runs begin, go on after a restart, are woken up and end. Whose a run is, is checked here; what it
//! does is `drive`'s.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tokio_util::sync::CancellationToken;

use super::drive::Drive;
use super::event::{Event, Resumed, Started};
use super::going::Going;
use super::log::Log;
use super::proof::as_of;
use super::state::Story;
use super::store::{Birth, Store};
use super::{Agents, Asked, Error, Inner, Limits, Place, RunId, Runs, State, Visitor, cache};
use crate::admission::Caller;
use crate::call::Taint;
use crate::evidence::{FollowUp, Rules, follow_up};
use crate::mask;
use crate::memory::context::Context;
use crate::model::{Money, Role};

/// Longest question, in bytes.
const QUESTION: usize = 16 << 10;
/// Longest name, in bytes.
const NAME: usize = 128;
/// Most collections of one question.
const COLLECTIONS: usize = 64;
/// Characters of a question in a list.
const SHOWN: usize = 200;
/// How often ended runs that are old are looked for.
const FORGET_EVERY: Duration = Duration::from_secs(3600);
/// Why a run goes on whose question is not known any more as it was asked.
const MASKED: &str = "restart_masked";
/// When one that found no place may come again.
const LATER: Duration = Duration::from_secs(1);

/// Opens the store, reads rules and agents, and goes on with every run that had not ended.
pub(super) async fn open(place: Place) -> Result<Runs, Error> {
    let Place { config, context, policies, pipeline, desk, models, tasks, stop } = place;
    config.check()?;
    if let Some(money) = &config.money {
        let wrong = |reason| Error::Config { key: "reason.money", reason };
        Money::parse(money, models.currency()).map_err(wrong)?;
    }
    let contexts = Context::new(context)
        .map_err(|error| Error::Config { key: "memory.context", reason: error.to_string() })?;
    let path = config.path.clone().unwrap_or_else(|| "runs.db".into());
    let opened = tokio::task::spawn_blocking(move || Store::open(&path)).await;
    let store = opened.map_err(|_cancelled| Error::Draining)??;
    // Before anything holds the store: who cannot go on lets go of the file, and may try again.
    let left = store.open_runs().await?;
    let inner = Arc::new(Inner {
        cache: cache::Cache::new(&config.cache),
        config,
        policies,
        pipeline,
        desk,
        models,
        tasks,
        store,
        contexts,
        rules: ArcSwap::from_pointee(Rules::default()),
        agents: ArcSwap::from_pointee(Agents::default()),
        going: Mutex::new(HashMap::new()),
        turn: tokio::sync::Mutex::new(()),
        closing: stop.child_token(),
    });
    inner.reload();
    let (tending, closing) = (Arc::clone(&inner), inner.closing.clone());
    // A drain waits for these tasks, and begins with the closing of runs.
    inner.tasks.spawn(closing.run_until_cancelled_owned(async move { tending.tend().await }));
    for (run, name, tenant) in left {
        if let Err(error) = inner.go_on(&run).await {
            tracing::error!(%run, caller = name, tenant, %error, "a run cannot be gone on with");
        }
    }
    Ok(Runs { inner })
}

impl Inner {
    /// Reads rules and agents again; what is broken keeps its last good state.
    pub(super) fn reload(&self) {
        let known = self.rules.load_full();
        let (rules, problems) = Rules::load_with(&self.policies, Some(&known));
        for problem in &problems {
            let (file, place) = (&problem.file, &problem.place);
            tracing::warn!(file, place, "a rule cannot be used: {}", problem.message);
        }
        self.rules.store(Arc::new(rules));
        let known = self.agents.load_full();
        let (agents, problems) = Agents::load_with(&self.policies, Some(&known));
        for problem in &problems {
            let (file, place) = (&problem.file, &problem.place);
            tracing::warn!(file, place, "an agent cannot be used: {}", problem.message);
        }
        self.agents.store(Arc::new(agents));
    }

    /// Why there is nobody to answer; empty where there is.
    pub(super) fn off(&self) -> Option<&'static str> {
        match self.config.enabled {
            Some(false) => return Some("`reason.enabled` is false"),
            Some(true) => return None,
            None => {}
        }
        let able = self.models.serves(Role::Reasoner) || !self.rules.load().all().is_empty();
        (!able).then_some(
            "no endpoint has the role `reasoner` in `[models.roles]`, and no rule is declared in \
             `rules/*.toml` of the policies folder",
        )
    }

    /// Starts a run.
    pub(super) async fn begin(
        self: &Arc<Self>,
        visitor: &Visitor,
        asked: Asked,
    ) -> Result<RunId, Error> {
        if let Some(why) = self.off() {
            return Err(Error::Off(why.to_owned()));
        }
        check(&asked)?;
        if !asked.agent.is_empty() && self.agents.load().get(&asked.agent).is_none() {
            return Err(Error::Agent(asked.agent));
        }
        if let Some(previous) = &asked.previous {
            let before = self.store.summary(&visitor.caller, previous).await?;
            if !before.state.is_end() {
                let reason = "has not ended, so that nothing follows from it yet: wait for its end";
                return Err(Error::State { run: previous.to_string(), reason });
            }
        }
        let limits = self.limits(&asked.limits)?;
        as_of(&asked.as_of, &self.config.time_zone, Timestamp::now())?;
        let asked = self.dated(asked).await;
        let caller = &visitor.caller;
        let brought = self.brought(asked.previous.as_ref(), caller).await;
        let run = RunId::generate();
        let going = self.enter(&run, caller, Vec::new())?;
        let log = Log::new(run.clone(), self.store.clone(), Arc::clone(&going), Story::default());
        let question = asked.question.clone();
        let started = self.started(visitor, (asked, limits), brought);
        let birth = Birth {
            caller: caller.clone(),
            conversation: started.conversation.clone(),
            agent: started.agent.clone(),
            question: started.question.chars().take(SHOWN).collect(),
        };
        if let Err(error) = log.begin(Event::Started(Box::new(started)), birth).await {
            self.leave(&run, &going);
            return Err(error);
        }
        metrics::counter!("switchboard_reason_runs_total", "outcome" => "started").increment(1);
        self.spawn(log, going, question);
        Ok(run)
    }

    /// The first event of a run: all that it goes by.
    fn started(
        &self,
        visitor: &Visitor,
        (asked, limits): (Asked, Limits),
        brought: BTreeSet<Taint>,
    ) -> Started {
        let caller = &visitor.caller;
        Started {
            question: mask::text(&asked.question).into_owned(),
            agent: asked.agent,
            conversation: asked.conversation,
            previous: asked.previous,
            as_of: asked.as_of,
            time_zone: self.config.time_zone.clone(),
            collections: asked.collections,
            limits,
            no_cache: asked.no_cache,
            caller: caller.name.clone(),
            tenant: caller.tenant.clone(),
            roles: caller.roles.clone(),
            proof: visitor.proof.clone(),
            digest: self.digest(),
            brought: Some(brought),
        }
    }

    /// The question with the date of the one that it follows up, where it names no other: a dated rule is
    /// taken as it was then, and so is what was compared.
    async fn dated(&self, asked: Asked) -> Asked {
        let Some(previous) = asked.previous.as_ref().filter(|_| asked.as_of.is_empty()) else {
            return asked;
        };
        let (earlier, rules) = (self.left_by(previous).await, self.rules.load_full());
        let zone = TimeZone::get(&self.config.time_zone).unwrap_or(TimeZone::UTC);
        let as_of = match follow_up(&asked.question, &earlier, (&rules, &zone), None) {
            Ok(Some(FollowUp::Rule { as_of, .. })) => as_of.to_string(),
            Ok(Some(FollowUp::Comparison(again))) => again.as_of.to_string(),
            _ => String::new(),
        };
        Asked { as_of, ..asked }
    }

    /// Goes on with a run that nobody works on, under the caller that it has.
    async fn go_on(self: &Arc<Self>, run: &RunId) -> Result<(), Error> {
        // One at a time, so that no run gets two executors and none goes on from an old event.
        let _turn = self.turn.lock().await;
        let Some((log, going)) = self.take_up(run).await? else { return Ok(()) };
        let question = log.story(|story| story.started.question.clone());
        let why = if question.contains(mask::MASK) { MASKED } else { "restart" }.to_owned();
        if let Err(error) = log.add("", Event::Resumed(Resumed { why })).await {
            self.leave(run, &going);
            return Err(error);
        }
        self.spawn(log, going, question);
        Ok(())
    }

    /// A run at its last event, as one that is worked on; `None` where it is, or has ended. Whoever calls
    /// this has the turn.
    async fn take_up(&self, run: &RunId) -> Result<Option<(Log, Arc<Going>)>, Error> {
        let events = self.store.whole(run).await?;
        let story = Story::of(&events);
        if story.ended.is_some() || self.lock().contains_key(run) {
            return Ok(None);
        }
        // It was permitted when it began, so the limits of new ones do not count.
        let going = Arc::new(Going::new(&owner(&story.started), events));
        self.lock().insert(run.clone(), Arc::clone(&going));
        let log = Log::new(run.clone(), self.store.clone(), Arc::clone(&going), story);
        Ok(Some((log, going)))
    }

    fn spawn(self: &Arc<Self>, log: Log, going: Arc<Going>, question: String) {
        let (inner, run) = (Arc::clone(self), log.run().clone());
        self.tasks.spawn(async move {
            Drive::over(&inner, log, Arc::clone(&going), question).await;
            inner.leave(&run, &going);
        });
    }

    /// A place for a run more.
    fn enter(
        &self,
        run: &RunId,
        caller: &Caller,
        events: Vec<super::Kept>,
    ) -> Result<Arc<Going>, Error> {
        let mut going = self.lock();
        if self.closing.is_cancelled() {
            return Err(Error::Draining);
        }
        let most = |limit: u32| usize::try_from(limit).unwrap_or(usize::MAX);
        let busy = |limit, whose| Error::Busy { limit, whose, retry_after: LATER };
        if going.len() >= most(self.config.running) {
            return Err(busy(self.config.running, "of all callers"));
        }
        let own = going.values().filter(|one| one.is_of(caller)).count();
        if own >= most(self.config.running_per_caller) {
            return Err(busy(self.config.running_per_caller, "of this caller"));
        }
        let entered = Arc::new(Going::new(caller, events));
        going.insert(run.clone(), Arc::clone(&entered));
        Ok(entered)
    }

    fn leave(&self, run: &RunId, going: &Going) {
        self.lock().remove(run);
        going.end();
    }

    /// The run, where it is worked on and the caller's.
    pub(super) fn at_work(&self, visitor: &Visitor, run: &RunId) -> Option<Arc<Going>> {
        self.lock().get(run).filter(|going| going.is_of(&visitor.caller)).cloned()
    }

    /// Lets a run look whether what it waits for has come.
    pub(super) async fn poke(
        self: &Arc<Self>,
        visitor: &Visitor,
        run: &RunId,
    ) -> Result<(), Error> {
        if let Some(going) = self.at_work(visitor, run) {
            going.poke.notify_waiters();
            return Ok(());
        }
        let now = self.store.summary(&visitor.caller, run).await?;
        match now.state.is_end() {
            true => Ok(()),
            false if self.closing.is_cancelled() => Err(Error::Draining),
            // Its events could not be kept, and it stopped.
            false => self.go_on(run).await,
        }
    }

    /// Ends a run; false when it had ended.
    pub(super) async fn cancel(&self, visitor: &Visitor, run: &RunId) -> Result<bool, Error> {
        loop {
            let going = self.at_work(visitor, run);
            if let Some(going) = &going {
                going.cancel.cancel();
                going.ended().await;
            }
            let now = self.store.summary(&visitor.caller, run).await?;
            match now.state {
                // One that nobody works on had ended before.
                State::Cancelled => return Ok(going.is_some()),
                state if state.is_end() => return Ok(false),
                _ if self.closing.is_cancelled() => return Err(Error::Draining),
                _ if self.cut_off(run).await? => return Ok(true),
                // Somebody took it up meanwhile, or ended it.
                _ => {}
            }
        }
    }

    /// Ends a run that stopped before its end; false when it is worked on again, or has ended.
    async fn cut_off(&self, run: &RunId) -> Result<bool, Error> {
        let _turn = self.turn.lock().await;
        let Some((log, going)) = self.take_up(run).await? else { return Ok(false) };
        let ended = log.add("", Event::Cancelled).await;
        self.leave(run, &going);
        metrics::counter!("switchboard_reason_runs_total", "outcome" => "cancelled").increment(1);
        ended.map(|()| true)
    }

    /// The limits that hold: those of the configuration, or less.
    fn limits(&self, asked: &Limits) -> Result<Limits, Error> {
        let (config, currency) = (&self.config, self.models.currency());
        let money = |text: &str| Money::parse(text, currency);
        let wrong = |reason| Error::Argument { field: "limits.money", reason };
        let own = asked.money.as_deref().map(money).transpose().map_err(wrong)?;
        let all = config.money.as_deref().map(money).transpose();
        let all = all.map_err(|reason| Error::Config { key: "reason.money", reason })?;
        let least = own.into_iter().chain(all).min();
        let wall = u64::try_from(config.wall.as_millis()).unwrap_or(u64::MAX);
        Ok(Limits {
            steps: Some(asked.steps.unwrap_or(config.steps).min(config.steps)),
            tokens: Some(asked.tokens.unwrap_or(config.tokens).min(config.tokens)),
            money: least.map(Money::amount),
            wall_ms: Some(asked.wall_ms.unwrap_or(wall).min(wall)),
        })
    }

    /// Digest of all that an answer hangs on beside the memory.
    pub(super) fn version(&self) -> String {
        let snapshot = self.pipeline.snapshot();
        hex::encode(crate::call::digest_of([self.digest().as_str(), snapshot.policies.version()]))
    }

    /// Digest of what is in force.
    fn digest(&self) -> String {
        let snapshot = self.pipeline.snapshot();
        let (rules, agents) = (self.rules.load(), self.agents.load());
        let parts = [snapshot.catalog.digest(), rules.digest(), agents.digest()];
        hex::encode(crate::call::digest_of(parts))
    }

    /// Forgets what is old, from time to time.
    async fn tend(&self) {
        let keep = SignedDuration::from_hours(24 * i64::from(self.config.keep_days));
        let mut tick = tokio::time::interval(FORGET_EVERY);
        loop {
            tick.tick().await;
            let before = Timestamp::now().saturating_sub(keep).unwrap_or(Timestamp::MIN);
            if let Err(error) = self.store.forget(before).await {
                tracing::warn!(%error, "old runs are not forgotten");
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, Arc<Going>>> {
        self.going.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Cancelled when no run may begin or go on.
    pub(super) const fn closing(&self) -> &CancellationToken {
        &self.closing
    }
}

/// Whose a run is.
pub(super) fn owner(started: &Started) -> Caller {
    Caller {
        name: started.caller.clone(),
        tenant: started.tenant.clone(),
        roles: started.roles.clone(),
    }
}

fn check(asked: &Asked) -> Result<(), Error> {
    let wrong = |field, reason: String| Err(Error::Argument { field, reason });
    let length = asked.question.len();
    if asked.question.trim().is_empty() || length > QUESTION {
        return wrong("question", format!("has {length} bytes: 1 to {QUESTION}, not blank"));
    }
    for (field, name) in [("agent", &asked.agent), ("conversation_id", &asked.conversation)] {
        if name.len() > NAME || name.chars().any(char::is_control) {
            return wrong(field, format!("is no name: at most {NAME} bytes, in one line"));
        }
    }
    if asked.collections.len() > COLLECTIONS {
        let count = asked.collections.len();
        return wrong("collections", format!("has {count} names; at most {COLLECTIONS}"));
    }
    if asked.as_of.len() > NAME {
        return wrong("as_of", "is no date: write it as 2026-11-30".to_owned());
    }
    Ok(())
}
