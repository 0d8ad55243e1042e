//! Argument completion: requests the sources of a call's arguments, the second of the two requests per plan step.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::accept::{AcceptedArguments, AnswerContext, RequestedArgument};
use super::converse::converse;
use super::draft::DraftNode;
use super::error::GenerationError;
use super::generate::{PlanGeneration, PlanInputs};
use super::prompt_data::{prompt_outputs, prompt_schema};
use super::prompts::{ArgumentData, ConsumerData, PlannedData, RequestedCallData, SupplierData, completion};
use super::settings::Completion;
use crate::keys::{KeyArgument, KeySources};
use crate::producers::Candidate;
use crate::tools::PlanTool;
use callwright_common::text::beginning;
use callwright_judge::scanner::Parameter;
use callwright_types::plan::{Argument, Source};

/// Requested arguments of a call and the tools that may supply them, for the prompt and for the validation of the
/// answer.
#[derive(Default)]
struct Suppliers {
    requested: Vec<RequestedArgument>,
    data: Vec<ArgumentData>,
    by_name: HashMap<String, (usize, PlanTool)>,
    tools: Vec<SupplierData>,
}

/// Kinds of sources that one request allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AllowedSources {
    /// Only the conversation and the memory.
    Conversation,
    /// Outputs of other calls as well.
    Calls,
}

