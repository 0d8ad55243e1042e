//! What a plan acts in.

use crate::pipeline::Pipeline;
use crate::pipeline::turn::Turn;
use callwright_types::Message;

use super::super::compose::Draft;
use super::super::offer::Offering;

/// The turn, what it is offered and the request that grows: what a plan reads, and what it may change.
pub(super) struct Scene<'a> {
    pub(super) pipeline: &'a Pipeline,
    pub(super) turn: &'a mut Turn,
    pub(super) offering: &'a mut Offering,
    pub(super) draft: &'a mut Draft,
}

impl Scene<'_> {
    /// Offers tools that the plan calls, as far as the turn could be offered them: calls of others are not judged.
    pub(super) fn offer<'t>(&mut self, tools: impl Iterator<Item = &'t str>) {
        if self.offering.take_in(self.pipeline, self.turn, tools) {
            self.draft.offer(self.offering.offer());
        }
    }

    /// The conversation as it goes to the model: with what the proxy ran, and what failed.
    pub(super) fn conversation(&self) -> Vec<Message> {
        self.draft.conversation().messages().into_iter().map(Message::from).collect()
    }
}
