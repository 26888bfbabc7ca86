//! One forwarded exchange with an upstream. A head from the tool and a connection in; the answer
//! goes to the tool as it comes, and the connection comes back out when it can serve again.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncRead, AsyncWrite};

use super::GateLimits;
use super::body::{Body, Fault, Framing, Sink, Source};
use super::dial::Refusal;
use super::head::{Answered, Asked, Scheme, Sent, parse_answered};
use super::keyring::Key;
use super::pool::Link;
use super::rules::Target;
use super::trail::{Meter, Way};
use crate::sandbox::veil::Veil;

/// Longest head of an answer, in bytes.
const MAX_HEAD: usize = 64 * 1024;
/// Interim answers that are passed on before the final one.
const MOST_INTERIM: usize = 16;

/// What is asked, of whom.
#[derive(Debug)]
pub(super) struct Exchange<'a> {
    pub(super) asked: &'a Asked,
    pub(super) scheme: Scheme,
    pub(super) target: &'a Target,
    pub(super) path: &'a str,
    pub(super) meter: &'a Meter,
    pub(super) limits: &'a GateLimits,
    /// The secrets that are added.
    pub(super) keys: &'a [&'a Key],
    /// Masks the profile's secrets in what comes back.
    pub(super) veil: Option<&'a Arc<Veil>>,
}

/// How an exchange ended well.
#[derive(Debug)]
pub(super) struct Done {
    /// Whether the tool can ask again.
    pub(super) keep: bool,
    /// The connection, when it can be used again.
    pub(super) link: Option<Link>,
}

/// How an exchange broke.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) fault: Fault,
    /// Whether the tool has been sent any of the answer.
    pub(super) answered: bool,
    /// Whether the upstream has sent anything at all.
    pub(super) heard: bool,
}

#[derive(Debug, Default)]
struct Progress {
    uploaded: AtomicBool,
    answered: AtomicBool,
    heard: AtomicBool,
}

struct Got {
    keep: bool,
    reusable: bool,
}

