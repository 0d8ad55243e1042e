//! The immutable snapshot of catalog, policies and memory that a turn uses from its start to its end.

use std::collections::BTreeMap;
use std::sync::Arc;

use callwright_judge::scanner::BudgetLimits;
use callwright_knowledge::experience::LessonStore;
use callwright_knowledge::explain::Explainer;
use callwright_knowledge::procedures::ProcedureStore;
use callwright_openapi::Catalog;
use callwright_policy::PolicyBook;
use callwright_search::embedding::Embedder;

use super::caches::AnalysisCache;
use super::deferred::Deferred;
use super::settings::{AliasSettings, Settings};
use super::tools::{Offers, ProducerIndex, ToolsetIndex};

/// The catalog and the data derived from it; replaced as a unit when documents change.
#[derive(Debug)]
pub struct Tooling {
    /// The loaded toolsets.
    pub catalog: Arc<Catalog>,
    /// Their documentation.
    pub explainer: Deferred<Explainer>,
    /// Search index of their tools, with the learned representations.
    pub toolset_index: Arc<ToolsetIndex>,
    /// Index of the tools that can supply an argument.
    pub producers: Arc<ProducerIndex>,
    /// Cache of offers compiled from this catalog.
    pub(crate) offers: Offers,
    /// Cache of tool messages explained from this documentation.
    pub(crate) seen: AnalysisCache,
}

impl Tooling {
    /// Creates the tooling of a catalog. The settings limit the caches.
    pub fn new(
        catalog: Arc<Catalog>,
        explainer: Deferred<Explainer>,
        toolset_index: ToolsetIndex,
        producers: Arc<ProducerIndex>,
        settings: &Settings,
    ) -> Self {
        Self {
            catalog,
            explainer,
            toolset_index: Arc::new(toolset_index),
            producers,
            offers: Offers::new(settings.tool_list_cache_bytes),
            seen: AnalysisCache::new(settings.observed_cache_bytes),
        }
    }

    /// Returns the same catalog with other documentation, and an empty cache of explanations.
    pub fn with_explainer(&self, explainer: Explainer, settings: &Settings) -> Self {
        Self {
            catalog: self.catalog.clone(),
            explainer: Deferred::ready(explainer),
            toolset_index: self.toolset_index.clone(),
            producers: self.producers.clone(),
            offers: self.offers.clone(),
            seen: AnalysisCache::new(settings.observed_cache_bytes),
        }
    }

    /// Returns the same catalog with another index of argument sources.
    #[must_use]
    pub fn with_producers(&self, producers: ProducerIndex) -> Self {
        Self {
            catalog: self.catalog.clone(),
            explainer: self.explainer.clone(),
            toolset_index: self.toolset_index.clone(),
            producers: Arc::new(producers),
            offers: self.offers.clone(),
            seen: self.seen.clone(),
        }
    }
}

/// Searchable lessons and procedures. Replaced as a unit when this process or another replica learns something.
#[derive(Debug, Default)]
pub struct RecallMemory {
    /// Lessons of all scopes.
    pub lesson_store: Arc<LessonStore>,
    /// Procedures of all scopes.
    pub library: Arc<ProcedureStore>,
    /// The embedder for the vectors of lessons, procedures and user messages; `None` for keyword search only.
    pub embedder: Option<Arc<dyn Embedder>>,
}

/// Catalog, documentation, policies and aliases at the start of the turn.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The loaded toolsets.
    pub catalog: Arc<Catalog>,
    /// Their documentation.
    pub explainer: Deferred<Explainer>,
    /// Lessons and procedures.
    pub memory: Arc<RecallMemory>,
    /// The policies in force.
    pub policies: Arc<PolicyBook>,
    /// Model aliases by name.
    pub aliases: Arc<BTreeMap<String, AliasSettings>>,
    /// Search index of the toolsets' tools, with the learned representations.
    pub toolset_index: Arc<ToolsetIndex>,
    /// Index of the tools that can supply an argument.
    pub producers: Arc<ProducerIndex>,
    /// Cache of offers compiled from this catalog.
    pub offers: Offers,
    /// Cache of tool messages explained from this documentation.
    pub(crate) seen: AnalysisCache,
    /// Budget for the validation of one answer.
    pub(crate) judgement: BudgetLimits,
}
