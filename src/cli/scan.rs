//! `callwright scan`: judges recorded model answers as the proxy would.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::errors::{BadLines, VerbResult};
use super::progress::answer_lines;
use super::setup::{load_policy, runtime};
use super::shared_arguments::EmbeddingArguments;
use callwright_lab::{self as offline, MAX_LINE_BYTES, ScanJob, ScanSummary};
use callwright_policy::{Policy, PolicyError};
use callwright_types::rules::UnknownParameters;

/// Arguments of `scan`.
#[derive(Debug, Args)]
#[command(after_long_help = LINES)]
pub(super) struct ScanArguments {
    /// JSON Lines {"id","tools"}: the tools offered for each question. Not needed if every line of --in has its own
    /// tools.
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    /// JSON Lines {"id","question" or "tools","message"}: the answers. `-` is standard input.
    #[arg(long = "in", value_name = "FILE", default_value = "-")]
    answers: PathBuf,
    /// Output file of the verdicts, one line per answer in input order. `-` is standard output.
    #[arg(long = "out", value_name = "FILE", default_value = "-")]
    verdicts: PathBuf,
    /// Policy file; its `scan` and `repair` rules apply, whatever its mode. Default: the built-in default policy, but with
    /// `scan.unknown_parameters: refuse`, so that figures of different versions and of papers compare.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// The answers come from an upstream that delivers native tool calls: text counts as a call only with the evidence
    /// of `repair.rescue.native` instead of `repair.rescue.text`.
    #[arg(long)]
    native_tool_calls: bool,
    #[command(flatten)]
    vectors: EmbeddingArguments,
}

/// Help text about the line formats.
const LINES: &str = "\
Lines of --tools: {\"id\", \"tools\": [tools as a request offers them]}.
Lines of --in: {\"id\", \"question\": an id of --tools, \"message\": the assistant's message}, or with \"tools\" in place of \"question\". \
Optional members that affect the verdict, as in a request or a choice: \"messages\" (the preceding conversation), \"tool_choice\", \
\"response_format\", \"finish_reason\". Other members are ignored.
Lines of --out: {\"id\", \"verdict\": \"text|clean|repaired|faulty\", \"calls\": [{\"name\", \"arguments\"}], \
\"diagnoses\": [{\"code\", \"call\", \"path\", \"message\"}], \"actions\": [repairs as text]}. The calls are those after repair. \
Faults that the policy only notes are in \"advice\" instead of \"diagnoses\".

Files may have any size; gzip input is accepted, and the output is gzip if the name of --out ends in .gz. A line may have up to 64 MiB. \
Invalid lines are reported on standard error and skipped; the exit status is then 1. A summary goes to standard error.";

/// The help text states 64 MiB.
const _: () = assert!(MAX_LINE_BYTES == 64 << 20);

pub(super) fn run(arguments: ScanArguments) -> VerbResult {
    let ScanArguments { tools, answers, verdicts, policy, native_tool_calls, vectors } = arguments;
    let runtime = runtime()?;
    let policy = policy_of(policy.as_deref())?;
    let embedder = vectors.embedder(None)?;
    let job = ScanJob { tools, answers, policy, native_tool_calls, embedder, verdicts };
    answer_lines(&job.verdicts, |progress| offline::scan(&job, runtime.handle(), progress), print, bad_lines)
}

/// Returns the policy of a file, or the default policy with unknown parameters as faults: the tables of docs/benchmarks and
/// those of the papers count them so.
fn policy_of(file: Option<&Path>) -> Result<Policy, PolicyError> {
    let mut policy = load_policy(file)?;
    if file.is_none() {
        policy.scan.unknown_parameters = UnknownParameters::Refuse;
    }
    Ok(policy)
}

fn bad_lines(summary: &ScanSummary) -> BadLines {
    BadLines { problems: summary.problems, lines: summary.problems + summary.records() }
}

fn print(summary: &ScanSummary, took: Duration) {
    let records = summary.records();
    let rate = records as f64 / took.as_secs_f64().max(f64::EPSILON);
    anstream::eprintln!(
        "{records} answers with {} calls in {:.1} s ({rate:.0} a second)",
        summary.calls,
        took.as_secs_f64()
    );
    print_counts("verdicts", summary.verdicts.iter().map(|(name, count)| ((*name).to_owned(), *count)));
    print_counts("diagnoses", summary.codes.iter().map(|(code, count)| (format!("{code} {}", code.name()), *count)));
    print_counts("only noted", summary.noted.iter().map(|(code, count)| (format!("{code} {}", code.name()), *count)));
    print_counts("repairs", summary.repairs.iter().map(|(name, count)| ((*name).to_owned(), *count)));
}

fn print_counts(title: &str, counts: impl Iterator<Item = (String, u64)>) {
    let counts: Vec<String> = counts.map(|(name, count)| format!("{name} {count}")).collect();
    if !counts.is_empty() {
        anstream::eprintln!("  {title}: {}", counts.join(", "));
    }
}
