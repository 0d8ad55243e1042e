//! Index of all procedures, to find those that fit a request.
//!
//! A library is immutable. [`ProcedureStore::with`] creates a new version from changes; unchanged scopes are shared. A turn's
//! snapshot therefore contains one library, which is replaced as a whole.

mod shelf;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use super::Settings;
use callwright_search::embedding::Vector;
use callwright_types::memory::Fingerprint;
use callwright_types::{Procedure, Scope};
use shelf::ProcedureIndex;

/// Indexed procedures of all scopes.
#[derive(Debug, Clone, Default)]
pub struct ProcedureStore {
    shelves: HashMap<Scope, Arc<ProcedureIndex>>,
    settings: Settings,
}

/// Procedure with its embedding.
#[derive(Debug, Clone)]
pub struct StoredProcedure {
    /// Procedure.
    pub procedure: Arc<Procedure>,
    /// Vector of [`embedded_text`](super::embedded_text); `None` if the procedure is found by words only.
    pub vector: Option<Arc<Vector>>,
}

/// Change of a procedure.
#[derive(Debug, Clone)]
pub enum Change {
    /// The procedure was learned or updated: merged, counted or retired.
    StoredProcedure(StoredProcedure),
    /// The procedure of this id was deleted.
    Forgotten(String),
}

/// Whether the tool of a name is available: a tool of a toolset or, with a fingerprint, a client's own tool.
pub type InPlay<'a> = dyn Fn(&str, Option<&Fingerprint>) -> bool + Sync + 'a;

/// Query for procedures.
#[derive(Clone, Copy)]
pub struct Query<'a> {
    /// Scope of the procedures.
    pub scope: &'a Scope,
    /// Text of the request.
    pub text: &'a str,
    /// Its embedding, if there is one.
    pub vector: Option<&'a Vector>,
    /// Available tools. A procedure is only found if all its tools are available.
    pub in_play: &'a InPlay<'a>,
}

/// Procedure that was found.
#[derive(Debug, Clone)]
pub struct Found {
    /// Procedure.
    pub procedure: Arc<Procedure>,
    /// Score, higher is better: the BM25 score relative to the best match, 0 to 1, plus the cosine similarity, -1 to 1.
    pub score: f32,
}

impl ProcedureStore {
    /// Builds a library. Retired procedures are included in [`Self::of_scope`], but not found.
    pub fn of(procedures: impl IntoIterator<Item = StoredProcedure>, settings: Settings) -> Self {
        Self { shelves: HashMap::new(), settings }.with(procedures.into_iter().map(Change::StoredProcedure))
    }

    /// Returns the library after these changes, in order. It is equivalent to a newly built one.
    #[must_use]
    pub fn with(&self, changes: impl IntoIterator<Item = Change>) -> Self {
        let mut changed: HashMap<Scope, HashMap<String, Option<StoredProcedure>>> = HashMap::new();
        for change in changes {
            match change {
                Change::StoredProcedure(shelved) => {
                    let (scope, id) = (shelved.procedure.scope.clone(), shelved.procedure.id.clone());
                    changed.entry(scope).or_default().insert(id, Some(shelved));
                }
                Change::Forgotten(id) => {
                    let holders = self.shelves.iter().filter(|(_, shelf)| shelf.get(&id).is_some());
                    for scope in holders.map(|(scope, _)| scope.clone()).collect::<Vec<_>>() {
                        changed.entry(scope).or_default().insert(id.clone(), None);
                    }
                    // An earlier change in this list may have added it.
                    changed.values_mut().filter_map(|of_scope| of_scope.get_mut(&id)).for_each(|known| *known = None);
                }
            }
        }
        let mut shelves = self.shelves.clone();
        for (scope, changed) in changed {
            let shelf = shelves.get(&scope).map_or_else(Default::default, Arc::clone).with(changed);
            if shelf.len() == 0 {
                shelves.remove(&scope);
            } else {
                shelves.insert(scope, Arc::new(shelf));
            }
        }
        Self { shelves, settings: self.settings.clone() }
    }

    /// Returns at most `k` procedures with the highest scores. Retired procedures, those of other scopes, and those
    /// with unavailable tools are excluded. Without an embedding, a match shares at least one word with the text that
    /// is not a stop word. Results are deterministic.
    pub fn recall(&self, query: &Query<'_>, k: usize) -> Vec<Found> {
        self.shelves.get(query.scope).map(|shelf| shelf.search(query, k)).unwrap_or_default()
    }

    /// Returns the active procedures of a scope whose tools are all available, in the order of learning.
    pub fn in_play<'a>(&'a self, scope: &Scope, in_play: &'a InPlay<'a>) -> impl Iterator<Item = &'a StoredProcedure> {
        let shelved = self.shelves.get(scope).into_iter().flat_map(|shelf| shelf.live());
        shelved.filter(move |shelved| shelf::is_in_play(&shelved.procedure, in_play))
    }

    /// Returns a procedure by scope and id.
    pub fn get(&self, scope: &Scope, id: &str) -> Option<&Arc<Procedure>> {
        self.shelves.get(scope)?.get(id)
    }

    /// Returns all procedures of a scope, in the order of learning.
    pub fn of_scope(&self, scope: &Scope) -> impl Iterator<Item = &Arc<Procedure>> {
        self.shelves.get(scope).into_iter().flat_map(|shelf| shelf.all())
    }

    /// Whether the scope has any active procedure.
    pub fn knows(&self, scope: &Scope) -> bool {
        self.shelves.get(scope).is_some_and(|shelf| shelf.live().next().is_some())
    }

    /// Returns the scopes with procedures, in arbitrary order.
    pub fn scopes(&self) -> impl Iterator<Item = &Scope> {
        self.shelves.keys()
    }

    /// Returns the number of procedures, retired ones included.
    pub fn len(&self) -> usize {
        self.shelves.values().map(|shelf| shelf.len()).sum()
    }

    /// Returns the number of retired procedures.
    pub fn retired(&self) -> usize {
        self.shelves.values().map(|shelf| shelf.len() - shelf.live().count()).sum()
    }

    /// Whether there are no procedures.
    pub fn is_empty(&self) -> bool {
        self.shelves.is_empty()
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}
