//! Open-loop client: requests are due at fixed times, whether or not earlier ones have been answered, and a latency
//! counts from the time at which its request was due. A stall of the server therefore delays every request of its
//! duration (no coordinated omission).
//!
//! It uses blocking sockets and one thread per connection: a free thread takes the next request and sleeps until it is
//! due. Timers of Tokio have a resolution of one millisecond.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::closed::duration;
use crate::exchange::{Exchange, RequestArguments, Response};
use crate::latency::summary;

/// Arguments of `open`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    request: RequestArguments,
    /// Requests per second.
    #[arg(long)]
    rate: f64,
    /// Duration of the schedule.
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Number of connections: the maximum of requests in flight.
    #[arg(long, default_value_t = 32)]
    connections: usize,
}

/// Times at which requests are due.
struct Schedule {
    start: Instant,
    interval: Duration,
    count: u64,
    next: AtomicU64,
}

/// Times of one request, from the time at which it was due.
#[derive(Debug, Clone, Copy)]
struct Timing {
    /// Until its first byte was written.
    sent: Duration,
    /// Until its response was read.
    answered: Duration,
}

/// Measures, and prints the result.
pub(crate) fn run(arguments: &Arguments) -> Result<(), String> {
    let exchange = Exchange::new(&arguments.request)?;
    let interval = Duration::try_from_secs_f64(1.0 / arguments.rate)
        .ok()
        .filter(|interval| !interval.is_zero())
        .ok_or_else(|| format!("--rate {}: use a positive number of requests per second", arguments.rate))?;
    let count = (duration(arguments.seconds)?.as_secs_f64() * arguments.rate).ceil() as u64;
    let timings = send(&exchange, arguments.connections, interval, count)?;
    let line = json!({
        "requests": timings.len(),
        "rate": arguments.rate,
        "sent": summary(timings.iter().map(|timing| timing.sent)),
        "whole": summary(timings.iter().map(|timing| timing.answered)),
    });
    writeln!(std::io::stdout(), "{line}").map_err(|error| error.to_string())
}

/// Sends all requests of a schedule.
fn send(exchange: &Exchange, connections: usize, interval: Duration, count: u64) -> Result<Vec<Timing>, String> {
    let mut sockets = Vec::new();
    for _ in 0..connections {
        sockets.push(connect(exchange).map_err(|error| format!("{}: {error}", exchange.address))?);
    }
    let schedule = Schedule { start: Instant::now() + interval, interval, count, next: AtomicU64::new(0) };
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            sockets.into_iter().map(|socket| scope.spawn(|| one_connection(socket, exchange, &schedule))).collect();
        let mut all = Vec::new();
        for thread in threads {
            all.extend(thread.join().map_err(|_| "a connection's thread ended early".to_owned())??);
        }
        Ok(all)
    })
}

impl Schedule {
    /// Returns the time at which the next request is due, or nothing after the last one.
    fn take(&self) -> Option<Instant> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        // Seconds as a float keep nanoseconds exact for weeks, without a limit on the number.
        (number < self.count).then(|| self.start + self.interval.mul_f64(number as f64))
    }
}

/// Connects; the connection's reads and writes end after a minute without progress.
pub(crate) fn connect(exchange: &Exchange) -> std::io::Result<TcpStream> {
    let socket = TcpStream::connect(exchange.address)?;
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(Duration::from_mins(1)))?;
    socket.set_write_timeout(Some(Duration::from_mins(1)))?;
    Ok(socket)
}

fn one_connection(mut socket: TcpStream, exchange: &Exchange, schedule: &Schedule) -> Result<Vec<Timing>, String> {
    wake_on_time();
    let (mut response, mut timings) = (Response::default(), Vec::new());
    let mut buffer = vec![0; 64 * 1024];
    while let Some(due) = schedule.take() {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        if response.is_last {
            socket = connect(exchange).map_err(|error| error.to_string())?;
        }
        let sent = due.elapsed();
        receive(&mut socket, exchange, &mut response, &mut buffer, |_| {})?;
        timings.push(Timing { sent, answered: due.elapsed() });
    }
    Ok(timings)
}

/// Sends one request and reads its response, which it passes on after every read.
pub(crate) fn receive(
    socket: &mut TcpStream,
    exchange: &Exchange,
    response: &mut Response,
    buffer: &mut [u8],
    mut on_read: impl FnMut(&Response),
) -> Result<(), String> {
    response.clear();
    socket.write_all(&exchange.request).map_err(|error| error.to_string())?;
    while !response.is_complete() {
        let count = socket.read(buffer).map_err(|error| error.to_string())?;
        match buffer.get(..count) {
            Some(bytes) if count > 0 => response.read(bytes)?,
            _ => return Err("the connection was closed within the response".to_owned()),
        }
        on_read(response);
    }
    exchange.check(response)
}

/// Linux may end a sleep 50 µs late to save power; this thread's sleeps end on time.
fn wake_on_time() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::net::TcpListener;

    use super::*;
    use crate::exchange::tests::exchange_with;

    const INTERVAL: Duration = Duration::from_millis(1);

    #[test]
    fn requests_are_due_at_equal_intervals() {
        let start = Instant::now();
        let interval = Duration::from_secs_f64(1.0 / 500.0);
        let schedule = Schedule { start, interval, count: 1_001, next: AtomicU64::new(0) };
        let due: Vec<Instant> = std::iter::from_fn(|| schedule.take()).collect();
        assert_eq!(due.len(), 1_001);
        assert_eq!(due.first(), Some(&start));
        assert_eq!(due.get(250).map(|due| *due - start), Some(Duration::from_millis(500)));
        assert_eq!(due.last().map(|due| *due - start), Some(Duration::from_secs(2)));
    }

    /// A request that is due while the only connection waits counts from the time at which it was due.
    #[test]
    fn a_stall_delays_every_request_that_is_due_meanwhile() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let exchange = exchange_with(listener.local_addr().unwrap());
        let stall = Duration::from_millis(60);
        let server = std::thread::spawn(move || {
            let mut socket = BufReader::new(listener.accept().unwrap().0);
            let mut line = String::new();
            let mut number = 0;
            while socket.read_line(&mut line).unwrap() > 0 {
                if line == "\r\n" {
                    if number == 0 {
                        std::thread::sleep(stall);
                    }
                    number += 1;
                    socket.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").unwrap();
                }
                line.clear();
            }
            number
        });
        let timings = send(&exchange, 1, INTERVAL, 40).unwrap();
        assert_eq!(server.join().unwrap(), 40);
        assert_eq!(timings.len(), 40);
        for (number, timing) in (0..).zip(&timings) {
            let least = stall - INTERVAL * number;
            assert!(timing.answered >= least, "request {number}: {timing:?} is shorter than the stall that remained");
            assert!(number == 0 || timing.sent >= least, "request {number}: {timing:?} was sent during the stall");
        }
    }
}
