//! `callwright replay`: reports what a policy would have done with recorded turns.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::errors::VerbResult;
use super::progress::ProgressPrinter;
use super::setup::load_policy;
use super::shared_arguments::OutputFormat;
use super::table::{Column, TextTable};
use callwright_common::limits::LISTED_ROWS;
use callwright_lab::{self as offline, Fates, MAX_LINE_BYTES, Replay, ReplayJob, Rows, grouped};
use callwright_types::FaultCode;

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
    #[arg(long, value_enum, default_value_t)]
    format: OutputFormat,
    /// The upstream delivers native tool calls: text counts as a call only with the evidence of `repair.rescue.native`.
    #[arg(long)]
    native_tool_calls: bool,
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

pub(super) fn run(arguments: ReplayArguments) -> VerbResult {
    let ReplayArguments { traces, policy, format, native_tool_calls } = arguments;
    let job = ReplayJob { traces, policy: load_policy(policy.as_deref())?, native_tool_calls };
    let replay = offline::replay(&job, &ProgressPrinter::new(false))?;
    let (problems, lines) = (replay.problems, replay.lines);
    let report = match format {
        OutputFormat::Text => table(&replay),
        OutputFormat::Json => serde_json::to_string(&replay.into_report())? + "\n",
    };
    match anstream::stdout().write_all(report.as_bytes()) {
        // A reader that closes the pipe early is not an error.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
        written => written?,
    }
    match problems {
        0 => Ok(()),
        _ => {
            let message = "lines could not be used, or only in part; see the errors above";
            Err(format!("{problems} of {lines} {message}").into())
        }
    }
}

fn table(replay: &Replay) -> String {
    let mut table = TextTable::new([&[Column::Cut(40)][..], &[Column::Right(18); 5]].concat());
    table.line(&replay.headline());
    let (turns, calls) = (replay.turns, replay.calls);
    heading(&mut table, "", &["turns", "share", "calls", "share"]);
    for (name, of_turns, of_calls) in [
        ("text", turns.text, None),
        ("clean", turns.calling.clean, Some(calls.clean)),
        ("repaired", turns.calling.repaired, Some(calls.repaired)),
        ("sent back", turns.calling.sent_back, Some(calls.sent_back)),
        ("handed over", turns.calling.handed_over, Some(calls.handed_over)),
        ("not known", turns.unknown, None),
        ("all", turns.all(), Some(calls.all())),
    ] {
        let mut cells = vec![grouped(of_turns), share(of_turns, turns.all())];
        cells.extend(of_calls.into_iter().flat_map(|count| [grouped(count), share(count, calls.all())]));
        table.row(name, &cells);
    }
    let repairs = replay.repairs.iter().map(|(name, count)| ((*name).to_owned(), *count));
    counts(&mut table, "repairs", repairs.collect(), calls.all());
    counts(&mut table, "faults", named_codes(&replay.diagnoses), calls.all());
    counts(&mut table, "only noted", named_codes(&replay.noted), calls.all());
    rows(&mut table, "model", &replay.models);
    rows(&mut table, "tool", &replay.tools);
    for note in replay.notes() {
        table.line(&format!("\n{note}"));
    }
    table.into_text()
}

fn named_codes(counts: &BTreeMap<FaultCode, u64>) -> Vec<(String, u64)> {
    counts.iter().map(|(code, count)| (format!("{code} {}", code.name()), *count)).collect()
}

fn counts(table: &mut TextTable, title: &str, counts: Vec<(String, u64)>, all: u64) {
    if counts.is_empty() {
        return;
    }
    heading(table, title, &["count", "per 100 calls"]);
    for (name, count) in counts {
        table.row(&name, &[grouped(count), percent(count, all)]);
    }
}

fn rows(table: &mut TextTable, title: &str, rows: &Rows) {
    let rows = rows.sorted();
    if rows.is_empty() {
        return;
    }
    heading(table, title, &["calls", "clean", "repaired", "sent back", "handed over"]);
    let (shown, rest) = rows.split_at(rows.len().min(LISTED_ROWS));
    for row in shown {
        fates(table, &row.name, row.calls, &row.fates);
    }
    if rest.is_empty() {
        return;
    }
    let (mut calls, mut all) = (0, Fates::default());
    for row in rest {
        calls += row.calls;
        all.clean += row.fates.clean;
        all.repaired += row.fates.repaired;
        all.sent_back += row.fates.sent_back;
        all.handed_over += row.fates.handed_over;
    }
    fates(table, &format!("{} more", rest.len()), calls, &all);
}

fn fates(table: &mut TextTable, name: &str, calls: u64, fates: &Fates) {
    let Fates { clean, repaired, sent_back, handed_over } = *fates;
    let cells = [clean, repaired, sent_back, handed_over].map(|count| match count {
        0 => "0".to_owned(),
        _ => format!("{} ({})", grouped(count), share(count, calls)),
    });
    table.row(name, &[&[grouped(calls)], &cells[..]].concat());
}

fn heading(table: &mut TextTable, title: &str, columns: &[&str]) {
    table.line("");
    table.row(title, columns);
}

fn share(count: u64, all: u64) -> String {
    format!("{} %", percent(count, all))
}

fn percent(count: u64, all: u64) -> String {
    if all == 0 { "-".to_owned() } else { format!("{:.1}", count as f64 * 100.0 / all as f64) }
}
