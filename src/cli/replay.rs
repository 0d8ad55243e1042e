//! `callwright replay`: reports what a policy would have done with recorded turns.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use super::errors::VerbResult;
use super::format::OutputFormat;
use super::progress::ProgressPrinter;
use super::scan::{rules, threads};
use callwright_offline::{self as offline, Fates, MAX_LINE_BYTES, Replay, ReplayJob, Row, Rows, grouped};
use callwright_types::FaultCode;

/// Maximum number of printed rows of a table; `--format json` has all.
const SHOWN_ROWS: usize = 20;

/// Maximum number of printed characters of a name.
const NAME_WIDTH: usize = 40;

/// Arguments of `replay`.
#[derive(Debug, Args)]
#[command(after_long_help = TRACES)]
pub(super) struct ReplayArguments {
    /// JSON Lines: traces as the operator API returns them, one or more per line. `-` is standard input.
    #[arg(long = "in", value_name = "FILE", default_value = "-")]
    traces: PathBuf,
    /// Policy file; its `scan`, `repair` and `limits` apply as in mode `guard`. Default: the built-in default policy.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// `text` as a table for people, `json` as one object.
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
    /// The upstream delivers native tool calls: text counts as a call only with the evidence of `repair.rescue.native`.
    #[arg(long)]
    native_tool_calls: bool,
    /// Number of threads. Default: one per core.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

/// Help text about traces.
const TRACES: &str = "\
To export traces of a proxy whose operator listener is 127.0.0.1:8788 (if a page has `next`, pass it as `cursor` for the following page):

  curl -s '127.0.0.1:8788/admin/traces?limit=1000' | jq -r '.traces[].id' |
    while read -r id; do curl -s \"127.0.0.1:8788/admin/traces/$id\"; echo; done > traces.jsonl

Pages of /admin/traces are accepted too: their turns count by verdict only.

Turns whose traces hold bodies (`record: {bodies: true}`) are judged again under the policy; the others count with the verdict \
that was recorded. Files may have any size; gzip is accepted. A line may have up to 64 MiB. Invalid lines are reported on standard \
error and skipped; the exit status is then 1.";

/// The help text states 64 MiB.
const _: () = assert!(MAX_LINE_BYTES == 64 << 20);

/// Error of a replay that completed but could not use some lines.
#[derive(Debug, thiserror::Error)]
#[error("{problems} of {lines} lines could not be used, or only in part; see the errors above")]
struct ReplayBadLines {
    problems: u64,
    lines: u64,
}

pub(super) fn run(arguments: ReplayArguments) -> VerbResult {
    let ReplayArguments { traces, policy, format, native_tool_calls, jobs } = arguments;
    let job = ReplayJob { traces, policy: rules(policy.as_deref())?, native_tool_calls, jobs: threads(jobs) };
    let replay = offline::replay(&job, &ProgressPrinter::new(false))?;
    let problems = replay.problems;
    let lines = replay.lines;
    let said = match format {
        OutputFormat::Text => table(&replay),
        OutputFormat::Json => serde_json::to_string(&replay.into_report())? + "\n",
    };
    match anstream::stdout().write_all(said.as_bytes()) {
        // A reader that closes the pipe early is not an error.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
        written => written?,
    }
    match problems {
        0 => Ok(()),
        _ => Err(ReplayBadLines { problems, lines }.into()),
    }
}

fn table(replay: &Replay) -> String {
    let mut text = format!("{}\n", replay.headline());
    let (turns, calls) = (replay.turns, replay.calls);
    heading(&mut text, "", &["turns", "share", "calls", "share"]);
    let mut line = |name: &str, of_turns: u64, of_calls: Option<u64>| {
        let mut cells = vec![grouped(of_turns), share(of_turns, turns.all())];
        cells.extend(of_calls.into_iter().flat_map(|count| [grouped(count), share(count, calls.all())]));
        row(&mut text, name, &cells);
    };
    line("text", turns.text, None);
    line("clean", turns.calling.clean, Some(calls.clean));
    line("repaired", turns.calling.repaired, Some(calls.repaired));
    line("sent back", turns.calling.sent_back, Some(calls.sent_back));
    line("handed over", turns.calling.handed_over, Some(calls.handed_over));
    line("not known", turns.unknown, None);
    line("all", turns.all(), Some(calls.all()));
    let counts = |text: &mut String, title: &str, counts: Vec<(String, u64)>| {
        if !counts.is_empty() {
            heading(text, title, &["count", "per 100 calls"]);
            for (name, count) in counts {
                row(text, &name, &[grouped(count), percent(count, calls.all())]);
            }
        }
    };
    counts(&mut text, "repairs", replay.repairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect());
    let codes = |found: &BTreeMap<FaultCode, u64>| {
        found.iter().map(|(code, count)| (format!("{code} {}", code.name()), *count)).collect()
    };
    counts(&mut text, "faults", codes(&replay.diagnoses));
    counts(&mut text, "only noted", codes(&replay.noted));
    rows(&mut text, "model", &replay.models);
    rows(&mut text, "tool", &replay.tools);
    for note in replay.notes() {
        let _ = write!(text, "\n{note}\n");
    }
    text
}

fn rows(text: &mut String, title: &str, rows: &Rows) {
    let rows = rows.sorted();
    if rows.is_empty() {
        return;
    }
    heading(text, title, &["calls", "clean", "repaired", "sent back", "handed over"]);
    let (shown, rest) = rows.split_at(rows.len().min(SHOWN_ROWS));
    shown.iter().for_each(|one| fates(text, &one.name, one.calls, &one.fates));
    if !rest.is_empty() {
        let sum = |count: fn(&Row) -> u64| rest.iter().map(count).sum::<u64>();
        let all = Fates {
            clean: sum(|row| row.fates.clean),
            repaired: sum(|row| row.fates.repaired),
            sent_back: sum(|row| row.fates.sent_back),
            handed_over: sum(|row| row.fates.handed_over),
        };
        fates(text, &format!("{} more", rest.len()), sum(|row| row.calls), &all);
    }
}

fn fates(text: &mut String, name: &str, calls: u64, fates: &Fates) {
    let Fates { clean, repaired, sent_back, handed_over } = *fates;
    let cells = [clean, repaired, sent_back, handed_over].map(|count| match count {
        0 => "0".to_owned(),
        _ => format!("{} ({})", grouped(count), share(count, calls)),
    });
    row(text, name, &[&[grouped(calls)], &cells[..]].concat());
}

fn heading(text: &mut String, title: &str, columns: &[&str]) {
    text.push('\n');
    row(text, title, &columns.iter().map(|column| (*column).to_owned()).collect::<Vec<_>>());
}

/// Appends one line: the name, then right-aligned columns.
fn row(text: &mut String, name: &str, cells: &[String]) {
    let mut shown: String = name.chars().take(NAME_WIDTH).collect();
    if name.chars().nth(NAME_WIDTH).is_some() {
        shown.pop();
        shown.push('…');
    }
    let _ = write!(text, "{shown:<NAME_WIDTH$}");
    for cell in cells {
        let _ = write!(text, "{cell:>18}");
    }
    text.push('\n');
}

fn share(count: u64, all: u64) -> String {
    format!("{} %", percent(count, all))
}

#[expect(clippy::cast_precision_loss, reason = "a share for people")]
fn percent(count: u64, all: u64) -> String {
    if all == 0 { "-".to_owned() } else { format!("{:.1}", count as f64 * 100.0 / all as f64) }
}
