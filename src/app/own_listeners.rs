//! Detects an upstream whose address is a listener of the proxy itself, such as OPENAI_BASE_URL set for clients.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use url::{Host, Url};

use callwright_upstream as upstream;

/// Time limit for resolving a host name. A name that is not resolved in time is checked by `Via` when it is used.
const RESOLUTION: Duration = Duration::from_secs(2);

/// Upstream that leads back to the proxy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`upstreams.{upstream}.base_url`: {base_url} is this proxy's own listener {listener}; set it to the address of the provider. \
     OPENAI_BASE_URL may name the proxy for clients if CALLWRIGHT_UPSTREAM_URL names the provider"
)]
pub struct OwnListener {
    /// Name of the upstream.
    pub upstream: String,
    /// Its address.
    pub base_url: String,
    pub listener: SocketAddr,
}

/// Returns the first upstream whose address is one of these listeners. Only host names with a listener's port are
/// resolved.
pub async fn own_listener(
    upstreams: &BTreeMap<String, upstream::Settings>,
    listeners: [SocketAddr; 2],
) -> Option<OwnListener> {
    for (name, settings) in upstreams {
        let Some(url) = Url::parse(&settings.base_url).ok() else { continue };
        let port = url.port_or_known_default();
        if listeners.iter().all(|listener| Some(listener.port()) != port) {
            continue;
        }
        let addresses = addresses(&url).await;
        let is_reached = |listener: &&SocketAddr| {
            Some(listener.port()) == port && addresses.iter().any(|address| reaches(*address, listener.ip()))
        };
        if let Some(listener) = listeners.iter().find(is_reached) {
            let (upstream, base_url) = (name.clone(), settings.base_url.clone());
            return Some(OwnListener { upstream, base_url, listener: *listener });
        }
    }
    None
}

/// Returns the addresses of a URL's host; none if it cannot be resolved.
async fn addresses(url: &Url) -> Vec<IpAddr> {
    match url.host() {
        Some(Host::Ipv4(address)) => vec![address.into()],
        Some(Host::Ipv6(address)) => vec![address.into()],
        Some(Host::Domain(name)) => {
            let found = tokio::time::timeout(RESOLUTION, tokio::net::lookup_host((name, 0))).await;
            found.ok().and_then(Result::ok).into_iter().flatten().map(|address| address.ip()).collect()
        }
        None => Vec::new(),
    }
}

/// Whether a connection to `address` reaches a listener that is bound to `bound`.
fn reaches(address: IpAddr, bound: IpAddr) -> bool {
    let (address, bound) = (connected(address), bound.to_canonical());
    if !bound.is_unspecified() {
        return address == bound;
    }
    // A listener on `::` accepts IPv4 too, unless the system forbids it.
    (bound.is_ipv6() || address.is_ipv4()) && is_local(address)
}

/// Returns the address that a connection to an address has: the unspecified one is this machine.
pub fn connected(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        address => address,
    }
}

/// Whether this machine has the address: only then can a socket be bound to it. Nothing is sent.
fn is_local(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn is_own(base_url: &str, listeners: [&str; 2]) -> bool {
        let settings = upstream::Settings { base_url: base_url.to_owned(), ..upstream::Settings::default() };
        let listeners = listeners.map(|listener| listener.parse().unwrap());
        own_listener(&[("default".to_owned(), settings)].into(), listeners).await.is_some()
    }

    #[tokio::test]
    async fn every_address_of_a_listener_is_recognised() {
        let loopback = ["127.0.0.1:8787", "127.0.0.1:8788"];
        for url in [
            "http://127.0.0.1:8787/v1", "http://127.0.0.1:8788", "http://localhost:8787/v1", "http://0.0.0.0:8787/v1",
            "http://[::ffff:127.0.0.1]:8787/v1",
        ] {
            assert!(is_own(url, loopback).await, "{url}");
        }
        for url in
            ["http://127.0.0.1:8789/v1", "http://192.0.2.1:8787/v1", "http://[::1]:8787/v1", "http://127.0.0.2:8787"]
        {
            assert!(!is_own(url, loopback).await, "{url}");
        }
    }

    #[tokio::test]
    async fn a_listener_on_all_addresses_has_every_address_of_the_machine() {
        for (url, listeners) in [
            ("http://127.0.0.1:8787/v1", ["0.0.0.0:8787", "0.0.0.0:8788"]),
            ("http://127.0.0.9:8788/v1", ["0.0.0.0:8787", "0.0.0.0:8788"]),
            ("http://localhost:8787/v1", ["[::]:8787", "[::]:8788"]),
            ("http://[::]:8787/v1", ["[::]:8787", "[::]:8788"]),
            ("http://[::1]:8787/v1", ["[::1]:8787", "127.0.0.1:8788"]),
            ("http://127.0.0.1/v1", ["0.0.0.0:80", "0.0.0.0:8788"]),
        ] {
            assert!(is_own(url, listeners).await, "{url} {listeners:?}");
        }
        assert!(!is_own("http://192.0.2.1:8787/v1", ["0.0.0.0:8787", "[::]:8788"]).await);
        assert!(!is_own("http://[::1]:8787/v1", ["0.0.0.0:8787", "0.0.0.0:8788"]).await);
    }
}
