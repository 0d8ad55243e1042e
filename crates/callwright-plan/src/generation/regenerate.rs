//! Regenerates a part of a plan. Executed and unaffected calls are kept.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::accept::{is_same, validate_goals};
use super::answer::SelectedGoal;
use super::complete::previous_arguments;
use super::converse::CheckedAnswer;
use super::draft::{DraftNode, DraftNodeStatus, PlanDraft};
use super::error::GenerationError;
use super::generate::{GenerationOutcome, PlanGeneration, PlanInputs};
use super::prompts::{ConversationData, DATA, OfferedData, offered};
use super::settings::GenerationSettings;
use crate::tools::PlanTool;
use callwright_prompt::{Question, parse};
use callwright_types::Plan;
use callwright_types::plan::Source;
use callwright_upstream::TextSource;

/// Plan in progress.
#[derive(Debug, Clone, Copy)]
pub struct PresentPlan<'a> {
    /// Plan.
    pub plan: &'a Plan,
    /// Labels of the executed calls with answers. They stay unchanged and can supply other calls.
    pub executed: &'a HashSet<String>,
}

/// Part of a plan to regenerate.
#[derive(Debug, Clone, Copy)]
pub enum Renewal<'a> {
    /// Arguments of these calls, because the relevant conversation has changed.
    Calls {
        /// Their labels, which stay the same.
        labels: &'a [String],
    },
    /// Goals, after a new user message. Calls that still serve a goal are kept, except those that the message changes
    /// and those with missing arguments.
    Goals,
}

/// Regenerates a part of a plan. The conversation is expected to contain the answers of executed calls, errors of
/// failed calls and new user messages.
///
/// Executed calls keep their label and arguments, and always stay. Other unaffected calls stay while a goal or an
/// executed call depends on them. New calls get labels that the present plan does not use. A call that is identical to
/// an executed one is merged with it. The limits are those of [`generate()`](super::generate()); kept calls count
/// towards the limit of calls.
pub async fn regenerate(
    inputs: &PlanInputs<'_>,
    present: &PresentPlan<'_>,
    renewal: &Renewal<'_>,
    model: &dyn TextSource,
    settings: &GenerationSettings,
) -> GenerationOutcome {
    let mut generation = PlanGeneration::new(inputs, model, settings);
    let result = generation.regenerate(present, renewal).await;
    generation.outcome(result)
}

