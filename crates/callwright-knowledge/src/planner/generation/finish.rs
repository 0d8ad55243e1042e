//! Converts a completed draft to a plan: merges identical calls, removes unneeded ones and assigns labels to new ones.

use std::collections::{HashMap, HashSet};

use serde_json::json;

use super::draft::DraftNodeStatus;
use super::error::GenerationError;
use callwright_types::Plan;
use callwright_types::plan::{Node, Source};

/// Builds the plan of these calls.
///
/// Identical calls of one tool are merged. The executed one is kept, else the unchanged one, else the first. Calls that
/// neither `goals` nor executed calls depend on are removed. Calls with labels of the `present` plan keep its order
/// where possible. New calls get labels that the present plan does not use.
///
/// # Errors
/// [`GenerationError::Unusable`]: the calls form a cycle; the error contains its path.
pub(super) fn plan(
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
