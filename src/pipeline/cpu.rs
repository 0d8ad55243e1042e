//! CPU-bound work that would block an async worker: it runs on a limited number of slots, with fair queueing between
//! keys.
//!
//! A worker that parses a large list of tools serves no other connection. [`CpuSlots::run`] does such work in place,
//! after tokio has moved the worker's other tasks to another thread ([`tokio::task::block_in_place`]). The work may
//! therefore borrow from the turn. The number of slots is the number of cores minus one, and at least one. Waiting work
//! queues per key, and the queues are served round robin: a client with many large requests delays only its own.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;

use callwright_common::parallel::cores;
use callwright_telemetry::Metrics;

/// Kind of work, which determines its duration per byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CpuWork {
    /// Parsing a JSON request body, and composing the upstream request.
    Body,
    /// Parsing a list of tools that is not cached.
    Tools,
    /// Validating an answer.
    Answer,
}

impl CpuWork {
    /// Returns the number of bytes that take about a millisecond on a server core. Work up to this size runs on the
    /// async worker. Estimated from the times in docs/benchmarks: a body is only scanned, a list of tools is parsed, and a
    /// hostile text takes up to 0.14 ms per kilobyte.
    const fn inline_bytes(self) -> usize {
        match self {
            Self::Body => 256 * 1024,
            Self::Tools => 32 * 1024,
            Self::Answer => 8 * 1024,
        }
    }
}

/// Slots for CPU-bound work.
#[derive(Debug, Clone)]
pub(crate) struct CpuSlots {
    state: Arc<Mutex<CpuQueue>>,
    max_waiting: usize,
    metrics: Arc<Metrics>,
}

#[derive(Debug)]
struct CpuQueue {
    free: usize,
    /// Waiting work by key; no queue is empty.
    waiting: HashMap<String, VecDeque<oneshot::Sender<CpuPermit>>>,
    /// Keys with a queue, in the order in which they are served.
    turns: VecDeque<String>,
    count: usize,
}

/// An occupied slot; dropping it releases the slot.
#[derive(Debug)]
struct CpuPermit(Option<CpuSlots>);

/// The queue for slots is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many large requests are queued; try again later")]
pub(crate) struct Overloaded;

impl CpuSlots {
    /// Creates slots. `max_waiting` limits the waiting work that [`try_run`](Self::try_run) admits.
    pub(crate) fn new(slots: usize, max_waiting: usize, metrics: Arc<Metrics>) -> Self {
        let state = CpuQueue { free: slots.max(1), waiting: HashMap::new(), turns: VecDeque::new(), count: 0 };
        Self { state: Arc::new(Mutex::new(state)), max_waiting, metrics }
    }

    /// Creates slots for the cores of this machine.
    pub(crate) fn of_machine(max_waiting: usize, metrics: Arc<Metrics>) -> Self {
        Self::new(cores().get() - 1, max_waiting, metrics)
    }

    /// Runs work of `bytes` bytes for the key of `tenant`. Short work runs at once.
    pub(crate) async fn run<T>(&self, tenant: &str, work: CpuWork, bytes: usize, does: impl FnOnce() -> T) -> T {
        if bytes <= work.inline_bytes() {
            return does();
        }
        let _slot = self.wait(tenant).await;
        beside(does)
    }

    /// Runs work like [`run`](Self::run), but refuses it under load.
    ///
    /// # Errors
    /// [`Overloaded`] if too much work is waiting.
    pub(crate) async fn try_run<T>(
        &self,
        tenant: impl FnOnce() -> String,
        work: CpuWork,
        bytes: usize,
        does: impl FnOnce() -> T,
    ) -> Result<T, Overloaded> {
        if bytes <= work.inline_bytes() {
            return Ok(does());
        }
        if self.lock().count >= self.max_waiting {
            self.metrics.turns_shed.inc();
            return Err(Overloaded);
        }
        Ok(self.run(&tenant(), work, bytes, does).await)
    }

    async fn wait(&self, key: &str) -> CpuPermit {
        let granted = {
            let mut state = self.lock();
            if state.free > 0 {
                state.free -= 1;
                return CpuPermit(Some(self.clone()));
            }
            let (grant, granted) = oneshot::channel();
            state.count += 1;
            self.metrics.work_waiting.inc();
            if let Some(queue) = state.waiting.get_mut(key) {
                queue.push_back(grant);
            } else {
                state.waiting.insert(key.to_owned(), VecDeque::from([grant]));
                state.turns.push_back(key.to_owned());
            }
            granted
        };
        // The sender is dropped without a grant only with the slots themselves; then there is nothing to wait for.
        granted.await.unwrap_or(CpuPermit(None))
    }

