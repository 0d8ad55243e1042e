//! Reconciles a plan with the calls that the client really made. Only calls that depend on a deviating call are
//! affected.

use serde_json::Value;

use super::{PlanCallRecord, PlanCallState, Progress};
use callwright_types::{DeviationKind, PlanDeviation};

/// Call in the client's conversation since the plan started.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenCall {
    pub id: String,
    /// Name of the tool.
    pub tool: String,
    /// Arguments; `null` if they cannot be parsed.
    pub arguments: Value,
    /// Result that the client returned, as JSON if it is valid, else as text. `None` if there is none.
    pub result: Option<Value>,
    /// Whether the result reports a failure.
    pub failed: bool,
}

impl Progress {
    /// Updates the progress from the client's calls and returns the deviations from the plan. `is_clients` reports
    /// whether the client executes a tool's calls; others do not occur in its conversation.
    pub fn follow(&mut self, seen: &[SeenCall], is_clients: impl Fn(&str) -> bool) -> Vec<PlanDeviation> {
        let mut deviations = Vec::new();
        let labels: Vec<String> = self.plan.nodes().iter().map(|node| node.label.clone()).collect();
        for label in labels {
            // Removed together with an earlier call.
            let Some(node) = self.plan.node(&label) else { continue };
            if !is_clients(&node.tool) {
                continue;
            }
            let tool = node.tool.clone();
            let Some(record) = self.calls.get(&label).cloned() else {
                self.take_own_call(&label, &tool, seen);
                continue;
            };
            match seen.iter().find(|call| call.id == record.id) {
                Some(call) if call.result.is_some() => self.take_result(&label, &record, call, &mut deviations),
                None if !self.is_answer_seen(record.answer, seen) => {
                    // The answer never arrived, or was requested again.
                    self.calls.remove(&label);
                }
                _ => {
                    note(&mut deviations, DeviationKind::Skipped, &label);
                    self.drop_call(&label);
                }
            }
            self.take_repetition(&label, &tool, seen, &mut deviations);
        }
        deviations
    }

    /// Removes a call and all calls that depend on it.
    pub fn drop_call(&mut self, label: &str) {
        let others = self.calls.keys().filter(|other| *other != label).cloned().collect();
        let plan = self.plan.without(label, &others);
        self.calls.retain(|label, _| plan.node(label).is_some());
        self.plan = plan;
    }

    fn is_answer_seen(&self, answer: u32, seen: &[SeenCall]) -> bool {
        let mut of_answer = self.calls.values().filter(|record| record.answer == answer);
        of_answer.any(|record| seen.iter().any(|call| call.id == record.id))
    }

    fn take_result(
        &mut self,
        label: &str,
        record: &PlanCallRecord,
        call: &SeenCall,
        deviations: &mut Vec<PlanDeviation>,
    ) {
        let is_changed = call.arguments != record.arguments;
        if is_changed {
            note(deviations, DeviationKind::Changed, label);
        }
        self.learn(label, call, is_changed);
    }

    /// Handles a call that the client repeated under its own id: its last result counts.
    fn take_repetition(&mut self, label: &str, tool: &str, seen: &[SeenCall], deviations: &mut Vec<PlanDeviation>) {
        let Some(record) = self.calls.get(label).cloned() else { return };
        if let Some(again) = self.own_call(tool, &record.arguments, seen).cloned() {
            note(deviations, DeviationKind::Repeated, label);
            self.learn(label, &again, false);
        }
    }

    /// Handles a ready call that the client made by itself.
    fn take_own_call(&mut self, label: &str, tool: &str, seen: &[SeenCall]) {
        let Some(node) = self.plan.node(label) else { return };
        let Ok(arguments) = self.arguments(node).map(Value::Object) else { return };
        let Some(call) = self.own_call(tool, &arguments, seen).cloned() else { return };
        self.sent(label, &call.id, arguments);
        self.learn(label, &call, false);
    }

    /// Returns the client's latest answered call with these arguments that the plan did not request.
    fn own_call<'c>(&self, tool: &str, arguments: &Value, seen: &'c [SeenCall]) -> Option<&'c SeenCall> {
        seen.iter().rev().find(|call| {
            call.tool == tool && call.arguments == *arguments && call.result.is_some() && !self.is_planned(&call.id)
        })
    }

    fn is_planned(&self, id: &str) -> bool {
        self.calls.values().any(|record| record.id == id)
    }

    /// Records the result of a call. If the result changed, calls that used the previous one are reset and made again.
    fn learn(&mut self, label: &str, call: &SeenCall, is_changed: bool) {
        let Some(record) = self.calls.get_mut(label) else { return };
        let state = match &call.result {
            _ if call.failed => PlanCallState::Failed,
            Some(result) => PlanCallState::Answered(result.clone()),
            None => PlanCallState::Sent,
        };
        let was_answered = matches!(record.state, PlanCallState::Answered(_)) && record.state != state;
        if is_changed {
            record.arguments = call.arguments.clone();
        }
        record.state = state;
        if was_answered {
            let dependents: Vec<String> = self.plan.dependents(label).into_iter().map(str::to_owned).collect();
            self.calls.retain(|label, _| !dependents.contains(label));
        }
    }
}

fn note(deviations: &mut Vec<PlanDeviation>, kind: DeviationKind, call: &str) {
    deviations.push(PlanDeviation { kind, call: call.to_owned() });
}
