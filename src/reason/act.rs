//! The calls of one turn of the model: those of tools side by side, through the pipeline and as the run's
//! caller; then those that the loop answers itself, in their order. Each is kept before it is made, and
//! none that was made is made again.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::stream;
use serde_json::Value;

use super::agent::fits;
use super::drive::{Drive, Halt};
use super::errand::Errand;
use super::event::{Action, Event, Observation, Resumed, Waiting, Wanted};
use super::observe::{self, Seen, refused};
use super::rules;
use super::state::{Progress, Story};
use super::tools::{Own, Toolset};
use crate::approval::State as ApprovalState;
use crate::call::{Call, CallId, Code, Dialect, Withheld};
use crate::catalog::Tool;
use crate::mask;
use crate::normalize::Reply;

/// How often a call is sent again that found no place.
const CROWDED: u32 = 32;
/// Longest wait for a place at once.
const LONGEST: Duration = Duration::from_secs(5);
/// The code of a call of which nobody knows whether it ran.
const UNKNOWN: &str = "OUTCOME_UNKNOWN";

/// One call of a turn that has not come to its end.
struct Open {
    place: usize,
    wanted: Wanted,
    progress: Progress,
    dialect: Option<Dialect>,
    /// Digest of tool and canonical arguments.
    visit: String,
}

/// What becomes of a call that was sent.
enum Sent {
    /// Its reply.
    Done(Box<Reply>),
    /// A person has to decide this approval.
    Waits(String),
    /// It found no place; to be sent again after this time.
    Crowded(Duration),
}

impl Drive {
    /// Sees to every call of the last turn that has no observation yet.
    pub(super) async fn act(&self, errand: &Errand, tools: &Toolset) -> Result<(), Halt> {
        let (open, visited) = self.log.story(|story| {
            let thread = story.thread(&errand.task);
            (open(&thread, tools), thread.visited)
        });
        let mut seen: HashSet<String> = HashSet::new();
        let (mut sent, mut own) = (Vec::new(), Vec::new());
        for one in open {
            let begun = one.progress.action.is_some();
            if let Some(kind) = tools.own(&one.wanted.name) {
                own.push((one, kind));
            } else if let Some(label) = visited.get(&one.visit).filter(|_| !begun) {
                self.repeated(errand, &one, label).await?;
            } else if !begun && !seen.insert(one.visit.clone()) {
                self.repeated(errand, &one, "").await?;
            } else {
                sent.push(one);
            }
        }
        let each = sent.into_iter().map(|one| Box::pin(self.one(errand, one)));
        let mut running = stream::iter(each).buffer_unordered(self.inner.config.parallel);
        while let Some(done) = running.next().await {
            done?;
        }
        for (one, kind) in own {
            match kind {
                Own::Compare => self.compare(errand, one.place, &one.wanted).await?,
                Own::Recall => Box::pin(self.recall_again(errand, one.place, &one.wanted)).await?,
            }
        }
        Ok(())
    }

    /// Tells the model that it made the very call before.
    async fn repeated(&self, errand: &Errand, one: &Open, label: &str) -> Result<(), Halt> {
        let result = match label {
            "" => "its result stands above".to_owned(),
            label => format!("its result is {label}"),
        };
        let message = format!(
            "this very call was made before in this run, and {result}: use that, make another \
             call, or answer"
        );
        let told = refused(Code::DuplicateCall.as_str(), &message);
        self.saw(errand, one, (Code::DuplicateCall.as_str(), told)).await
    }

    /// Keeps an observation of something that was not called.
    async fn saw(
        &self,
        errand: &Errand,
        one: &Open,
        (code, told): (&str, Value),
    ) -> Result<(), Halt> {
        let observation = Observation {
            call_id: one.progress.action.as_ref().map(|a| a.call_id.clone()).unwrap_or_default(),
            place: Some(one.place),
            tool: one.wanted.name.clone(),
            code: code.to_owned(),
            told,
            ..Observation::default()
        };
        self.add(&errand.task, Event::Observation(Box::new(observation))).await
    }

