//! Converts calls with traced origins to a procedure draft.

use super::answers::key;
use super::input::ProcedureTool;
use super::origins::{AbstractedCall, ArgumentValueOrigin, label};
use super::schema::ValueSchema;
use super::vocabulary::is_trivial;
use super::wording::{output_words, step_words};
use crate::procedures::Settings;
use callwright_common::text::{beginning, first_sentence};
use callwright_types::memory::{Backing, ClientTool, ProcedureInput};
use callwright_types::plan::{Argument, Node, Source};
use callwright_types::{Plan, ProcedureDraft};

/// Values that share one input. The first use defines its name and description.
struct DraftInput {
    tool: String,
    parameter: String,
    description: String,
    /// Comparison key of the value; `None` if the value is unknown or not comparable.
    key: Option<String>,
    /// Positions of the calls that take it. Two arguments of one call are two inputs.
    steps: Vec<usize>,
    name: String,
}

/// Builds the procedure of the calls that lead to `finals`; `None` if it has too few or too many calls, or too many
/// inputs.
pub(super) fn draft(
    steps: Vec<AbstractedCall<'_>>,
    finals: &[usize],
    backing: Backing,
    settings: &Settings,
) -> Option<ProcedureDraft> {
    let kept = kept(&steps, finals);
    // A single call needs no procedure.
    if kept.len() < 2 || kept.len() > settings.max_steps {
        return None;
    }
    let tools: Vec<&ProcedureTool<'_>> = kept.iter().filter_map(|at| Some(&steps.get(*at)?.tool)).collect();
    if tools.iter().any(|tool| tool.toolset.is_none() && tool.client.is_none()) {
        return None;
    }
    let mut client_tools: Vec<ClientTool> = tools.iter().filter_map(|tool| tool.client.cloned()).collect();
    client_tools.sort_unstable();
    client_tools.dedup();
    let mut toolsets: Vec<String> = tools.iter().filter_map(|tool| tool.toolset).map(str::to_owned).collect();
    toolsets.sort_unstable();
    toolsets.dedup();
    let mut inputs: Vec<DraftInput> = Vec::new();
    let mut sources_by_step: Vec<Vec<(String, Result<Source, usize>)>> = Vec::new();
    for at in &kept {
        let step = steps.get(*at)?;
        let mut arguments = Vec::with_capacity(step.arguments.len());
        for (name, origin) in &step.arguments {
            let source = match origin {
                ArgumentValueOrigin::Known(source) => Ok(source.clone()),
                ArgumentValueOrigin::Input(value) => Err(input(&mut inputs, step, *at, name, value.as_ref(), settings)),
            };
            arguments.push((name.clone(), source));
        }
        sources_by_step.push(arguments);
    }
    if inputs.len() > settings.max_inputs {
        return None;
    }
    name_inputs(&mut inputs);
    let mut nodes = Vec::new();
    for ((at, arguments), position) in kept.iter().zip(sources_by_step).zip(1..) {
        let step = steps.get(*at)?;
        let arguments = arguments.into_iter().map(|(name, source)| {
            let source = match source {
                Ok(source) => source.relabelled(|old| final_label(old, &kept)),
                Err(input) => {
                    Source::Missing { question: inputs.get(input).map(|input| input.name.clone()).unwrap_or_default() }
                }
            };
            Argument { name, source }
        });
        let task = beginning(first_sentence(step.tool.description), settings.description_chars).to_owned();
        let tool = step.tool.name.to_owned();
        nodes.push(Node { label: numbered(position), tool, task, arguments: arguments.collect() });
    }
    let words = nodes.iter().map(step_words).collect();
    let ends = finals.iter().map(|at| final_label(&label(*at), &kept)).collect();
    let output = output_words(finals.iter().filter_map(|at| Some(&steps.get(*at)?.tool)), settings);
    let client_tools = Some(client_tools);
    let input = inputs.into_iter().map(|input| ProcedureInput { name: input.name, description: input.description });
    let plan = Plan::new(nodes, ends).ok()?;
    Some(ProcedureDraft { toolsets, client_tools, input: input.collect(), output, steps: words, plan, backing })
}

fn numbered(position: usize) -> String {
    format!("step{position}")
}

/// Returns the final label of a call from its temporary [`label`].
fn final_label(temporary: &str, kept: &[usize]) -> String {
    numbered(kept.iter().position(|at| label(*at) == temporary).map_or(0, |position| position + 1))
}

/// Returns the positions of `finals` and of all their dependencies, in order.
fn kept(steps: &[AbstractedCall<'_>], finals: &[usize]) -> Vec<usize> {
    let mut pending = finals.to_vec();
    let mut kept: Vec<usize> = Vec::new();
    while let Some(at) = pending.pop() {
        if !kept.contains(&at)
            && let Some(step) = steps.get(at)
        {
            kept.push(at);
            pending.extend(step.dependencies());
        }
    }
    kept.sort_unstable();
    kept
}

/// Returns the input that an argument takes: an existing one with the same value, or a new one.
fn input(
    inputs: &mut Vec<DraftInput>,
    step: &AbstractedCall<'_>,
    at: usize,
    name: &str,
    value: Option<&serde_json::Value>,
    settings: &Settings,
) -> usize {
    let key = value.and_then(key);
    let is_trivial = value.is_none_or(is_trivial);
    // Among inputs with the same value, one of the same parameter name has precedence.
    let named = inputs.iter().position(|input| input.key == key && input.parameter == name);
    for position in named.into_iter().chain(0..inputs.len()) {
        if let Some(input) = inputs.get_mut(position)
            && key.is_some()
            && input.key == key
            && !input.steps.contains(&at)
            && (!is_trivial || input.parameter == name)
        {
            input.steps.push(at);
            return position;
        }
    }
    let description = ValueSchema::new(step.tool.parameters).member(name).map(|parameter| parameter.description());
    inputs.push(DraftInput {
        tool: step.tool.name.to_owned(),
        parameter: name.to_owned(),
        description: beginning(description.unwrap_or_default().trim(), settings.description_chars).to_owned(),
        key,
        steps: vec![at],
        name: String::new(),
    });
    inputs.len() - 1
}

/// Names each input after its parameter. The tool's name is prepended to shared parameter names, and a number is
/// appended to names that are still ambiguous.
fn name_inputs(inputs: &mut [DraftInput]) {
    let parameters: Vec<String> = inputs.iter().map(|input| input.parameter.clone()).collect();
    let mut taken: Vec<String> = Vec::new();
    for input in inputs {
        let is_shared = parameters.iter().filter(|name| **name == input.parameter).count() > 1;
        let base = if is_shared { format!("{}.{}", input.tool, input.parameter) } else { input.parameter.clone() };
        let mut numbers = (2..).map(|number: usize| format!("{base} ({number})"));
        let mut name = base.clone();
        while taken.contains(&name) {
            name = numbers.next().unwrap_or_default();
        }
        taken.push(name.clone());
        input.name = name;
    }
}
