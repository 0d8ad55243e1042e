//! Plans: the acyclic graph of calls that ends in the requested ones.
//!
//! The text and diagram forms are in `forms.rs`, ordering and validation in `order.rs`.

mod forms;
mod order;

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use callwright_common::json::Pointer;
pub use order::PlanError;

/// Calls that supply each other's arguments. The graph has no cycle, every reference names a node, and nodes are sorted
/// after those that they depend on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "PlanForm")]
pub struct Plan {
    nodes: Vec<Node>,
    finals: Vec<String>,
}

/// A plan in serialised form, validated on deserialisation.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanForm {
    nodes: Vec<Node>,
    finals: Vec<String>,
}

impl TryFrom<PlanForm> for Plan {
    type Error = PlanError;

    fn try_from(PlanForm { nodes, finals }: PlanForm) -> Result<Self, PlanError> {
        Self::new(nodes, finals)
    }
}

/// One call of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Name for references: letters, digits and `_`, unique within the plan.
    pub label: String,
    /// The called tool.
    pub tool: String,
    /// Purpose of the call in a few words; may be empty.
    pub task: String,
    /// Arguments; parameters without an entry are not passed.
    pub arguments: Vec<Argument>,
}

/// An argument of a call and the source of its value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Argument {
    /// The parameter's name.
    pub name: String,
    /// Source of the value.
    pub source: Source,
}

/// Source of an argument's value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    Value {
        value: Value,
        /// The words of the conversation that support the value; empty if it needs none, such as a default.
        words: String,
    },
    /// The value is the output of another call.
    Output(Reference),
    /// The value is composed of outputs of other calls.
    Composed {
        /// A template whose strings contain `{1}` for the first output, `{2}` for the second. A string that is exactly
        /// `{1}` becomes that output, with its type.
        value: Value,
        /// Outputs, in the order of their numbers.
        outputs: Vec<Reference>,
    },
    /// The value is not known yet.
    Missing {
        /// Question to the user.
        question: String,
    },
}

/// A reference to a value in another call's response.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reference {
    /// Label of the call.
    pub node: String,
    /// Location of the value in the response (RFC 6901). The token `0` of an array represents the items that
    /// [`Self::item`] selects.
    pub output: Pointer,
    /// Item selection, if the path contains an array.
    #[serde(default)]
    pub item: Item,
}

/// Selection of an array's items.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Item {
    /// The value as it is, which may be an array. If the path contains arrays: the values of all items.
    #[default]
    Whole,
    /// The value of the item at this index, from 0.
    Index(usize),
    /// The value of one item, which is chosen when the response is available.
    Chosen,
}

/// An input without a known value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MissingInput<'a> {
    /// The call that requires it.
    pub node: &'a Node,
    /// The parameter.
    pub argument: &'a str,
    /// Question to the user.
    pub question: &'a str,
}

/// A value that is passed from one call to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge<'a> {
    /// The call that provides the value, and its location there.
    pub from: &'a Reference,
    /// Label of the call that takes the value.
    pub to: &'a str,
    /// Parameter that takes the value.
    pub argument: &'a str,
}

impl Plan {
    /// Creates a plan from calls, which are sorted topologically; `finals` are the labels of the requested calls.
    ///
    /// # Errors
    /// [`PlanError`]: a cycle, with its path, or a label that is unknown, duplicate or invalid.
    pub fn new(nodes: Vec<Node>, finals: Vec<String>) -> Result<Self, PlanError> {
        let nodes = order::in_order(nodes)?;
        let plan = Self { nodes, finals };
        match plan.finals.iter().find(|label| plan.node(label).is_none()) {
            Some(label) => Err(PlanError::Unknown { label: label.clone(), at: "the goals".to_owned() }),
            None => Ok(plan),
        }
    }

    /// Returns the calls, each after those that it depends on.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the labels of the requested calls.
    pub fn finals(&self) -> &[String] {
        &self.finals
    }

