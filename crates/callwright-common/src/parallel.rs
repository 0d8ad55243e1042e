//! Parallel processing of the items of a source, with the results in the order of the source and bounds on the work in
//! progress.
//!
//! Items differ in size by a factor of 100,000. Each item therefore goes to the next idle worker.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::num::NonZeroUsize;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Stack size of a worker, for parsers of nested documents. It is more than ten times the stack of the deepest document
/// that is accepted.
const STACK_BYTES: usize = 16 << 20;

/// Concurrency limits.
#[derive(Debug, Clone, Copy)]
pub struct WorkLimits {
    /// Number of worker threads; at least one is started.
    pub workers: usize,
    /// Maximum sum of the weights in progress. A single heavier item runs alone.
    pub weight: u64,
    /// Maximum number of items that are read before the result of an earlier one is delivered.
    pub ahead: usize,
}

/// Returns the number of cores that the process may use; 1 if it is unknown.
pub fn cores() -> NonZeroUsize {
    thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Applies `work` to all items with as many threads as there are cores, and returns the results in the order of the
/// items. `weight` limits the total weight of the items in progress. The heaviest items begin first, so that the
/// threads end at about the same time. Items that remain because threads cannot be started are processed by the calling
/// thread.
pub fn map_in_order<T: Sync, R: Send>(
    items: &[T],
    weight: u64,
    weigh: impl Fn(&T) -> u64,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let workers = cores().get().min(items.len());
    let limits = WorkLimits { workers, weight, ahead: items.len() };
    let mut by_weight: Vec<(u64, usize, &T)> =
        items.iter().enumerate().map(|(index, item)| (weigh(item), index, item)).collect();
    by_weight.sort_by_key(|(weight, ..)| Reverse(*weight));
    let mut results: Vec<(usize, R)> = Vec::with_capacity(items.len());
    let ended: io::Result<()> = in_order(
        limits,
        by_weight.iter(),
        |(weight, ..)| *weight,
        |(_, index, item)| (*index, work(item)),
        |result| {
            results.push(result);
            Ok(())
        },
    );
    if ended.is_err() {
        let rest = by_weight.get(results.len()..).unwrap_or_default();
        results.extend(rest.iter().map(|(_, index, item)| (*index, work(item))));
    }
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Applies `work` to all items like [`map_in_order`], without a limit on the items in progress: for work whose results
/// have most of the memory.
pub fn map_all<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    map_in_order(items, u64::MAX, |_| 0, work)
}

/// Passes every item of `source` to `work` in one of several threads, and the results to `sink` in the order of
/// `source`. The weight of an item is `weigh` of it. `source` is read in a thread of its own.
///
/// # Errors
/// The first error of `sink`, after which no further work starts, or the error of starting a thread.
///
/// # Panics
/// If `source` or `work` panics.
pub fn in_order<T: Send, R: Send, E: From<io::Error>>(
    limits: WorkLimits,
    source: impl Iterator<Item = T> + Send,
    weigh: impl Fn(&T) -> u64 + Send,
    work: impl Fn(T) -> R + Sync,
    mut sink: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    let queue = WorkQueue { limits, state: Mutex::new(QueueState::default()), changed: Condvar::new() };
    let (queue, work) = (&queue, &work);
    thread::scope(|scope| {
        // Ends the threads whether this closure returns or fails.
        let _stop = StopOnDrop(queue);
        thread::Builder::new().spawn_scoped(scope, move || queue.fill(source, weigh))?;
        for _ in 0..limits.workers.max(1) {
            let worker = thread::Builder::new().stack_size(STACK_BYTES);
            worker.spawn_scoped(scope, move || queue.run(work))?;
        }
        for index in 0.. {
            let Some(result) = queue.fetch(index) else { break };
            sink(result)?;
        }
        Ok(())
    })
}

/// Items and results between the threads, with a condition variable that signals every change.
struct WorkQueue<T, R> {
    limits: WorkLimits,
    state: Mutex<QueueState<T, R>>,
    changed: Condvar,
}

struct QueueState<T, R> {
    /// Items that wait for a worker.
    waiting: VecDeque<QueuedItem<T>>,
    /// Number of items in progress; `weight` is the sum of their weights.
    running: usize,
    weight: u64,
    /// Results that wait for an earlier one, by index.
    done: BTreeMap<usize, R>,
    /// Index of the next result to deliver.
    next: usize,
    /// Number of items, once all are read.
    count: Option<usize>,
    stopped: bool,
}

struct QueuedItem<T> {
    index: usize,
    weight: u64,
    item: T,
}

impl<T, R> Default for QueueState<T, R> {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            running: 0,
            weight: 0,
            done: BTreeMap::new(),
            next: 0,
            count: None,
            stopped: false,
        }
    }
}

impl<T, R> WorkQueue<T, R> {
    /// Reads the source.
    fn fill(&self, source: impl Iterator<Item = T>, weigh: impl Fn(&T) -> u64) {
        let _stop = StopOnPanic(self);
        let mut count = 0;
        for item in source {
            let weight = weigh(&item);
            let mut state = self.state();
            while !state.stopped && count - state.next > self.limits.ahead {
                state = self.wait(state);
            }
            if state.stopped {
                return;
            }
            state.waiting.push_back(QueuedItem { index: count, weight, item });
            drop(state);
            self.changed.notify_all();
            count += 1;
        }
        self.state().count = Some(count);
        self.changed.notify_all();
    }

