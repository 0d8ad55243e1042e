//! Creates an outline for a request from existing procedures (AAG, section 3.5).
//!
//! A draft is made of the procedures that fit the request. The request is outlined and rewritten into questions. For
//! each question, procedures are retrieved and summarised as its answer, and the draft is updated from each answer. A
//! critic requests edits until none are needed. The switches of [`Settings`] disable the same parts as the paper's
//! ablations (section 4.5). A workflow that cannot continue returns its best result so far.

mod answers;
mod lookup;
mod prompts;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

pub use lookup::{ProcedureLookup, ToolOutputs};
pub use prompts::OutlineRequest;

use super::Settings;
use answers::ONE_TEXT;
use callwright_common::text::{beginning, one_line};
use callwright_prompt::{BudgetedModel, NoAnswer, Question};
use callwright_types::Cost;
use callwright_upstream::{RequestLimits, TextSource};
use lookup::{FittingProcedures, RetrievedProcedures};
use prompts::{OutlineContext, OutlineTask, edited, questions, reviewed, summary, updated};

/// Result of a workflow.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outline {
    /// Steps; empty if the workflow produced none.
    pub steps: Vec<String>,
    /// Ids of the procedures that fit the request itself, withheld ones included, best first.
    pub fitting: Vec<String>,
    /// Ids of the procedures that the outline is based on, in the order of retrieval.
    pub procedures: Vec<String>,
    /// Cost of the requests.
    pub cost: Cost,
    /// Why the workflow ended early, if it did.
    pub stopped: Option<String>,
}

/// Creates an outline. No request is sent if no procedure fits.
pub async fn outline(
    request: &OutlineRequest<'_>,
    lookup: &ProcedureLookup<'_>,
    source: &dyn TextSource,
    limits: RequestLimits,
    settings: &Settings,
) -> Outline {
    let mut run = OutlineRun {
        task: OutlineTask::new(request, settings),
        lookup,
        model: BudgetedModel::new(source, settings.temperature, limits),
        settings,
        fitting: Vec::new(),
        retrieved: RetrievedProcedures::default(),
        steps: Vec::new(),
    };
    let stopped = run.run().await.err().map(|reason| match reason {
        NoAnswer::Limit(limit) => format!("the outline exceeds a limit: {limit}"),
        NoAnswer::Failed(reason) | NoAnswer::Refused(reason) => reason,
    });
    let OutlineRun { steps, fitting, retrieved, model, .. } = run;
    Outline { steps, fitting, procedures: retrieved.ids(), cost: model.spent, stopped }
}

/// Returns the steps as a note for the model, appended to the user's message.
pub fn note(steps: &[String]) -> String {
    let mut note = "Similar requests were served by steps like these. They are an outline: take values from the conversation and from what tools answer, \
        and leave out what does not apply."
        .to_owned();
    for (number, step) in (1..).zip(steps) {
        let _ = write!(note, "\n{number}. {step}");
    }
    note
}

/// Workflow in progress.
struct OutlineRun<'a> {
    task: OutlineTask<'a>,
    lookup: &'a ProcedureLookup<'a>,
    model: BudgetedModel<'a>,
    settings: &'a Settings,
    fitting: Vec<String>,
    retrieved: RetrievedProcedures,
    /// Best steps so far.
    steps: Vec<String>,
}

impl OutlineRun<'_> {
    async fn run(&mut self) -> Result<(), NoAnswer> {
        let FittingProcedures { ids, shown: found } = self.lookup.for_request(self.task.request, self.settings).await;
        self.fitting = ids;
        if found.is_empty() {
            return Ok(());
        }
        self.retrieved.add(&found);
        let drafted = self.request(&prompts::draft(&self.task, &found, self.settings), "steps").await?;
        self.replace_steps(drafted);
        if self.steps.is_empty() {
            return Ok(());
        }
        let context = if self.settings.rewriting { self.update().await? } else { Vec::new() };
        if self.settings.critic { self.refine(&context).await } else { Ok(()) }
    }

    /// Rewrites the request into questions, retrieves procedures for each, and updates the draft from them.
    async fn update(&mut self) -> Result<Vec<OutlineContext>, NoAnswer> {
        let Some(questions) = self.request(&questions(&self.task, self.settings), "questions").await? else {
            return Ok(Vec::new());
        };
        let mut context = Vec::new();
        let mut all = RetrievedProcedures::default();
        for question in self.normalized(questions, self.settings.questions) {
            let found = self.lookup.find(&question, self.settings.k).await;
            if found.is_empty() {
                continue;
            }
            self.retrieved.add(&found);
            if !self.settings.summaries {
                all.add(&found);
                continue;
            }
            let summarized = self.request(&summary(&self.task, &question, &found), ONE_TEXT).await?;
            let answer = summarized.map(|summary| self.normalized(summary, 1)).unwrap_or_default().pop();
            context.extend(answer.map(|answer| OutlineContext::Summary { question, answer }));
        }
        // Without summaries, all procedures found are one context, each once.
        if !all.is_empty() {
            context.push(OutlineContext::Whole { procedures: all.wordings() });
        }
        for answer in &context {
            let steps = self.request(&updated(&self.task, &self.steps, answer, self.settings), "steps").await?;
            self.replace_steps(steps);
        }
        Ok(context)
    }

    /// Reviews and edits the steps until no edits are needed.
    async fn refine(&mut self, context: &[OutlineContext]) -> Result<(), NoAnswer> {
        for _ in 0..self.settings.critic_rounds {
            let review = self.request(&reviewed(&self.task, &self.steps, self.settings), "edits").await?;
            let edits = review.map(|edits| self.normalized(edits, self.settings.outline_steps)).unwrap_or_default();
            if edits.is_empty() {
                break;
            }
            let steps = self.request(&edited(&self.task, &self.steps, &edits, context, self.settings), "steps").await?;
            self.replace_steps(steps);
        }
        Ok(())
    }

    async fn request<T>(&mut self, question: &Question<T>, member: &str) -> Result<Option<Vec<String>>, NoAnswer> {
        answers::request(&mut self.model, question, member, self.settings.tries).await
    }

    /// Replaces the steps unless the answer is empty.
    fn replace_steps(&mut self, answer: Option<Vec<String>>) {
        let steps = answer.map(|steps| self.normalized(steps, self.settings.outline_steps)).unwrap_or_default();
        if !steps.is_empty() {
            self.steps = steps;
        }
    }

    /// Returns at most `at_most` non-empty texts, each on one line and truncated.
    fn normalized(&self, texts: Vec<String>, at_most: usize) -> Vec<String> {
        let lines = texts.iter().map(|text| beginning(&one_line(text), self.settings.step_chars).to_owned());
        lines.filter(|text| !text.is_empty()).take(at_most).collect()
    }
}
