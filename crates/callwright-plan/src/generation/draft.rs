//! Plan under construction: some of its calls have no arguments yet.

use std::collections::{HashMap, HashSet};

use serde_json::json;

use super::error::GenerationError;
use crate::tools::PlanTool;
use callwright_types::Plan;
use callwright_types::plan::{Argument, Node, Source};

/// Calls found so far. Incomplete calls come after the calls that depend on them.
#[derive(Debug, Clone)]
pub(super) struct PlanDraft {
    nodes: Vec<DraftNode>,
    /// Calls of the present plan whose tools no longer exist, unchanged.
    aside: Vec<(Node, DraftNodeStatus)>,
    /// Positions of the calls that serve the goals, in order.
    pub(super) goals: Vec<usize>,
    /// Labels of the present plan in order; new calls must not use them.
    present: Vec<String>,
    /// Prefix of the labels of new calls.
    prefix: String,
}

#[derive(Debug, Clone)]
pub(super) struct DraftNode {
    pub(super) tool: PlanTool,
    pub(super) position: usize,
    pub(super) task: String,
    /// Depth in the plan; 1 for a goal.
    pub(super) depth: usize,
    /// Consumer of the call and the arguments that it supplies there; `None` for a goal.
    pub(super) needed_for: Option<(usize, Vec<String>)>,
    /// Arguments; for a reopened call, the previous ones.
    pub(super) arguments: Vec<Argument>,
    pub(super) status: DraftNodeStatus,
}

/// Whether the call is part of the present plan, with its label there, and whether its arguments are open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DraftNodeStatus {
    /// Executed call of the present plan; it does not change.
    Executed(String),
    /// Call of the present plan that is kept unchanged.
    Kept(String),
    /// Call of the present plan whose arguments are requested again.
    Reopened(String),
    New,
}

impl DraftNodeStatus {
    fn label(&self) -> Option<&str> {
        match self {
            Self::Executed(label) | Self::Kept(label) | Self::Reopened(label) => Some(label),
            Self::New => None,
        }
    }

    /// Whether its arguments still have to be requested.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Self::Reopened(_) | Self::New)
    }
}

impl DraftNode {
    /// Creates a new call, for a goal or for another call.
    pub(super) fn new(tool: PlanTool, position: usize, task: String) -> Self {
        Self { tool, position, task, depth: 1, needed_for: None, arguments: Vec::new(), status: DraftNodeStatus::New }
    }
}

impl Default for PlanDraft {
    fn default() -> Self {
        Self::beside(Vec::new())
    }
}

