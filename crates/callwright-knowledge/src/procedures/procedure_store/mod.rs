//! Index of all procedures, to find those that fit a request.

mod index;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use index::{ProcedureMatch, ProcedureQuery, StoredProcedure, ToolAvailability};

use crate::memory::MemoryStore;
use callwright_types::{Procedure, Scope};
use index::ProcedureIndex;

/// Indexed procedures of all scopes. Retired ones are included in [`ProcedureStore::in_scope`], but not found.
pub type ProcedureStore = MemoryStore<ProcedureIndex>;

impl ProcedureStore {
    /// Returns at most `k` procedures with the highest scores. Retired procedures, those of other scopes, and those
    /// with unavailable tools are excluded. Without an embedding, a match shares at least one word with the text that
    /// is not a stop word. Results are deterministic.
    pub fn recall(&self, query: &ProcedureQuery<'_>, k: usize) -> Vec<ProcedureMatch> {
        self.index(query.scope).map(|index| index.search(query, k)).unwrap_or_default()
    }

    /// Returns the active procedures of a scope whose tools are all available, in the order of learning.
    pub fn available<'a>(
        &'a self,
        scope: &Scope,
        is_available: &'a ToolAvailability<'a>,
    ) -> impl Iterator<Item = &'a StoredProcedure> {
        let stored = self.index(scope).into_iter().flat_map(ProcedureIndex::active);
        stored.filter(move |stored| stored.has_available_tools(is_available))
    }

    /// Returns a procedure by scope and id.
    pub fn get(&self, scope: &Scope, id: &str) -> Option<&Arc<Procedure>> {
        self.index(scope)?.get(id)
    }

    /// Returns all procedures of a scope, in the order of learning.
    pub fn in_scope(&self, scope: &Scope) -> impl Iterator<Item = &Arc<Procedure>> {
        self.index(scope).into_iter().flat_map(ProcedureIndex::all)
    }

    /// Whether the scope has any active procedure.
    pub fn has_active(&self, scope: &Scope) -> bool {
        self.index(scope).is_some_and(|index| index.active().next().is_some())
    }
}