impl Exchange<'_> {
    /// Checks that every secret may travel over `link`, and records that they do.
    pub(super) fn unlock(&self, link: &Link) -> Result<(), Refusal> {
        for key in self.keys {
            key.check(self.scheme, link.address).map_err(Refusal::Denied)?;
        }
        self.meter.used(self.keys.iter().map(|key| key.name()));
        Ok(())
    }

    /// Sends what is asked and passes the answer on, both at once, so that neither waits for the
    /// other to be drained.
    pub(super) async fn run<R, W>(
        &self,
        source: &mut Source<R>,
        sink: &mut Sink<W>,
        link: Link,
    ) -> Result<Done, Broken>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let (address, born) = (link.address, link.born);
        let (from, to) = tokio::io::split(link.stream);
        let mut up = Source::new(from, self.limits.idle(), Fault::Upstream);
        let mut out = Sink::new(to, self.limits.idle(), Fault::Upstream);
        let progress = Progress::default();
        let ended =
            race(self.upload(source, &mut out), self.download(&mut up, sink, &progress), &progress)
                .await;
        let got = ended.map_err(|fault| Broken {
            fault,
            answered: progress.answered.load(Ordering::Relaxed),
            heard: progress.heard.load(Ordering::Relaxed),
        })?;
        let clean = got.reusable && progress.uploaded.load(Ordering::Relaxed);
        let link = clean.then(|| Link { stream: up.io.unsplit(out.io), address, born });
        Ok(Done { keep: got.keep, link })
    }

    async fn upload<R, W>(&self, source: &mut Source<R>, out: &mut Sink<W>) -> Result<(), Fault>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let sent = Sent {
            scheme: self.scheme,
            target: self.target,
            path: self.path,
            keys: self.keys,
            guarded: self.veil.is_some(),
        };
        self.asked.write(&sent, &mut out.buffer);
        self.meter.count(Way::Sent, out.buffer.len()).map_err(Fault::Limit)?;
        let chunk = self.asked.framing == Framing::Chunked;
        Body::new(self.asked.framing).relay(source, out, chunk, (self.meter, Way::Sent)).await
    }

    async fn download<R, W>(
        &self,
        up: &mut Source<R>,
        sink: &mut Sink<W>,
        progress: &Progress,
    ) -> Result<Got, Fault>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let mut interim = 0;
        let answered = loop {
            let answered = self.next_head(up, progress).await?;
            match answered.status {
                101 => return Err(Fault::Upstream("it switched protocols unasked".to_owned())),
                100..=199 if interim == MOST_INTERIM => {
                    return Err(Fault::Upstream("too many interim answers".to_owned()));
                }
                100..=199 => interim += 1,
                _ => break answered,
            }
            if self.asked.modern {
                progress.answered.store(true, Ordering::Relaxed);
                answered.write(false, false, &mut sink.buffer);
                sink.flush().await?;
            }
        };
        self.meter.answered(answered.status);
        let endless = matches!(answered.framing, Framing::Chunked | Framing::Close);
        let chunk = endless && self.asked.modern;
        let keep = self.asked.keep && progress.uploaded.load(Ordering::Relaxed);
        progress.answered.store(true, Ordering::Relaxed);
        answered.write(chunk, !keep, &mut sink.buffer);
        let body = Body::new(answered.framing).veiled(self.veil);
        body.relay(up, sink, chunk, (self.meter, Way::Received)).await?;
        Ok(Got {
            keep,
            reusable: answered.keep && up.buffer.is_empty() && !self.asked.claims_connection(),
        })
    }

    async fn next_head<R: AsyncRead + Unpin>(
        &self,
        up: &mut Source<R>,
        progress: &Progress,
    ) -> Result<Answered, Fault> {
        loop {
            let before = up.buffer.len();
            let parsed = parse_answered(&mut up.buffer, &self.asked.method)
                .map_err(|why| Fault::Upstream(why.to_owned()))?;
            if let Some(mut answered) = parsed {
                let head = before.saturating_sub(up.buffer.len());
                self.meter.count(Way::Received, head).map_err(Fault::Limit)?;
                if let Some(why) = answered.opaque().filter(|_| !self.keys.is_empty()) {
                    return Err(Fault::Upstream(why.to_owned()));
                }
                if let Some(veil) = self.veil {
                    answered.cover(veil);
                }
                return Ok(answered);
            }
            if before > MAX_HEAD {
                return Err(Fault::Upstream("the head of the answer is too long".to_owned()));
            }
            if up.fill().await? == 0 {
                return Err(Fault::Upstream(
                    "it closed the connection before it answered".to_owned(),
                ));
            }
            progress.heard.store(true, Ordering::Relaxed);
        }
    }
}

/// Runs both ways until the answer is through. An upstream that stops reading may still have
/// answered, so its own fault on the way up does not end the way down.
async fn race(
    upload: impl Future<Output = Result<(), Fault>>,
    download: impl Future<Output = Result<Got, Fault>>,
    progress: &Progress,
) -> Result<Got, Fault> {
    let mut upload = pin!(upload);
    let mut download = pin!(download);
    let mut ended = false;
    loop {
        tokio::select! {
            biased;
            sent = &mut upload, if !ended => {
                ended = true;
                match sent {
                    Ok(()) => progress.uploaded.store(true, Ordering::Relaxed),
                    Err(Fault::Upstream(_)) => {}
                    Err(fault @ (Fault::Tool(_) | Fault::Limit(_))) => return Err(fault),
                }
            }
            got = &mut download => return got,
        }
    }
}

impl Broken {
    /// Whether it was the upstream that broke.
    pub(super) fn is_upstream(&self) -> bool {
        matches!(self.fault, Fault::Upstream(_))
    }
}
