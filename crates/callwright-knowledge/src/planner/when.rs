//! Decides whether a turn needs a plan: the requested tool requires an argument that no one supplied and that another
//! tool returns.
//!
//! Planning costs requests, so every doubt counts against a plan. The tool is ranked first by a clause of the request.
//! The argument is required and an opaque key (`person_id`, not a name or a country code). No text of the conversation
//! can be that key. Its producer is evident (confirmed by the operator, linked in the document, or returning the key of
//! the same thing) and changes nothing.

mod conversation_keys;
#[cfg(test)]
mod shared_data_tests;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub use self::conversation_keys::ConversationKeys;
use super::generation::{PlanInputs, PlanTool, Tools};
use super::producers::words::{is_opaque, is_verb, name_words, writes};
use super::producers::{Candidate, Evidence, Producers, RequestScores};
use callwright_judge::scanner::Parameter;
use callwright_types::Plan;

/// Number of candidates considered per argument: those that a plan's prompt would list first.
const MAX_CANDIDATES: usize = 5;

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

/// Returns the first reason for a plan in the order of the request, if there is one: a missing key, or a value that an
/// earlier step of the request yields. No model is called.
pub fn needs_plan(inputs: &PlanInputs<'_>) -> Option<PlanTrigger> {
    missing_key(inputs).or_else(|| chained_value(inputs))
}

/// Returns an argument of a later step that takes a value from an earlier step of the same request: the step gives
/// fewer values than its tool requires, and the earlier step's tool returns one by the argument's name.
fn chained_value(inputs: &PlanInputs<'_>) -> Option<PlanTrigger> {
    let leaders = inputs.producers.clause_leaders(inputs.scores);
    for (at, leader) in leaders.iter().enumerate().skip(1) {
        let earlier: Vec<usize> = leaders.iter().take(at).map(|leader| leader.tool).collect();
        let Some(tool) = inputs.tools.tool(leader.tool).filter(|_| inputs.offered.contains(&leader.tool)) else {
            continue;
        };
        let required: Vec<Parameter<'_>> =
            tool.tool.parameters().filter(|parameter| parameter.required && !is_preset(parameter)).collect();
        let numeric = required.iter().filter(|parameter| is_numeric(parameter)).count();
        let lacks_any = leader.numbers + leader.texts < required.len();
        for parameter in &required {
            let is_lacking = if is_numeric(parameter) { leader.numbers < numeric || lacks_any } else { lacks_any };
            if !is_lacking {
                continue;
            }
            let candidates = inputs.producers.candidates(leader.tool, parameter.name, inputs.scores, 1);
            let producer = candidates.into_iter().find(|candidate| {
                earlier.contains(&candidate.tool) && yields_by_name(candidate) && may_run(inputs, candidate)
            });
            if let Some(producer) = producer {
                return Some(PlanTrigger { tool: leader.tool, argument: parameter.name.to_owned(), producer });
            }
        }
    }
    None
}

/// Whether the candidate's output has the argument's name, or the step of the request names it.
fn yields_by_name(candidate: &Candidate) -> bool {
    let is_contrary =
        [Evidence::Itself, Evidence::Needs].into_iter().any(|evidence| weight(candidate, evidence) != 0.0);
    !is_contrary
        && (weight(candidate, Evidence::SameName) > 0.0
            || weight(candidate, Evidence::SharedWords) >= 1.0
            || weight(candidate, Evidence::FieldInConsumerClause) >= NAMED_FIELD)
}

fn may_run(inputs: &PlanInputs<'_>, candidate: &Candidate) -> bool {
    inputs.tools.tool(candidate.tool).is_some_and(|tool| !tool.outputs.is_empty())
}

/// Weight of [`Evidence::FieldInConsumerClause`] for a field of which a step names at least half.
const NAMED_FIELD: f32 = 1.0;

fn is_preset(parameter: &Parameter<'_>) -> bool {
    ["default", "const", "enum"].iter().any(|keyword| parameter.schema.get(*keyword).is_some())
}

fn is_numeric(parameter: &Parameter<'_>) -> bool {
    matches!(parameter.schema.get("type").and_then(Value::as_str), Some("number" | "integer"))
}

