//! Parts that lessons and procedures share: results of learning, changes, and indexes by scope.
//!
//! Owns what is the same for every kind of memory. Must not know what a lesson or a procedure contains.

use std::collections::HashMap;
use std::sync::Arc;

use callwright_types::Scope;

/// Result of learning a verified draft.
#[derive(Debug, Clone, PartialEq)]
pub enum LearnOutcome<M> {
    /// The draft is a new memory.
    New(M),
    /// The draft repeats an existing memory, which now includes this event as evidence.
    Confirmed(M),
    /// Nothing changes: the event was counted before, or the draft must not be learned.
    Unchanged,
}

/// Change of a stored memory.
#[derive(Debug, Clone)]
pub enum MemoryChange<M> {
    /// The memory was learned or updated: merged, counted or retired.
    Stored(M),
    /// The memory with this id was deleted.
    Deleted(String),
}

/// Memory prepared for search.
pub trait IndexedMemory {
    /// Returns the scope of the memory.
    fn scope(&self) -> &Scope;

    /// Returns the id of the memory.
    fn id(&self) -> &str;
}

/// Index of the memories of one scope.
pub trait MemoryIndex: Default {
    /// Memory as it is stored, with its embedding.
    type Stored: Into<Self::Memory>;
    /// Memory as it is indexed.
    type Memory: IndexedMemory;
    /// Settings of the search.
    type Settings: Clone;

    /// Applies changes: the new version of each memory, or `None` if it was deleted.
    #[must_use]
    fn with(&self, changed: HashMap<String, Option<Self::Memory>>) -> Self;

    /// Whether the scope has a memory with this id.
    fn contains(&self, id: &str) -> bool;

    /// Returns the number of memories, including retired ones.
    fn count(&self) -> usize;

    /// Returns the number of retired memories.
    fn retired(&self) -> usize;
}

/// Search index over the memories of all scopes.
///
/// A store is immutable. [`MemoryStore::with`] returns a new store with changes applied, which shares the indexes of
/// unchanged scopes. A store is therefore part of a turn's snapshot and is replaced as a whole.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore<I: MemoryIndex> {
    /// Indexes of the scopes that have memories.
    indexes: HashMap<Scope, Arc<I>>,
    settings: I::Settings,
}

impl<I: MemoryIndex> MemoryStore<I> {
    /// Creates a store from memories, including retired ones, which searches exclude.
    pub fn new(memories: impl IntoIterator<Item = I::Stored>, settings: I::Settings) -> Self {
        Self { indexes: HashMap::new(), settings }.with(memories.into_iter().map(MemoryChange::Stored))
    }

    /// Returns the store after the changes, applied in order. Its results equal those of a store that is built from
    /// scratch.
    #[must_use]
    pub fn with(&self, changes: impl IntoIterator<Item = MemoryChange<I::Stored>>) -> Self {
        let mut changed: HashMap<Scope, HashMap<String, Option<I::Memory>>> = HashMap::new();
        for change in changes {
            match change {
                MemoryChange::Stored(stored) => {
                    let memory: I::Memory = stored.into();
                    let (scope, id) = (memory.scope().clone(), memory.id().to_owned());
                    changed.entry(scope).or_default().insert(id, Some(memory));
                }
                MemoryChange::Deleted(id) => {
                    for (scope, _) in self.indexes.iter().filter(|(_, index)| index.contains(&id)) {
                        changed.entry(scope.clone()).or_default().insert(id.clone(), None);
                    }
                    // An earlier change of this batch may have added the memory.
                    changed.values_mut().filter_map(|memories| memories.get_mut(&id)).for_each(|memory| *memory = None);
                }
            }
        }
        let mut indexes = self.indexes.clone();
        for (scope, changed) in changed {
            let index = indexes.get(&scope).map_or_else(Arc::default, Arc::clone).with(changed);
            if index.count() == 0 {
                indexes.remove(&scope);
            } else {
                indexes.insert(scope, Arc::new(index));
            }
        }
        Self { indexes, settings: self.settings.clone() }
    }

    /// Returns the index of a scope, if it has memories.
    pub(crate) fn index(&self, scope: &Scope) -> Option<&I> {
        self.indexes.get(scope).map(|index| &**index)
    }

    /// Returns the scopes that have memories, in no particular order.
    pub fn scopes(&self) -> impl Iterator<Item = &Scope> {
        self.indexes.keys()
    }

    /// Returns the number of memories, including retired ones.
    pub fn len(&self) -> usize {
        self.indexes.values().map(|index| index.count()).sum()
    }

    /// Returns the number of retired memories.
    pub fn retired(&self) -> usize {
        self.indexes.values().map(|index| index.retired()).sum()
    }

    /// Whether there are no memories.
    pub fn is_empty(&self) -> bool {
        self.indexes.is_empty()
    }

    pub fn settings(&self) -> &I::Settings {
        &self.settings
    }
}
