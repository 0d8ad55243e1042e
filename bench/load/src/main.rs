//! Programs of `bench/run`: a mock upstream that is fast enough not to limit the measurement, a proxy that does nothing
//! else, and clients that check every response and record every latency.

mod answer;
mod chunks;
mod closed;
mod exchange;
mod latency;
mod mock;
mod open;
mod proxy;
mod streams;

use clap::{Parser, Subcommand};

/// Mock upstream, bare proxy and clients for measuring proxies.
#[derive(Parser)]
#[command(name = "callwright-bench")]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Serves fixed OpenAI responses until it is terminated.
    Mock(mock::Arguments),
    /// Forwards requests to an upstream without inspecting them.
    Proxy(proxy::Arguments),
    /// Sends requests one after the other on each connection and prints the exact latencies as one line of JSON.
    Measure(closed::Arguments),
    /// Sends requests at a fixed rate and prints the latencies from the scheduled times as one line of JSON.
    Open(open::Arguments),
    /// Reads streams of the mock's stamped events and prints the delays of the events as one line of JSON.
    Chunks(chunks::Arguments),
    /// Holds many streams open, prints a line when all are open, and one line of JSON when all have ended.
    Streams(streams::Arguments),
}

fn main() -> std::process::ExitCode {
    let result = match Arguments::parse().verb {
        Verb::Mock(arguments) => mock::run(&arguments).map_err(|error| error.to_string()),
        Verb::Proxy(arguments) => proxy::run(&arguments).map_err(|error| error.to_string()),
        Verb::Measure(arguments) => closed::run(&arguments),
        Verb::Open(arguments) => open::run(&arguments),
        Verb::Chunks(arguments) => chunks::run(&arguments),
        Verb::Streams(arguments) => streams::run(&arguments),
    };
    match result {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(message) => {
            anstream::eprintln!("callwright-bench: {message}");
            std::process::ExitCode::FAILURE
        }
    }
}
