//! Traces argument values to their origins.

use serde_json::{Map, Value};

use super::answers::{AnswerIndex, AnswerLocation, key};
use super::input::{CompletedCall, ProcedureTool, Workflow};
use super::names::{NameSimilarity, ValueParameter, is_same_name, name_similarity};
use super::schema::ValueSchema;
use super::vocabulary::MemberVocabulary;
use super::vocabulary::{UserMessages, is_trivial};
use callwright_types::plan::{Item, Reference, Source};

/// Maximum number of outputs that one value is composed of.
const MAX_PARTS: usize = 16;

#[derive(Debug, Clone)]
pub(super) struct AbstractedCall<'a> {
    pub(super) tool: ProcedureTool<'a>,
    pub(super) arguments: Vec<(String, ArgumentValueOrigin)>,
}

/// Origin of an argument's value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ArgumentValueOrigin {
    /// Earlier answers or the tool's schema. References use the labels of [`label`].
    Known(Source),
    /// User. The value is only used to detect equal inputs and is not stored.
    Input(Option<Value>),
}

/// Returns the temporary label of a call, used until the kept calls are numbered.
pub(super) fn label(step: usize) -> String {
    format!("s{step}")
}

/// Returns the successful calls with the origins of their arguments, and the positions of the goals.
pub(super) fn trace<'a>(workflow: &Workflow<'a>) -> Option<(Vec<AbstractedCall<'a>>, Vec<usize>)> {
    let mut tracer = OriginTracer {
        answers: AnswerIndex::default(),
        vocabulary: MemberVocabulary::new(workflow.tools),
        user_messages: UserMessages::new(workflow.user_messages),
        calls: Vec::new(),
    };
    let mut steps: Vec<AbstractedCall<'a>> = Vec::new();
    for call in workflow.calls.iter().filter(|call| call.succeeded) {
        let Some(tool) = workflow.tools.iter().find(|tool| tool.name == call.tool) else { continue };
        // A repeated call counts once; its later answer may contain more.
        let mut earlier = tracer.calls.iter().map(|(_, earlier)| earlier);
        if let Some(position) = earlier.position(|other| other.tool == call.tool && other.arguments == call.arguments) {
            tracer.answers.add(position, call.answer);
            continue;
        }
        steps.push(AbstractedCall { tool: *tool, arguments: tracer.arguments(tool, call.arguments) });
        tracer.answers.add(tracer.calls.len(), call.answer);
        tracer.calls.push((*tool, *call));
    }
    let finals = finals(&steps);
    (!finals.is_empty()).then_some((steps, finals))
}

/// Returns the positions of the last call and of state-changing calls that no kept call depends on.
fn finals(steps: &[AbstractedCall<'_>]) -> Vec<usize> {
    let (mut finals, mut needed) = (Vec::new(), vec![false; steps.len()]);
    for (at, step) in steps.iter().enumerate().rev() {
        let is_needed = needed.get(at).copied().unwrap_or_default();
        let is_final = at + 1 == steps.len() || step.tool.changes_state && !is_needed;
        if is_final {
            finals.push(at);
        }
        if is_final || is_needed {
            for dependency in step.dependencies() {
                needed.get_mut(dependency).into_iter().for_each(|needed| *needed = true);
            }
        }
    }
    finals.reverse();
    finals
}

impl AbstractedCall<'_> {
    /// Returns the positions of the calls whose answers it uses.
    pub(super) fn dependencies(&self) -> impl Iterator<Item = usize> {
        let sources = self.arguments.iter().filter_map(|(_, origin)| match origin {
            ArgumentValueOrigin::Known(source) => Some(source),
            ArgumentValueOrigin::Input(_) => None,
        });
        sources.flat_map(Source::references).filter_map(|reference| reference.node.strip_prefix('s')?.parse().ok())
    }
}

/// State of the tracing.
struct OriginTracer<'a> {
    answers: AnswerIndex,
    vocabulary: MemberVocabulary,
    user_messages: UserMessages,
    calls: Vec<(ProcedureTool<'a>, CompletedCall<'a>)>,
}

/// Call and list index of the chosen items. All values that a call takes from one list have to be of the same item.
type Choices = Vec<(usize, usize)>;

