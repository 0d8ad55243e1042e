//! The rule of Reverse Chain: the goals, then for each call all its arguments, until every argument has a source.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::accept::{AskedFor, Completed, Standard, selected};
use super::answer::Goal;
use super::converse::{Asker, Spent};
use super::draft::{Draft, DraftNode};
use super::ground::Ground;
use super::model::{PlanningModel, Purpose, Question};
use super::prompts::{
    ArgumentData, Heard, NeededFor, PlannedData, SupplierData, Wanted, completion, completion_form, selection,
    selection_form,
};
use super::settings::DrawSettings;
use super::shown::{beginning, shown_outputs, shown_schema};
use super::tools::{PlanTool, Tools};
use crate::domain::plan::Source;
use crate::domain::{Message, Plan};
use crate::planner::producers::{Asked, Candidate, Producers};
use crate::scanner::Parameter;

/// What a plan is drawn from.
#[derive(Debug, Clone, Copy)]
pub struct Occasion<'a> {
    /// The tools, by the positions that `producers` gives them.
    pub tools: &'a dyn Tools,
    /// Which tools can supply which arguments.
    pub producers: &'a Producers,
    /// The request as `producers` reads it.
    pub asked: &'a Asked,
    /// The positions of the tools that may end a plan: those that are offered.
    pub offered: &'a [usize],
    /// What was said.
    pub conversation: &'a [Message],
    /// What is remembered.
    pub memory: &'a [String],
}

/// What came of drawing.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    /// The plan, or why there is none.
    pub result: Result<Plan, Undrawn>,
    /// What it has cost.
    pub spent: Spent,
    /// What was wrong with answers of which nothing better came: what is asked for instead, or left out.
    pub notes: Vec<String>,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Undrawn {
    /// No tool serves the request, as the model says, or none is offered.
    #[error("no tool serves the request")]
    Nothing,
    /// What the model answers about the goals cannot be used.
    #[error("the model's answers cannot be used: {0}")]
    Unusable(String),
    /// The model does not answer.
    #[error("{0}")]
    Unanswered(String),
    /// A limit is reached.
    #[error("{0}")]
    Limit(Limit),
}

/// A limit that ended drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Limit {
    /// Of requests to the model.
    #[error("the plan takes more than {0} requests to the model")]
    Requests(u64),
    /// Of their tokens.
    #[error("the plan takes more than {0} tokens")]
    Tokens(u64),
}

/// Draws a plan backward: one question for the goals, one for each call's arguments. It always ends: a plan has at most as many calls
/// as the settings say, and each is asked about twice at most.
pub async fn draw(occasion: &Occasion<'_>, model: &dyn PlanningModel, settings: &DrawSettings) -> Drawn {
    let mut drawing = Drawing::new(occasion, model, settings);
    let result = drawing.run().await;
    drawing.ended(result)
}

/// A plan that is being drawn.
pub(super) struct Drawing<'a> {
    pub(super) occasion: &'a Occasion<'a>,
    pub(super) settings: &'a DrawSettings,
    pub(super) heard: Heard<'a>,
    ground: Ground,
    pub(super) asker: Asker<'a>,
    pub(super) draft: Draft,
    pub(super) notes: Vec<String>,
}

/// A call's arguments and the tools that may supply them, as the question tells them and as the answer is held against them.
#[derive(Default)]
struct Suppliers {
    asked: Vec<AskedFor>,
    told: Vec<ArgumentData>,
    by_name: HashMap<String, (usize, PlanTool)>,
    tools: Vec<SupplierData>,
}

impl<'a> Drawing<'a> {
    pub(super) fn new(occasion: &'a Occasion<'a>, model: &'a dyn PlanningModel, settings: &'a DrawSettings) -> Self {
        let said = occasion.conversation.iter().map(|message| message.text.as_str());
        Self {
            occasion,
            settings,
            heard: Heard::of(occasion.conversation, occasion.memory, settings),
            ground: Ground::of(said.chain(occasion.memory.iter().map(String::as_str))),
            asker: Asker { model, settings, spent: Spent::default() },
            draft: Draft::default(),
            notes: Vec::new(),
        }
    }

