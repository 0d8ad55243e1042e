//! Whether an upstream delivers calls as `tool_calls`, or leaves them in the text.

use std::collections::HashSet;
use std::sync::Arc;

use arc_swap::ArcSwap;
use serde::{Deserialize, Serialize};

/// How an upstream delivers the calls that its models make.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCalls {
    /// As `tool_calls` for a model of which this process has seen some, as text for any other.
    #[default]
    Auto,
    /// As `tool_calls`.
    Native,
    /// As text: it knows nothing of the calls that its models make.
    Text,
}

/// Models that one upstream is remembered for; a router in front of many may list thousands, few of which one proxy asks for.
const MAX_MODELS: usize = 1_000;

/// The models that were seen to deliver native calls. Reading takes no lock.
#[derive(Debug, Default)]
pub(super) struct NativeModels(ArcSwap<HashSet<Box<str>>>);

impl NativeModels {
    /// Was a native call of the model seen?
    pub(super) fn contains(&self, model: &str) -> bool {
        self.0.load().contains(model)
    }

    /// Remembers the model, as long as there are fewer than [`MAX_MODELS`].
    pub(super) fn add(&self, model: &str) {
        let known = self.0.load();
        if known.len() >= MAX_MODELS || known.contains(model) {
            return;
        }
        drop(known);
        self.0.rcu(|known| {
            let mut more = HashSet::clone(known);
            if more.len() < MAX_MODELS {
                more.insert(model.into());
            }
            Arc::new(more)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_remembered_up_to_a_bound() {
        let models = NativeModels::default();
        for number in 0..2 * MAX_MODELS {
            models.add(&format!("model-{number}"));
        }
        assert!(models.contains("model-0") && !models.contains(&format!("model-{}", 2 * MAX_MODELS - 1)));
        assert_eq!(models.0.load().len(), MAX_MODELS);
    }
}
