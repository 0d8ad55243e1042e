//! What a turn sees of the world: one immutable snapshot from its start to its end.

use std::collections::BTreeMap;
use std::sync::Arc;

use callwright_judge::repair::Notations;
use callwright_judge::scanner::BudgetLimits;
use callwright_knowledge::explain::Explainer;
use callwright_openapi::Catalog;
use callwright_policy::PolicyBook;

use super::memory::Memory;
use super::producer_shelf::ProducerShelf;
use super::settings::{AliasSettings, Settings};
use super::stages::observe::Seen;
use super::stages::offer::Offers;
use super::tool_shelf::ToolShelf;

/// The catalog and what is made from it: replaced as one when documents change.
#[derive(Debug)]
pub struct Tooling {
    /// The toolsets loaded.
    pub catalog: Arc<Catalog>,
    /// Their documentation.
    pub explainer: Arc<Explainer>,
    /// Their tools, ready to be searched, and what was learned of them.
    pub shelf: Arc<ToolShelf>,
    /// Which of them can supply which argument.
    pub producers: Arc<ProducerShelf>,
    /// Offers compiled from that catalog before.
    pub(crate) offers: Offers,
    /// Tool messages explained from that documentation before.
    pub(crate) seen: Seen,
}

impl Tooling {
    /// The catalog with its documentation and its tools. The settings say how much of what is made from them is kept.
    pub fn new(
        catalog: Arc<Catalog>,
        explainer: Arc<Explainer>,
        shelf: ToolShelf,
        producers: Arc<ProducerShelf>,
        settings: &Settings,
    ) -> Self {
        Self {
            catalog,
            explainer,
            shelf: Arc::new(shelf),
            producers,
            offers: Offers::new(settings.tool_list_cache_bytes),
            seen: Seen::new(settings.observed_cache_bytes),
        }
    }

    /// The same catalog with other documentation; what was explained before is explained anew.
    pub fn with_explainer(&self, explainer: Explainer, settings: &Settings) -> Self {
        Self {
            catalog: self.catalog.clone(),
            explainer: Arc::new(explainer),
            shelf: self.shelf.clone(),
            producers: self.producers.clone(),
            offers: self.offers.clone(),
            seen: Seen::new(settings.observed_cache_bytes),
        }
    }

    /// The same with other sources of arguments.
    #[must_use]
    pub fn with_producers(&self, producers: ProducerShelf) -> Self {
        Self {
            catalog: self.catalog.clone(),
            explainer: self.explainer.clone(),
            shelf: self.shelf.clone(),
            producers: Arc::new(producers),
            offers: self.offers.clone(),
            seen: self.seen.clone(),
        }
    }
}

/// Catalog, documentation, policies and aliases as they were when the turn began.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The toolsets loaded.
    pub catalog: Arc<Catalog>,
    /// Their documentation.
    pub explainer: Arc<Explainer>,
    /// What was learned from use.
    pub memory: Arc<Memory>,
    /// The policies in force.
    pub policies: Arc<PolicyBook>,
    /// The notations that rescue reads.
    pub notations: Arc<Notations>,
    /// The model aliases, by name.
    pub aliases: Arc<BTreeMap<String, AliasSettings>>,
    /// Their tools, ready to be searched, and what was learned of them.
    pub shelf: Arc<ToolShelf>,
    /// Which of them can supply which argument.
    pub producers: Arc<ProducerShelf>,
    /// Offers compiled from that catalog before.
    pub offers: Offers,
    /// Tool messages explained from that documentation before.
    pub(crate) seen: Seen,
    /// How much work judging one answer may take.
    pub(crate) judgement: BudgetLimits,
}
