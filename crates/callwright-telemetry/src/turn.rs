//! Metrics of a finished turn. All of them are derived from the trace, so that metrics and traces agree.

use std::time::Duration;

use super::Metrics;
use super::labels::{AttemptOutcome, ExecutionOutcome, FeedbackKind, OTHER, Stage, TokenKind, UnsureResult};
use callwright_types::rules::Mode;
use callwright_types::trace::{Attempt, Execution};
use callwright_types::{Diagnosis, Explanation, Protocol, Purpose, RepairKind, Trace, UnjudgedReason, Verdict};

impl Metrics {
    /// Counts a finished turn: its verdict, upstream attempts, tokens, evaluated calls, diagnoses, repairs, feedback,
    /// executions, explanations and overhead. Requests, times to the first chunk and single stages are recorded where
    /// they happen.
    pub fn turn_ended(&self, trace: &Trace) {
        let mode = trace.mode;
        self.turns.inc(mode, trace.verdict);
        self.result(trace, mode);
        self.protocol_turns.inc(Protocol::of_endpoint(&trace.endpoint), trace.verdict);
        self.overhead.observe(Stage::Turn, milliseconds(trace.overhead_ms));
        for attempt in &trace.attempts {
            self.attempt(attempt, mode);
            if attempt.verdict.is_some_and(|verdict| verdict != Verdict::Unguarded) {
                self.calls(attempt, &trace.tools_offered);
            }
        }
        self.unsure(trace);
        for execution in &trace.executions {
            self.execution(execution);
        }
        if let Some(plan) = &trace.plan {
            self.plans.inc(plan.result);
            for repair in plan.steps.iter().flat_map(|step| &step.repairs) {
                self.repairs.inc(repair.kind);
            }
        }
        // Observations of earlier turns were counted there.
        for observation in trace.observed.iter().filter(|observation| !observation.again) {
            self.explanations.inc(observation.explanation.as_ref().is_some_and(Explanation::is_hit));
        }
        if mode != Mode::Off {
            self.tools_offered.observe(trace.tools_offered.len() as f64);
            if let Some(change) = trace.offer.as_ref().and_then(|offer| offer.prefix_change) {
                self.tool_prefix_changes.inc(change);
            }
            self.feedback(trace);
        }
    }

    /// Counts outcome and actions. Reasons that concern single answers are counted where they happen.
    fn result(&self, trace: &Trace, mode: Mode) {
        if let Some(outcome) = trace.outcome {
            self.turn_outcomes.inc(mode, outcome);
            trace.actions.taken().for_each(|action| self.turn_actions.inc(mode, action));
        }
        if let Some(verdict) = trace.shadow_verdict {
            self.shadow_turns.inc(verdict);
        }
        if let Some(reason @ (UnjudgedReason::Schema | UnjudgedReason::ModeOff)) = trace.unjudged {
            self.unjudged_answers.inc(reason);
        }
    }

    fn attempt(&self, attempt: &Attempt, mode: Mode) {
        let outcome = AttemptOutcome::of(&attempt.outcome).unwrap_or(AttemptOutcome::Other);
        self.upstream_attempts.inc(&attempt.upstream, outcome);
        self.upstream_duration.observe(milliseconds(attempt.duration_ms).as_secs_f64());
        self.tokens.add(TokenKind::Prompt, attempt.purpose, attempt.usage.prompt_tokens);
        self.tokens.add(TokenKind::Completion, attempt.purpose, attempt.usage.completion_tokens);
        for diagnosis in &attempt.diagnoses {
            self.diagnoses.inc(diagnosis.code);
        }
        for diagnosis in &attempt.advice {
            self.advice.inc(diagnosis.code);
        }
        for repair in &attempt.repairs {
            let repairs = if mode == Mode::Shadow { &self.shadow_repairs } else { &self.repairs };
            repairs.inc(repair.kind);
        }
    }

