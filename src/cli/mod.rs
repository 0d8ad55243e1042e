//! Command line interface: one file per subcommand.
//!
//! Owns arguments, exit statuses and output. Must not contain logic that a server needs too.

mod approvals;
mod check;
mod config;
mod demo;
mod doctor;
mod errors;
mod explain;
mod health;
mod help;
mod init;
mod keys;
mod learn;
mod lessons;
mod operator;
mod output;
mod plain;
mod plan;
mod policy;
mod procedures;
mod procedures_import;
mod progress;
mod quickstart;
mod replay;
mod representations;
mod retrieve;
mod run;
mod scan;
mod self_description;
mod serve;
mod setup;
mod shared_arguments;
mod store;
mod table;
mod traces;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// An OpenAI-compatible proxy that validates, repairs and executes an agent's tool calls.
#[derive(Debug, Parser)]
#[command(name = "callwright", version, arg_required_else_help = true)]
struct CommandLine {
    #[command(subcommand)]
    verb: CliVerb,
}

#[derive(Debug, Subcommand)]
enum CliVerb {
    /// Run the proxy until SIGTERM or SIGINT.
    Serve(serve::ServeArguments),
    /// Run a coding agent through the proxy, and report what was judged and changed: `callwright run -- codex`.
    Run(run::RunArguments),
    /// Write a configuration and a policy for a provider and an OpenAPI document. On a terminal it prompts for missing
    /// flags.
    Init(init::InitArguments),
    /// Run sample conversations with and without the proxy. Model and APIs are samples, too: no key, no network, no
    /// file.
    Demo(demo::DemoArguments),
    /// Report which operations of OpenAPI documents become tools, and how to improve the documents for models. Exit
    /// status 1 if a document cannot be loaded, or has a finding of `--deny`.
    Check(check::CheckArguments),
    /// Validate recorded model answers offline, as the proxy would: JSON Lines in, JSON Lines out. Exit status 1 if a
    /// line could not be used.
    Scan(scan::ScanArguments),
    /// Report what a policy would have done with recorded turns, before it is switched from `shadow` to `guard`. Exit
    /// status 1 if a line could not be used.
    Replay(replay::ReplayArguments),
    /// Explain recorded API failures offline with a folder of documentation: JSON Lines in, JSON Lines out. Exit status
    /// 1 if a line could not be used.
    Explain(explain::ExplainArguments),
    /// Rank tools for recorded requests offline, as the proxy would: JSON Lines in, JSON Lines out. Exit status 1 if a
    /// line could not be used.
    Retrieve(retrieve::RetrieveArguments),
    /// Plan tool calls for recorded requests offline, or list the tools that can supply the arguments of others: JSON
    /// Lines in, JSON Lines out. Exit status 1 if a line could not be used.
    Plan(plan::PlanArguments),
    /// Learn tool representations, notes and procedures from labelled or recorded data.
    #[command(subcommand)]
    Learn(learn::LearnAction),
    /// List, show, export and follow the traces of a running proxy.
    #[command(subcommand)]
    Traces(traces::TracesAction),
    /// List and decide on calls that wait for a person's approval in a running proxy.
    #[command(subcommand)]
    Approvals(approvals::ApprovalsAction),
    /// List, show and retire the learned lessons of a running proxy.
    #[command(subcommand)]
    Lessons(lessons::LessonsAction),
    /// Create, list, change, rotate and revoke virtual keys of clients.
    Keys(keys::KeysArguments),
    /// Export, import, delete or restore stored data.
    Store(store::StoreArguments),
    /// List, show and remove learned procedures.
    Procedures(procedures::ProceduresArguments),
    /// List, share and withdraw tool representations that replicas share.
    Representations(representations::RepresentationsArguments),
    /// Validate the configuration.
    #[command(subcommand)]
    Config(config::ConfigAction),
    /// Validate and explain policies.
    #[command(subcommand)]
    Policy(policy::PolicyAction),
    /// Check what the proxy needs: configuration, documents, providers and their keys, store, clock, limits. An
    /// existing store is opened and migrated, as `serve` would. Exit status 1 if a check fails.
    Doctor(doctor::DoctorArguments),
    /// Query the health of a running proxy. Exit status 1 if it is unhealthy.
    Health(health::HealthArguments),
    /// Print a shell completion script.
    Completions(self_description::CompletionsArguments),
    /// Print the manual page.
    Man(self_description::ManArguments),
    /// Print the OpenAPI description of the proxy's own API.
    Openapi,
}

/// Parses the arguments (the program's name first), runs the subcommand, and prints errors.
///
/// Returns exit status 0 for success, 1 for a failure, 2 for invalid arguments, 3 if nothing was learned.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let parsed = help::grouped(CommandLine::command()).try_get_matches_from(arguments);
    let arguments = match parsed.and_then(|matches| CommandLine::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(error) => return errors::usage(&error),
    };
    let result = match arguments.verb {
        CliVerb::Serve(arguments) => serve::run(arguments),
        CliVerb::Run(arguments) => run::run(arguments),
        CliVerb::Init(arguments) => init::run(arguments),
        CliVerb::Demo(arguments) => demo::run(arguments),
        CliVerb::Check(arguments) => check::run(&arguments),
        CliVerb::Scan(arguments) => scan::run(arguments),
        CliVerb::Replay(arguments) => replay::run(arguments),
        CliVerb::Explain(arguments) => explain::run(arguments),
        CliVerb::Retrieve(arguments) => retrieve::run(arguments),
        CliVerb::Plan(arguments) => plan::run(arguments),
        CliVerb::Learn(arguments) => learn::run(arguments),
        CliVerb::Traces(arguments) => traces::run(arguments),
        CliVerb::Approvals(arguments) => approvals::run(arguments),
        CliVerb::Lessons(arguments) => lessons::run(arguments),
        CliVerb::Keys(arguments) => keys::run(arguments),
        CliVerb::Store(arguments) => store::run(arguments),
        CliVerb::Procedures(arguments) => procedures::run(arguments),
        CliVerb::Representations(arguments) => representations::run(arguments),
        CliVerb::Config(arguments) => config::run(arguments),
        CliVerb::Policy(arguments) => policy::run(arguments),
        CliVerb::Doctor(arguments) => doctor::run(arguments),
        CliVerb::Health(arguments) => health::run(arguments),
        CliVerb::Completions(arguments) => self_description::print_completions(&arguments, CommandLine::command()),
        CliVerb::Man(arguments) => self_description::print_man(&arguments, CommandLine::command()),
        CliVerb::Openapi => self_description::print_api(),
    };
    match result.and_then(|()| Ok(output::finish()?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if output::is_closed_pipe(error.as_ref()) => ExitCode::SUCCESS,
        Err(error) => errors::failure(error.as_ref()),
    }
}
