//! Asking until somebody answers: the endpoints of a role one after the other, each again where what is
//! wrong may pass, or in a lower form where it refuses one. Every attempt is recorded.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use metrics::{counter, histogram};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::Instrument;

use super::attempt::{Attempt, Got, Miss};
use super::line::{Line, Refusal};
use super::money::Money;
use super::prompt::{Own, Prompt};
use super::purse::{Held, Purse, Short, Want};
use super::said::{Delta, Failed, Outcome, Said, Tried, Usage};
use super::wire::{self, ANSWER, Letter, Manner};
use crate::catalog::Exports;
use crate::tokens;

/// The pause after the first attempt; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(200);
/// The longest wait for one endpoint while there is another to ask.
const PATIENCE: Duration = Duration::from_secs(2);
/// The longest wait in any case.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Tokens that a host may put around a prompt.
const FRAME: u64 = 4096;
/// Attempts of one question, at most.
const MOST_ATTEMPTS: usize = 64;

/// One question on its way.
pub(super) struct Question<'a> {
    pub(super) prompt: &'a Prompt,
    pub(super) purse: &'a Purse,
    pub(super) said: Option<&'a mpsc::Sender<Delta>>,
    pub(super) exports: &'a Exports,
    pub(super) tried: Vec<Tried>,
    /// The budget that was not enough, where one was not.
    pub(super) short: Option<Short>,
}

/// An endpoint to ask, and how.
struct Turn<'a> {
    line: &'a Line,
    manner: Manner,
    /// Attempts that failed with something that may pass.
    failed: u32,
    /// Since when it waits, and until when.
    since: Instant,
    at: Instant,
}

