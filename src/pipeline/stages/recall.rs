//! Recall: appends the lessons that match a request to the user's message (ExpNote, section 3.2: RECALL).
//!
//! A note stays with its user message in later turns of the conversation, so the sent conversation only grows at its
//! end. A random draw decides whether a lesson is shown, to measure its effect. The draw is made once per message.

use std::sync::Arc;
use std::time::Instant;

use crate::pipeline::caches::{RecalledNotes, UserMessage, user_messages};
use crate::pipeline::query_vectors::message_vector;
use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{ChatDraft, Turn, TurnConversation};
use crate::pipeline::tools::Offer;
use callwright_common::text::beginning;
use callwright_memory::experience::{AvailableTool, LessonStore, RecallQuery, Settings, draw, render_lessons, wording};
use callwright_telemetry::OperationKind;
use callwright_telemetry::labels::{MemoryKind, Stage};
use callwright_types::memory::{ClientTool, Recalled, Wording};
use callwright_types::rules::Mode;
use callwright_types::{Owner, Scope, Tool};

/// Maximum characters of a client tool's description that are compared with a request.
const PURPOSE_CHARS: usize = 400;

/// Appends matching lessons, as policy specifies.
pub(crate) async fn recall(pipeline: &Pipeline, turn: &mut Turn, conversation: &mut TurnConversation) {
    let TurnConversation { offering, draft, .. } = conversation;
    let offer = &offering.offer;
    let Some(scope) = turn.record.trace.memory.as_ref().map(|note| note.scope.clone()) else { return };
    let is_wanted = turn.policy.mode == Mode::Guard && turn.policy.recall.lessons > 0;
    let may_show = turn.policy.recall.tell_none || turn.learned.lesson_store.has_lessons(&scope);
    if !is_wanted || (!may_show && pipeline.caches.lessons.is_empty()) {
        return;
    }
    let started = Instant::now();
    let notes = notes(pipeline, turn, offer, &scope, may_show);
    if let Some(notes) = pipeline.shielded(Stage::Recall, "the turn continues without lessons", notes).await {
        add(pipeline, turn, offer, draft, notes);
    }
    pipeline.metrics.overhead.observe(Stage::Recall, started.elapsed());
    let shown = turn.record.trace.memory.iter().flat_map(|memory| &memory.lessons);
    let found = shown.filter(|lesson| !lesson.withheld).count();
    turn.record.operation(OperationKind::SearchMemory(MemoryKind::Lesson), started, found);
}

/// Lessons of a user message.
struct PlacedNotes {
    place: usize,
    shown: Arc<RecalledNotes>,
    /// Whether it is the user's last message.
    is_last: bool,
    /// Whether the lessons were selected in an earlier turn.
    again: bool,
}

/// Returns the lessons of the user messages: cached ones, and new ones for the last message if `may_show` is set.
async fn notes(pipeline: &Pipeline, turn: &Turn, offer: &Offer, scope: &Scope, may_show: bool) -> Vec<PlacedNotes> {
    let user_messages = user_messages(&turn.record.trace, &turn.request);
    let last = user_messages.last().map(|message| message.place);
    let mut notes = Vec::new();
    for UserMessage { place, text, key } in user_messages {
        let is_last = Some(place) == last;
        let before = pipeline.caches.lessons.get(&key);
        let again = before.is_some();
        let shown = match before {
            Some(shown) => shown,
            None if is_last && may_show => {
                let shown = Arc::new(look_up(pipeline, turn, offer, scope, &text).await);
                pipeline.caches.lessons.insert(key, Arc::clone(&shown));
                shown
            }
            None => continue,
        };
        notes.push(PlacedNotes { place, shown, is_last, again });
    }
    notes
}

/// Finds the lessons for a request, and draws which of them are shown.
async fn look_up(pipeline: &Pipeline, turn: &Turn, offer: &Offer, scope: &Scope, text: &str) -> RecalledNotes {
    let lesson_store = &turn.learned.lesson_store;
    let tools = tools_in_play(offer, lesson_store, scope);
    let chars = lesson_store.settings().query_chars;
    let vector = message_vector(pipeline, turn, text, chars, Stage::Recall).await;
    let limit = turn.policy.recall.lessons as usize;
    let query = RecallQuery { scope, text, tools: &tools, limit, vector: vector.as_ref() };
    let mut random = fastrand::Rng::new();
    let (mut shown, mut lessons) = (Vec::new(), Vec::new());
    for lesson in lesson_store.recall(&query) {
        let (withheld, chance) = draw(lesson_store.settings(), &lesson.tally, &mut random);
        lessons.push(Recalled { id: lesson.id.clone(), again: false, withheld, chance });
        if !withheld {
            shown.push(lesson);
        }
    }
    RecalledNotes { shown, tell_none: turn.policy.recall.tell_none, lessons }
}

/// Returns the tools that lessons may be about. The fingerprint of a client tool is computed only if there is a lesson
/// about its name.
fn tools_in_play<'a>(offer: &'a Offer, lesson_store: &LessonStore, scope: &Scope) -> Vec<AvailableTool<'a>> {
    let tools = offer.tool_set.tools().iter().filter_map(|tool| {
        if tool.tool.owner != Owner::Client || !lesson_store.has_client_tool(scope, tool.name()) {
            return AvailableTool::from_toolset(&tool.tool);
        }
        Some(AvailableTool::from_client(tool.client()?, beginning(&tool.tool.description, PURPOSE_CHARS)))
    });
    tools.collect()
}

/// Returns the note for this request; `None` if there is nothing to show.
fn note(
    offer: &Offer,
    settings: &Settings,
    RecalledNotes { shown: lessons, tell_none, .. }: &RecalledNotes,
) -> Option<String> {
    let wordings = lessons.iter().filter_map(|lesson| {
        let offered = &|known: &ClientTool| offered_tool(offer, known);
        wording(lesson, offered, settings)
    });
    let wordings: Vec<Wording> = wordings.collect();
    (!wordings.is_empty() || *tell_none).then(|| render_lessons(&wordings))
}

fn offered_tool<'a>(offer: &'a Offer, known: &ClientTool) -> Option<&'a Tool> {
    let tool = offer.tool_set.get(known.name.as_str())?;
    (tool.client() == Some(known)).then_some(&*tool.tool)
}

/// Adds the notes to the draft, and the lessons of the last message to the trace.
fn add(pipeline: &Pipeline, turn: &mut Turn, offer: &Offer, draft: &mut ChatDraft, notes: Vec<PlacedNotes>) {
    for PlacedNotes { place, shown, is_last, again } in notes {
        if let Some(note) = note(offer, turn.learned.lesson_store.settings(), &shown) {
            draft.committed.add_note(place, note);
        }
        if is_last && let Some(memory) = &mut turn.record.trace.memory {
            memory.lessons = shown.lessons.iter().map(|lesson| Recalled { again, ..lesson.clone() }).collect();
            if !again {
                pipeline.metrics.recalls.inc(MemoryKind::Lesson, shown.lessons.iter().any(|lesson| !lesson.withheld));
            }
        }
    }
}
