//! Topological order and validation of a plan's calls.

use std::collections::HashMap;

use super::Node;
use callwright_common::limits::PROVIDER_NAME_LENGTH;
use callwright_common::text::beginning;

/// Reason why calls do not form a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The calls have a cyclic dependency.
    #[error("the calls depend on each other in a cycle: {}", .path.join(" -> "))]
    Cycle {
        /// The tools of the cycle, with their labels; the first is also the last.
        path: Vec<String>,
    },
    /// A reference to an unknown call.
    #[error("{at} refers to a call `{label}`, which the plan does not contain")]
    Unknown {
        /// The unknown label.
        label: String,
        /// Origin of the reference.
        at: String,
    },
    /// Two calls have the same label.
    #[error("two calls have the label `{0}`; give each call a unique label")]
    Twice(String),
    /// A label is empty, too long, or contains invalid characters.
    #[error(
        "`{0}` is not a valid label; use at most {PROVIDER_NAME_LENGTH} letters, digits and `_`, and begin with no digit"
    )]
    NoLabel(String),
}

/// Sorts the calls topologically: each after those that it depends on, otherwise in the given order.
pub(super) fn in_order(nodes: Vec<Node>) -> Result<Vec<Node>, PlanError> {
    let positions = positions(&nodes)?;
    let mut feeders: Vec<Vec<usize>> = Vec::with_capacity(nodes.len());
    for node in &nodes {
        let mut known = Vec::new();
        for label in node.feeders() {
            match positions.get(label) {
                Some(position) => known.push(*position),
                None => {
                    let at = format!("the call `{}`", node.label);
                    return Err(PlanError::Unknown { label: label.to_owned(), at });
                }
            }
        }
        feeders.push(known);
    }
    let mut placed = vec![false; nodes.len()];
    let mut order = Vec::with_capacity(nodes.len());
    while order.len() < nodes.len() {
        let Some(at) = next_free(&feeders, &placed) else {
            return Err(PlanError::Cycle { path: circle(&nodes, &feeders, &placed) });
        };
        placed.get_mut(at).into_iter().for_each(|placed| *placed = true);
        order.push(at);
    }
    let mut nodes: Vec<Option<Node>> = nodes.into_iter().map(Some).collect();
    Ok(order.into_iter().filter_map(|at| nodes.get_mut(at)?.take()).collect())
}

/// Returns the first call that is not placed, but all its feeders are.
fn next_free(feeders: &[Vec<usize>], placed: &[bool]) -> Option<usize> {
    feeders
        .iter()
        .enumerate()
        .position(|(at, feeders)| !is_placed(placed, at) && feeders.iter().all(|feeder| is_placed(placed, *feeder)))
}

fn is_placed(placed: &[bool], at: usize) -> bool {
    placed.get(at).copied().unwrap_or_default()
}

fn positions(nodes: &[Node]) -> Result<HashMap<&str, usize>, PlanError> {
    let mut positions = HashMap::new();
    for (at, node) in nodes.iter().enumerate() {
        if !is_label(&node.label) {
            return Err(PlanError::NoLabel(beginning(&node.label, PROVIDER_NAME_LENGTH).to_owned()));
        }
        if positions.insert(node.label.as_str(), at).is_some() {
            return Err(PlanError::Twice(node.label.clone()));
        }
    }
    Ok(positions)
}

fn is_label(text: &str) -> bool {
    text.len() <= PROVIDER_NAME_LENGTH
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && text.chars().next().is_some_and(|first| !first.is_ascii_digit())
}

/// Returns a cycle among the calls that could not be placed. Each of them depends on another such call, so following
/// the dependencies returns to a visited call.
fn circle(nodes: &[Node], feeders: &[Vec<usize>], placed: &[bool]) -> Vec<String> {
    let mut way: Vec<usize> = Vec::new();
    let mut next = (0..nodes.len()).find(|at| !is_placed(placed, *at));
    while let Some(at) = next {
        if let Some(begin) = way.iter().position(|known| *known == at) {
            way.drain(..begin);
            way.push(at);
            break;
        }
        way.push(at);
        next = feeders.get(at).and_then(|feeders| feeders.iter().copied().find(|at| !is_placed(placed, *at)));
    }
    // Reverses the path, because values flow from a dependency to its dependent.
    let named = way.into_iter().rev().filter_map(|at| nodes.get(at));
    named.map(|node| format!("{} ({})", node.tool, node.label)).collect()
}