impl Question<'_> {
    /// Asks the endpoints in their order, those that rest after the others.
    pub(super) async fn ask(mut self, lines: &[Arc<Line>]) -> Result<Said, Failed> {
        let (resting, awake): (Vec<&Line>, Vec<&Line>) =
            lines.iter().map(Arc::as_ref).partition(|line| line.is_resting());
        let now = Instant::now();
        let mut queue: VecDeque<Turn<'_>> = awake
            .into_iter()
            .chain(resting)
            .map(|line| Turn {
                line,
                manner: line.manner(self.prompt),
                failed: 0,
                since: now,
                at: now,
            })
            .collect();
        while let Some(turn) = queue.pop_front() {
            if self.is_over(turn.at) {
                // One that has to wait for longer does not keep the others from answering.
                if queue.is_empty() || self.is_over(Instant::now()) {
                    return Err(Failed::Deadline { tried: self.tried });
                }
                continue;
            }
            if self.tried.len() >= MOST_ATTEMPTS {
                break;
            }
            sleep_until(turn.at).await;
            // One that stood behind others did not wait for its own sake.
            let waited = if turn.at > turn.since { turn.since.elapsed() } else { Duration::ZERO };
            match self.once(&turn, waited).await {
                Ok(said) => return Ok(said),
                Err(miss) => self.next(turn, &miss, &mut queue).await,
            }
        }
        Err(self.failed())
    }

    /// Whether an answer would come too late that is asked for at that time.
    fn is_over(&self, at: Instant) -> bool {
        self.prompt.by.is_some_and(|by| Instant::from_std(by) <= at.max(Instant::now()))
    }

    /// Why there is no answer.
    fn failed(self) -> Failed {
        let asked = |tried: &Tried| tried.outcome != Outcome::Budget;
        match self.short {
            Some(Short { limit, left, needed }) if !self.tried.iter().any(asked) => {
                Failed::Budget { limit, left, needed, tried: self.tried }
            }
            _ if self.is_over(Instant::now()) => Failed::Deadline { tried: self.tried },
            _ => Failed::Exhausted { tried: self.tried },
        }
    }

    /// One attempt, recorded.
    async fn once(&mut self, turn: &Turn<'_>, waited: Duration) -> Result<Said, Miss> {
        let began = Instant::now();
        let (endpoint, form) = (turn.line.name.as_str(), turn.manner.form.as_str());
        let span = tracing::info_span!("model", endpoint, form);
        let result = self.attempt(turn).instrument(span).await;
        let took = began.elapsed();
        let (outcome, status, part, message) = match &result {
            Ok(_) => (Outcome::Ok, Some(200), String::new(), String::new()),
            Err(miss) => (miss.outcome, miss.status, miss.part.clone(), miss.message.clone()),
        };
        let name = turn.line.name.clone();
        counter!(
            "switchboard_model_attempts_total",
            "endpoint" => name.clone(), "outcome" => outcome.as_str()
        )
        .increment(1);
        histogram!("switchboard_model_attempt_seconds", "endpoint" => name.clone()).record(took);
        let form = turn.manner.form;
        let (waited_ms, took_ms) = (millis(waited), millis(took));
        let endpoint = name;
        let tried = Tried { endpoint, outcome, form, status, part, message, waited_ms, took_ms };
        if outcome != Outcome::Ok {
            tracing::debug!(%tried, "a model did not answer");
        }
        self.tried.push(tried);
        result.map(|said| Said { tried: self.tried.clone(), ..said })
    }

    async fn attempt(&mut self, turn: &Turn<'_>) -> Result<Said, Miss> {
        let (letter, input, mut held) = self.letter(turn)?;
        held.keep().await;
        let line = turn.line;
        let mut end = Instant::now() + line.endpoint.timeout;
        if let Some(by) = self.prompt.by {
            end = end.min(Instant::from_std(by));
        }
        let attempt =
            Attempt { line, letter: &letter, held: &mut held, input, end, said: self.said };
        let got = attempt.run().await?;
        let usage = usage(&got, &letter, input);
        let cost = held.settle(usage.input, usage.output);
        for (direction, tokens) in [("input", usage.input), ("output", usage.output)] {
            let endpoint = line.name.clone();
            counter!("switchboard_model_tokens_total", "endpoint" => endpoint, "direction" => direction)
                .increment(tokens);
        }
        line.wake();
        let heard = got.heard;
        let said = said(line, turn.manner, &letter, got, (usage, cost));
        if let Some(listener) = self.said.filter(|_| !heard && !said.text.is_empty()) {
            let text = Delta::Text(said.text.clone());
            // Whoever listened may have gone.
            let _gone = timeout(PATIENCE, listener.send(text)).await;
        }
        Ok(said)
    }

    /// The letter to an endpoint, its tokens, and what was taken for it.
    fn letter(&mut self, turn: &Turn<'_>) -> Result<(Letter, u64, Held), Miss> {
        let Turn { line, manner, .. } = turn;
        let endpoint = &line.endpoint;
        let address = (line.name.as_str(), endpoint);
        let most = self.prompt.max_output.unwrap_or(endpoint.max_output);
        let most = u64::from(most.clamp(1, endpoint.max_output));
        let write = |most| wire::write(address, self.prompt, *manner, self.exports, most);
        let letter = write(most);
        let input = tokens::count(&letter.text);
        let input = u64::try_from(input).unwrap_or(u64::MAX);
        let room = u64::from(endpoint.context).saturating_sub(input);
        if room == 0 {
            let context = endpoint.context;
            let why = format!("the prompt has about {input} tokens, and it can hold {context}");
            return Err(Miss::new(Outcome::TooLong, &why));
        }
        let want = Want { price: line.price, read: input, written: most.min(room) };
        match self.purse.take(want) {
            Ok((held, granted)) if granted == most => Ok((letter, input, held)),
            Ok((held, granted)) => Ok((write(granted), input, held)),
            Err(short) => {
                let miss = Miss::new(Outcome::Budget, &short.to_string());
                self.short = Some(short);
                Err(miss)
            }
        }
    }

    /// What comes after an attempt that failed.
    async fn next<'l>(&self, mut turn: Turn<'l>, miss: &Miss, queue: &mut VecDeque<Turn<'l>>) {
        if let Some(said) = self.said.filter(|_| miss.heard) {
            let _gone = timeout(PATIENCE, said.send(Delta::Void)).await;
        }
        if miss.outcome == Outcome::Refused {
            let simpler = || {
                let address = (turn.line.name.as_str(), &turn.line.endpoint);
                wire::simplifies(address, self.prompt, turn.manner, self.exports)
            };
            let refusal = Refusal { what: miss.what, schema: miss.schema, part: &miss.part };
            if let Some(manner) = turn.line.learn(&refusal, turn.manner, self.prompt, simpler) {
                // Another form, and a simpler schema, wait for those that may take the first one; a detail
                // does not.
                let is_detail =
                    (manner.form, manner.simple) == (turn.manner.form, turn.manner.simple);
                turn.manner = manner;
                turn.since = turn.at;
                if is_detail { queue.push_front(turn) } else { queue.push_back(turn) }
            }
            return;
        }
        let failed = matches!(
            miss.outcome,
            Outcome::Status | Outcome::Timeout | Outcome::Connection | Outcome::Malformed
        );
        let pause = PAUSE.saturating_mul(1 << turn.failed.min(8));
        // Who says that it may be asked at once is not asked faster than others.
        let wait = miss.retry_after.unwrap_or_default().max(spread(pause));
        let most = if queue.is_empty() { LONGEST_WAIT } else { PATIENCE };
        let again = miss.passing && turn.failed < turn.line.endpoint.retries && wait <= most;
        if again {
            turn.failed += 1;
            turn.since = Instant::now();
            turn.at = turn.since + wait;
            queue.push_front(turn);
        } else if failed && !self.is_over(Instant::now()) {
            turn.line.rest(miss.retry_after);
        }
    }
}

