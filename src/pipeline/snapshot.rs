//! What a turn sees of the world: one immutable snapshot from its start to its end.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::catalog::Catalog;
use crate::explain::Explainer;
use crate::policy::PolicyBook;

use super::settings::AliasSettings;
use super::stages::offer::Offers;

/// The catalog and what is made from it: replaced as one when documents change.
#[derive(Debug)]
pub struct Tooling {
    /// The toolsets loaded.
    pub catalog: Arc<Catalog>,
    /// Their documentation.
    pub explainer: Arc<Explainer>,
    /// Offers compiled from that catalog before.
    pub(crate) offers: Offers,
}

impl Tooling {
    /// The catalog with its documentation; at most `cached_offers` offers of its tools are kept in their compiled form.
    pub fn new(catalog: Catalog, explainer: Explainer, cached_offers: u64) -> Self {
        Self { catalog: Arc::new(catalog), explainer: Arc::new(explainer), offers: Offers::new(cached_offers) }
    }

    /// The same catalog with other documentation.
    pub fn with_explainer(&self, explainer: Arc<Explainer>) -> Self {
        Self { catalog: self.catalog.clone(), explainer, offers: self.offers.clone() }
    }
}

/// Catalog, documentation, policies and aliases as they were when the turn began.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The toolsets loaded.
    pub catalog: Arc<Catalog>,
    /// Their documentation.
    pub explainer: Arc<Explainer>,
    /// The policies in force.
    pub policies: Arc<PolicyBook>,
    /// The model aliases, by name.
    pub aliases: Arc<BTreeMap<String, AliasSettings>>,
    /// Offers compiled from that catalog before.
    pub offers: Offers,
}