    pub(super) fn ended(self, result: Result<Plan, Undrawn>) -> Drawn {
        Drawn { result, spent: self.asker.spent, notes: self.notes }
    }

    async fn run(&mut self) -> Result<Plan, Undrawn> {
        self.select().await?;
        self.complete_all().await
    }

    /// Completes all calls that are without arguments. New ones come behind all others, so those that are nearest to a goal are first.
    pub(super) async fn complete_all(&mut self) -> Result<Plan, Undrawn> {
        let mut at = 0;
        while let Some(node) = self.draft.get(at) {
            // What the calls before do not need any more costs no question.
            if node.standing.is_open() && self.draft.needed().contains(&at) {
                self.complete(at).await?;
            }
            at += 1;
        }
        std::mem::take(&mut self.draft).into_plan()
    }

    /// The tools that may end a plan.
    pub(super) fn offered(&self) -> Vec<(usize, PlanTool)> {
        let known = self.occasion.offered.iter().filter_map(|at| Some((*at, self.occasion.tools.tool(*at)?)));
        known.collect()
    }

    async fn select(&mut self) -> Result<(), Undrawn> {
        let offered = self.offered();
        if offered.is_empty() {
            return Err(Undrawn::Nothing);
        }
        let told: Vec<(&str, &str)> =
            offered.iter().map(|(_, tool)| (tool.tool.name(), tool.tool.tool.description.as_str())).collect();
        let names: HashSet<&str> = told.iter().map(|(name, _)| *name).collect();
        let question = Question {
            purpose: Purpose::Selection,
            messages: selection(&self.heard, &told, self.settings),
            form: selection_form(&told),
            temperature: self.settings.temperature,
        };
        let most = self.settings.nodes;
        let judged = self.asker.converse(question, |text| selected(text, &names, most)).await?;
        let goals = judged.taken.ok_or_else(|| Undrawn::Unusable(judged.faults.join("; ")))?;
        self.notes.extend(judged.faults);
        let mut chosen = Vec::new();
        for Goal { tool: name, task } in goals {
            let Some((position, tool)) = offered.iter().find(|(_, tool)| tool.tool.name() == name) else { continue };
            chosen.push(self.draft.add(DraftNode::new(tool.clone(), *position, task)));
        }
        self.draft.set_goals(chosen);
        if self.draft.len() == 0 { Err(Undrawn::Nothing) } else { Ok(()) }
    }

    async fn complete(&mut self, at: usize) -> Result<(), Undrawn> {
        let Some(node) = self.draft.get(at).cloned() else { return Ok(()) };
        let suppliers = self.suppliers(&node);
        if suppliers.asked.is_empty() {
            return Ok(());
        }
        let Suppliers { asked, told, by_name, tools } = suppliers;
        let planned: Vec<(String, &DraftNode)> = self.planned(at, &by_name);
        let planned = planned.iter().map(|(label, node)| PlannedData {
            call: label,
            tool: node.tool.tool.name(),
            task: &node.task,
        });
        let wanted = Wanted {
            tool: node.tool.tool.name(),
            description: beginning(&node.tool.tool.tool.description, self.settings.description_chars),
            task: &node.task,
            needed_for: self.needed_for(at),
            arguments: told,
            before: before(&node),
            planned: planned.collect(),
            tools,
        };
        let question = Question {
            purpose: Purpose::Completion,
            messages: completion(&self.heard, &wanted),
            form: completion_form(&wanted),
            temperature: self.settings.temperature,
        };
        let standard = Standard {
            draft: &self.draft,
            at,
            tool: &node.tool,
            arguments: &asked,
            suppliers: &by_name,
            room: self.draft.room(self.settings.nodes),
            ground: &self.ground,
        };
        let judged = self.asker.converse(question, |text| standard.judge(text)).await?;
        let Completed { arguments, calls } = judged.taken.unwrap_or_else(|| standard.all_missing());
        let name = node.tool.tool.name();
        self.notes.extend(judged.faults.into_iter().map(|fault| format!("{name}: {fault}")));
        self.draft.complete(at, arguments);
        for (position, task, supplies) in calls {
            let Some(tool) = self.occasion.tools.tool(position) else { continue };
            let (depth, needed_for) = (node.depth + 1, Some((at, supplies)));
            self.draft.add(DraftNode { depth, needed_for, ..DraftNode::new(tool, position, task) });
        }
        Ok(())
    }