impl PlanGeneration<'_> {
    async fn regenerate(&mut self, present: &PresentPlan<'_>, renewal: &Renewal<'_>) -> Result<Plan, GenerationError> {
        self.copy_plan(present);
        match renewal {
            Renewal::Calls { labels } => self.reopen(labels),
            Renewal::Goals => self.renew_goals().await?,
        }
        if self.draft.goals.is_empty() {
            return Err(GenerationError::NoTool);
        }
        self.complete_all().await
    }

    /// Copies the calls of the present plan into the draft, those closest to a goal first.
    fn copy_plan(&mut self, present: &PresentPlan<'_>) {
        let nodes = present.plan.nodes();
        self.draft = PlanDraft::beside(nodes.iter().map(|node| node.label.clone()).collect());
        let mut gone: Vec<&str> = Vec::new();
        for node in nodes.iter().rev() {
            let is_executed = present.executed.contains(&node.label);
            let label = node.label.clone();
            let status = if is_executed { DraftNodeStatus::Executed(label) } else { DraftNodeStatus::Kept(label) };
            let Some((position, tool)) = self.tool_of(&node.tool) else {
                if !is_executed {
                    self.notes.push(format!("{}: the tool no longer exists", node.tool));
                    gone.push(&node.label);
                }
                self.draft.set_aside(node.clone(), status);
                continue;
            };
            let copied = DraftNode::new(tool, position, node.task.clone());
            self.draft.add(DraftNode { arguments: node.arguments.clone(), status, ..copied });
        }
        let goals: Vec<usize> = present.plan.finals().iter().filter_map(|label| self.draft.at(label)).collect();
        self.draft.set_goals(goals);
        self.draft.measure();
        // Arguments supplied by a missing tool need another source.
        let affected = nodes.iter().filter(|node| node.feeders().any(|feeder| gone.contains(&feeder)));
        let affected: Vec<String> = affected.map(|node| node.label.clone()).collect();
        self.reopen(&affected);
    }

    /// Returns the tool of this name and its position; offered tools have precedence.
    pub(super) fn tool_of(&self, name: &str) -> Option<(usize, PlanTool)> {
        let PlanInputs { offered, producers, tools, .. } = self.inputs;
        let positions = offered.iter().copied().chain(producers.position(name));
        positions.filter_map(|at| Some((at, tools.tool(at)?))).find(|(_, tool)| tool.tool.name() == name)
    }

    fn reopen(&mut self, labels: &[String]) {
        for label in labels {
            match self.draft.at(label) {
                Some(at) => self.draft.reopen(at),
                None => self.notes.push(format!("the plan has no call `{label}` that can be changed")),
            }
        }
    }

    async fn renew_goals(&mut self) -> Result<(), GenerationError> {
        let mut tools = self.offered();
        for (_, node) in self.draft.nodes().filter(|(at, _)| self.draft.goals.contains(at)) {
            if tools.iter().all(|(position, _)| *position != node.position) {
                tools.push((node.position, node.tool.clone()));
            }
        }
        let RenewalAnswer { goals, changed } = self.select_again(&tools).await?;
        let missing = self.draft.nodes().filter(|(_, node)| {
            node.arguments.iter().any(|argument| matches!(argument.source, Source::Missing { .. }))
        });
        let missing: Vec<usize> = missing.map(|(at, _)| at).collect();
        missing.into_iter().for_each(|at| self.draft.reopen(at));
        self.reopen(&changed);
        let former = self.draft.goals.clone();
        let existing: Vec<Option<usize>> = goals.iter().map(|goal| self.existing_call(goal, &goals, &former)).collect();
        // Kept goals have precedence over new ones for the remaining room.
        self.draft.set_goals(existing.iter().flatten().copied());
        let mut room = self.draft.room(self.settings.nodes);
        let mut all = Vec::new();
        for (goal, existing) in goals.into_iter().zip(existing) {
            let named = tools.iter().find(|(_, tool)| tool.tool.name() == goal.tool);
            match (existing, named) {
                (Some(at), _) => all.push(at),
                (None, Some((position, tool))) if room > 0 => {
                    all.push(self.draft.add(DraftNode::new(tool.clone(), *position, goal.task)));
                    room -= 1;
                }
                (None, _) => self.notes.push(format!("the limit of calls is reached; omitted goal: {}", goal.tool)),
            }
        }
        self.draft.set_goals(all);
        self.draft.measure();
        Ok(())
    }

    async fn select_again(&mut self, tools: &[(usize, PlanTool)]) -> Result<RenewalAnswer, GenerationError> {
        let descriptions: Vec<(&str, &str)> =
            tools.iter().map(|(_, tool)| (tool.tool.name(), tool.tool.tool.description.as_str())).collect();
        let names: HashSet<&str> = descriptions.iter().map(|(name, _)| *name).collect();
        let present = present_data(&self.draft);
        let question = question(&self.conversation, &present, &descriptions, self.settings);
        let limit = self.settings.nodes;
        let checked = self.requester.select(question, |text| parse_renewal(text, &present, &names, limit)).await?;
        let (renewal, faults) = checked.into_usable()?;
        self.notes.extend(faults);
        Ok(renewal)
    }

    /// Returns the call of the present plan that a selected goal refers to: one with the same task, or the only one of
    /// its tool if the tool is selected once. An executed call matches by its task only, because the tool may be needed
    /// again.
    fn existing_call(&self, goal: &SelectedGoal, goals: &[SelectedGoal], former: &[usize]) -> Option<usize> {
        let of_tool = former.iter().filter_map(|at| Some((*at, self.draft.get(*at)?)));
        let of_tool: Vec<_> = of_tool.filter(|(_, node)| node.tool.tool.name() == goal.tool).collect();
        let of_task = of_tool.iter().find(|(_, node)| is_same(&goal.tool, &node.task, &goal.tool, &goal.task));
        if let Some((at, _)) = of_task {
            return Some(*at);
        }
        let is_alone = goals.iter().filter(|other| other.tool == goal.tool).count() == 1;
        match of_tool.as_slice() {
            [(at, node)] if is_alone && !matches!(node.status, DraftNodeStatus::Executed(_)) => Some(*at),
            _ => None,
        }
    }
}

fn present_data(draft: &PlanDraft) -> PresentData<'_> {
    let goals = draft.goals.iter().filter_map(|at| {
        let node = draft.get(*at)?;
        let done = matches!(node.status, DraftNodeStatus::Executed(_));
        Some(PresentGoal { tool: node.tool.tool.name(), task: &node.task, done })
    });
    let open = draft.nodes().filter(|(_, node)| !matches!(node.status, DraftNodeStatus::Executed(_)));
    let calls = open.map(|(at, node)| {
        let (tool, task) = (node.tool.tool.name(), node.task.as_str());
        PresentCall { call: draft.label(at), tool, task, arguments: previous_arguments(node) }
    });
    PresentData { goals: goals.collect(), calls: calls.collect() }
}

