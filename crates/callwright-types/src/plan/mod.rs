//! A plan: the acyclic graph of calls that ends in what was asked for, as a value.
//!
//! Its forms for people and machines are at `forms.rs`, its order and what makes one refused at `order.rs`.

mod forms;
mod order;
mod wire;

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use callwright_common::json::Pointer;
pub use order::PlanError;

/// Calls that feed one another. There is no cycle in it, every reference names a node, and nodes stand behind those that feed them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "wire::Form", into = "wire::Form")]
pub struct Plan {
    nodes: Vec<Node>,
    finals: Vec<String>,
}

/// One call of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// What others refer to it by: letters, digits and `_`, unique within its plan.
    pub label: String,
    /// The tool that is called.
    pub tool: String,
    /// What the call is for, in a few words; may be empty.
    pub task: String,
    /// Its arguments; those that nothing is said about are not given.
    pub arguments: Vec<Argument>,
}

/// An argument of a call, and where its value comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Argument {
    /// The parameter's name.
    pub name: String,
    /// Where the value comes from.
    pub source: Source,
}

/// Where the value of an argument comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// It is known.
    Value {
        /// The value.
        value: Value,
        /// The words of the conversation that it rests on; empty where it needs none, as a default does.
        words: String,
    },
    /// It is what another call answers with.
    Output(Reference),
    /// It is made of what other calls answer with.
    Composed {
        /// A value whose texts have `{1}` where the first output goes, `{2}` for the second. A text that is nothing but `{1}` becomes that
        /// output, whatever its type.
        value: Value,
        /// The outputs, in the order of their numbers.
        outputs: Vec<Reference>,
    },
    /// Nobody knows it yet.
    Missing {
        /// What the user is to be asked.
        question: String,
    },
}

/// A value of another call's answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reference {
    /// The label of the call.
    pub node: String,
    /// Where the value stands in the answer (RFC 6901). Of lists on the way the token `0` stands for what [`Self::item`] says.
    pub output: Pointer,
    /// Which item of a list it is, where one is on the way.
    #[serde(default)]
    pub item: Item,
}

/// Which items of a list are meant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Item {
    /// The value as it is, which may be a list; on the way through lists, the values of all items.
    #[default]
    Whole,
    /// That of the item at this position, from 0.
    Index(usize),
    /// That of one item, to be chosen once the answer is there.
    Chosen,
}

/// An input that nobody gave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MissingInput<'a> {
    /// The call that needs it.
    pub node: &'a Node,
    /// The parameter.
    pub argument: &'a str,
    /// What the user is to be asked.
    pub question: &'a str,
}

/// A value that goes from one call to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge<'a> {
    /// The call that answers with it, and where it stands there.
    pub from: &'a Reference,
    /// The label of the call that takes it.
    pub to: &'a str,
    /// The parameter that takes it.
    pub argument: &'a str,
}

impl Plan {
    /// A plan of these calls, which are put in order; `finals` are the labels of those that were asked for.
    ///
    /// # Errors
    /// [`PlanError`]: a cycle, with its path, or a label that is not there, stands twice, or is none.
    pub fn new(nodes: Vec<Node>, finals: Vec<String>) -> Result<Self, PlanError> {
        let nodes = order::in_order(nodes)?;
        let plan = Self { nodes, finals };
        match plan.finals.iter().find(|label| plan.node(label).is_none()) {
            Some(label) => Err(PlanError::Unknown { label: label.clone(), at: "the goals".to_owned() }),
            None => Ok(plan),
        }
    }

    /// The calls; each stands behind those that feed it.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The labels of the calls that were asked for.
    pub fn finals(&self) -> &[String] {
        &self.finals
    }

    /// The call of this label.
    pub fn node(&self, label: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.label == label)
    }

    /// The values that go from one call to another, in the order of the calls that take them.
    pub fn edges(&self) -> impl Iterator<Item = Edge<'_>> {
        self.nodes.iter().flat_map(|node| {
            node.arguments.iter().flat_map(move |argument| {
                let references = argument.source.references().iter();
                references.map(move |from| Edge { from, to: &node.label, argument: &argument.name })
            })
        })
    }

    /// The inputs that nobody gave.
    pub fn missing(&self) -> impl Iterator<Item = MissingInput<'_>> {
        self.nodes.iter().flat_map(|node| {
            node.arguments.iter().filter_map(move |argument| match &argument.source {
                Source::Missing { question } => Some(MissingInput { node, argument: &argument.name, question }),
                _ => None,
            })
        })
    }

    /// The calls that can be made, where those of the labels `done` have been: all that feeds them is there, and no input is missing.
    pub fn ready<'a>(&'a self, done: &HashSet<String>) -> impl Iterator<Item = &'a Node> {
        let is_there = |argument: &Argument| match &argument.source {
            Source::Missing { .. } => false,
            source => source.references().iter().all(|reference| done.contains(&reference.node)),
        };
        self.nodes.iter().filter(move |node| !done.contains(&node.label) && node.arguments.iter().all(is_there))
    }

    /// The same without a call and those that it feeds, at once or through others. What was asked for is what is left of it; calls that it does
    /// not need any more are left out, but for those of the labels `made`.
    #[must_use]
    pub fn without(&self, label: &str, made: &HashSet<String>) -> Self {
        let gone: HashSet<&str> = self.dependents(label).into_iter().chain([label]).collect();
        let finals: Vec<String> = self.finals.iter().filter(|label| !gone.contains(label.as_str())).cloned().collect();
        let mut needed: HashSet<&str> = finals.iter().chain(made).map(String::as_str).collect();
        // Calls stand behind those that feed them, so one pass from the end sees them all.
        for node in self.nodes.iter().rev().filter(|node| !gone.contains(node.label.as_str())) {
            if needed.contains(node.label.as_str()) {
                needed.extend(node.feeders());
            }
        }
        let is_left = |node: &&Node| needed.contains(node.label.as_str()) && !gone.contains(node.label.as_str());
        Self { nodes: self.nodes.iter().filter(is_left).cloned().collect(), finals }
    }

    /// The same with nothing in it that anybody said or found out: which tool feeds which is left.
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

    /// The labels of the calls that a call feeds, at once or through others, in their order.
    pub fn dependents(&self, label: &str) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        // Calls stand behind those that feed them, so one pass sees them all.
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
    /// The labels of the calls that feed this one; one may stand several times.
    pub fn feeders(&self) -> impl Iterator<Item = &str> {
        let references = self.arguments.iter().flat_map(|argument| argument.source.references());
        references.map(|reference| reference.node.as_str())
    }

    /// The argument of this name.
    pub fn argument(&self, name: &str) -> Option<&Argument> {
        self.arguments.iter().find(|argument| argument.name == name)
    }
}

impl Source {
    /// The outputs of other calls that it is made of.
    pub fn references(&self) -> &[Reference] {
        match self {
            Self::Output(reference) => std::slice::from_ref(reference),
            Self::Composed { outputs, .. } => outputs,
            Self::Value { .. } | Self::Missing { .. } => &[],
        }
    }

    /// The same, with the calls that it refers to named otherwise.
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
