//! Pace of a request body: the time limits that follow from what has arrived.

use std::time::Duration;

use crate::http::body_fault::BodyFault;

/// Minimum rate in bytes per second, averaged over each [`WINDOW_TIMEOUTS`] read timeouts.
const MIN_RATE: u64 = 1024;

/// Rate in bytes per second that determines the time limit of a whole body: slower than the slowest mobile connections. A
/// body that holds memory which others need is ended at a higher rate.
const EXPECTED_RATE: u64 = 8 * 1024;

/// Length of the window of [`MIN_RATE`], and time that each body has in addition to that of its length, in read
/// timeouts. A body that stops arriving reaches its read timeout first.
const WINDOW_TIMEOUTS: u32 = 2;

/// Pace of one body. Time counts while a reader waits for bytes: a slow upstream is not the client's fault.
#[derive(Debug)]
pub(super) struct BodyPace {
    timeout: Duration,
    /// Declared length, or the largest accepted one.
    length: u64,
    received: u64,
    waited: Duration,
    /// Value of `waited` at the end of the current window.
    window_end: Duration,
    /// Value of `received` at the start of the current window.
    window_begin: u64,
}

impl BodyPace {
    pub(super) fn new(timeout: Duration, length: u64) -> Self {
        let window_end = timeout * WINDOW_TIMEOUTS;
        Self { timeout, length, received: 0, waited: Duration::ZERO, window_end, window_begin: 0 }
    }

    /// Records that bytes have arrived.
    pub(super) fn received(&mut self, bytes: usize) {
        self.received = self.received.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
    }

    /// Records that a reader has waited for bytes.
    pub(super) fn waited(&mut self, time: Duration) {
        self.waited += time;
    }

    /// Returns the time after which [`Self::fault`] must be called if no byte arrives in a wait that begins now.
    pub(super) fn patience(&self) -> Duration {
        self.timeout.min(self.window_end.min(self.limit()).saturating_sub(self.waited))
    }

    /// Returns the fault of the body after a reader has waited for this long, and still waits.
    pub(super) fn fault(&mut self, waiting: Duration) -> Option<BodyFault> {
        let waited = self.waited + waiting;
        if waiting >= self.timeout {
            return Some(BodyFault::Stalled { seconds: self.timeout.as_secs() });
        }
        if waited >= self.limit() {
            return Some(BodyFault::TooSlow);
        }
        if waited >= self.window_end {
            let window = self.timeout * WINDOW_TIMEOUTS;
            if self.received - self.window_begin < MIN_RATE * window.as_secs() {
                return Some(BodyFault::TooSlow);
            }
            self.window_begin = self.received;
            self.window_end = waited + window;
        }
        None
    }

    /// Maximum time for the whole body. A body of unknown length that keeps the expected rate has no end.
    fn limit(&self) -> Duration {
        self.timeout * WINDOW_TIMEOUTS + Duration::from_secs(self.length.max(self.received) / EXPECTED_RATE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const MIB: u64 = 1024 * 1024;

    /// Sends `bytes` every `pause` for at most an hour. Returns the fault of the body and its time.
    fn sent(pace: &mut BodyPace, bytes: usize, pause: Duration) -> Option<(BodyFault, Duration)> {
        let mut time = Duration::ZERO;
        while time < SECOND * 3_600 {
            loop {
                let patience = pace.patience();
                if patience > pause {
                    break;
                }
                if let Some(fault) = pace.fault(patience) {
                    return Some((fault, time + patience));
                }
            }
            time += pause;
            pace.waited(pause);
            pace.received(bytes);
        }
        None
    }

    #[test]
    fn a_body_without_a_byte_is_stalled_before_it_is_slow() {
        let mut pace = BodyPace::new(SECOND * 30, MIB);
        assert_eq!(pace.patience(), SECOND * 30);
        assert_eq!(pace.fault(SECOND * 29), None);
        assert_eq!(pace.fault(SECOND * 30), Some(BodyFault::Stalled { seconds: 30 }));
    }

    #[test]
    fn a_trickle_behind_a_fast_beginning_ends_with_its_window() {
        let mut pace = BodyPace::new(SECOND * 30, 32 * MIB);
        pace.received(28 * 1024 * 1024);
        // The first window has the beginning.
        let ended = sent(&mut pace, 1, SECOND * 10);
        assert_eq!(ended, Some((BodyFault::TooSlow, SECOND * 120)));
    }

    #[test]
    fn the_whole_body_has_a_time_limit_by_its_length() {
        let mut pace = BodyPace::new(SECOND * 30, MIB);
        let ended = sent(&mut pace, 2_048, SECOND);
        assert_eq!(ended, Some((BodyFault::TooSlow, SECOND * (60 + 128))));
        let mut pace = BodyPace::new(SECOND * 30, MIB);
        assert_eq!(sent(&mut pace, 64 * 1024, SECOND), None, "longer than declared, and fast");
    }
}
