//! Bounded caches that turns share. They are lost with the process; a turn without them is slower or less informed.

mod analysed_messages;
mod offered_before;
mod parameter_reactions;
mod plans;

use std::sync::Arc;
use std::time::Duration;

use super::settings::Settings;
use callwright_common::cache::ByteCache;
use callwright_common::digest::of_parts;
use callwright_common::limits::SMALL_CACHE_BYTES;
use callwright_types::memory::Recalled;
use callwright_types::{Lesson, Trace};
use callwright_upstream::{Patience, RequestBudget, TextModel, Upstream};
use callwright_wire::ModelRequest;

pub(crate) use analysed_messages::{AnalysisCache, ExplainedFailure};
pub(crate) use offered_before::{RememberedOffer, RememberedTool};
pub(crate) use parameter_reactions::KnownReactions;
use plans::{PlannerBackoff, WaitingPlans};

/// A user waits for a plan: one retry, and a short one.
const PATIENCE: Patience = Patience { tries: 2, max_wait: Duration::from_secs(5) };

/// The caches of a process.
#[derive(Debug)]
pub(crate) struct Caches {
    /// Tools offered last, by session. A hint: the conversation alone reproduces most of it (`choose`), but not the tools
    /// that the proxy ran, the searches of the model, and selections with an older index.
    pub(crate) offers: ByteCache<String, Arc<RememberedOffer>>,
    /// Lessons by user message. A message keeps its lessons, so the sent conversation does not change and prompt caches
    /// stay valid.
    pub(crate) lessons: ByteCache<String, Arc<RecalledNotes>>,
    /// Outlines by user message, which keeps them like lessons. They are also not made again during tool calls.
    pub(crate) outlines: ByteCache<String, Arc<PlanOutline>>,
    /// Planning models by upstream and name, with the learned form of their requests.
    models: ByteCache<(String, String), Arc<TextModel>>,
    pub(crate) parameter_reactions: ByteCache<String, bool>,
    pub(crate) planner_backoff: PlannerBackoff,
    pub(crate) waiting_plans: WaitingPlans,
}

impl Caches {
    /// Creates empty caches.
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            offers: by_text(settings.remembered_tools_bytes),
            lessons: by_text(settings.remembered_notes_bytes),
            outlines: by_text(settings.remembered_notes_bytes),
            // The model stores its own name as well.
            models: ByteCache::new(SMALL_CACHE_BYTES, |(upstream, model), _| {
                upstream.len() + 2 * model.len() + size_of::<TextModel>()
            }),
            parameter_reactions: parameter_reactions::reactions(),
            planner_backoff: PlannerBackoff::new(),
            waiting_plans: WaitingPlans::default(),
        }
    }

    /// Returns the planning model of this name at an upstream.
    pub(crate) fn planning_model(
        &self,
        upstream: &Arc<Upstream>,
        model: &str,
        budget: &Arc<RequestBudget>,
    ) -> Arc<TextModel> {
        let key = (upstream.name().to_owned(), model.to_owned());
        let create = || TextModel::new(Arc::clone(upstream), model, PATIENCE, Arc::clone(budget));
        self.models.get_with(key, || Arc::new(create()))
    }
}

/// A value of a cache.
trait Weight {
    /// Returns its size in bytes.
    fn bytes(&self) -> usize;
}

/// Creates an empty cache of at most this many bytes for all keys together; the most recently used ones stay.
fn by_text<V: Weight + Send + Sync + 'static>(bytes: u64) -> ByteCache<String, Arc<V>> {
    ByteCache::new(bytes, |key, value| key.len() + value.bytes())
}

/// The lessons of a message. Contains no text of a request: the wording about a client's own tools is created from each
/// request's own schemas, so it cannot leak to another request with an equal message.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RecalledNotes {
    /// The shown lessons, best first.
    pub(crate) shown: Vec<Arc<Lesson>>,
    /// Whether the model is informed if there is no lesson.
    pub(crate) tell_none: bool,
    /// The lessons found, including those withheld.
    pub(crate) lessons: Vec<Recalled>,
}

impl Weight for RecalledNotes {
    fn bytes(&self) -> usize {
        let lessons = self.lessons.iter().map(|lesson| lesson.id.len() + size_of::<Recalled>());
        let shown = self.shown.iter().map(|lesson| lesson.key.len() + lesson.value.len() + size_of::<Lesson>());
        lessons.sum::<usize>() + shown.sum::<usize>()
    }
}

/// The outline that was appended to a user message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlanOutline {
    pub(crate) steps: Vec<String>,
    /// The procedures found for it, including those withheld.
    pub(crate) procedures: Vec<Recalled>,
}

impl Weight for PlanOutline {
    fn bytes(&self) -> usize {
        let steps = self.steps.iter().map(|step| step.len() + size_of::<String>());
        let procedures = self.procedures.iter().map(|found| found.id.len() + size_of::<Recalled>());
        steps.sum::<usize>() + procedures.sum::<usize>()
    }
}

/// Maximum number of user messages, the last ones, that keep notes. Prompt caches depend on all messages, but older notes
/// are evicted anyway.
const USER_MESSAGES: usize = 64;

#[derive(Debug)]
pub(crate) struct UserMessage {
    /// Index in the conversation.
    pub(crate) place: usize,
    pub(crate) text: String,
    /// Key of its notes: scope, session, index among the user's messages, and text. Without a session, equal messages at
    /// equal places share an entry.
    pub(crate) key: String,
}

/// Returns the last user messages of a conversation that are not empty, oldest first; none for a turn without memory.
pub(crate) fn user_messages(trace: &Trace, conversation: &ModelRequest) -> Vec<UserMessage> {
    let Some(memory) = &trace.memory else { return Vec::new() };
    let session = trace.session.as_deref().unwrap_or_default();
    let users = conversation.messages().into_iter().enumerate().filter(|(_, message)| message.role == "user");
    let texts = users.filter_map(|(place, message)| Some((place, message.text?.into_owned())));
    let texts: Vec<(usize, String)> = texts.filter(|(_, text)| !text.trim().is_empty()).collect();
    let older = texts.len().saturating_sub(USER_MESSAGES);
    let last = texts.into_iter().enumerate().skip(older).map(|(ordinal, (place, text))| {
        let key = of_parts([memory.scope.as_str(), session, &ordinal.to_string(), &text]);
        UserMessage { place, text, key }
    });
    last.collect()
}
