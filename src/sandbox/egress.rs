//! The egress gate: an HTTP/1.1 proxy in the daemon, at which every connection of a sandboxed tool
//! ends. A byte stream and the profile's rules in; allowed exchanges out, each attempt on the
//! call's [`Trail`]. It follows no redirect; secrets are added here and masked in what comes back.

mod body;
mod dial;
mod exchange;
mod head;
mod hello;
mod keyring;
mod limits;
mod names;
mod pool;
mod rules;
#[cfg(test)]
mod tests;
mod tool;
mod trail;
mod tunnel;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::catalog::{EgressLimits, EgressRule};
use body::Fault;
use dial::Refusal;
use exchange::{Broken, Exchange};
use head::{Goal, Malformed, Scheme};
use pool::{Key, Link, Pool, Stream};
use rules::{Rules, Target};
use tool::{Parsed, Tool, count};
use trail::Meter;

pub(crate) use keyring::Keyring;
pub use limits::GateLimits;
pub(crate) use trail::Trail;

/// The gate of one sandbox: its rules, and connections to upstreams that can be used again.
/// Clones share both. One gate must not serve two caller scopes.
#[derive(Debug, Clone)]
pub(crate) struct Gate(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    rules: Rules,
    limits: GateLimits,
    keyring: Arc<Keyring>,
    pool: Pool,
}

/// What one profile may do at a gate.
#[derive(Debug, Clone)]
pub(crate) struct Pass {
    pub(crate) rules: Vec<EgressRule>,
    pub(crate) tighter: EgressLimits,
    pub(crate) keyring: Arc<Keyring>,
}

impl PartialEq for Pass {
    /// A keyring with a new value is another one.
    fn eq(&self, other: &Self) -> bool {
        self.rules == other.rules
            && self.tighter == other.tighter
            && Arc::ptr_eq(&self.keyring, &other.keyring)
    }
}

impl Gate {
    /// A gate that allows what `pass` names, and nothing else.
    pub(crate) fn new(pass: &Pass, limits: &GateLimits) -> Self {
        Self(Arc::new(Inner {
            rules: Rules::new(&pass.rules),
            limits: limits.tightened(&pass.tighter),
            keyring: Arc::clone(&pass.keyring),
            pool: Pool::default(),
        }))
    }

    /// Serves one connection of a tool until either side is done. Every attempt is on `trail` as
    /// soon as it is made, so the future can be dropped at any time.
    pub(crate) async fn serve<S>(&self, stream: S, trail: &Trail)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let limits = &self.0.limits;
        let mut tool = Tool::new(stream, limits.idle());
        let until = tokio::time::Instant::now() + limits.total();
        let Some(_open) = trail.open(limits.connections) else {
            let line = format!("egress denied: more than {} connections", limits.connections);
            if let Some(meter) = trail.begin("", 0, limits) {
                count("denied");
                meter.deny(&line);
            }
            return tool.answer(429, "denied", &line, false).await;
        };
        while let Some(head) = tool.read_head(limits).await {
            let (host, port, goal) = describe(&head);
            let Some(meter) = trail.begin(&host, port, limits) else {
                let line = format!("egress denied: more than {} attempts", limits.attempts);
                count("denied");
                return tool.answer(429, "denied", &line, false).await;
            };
            let handled = self.0.handle(&mut tool, head, goal, &meter);
            match tokio::time::timeout_at(until, Box::pin(handled)).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(_elapsed) => {
                    return meter.fail(&format!("cut off after {} ms", limits.total_ms));
                }
            }
        }
    }
}

/// Host and port to record, and the target when they can be read.
fn describe(head: &Parsed) -> (String, u16, Result<Target, &'static str>) {
    let (authority, default_port) = match head.as_ref().map(|asked| &asked.goal) {
        Ok(Goal::Tunnel(authority)) => (authority, None),
        Ok(Goal::Forward { authority, scheme, .. }) => (authority, Some(scheme.port())),
        Err(malformed) => return (String::new(), 0, Err(malformed.reason)),
    };
    match Target::parse(authority, default_port) {
        Ok(target) => (target.host.to_string(), target.port, Ok(target)),
        Err(why) => {
            let (host, port) = rules::split_port(authority);
            let port = port.and_then(|digits| digits.parse().ok());
            (host.to_owned(), port.or(default_port).unwrap_or(0), Err(why))
        }
    }
}

