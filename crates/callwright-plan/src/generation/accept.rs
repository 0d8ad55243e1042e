//! Validates a model's answers and converts the usable part.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::answer::{ArgumentAnswer, ArgumentOrigin, CompletionAnswer, NewCall, SelectedGoal, Selection, TakenOutput};
use super::converse::CheckedAnswer;
use super::draft::{DraftNode, PlanDraft};
use super::fitting::ToolParameters;
use super::grounding::GroundingTexts;
use super::prompt_data::{kind_of, location, may_have, type_name};
use crate::keys::{ConversationKeys, KeyArgument};
use crate::tools::PlanTool;
use callwright_common::limits::WORD_CHARS;
use callwright_common::text::{excerpt, letters};
use callwright_prompt::parse;
use callwright_types::plan::{Argument, Reference, Source};

/// Parses and validates the goals of a selection. `tools` are the allowed names; a plan has room for `at_most` calls.
pub(super) fn parse_selection(text: &str, tools: &HashSet<&str>, at_most: usize) -> CheckedAnswer<Vec<SelectedGoal>> {
    match parse::<Selection>(text) {
        Ok(Selection { goals }) => validate_goals(goals, tools, at_most),
        Err(fault) => CheckedAnswer::unusable(fault),
    }
}

/// Validates parsed goals like [`parse_selection`].
pub(super) fn validate_goals(
    goals: Vec<SelectedGoal>,
    tools: &HashSet<&str>,
    at_most: usize,
) -> CheckedAnswer<Vec<SelectedGoal>> {
    let (mut taken, mut faults) = (Vec::<SelectedGoal>::new(), Vec::new());
    let is_empty = goals.is_empty();
    for goal in goals {
        if !tools.contains(goal.tool.as_str()) {
            faults.push(format!("`{}` is none of the tools", quoted(&goal.tool)));
        } else if !taken.iter().any(|other| is_same(&other.tool, &other.task, &goal.tool, &goal.task)) {
            taken.push(goal);
        }
    }
    if taken.len() > at_most {
        faults.push(format!("there are {} goals, and a plan has at most {at_most}", taken.len()));
        taken.truncate(at_most);
    }
    CheckedAnswer { taken: (is_empty || !taken.is_empty()).then_some(taken), faults }
}

/// Argument whose source is requested.
#[derive(Debug, Clone)]
pub(super) struct RequestedArgument {
    pub(super) name: String,
    pub(super) required: bool,
    /// Positions of the tools that may supply it.
    pub(super) suppliers: Vec<usize>,
    /// Key that it is, if a tool can supply it.
    pub(super) key: Option<KeyArgument>,
}

/// Context against which an answer about a call's arguments is validated.
pub(super) struct AnswerContext<'a> {
    pub(super) draft: &'a PlanDraft,
    /// Position of the call in the draft.
    pub(super) at: usize,
    pub(super) tool: &'a PlanTool,
    pub(super) arguments: &'a [RequestedArgument],
    /// Tools that may supply arguments, by name.
    pub(super) suppliers: &'a HashMap<String, (usize, PlanTool)>,
    /// Number of further calls that fit into the plan.
    pub(super) room: usize,
    pub(super) grounding: &'a GroundingTexts,
    /// Possible keys in the conversation and the memory.
    pub(super) given_keys: &'a ConversationKeys,
}

/// Arguments and new calls of a valid answer.
#[derive(Debug, Clone, Default)]
pub(super) struct AcceptedArguments {
    pub(super) arguments: Vec<Argument>,
    /// Calls that have to be made first: position of the tool, task, and names of the arguments it supplies. Their
    /// labels follow those of the draft.
    pub(super) calls: Vec<(usize, String, Vec<String>)>,
    /// Key argument that the answer fills with words. A plan with such an argument must not be followed.
    pub(super) guessed_key: Option<String>,
}

/// State of the conversion of one answer.
pub(super) struct AnswerConversion<'c> {
    /// New calls that the answer declares.
    declared: &'c [NewCall],
    /// Declared calls that are used so far.
    pub(super) used: Vec<&'c NewCall>,
    /// Objections to an argument that do not reject it. The model receives them once and may repeat its answer.
    doubts: Vec<String>,
    /// First key argument that the answer fills with words.
    pub(super) guessed_key: Option<String>,
}

