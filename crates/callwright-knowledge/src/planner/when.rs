//! Decides whether a turn needs a plan: the requested tool requires an argument that no one supplied and that another
//! tool returns.
//!
//! Planning costs requests, so every doubt counts against a plan. The tool is ranked first by a clause of the request.
//! The argument is required and an opaque key (`person_id`, not a name or a country code). No text of the conversation
//! can be that key. Its producer is evident (confirmed by the operator, linked in the document, or returning the key of
//! the same thing) and changes nothing.

mod said;
#[cfg(test)]
mod shared_data_tests;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub use self::said::Said;
use super::drawing::{Occasion, PlanTool, Tools};
use super::producers::words::{is_opaque, is_verb, name_words, writes};
use super::producers::{Asked, Candidate, Evidence, Producers};
use callwright_judge::scanner::Parameter;

/// Number of candidates considered per argument: those that a plan's prompt would list first.
const LOOKED_AT: usize = 5;

/// Reason for a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Why {
    /// Position of the requested tool.
    pub tool: usize,
    /// Name of its argument that no one supplied.
    pub argument: String,
    /// Tool that supplies it.
    pub producer: Candidate,
}

/// Returns the first reason for a plan in the order of the request, if there is one. No model is called.
pub fn needs_plan(occasion: &Occasion<'_>) -> Option<Why> {
    let said = std::cell::OnceCell::new();
    let leaders = occasion.producers.leaders(occasion.asked).into_iter();
    leaders.filter(|leader| occasion.offered.contains(leader)).find_map(|leader| {
        let tool = occasion.tools.tool(leader)?;
        let missing = tool.tool.parameters().filter(|parameter| parameter.required && is_key(parameter));
        missing.into_iter().find_map(|parameter| {
            let producer = evident_producer(occasion, leader, parameter.name)?;
            let said = said.get_or_init(|| Said::read(texts(occasion)));
            let words = things(&tool, parameter.name);
            (!said.can_be(parameter.schema, &words)).then(|| Why {
                tool: leader,
                argument: parameter.name.to_owned(),
                producer,
            })
        })
    })
}

/// Returns the number of keys that the request lacks and that no tool evidently supplies: the maximum over the
/// requested tools.
pub fn lacking(occasion: &Occasion<'_>) -> usize {
    let said = Said::read(texts(occasion));
    let leaders = occasion.producers.leaders(occasion.asked).into_iter();
    let lacks = leaders.filter(|leader| occasion.offered.contains(leader)).filter_map(|leader| {
        let tool = occasion.tools.tool(leader)?;
        let keys = tool.tool.parameters().filter(|parameter| parameter.required && is_key(parameter));
        let lacking = keys.filter(|parameter| {
            !said.can_be(parameter.schema, &things(&tool, parameter.name))
                && evident_producer(occasion, leader, parameter.name).is_none()
        });
        Some(lacking.count())
    });
    lacks.max().unwrap_or_default()
}

/// Returns the texts of the conversation and the memory.
fn texts<'a>(occasion: &Occasion<'a>) -> impl Iterator<Item = &'a str> {
    let texts = occasion.conversation.iter().map(|message| message.text.as_str());
    texts.chain(occasion.memory.iter().map(String::as_str))
}

