//! Collects the trace of a turn while it runs. Nothing here waits or writes: the finished trace goes to a bounded
//! queue.

use std::time::{Duration, Instant};

use callwright_telemetry::{Operation, OperationKind};
use callwright_types::memory::Recalled;
use callwright_types::trace::{Attempt, Execution};
use callwright_types::{
    Diagnosis, FaultCode, Plan, RepairNote, SecretValues, Trace, TurnActions, TurnOutcome, UnjudgedReason, Verdict,
};

/// The trace of a running turn, and its clock.
#[derive(Debug)]
pub(crate) struct TurnRecord {
    /// The trace so far; stages add to it.
    pub(crate) trace: Trace,
    arrived: Instant,
    /// Time spent at upstreams and tool APIs.
    pub(crate) elsewhere: Duration,
    /// Whether policy allows bodies to be stored.
    pub(crate) keep_bodies: bool,
    /// Number of rounds to which the model has reacted.
    answered_rounds: usize,
    /// Operations of auxiliary stages.
    pub(crate) operations: Vec<Operation>,
    /// Arguments that must not be stored.
    pub(crate) secrets: SecretValues,
    /// Whether the model was informed about a faulty call and has made no right one since.
    pub(crate) awaits_call: bool,
    /// Whether the last feedback requested the confirmation of a call, and the model intended none.
    is_declined: bool,
}

impl TurnRecord {
    /// Starts the record of a turn that arrived at `arrived` from what is known of it.
    pub(crate) fn open(trace: Trace, keep_bodies: bool, arrived: Instant) -> Self {
        Self {
            trace,
            arrived,
            elsewhere: Duration::ZERO,
            keep_bodies,
            answered_rounds: 0,
            operations: Vec::new(),
            secrets: SecretValues::default(),
            awaits_call: false,
            is_declined: false,
        }
    }

    /// Adds an upstream attempt that took `duration`.
    pub(crate) fn attempt(&mut self, attempt: Attempt, duration: Duration) {
        self.elsewhere += duration;
        self.trace.usage += attempt.usage;
        self.trace.attempts.push(attempt);
    }

    /// Adds concurrent executions that took `duration` in total.
    pub(crate) fn executions(&mut self, executions: Vec<Execution>, duration: Duration) {
        self.elsewhere += duration;
        self.trace.executions.extend(executions);
    }

    /// Adds an operation of an auxiliary stage that began at `started` and has just ended; `found` is the number of
    /// results.
    pub(crate) fn operation(&mut self, kind: OperationKind, started: Instant, found: usize) {
        let started_after = started.saturating_duration_since(self.arrived);
        self.operations.push(Operation { kind, started_after, took: started.elapsed(), found });
    }

    /// Adds procedures that were found for the request, without duplicates.
    pub(crate) fn procedures(&mut self, found: impl IntoIterator<Item = Recalled>) {
        let Some(memory) = &mut self.trace.memory else { return };
        for recalled in found {
            if memory.procedures.iter().all(|known| known.id != recalled.id) {
                memory.procedures.push(recalled);
            }
        }
    }

    /// Completes the open rounds with the model's next text and action. Each round is completed once: an empty answer
    /// leaves its fields empty.
    pub(crate) fn complete_rounds(&mut self, thought: Option<&str>, new_action: Option<&str>) {
        for round in self.trace.record.iter_mut().skip(self.answered_rounds) {
            round.thought = thought.map(str::to_owned);
            round.new_action = new_action.map(str::to_owned);
        }
        self.answered_rounds = self.trace.record.len();
    }

    /// Records feedback to the model; `awaits_call` is whether it is about a faulty call.
    pub(crate) fn sent_back(&mut self, awaits_call: bool) {
        self.trace.actions.sent_back += 1;
        self.awaits_call |= awaits_call;
        self.is_declined = false;
    }

    /// Records the difference between what the model gave and what left to the client or to APIs. Calls that left answer
    /// earlier feedback if `calls_left`.
    pub(crate) fn changed(&mut self, difference: TurnActions, calls_left: bool) {
        self.trace.actions.repaired |= difference.repaired;
        self.trace.actions.withheld |= difference.withheld;
        self.trace.actions.cut += difference.cut;
        self.awaits_call &= !calls_left;
    }

    /// Records that a part of the answer was not validated. The first reason is kept.
    pub(crate) fn unjudged(&mut self, reason: UnjudgedReason) {
        self.trace.unjudged.get_or_insert(reason);
    }

