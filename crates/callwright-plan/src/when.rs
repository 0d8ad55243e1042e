//! Decides whether a turn needs a plan: the requested tool requires an argument that no one supplied and that another
//! tool returns.
//!
//! Planning costs requests, so every doubt counts against a plan, and a value that one step of the request passes to the
//! next is none: the model makes those calls itself. The tool is ranked first by a clause of the request.
//! The argument is required and an opaque key (`person_id`, not a name or a country code). No text of the conversation
//! can be that key. Its producer is evident (confirmed by the operator, linked in the document, or returning the key of
//! the same thing) and changes nothing.

#[cfg(test)]
mod shared_data_tests;
#[cfg(test)]
mod tests;

use serde_json::Value;

use super::generation::PlanInputs;
use super::keys::{KeyForm, KeySources, is_key, things};
use super::producers::Candidate;
use super::producers::words::{is_opaque, name_words};
use super::tools::PlanTool;
use callwright_judge::scanner::Parameter;
use callwright_types::Plan;

pub use super::keys::{ConversationKeys, Prerequisite, any_names_a_key, requires_key};

/// Reason for a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanTrigger {
    /// Position of the requested tool.
    pub tool: usize,
    /// Name of its argument that no one supplied.
    pub argument: String,
    /// Tool that supplies it.
    pub producer: Candidate,
}

/// Returns the first reason for a plan in the order of the request, if there is one: a key that a requested tool
/// requires, that the conversation lacks and that another tool evidently supplies. No model is called. A tool with a further key that is neither given nor evidently supplied has none: a plan could only guess
/// that key, or request it from the user, and the model may find a better way.
pub fn needs_plan(inputs: &PlanInputs<'_>) -> Option<PlanTrigger> {
    let given = std::cell::OnceCell::new();
    for leader in inputs.producers.leaders(inputs.scores) {
        let Some(tool) = inputs.tools.tool(leader).filter(|_| inputs.offered.contains(&leader)) else { continue };
        let keys = tool.tool.parameters().filter(|parameter| parameter.required && is_key(&tool, parameter));
        let mut keys: Vec<(Parameter<'_>, Option<Candidate>)> =
            keys.map(|parameter| (parameter, evident_producer(inputs, leader, parameter.name))).collect();
        if keys.iter().all(|(_, producer)| producer.is_none()) {
            continue;
        }
        let given = given.get_or_init(|| ConversationKeys::collect(texts(inputs)));
        keys.retain(|(parameter, _)| !given.may_contain(key_form(&tool, parameter), &things(&tool, parameter.name)));
        if keys.iter().any(|(_, producer)| producer.is_none()) {
            continue;
        }
        if let Some((parameter, Some(producer))) = keys.into_iter().next() {
            return Some(PlanTrigger { tool: leader, argument: parameter.name.to_owned(), producer });
        }
    }
    None
}

/// Missing value of a plan, with the tool that evidently supplies it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidentlySupplied {
    /// Name of the argument that the plan requests from the user.
    pub argument: String,
    /// Name of the tool that supplies it.
    pub producer: String,
}

/// Returns the first value that a plan requests from the user although a tool evidently supplies it. Such a plan is
/// worse than none: the model would look the value up.
pub fn needless_question(inputs: &PlanInputs<'_>, plan: &Plan) -> Option<EvidentlySupplied> {
    for missing in plan.missing() {
        let Some(consumer) = inputs.producers.position(&missing.node.tool) else { continue };
        let Some(producer) = evident_producer(inputs, consumer, missing.argument) else { continue };
        let Some(tool) = inputs.tools.tool(producer.tool) else { continue };
        return Some(EvidentlySupplied {
            argument: missing.argument.to_owned(),
            producer: tool.tool.name().to_owned(),
        });
    }
    None
}

/// Returns the number of keys that the request lacks and that no tool evidently supplies: the maximum over the
/// requested tools.
pub fn unsupplied_keys(inputs: &PlanInputs<'_>) -> usize {
    let given = ConversationKeys::collect(texts(inputs));
    let leaders = inputs.producers.leaders(inputs.scores).into_iter();
    let counts = leaders.filter(|leader| inputs.offered.contains(leader)).filter_map(|leader| {
        let tool = inputs.tools.tool(leader)?;
        let keys = tool.tool.parameters().filter(|parameter| parameter.required && is_key(&tool, parameter));
        let unsupplied = keys.filter(|parameter| {
            !given.may_contain(key_form(&tool, parameter), &things(&tool, parameter.name))
                && evident_producer(inputs, leader, parameter.name).is_none()
        });
        Some(unsupplied.count())
    });
    counts.max().unwrap_or_default()
}

fn key_form(tool: &PlanTool, parameter: &Parameter<'_>) -> KeyForm {
    KeyForm::new(&tool.schemas(parameter.schema))
}

/// Returns the best candidate that evidently supplies the argument.
fn evident_producer(inputs: &PlanInputs<'_>, tool: usize, argument: &str) -> Option<Candidate> {
    let PlanInputs { tools, producers, scores, .. } = *inputs;
    KeySources { tools, producers, scores }.evident(tool, argument)
}

/// Returns the texts of the conversation and the memory.
fn texts<'a>(inputs: &PlanInputs<'a>) -> impl Iterator<Item = &'a str> {
    let texts = inputs.conversation.iter().map(|message| message.text.as_str());
    texts.chain(inputs.memory.iter().map(String::as_str))
}

/// Whether [`requires_key`] can hold for a tool with these parameters, without compiling their schema: whether the schema
/// requires a property at any depth whose name may be that of a key.
pub fn may_require_key(parameters: &Value) -> bool {
    match parameters {
        Value::Object(members) => members.iter().any(|(keyword, value)| match (keyword.as_str(), value) {
            ("required", Value::Array(names)) => {
                names.iter().filter_map(Value::as_str).any(|name| name_words(name).iter().any(|word| is_opaque(word)))
            }
            _ => may_require_key(value),
        }),
        Value::Array(items) => items.iter().any(may_require_key),
        _ => false,
    }
}