impl AnswerContext<'_> {
    /// Validates an answer. A faulty argument becomes missing, or is omitted if it is optional.
    pub(super) fn validate(&self, text: &str) -> CheckedAnswer<AcceptedArguments> {
        let CompletionAnswer { calls, arguments } = match parse(text) {
            Ok(completion) => completion,
            Err(fault) => return CheckedAnswer::unusable(fault),
        };
        let mut faults = Vec::new();
        let mut conversion =
            AnswerConversion { declared: &calls, used: Vec::new(), doubts: Vec::new(), guessed_key: None };
        let mut answers: HashMap<&str, &ArgumentAnswer> = HashMap::new();
        for given in &arguments {
            let Some(requested) = self.requested_argument(&given.name) else {
                let tool = quoted(self.tool.tool.name());
                faults.push(format!("`{tool}` has no argument `{}`", quoted(&given.name)));
                continue;
            };
            if answers.insert(&requested.name, given).is_some() {
                faults.push(format!("the argument `{}` occurs twice", quoted(&given.name)));
            }
        }
        let mut completed = AcceptedArguments::default();
        for requested in self.arguments {
            let before = conversion.used.len();
            let source = match answers.get(requested.name.as_str()) {
                Some(given) => self.source(requested, given, &mut conversion).map(Some),
                None if requested.required => match self.fitting().default_of(&requested.name) {
                    Some(value) => Ok(Some(Source::Value { value, words: String::new() })),
                    None => Err("it is required and missing; give its source".to_owned()),
                },
                None => Ok(None),
            };
            let source = source.unwrap_or_else(|fault| {
                conversion.used.truncate(before);
                conversion.doubts.clear();
                faults.push(format!("the argument `{}`: {fault}", quoted(&requested.name)));
                requested.required.then(|| missing(self.tool, &requested.name))
            });
            let doubts = conversion.doubts.drain(..);
            faults.extend(doubts.map(|doubt| format!("the argument `{}`: {doubt}", quoted(&requested.name))));
            completed.arguments.extend(source.map(|source| Argument { name: requested.name.clone(), source }));
        }
        for (number, call) in conversion.used.iter().enumerate() {
            let label = self.draft.label(self.draft.len() + number);
            let supplies = completed
                .arguments
                .iter()
                .filter(|argument| argument.source.references().iter().any(|reference| reference.node == label));
            let supplies = supplies.map(|argument| argument.name.clone()).collect();
            let position = self.suppliers.get(&call.tool).map(|(position, _)| *position);
            completed.calls.extend(position.map(|position| (position, call.task.clone(), supplies)));
        }
        completed.guessed_key = conversion.guessed_key;
        CheckedAnswer { taken: Some(completed), faults }
    }

    /// Returns the argument of this name, or else the only one whose name has the same letters in another notation
    /// (`sortBy`, `sort_by`).
    fn requested_argument(&self, name: &str) -> Option<&RequestedArgument> {
        let exact = self.arguments.iter().find(|requested| requested.name == name);
        let mut alike = self.arguments.iter().filter(|requested| letters(&requested.name) == letters(name));
        exact.or_else(|| alike.next().filter(|_| alike.next().is_none()))
    }

    /// Returns a completion in which the user supplies every required argument.
    pub(super) fn all_missing(&self) -> AcceptedArguments {
        let required = self.arguments.iter().filter(|requested| requested.required);
        let missing = required
            .map(|requested| Argument { name: requested.name.clone(), source: missing(self.tool, &requested.name) });
        AcceptedArguments { arguments: missing.collect(), ..AcceptedArguments::default() }
    }

    fn source<'c>(
        &self,
        requested: &RequestedArgument,
        given: &ArgumentAnswer,
        conversion: &mut AnswerConversion<'c>,
    ) -> Result<Source, String> {
        match given.source {
            ArgumentOrigin::User => Ok(question_source(self.tool, &requested.name, given.question.as_deref())),
            ArgumentOrigin::Value => {
                let source =
                    grounded_value(self.tool, &requested.name, (&given.value, given.words.as_deref()), self.grounding)?;
                self.check_key(requested, &source, conversion)?;
                Ok(source)
            }
            ArgumentOrigin::Tool => {
                let outputs = given.outputs.as_deref().unwrap_or_default();
                let references: Result<Vec<_>, _> =
                    outputs.iter().map(|taken| self.reference(requested, taken, conversion)).collect();
                let source = self.source_of(requested, &given.value, references?)?;
                self.check_key(requested, &source, conversion)?;
                conversion.doubts.extend(self.misfit(requested, &source, conversion));
                Ok(source)
            }
        }
    }

    /// Returns why the type of an output can never fit the argument. This is a doubt, not an error, because documented
    /// outputs may be wrong.
    fn misfit(
        &self,
        requested: &RequestedArgument,
        source: &Source,
        conversion: &AnswerConversion<'_>,
    ) -> Option<String> {
        let Source::Output(reference) = source else { return None };
        let supplier = self.supplier(reference, conversion)?;
        let kind = kind_of(&supplier.outputs, reference)?;
        let output = quoted(reference.output.as_str());
        let misfit = format!("the output `{output}` is {}, which the argument can never be", type_name(kind));
        (!self.fitting().can_be(&requested.name, kind)).then_some(misfit)
    }

    fn fitting(&self) -> ToolParameters<'_> {
        ToolParameters { tool: &self.tool.tool }
    }

    fn reference<'c>(
        &self,
        requested: &RequestedArgument,
        taken: &TakenOutput,
        conversion: &mut AnswerConversion<'c>,
    ) -> Result<Reference, String> {
        if requested.suppliers.is_empty() {
            return Err("no tool can supply it; give a `value` of the conversation, or `ask`".to_owned());
        }
        let call = conversion.declared.iter().find(|call| call.call == taken.call);
        let (node, supplier) = match self.planned(&taken.call, call) {
            Some((at, node)) => {
                self.check_acyclic(at)?;
                self.check_supplier(requested, node.tool.tool.name(), node.position)?;
                (self.draft.label(at), node.tool.clone())
            }
            None => {
                let call = call.ok_or_else(|| {
                    format!("the call `{}` is neither in `calls` nor in `planned`", quoted(&taken.call))
                })?;
                let (node, tool) = self.new_call(requested, call, &mut conversion.used)?;
                (node, tool.clone())
            }
        };
        let fault = format!("`{}` has no output `{}`", quoted(supplier.tool.name()), quoted(&taken.output));
        let Some((output, item)) = location(taken) else { return Err(fault) };
        // Documented outputs are often incomplete, so a model that insists keeps its reference. If the answer lacks the
        // output, the arguments of the call are requested again.
        if !may_have(&supplier.outputs, output.as_str()) {
            conversion.doubts.push(format!("{fault} in its description; use one of its `outputs` if possible"));
        }
        Ok(Reference { node, output, item })
    }

    /// Returns the existing call of the plan with this label. A declared call of the same label takes precedence unless
    /// it is identical.
    fn planned(&self, label: &str, declared: Option<&NewCall>) -> Option<(usize, &DraftNode)> {
        let at = self.draft.at(label).filter(|at| self.draft.needed().contains(at))?;
        let node = self.draft.get(at)?;
        let is_meant = declared.is_none_or(|new| is_same(node.tool.tool.name(), &node.task, &new.tool, &new.task));
        is_meant.then_some((at, node))
    }

    fn new_call<'c>(
        &self,
        requested: &RequestedArgument,
        call: &'c NewCall,
        used: &mut Vec<&'c NewCall>,
    ) -> Result<(String, &PlanTool), String> {
        let supplier = self.suppliers.get(&call.tool);
        let (position, tool) =
            supplier.ok_or_else(|| format!("`{}` is none of the tools that may supply it", quoted(&call.tool)))?;
        self.check_supplier(requested, &call.tool, *position)?;
        if let Some(number) = used.iter().position(|other| other.call == call.call) {
            return Ok((self.draft.label(self.draft.len() + number), tool));
        }
        self.check_new_task(call)?;
        if used.len() >= self.room {
            return Err(format!("the plan has no room for more than {} further calls", self.room));
        }
        used.push(call);
        Ok((self.draft.label(self.draft.len() + used.len() - 1), tool))
    }

    fn check_supplier(&self, requested: &RequestedArgument, name: &str, position: usize) -> Result<(), String> {
        if requested.suppliers.contains(&position) {
            return Ok(());
        }
        Err(format!("`{}` is none of the tools that may supply it", quoted(name)))
    }

    /// Rejects a source that depends on this call.
    fn check_acyclic(&self, from: usize) -> Result<(), String> {
        let Some(mut path) = self.draft.data_path(self.at, from) else { return Ok(()) };
        path.push(self.tool.tool.name().to_owned());
        Err(format!("calls would depend on one another in a cycle: {}", path.join(" -> ")))
    }

    /// Rejects the same task of the same tool on the path to a goal, which would recurse without end.
    fn check_new_task(&self, call: &NewCall) -> Result<(), String> {
        let above = self.draft.above(self.at);
        let on_path = std::iter::once(self.at).chain(above.iter().map(|(at, _)| *at));
        let mut names = vec![call.tool.clone()];
        for at in on_path {
            let Some(node) = self.draft.get(at) else { continue };
            names.push(node.tool.tool.name().to_owned());
            if is_same(node.tool.tool.name(), &node.task, &call.tool, &call.task) {
                let circle = names.join(" -> ");
                return Err(format!(
                    "calls would depend on one another in a cycle: {circle}; it is the same task again"
                ));
            }
        }
        Ok(())
    }

    fn source_of(
        &self,
        requested: &RequestedArgument,
        template: &Value,
        outputs: Vec<Reference>,
    ) -> Result<Source, String> {
        let is_plain = template.is_null() || template.as_str() == Some("{1}");
        match <[Reference; 1]>::try_from(outputs) {
            Ok([only]) if is_plain => Ok(Source::Output(only)),
            Ok(only) => self.composed(requested, template, only.into()),
            Err(outputs) if outputs.is_empty() => Err("its source is `tool`, and `outputs` is empty".to_owned()),
            Err(outputs) => self.composed(requested, template, outputs),
        }
    }

    fn composed(
        &self,
        requested: &RequestedArgument,
        template: &Value,
        outputs: Vec<Reference>,
    ) -> Result<Source, String> {
        let mut value = template.clone();
        // The model may encode a list or an object as a string when the response format only allows strings.
        if let Some(text) = template.as_str().filter(|_| self.fitting().check(&requested.name, template).is_err()) {
            let parsed = serde_json::from_str::<Value>(text).ok().filter(|value| value.is_array() || value.is_object());
            value = parsed.unwrap_or(value);
        }
        let written = value.to_string();
        let unused = (1..=outputs.len()).find(|number| !written.contains(&format!("{{{number}}}")));
        if let Some(number) = unused {
            return Err(format!("`value` has no {{{number}}} in the place of that output"));
        }
        self.grounding.check_digits(&value)?;
        Ok(Source::Composed { value, outputs })
    }
}

