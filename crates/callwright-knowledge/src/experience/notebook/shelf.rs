//! The lessons of one scope.

use std::collections::HashMap;
use std::sync::Arc;

use super::entry::Entry;
use super::query::Subject;
use super::segment::Segment;
use callwright_search::retrieval::Term;
use callwright_types::Lesson;

/// The lessons that came lately are indexed by themselves until there are this many of them, or an eighth of all: then all are indexed anew.
/// So a change costs an eighth of an index at most, and on average hardly anything.
const MAX_RECENT: usize = 1024;
const RECENT_SHARE: usize = 8;

/// The lessons of one scope, in two parts: most of them, and those that came or changed lately.
#[derive(Debug, Clone, Default)]
pub(super) struct Shelf {
    base: Arc<Segment>,
    recent: Arc<Segment>,
    /// Which lessons of the base are no more, or are otherwise now.
    gone: Arc<Vec<bool>>,
    /// In how many of those a term stood.
    lost: Arc<HashMap<Term, usize>>,
    statistics: Statistics,
}

/// What BM25 has to know of all lessons that can be found.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Statistics {
    /// How many there are.
    pub(super) lessons: usize,
    /// Terms of all their keys.
    pub(super) terms: usize,
    /// All lessons, those included that are not found.
    pub(super) all: usize,
    /// Of these, the retired ones.
    pub(super) retired: usize,
}

impl Shelf {
    /// The shelf after changes: what each lesson is now, or that it is no more.
    pub(super) fn with(&self, changed: HashMap<String, Option<Arc<Entry>>>) -> Self {
        let stays = |entry: &&Arc<Entry>| !changed.contains_key(&entry.lesson.id);
        let mut recent: Vec<Arc<Entry>> = self.recent.entries().iter().filter(stays).cloned().collect();
        recent.extend(changed.values().flatten().cloned());
        let base = self.base.entries();
        if recent.len() > MAX_RECENT.max(base.len() / RECENT_SHARE) {
            let kept = base.iter().zip(self.gone.iter()).filter(|(_, gone)| !**gone).map(|(entry, _)| entry);
            recent.extend(kept.filter(stays).cloned());
            return Self::of_parts(Arc::new(Segment::of(recent)), Segment::default(), None);
        }
        let (mut gone, mut lost) = (self.gone.as_ref().clone(), self.lost.as_ref().clone());
        for position in changed.keys().filter_map(|id| self.base.place(id)) {
            let (Some(gone), Some(entry)) = (gone.get_mut(position as usize), base.get(position as usize)) else {
                continue;
            };
            if !std::mem::replace(gone, true) && entry.is_found() {
                entry.terms.iter().for_each(|term| *lost.entry(*term).or_default() += 1);
            }
        }
        Self::of_parts(Arc::clone(&self.base), Segment::of(recent), Some((gone, lost)))
    }

    fn of_parts(base: Arc<Segment>, recent: Segment, left: Option<(Vec<bool>, HashMap<Term, usize>)>) -> Self {
        let (gone, lost) = left.unwrap_or_else(|| (vec![false; base.entries().len()], HashMap::new()));
        let (recent, gone, lost) = (Arc::new(recent), Arc::new(gone), Arc::new(lost));
        let mut shelf = Self { base, recent, gone, lost, statistics: Statistics::default() };
        let mut statistics = Statistics::default();
        for entry in shelf.entries() {
            statistics.all += 1;
            statistics.retired += usize::from(entry.lesson.retired.is_some());
            if entry.is_found() {
                statistics.lessons += 1;
                statistics.terms += entry.terms.len();
            }
        }
        shelf.statistics = statistics;
        shelf
    }

    fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        let base = self.base.entries().iter().zip(self.gone.iter()).filter(|(_, gone)| !**gone);
        base.map(|(entry, _)| entry).chain(self.recent.entries())
    }

    /// The parts, each with which of its lessons are gone; those of the second all stay.
    pub(super) fn parts(&self) -> [(&Segment, &[bool]); 2] {
        [(&self.base, &self.gone), (&self.recent, &[])]
    }

    pub(super) fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// In how many keys a term stands.
    pub(super) fn lessons_with(&self, term: Term) -> usize {
        let lost = self.lost.get(&term).copied().unwrap_or_default();
        (self.base.lessons_with(term) + self.recent.lessons_with(term)).saturating_sub(lost)
    }

    pub(super) fn get(&self, id: &str) -> Option<&Arc<Lesson>> {
        let recent = || Some(&self.recent.entries().get(self.recent.place(id)? as usize)?.lesson);
        let base = || {
            let position = self.base.place(id)? as usize;
            let stays = !self.gone.get(position).copied().unwrap_or_default();
            self.base.entries().get(position).filter(|_| stays).map(|entry| &entry.lesson)
        };
        recent().or_else(base)
    }

    /// Whether there are, or were lately, lessons about a client's own tool of this name.
    pub(super) fn knows_client_tool(&self, name: &str) -> bool {
        self.base.knows_client_tool(name) || self.recent.knows_client_tool(name)
    }

    pub(super) fn about<'a>(&'a self, subject: Subject<'a>) -> impl Iterator<Item = &'a Arc<Lesson>> {
        self.parts().into_iter().flat_map(move |(segment, gone)| {
            let positions = segment.about(&subject).iter().map(|position| *position as usize);
            let here = positions.filter(move |position| !gone.get(*position).copied().unwrap_or_default());
            here.filter_map(move |position| segment.entries().get(position)).map(|entry| &entry.lesson)
        })
    }

    /// All lessons, in the order of their ids.
    pub(super) fn lessons(&self) -> Vec<Arc<Lesson>> {
        let mut lessons: Vec<Arc<Lesson>> = self.entries().map(|entry| Arc::clone(&entry.lesson)).collect();
        lessons.sort_by(|one, other| one.id.cmp(&other.id));
        lessons
    }

    pub(super) fn len(&self) -> usize {
        self.statistics.all
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
