//! The immutable snapshot of catalog and memory that a turn uses from its start to its end.

use std::sync::Arc;

use callwright_explain::Explainer;
use callwright_memory::experience::LessonStore;
use callwright_memory::procedures::ProcedureStore;
use callwright_openapi::Catalog;
use callwright_search::embedding::Embedder;

use super::caches::AnalysisCache;
use super::deferred::Deferred;
use super::settings::Settings;
use super::tools::{Offers, ProducerIndex, ToolsetIndex};

/// The catalog and the data derived from it; replaced as a unit when documents change.
#[derive(Debug, Clone)]
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
        let seen = AnalysisCache::new(settings.observed_cache_bytes);
        Self { explainer: Deferred::ready(explainer), seen, ..self.clone() }
    }

    /// Returns the same catalog with another index of argument sources.
    #[must_use]
    pub fn with_producers(&self, producers: ProducerIndex) -> Self {
        Self { producers: Arc::new(producers), ..self.clone() }
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