/// Plan in progress, as shown in the prompt.
#[derive(Debug, Serialize)]
pub(super) struct PresentData<'a> {
    pub(super) goals: Vec<PresentGoal<'a>>,
    /// Calls that are not executed yet.
    pub(super) calls: Vec<PresentCall<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct PresentGoal<'a> {
    pub(super) tool: &'a str,
    pub(super) task: &'a str,
    pub(super) done: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct PresentCall<'a> {
    pub(super) call: String,
    pub(super) tool: &'a str,
    pub(super) task: &'a str,
    pub(super) arguments: Map<String, Value>,
}

#[derive(Serialize)]
struct RenewalPromptData<'a> {
    #[serde(flatten)]
    conversation: &'a ConversationData<'a>,
    present: &'a PresentData<'a>,
    tools: Vec<OfferedData<'a>>,
}

/// Builds the prompt that requests the current goals.
pub(super) fn question(
    conversation: &ConversationData<'_>,
    present: &PresentData<'_>,
    tools: &[(&str, &str)],
    settings: &GenerationSettings,
) -> Question<RenewalAnswer> {
    let system = format!(
        "You plan calls of tools backward, from the request of the user. A plan is in progress, `present`, and the user has sent another \
         message. Determine the current goals.\n\n{DATA}\n\n\
         Rules:\n\
         1. `goals` are the independent things that the user now requests. Repeat the `present.goals` that are still requested, with the \
         same `tool` and `task`. Omit those that the user has given up and those that are `done`.\n\
         2. Add new requests: for each goal, the one tool whose call is the last step. Omit tools that are only needed to find an argument \
         of another call. `task` describes the call in a few words.\n\
         3. `changed` names the `present.calls` of which the latest message of the user changes an argument or supplies a missing one.\n\
         4. If nothing is requested any more, `goals` is [].\n\n\
         Example: `present` has the goal `water_plant` (\"water the fern\") with the pending call `call1`, and the user writes \"Two litres, and \
         write to Ada\". The answer is {{\"goals\": [{{\"tool\": \"water_plant\", \"task\": \"water the fern\"}}, {{\"tool\": \
         \"send_message\", \"task\": \"write to Ada\"}}], \"changed\": [\"call1\"]}}\n\n\
         Answer with one JSON object and nothing else: {{\"goals\": [{{\"tool\": \"...\", \"task\": \"...\"}}], \"changed\": [\"...\"]}}"
    );
    let names: Vec<&str> = tools.iter().map(|(name, _)| *name).collect();
    let calls: Vec<&str> = present.calls.iter().map(|call| call.call.as_str()).collect();
    let data = RenewalPromptData { conversation, present, tools: offered(tools, settings) };
    Question::new(system, &data)
        .allowing("/properties/goals/items/properties/tool", &names)
        .allowing("/properties/changed/items", &calls)
}

/// Current goals and changed calls.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub(super) struct RenewalAnswer {
    pub(super) goals: Vec<SelectedGoal>,
    /// Labels of calls whose arguments have to be requested again.
    #[serde(default)]
    pub(super) changed: Vec<String>,
}

/// Parses and validates an answer.
pub(super) fn parse_renewal(
    text: &str,
    present: &PresentData<'_>,
    tools: &HashSet<&str>,
    at_most: usize,
) -> CheckedAnswer<RenewalAnswer> {
    let RenewalAnswer { goals, mut changed } = match parse(text) {
        Ok(renewal) => renewal,
        Err(fault) => return CheckedAnswer::unusable(fault),
    };
    let CheckedAnswer { taken, mut faults } = validate_goals(goals, tools, at_most);
    let before = changed.len();
    changed.retain(|label| present.calls.iter().any(|call| call.call == *label));
    if changed.len() < before {
        faults.push("`changed` names calls that are none of `present.calls`".to_owned());
    }
    CheckedAnswer { taken: taken.map(|goals| RenewalAnswer { goals, changed }), faults }
}

#[cfg(test)]
mod tests {
    use callwright_judge::repair::answers::assert_understood;

    use super::*;

    #[test]
    fn renewed_goals_are_read_in_every_habit() {
        let call = PresentCall { call: "call1".to_owned(), tool: "water", task: "", arguments: Map::new() };
        let present = PresentData { goals: Vec::new(), calls: vec![call] };
        let one = r#"{"goals": [{"tool": "water", "task": "the fern's pot"}], "changed": ["call1"]}"#;
        let goal = SelectedGoal { tool: "water".to_owned(), task: "the fern's pot".to_owned() };
        let expected = RenewalAnswer { goals: vec![goal], changed: vec!["call1".to_owned()] };
        let tools = HashSet::from(["water"]);
        assert_understood("renewal", one, &expected, |text| parse_renewal(text, &present, &tools, 4).taken);
        let none = RenewalAnswer { goals: Vec::new(), changed: Vec::new() };
        let nothing = r#"{"goals": [], "changed": []}"#;
        assert_understood("renewal", nothing, &none, |text| parse_renewal(text, &present, &tools, 4).taken);
    }
}