    /// Processes items until none is left.
    fn run(&self, work: &impl Fn(T) -> R) {
        let _stop = StopOnPanic(self);
        while let Some(QueuedItem { index, weight, item }) = self.take() {
            let result = work(item);
            let mut state = self.state();
            state.running -= 1;
            state.weight = state.weight.saturating_sub(weight);
            state.done.insert(index, result);
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Waits for an item and for capacity; `None` if no item is left.
    fn take(&self) -> Option<QueuedItem<T>> {
        let mut state = self.state();
        loop {
            if state.stopped {
                return None;
            }
            match state.waiting.front().map(|first| state.weight.saturating_add(first.weight)) {
                Some(weight) if state.running == 0 || weight <= self.limits.weight => {
                    state.running += 1;
                    state.weight = weight;
                    return state.waiting.pop_front();
                }
                None if state.count.is_some() => return None,
                _ => state = self.wait(state),
            }
        }
    }

    /// Waits for the result of `index`; `None` if there is none.
    fn fetch(&self, index: usize) -> Option<R> {
        let mut state = self.state();
        loop {
            if let Some(result) = state.done.remove(&index) {
                state.next = index + 1;
                drop(state);
                self.changed.notify_all();
                return Some(result);
            }
            if state.stopped || state.count == Some(index) {
                return None;
            }
            state = self.wait(state);
        }
    }

    fn stop(&self) {
        self.state().stopped = true;
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, QueueState<T, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'q>(&'q self, state: MutexGuard<'q, QueueState<T, R>>) -> MutexGuard<'q, QueueState<T, R>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the work of all threads when it is dropped.
struct StopOnDrop<'q, T, R>(&'q WorkQueue<T, R>);

impl<T, R> Drop for StopOnDrop<'_, T, R> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Ends the work of all threads if its thread panics, so that none waits for a result that never comes.
struct StopOnPanic<'q, T, R>(&'q WorkQueue<T, R>);

impl<T, R> Drop for StopOnPanic<'_, T, R> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

    use super::*;

    const AHEAD: usize = 4;

    fn limits(workers: usize) -> WorkLimits {
        WorkLimits { workers, weight: 100, ahead: AHEAD }
    }

    #[test]
    fn results_come_in_the_order_of_the_source() {
        for (workers, count) in [(0, 5), (1, 100), (2, 0), (3, 1), (3, 1000), (8, 3)] {
            let mut seen = Vec::new();
            let ended: io::Result<()> = in_order(
                limits(workers),
                0..count,
                |_| 1,
                |number: usize| {
                    if number.is_multiple_of(7) {
                        thread::yield_now();
                    }
                    number * 2
                },
                |result| {
                    seen.push(result);
                    Ok(())
                },
            );
            ended.unwrap();
            assert_eq!(seen, (0..count).map(|number| number * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn heavy_items_begin_first_and_results_keep_the_item_order() {
        let items: Vec<u64> = (0..50).map(|index| index * 37 % 50).collect();
        let begun = Mutex::new(Vec::new());
        let results = map_in_order(
            &items,
            1,
            |item| *item + 1,
            |item| {
                begun.lock().unwrap().push(*item);
                item * 2
            },
        );
        assert_eq!(results, items.iter().map(|item| item * 2).collect::<Vec<_>>());
        // No two items fit in the weight, so they run one after the other.
        assert!(begun.into_inner().unwrap().is_sorted_by(|before, after| before > after));
    }

    #[test]
    fn the_running_weight_is_bounded_and_heavier_items_run_alone() {
        let weights = (0..200).map(|index| if index % 9 == 0 { 1000 } else { index % 60 });
        let (now, worst) = (AtomicU64::new(0), AtomicU64::new(0));
        let work = |weight: u64| {
            let sum = now.fetch_add(weight, Ordering::SeqCst) + weight;
            if sum > weight {
                worst.fetch_max(sum, Ordering::SeqCst);
            }
            thread::yield_now();
            now.fetch_sub(weight, Ordering::SeqCst);
        };
        let ended: io::Result<()> = in_order(limits(8), weights, |weight| *weight, work, |()| Ok(()));
        ended.unwrap();
        assert!(worst.load(Ordering::SeqCst) <= 100, "{worst:?}");
    }

    #[test]
    fn no_more_items_are_read_ahead_than_may() {
        let (read, mut delivered) = (AtomicUsize::new(0), 0);
        let source = (0..1000).inspect(|_| {
            read.fetch_add(1, Ordering::SeqCst);
        });
        let ended: io::Result<()> = in_order(
            limits(3),
            source,
            |_| 0,
            |number| number,
            |_| {
                delivered += 1;
                // The items ahead of the delivered result, that result, and the one in the reader.
                let ahead = read.load(Ordering::SeqCst) - delivered;
                assert!(ahead <= AHEAD + 2, "{ahead}");
                Ok(())
            },
        );
        ended.unwrap();
    }

    #[test]
    fn an_error_of_the_sink_ends_an_endless_source() {
        let begun = AtomicUsize::new(0);
        let work = |number: usize| {
            begun.fetch_add(1, Ordering::SeqCst);
            number
        };
        let sink = |number: usize| if number == 3 { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) };
        let error: io::Error = in_order(limits(2), 0.., |_| 1, work, sink).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        assert!(begun.load(Ordering::SeqCst) < 20, "{begun:?}");
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_of_the_work_reaches_the_caller() {
        let ended: io::Result<()> = in_order(limits(2), 0.., |_| 1, |number| assert!(number < 5), |()| Ok(()));
        ended.unwrap();
    }
}
