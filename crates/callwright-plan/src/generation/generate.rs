//! Implements the Reverse Chain rule: select the goals, then complete the arguments of each call until every argument
//! has a source.

use std::collections::HashSet;

use super::accept::parse_selection;
use super::answer::SelectedGoal;
use super::converse::{PlanRequester, PlanningCost};
use super::draft::{DraftNode, PlanDraft};
use super::error::GenerationError;
use super::grounding::GroundingTexts;
use super::prompts::{ConversationData, selection};
use super::settings::GenerationSettings;
use crate::keys::ConversationKeys;
use crate::producers::{Producers, RequestScores};
use crate::tools::{PlanTool, Tools};
use callwright_types::{Message, Plan};
use callwright_upstream::TextSource;

#[derive(Debug, Clone, Copy)]
pub struct PlanInputs<'a> {
    /// Tools, by their positions in `producers`.
    pub tools: &'a dyn Tools,
    /// Index of the tools that can supply an argument.
    pub producers: &'a Producers,
    /// Request as analysed by `producers`.
    pub scores: &'a RequestScores,
    /// Positions of the offered tools; only these may end a plan.
    pub offered: &'a [usize],
    pub conversation: &'a [Message],
    /// Recalled memory entries.
    pub memory: &'a [String],
    /// Steps that served similar requests. They guide the model and do not ground any value.
    pub outline: &'a [String],
}

/// Result of plan generation.
#[derive(Debug, Clone, PartialEq)]
pub struct GenerationOutcome {
    /// Plan, or why there is none.
    pub result: Result<Plan, GenerationError>,
    /// Cost of the requests.
    pub cost: PlanningCost,
    /// Whether the plan is a completed template.
    pub from_template: bool,
    /// Faults of answers that were not corrected, and their consequences.
    pub notes: Vec<String>,
}

/// Generates a plan backward: one request for the goals, then one for the arguments of each call. Generation terminates
/// because the settings limit the number of calls, and each call takes at most two requests.
pub async fn generate(
    inputs: &PlanInputs<'_>,
    model: &dyn TextSource,
    settings: &GenerationSettings,
) -> GenerationOutcome {
    generate_from_template(inputs, None, model, settings).await
}

/// Generates a plan like [`generate()`], but tries a `template` first. One request checks that the template fits and
/// obtains its missing inputs ([`Source::Missing`](callwright_types::plan::Source::Missing)). If it does not fit or one
/// of its tools is unavailable, a plan is generated without it.
pub async fn generate_from_template(
    inputs: &PlanInputs<'_>,
    template: Option<&Plan>,
    model: &dyn TextSource,
    settings: &GenerationSettings,
) -> GenerationOutcome {
    let mut generation = PlanGeneration::new(inputs, model, settings);
    if let Some(template) = template {
        match generation.fill(template).await {
            Ok(Some(plan)) => return GenerationOutcome { from_template: true, ..generation.outcome(Ok(plan)) },
            Ok(None) => {}
            Err(error) => return generation.outcome(Err(error)),
        }
    }
    let result = generation.run().await;
    generation.outcome(result)
}

/// Plan generation in progress.
pub(super) struct PlanGeneration<'a> {
    pub(super) inputs: &'a PlanInputs<'a>,
    pub(super) settings: &'a GenerationSettings,
    pub(super) conversation: ConversationData<'a>,
    pub(super) grounding: GroundingTexts,
    /// Possible keys in the conversation and the memory.
    pub(super) given_keys: ConversationKeys,
    pub(super) requester: PlanRequester<'a>,
    pub(super) draft: PlanDraft,
    /// The request, with the tools whose calls are confirmed.
    pub(super) scores: RequestScores,
    pub(super) notes: Vec<String>,
}

impl<'a> PlanGeneration<'a> {
    pub(super) fn new(inputs: &'a PlanInputs<'a>, model: &'a dyn TextSource, settings: &'a GenerationSettings) -> Self {
        let conversation = inputs.conversation.iter().map(|message| message.text.as_str());
        let texts = conversation.chain(inputs.memory.iter().map(String::as_str));
        Self {
            inputs,
            settings,
            conversation: ConversationData::new(inputs.conversation, inputs.memory, settings)
                .with_outline(inputs.outline),
            grounding: GroundingTexts::new(texts.clone()),
            given_keys: ConversationKeys::collect(texts),
            requester: PlanRequester::new(model, settings),
            draft: PlanDraft::default(),
            scores: RequestScores::default(),
            notes: Vec::new(),
        }
    }

    pub(super) fn outcome(self, result: Result<Plan, GenerationError>) -> GenerationOutcome {
        GenerationOutcome { result, cost: self.requester.cost(), from_template: false, notes: self.notes }
    }

    async fn run(&mut self) -> Result<Plan, GenerationError> {
        self.select().await?;
        self.complete_all().await
    }

    /// Completes all calls without arguments. New calls are appended, so calls closest to a goal come first.
    pub(super) async fn complete_all(&mut self) -> Result<Plan, GenerationError> {
        let confirmed = self.draft.confirmed();
        self.scores = self.inputs.scores.clone().requesting(confirmed);
        let mut at = 0;
        while let Some(node) = self.draft.get(at) {
            // Calls that are no longer needed cost no request.
            if node.status.is_open() && self.draft.needed().contains(&at) {
                self.complete(at).await?;
            }
            at += 1;
        }
        std::mem::take(&mut self.draft).into_plan()
    }

    /// Returns the offered tools, which may end a plan.
    pub(super) fn offered(&self) -> Vec<(usize, PlanTool)> {
        let tools = self.inputs.offered.iter().filter_map(|at| Some((*at, self.inputs.tools.tool(*at)?)));
        tools.collect()
    }

    async fn select(&mut self) -> Result<(), GenerationError> {
        let offered = self.offered();
        if offered.is_empty() {
            return Err(GenerationError::NoTool);
        }
        let descriptions: Vec<(&str, &str)> =
            offered.iter().map(|(_, tool)| (tool.tool.name(), tool.tool.tool.description.as_str())).collect();
        let names: HashSet<&str> = descriptions.iter().map(|(name, _)| *name).collect();
        let question = selection(&self.conversation, &descriptions, self.settings);
        let limit = self.settings.nodes;
        let checked = self.requester.select(question, |text| parse_selection(text, &names, limit)).await?;
        let (goals, faults) = checked.into_usable()?;
        self.notes.extend(faults);
        let mut chosen = Vec::new();
        for SelectedGoal { tool: name, task } in goals {
            let Some((position, tool)) = offered.iter().find(|(_, tool)| tool.tool.name() == name) else { continue };
            chosen.push(self.draft.add(DraftNode::new(tool.clone(), *position, task)));
        }
        self.draft.set_goals(chosen);
        if self.draft.len() == 0 { Err(GenerationError::NoTool) } else { Ok(()) }
    }
}
