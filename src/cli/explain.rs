//! `callwright explain`: explains recorded API failures with sentences of the documentation.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::errors::{BadLines, VerbResult};
use super::progress::answer_lines;
use super::setup::runtime;
use super::shared_arguments::EmbeddingArguments;
use callwright_explain::Settings;
use callwright_lab::{self as offline, ExplainJob, ExplainSummary};

/// Arguments of `explain`.
#[derive(Debug, Args)]
#[command(after_long_help = LINES)]
pub(super) struct ExplainArguments {
    /// Documentation folder. The file stem is the name that a line's `api` refers to.
    #[arg(long, value_name = "DIR")]
    docs: PathBuf,
    /// JSON Lines {"id","api","operation"?,"status"?,"body"}: the failures. `-` is standard input.
    #[arg(long = "in", value_name = "FILE", default_value = "-")]
    failures: PathBuf,
    /// Output file of the passages, one line per failure in input order. `-` is standard output.
    #[arg(long = "out", value_name = "FILE", default_value = "-")]
    explanations: PathBuf,
    #[command(flatten)]
    embedding: EmbeddingArguments,
    /// Also write the location (`sources`) and the confidence (`scores`) of each passage.
    #[arg(long)]
    details: bool,
}

/// Help text about the line formats.
const LINES: &str = "\
Lines of --in: {\"id\", \"api\": a file of --docs without its extension, \"operation\": the called operation, \"status\": the HTTP status, \
\"body\": the API's answer, as JSON or as a string}. `operation` and `status` may be absent; \"arguments\" may hold the \
arguments of the call. Other members are ignored. A member of another form is left out, with one warning for each API. \
Members that are the same in most bodies of an API do not count, unless the lines come from standard input.
Lines of --out: {\"id\", \"passages\": [the sentences that explain it, best first; empty if none is certain enough]}.

Files may have any size; gzip input is accepted, and the output is gzip if the name of --out ends in .gz. A line may have up to 64 MiB. \
Invalid lines are reported on standard error and skipped; the exit status is then 1. A summary goes to standard error.";

pub(super) fn run(arguments: ExplainArguments) -> VerbResult {
    let ExplainArguments { docs, failures, explanations, embedding, details } = arguments;
    let settings = Settings::default();
    let embedder = embedding.embedder(None)?;
    let job = ExplainJob { docs, failures, explanations, settings, embedder, details };
    let runtime = runtime()?;
    answer_lines(&job.explanations, |progress| offline::explain(&job, runtime.handle(), progress), print, bad_lines)
}

fn bad_lines(&ExplainSummary { problems, records, .. }: &ExplainSummary) -> BadLines {
    BadLines { problems, lines: problems + records }
}

fn print(summary: &ExplainSummary, took: Duration) {
    let ExplainSummary { apis, indexed, records, explained, passages, characters, .. } = summary;
    anstream::eprintln!("{indexed} passages of {apis} APIs indexed");
    let mean = characters / passages.max(&1);
    anstream::eprintln!(
        "{records} failures in {:.1} s: {explained} explained, by {passages} passages of {mean} characters on average",
        took.as_secs_f64()
    );
}
