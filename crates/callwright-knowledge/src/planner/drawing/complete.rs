//! Argument completion: requests the sources of a call's arguments, the second of the two requests per plan step.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::accept::{AcceptedArguments, AnswerContext, RequestedArgument};
use super::draft::DraftNode;
use super::draw::PlanGeneration;
use super::error::Undrawn;
use super::model::{Purpose, Question};
use super::prompts::{
    ArgumentData, ConsumerData, PlannedData, RequestedCallData, SupplierData, completion, completion_form,
};
use super::settings::Completion;
use super::shown::{shown_outputs, shown_schema};
use super::tools::PlanTool;
use crate::planner::producers::Candidate;
use crate::text::beginning;
use callwright_judge::scanner::Parameter;
use callwright_types::plan::{Argument, Source};

/// Requested arguments of a call and the tools that may supply them, for the prompt and for the validation of the
/// answer.
#[derive(Default)]
struct Suppliers {
    asked: Vec<RequestedArgument>,
    told: Vec<ArgumentData>,
    by_name: HashMap<String, (usize, PlanTool)>,
    tools: Vec<SupplierData>,
}

/// Kinds of sources that one request allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AllowedSources {
    /// Only the conversation and the memory.
    Words,
    /// Outputs of other calls as well.
    Calls,
}

