//! A plan run in a turn: the state of the plan, and its note in the trace.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use callwright_judge::scanner::Expectations;
use callwright_plan::progress::{Progress, ProgressStep};
use callwright_types::{Call, Outcome, Plan, PlanNote, PlanResult, PlanStep, RepairNote};

use super::answer::JudgedAnswer;
use super::run_results::RanCall;
use super::turn::Turn;

/// A plan that a turn follows.
#[derive(Debug)]
pub(crate) struct PlanRun {
    pub(crate) standing: PlanRunState,
    pub(crate) waiting: WaitingPlan,
    /// Key under which the plan was stored while it waited for the client.
    pub(crate) found_by: Option<String>,
    /// Events of this turn, for the trace.
    pub(crate) note: PlanNote,
}

/// The stored part of a plan that waits for the client's return.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct WaitingPlan {
    pub(crate) progress: Progress,
    pub(crate) reason: String,
    /// Id of the procedure that was the template.
    #[serde(default)]
    pub(crate) procedure: Option<String>,
    /// Inputs requested from the user: tools and their parameters.
    #[serde(default)]
    pub(crate) asked: Vec<(String, String)>,
    /// Whether a call waits for approval.
    #[serde(default)]
    pub(crate) unapproved: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlanRunState {
    /// The plan determines the next step.
    UnderWay,
    /// The upstream answers: a call waits for approval, and the model has to inform the user.
    Held,
    /// The plan has ended.
    Over(PlanResult),
}

impl PlanRun {
    /// Creates a plan run without any progress.
    pub(crate) fn begin(plan: Plan, reason: String) -> Self {
        let progress = Progress::begin(plan);
        let waiting = WaitingPlan { progress, reason, procedure: None, asked: Vec::new(), unapproved: false };
        Self { standing: PlanRunState::UnderWay, waiting, found_by: None, note: PlanNote::default() }
    }

    /// Creates a plan run from a plan stored under this key.
    pub(crate) fn found(waiting: WaitingPlan, key: String) -> Self {
        Self { standing: PlanRunState::UnderWay, waiting, found_by: Some(key), note: PlanNote::default() }
    }

    pub(crate) fn is_under_way(&self) -> bool {
        self.standing == PlanRunState::UnderWay
    }

    pub(crate) fn end(&mut self, result: PlanResult, note: impl Into<String>) {
        self.standing = PlanRunState::Over(result);
        let note = note.into();
        if !note.is_empty() {
            self.note.notes.push(note);
        }
    }

    /// Gives the plan up because of the diagnoses of its calls.
    pub(crate) fn refuse(&mut self, judged: &JudgedAnswer) {
        let faults: Vec<&str> = judged.diagnoses().map(|diagnosis| diagnosis.message.as_str()).collect();
        self.end(PlanResult::GivenUp, format!("its calls are faulty: {}", faults.join("; ")));
    }

    /// Records the plan's calls and their repairs.
    pub(crate) fn record_calls(&mut self, judged: &JudgedAnswer) {
        let calls: Vec<Call> = judged.calls().map(|call| call.repaired.clone()).collect();
        for call in &calls {
            if let Ok(arguments) = serde_json::from_str(&call.arguments) {
                self.waiting.progress.set_arguments(&call.id, arguments);
            }
        }
        let repairs = judged.calls().flat_map(|call| call.repairs.iter().map(RepairNote::from)).collect();
        if !calls.is_empty() {
            self.note.steps.push(PlanStep { calls, repairs });
        }
    }

    /// Records the outcomes of calls that the proxy ran. A failure that other arguments cannot correct, such as a
    /// refused credential, ends the plan.
    pub(crate) fn ran(&mut self, ran: &[RanCall]) {
        for result in ran {
            let id = &result.checked.call().id;
            let progress = &mut self.waiting.progress;
            let is_planned = match (&result.outcome, &result.explanation) {
                (Outcome::Answered(answer), None) => progress.answered(id, value_of(&answer.body)),
                (Outcome::Unapproved(_), _) if progress.reset(id) => {
                    (self.standing, self.waiting.unapproved) = (PlanRunState::Held, true);
                    true
                }
                _ => progress.failed(id),
            };
            let failed = result.explanation.is_some() || !matches!(result.outcome, Outcome::Answered(_));
            if is_planned && failed && !result.failed && !self.waiting.unapproved {
                self.end(
                    PlanResult::GivenUp,
                    format!("{} failed, not because of its arguments", result.checked.call().name),
                );
            }
        }
    }

    /// Returns the expected sources of argument values for the remaining calls, as long as they are certain.
    pub(crate) fn expectations(&self) -> Option<Expectations> {
        match self.standing {
            PlanRunState::UnderWay | PlanRunState::Held => Some(self.waiting.progress.expectations()),
            // Other calls are possible then, but the received answers stay valid.
            PlanRunState::Over(PlanResult::GivenUp | PlanResult::Limit) => {
                let mut expectations = self.waiting.progress.expectations();
                expectations.expected.retain(|expected| !expected.values.is_empty());
                Some(expectations)
            }
            PlanRunState::Over(_) => None,
        }
    }

    /// Writes the current state of the plan into the trace.
    pub(crate) fn note(&self, turn: &mut Turn) {
        let progress = &self.waiting.progress;
        let result = match self.standing {
            PlanRunState::Over(result) => result,
            PlanRunState::Held => PlanResult::Handed,
            PlanRunState::UnderWay => match progress.next() {
                ProgressStep::RequestInputs(_) => PlanResult::Asked,
                ProgressStep::Done => PlanResult::Complete,
                _ => PlanResult::Handed,
            },
        };
        let mut made: Vec<String> = progress.answered_calls().into_iter().collect();
        made.sort_unstable();
        turn.record.trace.plan = Some(PlanNote {
            result,
            reason: self.waiting.reason.clone(),
            procedure: self.waiting.procedure.clone(),
            plan: Some(progress.plan().clone()),
            made,
            ..self.note.clone()
        });
    }
}

/// Returns the value of an answer: parsed JSON, or text.
pub(crate) fn value_of(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| Value::String(String::from_utf8_lossy(body).trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_json_or_a_text() {
        assert_eq!(value_of(br#"{"id": 1}"#), json!({"id": 1}));
        assert_eq!(value_of(b"P-17\n"), json!("P-17"));
        assert_eq!(value_of(b""), json!(""));
    }
}
