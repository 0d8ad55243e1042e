//! Closed-loop client: each connection sends its next request after it has read the previous response. It uses blocking
//! sockets and one thread per connection, and records every latency without sampling or histograms.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use url::Url;

/// Arguments of `measure`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// URL for the `POST` requests.
    url: Url,
    /// File with the request body.
    #[arg(long)]
    body: PathBuf,
    /// Text that every response must contain, so that an error page does not count as a fast response.
    #[arg(long)]
    expect: String,
    /// Number of measured requests per connection.
    #[arg(long, default_value_t = 2000)]
    requests: usize,
    /// Number of warm-up requests per connection, which fill caches and connection pools.
    #[arg(long, default_value_t = 200)]
    warm_up: usize,
    /// Number of connections.
    #[arg(long, default_value_t = 1)]
    concurrency: usize,
}

/// Latency of one response.
#[derive(Clone, Copy)]
struct Latency {
    first_byte: Duration,
    whole: Duration,
}

/// Measures, and prints the result.
pub(crate) fn run(arguments: &Arguments) -> Result<(), String> {
    let request = request_bytes(arguments)?;
    let started = Instant::now();
    let latencies = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..arguments.concurrency).map(|_| scope.spawn(|| one_connection(arguments, &request))).collect();
        let mut all = Vec::new();
        for thread in threads {
            all.extend(thread.join().map_err(|_| "a connection's thread ended early".to_owned())??);
        }
        Ok::<_, String>(all)
    })?;
    let line = report(&latencies, started.elapsed());
    writeln!(std::io::stdout(), "{line}").map_err(|error| error.to_string())
}

fn request_bytes(arguments: &Arguments) -> Result<Vec<u8>, String> {
    let body = std::fs::read(&arguments.body).map_err(|error| format!("{}: {error}", arguments.body.display()))?;
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer bench\r\ncontent-type: application/json\r\naccept: */*\r\n\
         content-length: {}\r\n\r\n",
        arguments.url.path(),
        arguments.url.authority(),
        body.len()
    );
    Ok([head.into_bytes(), body].concat())
}

fn one_connection(arguments: &Arguments, request: &[u8]) -> Result<Vec<Latency>, String> {
    let addresses = arguments.url.socket_addrs(|| None).map_err(|error| format!("{}: {error}", arguments.url))?;
    let stream = TcpStream::connect(&*addresses).map_err(|error| format!("{}: {error}", arguments.url))?;
    stream.set_nodelay(true).map_err(|error| error.to_string())?;
    let mut connection = BufReader::new(stream);
    let mut body = Vec::new();
    let mut latencies = Vec::with_capacity(arguments.requests);
    for number in 0..arguments.warm_up + arguments.requests {
        let latency =
            exchange(&mut connection, request, &mut body).map_err(|error| format!("request {number}: {error}"))?;
        if memchr::memmem::find(&body, arguments.expect.as_bytes()).is_none() {
            return Err(format!("request {number}: unexpected response: {}", String::from_utf8_lossy(&body)));
        }
        if number >= arguments.warm_up {
            latencies.push(latency);
        }
    }
    Ok(latencies)
}

/// Sends one request and reads its response (RFC 9112). Leaves the response body in `body`.
fn exchange(connection: &mut BufReader<TcpStream>, request: &[u8], body: &mut Vec<u8>) -> std::io::Result<Latency> {
    let started = Instant::now();
    connection.get_mut().write_all(request)?;
    connection.fill_buf()?;
    let first_byte = started.elapsed();
    let mut line = String::new();
    let mut length = None;
    loop {
        line.clear();
        connection.read_line(&mut line)?;
        let field = line.trim_end().to_ascii_lowercase();
        if let Some(value) = field.strip_prefix("content-length:") {
            length = Some(value.trim().parse::<usize>().map_err(invalid)?);
        }
        if field.is_empty() {
            break;
        }
    }
    body.clear();
    match length {
        Some(length) => read_more(connection, body, length)?,
        None => read_chunks(connection, body, &mut line)?,
    }
    Ok(Latency { first_byte, whole: started.elapsed() })
}

fn read_chunks(connection: &mut BufReader<TcpStream>, body: &mut Vec<u8>, line: &mut String) -> std::io::Result<()> {
    loop {
        line.clear();
        connection.read_line(line)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(invalid)?;
        read_more(connection, body, size)?;
        line.clear();
        connection.read_line(line)?;
        if size == 0 {
            return Ok(());
        }
    }
}

fn read_more(connection: &mut BufReader<TcpStream>, body: &mut Vec<u8>, length: usize) -> std::io::Result<()> {
    let start = body.len();
    body.resize(start + length, 0);
    body.get_mut(start..).map_or(Ok(()), |rest| connection.read_exact(rest))
}

fn invalid(error: std::num::ParseIntError) -> std::io::Error {
    std::io::Error::new(ErrorKind::InvalidData, error)
}

fn report(latencies: &[Latency], elapsed: Duration) -> serde_json::Value {
    let summary = |of: fn(&Latency) -> Duration| {
        let mut sorted: Vec<Duration> = latencies.iter().map(of).collect();
        sorted.sort_unstable();
        let at = |share: f64| {
            let rank = (sorted.len() as f64 * share).ceil() as usize;
            sorted.get(rank.saturating_sub(1)).map_or(0.0, |latency| latency.as_secs_f64() * 1e6)
        };
        serde_json::json!({"p50_us": at(0.5), "p90_us": at(0.9), "p99_us": at(0.99), "max_us": at(1.0)})
    };
    serde_json::json!({
        "requests": latencies.len(),
        "seconds": elapsed.as_secs_f64(),
        "first_byte": summary(|latency| latency.first_byte),
        "whole": summary(|latency| latency.whole),
    })
}
