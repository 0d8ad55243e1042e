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
    /// Returns why a plan does not serve its reason: the tool with the missing argument is not called, or takes no value
    /// from another call. The model's own answer is at least as good as such a plan.
    pub(super) fn unserved_by(&self, plan: &Plan) -> Option<String> {
        let Self::Missing { tool, argument, .. } = self else { return None };
        let mut calls = plan.nodes().iter().filter(|node| node.tool == *tool).peekable();
        if calls.peek().is_none() {
            return Some(format!("the plan does not call {tool}, whose `{argument}` is missing"));
        }
        let takes_output = calls.any(|call| call.feeders().next().is_some());
        (!takes_output).then(|| format!("the plan takes no argument of {tool} from another call"))
    }

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
            // Another argument takes the value of the earlier step.
            (None, Source::Value { .. }) => format!("{tool} takes a value that {producer} supplies"),
            (None, _) => format!("`{argument}` of {tool} is missing"),
        }
    }
}
