//! Idle connections of a pool.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use hyper::client::conn::http2;
use tokio::runtime::Handle;
use tokio::time::sleep;

use super::http1::Http1Connection;
use crate::body::RequestBody;

/// Interval at which idle connections are checked: expired ones, and those that the server has closed, are closed.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// Connection that can send a request.
#[derive(Debug)]
pub(super) enum PooledConnection {
    /// For one request at a time.
    Http1(Box<Http1Connection>),
    /// Shared by concurrent requests.
    Http2(Http2Connection),
}

/// Connection for concurrent requests.
#[derive(Debug, Clone)]
pub(super) struct Http2Connection {
    pub(super) sender: http2::SendRequest<RequestBody>,
    /// Number that identifies it among the connections of the pool.
    pub(super) number: u64,
}

/// Connections that wait for requests.
pub(super) struct IdleConnections {
    connections: Mutex<Connections>,
    max: usize,
    timeout: Duration,
}

#[derive(Default)]
struct Connections {
    /// Oldest first.
    http1: Vec<Idle<Box<Http1Connection>>>,
    http2: Option<Idle<Http2Connection>>,
    /// Number of HTTP/2 connections so far.
    http2_count: u64,
    /// Whether a task sweeps.
    is_swept: bool,
}

struct Idle<T> {
    connection: T,
    since: Instant,
}

impl<T> Idle<T> {
    fn new(connection: T) -> Self {
        Self { connection, since: Instant::now() }
    }
}

impl IdleConnections {
    /// Creates a list of at most `max` connections, each for at most `timeout`.
    pub(super) fn new(max: usize, timeout: Duration) -> Self {
        Self { connections: Mutex::default(), max, timeout }
    }

    /// Takes the connection that was used last, of those that the current runtime opened if there are any.
    pub(super) fn take(&self) -> Option<PooledConnection> {
        loop {
            let mut connections = self.lock();
            self.close_unusable_http2(&mut connections);
            if let Some(shared) = &mut connections.http2 {
                shared.since = Instant::now();
                return Some(PooledConnection::Http2(shared.connection.clone()));
            }
            let mut idle = connections.take_http1()?;
            drop(connections);
            if self.is_usable(&mut idle) {
                return Some(PooledConnection::Http1(idle.connection));
            }
        }
    }

    /// Keeps a connection, or closes it if there are enough.
    pub(super) fn put(self: &Arc<Self>, connection: Box<Http1Connection>) {
        let mut connections = self.lock();
        if connections.http1.len() < self.max {
            connections.http1.push(Idle::new(connection));
            self.start_sweep(&mut connections);
        }
    }

    /// Keeps a connection for concurrent requests, instead of an earlier one.
    pub(super) fn share(self: &Arc<Self>, sender: http2::SendRequest<RequestBody>) -> Http2Connection {
        let mut connections = self.lock();
        connections.http2_count += 1;
        let connection = Http2Connection { sender, number: connections.http2_count };
        if self.max > 0 {
            connections.http2 = Some(Idle::new(connection.clone()));
            self.start_sweep(&mut connections);
        }
        connection
    }

    /// Stops sharing a connection on which the server accepts no further requests.
    pub(super) fn retire(&self, number: u64) {
        self.lock().http2.take_if(|shared| shared.connection.number == number);
    }

    /// Closes the connections for one request at a time.
    pub(super) fn close_http1(&self) {
        self.lock().http1.clear();
    }

    fn start_sweep(self: &Arc<Self>, connections: &mut Connections) {
        if connections.is_swept {
            return;
        }
        // A body may be dropped after its runtime.
        if let Ok(runtime) = Handle::try_current() {
            connections.is_swept = true;
            runtime.spawn(sweep(Arc::downgrade(self)));
        }
    }

    /// Closes unusable connections. Returns whether others remain.
    pub(super) fn sweep(&self) -> bool {
        let mut connections = self.lock();
        connections.http1.retain_mut(|idle| self.is_usable(idle));
        self.close_unusable_http2(&mut connections);
        connections.is_swept = !connections.http1.is_empty() || connections.http2.is_some();
        connections.is_swept
    }

    fn is_usable(&self, idle: &mut Idle<Box<Http1Connection>>) -> bool {
        let elapsed = idle.since.elapsed();
        elapsed < self.timeout && !idle.connection.may_end(elapsed) && idle.connection.is_reusable()
    }

    fn close_unusable_http2(&self, connections: &mut Connections) {
        connections
            .http2
            .take_if(|shared| shared.connection.sender.is_closed() || shared.since.elapsed() >= self.timeout);
    }

    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connections {
    fn take_http1(&mut self) -> Option<Idle<Box<Http1Connection>>> {
        let current = Handle::try_current().ok()?.id();
        match self.http1.iter().rposition(|idle| idle.connection.runtime() == current) {
            Some(index) => Some(self.http1.remove(index)),
            None => self.http1.pop(),
        }
    }
}

/// Sweeps until no connection is idle.
async fn sweep(idle: Weak<IdleConnections>) {
    loop {
        sleep(SWEEP_INTERVAL).await;
        if !idle.upgrade().is_some_and(|idle| idle.sweep()) {
            return;
        }
    }
}

impl fmt::Debug for IdleConnections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdleConnections")
            .field("max", &self.max)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
