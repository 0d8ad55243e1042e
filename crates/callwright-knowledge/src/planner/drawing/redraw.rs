//! Regenerates a part of a plan. Executed and unaffected calls are kept.

use std::collections::HashSet;

use super::accept::is_same;
use super::answer::SelectedGoal;
use super::complete::before;
use super::draft::{DraftNode, DraftNodeStatus, PlanDraft};
use super::draw::{Drawn, Occasion, PlanGeneration};
use super::error::Undrawn;
use super::model::{PlanningModel, Purpose, Question};
use super::renewed_goals::{PresentCall, PresentData, PresentGoal, RenewalAnswer, form, question, renewed};
use super::settings::DrawSettings;
use super::tools::PlanTool;
use callwright_types::Plan;
use callwright_types::plan::Source;

/// Plan in progress.
#[derive(Debug, Clone, Copy)]
pub struct Present<'a> {
    /// Plan.
    pub plan: &'a Plan,
    /// Labels of the executed calls with answers. They stay unchanged and can supply other calls.
    pub made: &'a HashSet<String>,
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
/// an executed one is merged with it. The limits are those of [`draw()`](super::draw()); kept calls count towards the
/// limit of calls.
pub async fn redraw(
    occasion: &Occasion<'_>,
    present: &Present<'_>,
    renewal: &Renewal<'_>,
    model: &dyn PlanningModel,
    settings: &DrawSettings,
) -> Drawn {
    let mut drawing = PlanGeneration::new(occasion, model, settings);
    let result = drawing.again(present, renewal).await;
    drawing.ended(result)
}

impl PlanGeneration<'_> {
    async fn again(&mut self, present: &Present<'_>, renewal: &Renewal<'_>) -> Result<Plan, Undrawn> {
        self.take_up(present);
        match renewal {
            Renewal::Calls { labels } => self.reopen(labels),
            Renewal::Goals => self.renew_goals().await?,
        }
        if self.draft.goals().is_empty() {
            return Err(Undrawn::Nothing);
        }
        self.complete_all().await
    }

    /// Copies the calls of the present plan into the draft, those closest to a goal first.
    fn take_up(&mut self, present: &Present<'_>) {
        let nodes = present.plan.nodes();
        self.draft = PlanDraft::beside(nodes.iter().map(|node| node.label.clone()).collect());
        let mut gone: Vec<&str> = Vec::new();
        for node in nodes.iter().rev() {
            let is_made = present.made.contains(&node.label);
            let label = node.label.clone();
            let standing = if is_made { DraftNodeStatus::Made(label) } else { DraftNodeStatus::Kept(label) };
            let Some((position, tool)) = self.tool_of(&node.tool) else {
                if !is_made {
                    self.notes.push(format!("{}: the tool no longer exists", node.tool));
                    gone.push(&node.label);
                }
                self.draft.set_aside(node.clone(), standing);
                continue;
            };
            let known = DraftNode::new(tool, position, node.task.clone());
            self.draft.add(DraftNode { arguments: node.arguments.clone(), standing, ..known });
        }
        let goals: Vec<usize> = present.plan.finals().iter().filter_map(|label| self.draft.at(label)).collect();
        self.draft.set_goals(goals);
        self.draft.measure();
        // Arguments supplied by a missing tool need another source.
        let fed = nodes.iter().filter(|node| node.feeders().any(|feeder| gone.contains(&feeder)));
        let fed: Vec<String> = fed.map(|node| node.label.clone()).collect();
        self.reopen(&fed);
    }

    /// Returns the tool of this name and its position; offered tools have precedence.
    pub(super) fn tool_of(&self, name: &str) -> Option<(usize, PlanTool)> {
        let Occasion { offered, producers, tools, .. } = self.occasion;
        let places = offered.iter().copied().chain(producers.position(name));
        places.filter_map(|at| Some((at, tools.tool(at)?))).find(|(_, tool)| tool.tool.name() == name)
    }

    fn reopen(&mut self, labels: &[String]) {
        for label in labels {
            match self.draft.at(label) {
                Some(at) => self.draft.reopen(at),
                None => self.notes.push(format!("the plan has no call `{label}` that can be changed")),
            }
        }
    }

    async fn renew_goals(&mut self) -> Result<(), Undrawn> {
        let mut tools = self.offered();
        for (_, node) in self.draft.nodes().filter(|(at, _)| self.draft.goals().contains(at)) {
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
        let former = self.draft.goals().to_vec();
        let known: Vec<Option<usize>> = goals.iter().map(|goal| self.known(goal, &goals, &former)).collect();
        // Kept goals have precedence over new ones for the remaining room.
        self.draft.set_goals(known.iter().flatten().copied());
        let mut room = self.draft.room(self.settings.nodes);
        let mut all = Vec::new();
        for (goal, known) in goals.into_iter().zip(known) {
            let named = tools.iter().find(|(_, tool)| tool.tool.name() == goal.tool);
            match (known, named) {
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

    async fn select_again(&mut self, tools: &[(usize, PlanTool)]) -> Result<RenewalAnswer, Undrawn> {
        let told: Vec<(&str, &str)> =
            tools.iter().map(|(_, tool)| (tool.tool.name(), tool.tool.tool.description.as_str())).collect();
        let names: HashSet<&str> = told.iter().map(|(name, _)| *name).collect();
        let present = present_data(&self.draft);
        let question = Question {
            purpose: Purpose::Selection,
            messages: question(&self.heard, &present, &told, self.settings),
            form: form(&present, &told),
            temperature: self.settings.temperature,
            requests: self.settings.requests,
        };
        let most = self.settings.nodes;
        let judged = self.asker.converse(question, |text| renewed(text, &present, &names, most)).await?;
        let renewed = judged.taken.ok_or_else(|| Undrawn::Unusable(judged.faults.join("; ")))?;
        self.notes.extend(judged.faults);
        Ok(renewed)
    }

    /// Returns the call of the present plan that a selected goal refers to: one with the same task, or the only one of
    /// its tool if the tool is selected once. An executed call matches by its task only, because the tool may be needed
    /// again.
    fn known(&self, goal: &SelectedGoal, goals: &[SelectedGoal], former: &[usize]) -> Option<usize> {
        let of_tool = former.iter().filter_map(|at| Some((*at, self.draft.get(*at)?)));
        let of_tool: Vec<_> = of_tool.filter(|(_, node)| node.tool.tool.name() == goal.tool).collect();
        let of_task = of_tool.iter().find(|(_, node)| is_same(&goal.tool, &node.task, &goal.tool, &goal.task));
        if let Some((at, _)) = of_task {
            return Some(*at);
        }
        let is_alone = goals.iter().filter(|other| other.tool == goal.tool).count() == 1;
        match of_tool.as_slice() {
            [(at, node)] if is_alone && !matches!(node.standing, DraftNodeStatus::Made(_)) => Some(*at),
            _ => None,
        }
    }
}

fn present_data(draft: &PlanDraft) -> PresentData<'_> {
    let goals = draft.goals().iter().filter_map(|at| {
        let node = draft.get(*at)?;
        let done = matches!(node.standing, DraftNodeStatus::Made(_));
        Some(PresentGoal { tool: node.tool.tool.name(), task: &node.task, done })
    });
    let open = draft.nodes().filter(|(_, node)| !matches!(node.standing, DraftNodeStatus::Made(_)));
    let calls = open.map(|(at, node)| {
        let (tool, task) = (node.tool.tool.name(), node.task.as_str());
        PresentCall { call: draft.label(at), tool, task, arguments: before(node) }
    });
    PresentData { goals: goals.collect(), calls: calls.collect() }
}