impl PlanGeneration<'_> {
    /// Requests the sources of a call's arguments, in one or more requests according to the settings.
    pub(super) async fn complete(&mut self, at: usize) -> Result<(), GenerationError> {
        let Some(node) = self.draft.get(at).cloned() else { return Ok(()) };
        let mut parameters: Vec<Parameter<'_>> = node.tool.tool.parameters().collect();
        parameters.sort_by_key(|parameter| !parameter.required);
        parameters.truncate(self.settings.arguments);
        let mut arguments = Vec::new();
        match self.settings.completion {
            Completion::All => arguments = self.arguments(at, &node, &parameters, AllowedSources::Calls).await?,
            Completion::OneByOne => {
                for parameter in parameters.chunks(1) {
                    arguments.extend(self.arguments(at, &node, parameter, AllowedSources::Calls).await?);
                    // The calls added for this argument are candidates for the next one.
                    self.draft.complete(at, arguments.clone());
                }
            }
            Completion::ThreeSteps => {
                arguments = self.arguments(at, &node, &parameters, AllowedSources::Conversation).await?;
                let mut left = parameters.clone();
                left.retain(|parameter| {
                    let source = arguments.iter().find(|argument| argument.name == parameter.name);
                    source.is_none_or(|argument| matches!(argument.source, Source::Missing { .. }))
                        && !self.candidates(&node, parameter.name, AllowedSources::Calls).is_empty()
                });
                arguments.retain(|argument| left.iter().all(|parameter| parameter.name != argument.name));
                arguments.extend(self.arguments(at, &node, &left, AllowedSources::Calls).await?);
            }
        }
        self.draft.complete(at, arguments);
        Ok(())
    }

    /// Requests the sources of these arguments and adds the calls that they depend on.
    async fn arguments(
        &mut self,
        at: usize,
        node: &DraftNode,
        parameters: &[Parameter<'_>],
        from: AllowedSources,
    ) -> Result<Vec<Argument>, GenerationError> {
        if parameters.is_empty() {
            return Ok(Vec::new());
        }
        let Suppliers { requested, data, by_name, tools } = self.suppliers(node, parameters, from);
        let planned: Vec<(String, &DraftNode)> = self.planned(at, &by_name);
        let planned = planned.iter().map(|(label, node)| PlannedData {
            call: label,
            tool: node.tool.tool.name(),
            task: &node.task,
        });
        let call = RequestedCallData {
            tool: node.tool.tool.name(),
            description: beginning(&node.tool.tool.tool.description, self.settings.description_chars),
            task: &node.task,
            needed_for: self.needed_for(at),
            arguments: data,
            before: previous_arguments(node),
            planned: planned.collect(),
            tools,
        };
        let question = completion(&self.conversation, &call);
        let context = AnswerContext {
            draft: &self.draft,
            at,
            tool: &node.tool,
            arguments: &requested,
            suppliers: &by_name,
            room: self.draft.room(self.settings.nodes),
            grounding: &self.grounding,
            given_keys: &self.given_keys,
        };
        let checked = converse(&mut self.requester.model, question, |text| context.validate(text)).await?;
        let AcceptedArguments { arguments, calls, guessed_key } =
            checked.taken.unwrap_or_else(|| context.all_missing());
        let name = node.tool.tool.name();
        // Without tools, the key is requested again in the next step.
        if let Some(argument) = guessed_key.filter(|_| from == AllowedSources::Calls) {
            return Err(GenerationError::GuessedKey { tool: name.to_owned(), argument });
        }
        self.notes.extend(checked.faults.into_iter().map(|fault| format!("{name}: {fault}")));
        for (position, task, supplies) in calls {
            let Some(tool) = self.inputs.tools.tool(position) else { continue };
            let (depth, needed_for) = (node.depth + 1, Some((at, supplies)));
            self.draft.add(DraftNode { depth, needed_for, ..DraftNode::new(tool, position, task) });
        }
        Ok(arguments)
    }

    /// Returns the arguments in the given order with the tools that may supply them.
    fn suppliers(&self, node: &DraftNode, parameters: &[Parameter<'_>], from: AllowedSources) -> Suppliers {
        let mut suppliers = Suppliers::default();
        let mut first: HashMap<usize, Vec<String>> = HashMap::new();
        for parameter in parameters {
            let (mut positions, mut names) = (Vec::new(), Vec::new());
            for Candidate { tool: position, output, .. } in self.candidates(node, parameter.name, from) {
                let Some(tool) = self.inputs.tools.tool(position) else { continue };
                let name = tool.tool.name().to_owned();
                if suppliers.by_name.get(&name).is_some_and(|(other, _)| *other != position) {
                    continue;
                }
                suppliers.by_name.insert(name.clone(), (position, tool));
                first.entry(position).or_default().push(output);
                positions.push(position);
                names.push(name);
            }
            suppliers.data.push(ArgumentData {
                name: parameter.name.to_owned(),
                required: parameter.required,
                schema: prompt_schema(&node.tool.tool.tool.parameters, parameter, self.settings),
                tools: names,
            });
            let (name, required) = (parameter.name.to_owned(), parameter.required);
            let key = self.key(node, parameter, !positions.is_empty());
            suppliers.requested.push(RequestedArgument { name, required, suppliers: positions, key });
        }
        let mut tools: Vec<(&usize, &PlanTool)> = suppliers.by_name.values().map(|(at, tool)| (at, tool)).collect();
        tools.sort_unstable_by_key(|(position, _)| **position);
        let tools = tools.into_iter().map(|(position, tool)| {
            let likely: Vec<&str> = first.get(position).into_iter().flatten().map(String::as_str).collect();
            SupplierData {
                name: tool.tool.name().to_owned(),
                description: beginning(&tool.tool.tool.description, self.settings.description_chars).to_owned(),
                outputs: prompt_outputs(&tool.outputs, &likely, self.settings),
            }
        });
        suppliers.tools = tools.collect();
        suppliers
    }

    /// Returns the key that an argument is, if a tool can supply it.
    fn key(&self, node: &DraftNode, parameter: &Parameter<'_>, has_suppliers: bool) -> Option<KeyArgument> {
        let PlanInputs { tools, producers, .. } = *self.inputs;
        let sources = KeySources { tools, producers, scores: &self.scores };
        KeyArgument::new(&sources, (node.position, &node.tool), parameter, has_suppliers)
    }

    /// Returns the candidate sources of an argument; none for a call at the maximum depth.
    fn candidates(&self, node: &DraftNode, argument: &str, from: AllowedSources) -> Vec<Candidate> {
        if node.depth >= self.settings.depth || from == AllowedSources::Conversation {
            return Vec::new();
        }
        self.inputs.producers.candidates(node.position, argument, &self.scores, self.settings.candidates)
    }

    /// Returns the calls that depend on a call, the direct consumer first.
    fn needed_for(&self, at: usize) -> Vec<ConsumerData<'_>> {
        let above = self.draft.above(at).into_iter();
        let consumers = above.filter_map(|(at, arguments)| {
            let node = self.draft.get(at)?;
            let arguments = arguments.iter().map(String::as_str).collect();
            Some(ConsumerData { arguments, tool: node.tool.tool.name(), task: &node.task })
        });
        consumers.collect()
    }

    /// Returns the planned calls that may supply an argument without creating a cycle.
    fn planned(&self, at: usize, suppliers: &HashMap<String, (usize, PlanTool)>) -> Vec<(String, &DraftNode)> {
        let needed = self.draft.needed();
        let mut planned = Vec::new();
        for (other, node) in self.draft.nodes().filter(|(other, _)| needed.contains(other)) {
            let supplier = suppliers.get(node.tool.tool.name());
            let may_supply = supplier.is_some_and(|(position, _)| *position == node.position);
            if may_supply && self.draft.data_path(at, other).is_none() {
                planned.push((self.draft.label(other), node));
            }
        }
        planned
    }
}

/// Returns the previous arguments of a call whose arguments are requested again.
pub(super) fn previous_arguments(node: &DraftNode) -> Map<String, Value> {
    let arguments = node.arguments.iter().filter(|argument| !matches!(argument.source, Source::Missing { .. }));
    arguments.map(|argument| (argument.name.clone(), argument.source.written())).collect()
}
