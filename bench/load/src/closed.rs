//! Closed-loop client: each connection sends its next request after it has read the previous response. It records every
//! latency without sampling or histograms.

use std::io::Write;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

use crate::exchange::{Exchange, RequestArguments, Response};
use crate::latency::summary;

/// Arguments of `measure`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    request: RequestArguments,
    /// Number of measured requests per connection.
    #[arg(long, default_value_t = 2000)]
    requests: usize,
    /// Duration of the measurement; replaces the number of requests.
    #[arg(long)]
    seconds: Option<f64>,
    /// Number of warm-up requests per connection, which fill caches and connection pools.
    #[arg(long, default_value_t = 200)]
    warm_up: usize,
    /// Number of connections.
    #[arg(long, default_value_t = 1)]
    connections: usize,
    /// Maximum number of threads, each with its share of the connections.
    #[arg(long, default_value_t = 2)]
    threads: usize,
}

/// Latency of one response.
#[derive(Clone, Copy)]
struct Latency {
    first_byte: Duration,
    whole: Duration,
}

/// End of a connection's requests.
#[derive(Clone, Copy)]
enum Limit {
    Requests(usize),
    Until(Instant),
}

/// Thread with its share of the connections.
struct Worker {
    runtime: Runtime,
    connections: Vec<Connection>,
}

/// Keep-alive connection.
struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    response: Response,
}

/// Measures, and prints the result.
pub(crate) fn run(arguments: &Arguments) -> Result<(), String> {
    let exchange = Exchange::new(&arguments.request)?;
    let threads = arguments.threads.clamp(1, arguments.connections.max(1));
    let mut workers = Vec::new();
    for number in 0..threads {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_io().build().map_err(|error| error.to_string())?;
        let count = arguments.connections / threads + usize::from(number < arguments.connections % threads);
        let connections = runtime.block_on(try_join_all((0..count).map(|_| Connection::open(&exchange))))?;
        workers.push(Worker { runtime, connections });
    }
    on_all(&mut workers, &exchange, Limit::Requests(arguments.warm_up))?;
    let started = Instant::now();
    let limit = match arguments.seconds {
        Some(seconds) => Limit::Until(started + duration(seconds)?),
        None => Limit::Requests(arguments.requests),
    };
    let latencies = on_all(&mut workers, &exchange, limit)?;
    let line = report(&latencies, started.elapsed());
    writeln!(std::io::stdout(), "{line}").map_err(|error| error.to_string())
}

/// Returns a number of seconds as a duration.
pub(crate) fn duration(seconds: f64) -> Result<Duration, String> {
    Duration::try_from_secs_f64(seconds).map_err(|error| format!("{seconds} seconds: {error}"))
}

fn on_all(workers: &mut [Worker], exchange: &Exchange, limit: Limit) -> Result<Vec<Latency>, String> {
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            workers.iter_mut().map(|worker| scope.spawn(move || worker.run(exchange, limit))).collect();
        let mut all = Vec::new();
        for thread in threads {
            all.extend(thread.join().map_err(|_| "a thread ended early".to_owned())??);
        }
        Ok(all)
    })
}

impl Worker {
    fn run(&mut self, exchange: &Exchange, limit: Limit) -> Result<Vec<Latency>, String> {
        let connections = self.connections.iter_mut().map(|connection| connection.repeat(exchange, limit));
        Ok(self.runtime.block_on(try_join_all(connections))?.concat())
    }
}

impl Connection {
    async fn open(exchange: &Exchange) -> Result<Self, String> {
        let stream = connect(exchange).await.map_err(|error| format!("{}: {error}", exchange.address))?;
        Ok(Self { stream, buffer: vec![0; 64 * 1024], response: Response::default() })
    }

    /// Sends requests until the limit, and returns their latencies.
    async fn repeat(&mut self, exchange: &Exchange, limit: Limit) -> Result<Vec<Latency>, String> {
        let mut latencies = Vec::new();
        loop {
            let is_reached = match limit {
                Limit::Requests(count) => latencies.len() >= count,
                Limit::Until(end) => Instant::now() >= end,
            };
            if is_reached {
                return Ok(latencies);
            }
            let number = latencies.len();
            let latency = self.exchange(exchange).await.map_err(|error| format!("request {number}: {error}"))?;
            latencies.push(latency);
        }
    }

    async fn exchange(&mut self, exchange: &Exchange) -> Result<Latency, String> {
        if self.response.is_last {
            self.stream = connect(exchange).await.map_err(|error| error.to_string())?;
        }
        self.response.clear();
        let started = Instant::now();
        self.stream.write_all(&exchange.request).await.map_err(|error| error.to_string())?;
        let mut first_byte = None;
        while !self.response.is_complete() {
            let count = self.stream.read(&mut self.buffer).await.map_err(|error| error.to_string())?;
            first_byte = first_byte.or_else(|| Some(started.elapsed()));
            match self.buffer.get(..count) {
                Some(bytes) if count > 0 => self.response.read(bytes)?,
                _ => return Err("the connection was closed within the response".to_owned()),
            }
        }
        let whole = started.elapsed();
        exchange.check(&self.response)?;
        Ok(Latency { first_byte: first_byte.unwrap_or(whole), whole })
    }
}

async fn connect(exchange: &Exchange) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(exchange.address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn report(latencies: &[Latency], elapsed: Duration) -> Value {
    json!({
        "requests": latencies.len(),
        "seconds": elapsed.as_secs_f64(),
        "first_byte": summary(latencies.iter().map(|latency| latency.first_byte)),
        "whole": summary(latencies.iter().map(|latency| latency.whole)),
    })
}
