//! Outlines that were appended to user messages, in this turn and in earlier ones.

use std::sync::Arc;

use crate::pipeline::caches::{PlanOutline, message_key};
use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{ChatDraft, Turn};
use callwright_common::digest::of_parts;
use callwright_knowledge::procedures::workflow::note;
use callwright_openai::ModelRequest;
use callwright_types::memory::Recalled;
use callwright_types::rules::{Mode, ProceduresMode};

use super::stage_context::StageContext;

/// Maximum number of user messages, the last ones, whose outlines are looked up.
const USER_MESSAGES: usize = 64;

/// A user message.
struct OutlinedMessage {
    /// Index in the sent conversation.
    place: usize,
    key: String,
}

/// Appends the outlines of earlier turns to their messages again.
pub(super) fn put_back(pipeline: &Pipeline, turn: &mut Turn, draft: &mut ChatDraft) {
    let before = &pipeline.caches.outlines;
    let is_wanted = turn.policy.mode == Mode::Guard && turn.policy.procedures != ProceduresMode::Off;
    if !is_wanted || before.is_empty() {
        return;
    }
    let user_messages = user_messages(turn, draft.conversation());
    let last = user_messages.last().map(|message| message.place);
    for OutlinedMessage { place, key } in user_messages {
        let Some(outlined) = before.get(&key) else { continue };
        draft.add_note(place, note(&outlined.steps));
        if Some(place) == last {
            turn.record.procedures(outlined.procedures.iter().map(|found| Recalled { again: true, ..found.clone() }));
        }
    }
}

/// Returns the outline of the last user message, if it has one.
pub(super) fn of_last(context: &StageContext<'_>) -> Option<Arc<PlanOutline>> {
    let last = user_messages(context.turn, context.draft.conversation()).pop()?;
    context.pipeline.caches.outlines.get(&last.key)
}

/// Appends an outline to the last user message, in this turn and in later ones.
pub(super) fn remember(context: &mut StageContext<'_>, outlined: Arc<PlanOutline>) {
    let Some(OutlinedMessage { place, key }) = user_messages(context.turn, context.draft.conversation()).pop() else {
        return;
    };
    context.draft.add_note(place, note(&outlined.steps));
    context.pipeline.caches.outlines.insert(key, outlined);
}

/// Returns the last user messages that are not empty.
fn user_messages(turn: &Turn, conversation: &ModelRequest) -> Vec<OutlinedMessage> {
    let trace = &turn.record.trace;
    let Some(memory) = &trace.memory else { return Vec::new() };
    let messages = conversation.messages().into_iter().enumerate();
    let users = messages.filter(|(_, message)| message.role == "user");
    let texts = users.filter_map(|(place, message)| Some((place, message.text?.into_owned())));
    let texts: Vec<(usize, String)> = texts.filter(|(_, text)| !text.trim().is_empty()).collect();
    let skipped = texts.len().saturating_sub(USER_MESSAGES);
    let session = trace.session.as_deref();
    // The model that wrote the outline saw the client's own tools, so requests with other tools must not get it.
    let tools = of_parts(["", turn.request.tools_text().unwrap_or_default()]);
    let user_messages = texts.into_iter().enumerate().skip(skipped).map(|(ordinal, (place, text))| OutlinedMessage {
        place,
        key: of_parts([&message_key(memory.scope.as_str(), session, ordinal, &text), &tools]),
    });
    user_messages.collect()
}
