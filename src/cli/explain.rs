//! `callwright explain`: recorded failures of APIs, with the sentences of the documentation that explain them.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::embedding::EmbeddingArguments;
use super::errors::{BadLines, VerbResult};
use super::lines::answer_lines;
use super::scan::threads;
use crate::config;
use callwright_offline::{self as offline, ExplainJob, ExplainSummary};

/// Arguments of `explain`.
#[derive(Debug, Args)]
#[command(after_long_help = LINES)]
pub(super) struct Arguments {
    /// The folder of documentation: the stem of a file's name is what a line's `api` names.
    #[arg(long, value_name = "DIR")]
    docs: PathBuf,
    /// JSON Lines {"id","api","operation"?,"status"?,"body"}: the failures. `-` is standard input.
    #[arg(long = "in", value_name = "FILE", default_value = "-")]
    failures: PathBuf,
    /// Where the passages go, one line for each failure, in the same order. `-` is standard output.
    #[arg(long = "out", value_name = "FILE", default_value = "-")]
    explanations: PathBuf,
    #[command(flatten)]
    embedding: EmbeddingArguments,
    /// Write beside the passages where each of them stands and how sure it is: `sources` and `scores`.
    #[arg(long)]
    details: bool,
    /// Threads that search; without it, one for each core.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

/// What `--help` says about the lines.
const LINES: &str = "\
Lines of --in: {\"id\", \"api\": a file of --docs without its ending, \"operation\": what was called, \"status\": the HTTP status, \
\"body\": what the API answered, as JSON or as a string}. `operation` and `status` may be absent; \"arguments\" may say what the \
operation was called with. Other members are ignored.
Lines of --out: {\"id\", \"passages\": [the sentences that explain it, best first; none where nothing is sure enough]}.

Files may be of any size; gzip is understood, and written where the name of --out ends in .gz. A line may have 64 MiB. \
Lines that cannot be used are named on standard error and left out; the status is 1 then. A summary goes to standard error.";

pub(super) fn run(arguments: Arguments) -> VerbResult {
    let Arguments { docs, failures, explanations, embedding, details, jobs } = arguments;
    let settings = config::Settings::default().explain;
    let embedder = embedding.embedder()?;
    let job = ExplainJob { docs, failures, explanations, settings, embedder, details, jobs: threads(jobs) };
    let runtime = super::runtime()?;
    let lines = |summary: &ExplainSummary| {
        let ExplainSummary { problems, records, .. } = *summary;
        BadLines { problems, lines: problems + records }
    };
    answer_lines(&job.explanations, |progress| offline::explain(&job, runtime.handle(), progress), print, lines)
}

fn print(summary: &ExplainSummary, took: Duration) {
    let ExplainSummary { apis, indexed, records, explained, passages, characters, .. } = summary;
    anstream::eprintln!("{indexed} passages of {apis} APIs are documented");
    let mean = characters / passages.max(&1);
    anstream::eprintln!(
        "{records} failures in {:.1} s: {explained} explained, by {passages} passages of {mean} characters on average",
        took.as_secs_f64()
    );
}
