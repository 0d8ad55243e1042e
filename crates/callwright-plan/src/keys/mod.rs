//! Keys: arguments whose values only a system knows (`person_id`), and the tools that evidently supply them.
//!
//! A key never holds words of a person. `conversation_keys` collects what may be a key in a conversation.

mod conversation_keys;

use serde_json::Value;

pub use self::conversation_keys::ConversationKeys;
pub(super) use self::conversation_keys::KeyForm;
use self::conversation_keys::is_plain;
use super::producers::words::{identifies, is_opaque, is_verb, name_words, writes};
use super::producers::{Candidate, Evidence, KEY, Producers, RequestScores};
use super::tools::{PlanTool, Schemas, Tools};
use callwright_common::schema::Views;
use callwright_common::text::is_digits;
use callwright_judge::scanner::Parameter;

/// Number of candidates considered per argument: those that a plan's prompt would list first.
pub(super) const MAX_CANDIDATES: usize = 5;

/// Whether a parameter is an opaque key without a default, constant or enum.
pub(super) fn is_key(tool: &PlanTool, parameter: &Parameter<'_>) -> bool {
    is_key_of(&tool.schemas(parameter.schema), parameter.name)
}

fn is_key_of(schemas: &Schemas<'_>, name: &str) -> bool {
    let mut types = schemas.types().peekable();
    let is_open = types.peek().is_none();
    let can_be_key = is_open || types.any(|name| !matches!(name, "boolean" | "array" | "object" | "null"));
    can_be_key && !is_preset(schemas) && is_key_name(name)
}

/// Returns the form of the items of a parameter that is a list of opaque keys.
fn key_items(schemas: &Schemas<'_>, name: &str) -> Option<KeyForm> {
    let items = Views::new(schemas.items()?);
    // Words of fewer than four letters have no singular (`name_words`).
    let name = name.trim_end_matches(['s', 'S']);
    (!is_preset(schemas) && is_key_of(&items, name)).then(|| KeyForm::new(&items))
}

/// Whether the name of an argument or an output is that of an opaque key.
fn is_key_name(name: &str) -> bool {
    name_words(name).iter().any(|word| is_opaque(word))
}

/// Whether the schema determines or restricts the value.
pub(super) fn is_preset(schemas: &Schemas<'_>) -> bool {
    ["default", "const", "enum"].iter().any(|keyword| schemas.values(keyword).next().is_some())
}

/// Whether a tool requires a key, so that a plan can be necessary. If no offered tool does, the request need not be
/// analysed.
pub fn requires_key(tool: &PlanTool) -> bool {
    tool.tool.parameters().any(|parameter| parameter.required && is_key(tool, &parameter))
}

/// Returns the things that the argument is the key of: from its own name, else from its tool's name.
pub(super) fn things(tool: &PlanTool, argument: &str) -> Vec<String> {
    let mut things = Vec::new();
    for name in [argument, tool.tool.name()] {
        if things.is_empty() {
            things = name_words(name);
            things.retain(|word| !is_opaque(word) && !is_verb(word));
        }
    }
    things
}

/// Tools and the index of their sources, for one request.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeySources<'a> {
    pub(super) tools: &'a dyn Tools,
    pub(super) producers: &'a Producers,
    pub(super) scores: &'a RequestScores,
}

impl KeySources<'_> {
    /// Returns the best candidate that evidently supplies the argument of the tool at a position. One that takes no key
    /// comes first, and one that requires a key of the same thing supplies nothing.
    pub(super) fn evident(&self, tool: usize, argument: &str) -> Option<Candidate> {
        let wanted = things(self.tools.tool(tool).as_ref()?, argument);
        let candidates = self.producers.candidates(tool, argument, self.scores, MAX_CANDIDATES).into_iter();
        let mut second = None;
        for candidate in candidates.filter(|candidate| is_evident(self.tools, argument, candidate)) {
            let Some(producer) = self.tools.tool(candidate.tool) else { continue };
            let mut keys = producer.tool.parameters().filter(|parameter| is_key(&producer, parameter)).peekable();
            if is_stated(&candidate) || keys.peek().is_none() {
                return Some(candidate);
            }
            if second.is_none() && !keys.any(|key| key.required && things(&producer, key.name) == wanted) {
                second = Some(candidate);
            }
        }
        second
    }
}

/// Key argument of a planned call, or a list of keys. Its value comes from a tool unless the conversation has a key.
#[derive(Debug, Clone)]
pub(super) struct KeyArgument {
    form: KeyForm,
    things: Vec<String>,
    /// Evident source: name of the tool, and the output that is the key; empty if its outputs are unknown.
    evident: Option<(String, String)>,
}

impl KeyArgument {
    /// Returns the key that a parameter of the tool at `position` is; `None` if it is no key, or if no tool can supply
    /// it. `has_suppliers` is whether the plan may take it from some tool that does not evidently return it.
    pub(super) fn new(
        sources: &KeySources<'_>,
        (position, tool): (usize, &PlanTool),
        parameter: &Parameter<'_>,
        has_suppliers: bool,
    ) -> Option<Self> {
        let schemas = tool.schemas(parameter.schema);
        let form = match is_key_of(&schemas, parameter.name) {
            true => KeyForm::new(&schemas),
            false => key_items(&schemas, parameter.name)?,
        };
        let evident = sources.evident(position, parameter.name).and_then(|candidate| {
            let producer = sources.tools.tool(candidate.tool)?;
            Some((producer.tool.name().to_owned(), candidate.output))
        });
        let things = things(tool, parameter.name);
        (has_suppliers || evident.is_some()).then_some(Self { form, things, evident })
    }

