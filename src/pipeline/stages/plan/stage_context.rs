//! Context of a plan run.

use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{ChatDraft, Turn};
use crate::pipeline::tools::Offering;
use callwright_types::Message;

/// The turn, its offering and its growing request: the data that a plan reads and may change.
pub(super) struct StageContext<'a> {
    pub(super) pipeline: &'a Pipeline,
    pub(super) turn: &'a mut Turn,
    pub(super) offering: &'a mut Offering,
    pub(super) draft: &'a mut ChatDraft,
}

impl StageContext<'_> {
    /// Offers the tools that the plan calls, as far as the turn may use them: only calls of offered tools are
    /// validated.
    pub(super) fn offer<'t>(&mut self, tools: impl Iterator<Item = &'t str>) {
        if self.offering.take_in(self.pipeline, self.turn, tools) {
            self.draft.offer(self.offering.offer());
        }
    }

    /// Returns the conversation for the model, including the proxy's calls and failures.
    pub(super) fn conversation(&self) -> Vec<Message> {
        self.draft.conversation().messages().into_iter().map(Message::from).collect()
    }
}
