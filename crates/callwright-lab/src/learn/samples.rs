//! Requests with their verified tools: from a file, or from traces.

use std::collections::HashSet;
use std::path::Path;

use serde::Deserialize;

use crate::OfflineError;
use crate::lines::{LinesRead, each_line, parse_line};
use crate::replay::reading::{TraceRecord, read};
use crate::representation::Sample;
use callwright_common::limits::WORD_CHARS;
use callwright_common::progress::ProgressObserver;
use callwright_common::text::{excerpt, nearest};
use callwright_memory::learning::MAX_QUERY_CHARS;
use callwright_types::memory::ToolSample;
use callwright_types::trace::Execution;
use callwright_types::{Protocol, Trace, Verdict};
use callwright_wire::RecordedAnswer;

/// Samples of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Samples {
    /// Distinct samples, in order.
    pub samples: Vec<Sample>,
    /// Unusable lines.
    pub problems: u64,
    pub lines: u64,
    /// Traces without a verified outcome: no call was judged right and succeeded, or the request is not recorded.
    pub unverified: u64,
    /// Stored samples that name unknown tools.
    pub strange: u64,
}

/// Label of an execution whose call succeeded.
const SUCCESS: &str = "success";

#[derive(Deserialize)]
struct SampleLine {
    query: Option<String>,
    tools: Option<Vec<String>>,
}

/// Known tools, for checking samples.
pub(super) struct KnownTools<'a> {
    /// Tool names.
    pub(super) tools: HashSet<&'a str>,
    /// Toolset of the tools, if they belong to one.
    pub(super) toolset: Option<&'a str>,
}

impl Samples {
    /// Reads lines `{"query", "tools"}`. Unusable lines are reported to the observer and counted.
    pub(super) fn read(
        path: &Path,
        known: &KnownTools<'_>,
        observer: &dyn ProgressObserver,
    ) -> Result<Self, OfflineError> {
        Self::each_line(path, observer, |text, samples| {
            samples.push(read_sample(text, known)?);
            Ok(())
        })
    }

    /// Reads exported traces. An executed call counts if the answer was judged right (clean, repaired, corrected) and
    /// the API accepted it. The query is the last user message.
    pub(super) fn read_traces(
        path: &Path,
        known: &KnownTools<'_>,
        observer: &dyn ProgressObserver,
    ) -> Result<Self, OfflineError> {
        let mut unverified = 0;
        let samples = Self::each_line(path, observer, |text, samples| {
            read(text, |record| match sample_of(&record, known) {
                Some(sample) => samples.push(sample),
                None => unverified += 1,
            })
        })?;
        Ok(Self { unverified, ..samples })
    }

    /// Takes samples from the store. A sample that names an unknown tool belongs to other tools and is skipped.
    pub(super) fn of_stored(stored: &[ToolSample], known: &KnownTools<'_>) -> Self {
        let mut samples = Self::default();
        for ToolSample { query, tools, .. } in stored {
            if tools.iter().all(|tool| known.tools.contains(tool.as_str())) {
                samples.samples.push(Sample { query: query.clone(), tools: tools.clone() });
            } else {
                samples.strange += 1;
            }
        }
        samples
    }

    /// Adds the samples of another file.
    pub(super) fn add(&mut self, others: Self) {
        self.samples.extend(others.samples);
        self.problems += others.problems;
        self.lines += others.lines;
        self.unverified += others.unverified;
        self.strange += others.strange;
    }

    /// Truncates long queries and removes duplicates, which would be in both training and validation samples.
    pub(super) fn tidy(&mut self) {
        let mut seen = HashSet::new();
        for sample in &mut self.samples {
            let end = beginning(&sample.query).len();
            sample.query.truncate(end);
        }
        self.samples.retain(|sample| seen.insert((sample.query.clone(), sample.tools.clone())));
    }

    fn each_line(
        path: &Path,
        observer: &dyn ProgressObserver,
        mut read: impl FnMut(&str, &mut Vec<Sample>) -> Result<(), String>,
    ) -> Result<Self, OfflineError> {
        let mut samples = Vec::new();
        let LinesRead { problems, lines } = each_line(path, observer, |_, text| read(text, &mut samples))?;
        Ok(Self { samples, problems, lines, unverified: 0, strange: 0 })
    }
}

/// Returns the part of a text to learn from.
pub(super) fn beginning(text: &str) -> &str {
    callwright_common::text::beginning(text, MAX_QUERY_CHARS)
}

fn read_sample(text: &str, known: &KnownTools<'_>) -> Result<Sample, String> {
    let line: SampleLine = parse_line(text, "a sample", "one object with `query` and `tools` on each line")?;
    let query = line.query.filter(|query| !query.trim().is_empty());
    let query = query.ok_or("there is no `query`; give what the user wrote")?;
    let mut tools: Vec<String> = Vec::new();
    let named = line.tools.ok_or("there are no `tools`; name those that serve the query, or give [] if none does")?;
    for tool in named {
        if !known.tools.contains(tool.as_str()) {
            let mut names: Vec<&str> = known.tools.iter().copied().collect();
            names.sort_unstable();
            let near = nearest(&tool, names).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            return Err(format!("there is no tool `{}` among --tools{near}", excerpt(&tool, WORD_CHARS)));
        }
        if !tools.contains(&tool) {
            tools.push(tool);
        }
    }
    Ok(Sample { query, tools })
}