impl PlanGeneration<'_> {
    /// Requests the sources of a call's arguments, in one or more requests according to the settings.
    pub(super) async fn complete(&mut self, at: usize) -> Result<(), Undrawn> {
        let Some(node) = self.draft.get(at).cloned() else { return Ok(()) };
        let mut parameters: Vec<Parameter<'_>> = node.tool.tool.parameters().collect();
        parameters.sort_by_key(|parameter| !parameter.required);
        parameters.truncate(self.settings.arguments);
        let mut known = Vec::new();
        match self.settings.completion {
            Completion::All => known = self.arguments(at, &node, &parameters, AllowedSources::Calls).await?,
            Completion::OneByOne => {
                for parameter in parameters.chunks(1) {
                    known.extend(self.arguments(at, &node, parameter, AllowedSources::Calls).await?);
                    // The calls added for this argument are candidates for the next one.
                    self.draft.complete(at, known.clone());
                }
            }
            Completion::ThreeSteps => {
                known = self.arguments(at, &node, &parameters, AllowedSources::Words).await?;
                let mut left = parameters.clone();
                left.retain(|parameter| {
                    let said = known.iter().find(|argument| argument.name == parameter.name);
                    said.is_none_or(|argument| matches!(argument.source, Source::Missing { .. }))
                        && !self.candidates(&node, parameter.name, AllowedSources::Calls).is_empty()
                });
                known.retain(|argument| left.iter().all(|parameter| parameter.name != argument.name));
                known.extend(self.arguments(at, &node, &left, AllowedSources::Calls).await?);
            }
        }
        self.draft.complete(at, known);
        Ok(())
    }

    /// Requests the sources of these arguments and adds the calls that they depend on.
    async fn arguments(
        &mut self,
        at: usize,
        node: &DraftNode,
        parameters: &[Parameter<'_>],
        from: AllowedSources,
    ) -> Result<Vec<Argument>, Undrawn> {
        if parameters.is_empty() {
            return Ok(Vec::new());
        }
        let Suppliers { asked, told, by_name, tools } = self.suppliers(node, parameters, from);
        let planned: Vec<(String, &DraftNode)> = self.planned(at, &by_name);
        let planned = planned.iter().map(|(label, node)| PlannedData {
            call: label,
            tool: node.tool.tool.name(),
            task: &node.task,
        });
        let wanted = RequestedCallData {
            tool: node.tool.tool.name(),
            description: beginning(&node.tool.tool.tool.description, self.settings.description_chars),
            task: &node.task,
            needed_for: self.needed_for(at),
            arguments: told,
            before: before(node),
            planned: planned.collect(),
            tools,
        };
        let question = Question {
            purpose: Purpose::Completion,
            messages: completion(&self.heard, &wanted),
            form: completion_form(&wanted),
            temperature: self.settings.temperature,
            requests: self.settings.requests,
        };
        let standard = AnswerContext {
            draft: &self.draft,
            at,
            tool: &node.tool,
            arguments: &asked,
            suppliers: &by_name,
            room: self.draft.room(self.settings.nodes),
            ground: &self.ground,
        };
        let judged = self.asker.converse(question, |text| standard.judge(text)).await?;
        let AcceptedArguments { arguments, calls } = judged.taken.unwrap_or_else(|| standard.all_missing());
        let name = node.tool.tool.name();
        self.notes.extend(judged.faults.into_iter().map(|fault| format!("{name}: {fault}")));
        for (position, task, supplies) in calls {
            let Some(tool) = self.occasion.tools.tool(position) else { continue };
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
                let Some(tool) = self.occasion.tools.tool(position) else { continue };
                let name = tool.tool.name().to_owned();
                if suppliers.by_name.get(&name).is_some_and(|(known, _)| *known != position) {
                    continue;
                }
                suppliers.by_name.insert(name.clone(), (position, tool));
                first.entry(position).or_default().push(output);
                positions.push(position);
                names.push(name);
            }
            suppliers.told.push(ArgumentData {
                name: parameter.name.to_owned(),
                required: parameter.required,
                schema: shown_schema(parameter, self.settings),
                tools: names,
            });
            let (name, required) = (parameter.name.to_owned(), parameter.required);
            suppliers.asked.push(RequestedArgument { name, required, suppliers: positions });
        }
        let mut tools: Vec<(&usize, &PlanTool)> = suppliers.by_name.values().map(|(at, tool)| (at, tool)).collect();
        tools.sort_unstable_by_key(|(position, _)| **position);
        let tools = tools.into_iter().map(|(position, tool)| {
            let likely: Vec<&str> = first.get(position).into_iter().flatten().map(String::as_str).collect();
            SupplierData {
                name: tool.tool.name().to_owned(),
                description: beginning(&tool.tool.tool.description, self.settings.description_chars).to_owned(),
                outputs: shown_outputs(&tool.outputs, &likely, self.settings),
            }
        });
        suppliers.tools = tools.collect();
        suppliers
    }

    /// Returns the candidate sources of an argument; none for a call at the maximum depth.
    fn candidates(&self, node: &DraftNode, argument: &str, from: AllowedSources) -> Vec<Candidate> {
        if node.depth >= self.settings.depth || from == AllowedSources::Words {
            return Vec::new();
        }
        self.occasion.producers.candidates(node.position, argument, &self.asked, self.settings.candidates)
    }

    /// Returns the calls that depend on a call, the direct consumer first.
    fn needed_for(&self, at: usize) -> Vec<ConsumerData<'_>> {
        let above = self.draft.above(at).into_iter();
        let told = above.filter_map(|(at, arguments)| {
            let node = self.draft.get(at)?;
            let arguments = arguments.iter().map(String::as_str).collect();
            Some(ConsumerData { arguments, tool: node.tool.tool.name(), task: &node.task })
        });
        told.collect()
    }

    /// Returns the planned calls that may supply an argument without creating a cycle.
    fn planned(&self, at: usize, suppliers: &HashMap<String, (usize, PlanTool)>) -> Vec<(String, &DraftNode)> {
        let needed = self.draft.needed();
        let mut planned = Vec::new();
        for (other, node) in self.draft.nodes().filter(|(other, _)| needed.contains(other)) {
            let supplier = suppliers.get(node.tool.tool.name());
            let may_supply = supplier.is_some_and(|(position, _)| *position == node.position);
            if may_supply && self.draft.way(at, other).is_none() {
                planned.push((self.draft.label(other), node));
            }
        }
        planned
    }
}

/// Returns the previous arguments of a call whose arguments are requested again.
pub(super) fn before(node: &DraftNode) -> Map<String, Value> {
    let known = node.arguments.iter().filter(|argument| !matches!(argument.source, Source::Missing { .. }));
    known.map(|argument| (argument.name.clone(), argument.source.written())).collect()
}