/// Whether a tool requires a key, so that a plan can be necessary. If no offered tool does, the request need not be
/// analysed.
pub fn requires_key(tool: &PlanTool) -> bool {
    tool.tool.parameters().any(|parameter| parameter.required && is_key(&parameter))
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

/// Whether a parameter is an opaque key without a default, constant or enum.
fn is_key(parameter: &Parameter<'_>) -> bool {
    let kind = parameter.schema.get("type").and_then(Value::as_str);
    let can_be_key = !matches!(kind, Some("boolean" | "array" | "object" | "null"));
    can_be_key
        && ["default", "const", "enum"].iter().all(|keyword| parameter.schema.get(*keyword).is_none())
        && name_words(parameter.name).iter().any(|word| is_opaque(word))
}

/// Returns the things that the argument is the key of: from its own name, else from its tool's name.
fn things(tool: &PlanTool, argument: &str) -> Vec<String> {
    let mut things = Vec::new();
    for name in [argument, tool.tool.name()] {
        if things.is_empty() {
            things = name_words(name);
            things.retain(|word| !is_opaque(word) && !is_verb(word));
        }
    }
    things
}

/// Returns the best candidate that evidently supplies the argument.
fn evident_producer(occasion: &Occasion<'_>, tool: usize, argument: &str) -> Option<Candidate> {
    let candidates = occasion.producers.candidates(tool, argument, occasion.asked, LOOKED_AT);
    candidates.into_iter().find(|candidate| is_evident(occasion.tools, argument, candidate))
}

/// Required key argument of a tool, with the tools that evidently supply it.
#[derive(Debug, Clone, PartialEq)]
pub struct Prerequisite {
    schema: Value,
    things: Vec<String>,
    /// Positions of those tools, best first.
    pub producers: Vec<usize>,
}

impl Prerequisite {
    /// Returns the prerequisites of a tool, independent of the request.
    pub fn all_of(tools: &dyn Tools, producers: &Producers, position: usize) -> Vec<Self> {
        let Some(tool) = tools.tool(position) else { return Vec::new() };
        let nothing = Asked::default();
        let keys = tool.tool.parameters().filter(|parameter| parameter.required && is_key(parameter));
        let all = keys.map(|parameter| {
            let candidates = producers.candidates(position, parameter.name, &nothing, LOOKED_AT).into_iter();
            let evident = candidates.filter(|candidate| is_evident(tools, parameter.name, candidate));
            Self {
                schema: parameter.schema.clone(),
                things: things(&tool, parameter.name),
                producers: evident.map(|candidate| candidate.tool).collect(),
            }
        });
        all.filter(|prerequisite| !prerequisite.producers.is_empty()).collect()
    }

    /// Whether the conversation contains a possible value of the argument.
    pub fn is_given(&self, said: &Said) -> bool {
        said.can_be(&self.schema, &self.things)
    }
}

fn is_evident(tools: &dyn Tools, argument: &str, candidate: &Candidate) -> bool {
    let Some(producer) = tools.tool(candidate.tool) else { return false };
    if weight(candidate, Evidence::Confirmed) > 0.0 || weight(candidate, Evidence::Linked) > 0.0 {
        return true;
    }
    let contrary = [Evidence::Writes, Evidence::Itself, Evidence::Echo];
    if contrary.into_iter().any(|evidence| weight(candidate, evidence) != 0.0) {
        return false;
    }
    if producer.outputs.is_empty() {
        return names_thing(&producer, argument);
    }
    // The key of the thing that the argument names, an item of the collection of its path, or a key with the same name.
    let same_name = weight(candidate, Evidence::SameName) != 0.0 || weight(candidate, Evidence::SharedWords) >= 1.0;
    weight(candidate, Evidence::Key) >= FULL_KEY
        || weight(candidate, Evidence::Collection) > 0.0
        || weight(candidate, Evidence::Identifies) > 0.0 && same_name
}

fn weight(candidate: &Candidate, evidence: Evidence) -> f32 {
    candidate.reasons.iter().find(|reason| reason.evidence == evidence).map_or(0.0, |reason| reason.weight)
}

/// Weight of [`Evidence::Key`] for the key of all things that the argument names.
const FULL_KEY: f32 = 2.0;

/// Whether the name of a tool without documented outputs indicates that it finds the thing that the argument
/// identifies.
fn names_thing(producer: &PlanTool, argument: &str) -> bool {
    let (tool, name) = (name_words(producer.tool.name()), name_words(argument));
    let mut things = name.iter().filter(|word| !is_opaque(word)).peekable();
    // A tool that requires such a key itself uses the thing and does not find it.
    let takes_key = requires_key(producer);
    things.peek().is_some() && things.all(|thing| tool.contains(thing)) && !writes(&tool) && !takes_key
}