/// Converts a literal value to the type of the tool's schema and checks that it is grounded in the conversation.
///
/// # Errors
/// Why the value is rejected, as feedback for the model.
pub(super) fn grounded_value(
    tool: &PlanTool,
    name: &str,
    (value, words): (&Value, Option<&str>),
    grounding: &GroundingTexts,
) -> Result<Source, String> {
    if value.is_null() {
        return Err("its source is `value`, and there is none".to_owned());
    }
    let fitting = ToolParameters { tool: &tool.tool };
    let value = fitting.converted(name, value)?;
    if fitting.default_of(name).as_ref() == Some(&value) {
        return Ok(Source::Value { value, words: String::new() });
    }
    let words = grounding.words_for(&value, words.unwrap_or_default());
    let words = words.map_err(|fault| {
        let quoted_value = excerpt(&value.to_string(), WORD_CHARS);
        format!("the value {quoted_value} is not grounded: {fault}; give words of the conversation, a tool that returns it, or `ask`")
    })?;
    Ok(Source::Value { value, words })
}

/// Returns the model's question to the user, or one about the argument.
pub(super) fn question_source(tool: &PlanTool, name: &str, question: Option<&str>) -> Source {
    let question = question.map(str::trim).filter(|question| !question.is_empty());
    question.map_or_else(|| missing(tool, name), |question| Source::Missing { question: question.to_owned() })
}

