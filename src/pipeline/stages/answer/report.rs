//! The debug object in an answer.

use serde_json::{Value, json};

use crate::pipeline::state::Turn;
use callwright_types::Trace;
use callwright_types::trace::Attempt;

/// Returns the debug object for `x-callwright-debug`.
pub(super) fn debug(turn: &Turn) -> Value {
    let trace = &turn.record.trace;
    json!({
        "trace": trace.id,
        "policy": trace.policy,
        "mode": trace.mode,
        "verdict": trace.verdict,
        "outcome": trace.outcome,
        "actions": trace.actions,
        "unjudged": trace.unjudged,
        "shadow_verdict": trace.shadow_verdict,
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
            "reason": execution.reason,
            "remedy": execution.remedy,
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
