//! Reason for a plan, for the trace.

use callwright_types::Plan;
use callwright_types::plan::Source;

/// Reason why a turn is planned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PlanReason {
    /// Policy requires a plan.
    Always,
    /// The planning model reports a chain of calls.
    Reported,
    /// An argument is missing, and another tool supplies it.
    Missing {
        /// Tool that takes the argument.
        tool: String,
        argument: String,
        /// Tool that evidently supplies it.
        producer: String,
    },
}

impl PlanReason {
    /// Returns the reason in words. It names the tool that supplies the argument in the plan, which may be another one
    /// than the rule found.
    pub(super) fn in_words(&self, plan: &Plan) -> String {
        let Self::Missing { tool, argument, producer } = self else {
            return match self {
                Self::Reported => "the planning model reports that calls depend on one another".to_owned(),
                _ => String::new(),
            };
        };
        let mut nodes = plan.nodes().iter().filter(|node| node.tool == *tool);
        let Some(source) = nodes.find_map(|node| node.argument(argument)).map(|argument| &argument.source) else {
            // A plan without this argument may not use the tool that the rule found.
            return match plan.nodes() {
                [] => format!("`{argument}` of {tool} is missing, and {producer} supplies it"),
                _ => format!("`{argument}` of {tool} is missing"),
            };
        };
        let references = source.references();
        let feeder = references.first().and_then(|reference| plan.node(&reference.node));
        match (feeder, source) {
            (Some(feeder), _) => format!("`{argument}` of {tool} is missing, and {} supplies it", feeder.tool),
            (None, Source::Value { .. }) => format!("`{argument}` of {tool} seemed to be missing"),
            (None, _) => format!("`{argument}` of {tool} is missing"),
        }
    }
}
