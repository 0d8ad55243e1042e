//! Index of all lessons.
//!
//! A lesson_store is immutable. [`LessonStore::with`] returns a new lesson_store with changes applied. Both share the lessons of
//! unchanged scopes and, in a changed scope, all but the recent lessons. A lesson_store is therefore part of a turn's
//! snapshot and is replaced as a whole.

mod entry;
mod query;
mod search;
mod segment;
mod shelf;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::HashMap;
use std::sync::Arc;

pub use entry::{Noted, embedded_text};
pub use query::{RecallQuery, Recollection, Subject, ToolInPlay};

use super::Settings;
use callwright_types::{Lesson, LessonDraft, Scope};
use entry::LessonEntry;
use shelf::LessonIndex;

/// Maximum number of lessons that a new one is compared with.
const MAX_LIKE: usize = 16;

/// Search index over the lessons of all scopes.
#[derive(Debug, Clone, Default)]
pub struct LessonStore {
    shelves: HashMap<Scope, Arc<LessonIndex>>,
    settings: Settings,
}

/// Change of a lesson.
#[derive(Debug, Clone)]
pub enum Change {
    /// The lesson was learned or changed: merged, counted, retired.
    Noted(Noted),
    /// The lesson with this id was deleted.
    Forgotten(String),
}

impl LessonStore {
    /// Creates a lesson_store from lessons, including retired ones. [`Self::recall`] excludes retired lessons;
    /// [`Self::about`] returns them.
    pub fn of(lessons: impl IntoIterator<Item = Noted>, settings: Settings) -> Self {
        Self { shelves: HashMap::new(), settings }.with(lessons.into_iter().map(Change::Noted))
    }

    /// Returns the lesson_store after the changes, applied in order. Its results equal those of a lesson_store that is built
    /// from scratch.
    #[must_use]
    pub fn with(&self, changes: impl IntoIterator<Item = Change>) -> Self {
        let mut of_scope: HashMap<Scope, HashMap<String, Option<Arc<LessonEntry>>>> = HashMap::new();
        for change in changes {
            match change {
                Change::Noted(noted) => {
                    let entry = Arc::new(LessonEntry::of(noted));
                    let scope = entry.lesson.scope.clone();
                    of_scope.entry(scope).or_default().insert(entry.lesson.id.clone(), Some(entry));
                }
                Change::Forgotten(id) => {
                    let holders = self.shelves.iter().filter(|(_, shelf)| shelf.get(&id).is_some());
                    for scope in holders.map(|(scope, _)| scope.clone()).collect::<Vec<_>>() {
                        of_scope.entry(scope).or_default().insert(id.clone(), None);
                    }
                    // An earlier change of this batch may have added the lesson.
                    of_scope.values_mut().filter_map(|of_scope| of_scope.get_mut(&id)).for_each(|entry| *entry = None);
                }
            }
        }
        let mut shelves = self.shelves.clone();
        for (scope, changed) in of_scope {
            let present = shelves.get(&scope).map_or_else(Default::default, Arc::clone);
            let shelf = present.with(changed);
            if shelf.is_empty() {
                shelves.remove(&scope)
            } else {
                shelves.insert(scope, Arc::new(shelf))
            };
        }
        Self { shelves, settings: self.settings }
    }

    /// Returns the same lessons with other settings.
    #[must_use]
    pub fn under(&self, settings: Settings) -> Self {
        Self { shelves: self.shelves.clone(), settings }
    }

    /// Returns the lessons that match a request, best first, at most [`RecallQuery::most`]. Each lesson belongs to the
    /// scope, is not retired, concerns a tool in play or none, and shares at least one content word of its key with the
    /// request. Equal notebooks and queries give equal results.
    pub fn recall(&self, query: &RecallQuery<'_>) -> Vec<Recollection> {
        let shelf = self.shelves.get(query.scope);
        shelf.map(|shelf| search::search(shelf, query, &self.settings)).unwrap_or_default()
    }

    /// Returns the lessons of a scope about exactly these tools, including retired ones: the possible duplicates of a
    /// new lesson.
    pub fn about<'a>(&'a self, scope: &Scope, subject: Subject<'a>) -> impl Iterator<Item = &'a Arc<Lesson>> {
        self.shelves.get(scope).into_iter().flat_map(move |shelf| shelf.about(subject))
    }

    /// Whether a scope has lessons about a client's own tool of this name, regardless of its parameters.
    pub fn knows_client_tool(&self, scope: &Scope, name: &str) -> bool {
        self.shelves.get(scope).is_some_and(|shelf| shelf.knows_client_tool(name))
    }

    /// Returns possible duplicates of a draft for [`learn`](crate::experience::learn): a few lessons about the same
    /// tools with the most similar keys, and all retired ones.
    pub fn like(&self, scope: &Scope, draft: &LessonDraft) -> Vec<Arc<Lesson>> {
        let subject = Subject::from(draft);
        let tools = subject.all_in_play();
        let query = RecallQuery { scope, text: &draft.key, tools: &tools, most: MAX_LIKE, vector: None };
        let settings = Settings { least_match: 0.0, ..self.settings };
        let Some(shelf) = self.shelves.get(scope) else { return Vec::new() };
        let found = search::search(shelf, &query, &settings).into_iter().map(|found| found.lesson);
        let is_same = |lesson: &Arc<Lesson>| Subject::from(&**lesson).is_same(&subject);
        let retired = shelf.about(subject).filter(|lesson| lesson.retired.is_some()).cloned();
        found.filter(is_same).chain(retired).collect()
    }

    /// Returns a lesson by its scope and id.
    pub fn get(&self, scope: &Scope, id: &str) -> Option<&Arc<Lesson>> {
        self.shelves.get(scope)?.get(id)
    }

    /// Returns all lessons of a scope in the order in which they were learned.
    pub fn of_scope(&self, scope: &Scope) -> Vec<Arc<Lesson>> {
        self.shelves.get(scope).map(|shelf| shelf.lessons()).unwrap_or_default()
    }

    /// Whether this scope has any lesson.
    pub fn knows(&self, scope: &Scope) -> bool {
        self.shelves.contains_key(scope)
    }

    /// Returns the scopes that have lessons, in no particular order.
    pub fn scopes(&self) -> impl Iterator<Item = &Scope> {
        self.shelves.keys()
    }

    /// Returns the number of lessons, including retired ones.
    pub fn len(&self) -> usize {
        self.shelves.values().map(|shelf| shelf.len()).sum()
    }

    /// Returns the number of retired lessons.
    pub fn retired(&self) -> usize {
        self.shelves.values().map(|shelf| shelf.statistics().retired).sum()
    }

    /// Whether there are no lessons.
    pub fn is_empty(&self) -> bool {
        self.shelves.is_empty()
    }

    /// Returns the search settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}
