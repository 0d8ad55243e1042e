//! Index segments of one scope's lessons.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::entry::LessonEntry;
use super::query::{AvailableTool, Subject, SubjectKey};
use callwright_search::embedding::{QuantisedQuery, QuantisedVectors};
use callwright_search::retrieval::Term;

/// Inverted index over the words of lesson keys. Lessons about the same tools form one *shard*, so that a search skips
/// the shards of tools that are not available.
#[derive(Debug, Default)]
pub(super) struct LessonSegment {
    /// Sorted by lesson id.
    entries: Vec<Arc<LessonEntry>>,
    positions_by_id: HashMap<String, u32>,
    /// Positions of all lessons about the same tools, including retired ones, per shard.
    shards: Vec<Vec<u32>>,
    /// Shards by tool hash; shards about no tool are under `NO_TOOL`.
    by_tool: HashMap<u64, Vec<u32>>,
    /// Names of clients' own tools that lessons are about.
    client_names: HashSet<String>,
    /// Distinct terms, sorted.
    terms: Vec<Term>,
    /// End index of each term's groups.
    ends: Vec<u32>,
    groups: Vec<ShardPostings>,
    lists: Vec<u32>,
    /// Number of terms in each lesson's key.
    lengths: Vec<u16>,
    rows: Option<QuantisedVectors>,
}

/// Lessons of one shard that contain a term, the shortest key first, because the term weighs most there.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShardPostings {
    pub(super) shard: u32,
    begin: u32,
    end: u32,
}

/// Hash value for lessons about no tool.
const NO_TOOL: u64 = 0;

impl LessonSegment {
    /// Indexes lessons with distinct ids.
    pub(super) fn new(mut entries: Vec<Arc<LessonEntry>>) -> Self {
        entries.sort_by(|one, other| one.lesson.id.cmp(&other.lesson.id));
        let mut segment = Self::default();
        let mut shard_of = Vec::with_capacity(entries.len());
        let mut shards: HashMap<SubjectKey<'_>, u32> = HashMap::new();
        for (position, entry) in (0_u32..).zip(&entries) {
            let lesson = &entry.lesson;
            segment.positions_by_id.insert(lesson.id.clone(), position);
            let next = segment.shards.len() as u32;
            let subject = Subject::from(&**lesson);
            let shard = *shards.entry(subject.key()).or_insert(next);
            if shard == next {
                segment.shards.push(Vec::new());
                segment.index_tools(shard, &subject);
                segment.client_names.extend(lesson.client.iter().map(|facts| facts.tool.name.to_string()));
            }
            segment.shards.get_mut(shard as usize).into_iter().for_each(|shard| shard.push(position));
            shard_of.push(shard);
        }
        drop(shards);
        segment.index_terms(&entries, &shard_of);
        segment.lengths = entries.iter().map(|entry| u16::try_from(entry.terms.len()).unwrap_or(u16::MAX)).collect();
        segment.rows = rows(&entries);
        segment.entries = entries;
        segment
    }

    fn index_tools(&mut self, shard: u32, subject: &Subject<'_>) {
        let mut tools: Vec<u64> = subject.tools().into_iter().map(hash).collect();
        if tools.is_empty() {
            tools.push(NO_TOOL);
        }
        tools.dedup();
        tools.into_iter().for_each(|tool| self.by_tool.entry(tool).or_default().push(shard));
    }

    fn index_terms(&mut self, entries: &[Arc<LessonEntry>], shard_of: &[u32]) {
        let searchable = entries.iter().zip(shard_of).zip(0_u32..).filter(|((entry, _), _)| entry.is_searchable());
        let mut searchable: Vec<(Term, u32, usize, u32)> = searchable
            .flat_map(|((entry, shard), position)| {
                entry.terms.iter().map(move |term| (*term, *shard, entry.terms.len(), position))
            })
            .collect();
        searchable.sort_unstable();
        for (term, shard, _, position) in searchable {
            let begins_term = self.terms.last() != Some(&term);
            if begins_term {
                self.terms.push(term);
                self.ends.push(self.groups.len() as u32);
            }
            let at = self.lists.len() as u32;
            if begins_term || self.groups.last().is_none_or(|group| group.shard != shard) {
                self.groups.push(ShardPostings { shard, begin: at, end: at });
            }
            self.lists.push(position);
            self.groups.last_mut().into_iter().for_each(|group| group.end = at + 1);
            let end = self.groups.len() as u32;
            self.ends.last_mut().into_iter().for_each(|last| *last = end);
        }
    }

