//! The conversation of a turn with its model, which grows until the client has its answer.

use std::sync::Arc;

use super::answer::JudgedAnswer;
use super::draft::ChatDraft;
use super::plan_run::PlanRun;
use super::run_results::RanCall;
use super::turn::Turn;
use crate::pipeline::answer::ResponseSender;
use crate::pipeline::dialogue::{Dialogue, DialogueStep, TurnEnding};
use crate::pipeline::services::Pipeline;
use crate::pipeline::tools::{Offer, Offering};

/// The parts of a turn that its rounds change.
#[derive(Debug)]
pub(crate) struct TurnConversation {
    /// The tools that the model may call.
    pub(crate) offering: Offering,
    /// The next upstream request.
    pub(crate) draft: ChatDraft,
    /// The plan that the turn follows, if any.
    pub(crate) plan_run: Option<PlanRun>,
    /// Decides the next step.
    pub(crate) dialogue: Dialogue,
    /// Sends the answer to the client.
    pub(crate) response_sender: ResponseSender,
}

impl TurnConversation {
    /// Creates the conversation of a turn, without a plan.
    pub(crate) fn new(turn: &Turn, offering: Offering, draft: ChatDraft, response_sender: ResponseSender) -> Self {
        let dialogue = Dialogue::new(turn.policy.limits.clone(), turn.is_single());
        Self { offering, draft, plan_run: None, dialogue, response_sender }
    }

    pub(crate) fn offer(&self) -> &Arc<Offer> {
        &self.offering.offer
    }

    /// Adds the available tools with these called names to the offer and to the next request.
    pub(crate) fn take_in<'a>(&mut self, pipeline: &Pipeline, turn: &mut Turn, called: impl Iterator<Item = &'a str>) {
        if self.offering.take_in(pipeline, turn, called) {
            self.draft.offer(&self.offering.offer);
        }
    }

    /// Returns the step after the validation of an answer.
    pub(crate) fn judged(&mut self, turn: &Turn, judged: &JudgedAnswer) -> DialogueStep {
        let summary = judged.summary(turn, &self.offering.offer, &self.draft.kept);
        self.dialogue.judged(summary, turn.spent())
    }

    /// Returns the step after the execution of the proxy's calls.
    pub(crate) fn ran(&mut self, turn: &Turn, ran: &[RanCall]) -> DialogueStep {
        if let Some(plan_run) = &mut self.plan_run {
            plan_run.ran(ran);
        }
        self.dialogue.ran(ran.iter().any(|ran| ran.failed), turn.spent())
    }

    /// Returns the ending after a repeated request without a usable answer. `last` is the last validated answer.
    pub(crate) fn failed_again(&self, last: &JudgedAnswer) -> TurnEnding {
        self.dialogue.failed_again(last.is_of_use(self.offer(), &self.draft.kept))
    }
}
