//! Connections of a listener: limits, timeouts and counters.

mod accept;
mod activity;
mod body_pace;
mod connection;
pub(in crate::http) mod descriptors;
mod request_body;
mod response_body;
mod watched_io;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Settings;
use callwright_telemetry::Metrics;
use callwright_telemetry::labels::{CloseReason, ConnectionRefusal, ConnectionState, Listener};

pub(super) use accept::accept_until_end;
pub use connection::Serving;

/// Maximum time for the acknowledgement of a PING frame: longer than any round trip, and shorter than the idle timeouts
/// of load balancers.
const MAX_PING_ANSWER: Duration = Duration::from_secs(20);

/// Time limit for the last bytes of a connection that is idle or refused, or without a complete request when the process
/// ends, and of a request whose body is refused.
pub(super) const CLOSING_TIME: Duration = Duration::from_secs(2);

/// Maximum number of open connections of the operator side: consoles, scrapers and probes need a few.
const OPERATOR_CONNECTIONS: usize = 64;

/// Number of concurrent connections over the limit that get status 503; further ones are closed without a response.
const REFUSALS_AT_A_TIME: usize = 32;

/// Connections of one listener.
#[derive(Debug)]
pub struct Connections {
    side: Listener,
    timeouts: Timeouts,
    open: Arc<Semaphore>,
    refusing: Arc<Semaphore>,
    metrics: Arc<Metrics>,
}

/// Time limits of a connection.
#[derive(Debug, Clone, Copy)]
struct Timeouts {
    header: Duration,
    body: Duration,
    /// Size in bytes of the largest body, which bounds the time for a body of unknown length.
    longest_body: u64,
    write: Duration,
    idle: Duration,
    ping: Option<Duration>,
    ping_answer: Duration,
}

impl Timeouts {
    /// Returns the time between two timeout checks.
    fn step(&self) -> Duration {
        self.header.min(self.idle).min(self.write)
    }
}

/// Decision about a new connection.
enum ConnectionAdmission {
    Served(ConnectionSlot),
    /// The connection gets status 503.
    Refused(OwnedSemaphorePermit),
    Closed,
}

impl Connections {
    /// Creates the limits and counters of a listener's connections.
    pub fn new(side: Listener, settings: &Settings, metrics: Arc<Metrics>) -> Arc<Self> {
        let limit = match side {
            Listener::Client => settings.client_connections().min(Semaphore::MAX_PERMITS),
            Listener::Operator => OPERATOR_CONNECTIONS,
        };
        let timeouts = Timeouts {
            header: Duration::from_secs(settings.header_timeout_seconds),
            body: Duration::from_secs(settings.body_timeout_seconds),
            longest_body: u64::try_from(settings.body_limit_bytes).unwrap_or(u64::MAX),
            write: Duration::from_secs(settings.write_timeout_seconds),
            idle: Duration::from_secs(settings.idle_timeout_seconds),
            ping: (settings.http2_ping_seconds > 0).then(|| Duration::from_secs(settings.http2_ping_seconds)),
            ping_answer: Duration::from_secs(settings.http2_ping_seconds.max(1)).min(MAX_PING_ANSWER),
        };
        let (open, refusing) = (Arc::new(Semaphore::new(limit)), Arc::new(Semaphore::new(REFUSALS_AT_A_TIME)));
        Arc::new(Self { side, timeouts, open, refusing, metrics })
    }

    /// Decides about a newly accepted connection; counts a refused one.
    fn admit(self: &Arc<Self>) -> ConnectionAdmission {
        if let Ok(permit) = Arc::clone(&self.open).try_acquire_owned() {
            return ConnectionAdmission::Served(ConnectionSlot::new(Arc::clone(self), permit));
        }
        self.metrics.connections_refused.inc(self.side, ConnectionRefusal::Limit);
        match Arc::clone(&self.refusing).try_acquire_owned() {
            Ok(permit) => ConnectionAdmission::Refused(permit),
            Err(_) => ConnectionAdmission::Closed,
        }
    }

    fn closed(&self, reason: CloseReason) {
        self.metrics.connections_closed.inc(self.side, reason);
    }

    fn count(&self, state: ConnectionState, change: i64) {
        self.metrics.connections.add(self.side, state, change);
    }
}

/// Slot of an open connection under the limit, counted in the metrics.
#[derive(Debug)]
struct ConnectionSlot {
    connections: Arc<Connections>,
    _permit: OwnedSemaphorePermit,
}

impl ConnectionSlot {
    fn new(connections: Arc<Connections>, permit: OwnedSemaphorePermit) -> Self {
        connections.count(ConnectionState::Idle, 1);
        Self { connections, _permit: permit }
    }

    fn moved(&self, from: ConnectionState, to: ConnectionState) {
        self.connections.count(from, -1);
        self.connections.count(to, 1);
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.connections.count(ConnectionState::Idle, -1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(max_connections: usize) -> Arc<Connections> {
        let settings = Settings { max_connections, ..Settings::default() };
        Connections::new(Listener::Client, &settings, Arc::new(Metrics::new()))
    }

    #[test]
    fn beyond_the_limit_so_many_are_answered_and_the_others_closed() {
        let connections = connections(1);
        let ConnectionAdmission::Served(first) = connections.admit() else { panic!("the first is served") };
        let mut refused = Vec::new();
        for _ in 0..REFUSALS_AT_A_TIME {
            let ConnectionAdmission::Refused(permit) = connections.admit() else { panic!("the next are answered") };
            refused.push(permit);
        }
        assert!(matches!(connections.admit(), ConnectionAdmission::Closed));
        let text = connections.metrics.render();
        assert!(text.contains("callwright_connections{listener=\"client\",state=\"idle\"} 1"), "{text}");
        assert!(
            text.contains("callwright_connections_refused_total{listener=\"client\",reason=\"limit\"} 33"),
            "{text}"
        );
        drop(first);
        assert!(matches!(connections.admit(), ConnectionAdmission::Served(_)));
        let text = connections.metrics.render();
        assert!(text.contains("callwright_connections{listener=\"client\",state=\"idle\"} 0"), "{text}");
    }
}
