//! Indexed procedures of one scope.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::{Found, InPlay, Query, StoredProcedure};
use crate::procedures::embedded_text;
use callwright_search::retrieval::{Bm25, is_stop_word};
use callwright_types::Procedure;

/// Procedures by id; ids are in chronological order.
#[derive(Debug, Default)]
pub(super) struct ProcedureIndex {
    all: BTreeMap<String, StoredProcedure>,
    /// BM25 index of the active procedures.
    words: Option<Bm25<String>>,
}

impl ProcedureIndex {
    /// Returns the shelf after changes.
    pub(super) fn with(&self, changed: HashMap<String, Option<StoredProcedure>>) -> Self {
        let mut all = self.all.clone();
        for (id, shelved) in changed {
            match shelved {
                Some(shelved) => all.insert(id, shelved),
                None => all.remove(&id),
            };
        }
        let live = all.iter().filter(|(_, shelved)| shelved.procedure.retired.is_none());
        let words = Bm25::build(live.map(|(id, shelved)| (id.clone(), embedded_text(&shelved.procedure))));
        Self { all, words: Some(words) }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get(&self, id: &str) -> Option<&Arc<Procedure>> {
        self.all.get(id).map(|shelved| &shelved.procedure)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Procedure>> {
        self.all.values().map(|shelved| &shelved.procedure)
    }

    pub(super) fn live(&self) -> impl Iterator<Item = &StoredProcedure> {
        self.all.values().filter(|shelved| shelved.procedure.retired.is_none())
    }

    pub(super) fn search(&self, query: &Query<'_>, k: usize) -> Vec<Found> {
        let Some(index) = &self.words else { return Vec::new() };
        let asked: Vec<&str> =
            query.text.split_whitespace().filter(|word| !is_stop_word(&word.to_lowercase())).collect();
        let hits = index.search(&asked.join(" "), index.len());
        let best = hits.first().map_or(1.0, |hit| hit.score);
        let words: HashMap<&str, f32> = hits.iter().map(|hit| (hit.id.as_str(), hit.score / best)).collect();
        let mut found: Vec<Found> = Vec::new();
        for shelved in self.live().filter(|shelved| is_in_play(&shelved.procedure, query.in_play)) {
            let words = words.get(shelved.procedure.id.as_str()).copied();
            let meaning = query.vector.zip(shelved.vector.as_ref()).map(|(asked, own)| asked.cosine(own));
            if words.is_some() || meaning.is_some() {
                let score = words.unwrap_or_default() + meaning.unwrap_or_default();
                found.push(Found { procedure: Arc::clone(&shelved.procedure), score });
            }
        }
        // The sort is stable, so ties are in the order of learning.
        found.sort_by(|one, other| other.score.total_cmp(&one.score));
        found.truncate(k);
        found
    }
}

/// Whether all tools of a procedure are available.
pub(super) fn is_in_play(procedure: &Procedure, in_play: &InPlay<'_>) -> bool {
    procedure.plan.nodes().iter().all(|node| in_play(&node.tool, procedure.fingerprint(&node.tool)))
}