    /// The arguments that are asked for, the required ones first, and the tools that may supply them.
    fn suppliers(&self, node: &DraftNode) -> Suppliers {
        let mut parameters: Vec<Parameter<'_>> = node.tool.tool.parameters().collect();
        parameters.sort_by_key(|parameter| !parameter.required);
        parameters.truncate(self.settings.arguments);
        let mut suppliers = Suppliers::default();
        let mut first: HashMap<usize, Vec<String>> = HashMap::new();
        for parameter in parameters {
            let mut positions = Vec::new();
            for Candidate { tool: position, output, .. } in self.candidates(node, parameter.name) {
                let Some(tool) = self.occasion.tools.tool(position) else { continue };
                let name = tool.tool.name().to_owned();
                if suppliers.by_name.get(&name).is_some_and(|(known, _)| *known != position) {
                    continue;
                }
                suppliers.by_name.insert(name, (position, tool));
                first.entry(position).or_default().push(output);
                positions.push(position);
            }
            let name_of = |position: &usize| Some(self.occasion.tools.tool(*position)?.tool.name().to_owned());
            suppliers.told.push(ArgumentData {
                name: parameter.name.to_owned(),
                required: parameter.required,
                schema: shown_schema(&parameter, self.settings),
                tools: positions.iter().filter_map(name_of).collect(),
            });
            let (name, required) = (parameter.name.to_owned(), parameter.required);
            suppliers.asked.push(AskedFor { name, required, suppliers: positions });
        }
        let mut tools: Vec<(&usize, &PlanTool)> = suppliers.by_name.values().map(|(at, tool)| (at, tool)).collect();
        tools.sort_unstable_by_key(|(position, _)| **position);
        let told = |(position, tool): (&usize, &PlanTool)| {
            let likely: Vec<&str> = first.get(position).into_iter().flatten().map(String::as_str).collect();
            SupplierData {
                name: tool.tool.name().to_owned(),
                description: beginning(&tool.tool.tool.description, self.settings.description_chars).to_owned(),
                outputs: shown_outputs(&tool.outputs, &likely, self.settings),
            }
        };
        suppliers.tools = tools.into_iter().map(told).collect();
        suppliers
    }

    /// None for a call that is as deep as calls may be.
    fn candidates(&self, node: &DraftNode, argument: &str) -> Vec<Candidate> {
        if node.depth >= self.settings.depth {
            return Vec::new();
        }
        let Occasion { producers, asked, .. } = self.occasion;
        producers.candidates(node.position, argument, asked, self.settings.candidates)
    }

    /// What a call is needed for, the next first.
    fn needed_for(&self, at: usize) -> Vec<NeededFor<'_>> {
        let above = self.draft.above(at).into_iter();
        let told = above.filter_map(|(at, arguments)| {
            let node = self.draft.get(at)?;
            let arguments = arguments.iter().map(String::as_str).collect();
            Some(NeededFor { arguments, tool: node.tool.tool.name(), task: &node.task })
        });
        told.collect()
    }

    /// The calls of the plan that may supply something, without a circle.
    fn planned(&self, at: usize, suppliers: &HashMap<String, (usize, PlanTool)>) -> Vec<(String, &DraftNode)> {
        let may_supply = |node: &DraftNode| {
            suppliers.get(node.tool.tool.name()).is_some_and(|(position, _)| *position == node.position)
        };
        let needed = self.draft.needed();
        let others = self
            .draft
            .nodes()
            .filter(|(other, node)| needed.contains(other) && may_supply(node) && self.draft.way(at, *other).is_none());
        others.map(|(other, node)| (self.draft.label(other), node)).collect()
    }
}

/// What the arguments of a call were, of which it is asked again.
pub(super) fn before(node: &DraftNode) -> Map<String, Value> {
    let known = node.arguments.iter().filter(|argument| !matches!(argument.source, Source::Missing { .. }));
    known.map(|argument| (argument.name.clone(), argument.source.written())).collect()
}