    /// Passes a slot on to the next waiting work, or marks it free.
    fn release(&self) {
        loop {
            let Some(grant) = self.lock().next() else { return };
            self.metrics.work_waiting.dec();
            match grant.send(CpuPermit(Some(self.clone()))) {
                Ok(()) => return,
                // The waiting task is gone; the slot goes to the next one.
                Err(mut slot) => slot.0 = None,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, CpuQueue> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CpuQueue {
    /// Removes the next waiting work from its queue; marks a slot free if no work waits.
    fn next(&mut self) -> Option<oneshot::Sender<CpuPermit>> {
        let Some(key) = self.turns.pop_front() else {
            self.free += 1;
            return None;
        };
        let queue = self.waiting.get_mut(&key)?;
        let grant = queue.pop_front();
        if queue.is_empty() {
            self.waiting.remove(&key);
        } else {
            self.turns.push_back(key);
        }
        self.count = self.count.saturating_sub(1);
        grant
    }
}

impl Drop for CpuPermit {
    fn drop(&mut self) {
        if let Some(slots) = self.0.take() {
            slots.release();
        }
    }
}

/// Runs long work without blocking the other tasks of the worker.
fn beside<T>(does: impl FnOnce() -> T) -> T {
    // A current-thread runtime, as in tests, has no other thread to move its tasks to.
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(does),
        _ => does(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const LARGE: usize = 1 << 20;

    fn slots(count: usize, max_waiting: usize) -> CpuSlots {
        CpuSlots::new(count, max_waiting, Arc::new(Metrics::new()))
    }

    fn free_and_waiting(slots: &CpuSlots) -> (usize, usize) {
        let state = slots.lock();
        (state.free, state.count)
    }

    /// Waits until `count` pieces of work are queued.
    async fn waiting(slots: &CpuSlots, count: usize) {
        while slots.lock().count < count {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn keys_are_served_in_turn() {
        let slots = slots(1, 100);
        let taken = slots.wait("busy").await;
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for (place, key) in ["busy", "busy", "busy", "other", "third", "other"].into_iter().enumerate() {
            let (slots_of, order) = (slots.clone(), order.clone());
            tasks.push(tokio::spawn(async move {
                slots_of.run(key, CpuWork::Tools, LARGE, || order.lock().unwrap().push(key)).await;
            }));
            waiting(&slots, place + 1).await;
        }
        drop(taken);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), ["busy", "other", "third", "busy", "other", "busy"]);
        let state = slots.lock();
        assert_eq!((state.free, state.count, state.waiting.len(), state.turns.len()), (1, 0, 0, 0));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn no_more_is_done_at_a_time_than_there_are_slots() {
        let slots = slots(2, 1_000);
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let tasks: Vec<_> = (0..100)
            .map(|number| {
                let (slots, now, most) = (slots.clone(), now.clone(), most.clone());
                tokio::spawn(async move {
                    let key = (number % 7).to_string();
                    let work = || {
                        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        now.fetch_sub(1, Ordering::SeqCst);
                    };
                    slots.run(&key, CpuWork::Tools, LARGE, work).await;
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert!((1..=2).contains(&most.load(Ordering::SeqCst)));
        assert_eq!(free_and_waiting(&slots), (2, 0));
    }

    #[tokio::test]
    async fn who_goes_away_while_waiting_takes_no_slot_along() {
        let slots = slots(1, 100);
        let taken = slots.wait("a").await;
        let gone: Vec<_> = (0..3)
            .map(|_| {
                let slots = slots.clone();
                tokio::spawn(async move { slots.run("b", CpuWork::Tools, LARGE, || ()).await })
            })
            .collect();
        waiting(&slots, 3).await;
        for task in gone {
            task.abort();
            assert!(task.await.is_err());
        }
        drop(taken);
        assert_eq!(slots.run("c", CpuWork::Tools, LARGE, || 7).await, 7);
        assert_eq!(free_and_waiting(&slots), (1, 0));
    }

    #[tokio::test]
    async fn work_is_refused_where_too_much_waits_and_short_work_never() {
        let slots = slots(1, 1);
        let taken = slots.wait("a").await;
        let waits = slots.clone();
        let second = tokio::spawn(async move { waits.try_run(|| "a".to_owned(), CpuWork::Tools, LARGE, || 1).await });
        waiting(&slots, 1).await;
        assert_eq!(slots.try_run(|| "b".to_owned(), CpuWork::Tools, LARGE, || 2).await, Err(Overloaded));
        assert_eq!(slots.try_run(|| "b".to_owned(), CpuWork::Tools, 10, || 3).await, Ok(3));
        assert_eq!(slots.metrics.turns_shed.get(), 1);
        drop(taken);
        assert_eq!(second.await.unwrap(), Ok(1));
    }
}
