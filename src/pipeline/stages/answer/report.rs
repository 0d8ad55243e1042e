//! Reports about the turn in an answer: header fields, and the debug object.

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use crate::pipeline::record::milliseconds;
use crate::pipeline::turn::Turn;
use callwright_types::Trace;
use callwright_types::trace::Attempt;

/// Trace id of the turn.
const TRACE_HEADER: HeaderName = HeaderName::from_static("x-callwright-trace");
/// Verdict on the answer.
const VERDICT_HEADER: HeaderName = HeaderName::from_static("x-callwright-verdict");
/// Number of upstream requests.
const ATTEMPTS_HEADER: HeaderName = HeaderName::from_static("x-callwright-attempts");
/// Overhead of the proxy: time without the upstream's and tool APIs'.
const OVERHEAD_HEADER: HeaderName = HeaderName::from_static("x-callwright-overhead-ms");

/// Returns the debug object for `x-callwright-debug`.
pub(super) fn debug(turn: &Turn) -> Value {
    let trace = turn.record.trace();
    json!({
        "trace": trace.id,
        "policy": trace.policy,
        "mode": trace.mode,
        "verdict": trace.verdict,
        "tools_offered": trace.tools_offered,
        "offer": trace.offer,
        "attempts": trace.attempts.len(),
        "diagnoses": of_attempts(trace, |attempt| json!(attempt.diagnoses)),
        "advice": of_attempts(trace, |attempt| json!(attempt.advice)),
        "repairs": of_attempts(trace, |attempt| json!(attempt.repairs)),
        "executions": trace.executions.iter().map(|execution| json!({
            "call": execution.call,
            "operation": execution.operation,
            "outcome": execution.outcome,
            "status": execution.status,
            "explanation": execution.explanation,
        })).collect::<Vec<_>>(),
        "observed": trace.observed,
        "plan": trace.plan,
        "record": trace.record,
        "exhausted": trace.exhausted,
        "usage": trace.usage,
    })
}

/// Collects items of all attempts, each with the attempt's number (from 1).
fn of_attempts(trace: &Trace, what: impl Fn(&Attempt) -> Value) -> Vec<Value> {
    let numbered = trace.attempts.iter().enumerate().flat_map(|(number, attempt)| {
        let Value::Array(items) = what(attempt) else { return Vec::new() };
        items
            .into_iter()
            .map(|mut item| {
                item["attempt"] = json!(number + 1);
                item
            })
            .collect()
    });
    numbered.collect()
}

impl Turn {
    /// Returns the header fields of a complete answer.
    pub(super) fn answer_headers(&self) -> HeaderMap {
        let trace = self.record.trace();
        let mut headers = self.stream_headers();
        headers.insert(VERDICT_HEADER, HeaderValue::from_static(trace.verdict.label()));
        headers.insert(ATTEMPTS_HEADER, HeaderValue::from(trace.attempts.len()));
        let overhead = HeaderValue::from_str(&format!("{:.3}", milliseconds(self.record.overhead())));
        if let Ok(overhead) = overhead {
            headers.insert(OVERHEAD_HEADER, overhead);
        }
        headers
    }

    /// Returns the header fields of a stream. Its head is sent before the verdict is known.
    pub(crate) fn stream_headers(&self) -> HeaderMap {
        let mut headers = self.answer_headers.clone();
        if let Ok(id) = HeaderValue::from_str(&self.record.trace().id) {
            headers.insert(TRACE_HEADER, id);
        }
        headers
    }
}
