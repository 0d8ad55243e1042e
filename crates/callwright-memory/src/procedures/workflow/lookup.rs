//! Retrieves procedures for an outline.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::procedures::{
    ProcedureQuery, ProcedureStore, ProcedureText, Settings, ToolAvailability, compose, supplied_input,
};
use callwright_search::embedding::Embedder;
use callwright_types::{OutputField, Procedure, Scope};

/// Returns the output fields of the tool of a name; empty if unknown.
pub type ToolOutputs<'a> = dyn Fn(&str) -> Arc<[OutputField]> + Sync + 'a;

/// Context of the retrieval.
#[derive(Clone, Copy)]
pub struct ProcedureLookup<'a> {
    /// Procedures of all scopes.
    pub store: &'a ProcedureStore,
    pub scope: &'a Scope,
    pub is_available: &'a ToolAvailability<'a>,
    /// Output fields of tools, to find procedures that supply inputs of others.
    pub outputs: &'a ToolOutputs<'a>,
    /// Whether the procedure of this id is withheld from the turn, to measure the outcome without it.
    pub withheld: &'a (dyn Fn(&str) -> bool + Sync),
    /// Embedder of the questions; `None` if procedures are found by words only.
    pub embedder: Option<&'a dyn Embedder>,
}

impl fmt::Debug for ProcedureLookup<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcedureLookup").field("scope", &self.scope).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct ProcedureWords {
    pub(super) input: Vec<String>,
    pub(super) output: String,
    pub(super) steps: Vec<String>,
}

impl From<ProcedureText<'_>> for ProcedureWords {
    fn from(text: ProcedureText<'_>) -> Self {
        Self { input: text.input_lines().collect(), output: text.output.to_owned(), steps: text.steps.to_vec() }
    }
}

/// Distinct procedures that were found.
#[derive(Debug, Default)]
pub(super) struct RetrievedProcedures {
    found: Vec<(String, ProcedureWords)>,
}

/// Procedures that fit a request.
#[derive(Debug, Default)]
pub(super) struct FittingProcedures {
    /// Ids of the best procedures, withheld ones included, best first.
    pub(super) ids: Vec<String>,
    /// Procedures that are shown to the model.
    pub(super) shown: Vec<FoundWords>,
}

/// Procedure that was found: its id, `None` for a composed one, and its wording.
pub(super) type FoundWords = (Option<String>, ProcedureWords);

impl RetrievedProcedures {
    pub(super) fn add(&mut self, found: &[FoundWords]) {
        for (id, words) in found {
            let Some(id) = id else { continue };
            if self.found.iter().all(|(present, _)| present != id) {
                self.found.push((id.clone(), words.clone()));
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub(super) fn ids(&self) -> Vec<String> {
        self.found.iter().map(|(id, _)| id.clone()).collect()
    }

    pub(super) fn wordings(self) -> Vec<ProcedureWords> {
        self.found.into_iter().map(|(_, words)| words).collect()
    }
}

impl ProcedureLookup<'_> {
    /// Returns the best procedures for a text, without withheld ones.
    pub(super) async fn find(&self, text: &str, k: usize) -> Vec<FoundWords> {
        let found = self.best(text, k).await.into_iter();
        let shown = found.filter(|procedure| !(self.withheld)(&procedure.id));
        shown.map(|procedure| (Some(procedure.id.clone()), ProcedureText::from(&*procedure).into())).collect()
    }

    async fn best(&self, text: &str, k: usize) -> Vec<Arc<Procedure>> {
        // Without an embedding, only words are compared.
        let vector = match self.embedder {
            Some(embedder) => embedder.embed_query(text.to_owned()).await.ok(),
            None => None,
        };
        let query =
            ProcedureQuery { scope: self.scope, text, vector: vector.as_ref(), is_available: self.is_available };
        self.store.recall(&query, k).into_iter().map(|found| found.procedure).collect()
    }

    /// Returns the best procedures for the request itself. If another procedure supplies an input of the best one,
    /// their composition is appended.
    pub(super) async fn for_request(&self, request: &str, settings: &Settings) -> FittingProcedures {
        let fitting = self.best(request, settings.k).await;
        let ids = fitting.iter().map(|procedure| procedure.id.clone()).collect();
        let available: Vec<&Arc<Procedure>> =
            fitting.iter().filter(|procedure| !(self.withheld)(&procedure.id)).collect();
        let shown =
            available.iter().map(|procedure| (Some(procedure.id.clone()), ProcedureText::from(&***procedure).into()));
        let mut shown: Vec<FoundWords> = shown.collect();
        let Some(best) = available.first() else { return FittingProcedures { ids, shown } };
        let suppliers = self.store.available(self.scope, self.is_available).map(|supplier| &supplier.procedure);
        let composed = suppliers.filter(|supplier| !(self.withheld)(&supplier.id)).find_map(|supplier| {
            let goal = supplier.plan.node(supplier.plan.finals().first()?)?;
            let supplied = supplied_input(supplier, best, &(self.outputs)(&goal.tool))?;
            compose(supplier, best, &supplied, settings)
        });
        shown.extend(composed.map(|draft| (None, ProcedureText::from(&draft).into())));
        FittingProcedures { ids, shown }
    }
}
