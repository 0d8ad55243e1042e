//! Programs of `bench/run`: a mock upstream that is fast enough not to limit the measurement, a proxy that does nothing
//! else, and a closed-loop client that records every latency.

mod answer;
mod measure;
mod mock;
mod proxy;

use clap::{Parser, Subcommand};

/// Mock upstream and closed-loop client for measuring proxies.
#[derive(Parser)]
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
    Measure(measure::Arguments),
}

fn main() -> std::process::ExitCode {
    let result = match Arguments::parse().verb {
        Verb::Mock(arguments) => mock::run(&arguments).map_err(|error| error.to_string()),
        Verb::Proxy(arguments) => proxy::run(&arguments).map_err(|error| error.to_string()),
        Verb::Measure(arguments) => measure::run(&arguments),
    };
    match result {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(message) => {
            anstream::eprintln!("bench: {message}");
            std::process::ExitCode::FAILURE
        }
    }
}
