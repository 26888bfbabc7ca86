//! Turns names into addresses: at the name servers that the configuration lists, or else as the
//! host does. A name in, all its addresses out; which of them may be dialled is not decided here.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig,
    ResolverOpts,
};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::dial::Refusal;
use super::rules::Host;

/// An answer is not used for longer, whatever its server says.
const OLDEST: Duration = Duration::from_secs(60);
/// Nor that there is none.
const OLDEST_NONE: Duration = Duration::from_secs(5);

/// Look-ups by the host at once; each has a thread.
static LOOKUPS: Semaphore = Semaphore::const_new(32);

type Answer = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Turns names into addresses.
#[derive(Clone)]
pub(crate) struct Resolver(Arc<dyn Fn(String) -> Answer + Send + Sync>);

impl Resolver {
    /// As the host does.
    pub(super) fn system() -> Self {
        Self(Arc::new(|name| {
            Box::pin(async move {
                // A look-up cannot be ended, so those that hang keep their place.
                let place = LOOKUPS.acquire().await.map_err(io::Error::other)?;
                let look = move || {
                    let _place = place;
                    let found = (name.as_str(), 0).to_socket_addrs()?;
                    Ok(found.map(|address| address.ip()).collect())
                };
                tokio::task::spawn_blocking(look).await.map_err(io::Error::other)?
            })
        }))
    }

    /// At exactly these servers: no search list, no hosts file. One attempt takes at most
    /// `patience`.
    pub(super) fn at(servers: &[SocketAddr], patience: Duration) -> Result<Self, String> {
        let servers = servers.iter().map(|server| {
            let port = |mut connection: ConnectionConfig| {
                connection.port = server.port();
                connection
            };
            let connections = vec![port(ConnectionConfig::udp()), port(ConnectionConfig::tcp())];
            NameServerConfig::new(server.ip(), true, connections)
        });
        let config = ResolverConfig::from_parts(None, Vec::new(), servers.collect());
        let mut options = ResolverOpts::default();
        options.timeout = patience / 2;
        options.attempts = 1;
        options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
        options.use_hosts_file = ResolveHosts::Never;
        options.positive_max_ttl = Some(OLDEST);
        options.negative_max_ttl = Some(OLDEST_NONE);
        let built = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
            .with_options(options)
            .build();
        let resolver = built.map_err(|error| error.to_string())?;
        Ok(Self(Arc::new(move |name| {
            let resolver = resolver.clone();
            Box::pin(async move {
                // The dot at the end keeps a search list from being tried.
                let found = resolver.lookup_ip(format!("{name}.")).await;
                Ok(found.map_err(io::Error::other)?.iter().collect())
            })
        })))
    }

    /// Answers each question with `answer`.
    #[cfg(test)]
    pub(super) fn fixed(answer: impl Fn(&str) -> Vec<IpAddr> + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |name| {
            let found = answer(&name);
            Box::pin(std::future::ready(Ok(found)))
        }))
    }

    /// All addresses of a host.
    pub(super) async fn resolve(
        &self,
        host: &Host,
        patience: Duration,
    ) -> Result<Vec<IpAddr>, Refusal> {
        let name = match host {
            Host::Address(address) => return Ok(vec![*address]),
            Host::Name(name) => name,
        };
        let failed = |why: String| Refusal::Failed(format!("the name does not resolve: {why}"));
        match timeout(patience, (self.0)(name.clone())).await {
            Ok(Ok(found)) if found.is_empty() => Err(failed("no address".to_owned())),
            Ok(Ok(found)) => Ok(found),
            Ok(Err(error)) => Err(failed(error.to_string())),
            Err(_elapsed) => Err(failed("no answer in time".to_owned())),
        }
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver")
    }
}
