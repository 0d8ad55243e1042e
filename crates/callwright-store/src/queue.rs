//! Bounded queue between the turns and the store. A turn never waits for it; traces that do not fit are dropped and
//! counted.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::writer::{Backlog, TraceWriter};
use super::{Settings, TraceRow, Traces};
use callwright_types::Trace;

/// Queue of finished traces, and the task that writes them.
pub struct TraceQueue {
    /// `None` if the store is switched off: traces are discarded and do not count as dropped.
    sender: Option<mpsc::Sender<TraceRow>>,
    backlog: Arc<Backlog>,
    max_bytes: usize,
    closing: CancellationToken,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl TraceQueue {
    /// Starts the writer. A relative `spill_dir` is resolved against `base_dir`. `on_dropped` gets the number of traces
    /// at each loss. Requires a Tokio runtime.
    pub fn start(
        store: Arc<dyn Traces>,
        settings: &Settings,
        base_dir: &Path,
        on_dropped: impl Fn(u64) + Send + Sync + 'static,
    ) -> Self {
        let backlog = Arc::new(Backlog::new(on_dropped));
        let closing = CancellationToken::new();
        let (sender, receiver) = mpsc::channel(settings.queue_traces.max(1));
        let is_off = settings.url.expose().trim().is_empty();
        let writer = TraceWriter::new(store, settings, base_dir, receiver, Arc::clone(&backlog), closing.clone());
        let writer = (!is_off).then(|| tokio::spawn(writer.run()));
        Self {
            sender: (!is_off).then_some(sender),
            backlog,
            max_bytes: settings.queue_bytes,
            closing,
            writer: Mutex::new(writer),
        }
    }

    /// Enqueues a trace without waiting. If the queue is full, by number or by bytes, the trace is dropped and counted.
    pub fn push(&self, trace: &Trace) {
        let Some(sender) = &self.sender else { return };
        let Ok(row) = TraceRow::new(trace) else { return self.backlog.dropped(1) };
        let weight = row.weight();
        self.backlog.traces.fetch_add(1, Ordering::Relaxed);
        let bytes = self.backlog.bytes.fetch_add(weight, Ordering::Relaxed) + weight;
        if bytes > self.max_bytes || sender.try_send(row).is_err() {
            self.backlog.traces.fetch_sub(1, Ordering::Relaxed);
            self.backlog.bytes.fetch_sub(weight, Ordering::Relaxed);
            self.backlog.dropped(1);
        }
    }

    /// Returns the number of traces that wait to be written.
    pub fn waiting(&self) -> usize {
        self.backlog.traces.load(Ordering::Relaxed)
    }

    /// Returns the size of the traces on disk, in bytes.
    pub fn on_disk(&self) -> u64 {
        self.backlog.on_disk.load(Ordering::Relaxed)
    }

    /// Closes the queue and writes the waiting traces, for at most `within`. The rest is dropped and counted. Returns
    /// the number of dropped traces; 0 on a second call.
    pub async fn drain(&self, within: Duration) -> usize {
        self.closing.cancel();
        let Some(mut writer) = self.writer.lock().await.take() else { return 0 };
        if tokio::time::timeout(within, &mut writer).await.is_ok() {
            return 0;
        }
        writer.abort();
        let lost = self.waiting();
        self.backlog.dropped(lost);
        lost
    }
}

impl std::fmt::Debug for TraceQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TraceQueue").field("waiting", &self.waiting()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex as SyncMutex;
    use std::sync::atomic::AtomicU64;

    use futures_util::future::BoxFuture;
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::samples::{in_memory, trace};
    use crate::{Ages, LearnableTraces, Revision, StoreError, TraceFilter, TracePage};

    /// Scripted store.
    #[derive(Default)]
    struct Script {
        written: SyncMutex<Vec<Vec<String>>>,
        is_down: SyncMutex<bool>,
        expired: SyncMutex<Vec<Ages>>,
    }

    /// Id of a trace that the store always refuses.
    const POISON: &str = "poison";

