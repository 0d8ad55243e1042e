//! The rule of Reverse Chain: the goals, then for each call all its arguments, until every argument has a source.

use std::collections::HashSet;

use super::accept::selected;
use super::answer::Goal;
use super::converse::{Asker, Spent};
use super::draft::{Draft, DraftNode};
use super::ground::Ground;
use super::model::{PlanningModel, Purpose, Question};
use super::prompts::{Heard, selection, selection_form};
use super::settings::DrawSettings;
use super::tools::{PlanTool, Tools};
use crate::planner::producers::{Asked, Producers};
use callwright_types::{Message, Plan};

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
    /// How similar requests were served: steps that guide the model, and no ground for any value.
    pub outline: &'a [String],
}

/// What came of drawing.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    /// The plan, or why there is none.
    pub result: Result<Plan, Undrawn>,
    /// What it has cost.
    pub spent: Spent,
    /// Is it a template that was filled in?
    pub from_template: bool,
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
    draw_from(occasion, None, model, settings).await
}

/// The same, where a plan is known that may serve: its missing inputs, which [`Source::Missing`](callwright_types::plan::Source::Missing) names,
/// are asked for in one question, which also asks whether it is what the request wants. Where it is not, or its tools are not there, a plan
/// is drawn as ever.
pub async fn draw_from(
    occasion: &Occasion<'_>,
    template: Option<&Plan>,
    model: &dyn PlanningModel,
    settings: &DrawSettings,
) -> Drawn {
    let mut drawing = Drawing::new(occasion, model, settings);
    if let Some(template) = template {
        match drawing.fill(template).await {
            Ok(Some(plan)) => return Drawn { from_template: true, ..drawing.ended(Ok(plan)) },
            Ok(None) => {}
            Err(undrawn) => return drawing.ended(Err(undrawn)),
        }
    }
    let result = drawing.run().await;
    drawing.ended(result)
}

/// A plan that is being drawn.
pub(super) struct Drawing<'a> {
    pub(super) occasion: &'a Occasion<'a>,
    pub(super) settings: &'a DrawSettings,
    pub(super) heard: Heard<'a>,
    pub(super) ground: Ground,
    pub(super) asker: Asker<'a>,
    pub(super) draft: Draft,
    pub(super) notes: Vec<String>,
}

impl<'a> Drawing<'a> {
    pub(super) fn new(occasion: &'a Occasion<'a>, model: &'a dyn PlanningModel, settings: &'a DrawSettings) -> Self {
        let said = occasion.conversation.iter().map(|message| message.text.as_str());
        Self {
            occasion,
            settings,
            heard: Heard::of(occasion.conversation, occasion.memory, settings).with_outline(occasion.outline),
            ground: Ground::of(said.chain(occasion.memory.iter().map(String::as_str))),
            asker: Asker { model, settings, spent: Spent::default() },
            draft: Draft::default(),
            notes: Vec::new(),
        }
    }

    pub(super) fn ended(self, result: Result<Plan, Undrawn>) -> Drawn {
        Drawn { result, spent: self.asker.spent, from_template: false, notes: self.notes }
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
            requests: self.settings.requests,
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
}
