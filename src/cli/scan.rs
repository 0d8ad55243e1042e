//! `callwright scan`: judges recorded model answers as the proxy would.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::embedding::VectorArguments;
use super::errors::{BadLines, VerbResult};
use super::lines::answer_lines;
use callwright_judge::repair::Notations;
use callwright_offline::{self as offline, MAX_LINE_BYTES, ScanJob, ScanSummary};
use callwright_policy::{self as policy, Policy};
use callwright_types::FaultCode;

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
    /// Policy file; its `scan` and `repair` rules apply, whatever its mode. Default: the built-in default policy.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// The answers come from an upstream that delivers native tool calls: text counts as a call only with the evidence
    /// of `repair.rescue.native` instead of `repair.rescue.text`.
    #[arg(long)]
    native_tool_calls: bool,
    #[command(flatten)]
    vectors: VectorArguments,
    /// TOML file with notations to recognise in addition to the built-in ones.
    #[arg(long, value_name = "FILE")]
    notations: Option<PathBuf>,
    /// Number of threads. Default: one per core.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
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
    let ScanArguments { tools, answers, verdicts, policy, native_tool_calls, vectors, notations, jobs } = arguments;
    let notations = notations.map_or_else(|| Ok(Notations::built_in().clone()), |file| Notations::from_file(&file))?;
    let runtime = super::runtime()?;
    let (policy, jobs) = (rules(policy.as_deref())?, threads(jobs));
    let embedder = vectors.embedder()?;
    let job = ScanJob { tools, answers, policy, native_tool_calls, notations, embedder, jobs, verdicts };
    let lines = |summary: &ScanSummary| {
        let problems = summary.problems;
        BadLines { problems, lines: problems + summary.records() }
    };
    answer_lines(&job.verdicts, |progress| offline::scan(&job, runtime.handle(), progress), print, lines)
}

/// Loads the policy of a file, or the built-in default.
pub(super) fn rules(file: Option<&Path>) -> Result<Policy, policy::PolicyError> {
    file.map_or_else(|| Ok(Policy::default()), policy::load_file)
}

/// Returns the requested number of threads, or the number of cores.
pub(super) fn threads(asked: Option<NonZeroUsize>) -> usize {
    asked.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get)
}

fn print(summary: &ScanSummary, took: Duration) {
    let records = summary.records();
    let rate = per_second(records, took);
    anstream::eprintln!(
        "{records} answers with {} calls in {:.1} s ({rate:.0} a second)",
        summary.calls,
        took.as_secs_f64()
    );
    let line = |title: &str, counts: Vec<(String, u64)>| {
        if !counts.is_empty() {
            let counts: Vec<String> = counts.into_iter().map(|(name, count)| format!("{name} {count}")).collect();
            anstream::eprintln!("  {title}: {}", counts.join(", "));
        }
    };
    let named = |(name, count): (&&str, &u64)| ((*name).to_owned(), *count);
    line("verdicts", summary.verdicts.iter().map(named).collect());
    let codes = |found: &BTreeMap<FaultCode, u64>| {
        found.iter().map(|(code, count)| (format!("{code} {}", code.name()), *count)).collect()
    };
    line("diagnoses", codes(&summary.codes));
    line("only noted", codes(&summary.noted));
    line("repairs", summary.repairs.iter().map(named).collect());
}

fn per_second(records: u64, took: Duration) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let records = records as f64;
    records / took.as_secs_f64().max(f64::EPSILON)
}