    /// Returns the name of the tool that evidently supplies the key.
    pub(super) fn producer(&self) -> Option<&str> {
        self.evident.as_ref().map(|(producer, _)| producer.as_str())
    }

    /// Whether a literal value can be the key, or a list of such keys: the conversation contains it in the form of a key.
    pub(super) fn may_be(&self, value: &Value, given: &ConversationKeys) -> bool {
        match value {
            Value::Array(values) => values.iter().all(|value| given.may_be(value, self.form, &self.things)),
            value => given.may_be(value, self.form, &self.things),
        }
    }

    /// Returns the output to take instead if `output` of a tool is a documented value that is no key, although the same
    /// tool returns the key.
    pub(super) fn better_output(&self, supplier: &PlanTool, output: &str) -> Option<&str> {
        let (producer, key) = self.evident.as_ref()?;
        let is_documented = supplier.outputs.iter().any(|field| field.pointer == output);
        let has_key = !key.is_empty() && supplier.tool.name() == producer;
        (has_key && is_documented && output != key && !is_identifying_output(output)).then_some(key)
    }
}

/// Whether the name of an output, the last member on its path, is that of an identifier.
fn is_identifying_output(output: &str) -> bool {
    let name = output.rsplit('/').find(|token| !token.is_empty() && !is_digits(token));
    name.is_some_and(|name| name_words(name).iter().any(|word| identifies(word)))
}

/// Whether a value for a key argument only repeats a word that the call which returned it was given: `"Jack"` as the
/// `/name` of a person who was searched for by that name.
pub(super) fn repeats_input(argument: &str, output: &str, value: &Value, input: &Value) -> bool {
    let Some(text) = value.as_str().filter(|text| is_plain(text)) else { return false };
    let mut given = input.as_object().into_iter().flat_map(|input| input.values()).filter_map(Value::as_str);
    is_key_name(argument)
        && !is_identifying_output(output)
        && given.any(|given| given.trim().to_lowercase() == text.trim().to_lowercase())
}

/// Required key argument of a tool, with the tools that evidently supply it.
#[derive(Debug, Clone, PartialEq)]
pub struct Prerequisite {
    form: KeyForm,
    things: Vec<String>,
    /// Positions of those tools, best first.
    pub producers: Vec<usize>,
}

impl Prerequisite {
    /// Returns the prerequisites of a tool, independent of the request.
    pub fn of_tool(tools: &dyn Tools, producers: &Producers, position: usize) -> Vec<Self> {
        let Some(tool) = tools.tool(position) else { return Vec::new() };
        let no_request = RequestScores::default();
        let keys = tool.tool.parameters().filter(|parameter| parameter.required && is_key(&tool, parameter));
        let all = keys.map(|parameter| {
            let candidates = producers.candidates(position, parameter.name, &no_request, MAX_CANDIDATES).into_iter();
            let evident = candidates.filter(|candidate| is_evident(tools, parameter.name, candidate));
            Self {
                form: KeyForm::new(&tool.schemas(parameter.schema)),
                things: things(&tool, parameter.name),
                producers: evident.map(|candidate| candidate.tool).collect(),
            }
        });
        all.filter(|prerequisite| !prerequisite.producers.is_empty()).collect()
    }

    /// Whether the conversation contains a possible value of the argument.
    pub fn is_given(&self, given: &ConversationKeys) -> bool {
        given.may_contain(self.form, &self.things)
    }
}

fn is_evident(tools: &dyn Tools, argument: &str, candidate: &Candidate) -> bool {
    let Some(producer) = tools.tool(candidate.tool) else { return false };
    if is_stated(candidate) {
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
    weight(candidate, Evidence::Key) >= KEY
        || weight(candidate, Evidence::Collection) > 0.0
        || weight(candidate, Evidence::Identifies) > 0.0 && same_name
}

/// Whether the operator or the document states the source.
fn is_stated(candidate: &Candidate) -> bool {
    weight(candidate, Evidence::Confirmed) > 0.0 || weight(candidate, Evidence::Linked) > 0.0
}

/// Returns the weight of one kind of evidence for a candidate; 0 without such evidence.
pub(super) fn weight(candidate: &Candidate, evidence: Evidence) -> f32 {
    candidate.reasons.iter().find(|reason| reason.evidence == evidence).map_or(0.0, |reason| reason.weight)
}

/// Whether, in a list of tools without documented outputs, the name of a tool indicates that it finds the thing that a
/// required key of another identifies. If none does, no request needs a plan
/// ([`needs_plan`](super::when::needs_plan)), unless the operator confirmed a source.
pub fn any_names_a_key(tools: &[PlanTool]) -> bool {
    tools.iter().any(|consumer| {
        let keys = consumer.tool.parameters().filter(|parameter| parameter.required && is_key(consumer, parameter));
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
