//! DNS resolution that returns checked addresses only.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::AddressPolicy;
use callwright_types::Refusal;

/// Resolves names to addresses without a check. The executor checks the addresses before it connects.
pub trait Lookup: Send + Sync {
    /// Returns all addresses of `name`.
    fn lookup(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The resolver of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(
            async move { Ok(tokio::net::lookup_host((name.as_str(), 0)).await?.map(|found| found.ip()).collect()) },
        )
    }
}

/// Error for a name whose addresses are all forbidden. The text names the address and the setting that would allow
/// it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ForbiddenAddress(pub(crate) Refusal);

/// DNS resolver of the HTTP client. The client connects to exactly the addresses that it returns, so they cannot
/// change after the check.
pub(crate) struct CheckedResolver {
    policy: Arc<AddressPolicy>,
    lookup: Arc<dyn Lookup>,
}

impl CheckedResolver {
    pub(crate) fn new(policy: Arc<AddressPolicy>, lookup: Arc<dyn Lookup>) -> Self {
        Self { policy, lookup }
    }
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (policy, lookup) = (Arc::clone(&self.policy), Arc::clone(&self.lookup));
        Box::pin(async move {
            let name = name.as_str().to_owned();
            let found = lookup.lookup(name.clone()).await?;
            let permitted = policy.check_resolved(&name, found).map_err(ForbiddenAddress)?;
            // The client replaces port 0 with the port of the URL.
            let addresses: Addrs = Box::new(permitted.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}
