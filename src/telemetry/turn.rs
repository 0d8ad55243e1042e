//! What a finished turn adds to the metrics. All of it is read off the trace, so that metrics and traces agree.

use std::time::Duration;

use super::Metrics;
use super::labels::{AttemptOutcome, ExecutionOutcome, Exhausted, FeedbackKind, Purpose, Stage, TokenKind, TurnMode};
use crate::domain::trace::{Attempt, Execution};
use crate::domain::{Trace, Verdict};

impl Metrics {
    /// Counts a finished turn: its verdict, upstream attempts, tokens, judged calls, diagnoses, repairs, feedback,
    /// executions, explanations and own time. (Requests, times to the first chunk and single stages are metered where they
    /// happen.)
    pub fn turn_ended(&self, trace: &Trace) {
        let mode = TurnMode::of(&trace.mode).unwrap_or(TurnMode::Off);
        self.turns.inc(mode, trace.verdict);
        self.overhead.observe(Stage::Turn, milliseconds(trace.overhead_ms));
        for attempt in &trace.attempts {
            self.attempt(attempt, mode);
        }
        for execution in &trace.executions {
            self.execution(execution);
        }
        if mode != TurnMode::Off {
            self.tools_offered.observe(trace.tools_offered.len() as f64);
            self.feedback(trace);
        }
    }

    fn attempt(&self, attempt: &Attempt, mode: TurnMode) {
        let outcome = AttemptOutcome::of(&attempt.outcome).unwrap_or(AttemptOutcome::Other);
        self.upstream_attempts.inc(&attempt.upstream, outcome);
        self.upstream_duration.observe(milliseconds(attempt.duration_ms).as_secs_f64());
        let purpose = Purpose::of(&attempt.purpose).unwrap_or(Purpose::Other);
        self.tokens.add(TokenKind::Prompt, purpose, attempt.usage.prompt_tokens);
        self.tokens.add(TokenKind::Completion, purpose, attempt.usage.completion_tokens);
        for diagnosis in &attempt.diagnoses {
            self.diagnoses.inc(diagnosis.code);
        }
        for repair in &attempt.repairs {
            let repairs = if mode == TurnMode::Shadow { &self.shadow_repairs } else { &self.repairs };
            repairs.inc(repair.kind);
        }
        if attempt.verdict.is_some_and(|verdict| verdict != Verdict::Unguarded) {
            for (index, call) in attempt.calls.iter().enumerate() {
                self.calls_judged.inc(&call.name, call_verdict(attempt, index));
            }
        }
    }

    fn execution(&self, execution: &Execution) {
        let outcome = ExecutionOutcome::of(&execution.outcome).unwrap_or(ExecutionOutcome::Other);
        self.tool_executions.inc(&execution.call.name, outcome);
        self.tool_execution_duration.observe(milliseconds(execution.duration_ms).as_secs_f64());
        if let Some(explanation) = &execution.explanation {
            self.explanations.inc(explanation.is_hit());
        }
    }

    fn feedback(&self, trace: &Trace) {
        for (kind, purpose) in
            [(FeedbackKind::Static, Purpose::StaticFeedback), (FeedbackKind::Dynamic, Purpose::DynamicFeedback)]
        {
            let rounds = trace.attempts.iter().filter(|attempt| Purpose::of(&attempt.purpose) == Some(purpose)).count();
            self.feedback_rounds.observe_number(kind, rounds as f64);
        }
        if let Some(limit) = &trace.exhausted {
            self.feedback_exhausted.inc(Exhausted::of(limit).unwrap_or(Exhausted::Other));
        }
    }
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

/// Milliseconds of a trace, which may be anything where a trace was read from outside.
fn milliseconds(number: f64) -> Duration {
    Duration::try_from_secs_f64(number / 1_000.0).unwrap_or_default()
}
