//! Parallel processing of batches, with the results in order and a bounded number of batches in memory.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Capacity of the queue before a worker, and of the queue after it.
const QUEUE: usize = 2;

/// Processes every batch of `source` in one of `workers` threads and passes its result to `sink`, in the order of
/// `source`.
///
/// Batches are dealt to the workers in rotation, and results are collected in the same rotation. Results therefore need
/// no numbers, and a slow batch delays only the queues behind it.
///
/// # Errors
/// The first error of `sink`; reading stops then.
pub(super) fn in_order<B: Send, R: Send, E>(
    workers: usize,
    source: impl Iterator<Item = B> + Send,
    work: impl Fn(B) -> R + Sync,
    mut sink: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    let work = &work;
    thread::scope(|scope| {
        let (entries, exits): (Vec<SyncSender<B>>, Vec<Receiver<R>>) = (0..workers.max(1))
            .map(|_| {
                let (entry, batches) = sync_channel::<B>(QUEUE);
                let (results, exit) = sync_channel::<R>(QUEUE);
                scope.spawn(move || {
                    for batch in batches {
                        if results.send(work(batch)).is_err() {
                            break;
                        }
                    }
                });
                (entry, exit)
            })
            .unzip();
        scope.spawn(move || {
            for (batch, entry) in source.zip(entries.iter().cycle()) {
                if entry.send(batch).is_err() {
                    break;
                }
            }
        });
        for exit in exits.iter().cycle() {
            // The next worker has ended without a result: there are no more batches.
            let Ok(result) = exit.recv() else { break };
            sink(result)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_batches() {
        for (workers, count) in [(0, 5), (1, 100), (2, 0), (3, 1), (3, 1000), (8, 3)] {
            let mut seen = Vec::new();
            let work = |number: usize| {
                if number.is_multiple_of(7) {
                    thread::yield_now();
                }
                number * 2
            };
            let ended = in_order(workers, 0..count, work, |result| {
                seen.push(result);
                Ok::<(), ()>(())
            });
            assert_eq!((ended, seen), (Ok(()), (0..count).map(|number| number * 2).collect()));
        }
    }

    #[test]
    fn an_error_of_the_sink_ends_an_endless_source() {
        let ended = in_order(2, 0.., |number| number, |number| if number == 10 { Err(number) } else { Ok(()) });
        assert_eq!(ended, Err(10));
    }

    #[test]
    fn no_more_than_the_queues_hold_is_read_ahead() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let read = AtomicUsize::new(0);
        let source = (0..1000).inspect(|_| {
            read.fetch_add(1, Ordering::SeqCst);
        });
        let mut written = 0;
        let ended = in_order(
            2,
            source,
            |number| number,
            |_| {
                written += 1;
                // Two workers, each with two queues and one batch in progress, plus one batch in the reader and one in
                // the writer.
                let ahead = read.load(Ordering::SeqCst) - written;
                if ahead <= 2 * (2 * QUEUE + 1) + 2 { Ok(()) } else { Err(ahead) }
            },
        );
        assert_eq!(ended, Ok(()));
    }
}