    /// One call, from wherever it is, to its observation.
    async fn one(&self, errand: &Errand, one: Open) -> Result<(), Halt> {
        let mut approval = None;
        let mut waits = one.progress.waiting.as_ref().map(|waiting| waiting.approval_id.clone());
        if let (Some(action), None) = (&one.progress.action, &waits) {
            approval.clone_from(&action.approval);
            match self.settle(errand, &one, action).await? {
                Settled::Seen => return Ok(()),
                Settled::Waits(id) => {
                    self.told_to_wait(errand, &one, (&action.call_id, &id)).await?;
                    waits = Some(id);
                }
                Settled::Again => {}
            }
        }
        let mut crowded = 0;
        loop {
            if let Some(id) = waits.take() {
                self.wait(errand, &id).await?;
                approval = Some(id);
            }
            self.open()?;
            let action = self.action(errand, &one, approval.clone()).await?;
            match self.send(errand, &one, &action).await? {
                Sent::Done(reply) => return self.observe(errand, &one, &action, &reply).await,
                Sent::Waits(id) => {
                    self.told_to_wait(errand, &one, (&action.call_id, &id)).await?;
                    waits = Some(id);
                }
                Sent::Crowded(wait) => {
                    crowded += 1;
                    let late = Instant::now() + wait >= self.end();
                    if crowded >= CROWDED || late {
                        let message = "too many calls are under way: go on without this one";
                        let code = Code::RateLimited.as_str();
                        return self.saw(errand, &one, (code, refused(code, message))).await;
                    }
                    self.pause(wait).await?;
                }
            }
        }
    }

    /// Keeps that a call waits for a person, so that who follows knows what to decide.
    async fn told_to_wait(
        &self,
        errand: &Errand,
        one: &Open,
        (call_id, approval_id): (&str, &str),
    ) -> Result<(), Halt> {
        let (call_id, approval_id) = (call_id.to_owned(), approval_id.to_owned());
        let waiting = Waiting { call_id, approval_id, place: one.place };
        self.add(&errand.task, Event::Waiting(waiting)).await
    }

    /// Keeps that a call is about to be made.
    async fn action(
        &self,
        errand: &Errand,
        one: &Open,
        approval: Option<String>,
    ) -> Result<Action, Halt> {
        let action = Action {
            call_id: CallId::generate().to_string(),
            tool: one.wanted.name.clone(),
            arguments: one.wanted.arguments.clone(),
            place: one.place,
            approval,
        };
        self.add(&errand.task, Event::Action(action.clone())).await?;
        Ok(action)
    }

    /// Sends a call through the pipeline, in a task of its own, which the end of this one cancels.
    async fn send(&self, errand: &Errand, one: &Open, action: &Action) -> Result<Sent, Halt> {
        let call = self.wish(errand, one, action);
        let (pipeline, caller) = (self.inner.pipeline.clone(), self.visitor.caller.clone());
        let Some(entered) = pipeline.enter(&call.id, &caller) else {
            return Ok(Sent::Crowded(Duration::from_millis(1)));
        };
        let _cancel = entered.cancel_on_drop();
        let run = async move { Box::pin(pipeline.call(call, entered, &caller, None)).await };
        let recorded = match self.inner.tasks.spawn(run).await {
            Ok(recorded) => recorded,
            Err(error) => {
                tracing::error!(
                    call_id = action.call_id,
                    panicked = error.is_panic(),
                    "a call ended"
                );
                return Err(Halt::Closing);
            }
        };
        let reply = recorded.reply;
        let code = reply.error.as_ref().map(|error| error.code);
        match code {
            Some(Code::Draining) => Err(Halt::Closing),
            Some(Code::Cancelled) if self.inner.closing().is_cancelled() => Err(Halt::Closing),
            Some(Code::RateLimited) if reply.metadata.retry_after_ms.is_some() => {
                let wait = reply.metadata.retry_after_ms.map_or(LONGEST, Duration::from);
                Ok(Sent::Crowded(wait.clamp(Duration::from_millis(1), LONGEST)))
            }
            Some(Code::ApprovalRequired) => {
                let pending = pending(&reply).filter(|id| action.approval.as_ref() != Some(id));
                Ok(pending.map_or_else(|| Sent::Done(reply.into()), Sent::Waits))
            }
            _ => Ok(Sent::Done(reply.into())),
        }
    }

