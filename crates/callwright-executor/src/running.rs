//! Calls that this process is currently executing.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use callwright_store::IntentKey;

/// Set of in-flight calls.
#[derive(Debug, Clone, Default)]
pub(super) struct RunningCalls(Arc<Mutex<HashSet<IntentKey>>>);

/// Entry of one in-flight call, removed on drop.
#[derive(Debug)]
pub(super) struct RunningCall {
    all: RunningCalls,
    key: IntentKey,
}

impl RunningCalls {
    /// Registers a call; returns `None` if the same call is in flight.
    pub(super) fn enter(&self, key: &IntentKey) -> Option<RunningCall> {
        let entered = self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone());
        entered.then(|| RunningCall { all: self.clone(), key: key.clone() })
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.all.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}
