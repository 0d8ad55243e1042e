//! The models that generate plans.

use std::sync::Arc;
use std::time::Duration;

use super::Pipeline;
use super::turn::Turn;
use callwright_common::cache::ByteCache;
use callwright_knowledge::planner::Settings;
use callwright_upstream::{Patience, TextModel};

/// Cache size in bytes for known models. Clients name models, so their number is unbounded; eviction only loses the
/// learned request form of a model.
const MODELS_BYTES: u64 = 256 * 1024;

/// Models by upstream and name, with the learned form of their requests.
#[derive(Debug)]
pub(super) struct PlanningModels {
    known: ByteCache<(String, String), Arc<TextModel>>,
    patience: Patience,
}

impl PlanningModels {
    /// Creates an empty cache.
    pub(super) fn new(settings: &Settings) -> Self {
        let max_wait = Duration::from_secs(settings.max_wait_seconds);
        // The model stores its own name as well.
        let weigh = |(upstream, model): &(String, String), _: &Arc<TextModel>| {
            upstream.len() + 2 * model.len() + size_of::<TextModel>()
        };
        Self { known: ByteCache::new(MODELS_BYTES, weigh), patience: Patience { tries: settings.tries, max_wait } }
    }
}

impl Pipeline {
    /// Returns the model that generates the plans of a turn, its upstream's name and its own name there. The alias in
    /// the configuration takes precedence over the model of the turn.
    pub(super) fn planning_model(&self, turn: &Turn) -> (Arc<TextModel>, String, String) {
        let named = &self.planner.alias;
        let (upstream, model) = match turn.snapshot.aliases.get(named) {
            Some(alias) => {
                let (upstream, model) = alias.main_target(named);
                (self.upstream(upstream), model.to_owned())
            }
            None => (turn.upstream.clone(), turn.model.clone()),
        };
        let name = upstream.name().to_owned();
        let models = &self.planning_models;
        let make = || Arc::new(TextModel::new(upstream, &model, models.patience));
        (models.known.get_with((name.clone(), model.clone()), make), name, model)
    }
}
