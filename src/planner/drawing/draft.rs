//! A plan while it is drawn: calls, of which some have no arguments yet.

use std::collections::HashMap;

use serde_json::json;

use super::draw::Undrawn;
use super::tools::PlanTool;
use crate::domain::Plan;
use crate::domain::plan::{Argument, Node, PlanError, Source};

/// The calls known so far; each stands behind the one that needed it first.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
    nodes: Vec<DraftNode>,
    /// How many of the first calls are goals.
    goals: usize,
}

/// A call.
#[derive(Debug, Clone)]
pub(super) struct DraftNode {
    pub(super) tool: PlanTool,
    pub(super) position: usize,
    pub(super) task: String,
    /// 1 for a goal.
    pub(super) depth: usize,
    /// The call that it is made for, and the arguments that it supplies there; none for a goal.
    pub(super) needed_for: Option<(usize, Vec<String>)>,
    pub(super) arguments: Vec<Argument>,
}

/// What a call is referred to by while a plan is drawn.
pub(super) fn label(at: usize) -> String {
    format!("c{}", at + 1)
}

impl Draft {
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn get(&self, at: usize) -> Option<&DraftNode> {
        self.nodes.get(at)
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = (usize, &DraftNode)> {
        self.nodes.iter().enumerate()
    }

    pub(super) fn add(&mut self, node: DraftNode) {
        self.goals += usize::from(node.needed_for.is_none());
        self.nodes.push(node);
    }

    pub(super) fn complete(&mut self, at: usize, arguments: Vec<Argument>) {
        if let Some(node) = self.nodes.get_mut(at) {
            node.arguments = arguments;
        }
    }

    /// The calls that a call is made for, the next first.
    pub(super) fn above(&self, at: usize) -> Vec<(usize, &[String])> {
        let mut above = Vec::new();
        let mut next = self.get(at).and_then(|node| node.needed_for.as_ref());
        while let Some((consumer, arguments)) = next {
            above.push((*consumer, arguments.as_slice()));
            next = self.get(*consumer).and_then(|node| node.needed_for.as_ref());
        }
        above
    }

    /// The way on which the answer of one call reaches another, both named, where there is one; a call reaches itself.
    pub(super) fn way(&self, from: usize, to: usize) -> Option<Vec<String>> {
        let mut reached: HashMap<usize, Option<usize>> = HashMap::from([(to, None)]);
        let mut open = vec![to];
        while let Some(at) = open.pop() {
            if at == from {
                let mut way = Vec::new();
                let mut step = Some(at);
                while let Some(at) = step {
                    way.extend(self.get(at).map(|node| node.tool.tool.name().to_owned()));
                    step = reached.get(&at).copied().flatten();
                }
                return Some(way);
            }
            for feeder in self.feeders(at) {
                reached.entry(feeder).or_insert_with(|| {
                    open.push(feeder);
                    Some(at)
                });
            }
        }
        None
    }

    /// The calls that feed a call: those that its arguments refer to, and those that are there for it.
    fn feeders(&self, at: usize) -> Vec<usize> {
        let arguments = self.get(at).map_or(&[] as &[Argument], |node| node.arguments.as_slice());
        let referred = arguments.iter().flat_map(|argument| argument.source.references());
        let number = |text: &str| text.strip_prefix('c')?.parse::<usize>().ok()?.checked_sub(1);
        let mut feeders: Vec<usize> = referred.filter_map(|reference| number(&reference.node)).collect();
        let made_for = |node: &DraftNode| node.needed_for.as_ref().is_some_and(|(consumer, _)| *consumer == at);
        feeders.extend(self.nodes().filter(|(_, node)| made_for(node)).map(|(at, _)| at));
        feeders
    }

    /// The plan. Calls of one tool with the same arguments become one, and labels are given in the order of the calls.
    ///
    /// # Errors
    /// [`Undrawn::Unusable`]: a circle, with its path.
    pub(super) fn into_plan(self) -> Result<Plan, Undrawn> {
        let goals = self.goals;
        let node = |(at, node): (usize, DraftNode)| Node {
            label: label(at),
            tool: node.tool.tool.name().to_owned(),
            task: node.task,
            arguments: node.arguments,
        };
        let nodes: Vec<Node> = self.nodes.into_iter().enumerate().map(node).collect();
        let unusable = |error: PlanError| Undrawn::Unusable(error.to_string());
        let finals: Vec<String> = (0..goals).map(label).collect();
        let ordered = Plan::new(nodes, finals.clone()).map_err(unusable)?;
        let (mut known, mut labels) = (HashMap::<String, String>::new(), HashMap::<String, String>::new());
        let mut merged: Vec<Node> = Vec::new();
        for node in ordered.nodes() {
            let mut node = node.clone();
            let of_new = |old: &str| labels.get(old).cloned().unwrap_or_else(|| old.to_owned());
            node.arguments.iter_mut().for_each(|argument| argument.source = argument.source.clone().relabelled(of_new));
            let new = known.entry(same(&node)).or_insert_with(|| format!("call{}", merged.len() + 1)).clone();
            labels.insert(node.label.clone(), new.clone());
            if merged.iter().all(|known| known.label != new) {
                merged.push(Node { label: new, ..node });
            }
        }
        let mut wanted: Vec<String> = Vec::new();
        for label in finals.iter().filter_map(|label| labels.get(label)) {
            if !wanted.contains(label) {
                wanted.push(label.clone());
            }
        }
        Plan::new(merged, wanted).map_err(unusable)
    }
}

/// What two calls have in common where they are one: the tool, and what the arguments are, in any order. Of calls that miss something nobody
/// knows whether it will be the same, unless they are for the same.
fn same(node: &Node) -> String {
    let misses = node.arguments.iter().any(|argument| matches!(argument.source, Source::Missing { .. }));
    let mut arguments: Vec<(&str, serde_json::Value)> = Vec::new();
    for argument in &node.arguments {
        let source = match &argument.source {
            Source::Value { value, .. } => json!({ "value": value }),
            Source::Output(reference) => json!(reference),
            Source::Composed { value, outputs } => json!({ "value": value, "outputs": outputs }),
            Source::Missing { .. } => json!(null),
        };
        arguments.push((&argument.name, source));
    }
    arguments.sort_by_key(|(name, _)| *name);
    json!([node.tool, arguments, misses.then_some(&node.task)]).to_string()
}
