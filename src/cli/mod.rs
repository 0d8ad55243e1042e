//! The command line: one file per verb.
//!
//! Owns arguments, exit statuses and what is printed. Must not hold logic that a server needs too.

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

/// An OpenAI-compatible proxy that makes an agent's tool calls come out right.
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
    /// Play conversations with a scripted model and three sample APIs through the proxy, and tell what happened.
    Demo(demo::Arguments),
    /// Read OpenAPI documents and report what of them can be used as tools, and what would make models use those better. Status 1 where
    /// a document cannot be loaded at all, or has what `--deny` names.
    Check(check::Arguments),
    /// Judge recorded answers of models as the proxy would, without a server: JSON Lines in, JSON Lines out. Status 1 where a line
    /// could not be used.
    Scan(scan::Arguments),
    /// Tell what a policy would have done with recorded turns, before it is switched from `shadow` to `guard`. Status 1 where a line
    /// could not be used.
    Replay(replay::Arguments),
    /// Explain recorded failures of APIs from a folder of documentation, without a server: JSON Lines in, JSON Lines out. Status 1 where
    /// a line could not be used.
    Explain(explain::Arguments),
    /// Rank tools for recorded requests as the proxy would, without a server: JSON Lines in, JSON Lines out. Status 1 where a line could
    /// not be used.
    Retrieve(retrieve::Arguments),
    /// Tell for recorded requests which tools can supply the arguments of others, without a model: JSON Lines in, JSON Lines out. Status 1
    /// where a line could not be used.
    Plan(plan::Arguments),
    /// Learn when tools are wanted from requests whose right tools are known.
    Learn(learn::Arguments),
    /// Make, list, change, rotate and revoke the keys that clients use.
    Keys(keys::Arguments),
    /// Move, delete or take back what is stored.
    Store(store::Arguments),
    /// Look at the procedures that were learned, and remove some.
    Procedures(procedures::Arguments),
    /// Look at what replicas share of tools' representations, share more, or take some back.
    Representations(representations::Arguments),
    /// Look at the configuration.
    Config(config::Arguments),
    /// Look at the policies.
    Policy(policy::Arguments),
    /// Look at what the proxy needs: configuration, documents, providers and their keys, store, clock, limits. A store that is there is opened and
    /// brought up to date, as `serve` would. Status 1 where something is missing.
    Doctor(doctor::Arguments),
    /// Ask a running proxy whether it is well. Status 1 where it is not.
    Health(health::Arguments),
    /// Print what completes these verbs in a shell.
    Completions(completions::Arguments),
    /// Print the manual.
    Man(man::Arguments),
}

/// Parses the arguments (the program's name first), does what the verb says, prints errors.
///
/// Status 0 for success, 1 for a failure, 2 for arguments that are no command.
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

/// The runtime of verbs that serve or ask: one worker per core.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()
}