    /// Returns the call with this label.
    pub fn node(&self, label: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.label == label)
    }

    /// Returns the values passed between calls, in the order of the calls that take them.
    pub fn edges(&self) -> impl Iterator<Item = Edge<'_>> {
        self.nodes.iter().flat_map(|node| {
            node.arguments.iter().flat_map(move |argument| {
                let references = argument.source.references().iter();
                references.map(move |from| Edge { from, to: &node.label, argument: &argument.name })
            })
        })
    }

    /// Returns the inputs without a known value.
    pub fn missing(&self) -> impl Iterator<Item = MissingInput<'_>> {
        self.nodes.iter().flat_map(|node| {
            node.arguments.iter().filter_map(move |argument| match &argument.source {
                Source::Missing { question } => Some(MissingInput { node, argument: &argument.name, question }),
                _ => None,
            })
        })
    }

    /// Returns the calls that are ready when those with the labels `done` are complete: no input is missing or
    /// outstanding.
    pub fn ready<'a>(&'a self, done: &HashSet<String>) -> impl Iterator<Item = &'a Node> {
        let open = self.nodes.iter().filter(|node| !done.contains(&node.label));
        open.filter(|node| node.arguments.iter().all(|argument| argument.source.is_available(done)))
    }

    /// Returns the plan without a call and its direct and indirect dependents. Requested calls among them are removed
    /// from the goals. Calls that are no longer needed are removed too, except those with the labels `made`.
    #[must_use]
    pub fn without(&self, label: &str, made: &HashSet<String>) -> Self {
        let gone: HashSet<&str> = self.dependents(label).into_iter().chain([label]).collect();
        let finals: Vec<String> = self.finals.iter().filter(|label| !gone.contains(label.as_str())).cloned().collect();
        let mut needed: HashSet<&str> = finals.iter().chain(made).map(String::as_str).collect();
        // Calls are sorted after those that they depend on, so one pass from the end is enough.
        for node in self.nodes.iter().rev().filter(|node| !gone.contains(node.label.as_str())) {
            if needed.contains(node.label.as_str()) {
                needed.extend(node.feeders());
            }
        }
        needed.retain(|label| !gone.contains(label));
        Self { nodes: self.nodes.iter().filter(|node| needed.contains(node.label.as_str())).cloned().collect(), finals }
    }

    /// Returns the plan without values, words and questions. The dependencies between tools remain.
    #[must_use]
    pub fn without_values(mut self) -> Self {
        for node in &mut self.nodes {
            node.task.clear();
            for argument in &mut node.arguments {
                match &mut argument.source {
                    Source::Value { value, words } => (*value, *words) = (Value::Null, String::new()),
                    Source::Composed { value, .. } => *value = Value::Null,
                    Source::Missing { question } => question.clear(),
                    Source::Output(_) => {}
                }
            }
        }
        self
    }

    /// Returns the labels of the direct and indirect dependents of a call, in plan order.
    pub fn dependents(&self, label: &str) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        // Calls are sorted after those that they depend on, so one pass is enough.
        for node in &self.nodes {
            let depends = node.feeders().any(|feeder| feeder == label || found.contains(&feeder));
            if depends {
                found.push(&node.label);
            }
        }
        found
    }
}

impl Node {
    /// Returns the labels of the calls that this one depends on; a label may occur several times.
    pub fn feeders(&self) -> impl Iterator<Item = &str> {
        let references = self.arguments.iter().flat_map(|argument| argument.source.references());
        references.map(|reference| reference.node.as_str())
    }

    /// Returns the argument with this name.
    pub fn argument(&self, name: &str) -> Option<&Argument> {
        self.arguments.iter().find(|argument| argument.name == name)
    }
}

impl Source {
    /// Returns the outputs of other calls that it uses.
    pub fn references(&self) -> &[Reference] {
        match self {
            Self::Output(reference) => std::slice::from_ref(reference),
            Self::Composed { outputs, .. } => outputs,
            Self::Value { .. } | Self::Missing { .. } => &[],
        }
    }

    /// Whether its value is known when the calls with the labels `done` are complete.
    fn is_available(&self, done: &HashSet<String>) -> bool {
        !matches!(self, Self::Missing { .. })
            && self.references().iter().all(|reference| done.contains(&reference.node))
    }

    /// Returns the source with renamed call labels.
    #[must_use]
    pub fn relabelled(mut self, label: impl Fn(&str) -> String) -> Self {
        let references = match &mut self {
            Self::Output(reference) => std::slice::from_mut(reference),
            Self::Composed { outputs, .. } => outputs.as_mut_slice(),
            Self::Value { .. } | Self::Missing { .. } => &mut [],
        };
        references.iter_mut().for_each(|reference| reference.node = label(&reference.node));
        self
    }
}

#[cfg(test)]
mod tests;
