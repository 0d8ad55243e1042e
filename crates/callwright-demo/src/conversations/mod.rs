//! Catalogue of the conversations and of the behaviour that each must show. Owns their texts and checks. Must not send
//! requests: `play` does.

mod calls;
mod memory;
mod plans;

use callwright_types::trace::{Attempt, Execution};
use callwright_types::{FaultCode, RepairKind, Trace};

use super::client_tool::OwnTool;

/// One conversation.
#[derive(Debug)]
pub(super) struct DemoConversation {
    /// Title.
    pub(super) title: &'static str,
    /// Explanation for the reader of the transcript.
    pub(super) about: &'static str,
    /// Requested model alias.
    pub(super) model: &'static str,
    /// First user message.
    pub(super) question: &'static str,
    /// Further user messages, each sent after the previous answer.
    pub(super) replies: &'static [&'static str],
    /// Tools that the client offers and runs itself, if any; it requests a stream then.
    pub(super) streams_with: Option<OwnTool>,
    /// Whether a plan is drawn. If not, no plan may be drawn: a simple turn must not pay for planning.
    pub(super) is_planned: bool,
    /// Whether it requires a lesson of an earlier conversation. It waits until a lesson exists.
    pub(super) remembers: bool,
    /// Checks the traces of its turns for the expected behaviour.
    pub(super) promise: fn(&[Trace]) -> bool,
}

impl DemoConversation {
    /// Whether the traces of its turns show the expected behaviour.
    pub(super) fn is_kept_by(&self, traces: &[Trace]) -> bool {
        traces.iter().any(|trace| trace.plan.is_some()) == self.is_planned && (self.promise)(traces)
    }
}

/// Returns all conversations, in the order of the transcript.
pub(super) fn catalogue() -> impl Iterator<Item = &'static DemoConversation> {
    calls::CONVERSATIONS.iter().chain(&plans::CONVERSATIONS).chain(&memory::CONVERSATIONS)
}

fn attempts(traces: &[Trace]) -> impl Iterator<Item = &Attempt> {
    traces.iter().flat_map(|trace| &trace.attempts)
}

fn executions(traces: &[Trace]) -> impl Iterator<Item = &Execution> {
    traces.iter().flat_map(|trace| &trace.executions)
}

fn has_repair(traces: &[Trace], kind: RepairKind) -> bool {
    attempts(traces).flat_map(|attempt| &attempt.repairs).any(|repair| repair.kind == kind)
}

fn has_diagnosis(traces: &[Trace], code: FaultCode) -> bool {
    attempts(traces).flat_map(|attempt| &attempt.diagnoses).any(|diagnosis| diagnosis.code == code)
}

fn nothing_was_sent_back(traces: &[Trace]) -> bool {
    attempts(traces).all(|attempt| !attempt.purpose.ends_with("_feedback"))
}

fn all_ran(traces: &[Trace], count: usize) -> bool {
    executions(traces).count() == count && executions(traces).all(succeeded)
}

fn succeeded(execution: &Execution) -> bool {
    execution.outcome == "success"
}