/// Returns the sample of a trace; `None` without a verified outcome.
fn sample_of(record: &TraceRecord, known: &KnownTools<'_>) -> Option<Sample> {
    let TraceRecord::Trace(trace) = record else { return None };
    if !matches!(trace.verdict, Verdict::Clean | Verdict::Repaired | Verdict::Corrected) {
        return None;
    }
    let mut tools: Vec<String> = Vec::new();
    for execution in trace.executions.iter().filter(|execution| has_succeeded(execution, known)) {
        if !tools.contains(&execution.call.name) {
            tools.push(execution.call.name.clone());
        }
    }
    let query = last_user_message(trace).filter(|query| !query.trim().is_empty())?;
    (!tools.is_empty()).then_some(Sample { query, tools })
}

fn has_succeeded(execution: &Execution, known: &KnownTools<'_>) -> bool {
    let is_of_toolset = known.toolset.is_none_or(|toolset| toolset == execution.toolset);
    // An execution with an explanation counted as a failure, whatever its status.
    let is_success = execution.outcome == SUCCESS && execution.explanation.is_none();
    is_success && is_of_toolset && known.tools.contains(execution.call.name.as_str())
}

fn last_user_message(trace: &Trace) -> Option<String> {
    let request = trace.request.as_ref()?.to_string();
    RecordedAnswer::parse_in(Protocol::of_endpoint(&trace.endpoint), &request).ok()?.last_of_the_user()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn known() -> KnownTools<'static> {
        KnownTools { tools: HashSet::from(["pay", "refund"]), toolset: Some("bank") }
    }

    #[test]
    fn a_sample_has_a_query_and_existing_tools() {
        let sample = read_sample(r#"{"query": "pay it", "tools": ["pay", "pay"], "id": 7}"#, &known()).unwrap();
        assert_eq!(sample, Sample { query: "pay it".to_owned(), tools: vec!["pay".to_owned()] });
        let none = read_sample(r#"{"query": "hello", "tools": []}"#, &known()).unwrap();
        assert!(none.tools.is_empty(), "no tool serves it");
        let wrong = [
            ("7", "the line is not a sample"),
            (r#"{"query": " ", "tools": ["pay"]}"#, "there is no `query`"),
            (r#"{"query": "a"}"#, "there are no `tools`"),
            (r#"{"query": "a", "tools": "pay"}"#, "the line is not a sample"),
            (r#"{"query": "a", "tools": ["refnd"]}"#, "there is no tool `refnd` among --tools; did you mean `refund`?"),
        ];
        for (line, expected) in wrong {
            let error = read_sample(line, &known()).unwrap_err();
            assert!(error.contains(expected), "{line}: {error}");
        }
    }

    fn trace(change: impl FnOnce(&mut Value)) -> TraceRecord {
        let mut trace = json!({
            "id": "t", "started_at": "2026-01-01T00:00:00Z", "endpoint": "/v1/chat/completions", "model": "m", "upstream": "u",
            "policy": "default", "mode": "guard", "stream": false, "status": 200, "verdict": "clean", "tools_offered": ["pay"],
            "attempts": [], "record": [], "usage": {}, "duration_ms": 1.0, "overhead_ms": 1.0,
            "executions": [{
                "call": {"id": "c", "name": "pay", "arguments": "{}"}, "toolset": "bank", "operation": "POST /pay",
                "outcome": "success", "status": 200, "duration_ms": 1.0,
            }],
            "request": {"messages": [
                {"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"},
                {"role": "user", "content": "pay my bill"}, {"role": "assistant", "content": null},
            ]},
        });
        change(&mut trace);
        TraceRecord::Trace(Box::new(serde_json::from_value(trace).unwrap()))
    }

    #[test]
    fn a_trace_is_a_sample_if_its_call_was_right_and_succeeded() {
        let sample = Sample { query: "pay my bill".to_owned(), tools: vec!["pay".to_owned()] };
        for verdict in ["clean", "repaired", "corrected"] {
            let trace = trace(|trace| trace["verdict"] = verdict.into());
            assert_eq!(sample_of(&trace, &known()), Some(sample.clone()), "{verdict}");
        }
        let unsure: [fn(&mut Value); 8] = [
            |trace| trace["verdict"] = "faulty".into(),
            |trace| trace["verdict"] = "text".into(),
            |trace| trace["executions"] = json!([]),
            |trace| trace["executions"][0]["outcome"] = "client_error".into(),
            |trace| trace["executions"][0]["toolset"] = "shop".into(),
            |trace| trace["executions"][0]["call"]["name"] = "unknown".into(),
            |trace| trace["request"] = Value::Null,
            |trace| trace["request"]["messages"] = json!([{"role": "system", "content": "pay"}]),
        ];
        for (number, change) in unsure.into_iter().enumerate() {
            assert_eq!(sample_of(&trace(change), &known()), None, "{number}");
        }
    }
}