impl Inner {
    /// Decides and carries out one attempt; whether the tool can make the next one on this
    /// connection.
    async fn handle<S>(
        &self,
        tool: &mut Tool<S>,
        head: Parsed,
        target: Result<Target, &'static str>,
        meter: &Meter,
    ) -> bool
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let asked = match head {
            Ok(asked) => asked,
            Err(Malformed { status, reason }) => {
                count("denied");
                meter.deny(reason);
                tool.answer(status, "malformed", reason, false).await;
                return false;
            }
        };
        let blank = asked.method == "HEAD";
        let refused = match target {
            Err(why) => (asked.goal.authority(), Refusal::Denied(why.to_owned())),
            Ok(target) => {
                let name = target.to_string();
                let done = match &asked.goal {
                    Goal::Tunnel(_) => self.tunnel(tool, &target, meter).await.map(|()| false),
                    Goal::Forward { scheme, path, .. } => {
                        let exchange = Exchange {
                            asked: &asked,
                            scheme: *scheme,
                            target: &target,
                            path,
                            meter,
                            limits: &self.limits,
                            keys: &self.keyring.bound(&target),
                            veil: self.keyring.veil(),
                        };
                        self.forward(tool, &exchange).await
                    }
                };
                match done {
                    Ok(keep) => return keep,
                    Err(refusal) => (name, refusal),
                }
            }
        };
        tool.refuse(refused, meter, blank).await;
        false
    }

    async fn tunnel<S>(
        &self,
        tool: &mut Tool<S>,
        target: &Target,
        meter: &Meter,
    ) -> Result<(), Refusal>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        if let [key, ..] = self.keyring.bound(target).as_slice() {
            return Err(Refusal::Denied(format!(
                "secret `{}` is bound to this host and cannot be added inside a tunnel; send the \
                 https:// address itself to the proxy, in place of CONNECT",
                key.name()
            )));
        }
        let (stream, address) = self.dial(target, meter).await?;
        meter.connected(Some(address));
        tool.sink.buffer.extend_from_slice(b"HTTP/1.1 200 Connection established\r\n\r\n");
        if tool.sink.flush().await.is_err() {
            return Ok(());
        }
        tool.source.idle = self.limits.connect();
        let hello = tunnel::check_hello(&mut tool.source, &target.host);
        let checked = match timeout(self.limits.connect(), hello).await {
            Ok(checked) => checked,
            Err(_elapsed) => Err("there was no TLS hello in time".to_owned()),
        };
        if let Err(why) = checked {
            count("denied");
            meter.deny(&why);
            tool.sink.buffer.extend_from_slice(&hello::ALERT);
            tool.finish().await;
            return Ok(());
        }
        count("allowed");
        let pumped = tunnel::pump(&mut tool.source, &mut tool.sink, stream, meter, &self.limits);
        if let Err(Fault::Tool(why) | Fault::Upstream(why) | Fault::Limit(why)) = pumped.await {
            meter.fail(&why);
        }
        Ok(())
    }

    async fn dial(
        &self,
        target: &Target,
        meter: &Meter,
    ) -> Result<(TcpStream, SocketAddr), Refusal> {
        let rules = self.rules.find(target).map_err(Refusal::Denied)?;
        let dialled = dial::dial(target, &rules, &self.limits).await;
        if !matches!(dialled, Err(Refusal::Denied(_))) {
            meter.permit();
        }
        dialled
    }

    async fn link(&self, key: &Key, meter: &Meter) -> Result<Link, Refusal> {
        let (stream, address) = self.dial(&key.target, meter).await?;
        meter.connected(Some(address));
        let stream = match key.scheme {
            Scheme::Http => Stream::Plain(stream),
            Scheme::Https => {
                let tls = dial::secure(stream, &key.target.host, &self.limits);
                Stream::Tls(tls.await?)
            }
        };
        Ok(Link { stream, address, born: Instant::now() })
    }

    async fn forward<S>(&self, tool: &mut Tool<S>, what: &Exchange<'_>) -> Result<bool, Refusal>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let key = Key { scheme: what.scheme, target: what.target.clone() };
        let keep_alive = self.limits.keep_alive();
        let repeatable = what.asked.repeatable();
        if let Some(link) = self.pool.take(&key, keep_alive, repeatable) {
            what.meter.permit();
            what.meter.connected(Some(link.address));
            what.unlock(&link)?;
            match what.run(&mut tool.source, &mut tool.sink, link).await {
                // The upstream closed it while it waited; ask again on a new one.
                Err(broken) if repeatable && !broken.heard && broken.is_upstream() => {
                    what.meter.connected(None);
                }
                ended => return self.settle(tool, what, &key, ended).await,
            }
        }
        let link = self.link(&key, what.meter).await?;
        what.unlock(&link)?;
        let ended = what.run(&mut tool.source, &mut tool.sink, link).await;
        self.settle(tool, what, &key, ended).await
    }

    async fn settle<S>(
        &self,
        tool: &mut Tool<S>,
        what: &Exchange<'_>,
        key: &Key,
        ended: Result<exchange::Done, Broken>,
    ) -> Result<bool, Refusal>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let broken = match ended {
            Ok(done) => {
                count("allowed");
                if let Some(link) = done.link {
                    self.pool.put(key, link, self.limits.keep_alive());
                }
                return Ok(done.keep);
            }
            Err(broken) => broken,
        };
        match broken.fault {
            Fault::Upstream(why) | Fault::Limit(why) if !broken.answered => {
                Err(Refusal::Failed(why))
            }
            Fault::Tool(why) if !broken.answered => {
                count("failed");
                what.meter.fail(&why);
                tool.answer(400, "malformed", &why, false).await;
                Ok(false)
            }
            // The answer is under way: breaking it off is all that can still be said.
            Fault::Upstream(why) | Fault::Limit(why) | Fault::Tool(why) => {
                count("failed");
                what.meter.fail(&why);
                Ok(false)
            }
        }
    }
}
