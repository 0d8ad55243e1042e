//! Parallel processing of documents, with the results in the order of the documents.
//!
//! Document sizes differ by a factor of 100,000. Each document therefore goes to the next idle worker, and the limit is
//! the number of bytes in progress, not the number of documents.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Stack size of a worker. The nesting of documents is limited; this is more than ten times the stack of the deepest
/// one.
const STACK_BYTES: usize = 16 << 20;

/// Concurrency limits.
pub(super) struct WorkLimits {
    pub(super) workers: usize,
    /// Maximum sum of the weights in progress. A single heavier item runs alone.
    pub(super) weight: u64,
    /// Maximum number of results that wait for an earlier one.
    pub(super) ahead: usize,
}

struct WorkQueueState<R> {
    /// Index of the next item to start.
    next: usize,
    /// Index of the next result to deliver.
    wanted: usize,
    /// Number of items in progress; `weight` is the sum of their weights.
    at_work: usize,
    weight: u64,
    done: BTreeMap<usize, R>,
    stopped: bool,
}

/// State with a condition variable that signals every change.
struct WorkQueue<R> {
    state: Mutex<WorkQueueState<R>>,
    changed: Condvar,
}

/// Runs `work` for every index of `weights` and passes the results to `sink` in order. `work` must not panic.
///
/// # Errors
/// The first error of `sink`, after which no further work starts, or the error of starting a thread.
pub(super) fn in_order<R: Send>(
    weights: &[u64],
    bounds: &WorkLimits,
    work: impl Fn(usize) -> R + Sync,
    mut sink: impl FnMut(R) -> io::Result<()>,
) -> io::Result<()> {
    let state = WorkQueueState { next: 0, wanted: 0, at_work: 0, weight: 0, done: BTreeMap::new(), stopped: false };
    let board = WorkQueue { state: Mutex::new(state), changed: Condvar::new() };
    let (board, work) = (&board, &work);
    thread::scope(|scope| {
        let mut run = || {
            for _ in 0..bounds.workers.clamp(1, weights.len().max(1)) {
                let worker = move || {
                    while let Some((index, weight)) = board.take(weights, bounds) {
                        let result = work(index);
                        board.give(index, weight, result);
                    }
                };
                thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, worker)?;
            }
            (0..weights.len()).try_for_each(|index| sink(board.fetch(index)))
        };
        let ended = run();
        board.stop();
        ended
    })
}

impl<R> WorkQueue<R> {
    fn state(&self) -> MutexGuard<'_, WorkQueueState<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'b>(&'b self, state: MutexGuard<'b, WorkQueueState<R>>) -> MutexGuard<'b, WorkQueueState<R>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for capacity and returns the next index and its weight; `None` if no work is left.
    fn take(&self, weights: &[u64], bounds: &WorkLimits) -> Option<(usize, u64)> {
        let mut state = self.state();
        loop {
            let index = state.next;
            let weight = *weights.get(index).filter(|_| !state.stopped)?;
            let fits = state.at_work == 0 || state.weight.saturating_add(weight) <= bounds.weight;
            if fits && index - state.wanted <= bounds.ahead {
                state.next += 1;
                state.at_work += 1;
                state.weight = state.weight.saturating_add(weight);
                return Some((index, weight));
            }
            state = self.wait(state);
        }
    }

    fn give(&self, index: usize, weight: u64, result: R) {
        let mut state = self.state();
        state.at_work -= 1;
        state.weight = state.weight.saturating_sub(weight);
        state.done.insert(index, result);
        drop(state);
        self.changed.notify_all();
    }

    /// Waits for the result of `index` and returns it.
    fn fetch(&self, index: usize) -> R {
        let mut state = self.state();
        loop {
            if let Some(result) = state.done.remove(&index) {
                state.wanted = index + 1;
                drop(state);
                self.changed.notify_all();
                return result;
            }
            state = self.wait(state);
        }
    }

    fn stop(&self) {
        self.state().stopped = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

    use super::*;

    fn bounds(workers: usize) -> WorkLimits {
        WorkLimits { workers, weight: 100, ahead: 4 }
    }

    #[test]
    fn results_come_in_order_whoever_is_slow() {
        for (workers, count) in [(0, 5), (1, 50), (2, 0), (3, 1), (4, 500)] {
            let mut seen = Vec::new();
            let work = |index: usize| {
                if index.is_multiple_of(7) {
                    thread::yield_now();
                }
                index * 2
            };
            in_order(&vec![1; count], &bounds(workers), work, |result| {
                seen.push(result);
                Ok(())
            })
            .unwrap();
            assert_eq!(seen, (0..count).map(|index| index * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_weight_that_is_worked_on_is_bounded_and_what_is_heavier_is_alone() {
        let weights: Vec<u64> = (0..200).map(|index| if index % 9 == 0 { 1000 } else { index % 60 }).collect();
        let (now, worst) = (AtomicU64::new(0), AtomicU64::new(0));
        let work = |index: usize| {
            let weight = weights[index];
            let sum = now.fetch_add(weight, Ordering::SeqCst) + weight;
            if sum > weight {
                worst.fetch_max(sum, Ordering::SeqCst);
            }
            thread::yield_now();
            now.fetch_sub(weight, Ordering::SeqCst);
        };
        in_order(&weights, &bounds(8), work, |()| Ok(())).unwrap();
        assert!(worst.load(Ordering::SeqCst) <= 100, "{worst:?}");
    }

    #[test]
    fn no_more_results_wait_than_may() {
        let (begun, written) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = |_: usize| begun.fetch_add(1, Ordering::SeqCst) + 1 - written.load(Ordering::SeqCst);
        let mut most = 0;
        in_order(&[0; 300], &bounds(8), work, |ahead| {
            most = most.max(ahead);
            written.fetch_add(1, Ordering::SeqCst);
            Ok(())
        })
        .unwrap();
        // The results that may wait, the next one to deliver, and the one that is being written.
        assert!(most <= 4 + 2, "{most}");
    }

    #[test]
    fn an_error_of_the_sink_ends_everything() {
        let begun = AtomicUsize::new(0);
        let work = |index: usize| {
            begun.fetch_add(1, Ordering::SeqCst);
            index
        };
        let sink = |index: usize| if index == 3 { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) };
        let error = in_order(&[1; 10_000], &bounds(2), work, sink).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        assert!(begun.load(Ordering::SeqCst) < 20, "{begun:?}");
    }
}
