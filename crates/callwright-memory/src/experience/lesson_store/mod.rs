//! Index of all lessons.
//!
//! Two versions of a store share the lessons, and the indexes of unchanged scopes.

mod index;
mod query;
mod search;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use index::{StoredLesson, embedded_text};
pub use query::{AvailableTool, RecallQuery};

use super::Settings;
use crate::memory::MemoryStore;
use callwright_types::{Lesson, LessonDraft, Scope};
use index::LessonIndex;
use query::Subject;

/// Maximum number of lessons that a new one is compared with.
const MAX_SIMILAR: usize = 16;

/// Search index over the lessons of all scopes.
pub type LessonStore = MemoryStore<LessonIndex>;

impl LessonStore {
    /// Returns the lessons that match a request, best first, at most [`RecallQuery::limit`]. Each lesson belongs to the
    /// scope, is not retired, concerns an available tool or none, and shares at least one content word of its key with
    /// the request. Equal stores and queries give equal results.
    pub fn recall(&self, query: &RecallQuery<'_>) -> Vec<Arc<Lesson>> {
        self.index(query.scope).map(|index| search::search(index, query, self.settings())).unwrap_or_default()
    }

    /// Whether a scope has lessons about a client's own tool of this name, regardless of its parameters.
    pub fn has_client_tool(&self, scope: &Scope, name: &str) -> bool {
        self.index(scope).is_some_and(|index| index.has_client_tool(name))
    }

    /// Returns possible duplicates of a draft for [`learn`](crate::experience::learn): a few lessons about the same
    /// tools with the most similar keys, and all retired ones.
    pub fn similar(&self, scope: &Scope, draft: &LessonDraft) -> Vec<Arc<Lesson>> {
        let subject = Subject::from(draft);
        let tools = subject.all_tools();
        let query = RecallQuery { scope, text: &draft.key, tools: &tools, limit: MAX_SIMILAR, vector: None };
        let settings = Settings { least_match: 0.0, ..*self.settings() };
        let Some(index) = self.index(scope) else { return Vec::new() };
        let similar = search::search(index, &query, &settings).into_iter();
        let same = similar.filter(|lesson| Subject::from(&**lesson).is_same(&subject));
        same.chain(index.about(subject).filter(|lesson| lesson.retired.is_some()).cloned()).collect()
    }

    /// Returns a lesson by its scope and id.
    pub fn get(&self, scope: &Scope, id: &str) -> Option<&Arc<Lesson>> {
        self.index(scope)?.get(id)
    }

    /// Returns all lessons of a scope in the order in which they were learned.
    pub fn in_scope(&self, scope: &Scope) -> Vec<Arc<Lesson>> {
        let entries = self.index(scope).into_iter().flat_map(|index| &index.entries);
        entries.map(|entry| Arc::clone(&entry.lesson)).collect()
    }

    /// Whether this scope has any lesson.
    pub fn has_lessons(&self, scope: &Scope) -> bool {
        self.index(scope).is_some()
    }
}
