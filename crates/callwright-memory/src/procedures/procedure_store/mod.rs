//! Index of all procedures, to find those that fit a request.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::memory::{IndexedMemory, MemoryIndex, MemoryStore};
use crate::procedures::{Settings, embedded_text};
use callwright_search::embedding::Vector;
use callwright_search::retrieval::{Bm25, is_stop_word};
use callwright_types::memory::Fingerprint;
use callwright_types::{Procedure, Scope};

/// Indexed procedures of all scopes. Retired ones are included in `ProcedureStore::in_scope`, but not found.
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

/// Procedure with its embedding.
#[derive(Debug, Clone)]
pub struct StoredProcedure {
    pub procedure: Arc<Procedure>,
    /// Vector of [`embedded_text`]; `None` if the procedure is found by words only.
    pub vector: Option<Arc<Vector>>,
}

/// Whether the tool of a name is available: a tool of a toolset or, with a fingerprint, a client's own tool.
pub type ToolAvailability<'a> = dyn Fn(&str, Option<&Fingerprint>) -> bool + Sync + 'a;

#[derive(Clone, Copy)]
pub struct ProcedureQuery<'a> {
    pub scope: &'a Scope,
    /// Text of the request.
    pub text: &'a str,
    /// Its embedding, if there is one.
    pub vector: Option<&'a Vector>,
    /// Available tools. A procedure is only found if all its tools are available.
    pub is_available: &'a ToolAvailability<'a>,
}

/// Procedure that was found.
#[derive(Debug, Clone)]
pub struct ProcedureMatch {
    pub procedure: Arc<Procedure>,
    /// Score, higher is better: the BM25 score relative to the best match, 0 to 1, plus the cosine similarity, -1 to 1.
    pub score: f32,
}

impl StoredProcedure {
    /// Whether all tools of the procedure are available.
    pub(super) fn has_available_tools(&self, is_available: &ToolAvailability<'_>) -> bool {
        let mut nodes = self.procedure.plan.nodes().iter();
        nodes.all(|node| is_available(&node.tool, self.procedure.fingerprint(&node.tool)))
    }

    fn is_active(&self) -> bool {
        self.procedure.retired.is_none()
    }
}

impl IndexedMemory for StoredProcedure {
    fn scope(&self) -> &Scope {
        &self.procedure.scope
    }

    fn id(&self) -> &str {
        &self.procedure.id
    }
}

/// Procedures by id; ids are in chronological order.
#[derive(Debug, Clone, Default)]
pub struct ProcedureIndex {
    all: BTreeMap<String, StoredProcedure>,
    /// BM25 index of the active procedures.
    words: Option<Bm25<String>>,
}

impl MemoryIndex for ProcedureIndex {
    type Stored = StoredProcedure;
    type Memory = StoredProcedure;
    type Settings = Settings;

    fn with(&self, changed: HashMap<String, Option<StoredProcedure>>) -> Self {
        let mut all = self.all.clone();
        for (id, stored) in changed {
            match stored {
                Some(stored) => all.insert(id, stored),
                None => all.remove(&id),
            };
        }
        let active = all.iter().filter(|(_, stored)| stored.is_active());
        let words = Bm25::build(active.map(|(id, stored)| (id.clone(), embedded_text(&stored.procedure))));
        Self { all, words: Some(words) }
    }

    fn contains(&self, id: &str) -> bool {
        self.all.contains_key(id)
    }

    fn count(&self) -> usize {
        self.all.len()
    }

    fn retired(&self) -> usize {
        self.all.len() - self.active().count()
    }
}

impl ProcedureIndex {
    pub(super) fn get(&self, id: &str) -> Option<&Arc<Procedure>> {
        self.all.get(id).map(|stored| &stored.procedure)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Procedure>> {
        self.all.values().map(|stored| &stored.procedure)
    }

    pub(super) fn active(&self) -> impl Iterator<Item = &StoredProcedure> {
        self.all.values().filter(|stored| stored.is_active())
    }

    pub(super) fn search(&self, query: &ProcedureQuery<'_>, k: usize) -> Vec<ProcedureMatch> {
        let Some(index) = &self.words else { return Vec::new() };
        let mut words: Vec<&str> = query.text.split_whitespace().collect();
        words.retain(|word| !is_stop_word(&word.to_lowercase()));
        let hits = index.search(&words.join(" "), index.len());
        let best = hits.first().map_or(1.0, |hit| hit.score);
        let words: HashMap<&str, f32> = hits.iter().map(|hit| (hit.id.as_str(), hit.score / best)).collect();
        let mut matches: Vec<ProcedureMatch> = Vec::new();
        for stored in self.active().filter(|stored| stored.has_available_tools(query.is_available)) {
            let words = words.get(stored.procedure.id.as_str()).copied();
            let meaning = query.vector.zip(stored.vector.as_ref()).map(|(query, own)| query.cosine(own));
            if words.is_some() || meaning.is_some() {
                let score = words.unwrap_or_default() + meaning.unwrap_or_default();
                matches.push(ProcedureMatch { procedure: Arc::clone(&stored.procedure), score });
            }
        }
        // The sort is stable, so ties are in the order of learning.
        matches.sort_by(|one, other| other.score.total_cmp(&one.score));
        matches.truncate(k);
        matches
    }
}