/// Returns a missing source with a default question to the user, for models that provide none.
pub(super) fn missing(tool: &PlanTool, name: &str) -> Source {
    let about = tool.tool.parameter(name).and_then(|parameter| tool.schemas(parameter.schema).text("description"));
    let about = about.map(|about| excerpt(about, WORD_CHARS)).unwrap_or_default();
    let tool = tool.tool.name();
    let question = match about.is_empty() {
        true => format!("What is the value of `{name}` for {tool}?"),
        false => format!("What is the value of `{name}` for {tool}? ({about})"),
    };
    Source::Missing { question }
}

/// Whether both are the same task of the same tool, ignoring case and whitespace.
pub(super) fn is_same(tool: &str, task: &str, other: &str, other_task: &str) -> bool {
    let (words, other_words) = (task.split_whitespace(), other_task.split_whitespace());
    tool == other && words.map(str::to_lowercase).eq(other_words.map(str::to_lowercase))
}

pub(super) fn quoted(text: &str) -> String {
    excerpt(text, WORD_CHARS)
}

impl AnswerContext<'_> {
    /// Rejects a source of a key that yields words instead of the key: a literal that is no key of the conversation, an
    /// output that is no key, or a text with spaces around an output.
    pub(super) fn check_key(
        &self,
        requested: &RequestedArgument,
        source: &Source,
        conversion: &mut AnswerConversion<'_>,
    ) -> Result<(), String> {
        let Some(key) = &requested.key else { return Ok(()) };
        let fault = match source {
            Source::Value { value, .. } if key.may_be(value, self.given_keys) => None,
            Source::Value { value, .. } => {
                Some(no_key(key, requested, &excerpt(&value.to_string(), WORD_CHARS), self.suppliers))
            }
            Source::Output(reference) => {
                let supplier = self.supplier(reference, conversion);
                let better = supplier.and_then(|supplier| key.better_output(supplier, reference.output.as_str()));
                let output = quoted(reference.output.as_str());
                better.map(|better| format!("the output `{output}` is no key; use the output `{}`", quoted(better)))
            }
            Source::Composed { value: Value::String(template), .. } if template.contains(char::is_whitespace) => {
                Some(no_key(key, requested, &excerpt(template, WORD_CHARS), self.suppliers))
            }
            Source::Composed { .. } | Source::Missing { .. } => None,
        };
        let Some(fault) = fault else { return Ok(()) };
        conversion.guessed_key.get_or_insert_with(|| requested.name.clone());
        Err(fault)
    }

    /// Returns the tool of a referenced call: one of the plan, or a new one.
    pub(super) fn supplier(&self, reference: &Reference, conversion: &AnswerConversion<'_>) -> Option<&PlanTool> {
        let planned = self.draft.at(&reference.node).and_then(|at| self.draft.get(at)).map(|node| &node.tool);
        planned.or_else(|| {
            let new =
                (0..conversion.used.len()).find(|number| self.draft.label(self.draft.len() + number) == reference.node);
            self.suppliers.get(&conversion.used.get(new?)?.tool).map(|(_, tool)| tool)
        })
    }
}

/// Returns the fault of a value that cannot be the key, with the tools that supply the key.
fn no_key(
    key: &KeyArgument,
    requested: &RequestedArgument,
    value: &str,
    suppliers: &HashMap<String, (usize, PlanTool)>,
) -> String {
    let mut names: Vec<&str> = match key.producer() {
        Some(producer) => vec![producer],
        None => suppliers
            .iter()
            .filter(|(_, (position, _))| requested.suppliers.contains(position))
            .map(|(name, _)| name.as_str())
            .collect(),
    };
    names.sort_unstable();
    let names: Vec<String> = names.into_iter().map(|name| format!("`{}`", quoted(name))).collect();
    let from = names.join(" or ");
    format!("it is a key, and {value} is no key of the conversation; its source is an output of {from}, or `ask`")
}
