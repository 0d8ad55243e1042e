//! Outlines that were appended to user messages, in this turn and in earlier ones.

use std::sync::Arc;

use crate::pipeline::caches::{PlanOutline, UserMessage, user_messages};
use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{ChatDraft, Turn};
use callwright_common::digest::of_parts;
use callwright_knowledge::procedures::workflow::note;
use callwright_openai::ModelRequest;
use callwright_types::memory::Recalled;
use callwright_types::rules::{Mode, ProceduresMode};

use super::stage_context::StageContext;

/// Appends the outlines of earlier turns to their messages again.
pub(super) fn put_back(pipeline: &Pipeline, turn: &mut Turn, draft: &mut ChatDraft) {
    let before = &pipeline.caches.outlines;
    let is_wanted = turn.policy.mode == Mode::Guard && turn.policy.procedures != ProceduresMode::Off;
    if !is_wanted || before.is_empty() {
        return;
    }
    let user_messages = outlined_messages(turn, draft.conversation());
    let last = user_messages.last().map(|message| message.place);
    for UserMessage { place, key, .. } in user_messages {
        let Some(outlined) = before.get(&key) else { continue };
        draft.add_note(place, note(&outlined.steps));
        if Some(place) == last {
            turn.record.procedures(outlined.procedures.iter().map(|found| Recalled { again: true, ..found.clone() }));
        }
    }
}

/// Returns the outline of the last user message, if it has one.
pub(super) fn of_last(context: &StageContext<'_>) -> Option<Arc<PlanOutline>> {
    let last = outlined_messages(context.turn, context.draft.conversation()).pop()?;
    context.pipeline.caches.outlines.get(&last.key)
}

/// Appends an outline to the last user message, in this turn and in later ones.
pub(super) fn remember(context: &mut StageContext<'_>, outlined: Arc<PlanOutline>) {
    let Some(UserMessage { place, key, .. }) = outlined_messages(context.turn, context.draft.conversation()).pop()
    else {
        return;
    };
    context.draft.add_note(place, note(&outlined.steps));
    context.pipeline.caches.outlines.insert(key, outlined);
}

/// Returns the last user messages. The model that wrote an outline saw the client's own tools, so requests with other
/// tools must not get it.
fn outlined_messages(turn: &Turn, conversation: &ModelRequest) -> Vec<UserMessage> {
    let tools = turn.request.tools_text().unwrap_or_default();
    let mut messages = user_messages(&turn.record.trace, conversation);
    messages.iter_mut().for_each(|message| message.key = of_parts([message.key.as_str(), tools]));
    messages
}
