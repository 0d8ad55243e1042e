//! The report after the client has ended: what was judged and changed, with the ids of the traces.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::Value;

use crate::cli::operator::{OperatorClient, Pages, text};
use crate::cli::plain;
use crate::cli::traces::TRACES;
use callwright_common::limits::LISTED_ROWS;
use callwright_types::trace::{Attempt, Trace};

/// Verdicts of turns in which nothing was found.
const UNREMARKABLE: [&str; 3] = ["clean", "text", "unguarded"];

/// Returns the report on the turns since `started`.
///
/// # Errors
/// If the proxy does not answer.
pub(super) async fn since(client: &OperatorClient, started: Timestamp) -> Result<String, String> {
    let mut pages = Pages::new(client, TRACES, vec![("since", started.to_string())], 0);
    let mut traces = pages.next().await?;
    traces.reverse();
    let mut report = counted(&traces, !pages.is_done);
    let remarkable: Vec<&Value> =
        traces.iter().filter(|trace| !UNREMARKABLE.contains(&text(trace, "verdict").as_str())).collect();
    for row in remarkable.iter().take(LISTED_ROWS) {
        let trace: Trace = client.get(&TRACES.item(&text(row, "id")), &[]).await?;
        report.push_str(&describe(&trace));
    }
    if let Some(others) = remarkable.len().checked_sub(LISTED_ROWS).filter(|others| *others > 0) {
        // Writing to a string cannot fail.
        let _ = writeln!(report, "  and {others} more");
    }
    Ok(report)
}

/// Returns the number of turns by verdict.
fn counted(traces: &[Value], are_more: bool) -> String {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for trace in traces {
        *counts.entry(text(trace, "verdict")).or_default() += 1;
    }
    let counts: Vec<String> =
        counts.iter().map(|(verdict, count)| format!("{count} {}", plain::text(verdict))).collect();
    let least = if are_more { "at least " } else { "" };
    match traces.len() {
        0 => "no turn reached the proxy\n".to_owned(),
        1 => format!("1 turn: {}\n", counts.join(", ")),
        turns => format!("{least}{turns} turns: {}\n", counts.join(", ")),
    }
}

/// Describes a turn by its repairs and faults.
fn describe(trace: &Trace) -> String {
    let mut text = format!("  {} {}\n", trace.id, trace.verdict.label());
    for line in trace.attempts.iter().flat_map(lines) {
        let _ = writeln!(text, "    {}", plain::text(&line));
    }
    text
}

fn lines(attempt: &Attempt) -> Vec<String> {
    let tool = |call: usize| attempt.calls.get(call).map_or("the answer", |call| call.name.as_str());
    let repairs = attempt.repairs.iter().map(|repair| {
        let change = repair.change().map(|change| format!(": {change}")).unwrap_or_default();
        format!("{} {}{}{change}", repair.kind.label(), tool(repair.call), repair.path.as_str())
    });
    let faults = attempt.diagnoses.iter().map(|fault| format!("{}: {}", fault.code, fault.message));
    repairs.chain(faults).collect()
}