    pub(super) fn entries(&self) -> &[Arc<LessonEntry>] {
        &self.entries
    }

    /// Returns the number of terms in a lesson's key.
    pub(super) fn terms_of(&self, position: usize) -> Option<usize> {
        self.lengths.get(position).map(|terms| usize::from(*terms))
    }

    pub(super) fn position_of(&self, id: &str) -> Option<u32> {
        self.positions_by_id.get(id).copied()
    }

    /// Returns the positions of all lessons about exactly these tools.
    pub(super) fn about(&self, subject: &Subject<'_>) -> &[u32] {
        let first = subject.tools().first().map_or(NO_TOOL, |tool| hash(*tool));
        let shards = self.by_tool.get(&first).into_iter().flatten();
        for shard in shards.filter_map(|shard| self.shards.get(*shard as usize)) {
            let first = shard.first().and_then(|position| self.entries.get(*position as usize));
            if first.is_some_and(|entry| Subject::from(&*entry.lesson).is_same(subject)) {
                return shard;
            }
        }
        &[]
    }

    /// Whether there are lessons about a client's own tool of this name.
    pub(super) fn has_client_tool(&self, name: &str) -> bool {
        self.client_names.contains(name)
    }

    /// Returns the shards about any of these tools or about none, sorted.
    pub(super) fn shards_for(&self, tools: &[AvailableTool<'_>]) -> Vec<u32> {
        let keys = std::iter::once(NO_TOOL).chain(tools.iter().map(|tool| hash(*tool)));
        let mut shards: Vec<u32> = keys.filter_map(|key| self.by_tool.get(&key)).flatten().copied().collect();
        shards.sort_unstable();
        shards.dedup();
        shards
    }

    /// Returns the groups of lessons with a term, one per shard, sorted by shard.
    pub(super) fn groups(&self, term: Term) -> &[ShardPostings] {
        let Ok(slot) = self.terms.binary_search(&term) else { return &[] };
        let begin = slot.checked_sub(1).map_or(0, |before| self.end(before));
        self.groups.get(begin..self.end(slot)).unwrap_or_default()
    }

    fn end(&self, slot: usize) -> usize {
        self.ends.get(slot).map_or(0, |end| *end as usize)
    }

    /// Returns the number of keys that contain a term. The lists of the term's groups are adjacent, so none of them has
    /// to be read.
    pub(super) fn lessons_with(&self, term: Term) -> usize {
        let groups = self.groups(term);
        let (first, last) = (groups.first(), groups.last());
        first.zip(last).map_or(0, |(first, last)| (last.end - first.begin) as usize)
    }

    /// Returns the positions of a group's lessons.
    pub(super) fn positions(&self, group: ShardPostings) -> &[u32] {
        self.lists.get(group.begin as usize..group.end as usize).unwrap_or_default()
    }

    /// Returns the cosine similarity of a lesson's vector and a query; `None` if they cannot be compared.
    pub(super) fn cosine(&self, query: &QuantisedQuery, position: usize) -> Option<f32> {
        self.rows.as_ref()?.cosines_within(query, position..position + 1).first().copied()
    }

    /// Returns the dimensions of the lessons' vectors; `None` if a lesson lacks a vector.
    pub(super) fn dimensions(&self) -> Option<usize> {
        let first = self.entries.first()?.vector.as_ref()?;
        self.rows.is_some().then(|| first.components().len())
    }
}

/// Returns the vectors if every lesson has one with the same dimensions. Otherwise lessons with a vector would outrank
/// those without, because the score adds words and meaning.
fn rows(entries: &[Arc<LessonEntry>]) -> Option<QuantisedVectors> {
    let dimensions = entries.first()?.vector.as_ref()?.components().len();
    let mut rows = QuantisedVectors::with_capacity(dimensions, entries.len());
    for entry in entries {
        let vector = entry.vector.as_ref().filter(|vector| vector.components().len() == dimensions)?;
        rows.push(vector);
    }
    Some(rows)
}

/// Hashes a tool. A collision at worst finds a lesson that concerns neither tool.
fn hash(tool: AvailableTool<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (tool.toolset, tool.name, tool.fingerprint).hash(&mut hasher);
    hasher.finish().max(NO_TOOL + 1)
}