    /// The call as the pipeline takes it.
    fn wish(&self, errand: &Errand, one: &Open, action: &Action) -> Call {
        let fresh = Call::new(name(&action.tool), action.arguments.as_str());
        let mut taint = self.log.story(Story::taint);
        taint.extend(&self.brought);
        let Wanted { fault, is_cut, .. } = &one.wanted;
        let why = fault.clone().or_else(|| self.unknown(action));
        let why = why.or_else(|| self.outside(errand, one, action));
        let why = why.or_else(|| self.made_up(errand, action, &*self.tool(one, action)?));
        Call {
            id: CallId::parse(&action.call_id).unwrap_or_else(CallId::generate),
            dialect: one.dialect,
            conversation: self.log.run().to_string(),
            approval: action.approval.clone(),
            // What one task of a plan has called is told another that calls the same, and not refused.
            idempotency_key: (errand.is_task() && !one.visit.is_empty())
                .then(|| format!("{} {}", self.log.run(), one.visit)),
            // A rule reads whole results, at the places that it names.
            max_tokens: if errand.task == rules::TASK { 0 } else { self.inner.config.observation },
            full: errand.task == rules::TASK,
            deadline: Some(self.end()),
            proof: self.visitor.proof.clone(),
            withheld: why.map(|why| Withheld { is_cut: *is_cut, why }),
            taint,
            ..fresh
        }
    }

    /// The tool that a call is of, as its caller may use it.
    fn tool(&self, one: &Open, action: &Action) -> Option<Arc<Tool>> {
        self.inner.pipeline.tool(&action.tool, one.dialect, &self.visitor.caller)
    }

    /// Why a call may not run that has the mask of a sensitive value in the place of the value.
    fn unknown(&self, action: &Action) -> Option<String> {
        (self.is_masked && action.arguments.contains(mask::MASK)).then(|| {
            "the arguments have `[masked]` in them: that part of the question is not known any more, \
             since the daemon ended meanwhile; go on without it, or say that it is missing"
                .to_owned()
        })
    }

    /// Why a call of a tool may not run that its caller may use and its agent may not. It is sent all the
    /// same, so that the ledger has it.
    fn outside(&self, errand: &Errand, one: &Open, action: &Action) -> Option<String> {
        let patterns = errand.tools.as_ref()?;
        let tool = self.tool(one, action)?;
        let own = patterns.iter().any(|pattern| fits(pattern, &tool.name));
        let name = &tool.name;
        (!own).then(|| format!("this agent has no tool `{name}`: use those that are offered"))
    }

    /// Makes a reply an observation, and evidence where its tool gave something.
    async fn observe(
        &self,
        errand: &Errand,
        one: &Open,
        action: &Action,
        reply: &Reply,
    ) -> Result<(), Halt> {
        let digest = self.digest(&action.call_id).await;
        let narrowed =
            self.tool(one, action).and_then(|tool| self.narrowed(errand, action, (&tool, reply)));
        let Seen { found, told, ran } = observe::see(reply, (digest, narrowed));
        // What a rule reads becomes evidence with the facts that it is read for.
        let (item, step) = match found.filter(|_| errand.task != rules::TASK) {
            Some(found) => self.proof().found(found, jiff::Timestamp::now()),
            None => (None, None),
        };
        let observation = Observation {
            call_id: action.call_id.clone(),
            place: Some(one.place),
            tool: reply.tool_name.clone(),
            success: reply.error.is_none(),
            code: reply.error.as_ref().map(|e| e.code.to_string()).unwrap_or_default(),
            told: observe::labelled(told, item.as_ref().map(|item| item.id.as_str())),
            item,
            age_ms: observe::age(reply),
            // What found no place, or was not well formed, may be sent again.
            visit: if ran { one.visit.clone() } else { String::new() },
        };
        self.add(&errand.task, Event::Observation(Box::new(observation))).await?;
        self.step(&errand.task, step).await
    }

    /// Digest of the recorded result of a call; empty where there is none.
    pub(super) async fn digest(&self, call_id: &str) -> String {
        match self.inner.pipeline.ledger().get(call_id).await {
            Ok(entry) => entry.map(|entry| entry.reply_digest).unwrap_or_default(),
            Err(error) => {
                tracing::warn!(%error, call_id, "a record cannot be read");
                String::new()
            }
        }
    }

