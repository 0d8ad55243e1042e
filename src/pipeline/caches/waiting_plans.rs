//! Whether any plan waits for a client.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use callwright_store::{Store, StoreError};

/// Time for which the last query is valid. A plan of another replica is found this much later.
const VALID_FOR: Duration = Duration::from_millis(250);

/// Whether the store has any waiting plan. Most conversations have a user message behind an answer, and hardly any of
/// these messages answers the question of a plan: they do not wait for the store.
#[derive(Debug, Default)]
pub(crate) struct WaitingPlans {
    /// Result and time of the last query.
    queried: Mutex<Option<(bool, Instant)>>,
}

impl WaitingPlans {
    /// Whether any plan may wait.
    pub(crate) async fn any(&self, store: &Store) -> bool {
        let known = *self.queried.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((any, at)) = known
            && at.elapsed() < VALID_FOR
        {
            return any;
        }
        let any = match store.has_plans().await {
            Ok(any) => any,
            Err(StoreError::Off) => false,
            // The lookup of the plan itself reports the error.
            Err(_) => true,
        };
        self.note(any);
        any
    }

    /// Records that a plan waits now.
    pub(crate) fn added(&self) {
        self.note(true);
    }

    fn note(&self, any: bool) {
        *self.queried.lock().unwrap_or_else(PoisonError::into_inner) = Some((any, Instant::now()));
    }
}
