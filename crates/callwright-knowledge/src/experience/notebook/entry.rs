//! A lesson as it is found.

use std::sync::Arc;

use callwright_search::embedding::Vector;
use callwright_search::retrieval::{Term, content_terms};
use callwright_types::Lesson;
use callwright_types::memory::Fingerprint;

/// A lesson, and its vector where it has one.
#[derive(Debug, Clone)]
pub struct Noted {
    /// The lesson.
    pub lesson: Arc<Lesson>,
    /// The vector of [`embedded_text`].
    pub vector: Option<Vector>,
}

impl From<Lesson> for Noted {
    fn from(lesson: Lesson) -> Self {
        Self { lesson: Arc::new(lesson), vector: None }
    }
}

/// The text by whose meaning a lesson is found: its key. What it says is about the way, and not about what is asked for.
pub fn embedded_text(lesson: &Lesson) -> &str {
    &lesson.key
}

/// What stands for the purpose of a client's own tool, of which lessons hold no text.
pub(super) fn purpose_term(fingerprint: &Fingerprint) -> Term {
    Term::of(fingerprint.as_str())
}

/// A lesson with what is worked out once.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) lesson: Arc<Lesson>,
    pub(super) vector: Option<Vector>,
    /// The terms of its key that are more than grammar, in order.
    pub(super) terms: Box<[Term]>,
}

impl Entry {
    pub(super) fn of(noted: Noted) -> Self {
        let mut terms = content_terms(&noted.lesson.key);
        terms.extend(noted.lesson.client.as_ref().map(|facts| purpose_term(&facts.tool.fingerprint)));
        terms.sort_unstable();
        Self { lesson: noted.lesson, vector: noted.vector, terms: terms.into() }
    }

    /// Is it found by requests?
    pub(super) fn is_found(&self) -> bool {
        self.lesson.retired.is_none() && !self.terms.is_empty()
    }
}
