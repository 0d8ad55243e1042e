//! Cache of the outlines that were appended to user messages.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::pipeline::Pipeline;
use crate::pipeline::turn::Turn;
use callwright_common::cache::{ByteCache, Usage};
use callwright_common::digest::{add_part, hex};
use callwright_knowledge::procedures::workflow::note;
use callwright_openai::ChatRequest;
use callwright_types::memory::Recalled;
use callwright_types::rules::{Mode, ProceduresMode};

use super::super::compose::ChatDraft;
use super::super::recall::key;
use super::past;
use super::stage_context::StageContext;

/// Maximum number of user messages, the last ones, whose outlines are looked up.
const USER_MESSAGES: usize = 64;

/// Outlines by user message. A message keeps its outline, so the sent conversation does not change and prompt caches
/// stay valid. It is also not made again during tool calls. The cache is bounded and lost with the process.
#[derive(Debug, Clone)]
pub(crate) struct OutlinedBefore {
    messages: ByteCache<String, Arc<PlanOutline>>,
}

/// An outline.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlanOutline {
    pub(super) steps: Vec<String>,
    /// The procedures found for it, including those withheld.
    pub(super) procedures: Vec<Recalled>,
}

impl OutlinedBefore {
    /// Creates an empty cache of at most this many bytes; the latest messages stay.
    pub(crate) fn new(bytes: u64) -> Self {
        let weigh = |key: &String, outlined: &Arc<PlanOutline>| {
            let texts = outlined.steps.iter().map(|step| step.len() + size_of::<String>()).sum::<usize>();
            let found = outlined.procedures.iter().map(|found| found.id.len() + size_of::<Recalled>()).sum::<usize>();
            key.len() + texts + found
        };
        Self { messages: ByteCache::new(bytes, weigh) }
    }

    /// Returns the cache usage.
    pub(crate) fn usage(&self) -> Usage {
        self.messages.usage()
    }
}

/// A user message.
struct OutlinedMessage {
    /// Index in the sent conversation.
    place: usize,
    key: String,
}

/// Appends the outlines of earlier turns to their messages again.
pub(super) fn put_back(pipeline: &Pipeline, turn: &mut Turn, draft: &mut ChatDraft) {
    let before = &pipeline.outlined_before.messages;
    let is_wanted = turn.policy.mode == Mode::Guard && turn.policy.procedures != ProceduresMode::Off;
    if !is_wanted || before.is_empty() {
        return;
    }
    let said = said(turn, draft.conversation());
    let last = said.last().map(|said| said.place);
    for OutlinedMessage { place, key } in said {
        let Some(outlined) = before.get(&key) else { continue };
        draft.add_note(place, note(&outlined.steps));
        if Some(place) == last {
            past::note(turn, outlined.procedures.iter().map(|found| Recalled { again: true, ..found.clone() }));
        }
    }
}

/// Returns the outline of the last user message, if it has one.
pub(super) fn of_last(scene: &StageContext<'_>) -> Option<Arc<PlanOutline>> {
    let last = said(scene.turn, scene.draft.conversation()).pop()?;
    scene.pipeline.outlined_before.messages.get(&last.key)
}

/// Appends an outline to the last user message, in this turn and in later ones.
pub(super) fn remember(scene: &mut StageContext<'_>, outlined: Arc<PlanOutline>) {
    let Some(OutlinedMessage { place, key }) = said(scene.turn, scene.draft.conversation()).pop() else { return };
    scene.draft.add_note(place, note(&outlined.steps));
    scene.pipeline.outlined_before.messages.insert(key, outlined);
}

/// Returns the last user messages that are not empty.
fn said(turn: &Turn, conversation: &ChatRequest) -> Vec<OutlinedMessage> {
    let trace = turn.record.trace();
    let Some(memory) = &trace.memory else { return Vec::new() };
    let messages = conversation.messages().into_iter().enumerate();
    let users = messages.filter(|(_, message)| message.role == "user");
    let texts = users.filter_map(|(place, message)| Some((place, message.text?.into_owned())));
    let texts: Vec<(usize, String)> = texts.filter(|(_, text)| !text.trim().is_empty()).collect();
    let skipped = texts.len().saturating_sub(USER_MESSAGES);
    let session = trace.session.as_deref();
    // The model that wrote the outline saw the client's own tools, so requests with other tools must not get it.
    let tools = outline_key("", turn.request.tools_text().unwrap_or_default());
    let said = texts.into_iter().enumerate().skip(skipped).map(|(ordinal, (place, text))| OutlinedMessage {
        place,
        key: outline_key(&key(memory.scope.as_str(), session, ordinal, &text), &tools),
    });
    said.collect()
}

fn outline_key(message: &str, tools: &str) -> String {
    let mut hash = Sha256::new();
    add_part(&mut hash, message.as_bytes());
    add_part(&mut hash, tools.as_bytes());
    hex(&hash.finalize())
}
