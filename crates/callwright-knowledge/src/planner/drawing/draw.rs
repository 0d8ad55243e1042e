//! Implements the Reverse Chain rule: select the goals, then complete the arguments of each call until every argument
//! has a source.

use std::collections::HashSet;

use super::accept::selected;
use super::answer::SelectedGoal;
use super::converse::{PlanRequester, Spent};
use super::draft::{DraftNode, PlanDraft};
use super::error::Undrawn;
use super::ground::DrawingContext;
use super::model::{PlanningModel, Purpose, Question};
use super::prompts::{ConversationData, selection, selection_form};
use super::settings::DrawSettings;
use super::tools::{PlanTool, Tools};
use crate::planner::producers::{Asked, Producers};
use callwright_types::{Message, Plan};

/// Inputs of plan generation.
#[derive(Debug, Clone, Copy)]
pub struct Occasion<'a> {
    /// Tools, by their positions in `producers`.
    pub tools: &'a dyn Tools,
    /// Index of the tools that can supply an argument.
    pub producers: &'a Producers,
    /// Request as analysed by `producers`.
    pub asked: &'a Asked,
    /// Positions of the offered tools; only these may end a plan.
    pub offered: &'a [usize],
    /// Messages of the conversation.
    pub conversation: &'a [Message],
    /// Recalled memory entries.
    pub memory: &'a [String],
    /// Steps that served similar requests. They guide the model and do not ground any value.
    pub outline: &'a [String],
}

/// Result of plan generation.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawn {
    /// Plan, or why there is none.
    pub result: Result<Plan, Undrawn>,
    /// Cost of the requests.
    pub spent: Spent,
    /// Whether the plan is a completed template.
    pub from_template: bool,
    /// Faults of answers that were not corrected, and their consequences.
    pub notes: Vec<String>,
}

/// Generates a plan backward: one request for the goals, then one for the arguments of each call. Generation terminates
/// because the settings limit the number of calls, and each call takes at most two requests.
pub async fn draw(occasion: &Occasion<'_>, model: &dyn PlanningModel, settings: &DrawSettings) -> Drawn {
    draw_from(occasion, None, model, settings).await
}

/// Generates a plan like [`draw()`], but tries a `template` first. One request checks that the template fits and obtains
/// its missing inputs ([`Source::Missing`](callwright_types::plan::Source::Missing)). If it does not fit or one of its
/// tools is unavailable, a plan is generated without it.
pub async fn draw_from(
    occasion: &Occasion<'_>,
    template: Option<&Plan>,
    model: &dyn PlanningModel,
    settings: &DrawSettings,
) -> Drawn {
    let mut drawing = PlanGeneration::new(occasion, model, settings);
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

/// Plan generation in progress.
pub(super) struct PlanGeneration<'a> {
    pub(super) occasion: &'a Occasion<'a>,
    pub(super) settings: &'a DrawSettings,
    pub(super) heard: ConversationData<'a>,
    pub(super) ground: DrawingContext,
    pub(super) asker: PlanRequester<'a>,
    pub(super) draft: PlanDraft,
    /// The request, with the tools whose calls are confirmed.
    pub(super) asked: Asked,
    pub(super) notes: Vec<String>,
}

impl<'a> PlanGeneration<'a> {
    pub(super) fn new(occasion: &'a Occasion<'a>, model: &'a dyn PlanningModel, settings: &'a DrawSettings) -> Self {
        let said = occasion.conversation.iter().map(|message| message.text.as_str());
        Self {
            occasion,
            settings,
            heard: ConversationData::of(occasion.conversation, occasion.memory, settings)
                .with_outline(occasion.outline),
            ground: DrawingContext::of(said.chain(occasion.memory.iter().map(String::as_str))),
            asker: PlanRequester { model, settings, spent: Spent::default() },
            draft: PlanDraft::default(),
            asked: Asked::default(),
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

    /// Completes all calls without arguments. New calls are appended, so calls closest to a goal come first.
    pub(super) async fn complete_all(&mut self) -> Result<Plan, Undrawn> {
        let confirmed = self.draft.confirmed();
        self.asked = self.occasion.asked.clone().requesting(confirmed);
        let mut at = 0;
        while let Some(node) = self.draft.get(at) {
            // Calls that are no longer needed cost no request.
            if node.standing.is_open() && self.draft.needed().contains(&at) {
                self.complete(at).await?;
            }
            at += 1;
        }
        std::mem::take(&mut self.draft).into_plan()
    }

    /// Returns the offered tools, which may end a plan.
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
        for SelectedGoal { tool: name, task } in goals {
            let Some((position, tool)) = offered.iter().find(|(_, tool)| tool.tool.name() == name) else { continue };
            chosen.push(self.draft.add(DraftNode::new(tool.clone(), *position, task)));
        }
        self.draft.set_goals(chosen);
        if self.draft.len() == 0 { Err(Undrawn::Nothing) } else { Ok(()) }
    }
}