fn missing_key(inputs: &PlanInputs<'_>) -> Option<PlanTrigger> {
    let given = std::cell::OnceCell::new();
    let leaders = inputs.producers.leaders(inputs.scores).into_iter();
    leaders.filter(|leader| inputs.offered.contains(leader)).find_map(|leader| {
        let tool = inputs.tools.tool(leader)?;
        let missing = tool.tool.parameters().filter(|parameter| parameter.required && is_key(parameter));
        missing.into_iter().find_map(|parameter| {
            let producer = evident_producer(inputs, leader, parameter.name)?;
            let given = given.get_or_init(|| ConversationKeys::collect(texts(inputs)));
            let words = things(&tool, parameter.name);
            (!given.may_contain(parameter.schema, &words)).then(|| PlanTrigger {
                tool: leader,
                argument: parameter.name.to_owned(),
                producer,
            })
        })
    })
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
        let keys = tool.tool.parameters().filter(|parameter| parameter.required && is_key(parameter));
        let unsupplied = keys.filter(|parameter| {
            !given.may_contain(parameter.schema, &things(&tool, parameter.name))
                && evident_producer(inputs, leader, parameter.name).is_none()
        });
        Some(unsupplied.count())
    });
    counts.max().unwrap_or_default()
}

/// Returns the texts of the conversation and the memory.
fn texts<'a>(inputs: &PlanInputs<'a>) -> impl Iterator<Item = &'a str> {
    let texts = inputs.conversation.iter().map(|message| message.text.as_str());
    texts.chain(inputs.memory.iter().map(String::as_str))
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
    can_be_key && !is_preset(parameter) && name_words(parameter.name).iter().any(|word| is_opaque(word))
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
fn evident_producer(inputs: &PlanInputs<'_>, tool: usize, argument: &str) -> Option<Candidate> {
    let candidates = inputs.producers.candidates(tool, argument, inputs.scores, MAX_CANDIDATES);
    candidates.into_iter().find(|candidate| is_evident(inputs.tools, argument, candidate))
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
    pub fn of_tool(tools: &dyn Tools, producers: &Producers, position: usize) -> Vec<Self> {
        let Some(tool) = tools.tool(position) else { return Vec::new() };
        let no_request = RequestScores::default();
        let keys = tool.tool.parameters().filter(|parameter| parameter.required && is_key(parameter));
        let all = keys.map(|parameter| {
            let candidates = producers.candidates(position, parameter.name, &no_request, MAX_CANDIDATES).into_iter();
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
    pub fn is_given(&self, given: &ConversationKeys) -> bool {
        given.may_contain(&self.schema, &self.things)
    }
}

fn is_evident(tools: &dyn Tools, argument: &str, candidate: &Candidate) -> bool {
    let Some(producer) = tools.tool(candidate.tool) else { return false };
    if weight(candidate, Evidence::Confirmed) > 0.0 || weight(candidate, Evidence::Linked) > 0.0 {
        return true;
    }
    let contrary = [Evidence::Writes, Evidence::Itself, Evidence::Echo, Evidence::Needs];
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

/// Whether, in a list of tools without documented outputs, the name of a tool indicates that it finds the thing that a
/// required key of another identifies. If none does, no request needs a plan ([`needs_plan`]), unless the operator
/// confirmed a source.
pub fn any_names_a_key(tools: &[PlanTool]) -> bool {
    tools.iter().any(|consumer| {
        let keys = consumer.tool.parameters().filter(|parameter| parameter.required && is_key(parameter));
        keys.into_iter().any(|key| tools.iter().any(|producer| names_thing(producer, key.name)))
    })
}

/// Whether the name of a tool without documented outputs indicates that it finds the thing that the argument
/// identifies.
fn names_thing(producer: &PlanTool, argument: &str) -> bool {
    let (tool, name) = (name_words(producer.tool.name()), name_words(argument));
    let mut things = name.iter().filter(|word| !is_opaque(word)).peekable();
    // A tool that requires such a key itself uses the thing and does not find it.
    let takes_key = requires_key(producer);
    things.peek().is_some() && things.all(|thing| tool.contains(thing)) && !writes(&tool) && !takes_key
}
