//! Traces argument values to their origins.

use serde_json::{Map, Value};

use super::answers::{AnswerIndex, AnswerLocation, key};
use super::calls::{KnownTool, MadeCall, Workflow};
use super::names::{NameSimilarity, ValueParameter, fit, is_same_name};
use super::said::{UserMessages, is_trivial};
use super::schema::{ExpandedSchema, Parameters};
use super::vocabulary::MemberVocabulary;
use callwright_types::plan::{Item, Reference, Source};

/// Maximum number of outputs that one value is composed of.
const MAX_PARTS: usize = 16;

/// Abstracted call.
#[derive(Debug, Clone)]
pub(super) struct AbstractedCall<'a> {
    pub(super) tool: KnownTool<'a>,
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
    let mut tracing = OriginTracer {
        answers: AnswerIndex::default(),
        vocabulary: MemberVocabulary::of(workflow.tools),
        said: UserMessages::of(workflow.said),
        made: Vec::new(),
    };
    let mut steps: Vec<AbstractedCall<'a>> = Vec::new();
    for call in workflow.calls.iter().filter(|call| call.worked) {
        let Some(tool) = workflow.tools.iter().find(|tool| tool.name == call.tool) else { continue };
        let mut made = tracing.made.iter().map(|(_, made)| made);
        // A repeated call counts once; its later answer may contain more.
        if let Some(known) = made.position(|made| made.tool == call.tool && made.arguments == call.arguments) {
            tracing.answers.add(known, call.answer);
            continue;
        }
        steps.push(AbstractedCall { tool: *tool, arguments: tracing.arguments(tool, call.arguments) });
        tracing.answers.add(tracing.made.len(), call.answer);
        tracing.made.push((*tool, *call));
    }
    let finals = finals(&steps);
    (!finals.is_empty()).then_some((steps, finals))
}

/// Returns the positions of the last call and of state-changing calls that no kept call depends on.
fn finals(steps: &[AbstractedCall<'_>]) -> Vec<usize> {
    let (mut finals, mut needed) = (Vec::new(), vec![false; steps.len()]);
    for (at, step) in steps.iter().enumerate().rev() {
        let is_needed = needed.get(at).copied().unwrap_or_default();
        let is_final = at + 1 == steps.len() || step.tool.changes && !is_needed;
        if is_final {
            finals.push(at);
        }
        if is_final || is_needed {
            for feeder in step.feeders() {
                needed.get_mut(feeder).into_iter().for_each(|needed| *needed = true);
            }
        }
    }
    finals.reverse();
    finals
}

impl AbstractedCall<'_> {
    /// Returns the positions of the calls whose answers it uses.
    pub(super) fn feeders(&self) -> impl Iterator<Item = usize> {
        let known = self.arguments.iter().filter_map(|(_, origin)| match origin {
            ArgumentValueOrigin::Known(source) => Some(source),
            ArgumentValueOrigin::Input(_) => None,
        });
        known.flat_map(Source::references).filter_map(|reference| reference.node.strip_prefix('s')?.parse().ok())
    }
}

/// State of the tracing.
struct OriginTracer<'a> {
    answers: AnswerIndex,
    vocabulary: MemberVocabulary,
    said: UserMessages,
    made: Vec<(KnownTool<'a>, MadeCall<'a>)>,
}

/// Call and list index of the chosen items. All values that a call takes from one list have to be of the same item.
type Choices = Vec<(usize, usize)>;