/// A pause that differs a little each time, so that runs which failed together do not come back so.
fn spread(pause: Duration) -> Duration {
    let [one, ..] = uuid::Uuid::new_v4().into_bytes();
    pause.saturating_mul(192 + u32::from(one) / 2) / 256
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The tokens of an answer, as the provider tells them where that can be, else as they are counted here:
/// a token has a byte at least, what was said is not nothing, and a bound of the answer is one.
fn usage(got: &Got, letter: &Letter, input: u64) -> Usage {
    let size = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let calls = || got.turn.calls.iter().flat_map(|call| [&call.name, &call.arguments]);
    let texts = || calls().chain([&got.turn.text]);
    let bytes = size(texts().map(String::len).sum());
    let written = size(texts().map(|text| tokens::count(text)).sum());
    let most_read = size(letter.text.len()).saturating_add(FRAME);
    let read = got.tally.input.filter(|told| (1..=most_read).contains(told));
    let least = u64::from(written > 0);
    let wrote = got.tally.output.filter(|told| (least..=letter.most.max(bytes)).contains(told));
    Usage {
        input: read.unwrap_or(input),
        output: wrote.unwrap_or(written),
        estimated: read.is_none() || wrote.is_none(),
    }
}

fn said(
    line: &Line,
    manner: Manner,
    letter: &Letter,
    got: Got,
    (usage, cost): (Usage, Money),
) -> Said {
    let Got { mut turn, own, .. } = got;
    if let Some(bind) = &letter.bind {
        let called =
            bind.is_called().then(|| turn.calls.iter().position(|call| call.name == ANSWER));
        if let Some(at) = called.flatten() {
            turn.text = turn.calls.remove(at).arguments;
        }
        turn.text = bind.restore(&turn.text).into_owned();
    }
    let endpoint = line.name.clone();
    Said {
        text: turn.text,
        calls: turn.calls,
        stop: turn.stop,
        cut: turn.cut,
        malformed: turn.malformed,
        usage,
        cost,
        own: own.map(|message| Own { endpoint: endpoint.clone(), message }),
        endpoint,
        model: line.endpoint.model.clone(),
        form: manner.form,
        dialect: letter.dialect,
        tried: Vec::new(),
    }
}