    /// Waits until a person has decided, for as long as that takes.
    async fn wait(&self, errand: &Errand, id: &str) -> Result<(), Halt> {
        let waits = self.waits();
        let approvals = self.inner.pipeline.approvals();
        let state = loop {
            let now = approvals.get(id).await.ok().flatten().map(|found| found.state);
            if now != Some(ApprovalState::Pending) {
                break now;
            }
            tokio::select! {
                () = self.inner.closing().cancelled() => return Err(Halt::Closing),
                () = self.going.poke.notified() => {}
                settled = approvals.settled(id) => if !matches!(settled, Ok(true)) {
                    return Err(Halt::Closing);
                }
            }
        };
        drop(waits);
        let why = match state {
            Some(ApprovalState::Approved) => "approved",
            Some(ApprovalState::Denied) => "rejected",
            _ => "expired",
        };
        self.add(&errand.task, Event::Resumed(Resumed { why: why.to_owned() })).await
    }
}

/// What became of a call that was under way when the daemon before this one ended.
enum Settled {
    /// It ran, and what came of it is kept now.
    Seen,
    /// It asked a person.
    Waits(String),
    /// It did not run, or may run twice.
    Again,
}

impl Drive {
    /// Looks a call up in the ledger. One that has no record, and may have done something, is not made
    /// again.
    async fn settle(&self, errand: &Errand, one: &Open, action: &Action) -> Result<Settled, Halt> {
        let ledger = self.inner.pipeline.ledger();
        let entry = match ledger.get(&action.call_id).await {
            Ok(entry) => entry,
            Err(error) => {
                tracing::warn!(%error, call_id = action.call_id, "a record cannot be read");
                None
            }
        };
        let tool = self.tool(one, action);
        let safe = tool.as_ref().is_some_and(|tool| observe::is_repeatable(tool));
        let Some(entry) = entry else {
            if safe || tool.is_none() {
                return Ok(Settled::Again);
            }
            let message = "the daemon was ended while this call was under way, and there is no \
                           record of it: it may have taken effect or not, and is not made again; \
                           find out by reading, or say so";
            self.saw(errand, one, (UNKNOWN, refused(UNKNOWN, message))).await?;
            return Ok(Settled::Seen);
        };
        let text = entry.reply_json.unwrap_or_default();
        let Ok(reply) = serde_json::from_str::<Reply>(&text) else {
            let message = "the record of this call cannot be read: it is not made again";
            self.saw(errand, one, (UNKNOWN, refused(UNKNOWN, message))).await?;
            return Ok(Settled::Seen);
        };
        let began = entry.facts.get("handed_over") == Some(&Value::Bool(true));
        match reply.error.as_ref().map(|error| error.code) {
            Some(Code::Draining | Code::RateLimited) => return Ok(Settled::Again),
            Some(Code::Cancelled) if safe || !began => return Ok(Settled::Again),
            Some(Code::ApprovalRequired) => {
                let pending = pending(&reply).filter(|id| action.approval.as_ref() != Some(id));
                if let Some(id) = pending {
                    return Ok(Settled::Waits(id));
                }
            }
            _ => {}
        }
        let wish = self.wish(errand, one, action);
        let view = crate::normalize::view(&reply, tool.as_deref(), &wish);
        let shown = view.unwrap_or(reply);
        self.observe(errand, one, action, &shown).await?;
        Ok(Settled::Seen)
    }
}

/// The calls of the last turn that have no observation.
fn open(thread: &super::state::Thread, tools: &Toolset) -> Vec<Open> {
    let Some(turn) = thread.turns.last() else { return Vec::new() };
    let dialect = turn.thought.dialect;
    let each = turn.thought.calls.iter().zip(&turn.calls).enumerate();
    each.filter(|(_, (_, progress))| progress.observation.is_none())
        .map(|(place, (wanted, progress))| Open {
            place,
            visit: tools.visit(wanted, dialect),
            wanted: wanted.clone(),
            progress: progress.clone(),
            dialect,
        })
        .collect()
}

/// The approval that a call waits for.
fn pending(reply: &Reply) -> Option<String> {
    let details = &reply.error.as_ref()?.details;
    let state = details.get("approval_state").and_then(Value::as_str);
    let id = details.get("approval_id").and_then(Value::as_str)?;
    (state == Some("pending")).then(|| id.to_owned())
}

/// A name as a record can keep it; one that is changed is no tool's.
fn name(written: &str) -> String {
    written.chars().take(128).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
