//! Records of a line: traces, lists of traces, and pages of the operator API.

use std::path::Path;

use serde::Deserialize;
use serde_json::Deserializer;
use serde_json::value::RawValue;

use crate::OfflineError;
use crate::lines::{LinesRead, each_line};
use callwright_common::progress::ProgressObserver;
use callwright_types::{Trace, Verdict};

/// Record of a turn.
pub(crate) enum TraceRecord {
    /// Full trace.
    Trace(Box<Trace>),
    /// Entry of a list.
    Summary(ListedTrace),
}

/// Used members of a list entry.
#[derive(Debug, Deserialize)]
pub(crate) struct ListedTrace {
    pub(crate) mode: String,
    pub(crate) policy: String,
    pub(crate) verdict: Verdict,
    #[serde(default)]
    findings: Vec<ListedFinding>,
}

/// Finding of a list entry.
#[derive(Debug, Deserialize)]
struct ListedFinding {
    kind: String,
}

impl ListedTrace {
    /// Whether a turn in shadow mode has repairs, and no fault that would have been sent back.
    pub(crate) fn would_have_been_repaired(&self) -> bool {
        self.has("shadow_repair") && !self.has("fault")
    }

    fn has(&self, kind: &str) -> bool {
        self.findings.iter().any(|finding| finding.kind == kind)
    }
}

/// Members that distinguish the forms of a line.
#[derive(Deserialize)]
struct TraceRecordForm<'a> {
    #[serde(borrow, default)]
    traces: Option<Vec<&'a RawValue>>,
    /// A list in a trace, a number in a summary.
    #[serde(borrow, default)]
    attempts: Option<&'a RawValue>,
}

const NO_TRACE: &str = "this is not a trace from `GET /admin/traces/{id}`";

/// Calls `take` with every trace of a file. Unusable lines are reported to the observer and counted.
pub fn each_trace(
    path: &Path,
    take: &mut dyn FnMut(&Trace),
    observer: &dyn ProgressObserver,
) -> Result<LinesRead, OfflineError> {
    each_line(path, observer, |_, text| {
        read(text, |record| {
            if let TraceRecord::Trace(trace) = record {
                take(&trace);
            }
        })
    })
}

/// Calls `each` with every record of a line. Several values on one line are read in sequence, because pages fetched
/// into one file often lack line breaks.
///
/// # Errors
/// The error of the first unusable record; the others are used.
pub(crate) fn read(line: &str, mut each: impl FnMut(TraceRecord)) -> Result<(), String> {
    let mut outcome = Ok(());
    for value in Deserializer::from_str(line).into_iter::<&RawValue>() {
        let value = value.map_err(|error| match error.is_eof() {
            true => "the line ends in the middle of its JSON; a record must be on one line".to_owned(),
            false => format!("the line is not valid JSON: see column {}", error.column()),
        })?;
        for record in records(value)? {
            match read_one(record) {
                Ok(record) => each(record),
                Err(message) => outcome = outcome.and(Err(message)),
            }
        }
    }
    outcome
}

fn records(value: &RawValue) -> Result<Vec<&RawValue>, String> {
    if value.get().starts_with('[') {
        return serde_json::from_str(value.get()).map_err(|_| NO_TRACE.to_owned());
    }
    let form: TraceRecordForm<'_> = serde_json::from_str(value.get()).map_err(|_| NO_TRACE)?;
    Ok(form.traces.unwrap_or_else(|| vec![value]))
}

fn read_one(record: &RawValue) -> Result<TraceRecord, String> {
    let form: TraceRecordForm<'_> = serde_json::from_str(record.get()).map_err(|_| NO_TRACE)?;
    let read = if form.attempts.is_some_and(|attempts| attempts.get().parse::<u64>().is_err()) {
        serde_json::from_str(record.get()).map(|trace| TraceRecord::Trace(Box::new(trace)))
    } else {
        serde_json::from_str(record.get()).map(TraceRecord::Summary)
    };
    read.map_err(|error| {
        let text = error.to_string();
        // Other messages may quote user data.
        let missing = text.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
        missing.map_or_else(|| NO_TRACE.to_owned(), |name| format!("{NO_TRACE}: it has no `{name}`"))
    })
}
