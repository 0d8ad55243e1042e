//! Index of the lessons of one scope.

use std::collections::HashMap;
use std::sync::Arc;

use super::entry::{LessonEntry, StoredLesson};
use super::query::Subject;
use super::segment::LessonSegment;
use crate::experience::Settings;
use crate::memory::MemoryIndex;
use callwright_search::retrieval::Term;
use callwright_types::Lesson;

/// Recent lessons have their own index until it holds more than `MAX_RECENT` lessons and more than 1/`RECENT_SHARE` of
/// the base; then the whole index is rebuilt. A change therefore re-indexes at most an eighth of the lessons, and
/// usually far fewer.
const MAX_RECENT: usize = 1024;
const RECENT_SHARE: usize = 8;

/// Lessons of one scope in two segments: the base, and the lessons that were added or changed recently.
#[derive(Debug, Clone, Default)]
pub struct LessonIndex {
    base: Arc<LessonSegment>,
    recent: Arc<LessonSegment>,
    /// Whether each lesson of the base was deleted or replaced.
    deleted: Arc<Vec<bool>>,
    /// Number of deleted or replaced lessons that contain a term.
    deleted_counts: Arc<HashMap<Term, usize>>,
    statistics: Statistics,
}

/// BM25 statistics of the lessons that can be found.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Statistics {
    /// Number of lessons that can be found.
    pub(super) lessons: usize,
    /// Number of terms in all their keys.
    pub(super) terms: usize,
    /// Number of all lessons, including those that cannot be found.
    pub(super) all: usize,
    /// Number of retired lessons.
    pub(super) retired: usize,
}

impl MemoryIndex for LessonIndex {
    type Stored = StoredLesson;
    type Memory = Arc<LessonEntry>;
    type Settings = Settings;

    fn with(&self, changed: HashMap<String, Option<Arc<LessonEntry>>>) -> Self {
        let mut recent = self.recent.entries().to_vec();
        recent.retain(|entry| !changed.contains_key(&entry.lesson.id));
        recent.extend(changed.values().flatten().cloned());
        let base = self.base.entries();
        if recent.len() > MAX_RECENT.max(base.len() / RECENT_SHARE) {
            let kept = self.base_entries().filter(|entry| !changed.contains_key(&entry.lesson.id));
            recent.extend(kept.cloned());
            return Self::from_parts(Arc::new(LessonSegment::new(recent)), LessonSegment::default(), None);
        }
        let (mut deleted, mut deleted_counts) = (self.deleted.as_ref().clone(), self.deleted_counts.as_ref().clone());
        for position in changed.keys().filter_map(|id| self.base.position_of(id)) {
            let (Some(deleted), Some(entry)) = (deleted.get_mut(position as usize), base.get(position as usize)) else {
                continue;
            };
            if !std::mem::replace(deleted, true) && entry.is_searchable() {
                entry.terms.iter().for_each(|term| *deleted_counts.entry(*term).or_default() += 1);
            }
        }
        Self::from_parts(Arc::clone(&self.base), LessonSegment::new(recent), Some((deleted, deleted_counts)))
    }

    fn contains(&self, id: &str) -> bool {
        self.get(id).is_some()
    }

    fn count(&self) -> usize {
        self.statistics.all
    }

    fn retired(&self) -> usize {
        self.statistics.retired
    }
}

impl LessonIndex {
    fn from_parts(
        base: Arc<LessonSegment>,
        recent: LessonSegment,
        deletions: Option<(Vec<bool>, HashMap<Term, usize>)>,
    ) -> Self {
        let (deleted, deleted_counts) =
            deletions.unwrap_or_else(|| (vec![false; base.entries().len()], HashMap::new()));
        let (recent, deleted, deleted_counts) = (Arc::new(recent), Arc::new(deleted), Arc::new(deleted_counts));
        let mut index = Self { base, recent, deleted, deleted_counts, statistics: Statistics::default() };
        let mut statistics = Statistics::default();
        for entry in index.entries() {
            statistics.all += 1;
            statistics.retired += usize::from(entry.lesson.retired.is_some());
            if entry.is_searchable() {
                statistics.lessons += 1;
                statistics.terms += entry.terms.len();
            }
        }
        index.statistics = statistics;
        index
    }

    fn entries(&self) -> impl Iterator<Item = &Arc<LessonEntry>> {
        self.base_entries().chain(self.recent.entries())
    }

    /// Returns the lessons of the base that were not deleted or replaced.
    fn base_entries(&self) -> impl Iterator<Item = &Arc<LessonEntry>> {
        let base = self.base.entries().iter().zip(self.deleted.iter());
        base.filter(|(_, deleted)| !**deleted).map(|(entry, _)| entry)
    }

    /// Returns both segments, each with flags for its deleted lessons; the recent segment has none.
    pub(super) fn parts(&self) -> [(&LessonSegment, &[bool]); 2] {
        [(&self.base, &self.deleted), (&self.recent, &[])]
    }

    pub(super) fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Returns the number of keys that contain a term.
    pub(super) fn lessons_with(&self, term: Term) -> usize {
        let deleted_counts = self.deleted_counts.get(&term).copied().unwrap_or_default();
        (self.base.lessons_with(term) + self.recent.lessons_with(term)).saturating_sub(deleted_counts)
    }

    pub(super) fn get(&self, id: &str) -> Option<&Arc<Lesson>> {
        // A lesson of the base that was replaced is in the recent segment.
        for (segment, deleted) in self.parts().into_iter().rev() {
            if let Some(position) = segment.position_of(id).map(|position| position as usize)
                && !deleted.get(position).copied().unwrap_or_default()
            {
                return segment.entries().get(position).map(|entry| &entry.lesson);
            }
        }
        None
    }

    /// Whether there are, or recently were, lessons about a client's own tool of this name.
    pub(super) fn has_client_tool(&self, name: &str) -> bool {
        self.base.has_client_tool(name) || self.recent.has_client_tool(name)
    }

    pub(super) fn about<'a>(&'a self, subject: Subject<'a>) -> impl Iterator<Item = &'a Arc<Lesson>> {
        self.parts().into_iter().flat_map(move |(segment, deleted)| {
            let positions = segment.about(&subject).iter().map(|position| *position as usize);
            let here = positions.filter(move |position| !deleted.get(*position).copied().unwrap_or_default());
            here.filter_map(move |position| segment.entries().get(position)).map(|entry| &entry.lesson)
        })
    }

    /// Returns all lessons, sorted by id.
    pub(super) fn lessons(&self) -> Vec<Arc<Lesson>> {
        let mut lessons: Vec<Arc<Lesson>> = self.entries().map(|entry| Arc::clone(&entry.lesson)).collect();
        lessons.sort_by(|one, other| one.id.cmp(&other.id));
        lessons
    }
}