impl OriginTracer<'_> {
    fn arguments(&self, tool: &ProcedureTool<'_>, arguments: &Value) -> Vec<(String, ArgumentValueOrigin)> {
        let parameters = ValueSchema::new(tool.parameters);
        let mut choices = Choices::new();
        // The name of an undocumented argument may itself be user data.
        let arguments = arguments.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        let origins = arguments.filter_map(|(name, value)| {
            let schema = parameters.member(name)?;
            let target = ValueParameter { tool: tool.name, parameter: name };
            Some((name.clone(), self.origin(target, &schema, value, &mut choices)))
        });
        origins.collect()
    }

    fn origin(
        &self,
        target: ValueParameter<'_>,
        schema: &ValueSchema<'_>,
        value: &Value,
        choices: &mut Choices,
    ) -> ArgumentValueOrigin {
        if let Some(source) = self.whole_value(target, schema, value, choices) {
            return ArgumentValueOrigin::Known(source);
        }
        let before = choices.len();
        let mut outputs = Vec::new();
        match self.composed(target, schema, value, &mut outputs, choices) {
            Some(template) if !outputs.is_empty() => {
                ArgumentValueOrigin::Known(Source::Composed { value: template, outputs })
            }
            _ => {
                choices.truncate(before);
                ArgumentValueOrigin::Input(Some(value.clone()))
            }
        }
    }

    /// Returns the origin of a whole value: an answer or the schema.
    fn whole_value(
        &self,
        target: ValueParameter<'_>,
        schema: &ValueSchema<'_>,
        value: &Value,
        choices: &mut Choices,
    ) -> Option<Source> {
        if schema.has_fixed_value(value) {
            return Some(constant(value));
        }
        if let Some(location) = self.location(target, value, schema.has_enum_value(value), choices) {
            choices.extend(location.index.map(|index| (location.step, index)));
            return Some(Source::Output(reference(location)));
        }
        (schema.has_enum_value(value) && !self.user_messages.contains(value)).then(|| constant(value))
    }

    /// Returns a template for a list or an object whose parts are all known, with `{1}` for the first output.
    fn composed(
        &self,
        target: ValueParameter<'_>,
        schema: &ValueSchema<'_>,
        value: &Value,
        outputs: &mut Vec<Reference>,
        choices: &mut Choices,
    ) -> Option<Value> {
        match value {
            Value::Array(items) if !items.is_empty() => {
                let inner = schema.items()?;
                items.iter().map(|item| self.part(target, &inner, item, outputs, choices)).collect()
            }
            Value::Object(members) if !members.is_empty() => {
                let mut template = Map::new();
                for (name, member) in members {
                    let inner = schema.member(name)?;
                    let target = ValueParameter { parameter: name, ..target };
                    template.insert(name.clone(), self.part(target, &inner, member, outputs, choices)?);
                }
                Some(Value::Object(template))
            }
            _ => None,
        }
    }

    fn part(
        &self,
        target: ValueParameter<'_>,
        schema: &ValueSchema<'_>,
        value: &Value,
        outputs: &mut Vec<Reference>,
        choices: &mut Choices,
    ) -> Option<Value> {
        match self.whole_value(target, schema, value, choices) {
            Some(Source::Output(reference)) if outputs.len() < MAX_PARTS => {
                outputs.push(reference);
                Some(format!("{{{}}}", outputs.len()).into())
            }
            // A constant with a brace would be mistaken for a placeholder.
            Some(Source::Value { value, .. }) => (!value.to_string().contains('{')).then_some(value),
            Some(_) => None,
            None => self.composed(target, schema, value, outputs, choices),
        }
    }

    /// Returns the location that a value came from. OpenAPI links have precedence over similar names. A common value
    /// requires matching names, and a value in the user's messages is attributed to the user.
    fn location(
        &self,
        target: ValueParameter<'_>,
        value: &Value,
        is_listed: bool,
        choices: &Choices,
    ) -> Option<&AnswerLocation> {
        let is_common = is_listed || is_trivial(value);
        let is_in_messages = self.user_messages.contains(value);
        let mut best: Option<((bool, f32, bool), &AnswerLocation)> = None;
        for location in self.answers.locations(value).iter().filter(|location| self.vocabulary.allows(&location.output))
        {
            let Some((producer, call)) = self.calls.get(location.step) else { continue };
            let is_other_item = location
                .index
                .is_some_and(|index| choices.iter().any(|(step, chosen)| *step == location.step && *chosen != index));
            if is_other_item || is_echo(call.arguments, value, location) {
                continue;
            }
            let is_linked = producer.links.iter().any(|link| {
                link.tool == target.tool
                    && link.argument == target.parameter
                    && link.pointer == location.output.as_str()
            });
            let NameSimilarity { agrees, score } = name_similarity(target, producer.name, &location.output);
            if !is_linked && (is_common && !agrees || !is_common && is_in_messages) {
                continue;
            }
            let rank = (is_linked, score, location.index.is_none());
            if best.as_ref().is_none_or(|(best, _)| rank > *best) {
                best = Some((rank, location));
            }
        }
        best.map(|(_, location)| location)
    }
}

/// Returns a value that is part of the tool's schema.
pub(super) fn constant(value: &Value) -> Source {
    Source::Value { value: value.clone(), words: String::new() }
}

/// Whether the answer only repeats an argument of the call.
fn is_echo(arguments: &Value, value: &Value, location: &AnswerLocation) -> bool {
    let field = location.output.tokens().pop().unwrap_or_default();
    let is_trivial = is_trivial(value);
    let Some(value_key) = key(value) else { return false };
    let mut pending: Vec<(&str, &Value)> = vec![("", arguments)];
    while let Some((name, argument)) = pending.pop() {
        match argument {
            Value::Object(members) => pending.extend(members.iter().map(|(name, member)| (name.as_str(), member))),
            Value::Array(items) => pending.extend(items.iter().map(|item| (name, item))),
            _ => {}
        }
        if key(argument).as_deref() == Some(value_key.as_str()) && (!is_trivial || is_same_name(name, &field)) {
            return true;
        }
    }
    false
}

fn reference(location: &AnswerLocation) -> Reference {
    let item = if location.index.is_some() { Item::Chosen } else { location.item };
    Reference { node: label(location.step), output: location.output.clone(), item }
}
