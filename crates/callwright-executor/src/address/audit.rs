//! Check of server addresses before any call.

use std::net::IpAddr;
use std::time::Duration;

use url::{Host, Url};

use super::{AddressPolicy, AllowList};
use crate::{BuildError, Settings};

/// Maximum time for the resolution of one name.
const RESOLUTION_TIME: Duration = Duration::from_secs(3);

/// Finds servers whose addresses the executor does not connect to.
#[derive(Debug)]
pub struct AddressAudit {
    policy: AddressPolicy,
}

impl AddressAudit {
    /// Creates the audit of the executor's settings.
    ///
    /// # Errors
    /// [`BuildError`] if an entry of `allowed_addresses` is invalid.
    pub fn new(settings: &Settings) -> Result<Self, BuildError> {
        Ok(Self { policy: AddressPolicy::new(AllowList::parse(&settings.allowed_addresses)?) })
    }

    /// Whether the host's address is certainly forbidden without a query: an IP address, or a name of the loopback
    /// interface (RFC 6761 section 6.3).
    pub fn forbids(&self, url: &Url) -> bool {
        let Some(host) = url.host() else { return false };
        let Host::Domain(name) = host else { return self.policy.check_literal(host).is_err() };
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let is_loopback = name == "localhost" || name.ends_with(".localhost");
        let loopback = vec![IpAddr::from([127, 0, 0, 1]), IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1])];
        is_loopback && self.policy.check_resolved(&name, loopback).is_err()
    }

    /// Whether all addresses of the host are forbidden. Resolves a name; one that cannot be resolved is not forbidden.
    pub async fn forbids_resolved(&self, url: &Url) -> bool {
        let Some(Host::Domain(name)) = url.host() else { return self.forbids(url) };
        let found = tokio::time::timeout(RESOLUTION_TIME, tokio::net::lookup_host((name, 0))).await;
        let Ok(Ok(found)) = found else { return self.forbids(url) };
        let addresses: Vec<IpAddr> = found.map(|address| address.ip()).collect();
        !addresses.is_empty() && self.policy.check_resolved(name, addresses).is_err()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_addresses_are_forbidden_until_they_are_allowed() {
        let audit = |allowed: &[&str]| {
            let allowed_addresses = allowed.iter().map(|entry| (*entry).to_owned()).collect();
            AddressAudit::new(&Settings { allowed_addresses, ..Settings::default() }).unwrap()
        };
        let local = ["http://127.0.0.1:8000/", "http://localhost:8000/", "http://api.localhost", "http://[::1]/"];
        for url in local {
            assert!(audit(&[]).forbids(&Url::parse(url).unwrap()), "{url}");
        }
        let allowed = audit(&["127.0.0.1", "::1", "api.localhost"]);
        for url in local.into_iter().chain(["https://api.example.com", "http://8.8.8.8/"]) {
            assert!(!allowed.forbids(&Url::parse(url).unwrap()), "{url}");
        }
    }
}
