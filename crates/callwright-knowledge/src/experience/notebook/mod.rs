//! The index of all lessons: which of them does a request want?
//!
//! A notebook never changes. [`Notebook::with`] makes the next one of what changed; both share the lessons of scopes that did not
//! change, and of one that did, all but the lessons that came lately. So it belongs into a turn's snapshot, and is exchanged as a whole.

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
use entry::Entry;
use shelf::Shelf;

/// Lessons that a new one is compared with.
const MAX_LIKE: usize = 16;

/// The lessons of all scopes, ready to be found.
#[derive(Debug, Clone, Default)]
pub struct Notebook {
    shelves: HashMap<Scope, Arc<Shelf>>,
    settings: Settings,
}

/// What happened to a lesson.
#[derive(Debug, Clone)]
pub enum Change {
    /// It was learned, or is otherwise now: merged, counted, retired.
    Noted(Noted),
    /// The lesson of this id is no more.
    Forgotten(String),
}

impl Notebook {
    /// A notebook of these lessons, retired ones among them: they are found no more, but [`Self::about`] tells them.
    pub fn of(lessons: impl IntoIterator<Item = Noted>, settings: Settings) -> Self {
        Self { shelves: HashMap::new(), settings }.with(lessons.into_iter().map(Change::Noted))
    }

    /// The notebook after these changes, in their order. It finds what a notebook made anew would find.
    #[must_use]
    pub fn with(&self, changes: impl IntoIterator<Item = Change>) -> Self {
        let mut of_scope: HashMap<Scope, HashMap<String, Option<Arc<Entry>>>> = HashMap::new();
        for change in changes {
            match change {
                Change::Noted(noted) => {
                    let entry = Arc::new(Entry::of(noted));
                    let scope = entry.lesson.scope.clone();
                    of_scope.entry(scope).or_default().insert(entry.lesson.id.clone(), Some(entry));
                }
                Change::Forgotten(id) => {
                    let holders = self.shelves.iter().filter(|(_, shelf)| shelf.get(&id).is_some());
                    for scope in holders.map(|(scope, _)| scope.clone()).collect::<Vec<_>>() {
                        of_scope.entry(scope).or_default().insert(id.clone(), None);
                    }
                    // It may have come with an earlier one of these changes.
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

    /// The same lessons, found as other settings say.
    #[must_use]
    pub fn under(&self, settings: Settings) -> Self {
        Self { shelves: self.shelves.clone(), settings }
    }

    /// The lessons that fit a request, best first, at most [`RecallQuery::most`]. None of them is retired or of another scope, each is about a
    /// tool in play or about none, and each shares with the request at least one word of its key that is more than grammar. Equal
    /// notebooks and queries give equal answers.
    pub fn recall(&self, query: &RecallQuery<'_>) -> Vec<Recollection> {
        let shelf = self.shelves.get(query.scope);
        shelf.map(|shelf| search::search(shelf, query, &self.settings)).unwrap_or_default()
    }

    /// The lessons of a scope about exactly these tools, retired ones too: what a new lesson may say again.
    pub fn about<'a>(&'a self, scope: &Scope, subject: Subject<'a>) -> impl Iterator<Item = &'a Arc<Lesson>> {
        self.shelves.get(scope).into_iter().flat_map(move |shelf| shelf.about(subject))
    }

    /// Whether a scope has lessons about a client's own tool of this name, whatever its parameters are.
    pub fn knows_client_tool(&self, scope: &Scope, name: &str) -> bool {
        self.shelves.get(scope).is_some_and(|shelf| shelf.knows_client_tool(name))
    }

    /// The lessons that a new one may say again: about the same tools, and those first whose keys are most like its own. Few of many, for
    /// [`learn`](crate::experience::learn) to look at closely; retired ones are all told.
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

    /// A lesson, by its scope and id.
    pub fn get(&self, scope: &Scope, id: &str) -> Option<&Arc<Lesson>> {
        self.shelves.get(scope)?.get(id)
    }

    /// All lessons of a scope, in the order in which they were learned.
    pub fn of_scope(&self, scope: &Scope) -> Vec<Arc<Lesson>> {
        self.shelves.get(scope).map(|shelf| shelf.lessons()).unwrap_or_default()
    }

    /// Does this scope have any lesson?
    pub fn knows(&self, scope: &Scope) -> bool {
        self.shelves.contains_key(scope)
    }

    /// The scopes that have lessons, in no order.
    pub fn scopes(&self) -> impl Iterator<Item = &Scope> {
        self.shelves.keys()
    }

    /// How many lessons there are, retired ones included.
    pub fn len(&self) -> usize {
        self.shelves.values().map(|shelf| shelf.len()).sum()
    }

    /// How many of them are retired.
    pub fn retired(&self) -> usize {
        self.shelves.values().map(|shelf| shelf.statistics().retired).sum()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.shelves.is_empty()
    }

    /// How lessons are found in it.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}