impl OriginTracer<'_> {
    fn arguments(&self, tool: &KnownTool<'_>, arguments: &Value) -> Vec<(String, ArgumentValueOrigin)> {
        let parameters = Parameters::of(tool.parameters);
        let mut choices = Choices::new();
        // The name of an undocumented argument may itself be user data.
        let known = arguments.as_object().into_iter().flatten();
        let known = known.filter(|(_, value)| !value.is_null());
        let origins = known.filter_map(|(name, value)| {
            let parameter = parameters.get(name)?;
            let taker = ValueParameter { tool: tool.name, parameter: parameter.name };
            Some((parameter.name.to_owned(), self.origin(taker, parameter.schema(), value, &mut choices)))
        });
        origins.collect()
    }

    fn origin(
        &self,
        taker: ValueParameter<'_>,
        schema: &ExpandedSchema<'_>,
        value: &Value,
        choices: &mut Choices,
    ) -> ArgumentValueOrigin {
        if let Some(source) = self.plain(taker, schema, value, choices) {
            return ArgumentValueOrigin::Known(source);
        }
        let before = choices.len();
        let mut outputs = Vec::new();
        match self.composed(taker, schema, value, &mut outputs, choices) {
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
    fn plain(
        &self,
        taker: ValueParameter<'_>,
        schema: &ExpandedSchema<'_>,
        value: &Value,
        choices: &mut Choices,
    ) -> Option<Source> {
        if schema.fixes(value) {
            return Some(constant(value));
        }
        if let Some(place) = self.place(taker, value, schema.lists(value), choices) {
            choices.extend(place.index.map(|index| (place.step, index)));
            return Some(Source::Output(reference(place)));
        }
        (schema.lists(value) && !self.said.has(value)).then(|| constant(value))
    }

    /// Returns a template for a list or an object whose parts are all known, with `{1}` for the first output.
    fn composed(
        &self,
        taker: ValueParameter<'_>,
        schema: &ExpandedSchema<'_>,
        value: &Value,
        outputs: &mut Vec<Reference>,
        choices: &mut Choices,
    ) -> Option<Value> {
        match value {
            Value::Array(items) if !items.is_empty() => {
                let inner = schema.items()?;
                items.iter().map(|item| self.part(taker, &inner, item, outputs, choices)).collect()
            }
            Value::Object(members) if !members.is_empty() => {
                let mut template = Map::new();
                for (name, member) in members {
                    let inner = schema.member(name)?;
                    let taker = ValueParameter { parameter: name, ..taker };
                    template.insert(name.clone(), self.part(taker, &inner, member, outputs, choices)?);
                }
                Some(Value::Object(template))
            }
            _ => None,
        }
    }

    fn part(
        &self,
        taker: ValueParameter<'_>,
        schema: &ExpandedSchema<'_>,
        value: &Value,
        outputs: &mut Vec<Reference>,
        choices: &mut Choices,
    ) -> Option<Value> {
        match self.plain(taker, schema, value, choices) {
            Some(Source::Output(reference)) if outputs.len() < MAX_PARTS => {
                outputs.push(reference);
                Some(format!("{{{}}}", outputs.len()).into())
            }
            // A constant with a brace would be mistaken for a placeholder.
            Some(Source::Value { value, .. }) => (!value.to_string().contains('{')).then_some(value),
            Some(_) => None,
            None => self.composed(taker, schema, value, outputs, choices),
        }
    }

    /// Returns the location that a value came from. OpenAPI links have precedence over similar names. A common value
    /// requires matching names, and a value in the user's messages is attributed to the user.
    fn place(
        &self,
        taker: ValueParameter<'_>,
        value: &Value,
        listed: bool,
        choices: &Choices,
    ) -> Option<&AnswerLocation> {
        let is_common = listed || is_trivial(value);
        let is_said = self.said.has(value);
        let mut best: Option<((bool, f32, bool), &AnswerLocation)> = None;
        for place in self.answers.places(value).iter().filter(|place| self.vocabulary.has(&place.output)) {
            let Some((producer, made)) = self.made.get(place.step) else { continue };
            let is_other_item = place
                .index
                .is_some_and(|index| choices.iter().any(|(step, chosen)| *step == place.step && *chosen != index));
            if is_other_item || is_echo(made.arguments, value, place) {
                continue;
            }
            let is_linked = producer.links.iter().any(|link| {
                link.tool == taker.tool && link.argument == taker.parameter && link.pointer == place.output.as_str()
            });
            let NameSimilarity { agrees, score } = fit(taker, producer.name, &place.output);
            if !is_linked && (is_common && !agrees || !is_common && is_said) {
                continue;
            }
            let rank = (is_linked, score, place.index.is_none());
            if best.as_ref().is_none_or(|(known, _)| rank > *known) {
                best = Some((rank, place));
            }
        }
        best.map(|(_, place)| place)
    }
}

/// Returns a value that is part of the tool's schema.
pub(super) fn constant(value: &Value) -> Source {
    Source::Value { value: value.clone(), words: String::new() }
}

/// Whether the answer only repeats an argument of the call.
fn is_echo(arguments: &Value, value: &Value, place: &AnswerLocation) -> bool {
    let field = place.output.tokens().pop().unwrap_or_default();
    let is_trivial = is_trivial(value);
    let Some(wanted) = key(value) else { return false };
    let mut open: Vec<(&str, &Value)> = vec![("", arguments)];
    while let Some((name, argument)) = open.pop() {
        match argument {
            Value::Object(members) => open.extend(members.iter().map(|(name, member)| (name.as_str(), member))),
            Value::Array(items) => open.extend(items.iter().map(|item| (name, item))),
            _ => {}
        }
        if key(argument).as_deref() == Some(wanted.as_str()) && (!is_trivial || is_same_name(name, &field)) {
            return true;
        }
    }
    false
}

fn reference(place: &AnswerLocation) -> Reference {
    let item = if place.index.is_some() { Item::Chosen } else { place.item };
    Reference { node: label(place.step), output: place.output.clone(), item }
}