    /// Id of a trace whose writing panics.
    const BROKEN: &str = "broken";

    impl Script {
        fn ids(&self) -> Vec<String> {
            self.written.lock().unwrap().concat()
        }
    }

    impl Traces for Script {
        fn append<'a>(&'a self, batch: &'a [TraceRow]) -> BoxFuture<'a, Result<(), StoreError>> {
            Box::pin(async move {
                if *self.is_down.lock().unwrap() {
                    return Err(StoreError::Unavailable("down".to_owned()));
                }
                assert!(batch.iter().all(|row| *row.id != *BROKEN), "a fault of the writer");
                if batch.iter().any(|row| *row.id == *POISON) {
                    return Err(StoreError::Refused("poison".to_owned()));
                }
                self.written.lock().unwrap().push(batch.iter().map(|row| row.id.to_string()).collect());
                Ok(())
            })
        }

        fn list<'a>(&'a self, _: &'a TraceFilter) -> BoxFuture<'a, Result<TracePage, StoreError>> {
            Box::pin(async { Ok(TracePage::default()) })
        }

        fn get<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<Trace>, StoreError>> {
            Box::pin(async { Ok(None) })
        }

        fn learnable(&self, after: Revision, _: u32) -> BoxFuture<'_, Result<LearnableTraces, StoreError>> {
            Box::pin(async move { Ok(LearnableTraces { traces: Vec::new(), upto: after }) })
        }