impl PlanDraft {
    /// Creates an empty draft whose new labels do not collide with these labels of a present plan.
    pub(super) fn beside(present: Vec<String>) -> Self {
        let mut prefix = "c".to_owned();
        while present
            .iter()
            .any(|label| label.strip_prefix(&prefix).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit())))
        {
            prefix.push('c');
        }
        Self { nodes: Vec::new(), aside: Vec::new(), goals: Vec::new(), present, prefix }
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn get(&self, at: usize) -> Option<&DraftNode> {
        self.nodes.get(at)
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = (usize, &DraftNode)> {
        self.nodes.iter().enumerate()
    }

    /// Returns the tools whose calls are requested or executed: those of the goals, and of executed calls.
    pub(super) fn confirmed(&self) -> Vec<usize> {
        let executed = self.nodes.iter().filter(|node| matches!(node.status, DraftNodeStatus::Executed(_)));
        let goals = self.goals.iter().filter_map(|at| self.get(*at));
        goals.chain(executed).map(|node| node.position).collect()
    }

    /// Returns the label of a call, also for a position that is not added yet.
    pub(super) fn label(&self, at: usize) -> String {
        let own = self.get(at).and_then(|node| node.status.label());
        own.map_or_else(|| format!("{}{}", self.prefix, at + 1), str::to_owned)
    }

    /// Returns the position of the call with this label.
    pub(super) fn at(&self, label: &str) -> Option<usize> {
        (0..self.len()).find(|at| self.label(*at) == label)
    }

    pub(super) fn add(&mut self, node: DraftNode) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    pub(super) fn set_aside(&mut self, node: Node, status: DraftNodeStatus) {
        self.aside.push((node, status));
    }

    /// Sets the calls that serve the goals; duplicates are removed.
    pub(super) fn set_goals(&mut self, goals: impl IntoIterator<Item = usize>) {
        self.goals.clear();
        for at in goals {
            if !self.goals.contains(&at) {
                self.goals.push(at);
            }
        }
    }

    pub(super) fn complete(&mut self, at: usize, arguments: Vec<Argument>) {
        if let Some(node) = self.nodes.get_mut(at) {
            node.arguments = arguments;
        }
    }

    /// Marks a call for another request of its arguments, unless it was executed.
    pub(super) fn reopen(&mut self, at: usize) {
        if let Some(node) = self.nodes.get_mut(at)
            && let DraftNodeStatus::Kept(label) = &node.status
        {
            node.status = DraftNodeStatus::Reopened(label.clone());
        }
    }

    /// Sets the depth and the consumer of each call: the consumer on the shortest path to a goal.
    pub(super) fn measure(&mut self) {
        let mut open: Vec<usize> = self.goals.clone();
        let mut seen: HashSet<usize> = open.iter().copied().collect();
        let mut depth = 1;
        while !open.is_empty() {
            let mut next = Vec::new();
            for at in open {
                if let Some(node) = self.nodes.get_mut(at) {
                    node.depth = depth;
                }
                for feeder in self.feeders(at).into_iter().filter(|feeder| seen.insert(*feeder)) {
                    let supplies = self.supplies(feeder, at);
                    if let Some(node) = self.nodes.get_mut(feeder) {
                        node.needed_for = Some((at, supplies));
                    }
                    next.push(feeder);
                }
            }
            (open, depth) = (next, depth + 1);
        }
    }

    /// Returns the arguments of the call `at` that `feeder` supplies.
    fn supplies(&self, feeder: usize, at: usize) -> Vec<String> {
        let label = self.label(feeder);
        let arguments = self.get(at).into_iter().flat_map(|node| &node.arguments);
        let supplied = arguments.filter(|argument| argument.source.references().iter().any(|from| from.node == label));
        supplied.map(|argument| argument.name.clone()).collect()
    }

    /// Returns the calls that are part of the plan: the goals, executed calls, and all their dependencies.
    pub(super) fn needed(&self) -> HashSet<usize> {
        let executed =
            self.nodes().filter(|(_, node)| matches!(node.status, DraftNodeStatus::Executed(_))).map(|(at, _)| at);
        let mut open: Vec<usize> = self.goals.iter().copied().chain(executed).collect();
        let mut needed = HashSet::new();
        while let Some(at) = open.pop() {
            if needed.insert(at) {
                open.extend(self.feeders(at));
            }
        }
        needed
    }

    /// Returns how many further calls fit into a plan of `at_most` calls.
    pub(super) fn room(&self, at_most: usize) -> usize {
        let aside = self.aside.iter().filter(|(_, status)| matches!(status, DraftNodeStatus::Executed(_)));
        at_most.saturating_sub(self.needed().len() + aside.count())
    }

    /// Returns the chain of calls that depend on a call, the direct consumer first.
    pub(super) fn above(&self, at: usize) -> Vec<(usize, &[String])> {
        let mut above = Vec::new();
        let mut next = self.get(at).and_then(|node| node.needed_for.as_ref());
        while let Some((consumer, arguments)) = next {
            above.push((*consumer, arguments.as_slice()));
            next = self.get(*consumer).and_then(|node| node.needed_for.as_ref());
        }
        above
    }

    /// Returns the tool names on a path of data from one call to another, if there is one. A call reaches itself.
    pub(super) fn data_path(&self, from: usize, to: usize) -> Option<Vec<String>> {
        let mut reached: HashMap<usize, Option<usize>> = HashMap::from([(to, None)]);
        let mut open = vec![to];
        while let Some(at) = open.pop() {
            if at == from {
                let mut path = Vec::new();
                let mut step = Some(at);
                while let Some(at) = step {
                    path.extend(self.get(at).map(|node| node.tool.tool.name().to_owned()));
                    step = reached.get(&at).copied().flatten();
                }
                return Some(path);
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

    /// Returns the calls on which a call directly depends.
    fn feeders(&self, at: usize) -> Vec<usize> {
        let arguments = self.get(at).map_or(&[] as &[Argument], |node| node.arguments.as_slice());
        let references = arguments.iter().flat_map(|argument| argument.source.references());
        references.filter_map(|reference| self.at(&reference.node)).collect()
    }

    /// Converts the draft to a plan ([`finished_plan`]).
    ///
    /// # Errors
    /// [`GenerationError::Unusable`]: the calls form a cycle; the error contains its path.
    pub(super) fn into_plan(self) -> Result<Plan, GenerationError> {
        let goals = self.goals.iter().map(|at| self.label(*at)).collect();
        let labels: Vec<String> = (0..self.len()).map(|at| self.label(at)).collect();
        let calls = self.nodes.into_iter().zip(labels).map(|(node, label)| {
            let tool = node.tool.tool.name().to_owned();
            (Node { label, tool, task: node.task, arguments: node.arguments }, node.status)
        });
        finished_plan(calls.chain(self.aside).collect(), goals, &self.present)
    }
}

/// Builds the plan of these calls.
///
/// Identical calls of one tool are merged. The executed one is kept, else the unchanged one, else the first. Calls that
/// neither `goals` nor executed calls depend on are removed. Calls with labels of the `present` plan keep its order
/// where possible. New calls get labels that the present plan does not use.
///
/// # Errors
/// [`GenerationError::Unusable`]: the calls form a cycle; the error contains its path.
fn finished_plan(
    calls: Vec<(Node, DraftNodeStatus)>,
    mut goals: Vec<String>,
    present: &[String],
) -> Result<Plan, GenerationError> {
    let (nodes, statuses): (Vec<Node>, Vec<DraftNodeStatus>) = calls.into_iter().unzip();
    let statuses: HashMap<String, DraftNodeStatus> =
        nodes.iter().map(|node| node.label.clone()).zip(statuses).collect();
    let mut nodes = needed(nodes, &goals, &statuses);
    nodes.sort_by_key(|node| present.iter().position(|label| *label == node.label).unwrap_or(present.len()));
    let mut nodes = Plan::new(nodes, goals.clone())?.nodes().to_vec();
    // Merging can make their consumers identical, so repeat.
    while let Some(labels) = repeated(&nodes, &statuses) {
        nodes.retain(|node| !labels.contains_key(&node.label));
        rename(&mut nodes, &mut goals, &labels);
    }
    // Calls that supplied only the merged ones are no longer needed.
    let nodes = needed(nodes, &goals, &statuses);
    let mut nodes = Plan::new(nodes, goals.clone())?.nodes().to_vec();
    let mut numbers = (1..).map(|number: usize| format!("call{number}")).filter(|label| !present.contains(label));
    let new = nodes.iter().filter(|node| statuses.get(&node.label) == Some(&DraftNodeStatus::New));
    let labels: HashMap<String, String> = new.filter_map(|node| Some((node.label.clone(), numbers.next()?))).collect();
    rename(&mut nodes, &mut goals, &labels);
    let mut seen = HashSet::new();
    goals.retain(|label| seen.insert(label.clone()));
    Ok(Plan::new(nodes, goals)?)
}

/// Returns duplicate calls, each with the label of the call that replaces it.
fn repeated(nodes: &[Node], statuses: &HashMap<String, DraftNodeStatus>) -> Option<HashMap<String, String>> {
    let mut first: HashMap<String, &Node> = HashMap::new();
    for node in nodes {
        let kept = first.entry(call_key(node)).or_insert(node);
        if rank(statuses.get(&node.label)) < rank(statuses.get(&kept.label)) {
            *kept = node;
        }
    }
    let mut labels = HashMap::new();
    // Executed and kept calls keep their labels even if they are duplicates.
    for node in nodes.iter().filter(|node| rank(statuses.get(&node.label)) > 1) {
        let kept = first.get(&call_key(node)).filter(|kept| kept.label != node.label);
        labels.extend(kept.map(|kept| (node.label.clone(), kept.label.clone())));
    }
    (!labels.is_empty()).then_some(labels)
}

/// Returns the precedence among identical calls; the lowest is kept.
fn rank(status: Option<&DraftNodeStatus>) -> u8 {
    match status {
        Some(DraftNodeStatus::Executed(_)) => 0,
        Some(DraftNodeStatus::Kept(_)) => 1,
        Some(DraftNodeStatus::Reopened(_)) => 2,
        Some(DraftNodeStatus::New) | None => 3,
    }
}

/// Keeps the goals, the executed calls and all their dependencies.
fn needed(mut nodes: Vec<Node>, goals: &[String], statuses: &HashMap<String, DraftNodeStatus>) -> Vec<Node> {
    let mut open: Vec<&str> = nodes.iter().map(|node| node.label.as_str()).collect();
    open.retain(|label| {
        goals.iter().any(|goal| goal == label) || matches!(statuses.get(*label), Some(DraftNodeStatus::Executed(_)))
    });
    let mut needed: HashSet<String> = HashSet::new();
    while let Some(label) = open.pop() {
        if needed.insert(label.to_owned()) {
            open.extend(nodes.iter().filter(|node| node.label == label).flat_map(Node::feeders));
        }
    }
    nodes.retain(|node| needed.contains(&node.label));
    nodes
}

fn rename(nodes: &mut [Node], goals: &mut [String], labels: &HashMap<String, String>) {
    for node in nodes {
        node.label = renamed(&node.label, labels);
        for argument in &mut node.arguments {
            argument.source = argument.source.clone().relabelled(|old| renamed(old, labels));
        }
    }
    goals.iter_mut().for_each(|goal| *goal = renamed(goal, labels));
}

fn renamed(old: &str, labels: &HashMap<String, String>) -> String {
    labels.get(old).cloned().unwrap_or_else(|| old.to_owned())
}

/// Returns a key that is equal for identical calls: the tool and its arguments in any order. Calls with missing
/// arguments also need the same task, because the missing values may differ.
fn call_key(node: &Node) -> String {
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