    /// Sets the outcome and the verdict that follows from it and from the actions so far.
    pub(crate) fn conclude(&mut self, outcome: TurnOutcome) {
        self.trace.conclude(outcome, self.trace.actions, self.is_declined);
    }

    /// Records that the last attempt declined to call: the proxy requested an empty answer, so it is no fault.
    pub(crate) fn declined(&mut self) {
        self.is_declined = true;
        if let Some(attempt) = self.trace.attempts.last_mut() {
            attempt.diagnoses.retain(|diagnosis| diagnosis.code != FaultCode::NoAnswer);
            if attempt.diagnoses.is_empty() && attempt.verdict.is_some() {
                attempt.verdict = Some(Verdict::Text);
            }
        }
    }

    /// Returns the time since the request arrived.
    pub(crate) fn elapsed(&self) -> Duration {
        self.arrived.elapsed()
    }

    /// Returns the elapsed time minus the time at upstreams and tool APIs.
    pub(crate) fn overhead(&self) -> Duration {
        self.elapsed().saturating_sub(self.elsewhere)
    }

    /// Stops the clock.
    pub(crate) fn end(&mut self) {
        self.trace.duration_ms = milliseconds(self.elapsed());
        self.trace.overhead_ms = milliseconds(self.overhead());
    }

    /// Returns the finished trace. This is the only place that removes data which policy does not allow to be stored.
    pub(crate) fn close(&mut self) -> &Trace {
        if !self.keep_bodies || self.secrets.is_incomplete() {
            redact(&mut self.trace);
        } else if !self.secrets.is_empty() {
            mask(&mut self.trace, &self.secrets);
        }
        &self.trace
    }
}

/// Converts a duration to milliseconds for traces and headers.
pub(crate) fn milliseconds(duration: Duration) -> f64 {
    // Rounded to microseconds.
    (duration.as_secs_f64() * 1_000_000.0).round() / 1_000.0
}

/// Masks secrets everywhere in the trace. Redacts a trace that cannot be masked.
fn mask(trace: &mut Trace, secrets: &SecretValues) {
    let masked = serde_json::to_value(&*trace).and_then(|mut value| {
        secrets.mask(&mut value);
        serde_json::from_value(value)
    });
    match masked {
        Ok(masked) => *trace = masked,
        Err(_) => redact(trace),
    }
}

/// Returns the facts of a diagnosis that no user, model or API wrote: for E1 the reason and the notation, which come
/// from closed lists.
fn unwritten(diagnosis: &Diagnosis) -> serde_json::Value {
    let mut kept = serde_json::Map::new();
    if diagnosis.code == FaultCode::NoCall {
        for fact in ["reason", "notation"] {
            kept.extend(diagnosis.facts.get(fact).map(|value| (fact.to_owned(), value.clone())));
        }
    }
    if kept.is_empty() { serde_json::Value::Null } else { kept.into() }
}

/// Removes all text from users, models and APIs.
fn redact(trace: &mut Trace) {
    trace.request = None;
    trace.answer = None;
    for attempt in &mut trace.attempts {
        for call in &mut attempt.calls {
            call.arguments.clear();
            // A model may write a whole call as the name.
            call.name = name_only(&call.name);
        }
        for diagnosis in attempt.diagnoses.iter_mut().chain(&mut attempt.advice) {
            // Messages and facts may quote values.
            diagnosis.message.clear();
            diagnosis.facts = unwritten(diagnosis);
            diagnosis.suggestion = None;
        }
        attempt.repairs.iter_mut().for_each(RepairNote::redact);
    }
    for observation in &mut trace.observed {
        observation.call.arguments.clear();
    }
    for execution in &mut trace.executions {
        execution.call.arguments.clear();
        execution.body = None;
        execution.doubt = None;
    }
    if let Some(note) = &mut trace.plan {
        // The data flow between tools is kept; texts and results are removed.
        note.plan = note.plan.take().map(Plan::without_values);
        note.reason.clear();
        note.notes.clear();
        for step in &mut note.steps {
            step.calls.iter_mut().for_each(|call| call.arguments.clear());
            step.repairs.iter_mut().for_each(RepairNote::redact);
        }
    }
    for round in &mut trace.record {
        round.action = name_only(&round.action);
        round.observation.clear();
        round.brief.clear();
        round.thought = None;
        round.new_action = round.new_action.as_deref().map(name_only);
    }
}

