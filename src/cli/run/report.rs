//! The report after the client has ended: what was judged and changed, with the ids of the traces.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use jiff::Timestamp;
use serde::Deserialize;

use crate::cli::operator::{OperatorClient, OperatorError, segment};
use crate::cli::plain;
use callwright_types::trace::{Attempt, Trace};

/// Maximum number of turns that are counted.
const MAX_TURNS: u32 = 1_000;

/// Maximum number of turns that are described.
const MAX_DESCRIBED: usize = 20;

#[derive(Deserialize)]
struct Page {
    traces: Vec<Row>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct Row {
    id: String,
    verdict: String,
}

/// Returns the report on the turns since `started`.
///
/// # Errors
/// If the proxy does not answer.
pub(super) async fn since(client: &OperatorClient, started: Timestamp) -> Result<String, OperatorError> {
    let query = [("since", started.to_string()), ("limit", MAX_TURNS.to_string())];
    let Page { mut traces, next } = client.get("/admin/traces", &query).await?;
    traces.reverse();
    let mut text = counted(&traces, next.is_some());
    let changed = traces.iter().filter(|row| !matches!(row.verdict.as_str(), "clean" | "text" | "unguarded"));
    let (mut described, all) = (0, changed.clone().count());
    for row in changed.take(MAX_DESCRIBED) {
        let trace: Trace = client.get(&format!("/admin/traces/{}", segment(&row.id)), &[]).await?;
        text.push_str(&describe(&trace));
        described += 1;
    }
    if described < all {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  and {} more", all - described);
    }
    Ok(text)
}

/// Returns the number of turns by verdict.
fn counted(traces: &[Row], are_more: bool) -> String {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for row in traces {
        *counts.entry(row.verdict.as_str()).or_default() += 1;
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
