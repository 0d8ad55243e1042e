//! Index of the lessons of one scope.

use std::collections::HashMap;
use std::sync::Arc;

use super::query::{AvailableTool, Subject};
use crate::experience::Settings;
use crate::memory::{IndexedMemory, MemoryIndex};
use callwright_search::embedding::Vector;
use callwright_search::retrieval::{Term, content_terms};
use callwright_types::memory::Fingerprint;
use callwright_types::{Lesson, Scope};

/// Lesson with its optional vector.
#[derive(Debug, Clone)]
pub struct StoredLesson {
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
    /// Content terms of its key.
    pub(super) terms: Vec<Term>,
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
    fn from(StoredLesson { lesson, vector }: StoredLesson) -> Self {
        let mut terms = content_terms(&lesson.key);
        terms.extend(lesson.client.as_ref().map(|facts| purpose_term(&facts.tool.fingerprint)));
        Self::new(LessonEntry { lesson, vector, terms })
    }
}

/// Lessons of one scope by their tools and by the words of their keys. Each batch of changes builds a new index: a
/// scope has few thousand lessons, and learning changes them once per batch.
#[derive(Debug, Clone, Default)]
pub struct LessonIndex {
    /// All lessons, sorted by id. The lists of the other members have positions in it.
    pub(super) entries: Vec<Arc<LessonEntry>>,
    /// Lessons about the tools of a name, and under `""` those about no tool.
    by_tool: HashMap<String, Vec<u32>>,
    /// Lessons that are not retired and have the word in their key.
    by_term: HashMap<Term, Vec<u32>>,
    /// Number of lessons that requests can find.
    pub(super) searchable: usize,
    /// Mean number of words in their keys.
    pub(super) mean_terms: f32,
    /// Dimensions of the vectors, if every lesson has one and they agree.
    pub(super) dimensions: Option<usize>,
}

impl MemoryIndex for LessonIndex {
    type Stored = StoredLesson;
    type Memory = Arc<LessonEntry>;
    type Settings = Settings;

    fn with(&self, changed: HashMap<String, Option<Arc<LessonEntry>>>) -> Self {
        let mut entries = self.entries.clone();
        entries.retain(|entry| !changed.contains_key(&entry.lesson.id));
        entries.extend(changed.into_values().flatten());
        entries.sort_by(|one, other| one.lesson.id.cmp(&other.lesson.id));
        Self::new(entries)
    }

    fn contains(&self, id: &str) -> bool {
        self.get(id).is_some()
    }

    fn count(&self) -> usize {
        self.entries.len()
    }

    fn retired(&self) -> usize {
        self.entries.iter().filter(|entry| entry.lesson.retired.is_some()).count()
    }
}

impl LessonIndex {
    fn new(entries: Vec<Arc<LessonEntry>>) -> Self {
        let mut index = Self::default();
        let mut terms = 0;
        for (position, entry) in (0_u32..).zip(&entries) {
            for name in Subject::from(&*entry.lesson).names() {
                index.by_tool.entry(name.to_owned()).or_default().push(position);
            }
            if entry.lesson.retired.is_some() || entry.terms.is_empty() {
                continue;
            }
            index.searchable += 1;
            terms += entry.terms.len();
            for term in &entry.terms {
                index.by_term.entry(*term).or_default().push(position);
            }
        }
        index.mean_terms = (terms as f32 / index.searchable.max(1) as f32).max(1.0);
        let mut dimensions = entries.iter().map(|entry| entry.vector.as_ref().map(|vector| vector.components().len()));
        let first = dimensions.next().flatten();
        index.dimensions = first.filter(|_| dimensions.all(|other| other == first));
        index.entries = entries;
        index
    }

    /// Returns the positions of the lessons that have the word in their key.
    pub(super) fn with_term(&self, term: Term) -> &[u32] {
        self.by_term.get(&term).map_or(&[], Vec::as_slice)
    }

    /// Returns whether each lesson is about one of these tools or about none.
    pub(super) fn available(&self, tools: &[AvailableTool<'_>]) -> Vec<bool> {
        let mut available = vec![false; self.entries.len()];
        let mut mark = |name: &str, concerns: &dyn Fn(&Lesson) -> bool| {
            for position in self.by_tool.get(name).into_iter().flatten() {
                let position = *position as usize;
                if let (Some(slot), Some(entry)) = (available.get_mut(position), self.entries.get(position)) {
                    *slot |= concerns(&entry.lesson);
                }
            }
        };
        mark("", &|_| true);
        for tool in tools {
            mark(tool.name, &|lesson| Subject::from(lesson).concerns(tool));
        }
        available
    }

    pub(super) fn get(&self, id: &str) -> Option<&Arc<Lesson>> {
        let position = self.entries.binary_search_by(|entry| entry.lesson.id.as_str().cmp(id)).ok()?;
        self.entries.get(position).map(|entry| &entry.lesson)
    }

    pub(super) fn has_client_tool(&self, name: &str) -> bool {
        self.named(name).any(|lesson| lesson.client.is_some())
    }

    /// Returns the lessons about exactly these tools, including retired ones: the possible duplicates of a new lesson.
    pub(super) fn about<'a>(&'a self, subject: Subject<'a>) -> impl Iterator<Item = &'a Arc<Lesson>> {
        let first = subject.names().next().unwrap_or_default();
        self.named(first).filter(move |lesson| Subject::from(&***lesson).is_same(&subject))
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &Arc<Lesson>> {
        let positions = self.by_tool.get(name).into_iter().flatten();
        positions.filter_map(|position| self.entries.get(*position as usize)).map(|entry| &entry.lesson)
    }
}