/// Returns `f` for `f({"a":1})`.
fn name_only(action: &str) -> String {
    action.split('(').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use callwright_common::json::Pointer;
    use callwright_types::trace::Round;
    use callwright_types::{Call, Diagnosis, FaultCode, Purpose, Repair, RepairKind, Usage};

    fn record(keep_bodies: bool) -> TurnRecord {
        let mut record = TurnRecord::open(callwright_types::trace::sample(), keep_bodies, Instant::now());
        let call = Call { id: "1".into(), name: "f".into(), arguments: r#"{"city":"canary"}"#.into() };
        record.trace.request = Some(json!({"messages": ["canary"]}));
        record.attempt(
            Attempt {
                purpose: Purpose::First,
                upstream: "u".into(),
                model: "m".into(),
                status: Some(200),
                outcome: "success".into(),
                request_id: None,
                verdict: Some(Verdict::Faulty),
                calls: vec![call.clone()],
                diagnoses: vec![Diagnosis {
                    code: FaultCode::Constraint,
                    call: 0,
                    path: Pointer::from("/city"),
                    message: "canary is not one of ...".into(),
                    facts: json!({"value": "canary"}),
                    suggestion: Some("canary".into()),
                }],
                advice: Vec::new(),
                repairs: vec![
                    RepairNote::from(&Repair {
                        kind: RepairKind::TypeCoerced,
                        call: 0,
                        path: Pointer::from("/city"),
                        from: json!("canary"),
                        to: json!(7),
                    }),
                    RepairNote::from(&Repair {
                        kind: RepairKind::ToolRenamed,
                        call: 0,
                        path: Pointer::root(),
                        from: json!("F(city=canary)"),
                        to: json!("f"),
                    }),
                ],
                usage: Usage { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3, cached_tokens: 0 },
                estimate: None,
                started_ms: 0.5,
                first_chunk_ms: None,
                duration_ms: 1.0,
            },
            Duration::from_millis(1),
        );
        record.trace.record.push(Round {
            kind: "static".into(),
            action: r#"f({"city":"canary"})"#.into(),
            observation: "canary".into(),
            brief: String::new(),
            thought: None,
            new_action: None,
        });
        record.complete_rounds(Some("canary"), Some(r#"g({"city":"canary"})"#));
        record
    }

    #[test]
    fn without_bodies_nothing_that_anyone_wrote_is_stored() {
        let mut record = record(false);
        let trace = record.close();
        let text = serde_json::to_string(&trace).unwrap();
        assert!(!text.contains("canary"), "{text}");
        assert_eq!(trace.record[0].new_action.as_deref(), Some("g"));
        let changes: Vec<_> = trace.attempts[0].repairs.iter().map(RepairNote::change).collect();
        assert_eq!(changes, [Some("string → integer".to_owned()), Some("F… → f".to_owned())]);
        assert_eq!(trace.attempts[0].diagnoses[0].path.as_str(), "/city");
    }

    #[test]
    fn only_the_next_answer_completes_a_round() {
        let mut record = record(true);
        let round = |action: &str| Round {
            kind: "dynamic".into(),
            action: action.into(),
            observation: "404".into(),
            brief: String::new(),
            thought: None,
            new_action: None,
        };
        record.trace.record.push(round("second"));
        record.complete_rounds(None, None);
        record.trace.record.push(round("third"));
        record.complete_rounds(Some("I see."), None);
        let trace = record.close();
        let thoughts: Vec<_> = trace.record.iter().map(|round| round.thought.as_deref()).collect();
        assert_eq!(thoughts, [Some("canary"), None, Some("I see.")]);
    }

    #[test]
    fn with_bodies_all_but_secrets_is_stored() {
        let mut record = record(true);
        let schema = json!({"properties": {"city": {"format": "password"}}});
        let mut secrets = SecretValues::default();
        secrets.note(&schema, &json!({"city": "canary"}));
        record.secrets = secrets;
        let trace = record.close();
        let text = serde_json::to_string(&trace).unwrap();
        assert!(!text.contains("canary") && text.contains("***"), "{text}");
        assert_eq!(trace.attempts[0].calls[0].arguments, r#"{"city":"***"}"#);
    }

    #[test]
    fn with_bodies_everything_is_stored_and_tokens_add_up() {
        let mut record = record(true);
        let trace = record.close();
        assert!(trace.request.is_some());
        assert_eq!(trace.record[0].thought.as_deref(), Some("canary"));
        assert_eq!(trace.usage.total_tokens, 3);
    }
}
