//! State of a connection, from which its timeout follows.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use axum::http::Version;
use tokio::time::Instant;

use super::response_body::StreamBody;
use super::{ConnectionSlot, Timeouts};
use callwright_telemetry::labels::{CloseReason, ConnectionState};

/// Activity of one connection, shared by its socket, its requests and the task that watches its timeouts.
#[derive(Debug)]
pub(super) struct Activity {
    state: Mutex<(Phase, Writes)>,
    /// Bodies of the concurrent responses of an HTTP/2 connection.
    streams: Mutex<Vec<Weak<Mutex<StreamBody>>>>,
    slot: ConnectionSlot,
}

/// Rate in bytes per second at which a client that reads keeps its connection. The client's system
/// announces room only when a part of its receive buffer is free, 64 to 150 kB over loopback.
const LEAST_BYTES_PER_SECOND: u32 = 512;

/// Multiple of the write timeout that a client which reads can save up for the next wait.
const MAX_SAVED_TIMEOUTS: u32 = 3;

/// Length of a wait after which accepted bytes prove that the client reads. Before it, they may only fill buffers.
const STALL: Duration = Duration::from_secs(20);

/// Progress of the writes of a connection.
#[derive(Debug, Clone, Copy)]
struct Writes {
    /// Time since which a write waits for the client.
    waiting: Option<Instant>,
    /// Time at which the last write that waited went on.
    resumed: Option<Instant>,
    /// Whether a write has continued after a wait of [`STALL`].
    has_stalled: bool,
    /// Time that writes may still wait.
    left: Duration,
}

impl Writes {
    fn wait(&mut self, now: Instant, timeout: Duration, accepted: u64) {
        let most = timeout.saturating_mul(if self.has_stalled { MAX_SAVED_TIMEOUTS } else { 1 });
        self.left = self.left.saturating_add(Duration::from_secs(accepted) / LEAST_BYTES_PER_SECOND).min(most);
        self.waiting = Some(now);
    }

    fn resume(&mut self, now: Instant) {
        let waited = self.waiting.take().map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        self.left = self.left.saturating_sub(waited);
        self.has_stalled |= waited >= STALL;
        self.resumed = Some(now);
    }
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    /// No request has arrived yet.
    Opening(Instant),
    /// No request since this time. HTTP/2 frames that belong to no request may arrive.
    Idle { since: Instant, is_http2: bool },
    /// The first byte of another request's header section arrived at this time.
    Head(Instant),
    /// This many requests are in progress.
    Active { requests: u32, is_http2: bool },
}

/// A request in progress; dropping it ends the request.
#[derive(Debug)]
pub(super) struct InProgress(Arc<Activity>);

impl Activity {
    pub(super) fn new(slot: ConnectionSlot) -> Arc<Self> {
        let left = slot.connections.timeouts.write;
        Arc::new(Self {
            state: Mutex::new((
                Phase::Opening(Instant::now()),
                Writes { waiting: None, resumed: None, has_stalled: false, left },
            )),
            streams: Mutex::default(),
            slot,
        })
    }

    fn state(&self) -> MutexGuard<'_, (Phase, Writes)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn streams(&self) -> MutexGuard<'_, Vec<Weak<Mutex<StreamBody>>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a write waits for the client, which has accepted this many bytes since the last wait.
    pub(super) fn write_waits(&self, accepted: u64) {
        self.state().1.wait(Instant::now(), self.slot.connections.timeouts.write, accepted);
    }

    /// Records that a write that waited goes on.
    pub(super) fn write_resumes(&self) {
        self.state().1.resume(Instant::now());
    }

    /// Ends the concurrent responses whose client has accepted nothing for `limit`. Returns their number.
    pub(super) fn end_slow_streams(&self, now: Instant, limit: Duration) -> usize {
        let mut streams = self.streams();
        streams.retain(|stream| stream.strong_count() > 0);
        streams.iter().filter(|stream| StreamBody::end_if_slow(stream, now, limit)).count()
    }

    /// Records that bytes have arrived.
    pub(super) fn received(&self) {
        let phase = &mut self.state().0;
        // HTTP/2 control frames do not begin a request's header section.
        if let Phase::Idle { is_http2: false, .. } = *phase {
            *phase = Phase::Head(Instant::now());
        }
    }

    /// Records that a request has arrived.
    pub(super) fn begin(self: &Arc<Self>, version: Version) -> InProgress {
        let phase = &mut self.state().0;
        let requests = match *phase {
            Phase::Active { requests, .. } => requests,
            _ => {
                self.slot.moved(ConnectionState::Idle, ConnectionState::Active);
                0
            }
        };
        *phase = Phase::Active { requests: requests + 1, is_http2: version == Version::HTTP_2 };
        InProgress(Arc::clone(self))
    }

    fn end(&self) {
        let phase = &mut self.state().0;
        if let Phase::Active { requests, is_http2 } = *phase {
            *phase = match requests {
                0 | 1 => {
                    self.slot.moved(ConnectionState::Active, ConnectionState::Idle);
                    Phase::Idle { since: Instant::now(), is_http2 }
                }
                _ => Phase::Active { requests: requests - 1, is_http2 },
            };
        }
    }

    /// Whether the connection waits for the rest of a header section, and for nothing else.
    pub(super) fn is_receiving_head(&self) -> bool {
        let (phase, writes) = *self.state();
        matches!(phase, Phase::Opening(_) | Phase::Head(_)) && writes.waiting.is_none()
    }

