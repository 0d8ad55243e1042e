//! Command line interface: one file per subcommand.
//!
//! Owns arguments, exit statuses and output. Must not contain logic that a server needs too.

mod asked_model;
mod check;
mod completions;
mod config;
mod demo;
mod doctor;
mod downloads;
mod embedding;
mod errors;
mod explain;
mod format;
mod health;
mod keys;
mod learn;
mod lines;
mod man;
mod memory_store;
mod own_tls;
mod plain;
mod plan;
mod policy;
mod procedures;
mod progress;
mod replay;
mod representations;
mod retrieve;
mod scan;
mod serve;
mod store;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// An OpenAI-compatible proxy that validates, repairs and executes an agent's tool calls.
#[derive(Debug, Parser)]
#[command(name = "callwright", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run the proxy until SIGTERM or SIGINT.
    Serve(serve::Arguments),
    /// Run sample conversations with a scripted model and three sample APIs through the proxy, and report the results.
    Demo(demo::Arguments),
    /// Report which operations of OpenAPI documents become tools, and how to improve the documents for models. Exit
    /// status 1 if a document cannot be loaded, or has a finding of `--deny`.
    Check(check::Arguments),
    /// Validate recorded model answers offline, as the proxy would: JSON Lines in, JSON Lines out. Exit status 1 if a
    /// line could not be used.
    Scan(scan::Arguments),
    /// Report what a policy would have done with recorded turns, before it is switched from `shadow` to `guard`. Exit
    /// status 1 if a line could not be used.
    Replay(replay::Arguments),
    /// Explain recorded API failures offline with a folder of documentation: JSON Lines in, JSON Lines out. Exit status
    /// 1 if a line could not be used.
    Explain(explain::Arguments),
    /// Rank tools for recorded requests offline, as the proxy would: JSON Lines in, JSON Lines out. Exit status 1 if a
    /// line could not be used.
    Retrieve(retrieve::Arguments),
    /// Plan tool calls for recorded requests offline, or list the tools that can supply the arguments of others: JSON
    /// Lines in, JSON Lines out. Exit status 1 if a line could not be used.
    Plan(plan::Arguments),
    /// Learn tool representations, notes and procedures from labelled or recorded data.
    Learn(learn::Arguments),
    /// Create, list, change, rotate and revoke virtual keys of clients.
    Keys(keys::Arguments),
    /// Export, import, delete or restore stored data.
    Store(store::Arguments),
    /// List, show and remove learned procedures.
    Procedures(procedures::Arguments),
    /// List, share and withdraw tool representations that replicas share.
    Representations(representations::Arguments),
    /// Validate the configuration.
    Config(config::Arguments),
    /// Validate and explain policies.
    Policy(policy::Arguments),
    /// Check what the proxy needs: configuration, documents, providers and their keys, store, clock, limits. An
    /// existing store is opened and migrated, as `serve` would. Exit status 1 if a check fails.
    Doctor(doctor::Arguments),
    /// Query the health of a running proxy. Exit status 1 if it is unhealthy.
    Health(health::Arguments),
    /// Print a shell completion script.
    Completions(completions::Arguments),
    /// Print the manual page.
    Man(man::Arguments),
}

/// Parses the arguments (the program's name first), runs the subcommand, and prints errors.
///
/// Returns exit status 0 for success, 1 for a failure, 2 for invalid arguments.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => return errors::usage(&error),
    };
    let result = match arguments.verb {
        Verb::Serve(arguments) => serve::run(arguments),
        Verb::Demo(arguments) => demo::run(arguments),
        Verb::Check(arguments) => check::run(&arguments),
        Verb::Scan(arguments) => scan::run(arguments),
        Verb::Replay(arguments) => replay::run(arguments),
        Verb::Explain(arguments) => explain::run(arguments),
        Verb::Retrieve(arguments) => retrieve::run(arguments),
        Verb::Plan(arguments) => plan::run(arguments),
        Verb::Learn(arguments) => learn::run(arguments),
        Verb::Keys(arguments) => keys::run(arguments),
        Verb::Store(arguments) => store::run(arguments),
        Verb::Procedures(arguments) => procedures::run(arguments),
        Verb::Representations(arguments) => representations::run(arguments),
        Verb::Config(arguments) => config::run(arguments),
        Verb::Policy(arguments) => policy::run(arguments),
        Verb::Doctor(arguments) => doctor::run(arguments),
        Verb::Health(arguments) => health::run(arguments),
        Verb::Completions(arguments) => completions::run(&arguments),
        Verb::Man(arguments) => man::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => errors::failure(error.as_ref()),
    }
}

/// Builds the runtime of subcommands that serve or send requests, with one worker per core.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()
}
