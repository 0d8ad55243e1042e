//! Context of a plan run.

use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{ChatDraft, Turn};
use crate::pipeline::tools::Offering;
use callwright_types::Message;

/// The turn, its offering and its growing request: the data that a plan reads and may change.
pub(in crate::pipeline::stages) struct StageContext<'a> {
    pub(in crate::pipeline::stages) pipeline: &'a Pipeline,
    pub(in crate::pipeline::stages) turn: &'a mut Turn,
    pub(in crate::pipeline::stages) offering: &'a mut Offering,
    pub(in crate::pipeline::stages) draft: &'a mut ChatDraft,
}

impl StageContext<'_> {
    /// Offers the tools that the plan calls, as far as the turn may use them: only calls of offered tools are
    /// validated.
    pub(in crate::pipeline::stages) fn offer<'t>(&mut self, tools: impl Iterator<Item = &'t str>) {
        if self.offering.take_in(self.pipeline, self.turn, tools) {
            self.draft.offer(&self.offering.offer);
        }
    }

    /// Returns the conversation for the model, including the proxy's calls and failures.
    pub(in crate::pipeline::stages) fn conversation(&self) -> Vec<Message> {
        self.draft.conversation().messages().into_iter().map(Message::from).collect()
    }
}
