//! Limit on concurrent requests per host.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use callwright_common::limits::REMEMBERED;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};
use url::Url;

/// Limits the in-flight requests per host and port.
pub(super) struct HostLimits {
    most: usize,
    limits: Mutex<HashMap<(String, u16), Arc<Semaphore>>>,
}

impl HostLimits {
    pub(super) fn new(most: usize) -> Self {
        Self { most: most.clamp(1, Semaphore::MAX_PERMITS), limits: Mutex::default() }
    }

    /// Acquires a permit for the host of `url`, which is released on drop. Returns `None` if none is free before the
    /// deadline.
    pub(super) async fn enter(&self, url: &Url, deadline: Instant) -> Option<OwnedSemaphorePermit> {
        let limit = self.limit(url);
        timeout_at(deadline, limit.acquire_owned()).await.ok()?.ok()
    }

    fn limit(&self, url: &Url) -> Arc<Semaphore> {
        let host = (url.host_str().unwrap_or_default().to_owned(), url.port_or_known_default().unwrap_or_default());
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        if limits.len() >= REMEMBERED {
            limits.retain(|_, limit| limit.available_permits() < self.most || Arc::strong_count(limit) > 1);
        }
        Arc::clone(limits.entry(host).or_insert_with(|| Arc::new(Semaphore::new(self.most))))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn permits_are_counted_by_host_and_port_and_returned() {
        let limits = HostLimits::new(1);
        let url = |text: &str| Url::parse(text).unwrap();
        let soon = || Instant::now() + Duration::from_millis(20);
        let first = limits.enter(&url("https://a.example.com/x"), soon()).await.unwrap();
        assert!(limits.enter(&url("https://A.example.com:443/y"), soon()).await.is_none());
        assert!(limits.enter(&url("https://a.example.com:444/"), soon()).await.is_some());
        assert!(limits.enter(&url("https://b.example.com/"), soon()).await.is_some());
        drop(first);
        assert!(limits.enter(&url("https://a.example.com/"), soon()).await.is_some());
    }

    #[tokio::test]
    async fn idle_hosts_are_removed() {
        let limits = HostLimits::new(1);
        let kept = limits.enter(&Url::parse("http://kept.example/").unwrap(), Instant::now()).await.unwrap();
        for number in 0..2 * REMEMBERED {
            limits.limit(&Url::parse(&format!("http://h{number}.example/")).unwrap());
        }
        let limits = limits.limits.lock().unwrap();
        assert!(limits.len() <= REMEMBERED && limits.contains_key(&("kept.example".to_owned(), 80)));
        drop(kept);
    }
}
