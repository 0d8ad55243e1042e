//! Does a turn need a plan? Only where the tool that the request asks for takes something that nobody said and another tool answers with.
//!
//! A turn that needs none must not pay for one, so whatever is in doubt speaks against it: the tool is the one that a part of the request
//! asks for before all others; the argument is required, and a key that only a system knows (`person_id`, no name and no country's
//! code); nothing that was said can be that key; and what supplies it is evident (the operator or the document says so, or it is the same
//! thing's key), and changes nothing.

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

/// Candidates of an argument that are looked at: those that a plan's model would be shown first.
const LOOKED_AT: usize = 5;

/// Why a plan is needed.
#[derive(Debug, Clone, PartialEq)]
pub struct Why {
    /// The position of the tool that is asked for.
    pub tool: usize,
    /// Its argument that nobody gave.
    pub argument: String,
    /// What supplies it.
    pub producer: Candidate,
}

/// Does what is asked for need a plan, and why? No model is asked. The first reason counts, in the order of the request.
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

/// How many keys the request lacks that nobody gave and no tool evidently supplies: of the tool that is asked for and lacks most.
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

/// All that was said and is remembered, by whomever.
fn texts<'a>(occasion: &Occasion<'a>) -> impl Iterator<Item = &'a str> {
    let texts = occasion.conversation.iter().map(|message| message.text.as_str());
    texts.chain(occasion.memory.iter().map(String::as_str))
}

/// Can a plan ever be needed for a tool: does it require a key? Where none of those that are offered does, a request need not even be read.
pub fn requires_key(tool: &PlanTool) -> bool {
    tool.tool.parameters().any(|parameter| parameter.required && is_key(&parameter))
}

/// Is it a key that only a system knows, and that has no value of its own?
fn is_key(parameter: &Parameter<'_>) -> bool {
    let has = |keyword: &str| parameter.schema.get(keyword).is_some();
    let kind = parameter.schema.get("type").and_then(Value::as_str);
    let can_be_key = !matches!(kind, Some("boolean" | "array" | "object" | "null"));
    can_be_key
        && !has("default")
        && !has("const")
        && !has("enum")
        && name_words(parameter.name).iter().any(|word| is_opaque(word))
}

/// What the argument is the key of: by its own name, or its tool's.
fn things(tool: &PlanTool, argument: &str) -> Vec<String> {
    let named = |name: &str| -> Vec<String> {
        name_words(name).into_iter().filter(|word| !is_opaque(word) && !is_verb(word)).collect()
    };
    let own = named(argument);
    if own.is_empty() { named(tool.tool.name()) } else { own }
}

/// The best of those candidates that supply the argument without doubt.
fn evident_producer(occasion: &Occasion<'_>, tool: usize, argument: &str) -> Option<Candidate> {
    let candidates = occasion.producers.candidates(tool, argument, occasion.asked, LOOKED_AT);
    candidates.into_iter().find(|candidate| is_evident(occasion.tools, argument, candidate))
}

/// A required argument of a tool that is a key, with the tools that evidently supply it.
#[derive(Debug, Clone, PartialEq)]
pub struct Prerequisite {
    schema: Value,
    things: Vec<String>,
    /// The positions of those tools, the best first.
    pub producers: Vec<usize>,
}

impl Prerequisite {
    /// What a tool needs, whatever is asked for.
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

    /// Can something that was said be the argument?
    pub fn is_given(&self, said: &Said) -> bool {
        said.can_be(&self.schema, &self.things)
    }
}

fn is_evident(tools: &dyn Tools, argument: &str, candidate: &Candidate) -> bool {
    let weight = |evidence: Evidence| {
        candidate.reasons.iter().find(|reason| reason.evidence == evidence).map_or(0.0, |reason| reason.weight)
    };
    let is_there = |evidence: Evidence| weight(evidence) != 0.0;
    let Some(producer) = tools.tool(candidate.tool) else { return false };
    if weight(Evidence::Confirmed) > 0.0 || weight(Evidence::Linked) > 0.0 {
        return true;
    }
    if [Evidence::Writes, Evidence::Itself, Evidence::Echo].into_iter().any(is_there) {
        return false;
    }
    if producer.outputs.is_empty() {
        return names_thing(&producer, argument);
    }
    // The key of all that the argument names, what its path picks one of, or a key whose name the argument's has in it.
    let same_name = is_there(Evidence::SameName) || weight(Evidence::SharedWords) >= 1.0;
    weight(Evidence::Key) >= FULL_KEY
        || weight(Evidence::Collection) > 0.0
        || weight(Evidence::Identifies) > 0.0 && same_name
}

/// What [`Evidence::Key`] weighs where the field is the key of all that the argument names.
const FULL_KEY: f32 = 2.0;

/// Nobody knows what the tool answers with: does its name say that it finds what the argument is the key of?
fn names_thing(producer: &PlanTool, argument: &str) -> bool {
    let (tool, name) = (name_words(producer.tool.name()), name_words(argument));
    let mut things = name.iter().filter(|word| !is_opaque(word)).peekable();
    // Where it takes such a key itself, it is a tool that needs the thing, and does not find it.
    let takes_key = requires_key(producer);
    things.peek().is_some() && things.all(|thing| tool.contains(thing)) && !writes(&tool) && !takes_key
}
