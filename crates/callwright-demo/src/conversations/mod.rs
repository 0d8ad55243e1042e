//! The catalogue: what the demo talks about, and what each conversation is to show.

mod calls;
mod memory;
mod plans;

use callwright_types::trace::{Attempt, Execution};
use callwright_types::{FaultCode, RepairKind, Trace};

use super::client_tool::OwnTool;

/// One conversation.
#[derive(Debug)]
pub(super) struct Conversation {
    /// What it is about.
    pub(super) title: &'static str,
    /// What to look for, for the reader of the transcript.
    pub(super) about: &'static str,
    /// The model alias that the client asks.
    pub(super) model: &'static str,
    /// What the user says.
    pub(super) question: &'static str,
    /// What the user says further, each once the last was answered.
    pub(super) replies: &'static [&'static str],
    /// The tools that the client brings and runs itself, where it does; it wants a stream then.
    pub(super) streams_with: Option<OwnTool>,
    /// Is a plan drawn? Where not, none may be: a simple turn pays for no planning.
    pub(super) is_planned: bool,
    /// Does it need what an earlier conversation taught? It is held once that is learned.
    pub(super) remembers: bool,
    /// Did it show what it is to show? Judged by the traces of its turns.
    pub(super) promise: fn(&[Trace]) -> bool,
}

impl Conversation {
    /// Do the traces of its turns show what it is to show?
    pub(super) fn is_kept_by(&self, traces: &[Trace]) -> bool {
        traces.iter().any(|trace| trace.plan.is_some()) == self.is_planned && (self.promise)(traces)
    }
}

/// All conversations, in the order of the transcript.
pub(super) fn catalogue() -> impl Iterator<Item = &'static Conversation> {
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
