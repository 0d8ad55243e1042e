//! Workers that serve client connections: runtimes with one thread each.
//!
//! A connection belongs to one worker from its start to its end. Its turns, their timers and the upstream connections that
//! they prefer are polled by one thread, so no turn waits for the queue of another thread or wakes one. Each connection
//! and each HTTP/2 request is assigned to the worker with the fewest of both. HTTP/2 requests are assigned separately
//! because one connection may carry all requests of a load balancer.
//!
//! One listener assigns the connections. With a listener per worker (`SO_REUSEPORT`) the system would assign them by a
//! hash, which leaves workers idle if clients keep few connections open for long, as agents do.
//!
//! After a peak each worker returns its free memory to the system, because the allocator does so only while the worker
//! goes on freeing.

use std::future::Future;
use std::io;
use std::iter;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use callwright_allocator::return_free_memory;
use futures_util::FutureExt;
use tokio::runtime::{Builder, Handle, Runtime};

/// Time between two looks at a worker's number of tasks.
const PEAK_CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// Number of times that memory is returned after a peak. What other threads free, and idle upstream connections, follow
/// some seconds after the tasks.
const ROUNDS_AFTER_PEAK: usize = 3;
/// Number of tasks whose memory is worth returning: some megabytes.
const PEAK_TASKS: usize = 64;

/// Threads of workers. Dropping them ends the workers without waiting for their tasks.
#[derive(Debug)]
pub struct WorkerThreads(Vec<Runtime>);

/// Assigns tasks to workers.
#[derive(Debug, Clone)]
pub struct Workers(Arc<[Worker]>);

#[derive(Debug)]
struct Worker {
    runtime: Handle,
    load: Arc<Load>,
}

/// Tasks of a worker.
#[derive(Debug, Default)]
struct Load {
    /// Number of tasks that are assigned and not complete.
    tasks: AtomicUsize,
    /// The largest number since memory was returned last.
    peak: AtomicUsize,
}

impl WorkerThreads {
    /// Starts workers. Their runtimes are multi-threaded ones with a single worker thread, so that long work can run in
    /// place while another thread polls the worker's other tasks ([`tokio::task::block_in_place`]).
    ///
    /// # Errors
    /// If the system starts no further thread.
    pub fn start(count: NonZeroUsize) -> io::Result<Self> {
        let worker =
            || Builder::new_multi_thread().worker_threads(1).thread_name("callwright-turns").enable_all().build();
        iter::repeat_with(worker).take(count.get()).collect::<io::Result<_>>().map(Self)
    }

    /// Returns the assigner of tasks to these workers.
    pub fn workers(&self) -> Workers {
        let workers = Workers::of(self.0.iter().map(|runtime| runtime.handle().clone()));
        for worker in workers.0.iter() {
            worker.runtime.spawn(return_memory(Arc::clone(&worker.load)));
        }
        workers
    }
}

impl Drop for WorkerThreads {
    fn drop(&mut self) {
        self.0.drain(..).for_each(Runtime::shutdown_background);
    }
}

impl Workers {
    /// Assigns all tasks to the current runtime.
    pub fn current() -> Self {
        Self::of(iter::once(Handle::current()))
    }

    fn of(runtimes: impl Iterator<Item = Handle>) -> Self {
        Self(runtimes.map(|runtime| Worker { runtime, load: Arc::default() }).collect())
    }

    /// Runs a connection on the worker with the fewest tasks. The worker itself creates the connection's task, because
    /// allocators keep memory that another thread frees for long.
    pub(super) fn run<F>(&self, connection: impl FnOnce() -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        if let Some((runtime, assigned)) = self.assign() {
            runtime.spawn(async move {
                tokio::spawn(connection().map(move |()| drop(assigned)));
            });
        }
    }

    /// Returns the worker with the fewest tasks.
    fn assign(&self) -> Option<(&Handle, Assigned)> {
        let worker = self.0.iter().min_by_key(|worker| worker.load.tasks.load(Ordering::Relaxed))?;
        Some((&worker.runtime, Assigned::to(worker)))
    }
}

/// Runs the requests of HTTP/2 connections.
impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Workers {
    fn execute(&self, request: F) {
        if let Some((runtime, assigned)) = self.assign() {
            runtime.spawn(request.map(move |()| drop(assigned)));
        }
    }
}

/// A task that its worker counts.
struct Assigned(Arc<Load>);

