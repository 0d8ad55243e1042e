//! Index of all procedures, to find those that fit a request.
//!
//! A store is immutable. [`ProcedureStore::with`] creates a new version from changes; unchanged scopes are shared. A
//! turn's snapshot therefore contains one store, which is replaced as a whole.

mod index;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use index::{ProcedureMatch, ProcedureQuery, StoredProcedure, ToolAvailability};

use super::Settings;
use crate::memory::{MemoryChange, ScopedIndexes};
use callwright_types::{Procedure, Scope};
use index::ProcedureIndex;

/// Indexed procedures of all scopes.
#[derive(Debug, Clone, Default)]
pub struct ProcedureStore {
    indexes: ScopedIndexes<ProcedureIndex>,
    settings: Settings,
}

impl ProcedureStore {
    /// Builds a store. Retired procedures are included in [`Self::in_scope`], but not found.
    pub fn new(procedures: impl IntoIterator<Item = StoredProcedure>, settings: Settings) -> Self {
        Self { indexes: ScopedIndexes::default(), settings }.with(procedures.into_iter().map(MemoryChange::Stored))
    }

    /// Returns the store after these changes, in order. It is equivalent to a newly built one.
    #[must_use]
    pub fn with(&self, changes: impl IntoIterator<Item = MemoryChange<StoredProcedure>>) -> Self {
        Self { indexes: self.indexes.with(changes), settings: self.settings.clone() }
    }

    /// Returns at most `k` procedures with the highest scores. Retired procedures, those of other scopes, and those
    /// with unavailable tools are excluded. Without an embedding, a match shares at least one word with the text that
    /// is not a stop word. Results are deterministic.
    pub fn recall(&self, query: &ProcedureQuery<'_>, k: usize) -> Vec<ProcedureMatch> {
        self.indexes.get(query.scope).map(|index| index.search(query, k)).unwrap_or_default()
    }

    /// Returns the active procedures of a scope whose tools are all available, in the order of learning.
    pub fn available<'a>(
        &'a self,
        scope: &Scope,
        is_available: &'a ToolAvailability<'a>,
    ) -> impl Iterator<Item = &'a StoredProcedure> {
        let stored = self.indexes.get(scope).into_iter().flat_map(ProcedureIndex::active);
        stored.filter(move |stored| stored.has_available_tools(is_available))
    }

    /// Returns a procedure by scope and id.
    pub fn get(&self, scope: &Scope, id: &str) -> Option<&Arc<Procedure>> {
        self.indexes.get(scope)?.get(id)
    }

    /// Returns all procedures of a scope, in the order of learning.
    pub fn in_scope(&self, scope: &Scope) -> impl Iterator<Item = &Arc<Procedure>> {
        self.indexes.get(scope).into_iter().flat_map(ProcedureIndex::all)
    }

    /// Whether the scope has any active procedure.
    pub fn has_active(&self, scope: &Scope) -> bool {
        self.indexes.get(scope).is_some_and(|index| index.active().next().is_some())
    }

    /// Returns the scopes with procedures, in arbitrary order.
    pub fn scopes(&self) -> impl Iterator<Item = &Scope> {
        self.indexes.scopes()
    }

    /// Returns the number of procedures, retired ones included.
    pub fn len(&self) -> usize {
        self.indexes.len()
    }

    /// Returns the number of retired procedures.
    pub fn retired(&self) -> usize {
        self.indexes.retired()
    }

    /// Whether there are no procedures.
    pub fn is_empty(&self) -> bool {
        self.indexes.is_empty()
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}
