//! A CONNECT tunnel. A connection that was checked in; bytes of TLS for exactly the named host
//! through it, counted, until either side is done. It never decrypts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::GateLimits;
use super::body::{Fault, Sink, Source};
use super::hello::{self, MAX_HELLO};
use super::rules::Host;
use super::trail::{Meter, Way};

/// Waits for the hello, which stays in the buffer, and checks that it asks for `host`.
pub(super) async fn check_hello<R: AsyncRead + Unpin>(
    source: &mut Source<R>,
    host: &Host,
) -> Result<(), String> {
    let found = loop {
        if let Some(found) = hello::parse(&source.buffer)? {
            break found;
        }
        if source.buffer.len() > MAX_HELLO {
            return Err("the TLS hello is too long".to_owned());
        }
        match source.fill().await {
            Ok(0) => return Err("the tunnel ended before a TLS hello".to_owned()),
            Ok(_) => {}
            Err(Fault::Tool(why) | Fault::Upstream(why) | Fault::Limit(why)) => {
                return Err(format!("there was no TLS hello: {why}"));
            }
        }
    };
    match (found.name, host) {
        (Some(name), Host::Name(_)) if Host::parse(&name).as_ref() == Ok(host) => Ok(()),
        (Some(name), _) => Err(format!(
            "the TLS hello asks for `{}`, not for `{host}`",
            super::trail::printable(&name)
        )),
        (None, Host::Name(_)) => Err("the TLS hello names no server".to_owned()),
        // TLS has no server name for an address; the rule named this very address.
        (None, Host::Address(_)) => Ok(()),
    }
}

/// Passes bytes both ways until both sides have ended, one breaks, or nothing moves.
pub(super) async fn pump<R, W>(
    source: &mut Source<R>,
    sink: &mut Sink<W>,
    upstream: TcpStream,
    meter: &Meter,
    limits: &GateLimits,
) -> Result<(), Fault>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let (from, to) = upstream.into_split();
    let mut up = Source::new(from, limits.total(), Fault::Upstream);
    let mut out = Sink::new(to, limits.idle(), Fault::Upstream);
    // One way may rest for as long as the other moves.
    source.idle = limits.total();
    let activity = Activity::new();
    let both = async {
        tokio::try_join!(
            carry(source, &mut out, (meter, Way::Sent), &activity),
            carry(&mut up, sink, (meter, Way::Received), &activity),
        )
    };
    tokio::select! {
        ended = both => ended.map(|_| ()),
        () = activity.rest(limits.idle()) => {
            Err(Fault::Tool(format!("nothing moved for {} ms", limits.idle_ms)))
        }
    }
}

async fn carry<R, W>(
    source: &mut Source<R>,
    sink: &mut Sink<W>,
    (meter, way): (&Meter, Way),
    activity: &Activity,
) -> Result<(), Fault>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    loop {
        if !source.buffer.is_empty() {
            meter.count(way, source.buffer.len()).map_err(Fault::Limit)?;
            sink.buffer.unsplit(source.buffer.split());
            sink.flush().await?;
        }
        activity.touch();
        if source.fill().await? == 0 {
            // The other side may be gone already; then there is nobody to tell.
            drop(sink.io.shutdown().await);
            return Ok(());
        }
    }
}

#[derive(Debug)]
struct Activity {
    start: Instant,
    last_ms: AtomicU64,
}

impl Activity {
    fn new() -> Self {
        Self { start: Instant::now(), last_ms: AtomicU64::new(0) }
    }

    fn touch(&self) {
        let now = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.store(now, Ordering::Relaxed);
    }

    /// Ends when nothing has moved for `idle`.
    async fn rest(&self, idle: Duration) {
        loop {
            let last = Duration::from_millis(self.last_ms.load(Ordering::Relaxed));
            let end = self.start + last + idle;
            if Instant::now() >= end {
                return;
            }
            tokio::time::sleep_until(end).await;
        }
    }
}
