//! The models that draw plans.

use std::sync::Arc;
use std::time::Duration;

use super::Pipeline;
use super::turn::Turn;
use callwright_common::cache::ByteCache;
use callwright_knowledge::planner::Settings;
use callwright_upstream::{Patience, TextModel};

/// Bytes of the models that are known at a time. Clients name models, so there may be any number; what is forgotten is how one wants to
/// be asked.
const MODELS_BYTES: u64 = 256 * 1024;

/// Models, by upstream and name, with what was learned of how they want to be asked.
#[derive(Debug)]
pub(super) struct PlanningModels {
    known: ByteCache<(String, String), Arc<TextModel>>,
    patience: Patience,
}

impl PlanningModels {
    /// None is known yet.
    pub(super) fn new(settings: &Settings) -> Self {
        let max_wait = Duration::from_secs(settings.max_wait_seconds);
        // A model keeps its own name as well.
        let weigh = |(upstream, model): &(String, String), _: &Arc<TextModel>| {
            upstream.len() + 2 * model.len() + size_of::<TextModel>()
        };
        Self { known: ByteCache::new(MODELS_BYTES, weigh), patience: Patience { tries: settings.tries, max_wait } }
    }
}

impl Pipeline {
    /// The model that draws a turn's plans, the name of its upstream and its own there: that of the alias that the configuration names, else the turn's own.
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
