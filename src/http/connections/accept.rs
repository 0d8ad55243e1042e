//! Acceptance of connections, even if the process has no file descriptor left.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use super::ConnectionAdmission;
use super::connection::Serving;
use callwright_telemetry::labels::{ConnectionRefusal, Label, Listener};

/// Pause after an accept error that does not concern a single connection.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(100);

/// Minimum time between two log lines about accept errors.
const LOG_PERIOD: Duration = Duration::from_secs(10);

/// File behind reserved descriptors.
const SPARE_FILE: &str = "/dev/null";

/// `EMFILE` and `ENFILE`: the process or the system has no descriptor left. The numbers are the same on every Unix.
const NO_DESCRIPTORS: [i32; 2] = [24, 23];

/// Accepts connections, each served in a task of `tasks`, until the process ends.
pub(in crate::http) async fn accept_until_end(listener: &TcpListener, serving: &Serving, tasks: &TaskTracker) {
    let side = serving.connections.side;
    let mut spare = Spare::new(side);
    let mut errors = ErrorLog::default();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = serving.ending.cancelled() => return,
        };
        let error = match accepted {
            Ok((socket, client)) => {
                if spare.is_needed() && side == Listener::Client {
                    serving.connections.metrics.connections_refused.inc(side, ConnectionRefusal::Descriptors);
                    drop(socket);
                    spare.refill();
                } else {
                    start(serving, tasks, socket, client);
                }
                continue;
            }
            // The client closed the connection before it was accepted.
            Err(error) if is_of_one_connection(&error) => continue,
            Err(error) => error,
        };
        serving.connections.metrics.accept_errors.inc(side);
        errors.report(&error, side);
        // With a released descriptor, the waiting connection is accepted at once.
        if is_without_descriptors(&error) && spare.release() {
            continue;
        }
        tokio::select! {
            () = tokio::time::sleep(PAUSE_AFTER_ERROR) => spare.refill(),
            () = serving.ending.cancelled() => return,
        }
    }
}

/// Starts the task of an accepted connection, on a worker if it is served.
fn start(serving: &Serving, tasks: &TaskTracker, socket: TcpStream, client: SocketAddr) {
    // Without it each small response waits for the client's delayed acknowledgement: 40 ms.
    if let Err(error) = socket.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    match serving.connections.admit() {
        ConnectionAdmission::Served(slot) => match socket.into_std() {
            Ok(socket) => {
                let (connection, token) = (serving.clone(), tasks.token());
                serving.workers.run(move || connection.serve(socket, client, slot).map(move |()| drop(token)));
            }
            Err(error) => tracing::debug!(%error, "cannot pass an accepted connection on"),
        },
        ConnectionAdmission::Refused(permit) => {
            let serving = serving.clone();
            tasks.spawn(async move {
                serving.refuse(socket, client).await;
                drop(permit);
            });
        }
        ConnectionAdmission::Closed => {}
    }
}

fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

fn is_without_descriptors(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|code| NO_DESCRIPTORS.contains(&code))
}

/// Descriptors reserved for the case that no other is left.
struct Spare {
    files: Vec<File>,
    wanted: usize,
}

impl Spare {
    fn new(side: Listener) -> Self {
        let wanted = match side {
            // It accepts and closes connections if no other descriptor is left.
            Listener::Client => 1,
            // It serves some operators even then.
            Listener::Operator => 8,
        };
        let mut spare = Self { files: Vec::with_capacity(wanted), wanted };
        spare.refill();
        spare
    }

    /// Opens missing descriptors, as far as the system allows.
    fn refill(&mut self) {
        while self.files.len() < self.wanted {
            match File::open(SPARE_FILE) {
                Ok(file) => self.files.push(file),
                Err(_) => return,
            }
        }
    }

    /// Frees a descriptor; `false` if none is reserved.
    fn release(&mut self) -> bool {
        self.files.pop().is_some()
    }

    /// Whether a connection was accepted with a reserved descriptor that cannot be replaced.
    fn is_needed(&mut self) -> bool {
        self.refill();
        self.files.len() < self.wanted
    }
}

/// Log of accept errors: at most one line per [`LOG_PERIOD`], with the number of errors since the last line.
#[derive(Default)]
struct ErrorLog {
    last: Option<Instant>,
    unreported: u64,
}

impl ErrorLog {
    fn report(&mut self, error: &io::Error, side: Listener) {
        self.unreported += 1;
        if self.last.is_some_and(|last| last.elapsed() < LOG_PERIOD) {
            return;
        }
        tracing::error!(
            listener = side.label(),
            %error,
            errors = self.unreported,
            "cannot accept connections; lower `server.max_connections` or raise the limit of open files"
        );
        *self = Self { last: Some(Instant::now()), unreported: 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_one_connection_and_of_descriptors_are_recognised() {
        for (code, of_one, without) in [(24, false, true), (23, false, true), (103, true, false), (12, false, false)] {
            let error = io::Error::from_raw_os_error(code);
            assert_eq!((is_of_one_connection(&error), is_without_descriptors(&error)), (of_one, without), "{error}");
        }
    }

    #[test]
    fn spare_descriptors_are_released_one_by_one_and_taken_again() {
        let mut spare = Spare::new(Listener::Client);
        assert!(!spare.is_needed(), "all are held back");
        assert!(spare.release() && !spare.release());
        assert!(!spare.is_needed(), "there are others, so it is held back again");
        assert!(spare.release());
    }

    #[test]
    fn a_flood_of_errors_is_one_line() {
        let mut log = ErrorLog::default();
        for _ in 0..1_000 {
            log.report(&io::Error::from_raw_os_error(24), Listener::Client);
        }
        assert_eq!(log.unreported, 999);
    }
}
