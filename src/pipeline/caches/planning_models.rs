//! The models that generate plans, with the learned form of their requests.

use std::sync::Arc;
use std::time::Duration;

use callwright_common::cache::ByteCache;
use callwright_upstream::{Patience, TextModel, Upstream};

/// Cache size in bytes for known models. Clients name models, so their number is unbounded; eviction only loses the
/// learned request form of a model.
const MODELS_BYTES: u64 = 256 * 1024;

/// A user waits for a plan: one retry, and a short one.
const PATIENCE: Patience = Patience { tries: 2, max_wait: Duration::from_secs(5) };

/// Models by upstream and name.
#[derive(Debug)]
pub(crate) struct PlanningModels {
    known: ByteCache<(String, String), Arc<TextModel>>,
}

impl PlanningModels {
    /// Creates an empty cache.
    pub(crate) fn new() -> Self {
        // The model stores its own name as well.
        let known = ByteCache::new(MODELS_BYTES, |(upstream, model): &(String, String), _| {
            upstream.len() + 2 * model.len() + size_of::<TextModel>()
        });
        Self { known }
    }

    /// Returns the model of this name at an upstream.
    pub(crate) fn get(&self, upstream: Arc<Upstream>, model: &str) -> Arc<TextModel> {
        let key = (upstream.name().to_owned(), model.to_owned());
        self.known.get_with(key, || Arc::new(TextModel::new(upstream, model, PATIENCE)))
    }
}
