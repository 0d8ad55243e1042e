//! Creates an outline for a request from known procedures (AAG, section 3.5).
//!
//! A draft is made of the procedures that fit the request. The request is outlined and rewritten into questions. For
//! each question, procedures are retrieved and summarised as its answer, and the draft is updated from each answer. A
//! critic requests edits until none are needed. The switches of [`Settings`] disable the same parts as the paper's
//! ablations (section 4.5). A workflow that cannot continue returns its best result so far.

mod asker;
mod lookup;
mod prompts;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use serde::Deserialize;

pub use asker::Budget;
pub use lookup::{Lookup, Outputs};
pub use prompts::Wanted;

use super::Settings;
use asker::{OneMember, OutlineRequester, OutlineStop, ParsedAnswer};
use callwright_types::Cost;
use callwright_upstream::TextSource;
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
    wanted: &Wanted<'_>,
    lookup: &Lookup<'_>,
    source: &dyn TextSource,
    budget: Budget,
    settings: &Settings,
) -> Outline {
    let mut run = OutlineRun {
        task: OutlineTask::of(wanted, settings),
        lookup,
        asker: OutlineRequester { source, budget, spent: Cost::default(), settings },
        settings,
        fitting: Vec::new(),
        retrieved: RetrievedProcedures::default(),
        steps: Vec::new(),
    };
    let stopped = run.all().await.err().map(|stop| stop.to_string());
    let OutlineRun { steps, fitting, retrieved, asker, .. } = run;
    Outline { steps, fitting, procedures: retrieved.ids(), cost: asker.spent, stopped }
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
    lookup: &'a Lookup<'a>,
    asker: OutlineRequester<'a>,
    settings: &'a Settings,
    fitting: Vec<String>,
    retrieved: RetrievedProcedures,
    /// Best steps so far.
    steps: Vec<String>,
}

/// Steps in words.
#[derive(Debug, Deserialize)]
struct StepsAnswer {
    steps: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct QuestionsAnswer {
    questions: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct SummaryAnswer {
    answer: String,
}

#[derive(Debug, Deserialize)]
struct EditsAnswer {
    edits: Vec<String>,
}

impl OneMember for StepsAnswer {
    const MEMBER: &str = "steps";
}

impl OneMember for QuestionsAnswer {
    const MEMBER: &str = "questions";
}

impl OneMember for SummaryAnswer {
    const MEMBER: &str = "answer";
    const IS_LIST: bool = false;
}

impl OneMember for EditsAnswer {
    const MEMBER: &str = "edits";
}

impl OutlineRun<'_> {
    async fn all(&mut self) -> Result<(), OutlineStop> {
        let FittingProcedures { ids, shown: found } = self.lookup.for_request(self.task.request, self.settings).await;
        self.fitting = ids;
        if found.is_empty() {
            return Ok(());
        }
        self.retrieved.add(&found);
        let drafted = self.asker.ask(&prompts::draft(&self.task, &found)).await?;
        self.take(drafted);
        if self.steps.is_empty() {
            return Ok(());
        }
        let context = if self.settings.rewriting { self.update().await? } else { Vec::new() };
        if self.settings.critic { self.refine(&context).await } else { Ok(()) }
    }

    /// Rewrites the request into questions, retrieves procedures for each, and updates the draft from them.
    async fn update(&mut self) -> Result<Vec<OutlineContext>, OutlineStop> {
        let asked: ParsedAnswer<QuestionsAnswer> = self.asker.ask(&questions(&self.task, self.settings)).await?;
        let Some(QuestionsAnswer { questions }) = asked else { return Ok(Vec::new()) };
        let mut context = Vec::new();
        let mut all = RetrievedProcedures::default();
        for question in self.short(questions, self.settings.questions) {
            let found = self.lookup.find(&question, self.settings.k).await;
            if found.is_empty() {
                continue;
            }
            self.retrieved.add(&found);
            if !self.settings.summaries {
                all.add(&found);
                continue;
            }
            let summed: ParsedAnswer<SummaryAnswer> = self.asker.ask(&summary(&self.task, &question, &found)).await?;
            let answer = summed.map(|summed| self.short(vec![summed.answer], 1)).unwrap_or_default().pop();
            context.extend(answer.map(|answer| OutlineContext::Summary { question, answer }));
        }
        // Without summaries, all procedures found are one context, each once.
        if !all.is_empty() {
            context.push(OutlineContext::Whole { procedures: all.wordings() });
        }
        for answered in &context {
            let steps = self.asker.ask(&updated(&self.task, &self.steps, answered)).await?;
            self.take(steps);
        }
        Ok(context)
    }

    /// Reviews and edits the steps until no edits are needed.
    async fn refine(&mut self, context: &[OutlineContext]) -> Result<(), OutlineStop> {
        for _ in 0..self.settings.critic_rounds {
            let review: ParsedAnswer<EditsAnswer> = self.asker.ask(&reviewed(&self.task, &self.steps)).await?;
            let edits = review.map(|review| self.short(review.edits, self.settings.outline_steps)).unwrap_or_default();
            if edits.is_empty() {
                break;
            }
            let steps = self.asker.ask(&edited(&self.task, &self.steps, &edits, context)).await?;
            self.take(steps);
        }
        Ok(())
    }

    /// Replaces the steps unless the answer is empty.
    fn take(&mut self, answered: ParsedAnswer<StepsAnswer>) {
        let steps =
            answered.map(|StepsAnswer { steps }| self.short(steps, self.settings.outline_steps)).unwrap_or_default();
        if !steps.is_empty() {
            self.steps = steps;
        }
    }

    /// Returns at most `at_most` non-empty texts, each on one line and truncated.
    fn short(&self, texts: Vec<String>, at_most: usize) -> Vec<String> {
        let lines = texts.iter().map(|text| -> String {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            text.chars().filter(|letter| !letter.is_control()).take(self.settings.step_chars).collect()
        });
        lines.filter(|text| !text.is_empty()).take(at_most).collect()
    }
}