        fn expire(&self, ages: Ages, _: u32) -> BoxFuture<'_, Result<u64, StoreError>> {
            self.expired.lock().unwrap().push(ages);
            Box::pin(async { Ok(0) })
        }
    }

    struct Fixture {
        store: Arc<Script>,
        dropped: Arc<AtomicU64>,
        queue: TraceQueue,
    }

    fn start(settings: &Settings) -> Fixture {
        start_in(settings, Path::new(""))
    }

    fn start_in(settings: &Settings, directory: &Path) -> Fixture {
        let (store, dropped) = (Arc::new(Script::default()), Arc::new(AtomicU64::new(0)));
        let count = Arc::clone(&dropped);
        let on_dropped = move |traces| {
            count.fetch_add(traces, Ordering::Relaxed);
        };
        let queue = TraceQueue::start(store.clone(), settings, directory, on_dropped);
        Fixture { store, dropped, queue }
    }

    const PATIENCE: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn a_drained_queue_has_written_everything_in_ordered_batches() {
        let Fixture { store, dropped, queue } = start(&Settings { batch_traces: 10, ..in_memory() });
        let ids: Vec<String> = (0..95).map(|number| number.to_string()).collect();
        ids.iter().for_each(|id| queue.push(&trace(id, 1)));
        assert_eq!(queue.waiting(), 95);
        assert_eq!(queue.drain(PATIENCE).await, 0);
        assert_eq!(store.ids(), ids);
        assert!(store.written.lock().unwrap().iter().all(|batch| batch.len() <= 10));
        assert_eq!(store.written.lock().unwrap().len(), 10);
        assert_eq!((queue.waiting(), dropped.load(Ordering::Relaxed)), (0, 0));
    }

    #[tokio::test]
    async fn the_writer_restarts_after_a_panic_and_counts_the_losses() {
        let settings = Settings { batch_milliseconds: 0, ..in_memory() };
        let Fixture { store, dropped, queue } = start(&settings);
        queue.push(&trace(BROKEN, 1));
        while dropped.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
        queue.push(&trace("next", 1));
        while queue.waiting() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!((store.ids(), queue.waiting()), (vec!["next".to_owned()], 0));
        assert_eq!((dropped.load(Ordering::Relaxed), queue.drain(PATIENCE).await), (1, 0));
    }

    #[tokio::test]
    async fn traces_that_come_one_by_one_share_a_batch() {
        let Fixture { store, queue, .. } = start(&Settings { batch_milliseconds: 600_000, ..in_memory() });
        for id in ["a", "b", "c"] {
            queue.push(&trace(id, 1));
            tokio::task::yield_now().await;
        }
        assert!(store.ids().is_empty());
        // A shutdown does not wait for a full batch.
        queue.drain(PATIENCE).await;
        assert_eq!(*store.written.lock().unwrap(), [["a", "b", "c"]]);
    }

    #[tokio::test]
    async fn traces_in_an_outage_are_bounded_counted_and_written_later() {
        let settings = Settings { queue_traces: 10, batch_traces: 5, batch_milliseconds: 0, ..in_memory() };
        let Fixture { store, dropped, queue } = start(&settings);
        *store.is_down.lock().unwrap() = true;
        for number in 0..1_000 {
            queue.push(&trace(&number.to_string(), 1));
            tokio::task::yield_now().await;
        }
        let waiting = queue.waiting();
        assert!(waiting <= 15, "ten in the queue and a batch in the writer's hands, not {waiting}");
        assert_eq!(dropped.load(Ordering::Relaxed) as usize + waiting, 1_000);
        *store.is_down.lock().unwrap() = false;
        assert_eq!(queue.drain(PATIENCE).await, 0);
        assert_eq!(store.ids().len(), waiting);
    }

    #[tokio::test]
    async fn large_traces_are_bounded_by_their_bytes() {
        let Fixture { store, dropped, queue } = start(&Settings { queue_bytes: 100_000, ..in_memory() });
        *store.is_down.lock().unwrap() = true;
        for number in 0..100 {
            queue.push(&Trace { request: Some(json!("x".repeat(10_000))), ..trace(&number.to_string(), 1) });
        }
        assert!((5..10).contains(&queue.waiting()), "{}", queue.waiting());
        assert_eq!(dropped.load(Ordering::Relaxed) as usize + queue.waiting(), 100);
        *store.is_down.lock().unwrap() = false;
        queue.drain(PATIENCE).await;
        assert_eq!(queue.backlog.bytes.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn a_drain_ends_at_its_deadline_and_counts_what_is_lost() {
        let Fixture { store, dropped, queue } = start(&in_memory());
        *store.is_down.lock().unwrap() = true;
        (0..7).for_each(|number| queue.push(&trace(&number.to_string(), 1)));
        assert_eq!(queue.drain(Duration::from_millis(300)).await, 7);
        assert_eq!(dropped.load(Ordering::Relaxed), 7);
        queue.push(&trace("late", 1));
        assert_eq!(dropped.load(Ordering::Relaxed), 8);
        assert_eq!(queue.drain(PATIENCE).await, 0);
    }

    #[tokio::test]
    async fn a_refused_trace_does_not_affect_others() {
        let Fixture { store, dropped, queue } = start(&in_memory());
        for id in ["a", POISON, "b"] {
            queue.push(&trace(id, 1));
        }
        assert_eq!(queue.drain(PATIENCE).await, 0);
        assert_eq!(store.ids(), ["a", "b"]);
        assert_eq!((queue.waiting(), dropped.load(Ordering::Relaxed)), (0, 1));
    }

    #[tokio::test]
    async fn old_traces_are_removed_unless_retention_is_zero() {
        let Fixture { store, queue: _queue, .. } = start(&Settings { retention_days: 30, ..in_memory() });
        while store.expired.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let ages = store.expired.lock().unwrap()[0];
        assert_eq!(Timestamp::now().duration_since(ages.before.unwrap()).as_hours(), 30 * 24);
        assert_eq!(Timestamp::now().duration_since(ages.unknown_before.unwrap()).as_hours(), 365 * 24);
        let for_ever = Settings { retention_days: 0, unknown_retention_days: 0, ..in_memory() };
        let Fixture { store, queue, .. } = start(&for_ever);
        queue.push(&trace("a", 1));
        queue.drain(PATIENCE).await;
        assert!(store.expired.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn traces_without_a_store_are_discarded_and_not_lost() {
        let Fixture { store, dropped, queue } = start(&Settings { url: "".into(), ..in_memory() });
        queue.push(&trace("a", 1));
        assert_eq!((queue.waiting(), queue.drain(PATIENCE).await), (0, 0));
        assert_eq!((store.ids().len(), dropped.load(Ordering::Relaxed)), (0, 0));
    }

    /// Settings with a spill folder for times when the store is down.
    fn with_disk() -> Settings {
        Settings {
            url: "sqlite:a.sqlite3".into(),
            spill_dir: "spill".to_owned(),
            batch_traces: 5,
            batch_milliseconds: 0,
            retry_seconds: 1,
            ..in_memory()
        }
    }

    async fn wait_until(what: impl Fn() -> bool) {
        let waited = tokio::time::timeout(PATIENCE, async {
            while !what() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        waited.await.expect("condition not met in time");
    }

    #[tokio::test]
    async fn traces_in_an_outage_are_spilled_and_written_once_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let settings = Settings { queue_traces: 10, ..with_disk() };
        let Fixture { store, dropped, queue } = start_in(&settings, directory.path());
        *store.is_down.lock().unwrap() = true;
        let ids: Vec<String> = (0..200).map(|number| format!("{number:03}")).collect();
        for id in &ids {
            queue.push(&trace(id, 1));
            wait_until(|| queue.waiting() < 10).await;
        }
        wait_until(|| queue.waiting() == 0).await;
        assert!(queue.on_disk() > 0 && store.ids().is_empty());
        *store.is_down.lock().unwrap() = false;
        wait_until(|| queue.on_disk() == 0).await;
        queue.push(&trace("later", 1));
        assert_eq!(queue.drain(PATIENCE).await, 0);
        assert_eq!(store.ids(), [&ids[..], &["later".to_owned()]].concat());
        assert_eq!(dropped.load(Ordering::Relaxed), 0);
        assert_eq!(std::fs::read_dir(directory.path().join("spill")).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn traces_left_on_disk_are_written_by_the_next_process() {
        let directory = tempfile::tempdir().unwrap();
        let before = start_in(&with_disk(), directory.path());
        *before.store.is_down.lock().unwrap() = true;
        (0..7).for_each(|number| before.queue.push(&trace(&number.to_string(), 1)));
        assert_eq!(before.queue.drain(PATIENCE).await, 0, "they are on disk");
        let after = start_in(&with_disk(), directory.path());
        wait_until(|| after.store.ids().len() == 7).await;
        assert_eq!(after.store.ids(), ["0", "1", "2", "3", "4", "5", "6"]);
        assert_eq!(after.dropped.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn traces_beyond_the_disk_limit_queue_and_then_count_as_lost() {
        let directory = tempfile::tempdir().unwrap();
        let settings = Settings { queue_traces: 10, spill_bytes: 4_000, ..with_disk() };
        let Fixture { store, dropped, queue } = start_in(&settings, directory.path());
        *store.is_down.lock().unwrap() = true;
        for number in 0..100 {
            queue.push(&trace(&number.to_string(), 1));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let lost = dropped.load(Ordering::Relaxed);
        assert!(queue.on_disk() <= 4_000 && queue.on_disk() > 0 && lost > 0);
        *store.is_down.lock().unwrap() = false;
        wait_until(|| store.ids().len() as u64 == 100 - lost).await;
        assert_eq!(queue.drain(PATIENCE).await, 0);
        assert_eq!(dropped.load(Ordering::Relaxed), lost);
    }

    #[tokio::test]
    async fn an_unwritable_disk_loses_no_queued_trace() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("spill"), "a file").unwrap();
        let Fixture { store, dropped, queue } = start_in(&with_disk(), directory.path());
        *store.is_down.lock().unwrap() = true;
        (0..7).for_each(|number| queue.push(&trace(&number.to_string(), 1)));
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!((queue.waiting(), queue.on_disk()), (7, 0));
        *store.is_down.lock().unwrap() = false;
        assert_eq!(queue.drain(PATIENCE).await, 0);
        assert_eq!((store.ids().len(), dropped.load(Ordering::Relaxed)), (7, 0));
    }
}
