//! `bench/soak/run`: runs the real binary under half of its maximum load for a given time, with streams, broken
//! responses, disconnecting clients, and reloads of policies and documents. Reports memory growth, errors without a
//! cause, and leaked resources.

mod load;
mod proxy;
mod upstream;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Parser;
use serde_json::json;

use load::{Counts, Load};
use proxy::{Proxy, Sample};

/// Pause between two samples of the process.
const LOOK: Duration = Duration::from_secs(5);

/// Time after the load in which all started work must end.
const CALM: Duration = Duration::from_secs(20);

/// Soak test of a real proxy.
#[derive(Parser)]
struct Arguments {
    /// Path of the callwright binary.
    #[arg(long)]
    callwright: PathBuf,
    /// Duration of the load in minutes.
    #[arg(long, default_value_t = 30.0)]
    minutes: f64,
    /// Minutes at the beginning of the load in which memory may grow.
    #[arg(long, default_value_t = 5.0)]
    settle: f64,
    /// Seconds for the measurement of the maximum load.
    #[arg(long, default_value_t = 20)]
    calibrate: u64,
    /// Number of connections.
    #[arg(long, default_value_t = 16)]
    connections: usize,
    /// Requests per second, instead of half of the maximum.
    #[arg(long)]
    rate: Option<f64>,
}

fn main() -> std::process::ExitCode {
    let arguments = Arguments::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.to_string()),
    };
    match runtime.block_on(soak(&arguments)) {
        Ok(true) => std::process::ExitCode::SUCCESS,
        Ok(false) => std::process::ExitCode::from(1),
        Err(message) => failed(&message),
    }
}

fn failed(message: &str) -> std::process::ExitCode {
    anstream::eprintln!("soak: {message}");
    std::process::ExitCode::from(2)
}

async fn soak(arguments: &Arguments) -> Result<bool, String> {
    let upstream = upstream::start().await.map_err(|error| format!("the upstream: {error}"))?;
    let proxy = Proxy::start(&arguments.callwright, upstream.port(), "").await?;
    let load = Load::new(proxy.client_url(), arguments.connections)?;
    let rate = match arguments.rate {
        Some(rate) => rate,
        None => load.maximum(Duration::from_secs(arguments.calibrate)).await? / 2.0,
    };
    anstream::eprintln!("soak: {rate:.0} requests a second for {} minutes", arguments.minutes);
    let idle = proxy.sample().await?;
    let (length, settle) = (minutes(arguments.minutes), minutes(arguments.settle));
    let started = Instant::now();
    let reloads = proxy.keep_reloading();
    let (counts, samples) = tokio::join!(load.run(rate, length), watch(&proxy, started, length));
    reloads.abort();
    let samples = samples?;
    let left = proxy.calm(CALM).await?;
    let (reloads, attempts) = (proxy.reloads().await?, proxy.attempts().await?);
    #[expect(clippy::cast_precision_loss, reason = "a count of requests")]
    let arrivals = upstream.arrivals() as f64;
    let report = Report { rate, length, settle, counts, samples, idle, left, reloads, attempts, arrivals };
    let holds = report.print();
    proxy.stop()?;
    Ok(holds)
}

fn minutes(minutes: f64) -> Duration {
    Duration::from_secs_f64(minutes * 60.0)
}

/// Returns samples with their times since the start.
async fn watch(proxy: &Proxy, started: Instant, length: Duration) -> Result<Vec<(Duration, Sample)>, String> {
    let mut samples = Vec::new();
    while started.elapsed() < length {
        tokio::time::sleep(LOOK).await;
        samples.push((started.elapsed(), proxy.sample().await?));
    }
    Ok(samples)
}

struct Report {
    rate: f64,
    length: Duration,
    settle: Duration,
    counts: Counts,
    samples: Vec<(Duration, Sample)>,
    idle: Sample,
    left: Sample,
    reloads: (f64, f64),
    /// Requests that the proxy counts as sent to the upstream.
    attempts: f64,
    /// Requests that the upstream has read.
    arrivals: f64,
}

impl Report {
    /// Prints all figures as JSON, then the violated conditions. Returns whether all conditions hold.
    fn print(&self) -> bool {
        let minute = Duration::from_secs(60);
        let settled = self.mean(self.settle, self.settle + minute);
        let end = self.mean(self.length.saturating_sub(minute), self.length + minute);
        let growth = 100.0 * (end / settled - 1.0);
        let peak = self.samples.iter().map(|(_, sample)| sample.resident_bytes).fold(0.0, f64::max);
        let threads = self.samples.iter().map(|(_, sample)| sample.threads).fold(0.0, f64::max);
        anstream::println!(
            "{}",
            json!({
                "rate_per_second": self.rate, "minutes": self.length.as_secs_f64() / 60.0, "requests": self.counts.sent,
                "right": self.counts.right, "broken_by_upstream": self.counts.broken, "left_by_client": self.counts.left,
                "unexplained": self.counts.unexplained.len(), "policy_reloads": self.reloads.0, "document_reloads": self.reloads.1,
                "attempts": self.attempts, "arrivals": self.arrivals, "resident_mib": {"settled": mib(settled), "end": mib(end), "peak": mib(peak)}, "growth_percent": growth, "threads": threads,
                "open_files": {"idle": self.idle.open_files, "afterwards": self.left.open_files},
                "afterwards": {"turns_in_flight": self.left.turns, "upstream_in_flight": self.left.upstream, "traces_waiting": self.left.traces},
            })
        );
        let mut faults: Vec<String> = self.counts.unexplained.iter().take(10).cloned().collect();
        let mut hold = |holds: bool, what: String| faults.extend((!holds).then_some(what));
        hold(
            growth < 5.0,
            format!("memory grew by {growth:.1} % after the first {} minutes", self.settle.as_secs_f64() / 60.0),
        );
        hold(self.left.turns == 0.0 && self.left.upstream == 0.0, "turns or upstream requests did not end".to_owned());
        // Connections of clients and of the pool may stay open; each belongs to the concurrent connections.
        hold(
            self.left.open_files <= self.idle.open_files + 4.0,
            format!("{} more files are open than before", self.left.open_files - self.idle.open_files),
        );
        hold(self.left.dropped == 0.0, "traces were dropped".to_owned());
        hold(
            self.arrivals <= self.attempts,
            format!("{} requests reached the upstream in {} attempts", self.arrivals, self.attempts),
        );
        faults.iter().for_each(|fault| anstream::eprintln!("soak: {fault}"));
        faults.is_empty()
    }

    /// Returns the mean of the resident bytes between two times.
    #[expect(clippy::cast_precision_loss, reason = "a mean of a few hundred samples")]
    fn mean(&self, from: Duration, to: Duration) -> f64 {
        let within: Vec<f64> = self
            .samples
            .iter()
            .filter(|(at, _)| (from..to).contains(at))
            .map(|(_, sample)| sample.resident_bytes)
            .collect();
        within.iter().sum::<f64>() / within.len().max(1) as f64
    }
}

fn mib(bytes: f64) -> f64 {
    (bytes / f64::from(1 << 20) * 10.0).round() / 10.0
}
