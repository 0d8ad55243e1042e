//! `bench/attack/run`: attacks on the real binary with default settings, except for a fixed memory of bodies. Each scenario
//! starts a new proxy and measures its resident memory, the latency of `/healthz`, and the latency of an uninvolved client
//! during the attack. Prints a Markdown table.

mod bystander;
#[path = "../soak/proxy.rs"]
#[allow(dead_code, reason = "the soak uses the rest of it")]
mod proxy;
mod scenarios;
#[path = "../soak/upstream.rs"]
#[allow(dead_code, reason = "the soak uses the rest of it")]
mod upstream;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Parser;

use bystander::{Bystander, Latencies};
use proxy::Proxy;
use scenarios::{SCENARIOS, Scenario};

/// Pause between two samples of the process.
const LOOK: Duration = Duration::from_millis(50);

/// Time after the end of an attack at which memory is sampled again.
const AFTERWARDS: Duration = Duration::from_secs(10);

/// Maximum resident memory in bytes during an attack, and ten seconds after its end.
const MOST_RESIDENT: [f64; 2] = [512.0 * 1024.0 * 1024.0, 256.0 * 1024.0 * 1024.0];

/// Memory of request bodies: 320 MiB, so that the figures do not depend on the memory of the machine.
const BODY_MEMORY: &str = "body_memory_bytes = 335544320";

/// Maximum latency of `/healthz`.
const MOST_HEALTH: Duration = Duration::from_millis(100);

/// Maximum ratio of the uninvolved client's p99 during the attack to its p99 before.
const MOST_SLOWER: f64 = 10.0;

/// Runs attacks on a real proxy.
#[derive(Parser)]
struct Arguments {
    /// Path of the callwright binary.
    #[arg(long)]
    callwright: PathBuf,
    /// Scenario to run; default: all.
    #[arg(long)]
    only: Option<String>,
    /// Duration of each attack in seconds.
    #[arg(long, default_value_t = 20)]
    seconds: u64,
}

/// Measurements of one attack.
struct Cost {
    before: f64,
    peak: f64,
    afterwards: f64,
    health: Latencies,
    quiet: Latencies,
    beside: Latencies,
    slow_readers: f64,
    outcome: String,
}

fn main() -> std::process::ExitCode {
    let arguments = Arguments::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.to_string()),
    };
    match runtime.block_on(attack_all(&arguments)) {
        Ok(true) => std::process::ExitCode::SUCCESS,
        Ok(false) => std::process::ExitCode::from(1),
        Err(message) => failed(&message),
    }
}

fn failed(message: &str) -> std::process::ExitCode {
    anstream::eprintln!("attack: {message}");
    std::process::ExitCode::from(2)
}

/// Runs the scenarios one after the other. Returns whether all limits hold.
async fn attack_all(arguments: &Arguments) -> Result<bool, String> {
    let wanted = |scenario: &&Scenario| arguments.only.as_ref().is_none_or(|name| name == scenario.name);
    let scenarios: Vec<&Scenario> = SCENARIOS.iter().filter(wanted).collect();
    if scenarios.is_empty() {
        let names: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        return Err(format!("unknown scenario; available scenarios: {}", names.join(", ")));
    }
    anstream::println!(
        "| attack | RSS before | peak | 10 s later | worst `/healthz` | other client p99 quiet | beside | its failures | slow readers closed | outcome |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|---|"
    );
    let mut holds = true;
    for scenario in scenarios {
        let cost = attack(arguments, scenario).await?;
        holds &= cost.print(scenario);
    }
    Ok(holds)
}

async fn attack(arguments: &Arguments, scenario: &Scenario) -> Result<Cost, String> {
    let length = Duration::from_secs(arguments.seconds);
    let upstream = upstream::start().await.map_err(|error| format!("the upstream: {error}"))?;
    let proxy = Proxy::start(&arguments.callwright, upstream.port(), BODY_MEMORY).await?;
    let bystander = Bystander::new(proxy.client_url(), proxy.operator_url());
    let address = proxy.client_url().trim_start_matches("http://").to_owned();
    let target: SocketAddr = address.parse().map_err(|error| format!("{address}: {error}"))?;
    // The first requests of a process also pay for one-time initialisation.
    bystander.turns(Duration::from_secs(2)).await?;
    let quiet = bystander.turns(length / 2).await?;
    let before = proxy.resident_bytes()?;
    let (peak, health, beside, outcome) = tokio::join!(
        peak(&proxy, length),
        bystander.health(length),
        bystander.turns(length),
        (scenario.attack)(target, length),
    );
    let (mut peak, health, beside, outcome) = (peak?, health?, beside?, outcome?);
    let slow_readers = proxy.slow_readers().await?;
    let ended = Instant::now();
    while ended.elapsed() < AFTERWARDS {
        tokio::time::sleep(LOOK).await;
        peak = peak.max(proxy.resident_bytes()?);
    }
    let afterwards = proxy.resident_bytes()?;
    proxy.stop()?;
    Ok(Cost { before, peak, afterwards, health, quiet, beside, slow_readers, outcome })
}

/// Returns the maximum of the resident bytes within `length`.
async fn peak(proxy: &Proxy, length: Duration) -> Result<f64, String> {
    let started = Instant::now();
    let mut peak = 0.0_f64;
    while started.elapsed() < length {
        peak = peak.max(proxy.resident_bytes()?);
        tokio::time::sleep(LOOK).await;
    }
    Ok(peak)
}

impl Cost {
    /// Prints a table row and the exceeded limits. Returns whether all limits hold.
    fn print(&self, scenario: &Scenario) -> bool {
        let Self { before, peak, afterwards, health, quiet, beside, slow_readers, outcome } = self;
        anstream::println!(
            "| {} | {:.0} MiB | {:.0} MiB | {:.0} MiB | {:.1} ms | {:.1} ms | {:.1} ms | {} of {} | {slow_readers} | {outcome} |",
            scenario.title,
            mib(*before),
            mib(*peak),
            mib(*afterwards),
            milliseconds(health.worst()),
            milliseconds(quiet.p99()),
            milliseconds(beside.p99()),
            beside.failures,
            beside.count(),
        );
        let mut faults = Vec::new();
        let mut hold = |holds: bool, what: String| faults.extend((!holds).then_some(what));
        hold(*peak <= MOST_RESIDENT[0], format!("resident memory reached {:.0} MiB", mib(*peak)));
        hold(*afterwards <= MOST_RESIDENT[1], format!("{:.0} MiB resident after attack", mib(*afterwards)));
        hold(health.failures == 0, format!("/healthz failed {} times", health.failures));
        hold(health.worst() <= MOST_HEALTH, format!("/healthz took {:.1} ms", milliseconds(health.worst())));
        let slower = beside.p99().as_secs_f64() / quiet.p99().as_secs_f64().max(f64::MIN_POSITIVE);
        hold(slower <= MOST_SLOWER, format!("p99 of the other client is {slower:.1} times its value without attack"));
        hold(beside.failures == 0, format!("{} requests of the other client failed", beside.failures));
        faults.iter().for_each(|fault| anstream::eprintln!("attack: {}: {fault}", scenario.name));
        faults.is_empty()
    }
}

fn mib(bytes: f64) -> f64 {
    bytes / f64::from(1 << 20)
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
