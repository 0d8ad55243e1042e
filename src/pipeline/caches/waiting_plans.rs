//! Whether any plan waits for a client.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use callwright_store::{Store, StoreError};

/// Time for which the last query is valid. A plan of another replica is found this much later.
const VALID_FOR: Duration = Duration::from_millis(250);

/// Whether the store has any waiting plan. Most conversations have a user message behind an answer, and hardly any of
/// these messages answers the question of a plan: they do not wait for the store.
#[derive(Debug)]
pub(crate) struct WaitingPlans {
    started: Instant,
    /// Milliseconds from the start to the last query; 0: there was none.
    queried: AtomicU64,
    any: AtomicBool,
}

impl WaitingPlans {
    /// Creates the state before the first query.
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), queried: AtomicU64::new(0), any: AtomicBool::new(true) }
    }

    /// Whether any plan may wait.
    pub(crate) async fn any(&self, store: &Store) -> bool {
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
        let queried = self.queried.load(Ordering::Acquire);
        let valid_for = u64::try_from(VALID_FOR.as_millis()).unwrap_or(u64::MAX);
        if queried != 0 && now.saturating_sub(queried) < valid_for {
            return self.any.load(Ordering::Acquire);
        }
        let any = match store.has_plans().await {
            Ok(any) => any,
            Err(StoreError::Off) => false,
            // The lookup of the plan itself reports the error.
            Err(_) => true,
        };
        self.any.store(any, Ordering::Release);
        self.queried.store(now, Ordering::Release);
        any
    }

    /// Records that a plan waits now.
    pub(crate) fn added(&self) {
        self.any.store(true, Ordering::Release);
    }
}
