//! One attempt: a body to an endpoint within its times and bounds, and its answer read; or why there is
//! none and whether that may pass. Follows no redirect.

use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::blame::{What, blame, delay, is_refusal};
use super::config::Provider;
use super::line::Line;
use super::purse::Held;
use super::said::{Delta, Outcome};
use super::tally::Tally;
use super::wire::{Bind, Letter};
use crate::mask;
use crate::native::{self, Asked, MAX_BYTES, Turn};
use crate::outward::{Coming, Lost};
use crate::tokens;

/// Bytes that are read of an answer that is none.
const MOST_SAID: usize = 64 << 10;
/// How long the end of a stream is waited for once the provider said that its answer is whole.
const LAST: Duration = Duration::from_millis(100);
/// Characters of what an endpoint says that are kept.
const EXCERPT: usize = 300;

/// An answer.
pub(super) struct Got {
    pub(super) turn: Turn,
    pub(super) tally: Tally,
    /// The message in the provider's own form, where something in it has to come back to it.
    pub(super) own: Option<String>,
    /// Whether any of its text was handed on as it came.
    pub(super) heard: bool,
}

/// Why there is none.
#[derive(Debug)]
pub(super) struct Miss {
    pub(super) outcome: Outcome,
    pub(super) status: Option<u16>,
    pub(super) part: String,
    pub(super) message: String,
    pub(super) what: What,
    /// Whether it is refused for a schema, and not for the form.
    pub(super) schema: bool,
    /// Whether asking the same again may help, and when that was told.
    pub(super) passing: bool,
    pub(super) retry_after: Option<Duration>,
    pub(super) heard: bool,
}

impl Miss {
    pub(super) fn new(outcome: Outcome, message: &str) -> Self {
        Self {
            outcome,
            status: None,
            part: String::new(),
            message: excerpt(message),
            what: What::Other,
            schema: false,
            passing: false,
            retry_after: None,
            heard: false,
        }
    }

    fn passing(self) -> Self {
        Self { passing: true, ..self }
    }
}

/// In one line, and masked before it is cut: a piece of a key does not look like one.
fn excerpt(text: &str) -> String {
    let masked = mask::text(text);
    masked.chars().map(|c| if c.is_control() { ' ' } else { c }).take(EXCERPT).collect()
}

/// One attempt under way.
pub(super) struct Attempt<'a> {
    pub(super) line: &'a Line,
    pub(super) letter: &'a Letter,
    pub(super) held: &'a mut Held,
    /// Tokens of the body.
    pub(super) input: u64,
    /// When it has to be over.
    pub(super) end: Instant,
    pub(super) said: Option<&'a mpsc::Sender<Delta>>,
}

