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
pub(crate) trait IndexedMemory {
    fn scope(&self) -> &Scope;

    fn id(&self) -> &str;
}

/// Index of the memories of one scope.
pub(crate) trait MemoryIndex: Default {
    type Memory: IndexedMemory;

    /// Applies changes: the new version of each memory, or `None` if it was deleted.
    fn with(&self, changed: HashMap<String, Option<Self::Memory>>) -> Self;

    /// Whether the scope has a memory with this id.
    fn contains(&self, id: &str) -> bool;

    /// Returns the number of memories, including retired ones.
    fn len(&self) -> usize;

    /// Returns the number of retired memories.
    fn retired(&self) -> usize;
}

/// Immutable indexes of all scopes that have memories.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScopedIndexes<I>(HashMap<Scope, Arc<I>>);

impl<I: MemoryIndex> ScopedIndexes<I> {
    /// Returns the indexes after the changes, applied in order. They share the indexes of unchanged scopes, and their
    /// results equal those of indexes that are built from scratch.
    pub(crate) fn with(&self, changes: impl IntoIterator<Item = MemoryChange<I::Memory>>) -> Self {
        let mut changed: HashMap<Scope, HashMap<String, Option<I::Memory>>> = HashMap::new();
        for change in changes {
            match change {
                MemoryChange::Stored(memory) => {
                    let (scope, id) = (memory.scope().clone(), memory.id().to_owned());
                    changed.entry(scope).or_default().insert(id, Some(memory));
                }
                MemoryChange::Deleted(id) => {
                    for (scope, _) in self.0.iter().filter(|(_, index)| index.contains(&id)) {
                        changed.entry(scope.clone()).or_default().insert(id.clone(), None);
                    }
                    // An earlier change of this batch may have added the memory.
                    changed.values_mut().filter_map(|memories| memories.get_mut(&id)).for_each(|memory| *memory = None);
                }
            }
        }
        let mut indexes = self.0.clone();
        for (scope, changed) in changed {
            let index = indexes.get(&scope).map_or_else(Arc::default, Arc::clone).with(changed);
            if index.len() == 0 {
                indexes.remove(&scope);
            } else {
                indexes.insert(scope, Arc::new(index));
            }
        }
        Self(indexes)
    }

    /// Returns the index of a scope, if it has memories.
    pub(crate) fn get(&self, scope: &Scope) -> Option<&I> {
        self.0.get(scope).map(|index| &**index)
    }

    /// Returns the scopes that have memories, in no particular order.
    pub(crate) fn scopes(&self) -> impl Iterator<Item = &Scope> {
        self.0.keys()
    }

    /// Returns the number of memories, including retired ones.
    pub(crate) fn len(&self) -> usize {
        self.0.values().map(|index| index.len()).sum()
    }

    /// Returns the number of retired memories.
    pub(crate) fn retired(&self) -> usize {
        self.0.values().map(|index| index.retired()).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
