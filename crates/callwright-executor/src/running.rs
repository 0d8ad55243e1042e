//! The calls that this process is executing at this moment.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use callwright_store::IntentKey;

/// The calls under way.
#[derive(Debug, Clone, Default)]
pub(super) struct RunningCalls(Arc<Mutex<HashSet<IntentKey>>>);

/// One of them, until this is dropped.
#[derive(Debug)]
pub(super) struct RunningCall {
    all: RunningCalls,
    key: IntentKey,
}

impl RunningCalls {
    /// Enters a call; `None` where the same one is under way.
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
