//! Client of streams whose events carry the time at which the mock upstream wrote them (`stamps=1`). The delay of an
//! event is the time from there until the client has read it. Both read the machine's monotonic clock.

use std::io::Write;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use memchr::memmem;
use serde_json::json;

use crate::closed::duration;
use crate::exchange::{Exchange, RequestArguments, Response};
use crate::latency::summary;
use crate::open::{connect, receive};

/// Arguments of `chunks`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    request: RequestArguments,
    /// Stamped events of each stream; another number is an error.
    #[arg(long)]
    events: NonZeroUsize,
    /// Duration of the measurement; streams that are open at its end are read to their ends. At least one is measured.
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Number of streams at a time.
    #[arg(long, default_value_t = 4)]
    connections: usize,
}

/// Stamp before the time is filled in.
pub(crate) const EMPTY_STAMP: &str = "@0000000000000000000";
const MARK: &[u8] = b"@";

/// Delay of one event.
struct Delay {
    time: Duration,
    /// Whether an earlier event arrived in the same read.
    is_coalesced: bool,
}

/// Returns the time of the monotonic clock in nanoseconds.
pub(crate) fn now() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::try_from(time).map_or(0, |time| time.as_nanos() as u64)
}

/// Returns the stamp of a time. All stamps have the same length.
pub(crate) fn stamp(time: u64) -> String {
    format!("@{time:019}")
}

/// Measures, and prints the result.
pub(crate) fn run(arguments: &Arguments) -> Result<(), String> {
    let exchange = Exchange::new(&arguments.request)?;
    let end = Instant::now() + duration(arguments.seconds)?;
    let delays = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..arguments.connections)
            .map(|_| scope.spawn(|| one_connection(&exchange, arguments.events.get(), end)))
            .collect();
        let mut all = Vec::new();
        for thread in threads {
            all.extend(thread.join().map_err(|_| "a connection's thread ended early".to_owned())??);
        }
        Ok::<_, String>(all)
    })?;
    let coalesced = delays.iter().filter(|delay| delay.is_coalesced).count();
    let line = json!({
        "events": delays.len(),
        "coalesced": coalesced,
        "delay": summary(delays.iter().map(|delay| delay.time)),
    });
    writeln!(std::io::stdout(), "{line}").map_err(|error| error.to_string())
}

fn one_connection(exchange: &Exchange, events: usize, end: Instant) -> Result<Vec<Delay>, String> {
    let mut socket = connect(exchange).map_err(|error| format!("{}: {error}", exchange.address))?;
    let (mut response, mut delays) = (Response::default(), Vec::new());
    let mut buffer = vec![0; 64 * 1024];
    // The first stream opens the proxy's connection to the upstream and is not counted.
    let mut is_first = true;
    while delays.is_empty() || Instant::now() < end {
        if response.is_last {
            socket = connect(exchange).map_err(|error| error.to_string())?;
        }
        let (mut position, mut stream) = (0, Vec::new());
        receive(&mut socket, exchange, &mut response, &mut buffer, |response: &Response| {
            let read = now();
            let mut is_coalesced = false;
            while let Some(written) = next_stamp(&response.body, &mut position) {
                stream.push(Delay { time: Duration::from_nanos(read.saturating_sub(written)), is_coalesced });
                is_coalesced = true;
            }
        })?;
        if stream.len() != events {
            return Err(format!("a stream has {} stamped events instead of {events}", stream.len()));
        }
        if !is_first {
            delays.append(&mut stream);
        }
        is_first = false;
    }
    Ok(delays)
}

/// Returns the next stamp that is complete, and moves `position` behind it.
fn next_stamp(body: &[u8], position: &mut usize) -> Option<u64> {
    let rest = body.get(*position..)?;
    let Some(start) = memmem::find(rest, MARK) else {
        *position = body.len();
        return None;
    };
    let digits = rest.get(start + 1..start + EMPTY_STAMP.len());
    *position += start;
    let time = std::str::from_utf8(digits?).ok()?.parse().ok();
    *position += EMPTY_STAMP.len();
    time
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_found_once_however_the_body_grows() {
        let body = format!("data: a{} b\n\ndata: {}{} c\n\n", stamp(7), stamp(now()), stamp(u64::MAX / 2));
        let mut position = 0;
        let mut found = Vec::new();
        for end in 0..=body.len() {
            while let Some(time) = next_stamp(&body.as_bytes()[..end], &mut position) {
                found.push(time);
            }
        }
        assert_eq!(found.len(), 3);
        assert_eq!((found[0], found[2]), (7, u64::MAX / 2));
        assert!(found[1] > 0 && found[1] <= now());
        assert_eq!(stamp(0), EMPTY_STAMP);
        assert_eq!(stamp(u64::MAX / 2).len(), EMPTY_STAMP.len());
    }
}