impl Assigned {
    fn to(worker: &Worker) -> Self {
        let tasks = worker.load.tasks.fetch_add(1, Ordering::Relaxed) + 1;
        worker.load.peak.fetch_max(tasks, Ordering::Relaxed);
        Self(Arc::clone(&worker.load))
    }
}

impl Drop for Assigned {
    fn drop(&mut self) {
        self.0.tasks.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Load {
    /// Returns whether at least half of the tasks of a peak have ended, and starts a new peak if so.
    fn has_passed_peak(&self) -> bool {
        let tasks = self.tasks.load(Ordering::Relaxed);
        let ended = self.peak.load(Ordering::Relaxed).saturating_sub(tasks);
        let has_passed = ended >= PEAK_TASKS.max(tasks);
        if has_passed {
            self.peak.store(tasks, Ordering::Relaxed);
        }
        has_passed
    }
}

/// Returns the memory of the thread that polls this, after each peak. A peak has passed once half of its tasks have ended,
/// so a load that rises and falls a little never returns memory that it needs again.
async fn return_memory(load: Arc<Load>) {
    let mut rounds = 0;
    loop {
        tokio::time::sleep(PEAK_CHECK_INTERVAL).await;
        if load.has_passed_peak() {
            rounds = ROUNDS_AFTER_PEAK;
        }
        if rounds > 0 {
            rounds -= 1;
            return_free_memory();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::sync::{mpsc, oneshot};

    use super::*;

    fn threads(count: usize) -> WorkerThreads {
        WorkerThreads::start(NonZeroUsize::new(count).unwrap()).unwrap()
    }

    #[tokio::test]
    async fn tasks_go_to_the_worker_with_the_fewest() {
        let threads = threads(3);
        let workers = threads.workers();
        let (sender, mut runtimes) = mpsc::unbounded_channel();
        let (end, ended) = oneshot::channel::<()>();
        let report = sender.clone();
        workers.run(async move || {
            report.send(Handle::current().id()).unwrap();
            let _ = ended.await;
        });
        let ending = runtimes.recv().await.unwrap();
        let mut used = vec![ending];
        for _ in 1..9 {
            let report = sender.clone();
            workers.run(async move || {
                report.send(Handle::current().id()).unwrap();
                pending::<()>().await;
            });
            used.push(runtimes.recv().await.unwrap());
        }
        for runtime in used.clone() {
            assert_eq!(used.iter().filter(|other| **other == runtime).count(), 3, "of {used:?}");
        }
        end.send(()).unwrap();
        while workers.0.iter().map(|worker| worker.load.tasks.load(Ordering::Relaxed)).sum::<usize>() > 8 {
            tokio::task::yield_now().await;
        }
        workers.run(async move || sender.send(Handle::current().id()).unwrap());
        assert_eq!(runtimes.recv().await, Some(ending), "its worker has the fewest");
    }

    #[test]
    fn a_peak_has_passed_once_half_of_it_and_enough_tasks_ended() {
        let load = Load::default();
        let set = |tasks| {
            load.peak.fetch_max(tasks, Ordering::Relaxed);
            load.tasks.store(tasks, Ordering::Relaxed);
        };
        let steps = [(1000, false), (501, false), (500, true), (500, false), (249, true), (200, false), (0, true)];
        for (tasks, has_passed) in steps {
            set(tasks);
            assert_eq!(load.has_passed_peak(), has_passed, "with {tasks} tasks");
        }
        set(PEAK_TASKS - 1);
        set(0);
        assert!(!load.has_passed_peak(), "few tasks are not worth it");
    }

    #[tokio::test]
    async fn long_work_does_not_stop_the_worker() {
        let threads = threads(1);
        let workers = threads.workers();
        let (go, gone) = std::sync::mpsc::channel::<()>();
        let (sender, answered) = oneshot::channel();
        workers.run(async move || tokio::task::block_in_place(|| gone.recv().unwrap()));
        workers.run(async move || sender.send(()).unwrap());
        answered.await.unwrap();
        go.send(()).unwrap();
    }

    #[tokio::test]
    async fn dropped_threads_end_their_tasks() {
        let threads = threads(2);
        let workers = threads.workers();
        let (sender, ended) = oneshot::channel::<()>();
        workers.run(async move || {
            let _sender = sender;
            pending::<()>().await;
        });
        drop(threads);
        assert!(ended.await.is_err());
    }
}