impl Attempt<'_> {
    /// Sends the letter and reads what comes.
    pub(super) async fn run(mut self) -> Result<Got, Miss> {
        let sent = Instant::now();
        let streams = self.line.endpoint.stream;
        let quiet = if streams { self.end.min(sent + self.silence()) } else { self.end };
        let body = Bytes::from(self.letter.text.clone());
        let coming = timeout_at(quiet, self.line.outlet.send(body)).await;
        let coming = coming.map_err(|_elapsed| late(sent))?;
        let coming = coming.map_err(|lost| match lost {
            Lost::Key(why) => Miss::new(Outcome::Key, &why),
            Lost::Connection(why) => Miss::new(Outcome::Connection, &why).passing(),
        })?;
        if coming.status != StatusCode::OK {
            return Err(self.refused(coming).await);
        }
        // Whoever serves it may have begun to count.
        self.held.sure(self.input, 0);
        self.read(coming, sent).await
    }

    async fn read(&mut self, mut coming: Coming, sent: Instant) -> Result<Got, Miss> {
        let provider = self.line.endpoint.provider;
        let called = self.letter.bind.as_ref().is_some_and(Bind::is_called);
        let mut tally = Tally::new(provider, called);
        let (mut bytes, mut heard, mut written) = (Vec::new(), false, 0);
        let streams = self.line.endpoint.stream;
        loop {
            let piece = self.piece(&mut coming, sent, tally.ended).await;
            let Some(piece) = piece.map_err(|miss| Miss { heard, ..miss })? else { break };
            if bytes.len() + piece.len() > MAX_BYTES {
                let why = format!("its answer is over {MAX_BYTES} bytes");
                let miss = Miss::new(Outcome::Malformed, &why);
                return Err(Miss { heard, status: Some(200), ..miss });
            }
            bytes.extend_from_slice(&piece);
            let text = if streams { tally.push(&piece) } else { String::new() };
            if !text.is_empty() {
                let more = u64::try_from(tokens::count(&text)).unwrap_or(u64::MAX);
                written = more.saturating_add(written);
                self.held.sure(self.input, written);
                heard |= self.tell(text).await;
            }
        }
        if streams {
            let rest = tally.finish();
            if !rest.is_empty() {
                heard |= self.tell(rest).await;
            }
        }
        let turn = turn(provider, &bytes, &mut tally);
        let turn = turn.map_err(|why| {
            let why = match tally.error.take() {
                Some(said) => format!("{why}: {said}"),
                None => why,
            };
            let miss = Miss::new(Outcome::Malformed, &coming.strike(&why)).passing();
            Miss { heard, status: Some(200), ..miss }
        })?;
        let own = tally.own().map(|own| coming.strike(&own));
        Ok(Got { turn: struck(turn, &coming), tally, own, heard })
    }

    const fn silence(&self) -> Duration {
        self.line.endpoint.first_token_timeout
    }

    /// The next bytes; nothing at the end, also at one that the provider only says.
    async fn piece(
        &self,
        coming: &mut Coming,
        sent: Instant,
        ended: bool,
    ) -> Result<Option<Bytes>, Miss> {
        let quiet = match (self.line.endpoint.stream, ended) {
            (false, _) => self.end,
            (true, true) => self.end.min(Instant::now() + LAST),
            (true, false) => self.end.min(Instant::now() + self.silence()),
        };
        match timeout_at(quiet, coming.piece()).await {
            Ok(Some(Ok(piece))) => Ok(Some(piece)),
            Ok(None) => Ok(None),
            // Some servers say that they are at the end, and keep the connection.
            _ if ended => Ok(None),
            Err(_elapsed) => Err(late(sent)),
            Ok(Some(Err(why))) => {
                let miss = Miss::new(Outcome::Connection, &coming.strike(&why)).passing();
                Err(Miss { status: Some(200), ..miss })
            }
        }
    }

    /// Hands text on; whether there is anybody to hear it.
    async fn tell(&self, text: String) -> bool {
        match self.said {
            // Who does not listen holds nobody up for longer than the attempt may take.
            Some(said) => timeout_at(self.end, said.send(Delta::Text(text)))
                .await
                .is_ok_and(|sent| sent.is_ok()),
            None => false,
        }
    }

    /// What an answer means that is not 200.
    async fn refused(&self, mut coming: Coming) -> Miss {
        let status = coming.status;
        let mut retry_after = coming.retry_after;
        if status.is_redirection() {
            let why = "it redirects, which is not followed, as the key would go along: give the \
                       URL that it redirects to";
            let miss = Miss::new(Outcome::Redirect, why);
            return Miss { status: Some(status.as_u16()), retry_after, ..miss };
        }
        let said = self.said(&mut coming).await;
        let code = status.as_u16();
        if matches!(code, 429 | 503) {
            retry_after = retry_after.or_else(|| delay(&said));
        }
        let told = |miss: Miss| Miss { status: Some(code), retry_after, ..miss };
        let plain = || coming.strike(&blame(&said, &Value::Null, false).message);
        // What the model wrote could not be read there; it may write it better.
        if code == 400 && contains(&said, "tool_use_failed") {
            return told(Miss::new(Outcome::Malformed, &plain()).passing());
        }
        let out_of_money = code == 429 && contains(&said, "insufficient_quota");
        let passes = matches!(code, 408 | 425 | 429 | 500 | 502 | 503 | 504 | 520..=529);
        if passes && !out_of_money && !(code >= 500 && is_refusal(&said)) {
            return told(Miss::new(Outcome::Status, &plain()).passing());
        }
        let found = blame(&said, &self.letter.body, self.letter.native);
        let miss = Miss::new(Outcome::Refused, &coming.strike(&found.message));
        // Who is refused for the key or the name of the model is not for the schema.
        if !matches!(code, 400 | 413 | 422 | 501) && code < 500 {
            return told(miss);
        }
        let part = coming.strike(&found.part);
        told(Miss { what: found.what, schema: found.schema, part, ..miss })
    }

    /// What is said in an answer that is none, as far as it comes in time.
    async fn said(&self, coming: &mut Coming) -> Vec<u8> {
        let end = self.end.min(Instant::now() + self.silence());
        let mut said = Vec::new();
        while said.len() < MOST_SAID
            && let Ok(Some(Ok(piece))) = timeout_at(end, coming.piece()).await
        {
            said.extend_from_slice(&piece);
        }
        said.truncate(MOST_SAID);
        said
    }
}

/// An answer without the key, should the endpoint repeat it.
fn struck(turn: Turn, coming: &Coming) -> Turn {
    let call = |call: Asked| Asked { arguments: coming.strike(&call.arguments), ..call };
    Turn {
        text: coming.strike(&turn.text),
        calls: turn.calls.into_iter().map(call).collect(),
        malformed: turn.malformed.map(|said| coming.strike(&said)),
        ..turn
    }
}

fn late(sent: Instant) -> Miss {
    let waited = sent.elapsed().as_millis();
    Miss::new(
        Outcome::Timeout,
        &format!("it was silent for too long or did not end, {waited} ms after it was asked"),
    )
}

fn contains(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|window| window == word.as_bytes())
}

/// What all bytes of an answer hold, whether or not they came as a stream.
fn turn(provider: Provider, bytes: &[u8], tally: &mut Tally) -> Result<Turn, String> {
    let whole = std::str::from_utf8(bytes).ok().and_then(|text| {
        let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()?;
        value.is_object().then_some((text, value))
    });
    if let Some((_, value)) = &whole {
        tally.restart();
        tally.note(value);
    }
    let read = match whole {
        _ if tally.blocked.is_some() => Ok(Turn::default()),
        Some((text, _)) => native::read(provider.native(), text),
        None => native::assemble(provider.native(), bytes),
    };
    let mut turn = read.map_err(|error| format!("its answer {error}"))?;
    if let Some(stop) = tally.blocked.take() {
        turn.cut = Some(format!("the provider blocks what it was asked (`{stop}`)"));
        turn.stop = stop;
    }
    if turn.text.is_empty() && turn.calls.is_empty() {
        turn.text = std::mem::take(&mut tally.refusal);
    }
    Ok(turn)
}