    /// Returns the time of the next timeout check. A waiting write precedes the other timeouts: the connection of a request
    /// that was answered is not idle before its client has the answer.
    ///
    /// # Errors
    /// The reason to close the connection now.
    pub(super) fn next_deadline(&self, now: Instant, timeouts: &Timeouts) -> Result<Instant, CloseReason> {
        let (phase, writes) = *self.state();
        let (deadline, reason) = match (writes.waiting, phase) {
            (Some(since), _) => (since + writes.left, CloseReason::SlowReader),
            (None, Phase::Opening(since) | Phase::Head(since)) => (since + timeouts.header, CloseReason::HeaderTimeout),
            (None, Phase::Idle { since, .. }) => {
                (writes.resumed.map_or(since, |at| since.max(at)) + timeouts.idle, CloseReason::Idle)
            }
            (None, Phase::Active { .. }) => (now + timeouts.step(), CloseReason::Idle),
        };
        if deadline <= now {
            return Err(reason);
        }
        // The phase, and with it the timeout, may change in the meantime.
        Ok(deadline.min(now + timeouts.step()))
    }
}

impl InProgress {
    /// Watches the body of a response of an HTTP/2 connection.
    pub(super) fn watch(&self, stream: &Arc<Mutex<StreamBody>>) {
        let mut streams = self.0.streams();
        if streams.len() == streams.capacity() {
            streams.retain(|stream| stream.strong_count() > 0);
        }
        streams.push(Arc::downgrade(stream));
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        self.0.end();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{ConnectionAdmission, Connections};
    use super::*;
    use crate::http::Settings;
    use callwright_telemetry::Metrics;
    use callwright_telemetry::labels::Listener;

    const SECOND: Duration = Duration::from_secs(1);

    fn activity() -> (Arc<Activity>, Timeouts) {
        let settings = Settings {
            header_timeout_seconds: 10,
            idle_timeout_seconds: 60,
            write_timeout_seconds: 30,
            ..Settings::default()
        };
        let connections = Connections::new(Listener::Client, &settings, Arc::new(Metrics::new()));
        let timeouts = connections.timeouts;
        let ConnectionAdmission::Served(slot) = connections.admit() else { panic!("there is room") };
        (Activity::new(slot), timeouts)
    }

    #[test]
    fn each_phase_has_its_timeout() {
        let (activity, timeouts) = activity();
        let overdue = |seconds: u32| activity.next_deadline(Instant::now() + SECOND * seconds, &timeouts).err();
        assert_eq!((overdue(8), overdue(11)), (None, Some(CloseReason::HeaderTimeout)), "nothing arrived");
        let (one, other) = (activity.begin(Version::HTTP_11), activity.begin(Version::HTTP_11));
        drop(one);
        assert_eq!(overdue(1_000), None, "a request is in progress");
        drop(other);
        assert_eq!((overdue(58), overdue(61)), (None, Some(CloseReason::Idle)));
        activity.received();
        assert_eq!((overdue(8), overdue(11)), (None, Some(CloseReason::HeaderTimeout)), "a header section began");
    }

    #[test]
    fn frames_of_http2_do_not_begin_a_header_section() {
        let (activity, timeouts) = activity();
        drop(activity.begin(Version::HTTP_2));
        activity.received();
        let overdue = |seconds: u32| activity.next_deadline(Instant::now() + SECOND * seconds, &timeouts).err();
        assert_eq!((overdue(58), overdue(61)), (None, Some(CloseReason::Idle)));
    }

    #[test]
    fn a_write_that_waits_has_its_own_timeout() {
        let (activity, timeouts) = activity();
        let overdue = |seconds: u32| activity.next_deadline(Instant::now() + SECOND * seconds, &timeouts).err();
        let request = activity.begin(Version::HTTP_11);
        activity.write_waits(1 << 20);
        assert_eq!((overdue(28), overdue(31)), (None, Some(CloseReason::SlowReader)));
        drop(request);
        assert_eq!(overdue(31), Some(CloseReason::SlowReader), "the connection is not idle before the client has all");
        activity.write_resumes();
        assert_eq!((overdue(58), overdue(61)), (None, Some(CloseReason::Idle)));
    }

    #[test]
    fn a_client_saves_time_by_reading() {
        let (start, timeout) = (Instant::now(), 60 * SECOND);
        let left = |steps: &[(u32, u64)]| {
            let mut writes = Writes { waiting: None, resumed: None, has_stalled: false, left: timeout };
            let mut now = start;
            for (waited, accepted) in steps {
                writes.wait(now, timeout, *accepted);
                now += SECOND * *waited;
                writes.resume(now);
            }
            writes.left.as_secs()
        };
        assert_eq!(left(&[(5, 2_500_000), (50, 2_500_000)]), 10, "buffers are filled first");
        assert_eq!(left(&[(50, 0), (5, 100), (4, 100)]), 1, "a few bytes are no progress");
        assert_eq!(left(&[(50, 0), (100, 100_000), (100, 100_000)]), 80, "1 kB/s");
        assert_eq!(left(&[(20, 0), (0, 10_000_000)]), 180, "not without limit");
    }

    #[test]
    fn the_metrics_follow() {
        let (activity, _) = activity();
        let metrics = activity.slot.connections.metrics.clone();
        let gauge = |state: &str| format!("callwright_connections{{listener=\"client\",state=\"{state}\"}} 1");
        let request = activity.begin(Version::HTTP_11);
        assert!(metrics.render().contains(&gauge("active")));
        drop(request);
        assert!(metrics.render().contains(&gauge("idle")));
        drop(activity);
        assert!(!metrics.render().contains(&gauge("idle")) && !metrics.render().contains(&gauge("active")));
    }
}
