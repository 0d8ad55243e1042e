//! Supervision of background tasks whose end would lose data or leave stale state.
//!
//! A task that panics starts again after a pause. Restarts are counted for the whole process, because tasks begin in
//! crates that know no metrics.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;

/// Pause before a task starts again, so that a lasting fault does not occupy a processor.
const PAUSE: Duration = Duration::from_secs(1);

/// State of a supervised task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskState {
    /// Number of restarts after a panic.
    pub restarts: u64,
    /// Whether it panicked and has not started again.
    pub is_down: bool,
}

static TASKS: Mutex<BTreeMap<&'static str, TaskState>> = Mutex::new(BTreeMap::new());

fn tasks() -> MutexGuard<'static, BTreeMap<&'static str, TaskState>> {
    TASKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the supervised tasks of this process that have panicked, by name.
pub fn restarted() -> Vec<(&'static str, TaskState)> {
    tasks().iter().map(|(name, state)| (*name, *state)).collect()
}

/// Runs a task to its end, and again after each panic. The task keeps `state` over a restart.
pub async fn supervised<S>(name: &'static str, mut state: S, mut run: impl AsyncFnMut(&mut S)) {
    while AssertUnwindSafe(run(&mut state)).catch_unwind().await.is_err() {
        tracing::error!(task = name, "a background task panicked; it starts again");
        tasks().entry(name).or_default().is_down = true;
        tokio::time::sleep(PAUSE).await;
        let mut tasks = tasks();
        let task = tasks.entry(name).or_default();
        *task = TaskState { restarts: task.restarts + 1, is_down: false };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_that_panics_starts_again_with_its_state() {
        let task = tokio::spawn(supervised("test", 0, async |runs: &mut u64| {
            *runs += 1;
            assert!(*runs > 2, "run {runs}");
        }));
        while restarted().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(restarted(), [("test", TaskState { restarts: 0, is_down: true })]);
        task.await.unwrap();
        assert_eq!(restarted(), [("test", TaskState { restarts: 2, is_down: false })]);
    }
}
