//! Converts a completed draft to a plan: merges identical calls, removes unneeded ones and assigns labels to new ones.

use std::collections::{HashMap, HashSet};

use serde_json::json;

use super::draft::DraftNodeStatus;
use super::draw::Undrawn;
use callwright_types::Plan;
use callwright_types::plan::{Node, PlanError, Source};

/// Builds the plan of these calls.
///
/// Identical calls of one tool are merged. The executed one is kept, else the unchanged one, else the first. Calls that
/// neither `goals` nor executed calls depend on are removed. Calls with labels of the `present` plan keep its order
/// where possible. New calls get labels that the present plan does not use.
///
/// # Errors
/// [`Undrawn::Unusable`]: the calls form a cycle; the error contains its path.
pub(super) fn plan(
    calls: Vec<(Node, DraftNodeStatus)>,
    mut goals: Vec<String>,
    present: &[String],
) -> Result<Plan, Undrawn> {
    let unusable = |error: PlanError| Undrawn::Unusable(error.to_string());
    let (nodes, standings): (Vec<Node>, Vec<DraftNodeStatus>) = calls.into_iter().unzip();
    let standings: HashMap<String, DraftNodeStatus> =
        nodes.iter().map(|node| node.label.clone()).zip(standings).collect();
    let is_made = |label: &str| matches!(standings.get(label), Some(DraftNodeStatus::Made(_)));
    let mut nodes = needed(nodes, |label| goals.iter().any(|goal| goal == label) || is_made(label));
    nodes.sort_by_key(|node| present.iter().position(|label| *label == node.label).unwrap_or(present.len()));
    let mut nodes = Plan::new(nodes, goals.clone()).map_err(unusable)?.nodes().to_vec();
    // Merging can make their consumers identical, so repeat.
    while let Some(labels) = repeated(&nodes, &standings) {
        nodes.retain(|node| !labels.contains_key(&node.label));
        rename(&mut nodes, &mut goals, &labels);
    }
    // Calls that supplied only the merged ones are no longer needed.
    let nodes = needed(nodes, |label| goals.iter().any(|goal| goal == label) || is_made(label));
    let mut nodes = Plan::new(nodes, goals.clone()).map_err(unusable)?.nodes().to_vec();
    let mut numbers = (1..).map(|number: usize| format!("call{number}")).filter(|label| !present.contains(label));
    let is_new = |node: &&Node| standings.get(&node.label) == Some(&DraftNodeStatus::New);
    let named = nodes.iter().filter(is_new).filter_map(|node| Some((node.label.clone(), numbers.next()?)));
    let labels: HashMap<String, String> = named.collect();
    rename(&mut nodes, &mut goals, &labels);
    let mut seen = HashSet::new();
    goals.retain(|label| seen.insert(label.clone()));
    Plan::new(nodes, goals).map_err(unusable)
}

/// Returns duplicate calls, each with the label of the call that replaces it.
fn repeated(nodes: &[Node], standings: &HashMap<String, DraftNodeStatus>) -> Option<HashMap<String, String>> {
    let rank = |node: &Node| match standings.get(&node.label) {
        Some(DraftNodeStatus::Made(_)) => 0,
        Some(DraftNodeStatus::Kept(_)) => 1,
        Some(DraftNodeStatus::Reopened(_)) => 2,
        Some(DraftNodeStatus::New) | None => 3,
    };
    let mut first: HashMap<String, &Node> = HashMap::new();
    for node in nodes {
        let known = first.entry(same(node)).or_insert(node);
        if rank(node) < rank(known) {
            *known = node;
        }
    }
    let mut labels = HashMap::new();
    // Executed and kept calls keep their labels even if they are duplicates.
    for node in nodes.iter().filter(|node| rank(node) > 1) {
        let known = first.get(&same(node)).filter(|known| known.label != node.label);
        labels.extend(known.map(|known| (node.label.clone(), known.label.clone())));
    }
    (!labels.is_empty()).then_some(labels)
}

/// Keeps the calls that `is_wanted` selects and all their dependencies.
fn needed(mut nodes: Vec<Node>, is_wanted: impl Fn(&str) -> bool) -> Vec<Node> {
    let mut open: Vec<&str> = nodes.iter().map(|node| node.label.as_str()).filter(|label| is_wanted(label)).collect();
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
    let of = |old: &str| labels.get(old).cloned().unwrap_or_else(|| old.to_owned());
    for node in nodes {
        node.label = of(&node.label);
        node.arguments.iter_mut().for_each(|argument| argument.source = argument.source.clone().relabelled(of));
    }
    goals.iter_mut().for_each(|goal| *goal = of(goal));
}

/// Returns a key that is equal for identical calls: the tool and its arguments in any order. Calls with missing
/// arguments also need the same task, because the missing values may differ.
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
