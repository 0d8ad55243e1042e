//! Log lines on their way to standard error.
//!
//! Each turn ends with a line, and a system call per line is a noticeable part of a turn. These lines wait up to
//! [`DELAY`], and all lines that wait are written by one call. Every other line is written at once, after the lines before
//! it. Lines that cannot be written, because a disk is full or the reader of a pipe is gone, are lost and counted: no turn
//! fails for them.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use callwright_common::limits::BUFFER_BYTES;
use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// Longest time that a line waits.
const DELAY: Duration = Duration::from_millis(50);

/// Lines of this process that could not be written.
static LOST: AtomicU64 = AtomicU64::new(0);

/// Returns the number of log lines of this process that could not be written.
pub(super) fn lost_lines() -> u64 {
    LOST.load(Ordering::Relaxed)
}

/// Keeps the delay of log lines. Dropping it writes the lines that wait; later ones are written at once.
#[derive(Debug)]
#[must_use = "log lines wait only as long as this is held"]
pub struct DelayedLines(Arc<Shared>);

/// Makes a writer for each line.
#[derive(Debug)]
pub(super) struct LogLines {
    shared: Arc<Shared>,
    /// Target of the lines that may wait, unless they are warnings or errors.
    frequent: &'static str,
}

/// Writer of one line.
#[derive(Debug)]
pub(super) struct LogLine<'l> {
    shared: &'l Shared,
    is_urgent: bool,
}

struct Shared {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    output: Mutex<Output>,
}

#[derive(Default)]
struct Waiting {
    lines: Vec<u8>,
    /// Whether no thread writes lines after their delay.
    has_ended: bool,
}

struct Output {
    writer: Box<dyn Write + Send>,
    /// Buffer that takes the place of the one whose lines are written.
    spare: Vec<u8>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl LogLines {
    /// Starts a thread that writes lines of the target `frequent` to `writer` after their delay. If the system starts no
    /// further thread, every line is written at once.
    pub(super) fn delayed(writer: impl Write + Send + 'static, frequent: &'static str) -> (Self, DelayedLines) {
        let output = Output { writer: Box::new(writer), spare: Vec::new() };
        let shared =
            Arc::new(Shared { waiting: Mutex::default(), changed: Condvar::new(), output: Mutex::new(output) });
        let writing = Arc::clone(&shared);
        if thread::Builder::new().name("callwright-logs".to_owned()).spawn(move || writing.write_delayed()).is_err() {
            lock(&shared.waiting).has_ended = true;
        }
        (Self { shared: Arc::clone(&shared), frequent }, DelayedLines(shared))
    }
}

impl Drop for DelayedLines {
    fn drop(&mut self) {
        lock(&self.0.waiting).has_ended = true;
        self.0.changed.notify_all();
        self.0.write_waiting();
    }
}

impl<'l> MakeWriter<'l> for LogLines {
    type Writer = LogLine<'l>;

    fn make_writer(&'l self) -> LogLine<'l> {
        LogLine { shared: &self.shared, is_urgent: true }
    }

    fn make_writer_for(&'l self, metadata: &Metadata<'_>) -> LogLine<'l> {
        let is_urgent = *metadata.level() <= Level::WARN || metadata.target() != self.frequent;
        LogLine { shared: &self.shared, is_urgent }
    }
}

impl Write for LogLine<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut waiting = lock(&self.shared.waiting);
        let is_first = waiting.lines.is_empty();
        waiting.lines.extend_from_slice(line);
        // The thread that logs beyond the bound writes all lines, so that a slow reader slows down logging instead of
        // filling memory.
        let must_write = self.is_urgent || waiting.has_ended || waiting.lines.len() >= BUFFER_BYTES;
        drop(waiting);
        if must_write {
            self.shared.write_waiting();
        } else if is_first {
            self.shared.changed.notify_one();
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.shared.write_waiting();
        Ok(())
    }
}

impl Shared {
    /// Writes all lines that wait. Lines of which a part cannot be written count as lost.
    fn write_waiting(&self) {
        // Held until the lines are written, so that no later line overtakes them.
        let mut output = lock(&self.output);
        let spare = std::mem::take(&mut output.spare);
        let mut lines = std::mem::replace(&mut lock(&self.waiting).lines, spare);
        if output.writer.write_all(&lines).and_then(|()| output.writer.flush()).is_err() {
            let count = memchr::memchr_iter(b'\n', &lines).count();
            LOST.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Ordering::Relaxed);
        }
        lines.clear();
        output.spare = lines;
    }

    fn write_delayed(&self) {
        loop {
            let waiting = lock(&self.waiting);
            let waiting = self.changed.wait_while(waiting, |waiting| waiting.lines.is_empty() && !waiting.has_ended);
            if waiting.unwrap_or_else(PoisonError::into_inner).has_ended {
                return;
            }
            thread::sleep(DELAY);
            self.write_waiting();
        }
    }
}

/// A panic while a lock is held leaves whole lines.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// Sends what each call of `write` got.
    struct Calls(Sender<String>);

    impl Write for Calls {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.0.send(String::from_utf8(bytes.to_vec()).unwrap());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logging(log: impl FnOnce()) -> (DelayedLines, Receiver<String>) {
        let (sender, calls) = channel();
        let (lines, delayed) = LogLines::delayed(Calls(sender), module_path!());
        let subscriber = tracing_subscriber::fmt().with_writer(lines).without_time().with_target(false);
        tracing::subscriber::with_default(subscriber.with_ansi(false).finish(), log);
        (delayed, calls)
    }

    #[test]
    fn lines_are_written_together_after_their_delay() {
        let (_delayed, calls) = logging(|| (0..3).for_each(|n| tracing::info!("line {n}")));
        let mut text = calls.recv().unwrap();
        while text.lines().count() < 3 {
            text.push_str(&calls.recv().unwrap());
        }
        assert_eq!(text, " INFO line 0\n INFO line 1\n INFO line 2\n");
    }

    #[test]
    fn warnings_and_rare_lines_are_written_at_once_in_order() {
        let (delayed, calls) = logging(|| {
            tracing::info!("first");
            tracing::warn!("second");
            tracing::info!("third");
            tracing::info!(target: "elsewhere", "fourth");
        });
        let written: String = calls.try_iter().collect();
        assert_eq!(written, " INFO first\n WARN second\n INFO third\n INFO fourth\n");
        drop(delayed);
        assert!(calls.try_iter().all(|call| call.is_empty()));
    }

    #[test]
    fn the_end_of_the_delay_writes_what_waits() {
        let (delayed, calls) = logging(|| tracing::info!("last"));
        drop(delayed);
        assert_eq!(calls.try_iter().collect::<String>(), " INFO last\n");
    }

    /// A full disk.
    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_that_cannot_be_written_are_counted() {
        let (lines, delayed) = LogLines::delayed(Full, module_path!());
        let before = lost_lines();
        let write = |text: &[u8]| LogLine { shared: &lines.shared, is_urgent: true }.write(text);
        assert_eq!(write(b"first\n").unwrap(), 6);
        assert_eq!(write(b"second\nthird\n").unwrap(), 13);
        assert!(lost_lines() - before >= 3);
        drop(delayed);
    }

    #[test]
    fn more_than_may_wait_is_written_by_the_thread_that_logs() {
        let long = "x".repeat(BUFFER_BYTES);
        let (_delayed, calls) = logging(|| tracing::info!("{long}"));
        assert!(calls.try_iter().map(|call| call.len()).sum::<usize>() > BUFFER_BYTES);
    }
}