    /// Counts the evaluated calls of an attempt by tool and by model.
    fn calls(&self, attempt: &Attempt, offered: &[String]) {
        let (upstream, model) = (attempt.upstream.as_str(), attempt.model.as_str());
        for (index, call) in attempt.calls.iter().enumerate() {
            let (tool, verdict) = (tool_meant(attempt, index, &call.name), call_verdict(attempt, index));
            if offered.iter().any(|name| name == tool) {
                self.client_tool_called(tool);
            }
            self.calls_judged.inc(tool, verdict);
            self.model_calls.inc(upstream, model, verdict.label());
        }
        for diagnosis in &attempt.diagnoses {
            self.model_diagnoses.inc(upstream, model, diagnosis.code.code());
        }
        for repair in attempt.repairs.iter().filter(|repair| repair.kind == RepairKind::Rescued) {
            self.rescued_calls.inc(upstream, model, repair.from.as_str().unwrap_or(OTHER));
        }
    }

    fn unsure(&self, trace: &Trace) {
        for (index, attempt) in trace.attempts.iter().enumerate() {
            if !attempt.diagnoses.iter().chain(&attempt.advice).any(Diagnosis::is_unsure) {
                continue;
            }
            let next = trace.attempts.get(index + 1).filter(|next| next.purpose == Purpose::Confirmation);
            self.unsure_answers.inc(match next {
                None => UnsureResult::Text,
                Some(next) if next.calls.is_empty() => UnsureResult::Declined,
                Some(_) => UnsureResult::Confirmed,
            });
        }
    }

    fn execution(&self, execution: &Execution) {
        let outcome = ExecutionOutcome::of(&execution.outcome).unwrap_or(ExecutionOutcome::Other);
        self.tool_executions.inc(&execution.call.name, outcome);
        self.tool_execution_duration.observe(milliseconds(execution.duration_ms).as_secs_f64());
        if let Some(fault) = execution.credential {
            self.credential_faults.inc(&execution.toolset, fault);
        }
        if let Some(reason) = execution.reason {
            self.calls_refused.inc(&execution.toolset, reason);
        }
        if let Some(explanation) = &execution.explanation {
            self.explanations.inc(explanation.is_hit());
        }
    }

    fn feedback(&self, trace: &Trace) {
        for (kind, purpose) in
            [(FeedbackKind::Static, Purpose::StaticFeedback), (FeedbackKind::Dynamic, Purpose::DynamicFeedback)]
        {
            let rounds = trace.attempts.iter().filter(|attempt| attempt.purpose == purpose).count();
            self.feedback_rounds.observe_number(kind, rounds as f64);
        }
        if let Some(limit) = trace.exhausted {
            self.feedback_exhausted.inc(limit);
        }
    }
}

/// Returns the tool that a call is for: a misspelt name counts for the tool to which it was repaired.
fn tool_meant<'a>(attempt: &'a Attempt, index: usize, made: &'a str) -> &'a str {
    let renamed = attempt.repairs.iter().find(|repair| repair.call == index && repair.kind == RepairKind::ToolRenamed);
    renamed.and_then(|repair| repair.to.as_str()).unwrap_or(made)
}

fn call_verdict(attempt: &Attempt, index: usize) -> Verdict {
    if attempt.diagnoses.iter().any(|diagnosis| diagnosis.call == index) {
        Verdict::Faulty
    } else if attempt.repairs.iter().any(|repair| repair.call == index) {
        Verdict::Repaired
    } else {
        Verdict::Clean
    }
}

