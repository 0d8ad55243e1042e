//! What an answer says about its turn: header fields, and the debug object.

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use crate::pipeline::record::milliseconds;
use crate::pipeline::turn::Turn;
use callwright_types::Trace;
use callwright_types::trace::Attempt;

/// Our id of the turn.
const TRACE_HEADER: HeaderName = HeaderName::from_static("x-callwright-trace");
/// The verdict on the answer.
const VERDICT_HEADER: HeaderName = HeaderName::from_static("x-callwright-verdict");
/// Upstream requests made.
const ATTEMPTS_HEADER: HeaderName = HeaderName::from_static("x-callwright-attempts");
/// Time that was neither the upstream's nor a tool API's.
const OVERHEAD_HEADER: HeaderName = HeaderName::from_static("x-callwright-overhead-ms");

/// What was done, for `x-callwright-debug`.
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

/// What each attempt has of something, with the attempt's number (from 1).
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
    /// Header fields of a whole answer.
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

    /// Header fields of a stream, whose head leaves before the rest is known.
    pub(crate) fn stream_headers(&self) -> HeaderMap {
        let mut headers = self.answer_headers.clone();
        if let Ok(id) = HeaderValue::from_str(&self.record.trace().id) {
            headers.insert(TRACE_HEADER, id);
        }
        headers
    }
}
