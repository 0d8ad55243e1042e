//! Whether any plan waits for a client.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use callwright_store::{Store, StoreError};

/// Time for which the last look into the store counts. A plan of another replica is found this much later.
const COUNTS: Duration = Duration::from_millis(250);

/// Whether the store has any waiting plan. Most conversations have a user message behind an answer, and hardly any of
/// these messages answers the question of a plan: they do not wait for the store.
#[derive(Debug)]
pub(crate) struct WaitingPlans {
    started: Instant,
    /// Milliseconds from the start to the end of the last look; 0: there was none.
    looked: AtomicU64,
    any: AtomicBool,
}

impl WaitingPlans {
    /// Creates the state before the first look.
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), looked: AtomicU64::new(0), any: AtomicBool::new(true) }
    }

    /// Whether any plan may wait.
    pub(crate) async fn any(&self, store: &Store) -> bool {
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
        let looked = self.looked.load(Ordering::Acquire);
        let counts = u64::try_from(COUNTS.as_millis()).unwrap_or(u64::MAX);
        if looked != 0 && now.saturating_sub(looked) < counts {
            return self.any.load(Ordering::Acquire);
        }
        let any = match store.has_plans().await {
            Ok(any) => any,
            Err(StoreError::Off) => false,
            // The lookup of the plan itself reports the error.
            Err(_) => true,
        };
        self.any.store(any, Ordering::Release);
        self.looked.store(now, Ordering::Release);
        any
    }

    /// Records that a plan waits now.
    pub(crate) fn added(&self) {
        self.any.store(true, Ordering::Release);
    }
}
