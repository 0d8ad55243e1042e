//! Client that holds many streams open at the same time, so that the memory of a proxy can be measured meanwhile.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::exchange::{Exchange, RequestArguments, Response};

/// Arguments of `streams`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    request: RequestArguments,
    /// Number of streams.
    #[arg(long)]
    streams: usize,
    /// Number of streams that may wait for their first byte at the same time.
    #[arg(long, default_value_t = 64)]
    opening: usize,
}

/// Time after which a stream without progress is an error.
const PROGRESS: Duration = Duration::from_mins(1);

/// Streams that have begun and ended.
#[derive(Default)]
struct Counts {
    begun: AtomicUsize,
    ended: AtomicUsize,
}

/// Opens all streams, prints `open N`, reads them to their ends, and prints the result.
pub(crate) fn run(arguments: &Arguments) -> Result<(), String> {
    let exchange = Exchange::new(&arguments.request)?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
    let started = Instant::now();
    let (counts, opening) = (Counts::default(), Arc::new(Semaphore::new(arguments.opening)));
    runtime.block_on(try_join_all(
        (0..arguments.streams).map(|_| one_stream(&exchange, &counts, &opening, arguments.streams)),
    ))?;
    let line = json!({"streams": arguments.streams, "seconds": started.elapsed().as_secs_f64()});
    writeln!(std::io::stdout(), "{line}").map_err(|error| error.to_string())
}

async fn one_stream(exchange: &Exchange, counts: &Counts, opening: &Semaphore, all: usize) -> Result<(), String> {
    let permit = opening.acquire().await.map_err(|error| error.to_string())?;
    let mut socket = TcpStream::connect(exchange.address).await.map_err(|error| error.to_string())?;
    socket.write_all(&exchange.request).await.map_err(|error| error.to_string())?;
    let mut permit = Some(permit);
    let (mut response, mut buffer) = (Response::default(), vec![0; 4 * 1024]);
    while !response.is_complete() {
        let count = tokio::time::timeout(PROGRESS, socket.read(&mut buffer))
            .await
            .map_err(|_| format!("a stream made no progress for {} seconds", PROGRESS.as_secs()))?
            .map_err(|error| error.to_string())?;
        match buffer.get(..count) {
            Some(bytes) if count > 0 => response.read(bytes)?,
            _ => return Err("a connection was closed within its stream".to_owned()),
        }
        if !response.body.is_empty()
            && permit.take().is_some()
            && counts.begun.fetch_add(1, Ordering::Relaxed) + 1 == all
        {
            if counts.ended.load(Ordering::Relaxed) > 0 {
                return Err("a stream ended before the last one began: use longer streams".to_owned());
            }
            writeln!(std::io::stdout(), "open {all}").map_err(|error| error.to_string())?;
        }
    }
    counts.ended.fetch_add(1, Ordering::Relaxed);
    exchange.check(&response)
}