/// Converts milliseconds of a trace, which may have any value if the trace is from outside.
fn milliseconds(number: f64) -> Duration {
    Duration::try_from_secs_f64(number / 1_000.0).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns a turn that received feedback once, executed a call that failed, and reached a limit.
    fn trace(mode: &str) -> Trace {
        let attempt = |purpose: &str, calls, diagnoses, repairs| {
            json!({"purpose": purpose, "upstream": "main", "model": "m", "status": 200, "outcome": "success", "verdict": "faulty",
                "calls": calls, "diagnoses": diagnoses, "repairs": repairs, "duration_ms": 20.0,
                "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}})
        };
        let call = |name: &str| json!({"id": "1", "name": name, "arguments": "{}"});
        let diagnosis = json!({"code": "E3.4", "call": 0, "path": "", "message": "", "facts": {}});
        let repair = json!({"kind": "type_coerced", "call": 1, "path": "/n", "from": "5", "to": 5});
        let rescued = json!({"kind": "rescued", "call": 0, "path": "", "from": "react", "to": "h"});
        serde_json::from_value(json!({
            "id": "a", "started_at": "2026-01-01T00:00:00Z", "endpoint": "/v1/chat/completions", "model": "m",
            "upstream": "main", "policy": "default", "mode": mode, "stream": false, "status": 200,
            "verdict": "faulty", "tools_offered": ["f", "g", "h"], "record": [], "exhausted": "static_feedback",
            "attempts": [
                attempt("first", json!([call("f"), call("g"), call("made_up")]), json!([diagnosis]), json!([repair])),
                attempt("static_feedback", json!([call("h")]), json!([]), json!([rescued])),
            ],
            "executions": [{"call": call("f"), "toolset": "t", "operation": "GET /", "outcome": "client_error",
                "explanation": {"passages": []}, "credential": "refused", "duration_ms": 5.0}],
            "observed": [
                {"call": call("g"), "rule": "error", "again": true, "done": "unexplained"},
                {"call": call("g"), "rule": "error", "done": "added",
                    "explanation": {"passages": [{"text": "a", "source": "b", "score": 1.0}]}},
            ],
            "plan": {"result": "given_up"},
            "usage": {}, "duration_ms": 50.0, "overhead_ms": 0.5,
        }))
        .unwrap()
    }

    fn counted(mode: &str) -> String {
        let metrics = Metrics::new();
        metrics.known_tools(["f", "g"]);
        metrics.known_upstreams(["main"]);
        metrics.catalog([("t", 2, 0)]);
        metrics.turn_ended(&trace(mode));
        metrics.render()
    }

    fn assert_holds(text: &str, series: &[&str]) {
        for line in series {
            let line = format!("callwright_{line}");
            assert!(text.lines().any(|found| found == line), "missing: {line}\n{text}");
        }
    }

    #[test]
    fn everything_that_a_trace_says_is_counted() {
        assert_holds(
            &counted("guard"),
            &[
                r#"turns_total{mode="guard",verdict="faulty"} 1"#,
                r#"upstream_attempts_total{outcome="success",upstream="main"} 2"#,
                "upstream_duration_seconds_count 2",
                r#"tokens_total{kind="prompt",purpose="first"} 7"#,
                r#"tokens_total{kind="completion",purpose="static_feedback"} 3"#,
                r#"calls_judged_total{tool="f",verdict="faulty"} 1"#,
                r#"calls_judged_total{tool="g",verdict="repaired"} 1"#,
                r#"calls_judged_total{tool="other",verdict="clean"} 1"#,
                r#"calls_judged_total{tool="h",verdict="repaired"} 1"#,
                r#"model_calls_total{model="m",upstream="main",verdict="repaired"} 2"#,
                r#"model_diagnoses_total{code="E3.4",model="m",upstream="main"} 1"#,
                r#"rescued_calls_total{model="m",notation="react",upstream="main"} 1"#,
                r#"repairs_total{kind="rescued"} 1"#,
                r#"diagnoses_total{code="E3.4"} 1"#,
                r#"repairs_total{kind="type_coerced"} 1"#,
                r#"shadow_repairs_total{kind="type_coerced"} 0"#,
                r#"feedback_rounds_sum{kind="static"} 1"#,
                r#"feedback_rounds_count{kind="dynamic"} 1"#,
                r#"feedback_exhausted_total{kind="static_feedback"} 1"#,
                r#"tool_executions_total{outcome="client_error",tool="f"} 1"#,
                "tool_execution_duration_seconds_sum 0.005",
                r#"credential_faults_total{fault="refused",toolset="t"} 1"#,
                r#"explanations_total{hit="false"} 1"#,
                r#"explanations_total{hit="true"} 1"#,
                r#"plans_total{result="given_up"} 1"#,
                "tools_offered_sum 3",
                r#"overhead_seconds_sum{stage="turn"} 0.0005"#,
            ],
        );
    }

    #[test]
    fn shadow_mode_counts_what_would_have_been() {
        assert_holds(
            &counted("shadow"),
            &[
                r#"turns_total{mode="shadow",verdict="faulty"} 1"#,
                r#"repairs_total{kind="type_coerced"} 0"#,
                r#"shadow_repairs_total{kind="type_coerced"} 1"#,
            ],
        );
    }

    #[test]
    fn labels_that_are_not_known_are_other() {
        let metrics = Metrics::new();
        let mut strange = trace("off");
        strange.attempts[0].outcome = "?".to_owned();
        strange.attempts[0].purpose = serde_json::from_value(json!("?")).unwrap();
        strange.attempts[0].duration_ms = f64::NAN;
        strange.executions[0].outcome = "?".to_owned();
        strange.executions[0].call.name = "?".to_owned();
        metrics.turn_ended(&strange);
        assert_holds(
            &metrics.render(),
            &[
                r#"upstream_attempts_total{outcome="other",upstream="other"} 1"#,
                r#"tokens_total{kind="prompt",purpose="other"} 7"#,
                r#"tool_executions_total{outcome="other",tool="other"} 1"#,
                r#"turns_total{mode="off",verdict="faulty"} 1"#,
            ],
        );
    }

    /// Replaces every label source in a trace by an unknown value.
    fn make_strange(trace: &mut Trace, mut invent: impl FnMut() -> String) {
        let calls = trace.attempts.iter_mut().flat_map(|attempt| &mut attempt.calls);
        calls.for_each(|call| call.name = invent());
        for attempt in &mut trace.attempts {
            (attempt.upstream, attempt.outcome) = (invent(), invent());
            attempt.model = invent();
        }
        for execution in &mut trace.executions {
            (execution.call.name, execution.toolset, execution.outcome) = (invent(), invent(), invent());
        }
        trace.observed.iter_mut().for_each(|observation| observation.call.name = invent());
        (trace.model, trace.upstream, trace.policy) = (invent(), invent(), invent());
    }

    #[test]
    fn a_hundred_thousand_random_names_in_traces_make_no_series() {
        const NAMES: usize = 100_000;
        let metrics = Metrics::new();
        metrics.known_tools(["f", "g"]);
        metrics.known_upstreams(["main"]);
        metrics.catalog([("t", 2, 0)]);
        let (mut random, mut invented) = (fastrand::Rng::with_seed(7), 0);
        let mut series = None;
        let mut strange = ["guard", "shadow"].map(trace);
        while invented < NAMES {
            for trace in &mut strange {
                make_strange(trace, || {
                    invented += 1;
                    format!("invented_{:x}", random.u64(..))
                });
                metrics.turn_ended(trace);
            }
            let now = || metrics.render().lines().filter(|line| !line.starts_with('#')).count();
            let first = *series.get_or_insert_with(now);
            if invented >= NAMES {
                assert_eq!(now(), first, "the first two turns made every series that there will be");
            }
        }
        let text = metrics.render();
        assert!(!text.contains("invented_"), "an invented name is a label");
        assert!(text.contains("tool=\"other\"") && text.contains("upstream=\"other\""), "{text}");
        assert!(text.contains("toolset=\"other\""), "{text}");
    }
}
