//! Lessons prepared for search.

use std::sync::Arc;

use crate::memory::IndexedMemory;
use callwright_search::embedding::Vector;
use callwright_search::retrieval::{Term, content_terms};
use callwright_types::memory::Fingerprint;
use callwright_types::{Lesson, Scope};

/// Lesson with its optional vector.
#[derive(Debug, Clone)]
pub struct StoredLesson {
    /// The lesson.
    pub lesson: Arc<Lesson>,
    /// Vector of [`embedded_text`].
    pub vector: Option<Vector>,
}

impl From<Lesson> for StoredLesson {
    fn from(lesson: Lesson) -> Self {
        Self { lesson: Arc::new(lesson), vector: None }
    }
}

/// Returns the text that is embedded to find a lesson: its key. The value describes the solution, not the request.
pub fn embedded_text(lesson: &Lesson) -> &str {
    &lesson.key
}

/// Returns the term for the purpose of a client's own tool, because lessons contain no text of such tools.
pub(super) fn purpose_term(fingerprint: &Fingerprint) -> Term {
    Term::of(fingerprint.as_str())
}

/// Lesson with its precomputed search terms.
#[derive(Debug)]
pub struct LessonEntry {
    pub(super) lesson: Arc<Lesson>,
    pub(super) vector: Option<Vector>,
    /// Content terms of its key, sorted.
    pub(super) terms: Box<[Term]>,
}

impl IndexedMemory for Arc<LessonEntry> {
    fn scope(&self) -> &Scope {
        &self.lesson.scope
    }

    fn id(&self) -> &str {
        &self.lesson.id
    }
}

impl From<StoredLesson> for Arc<LessonEntry> {
    fn from(stored: StoredLesson) -> Self {
        let mut terms = content_terms(&stored.lesson.key);
        terms.extend(stored.lesson.client.as_ref().map(|facts| purpose_term(&facts.tool.fingerprint)));
        terms.sort_unstable();
        Self::new(LessonEntry { lesson: stored.lesson, vector: stored.vector, terms: terms.into() })
    }
}

impl LessonEntry {
    /// Whether requests can find the lesson.
    pub(super) fn is_searchable(&self) -> bool {
        self.lesson.retired.is_none() && !self.terms.is_empty()
    }
}
