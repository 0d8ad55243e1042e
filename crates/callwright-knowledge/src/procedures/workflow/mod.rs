//! A new procedure for a request, made of those that are known (AAG, section 3.5): the outline of what to do.
//!
//! Order: the procedures that fit the request are retrieved, and a draft is made of them; the request is outlined and rewritten into
//! questions; for each question procedures are retrieved and summarised as its answer; the draft is updated from each answer; a critic
//! says what is to be edited, until nothing is. The switches of [`Settings`] leave out what the paper's ablations do (section
//! 4.5). A workflow that cannot go on gives the best that it has so far.

mod asker;
mod lookup;
mod prompts;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use serde::Deserialize;

pub use lookup::{Lookup, Outputs};

use super::{Settings, Wording};
use asker::{Asker, Asking, Stop};
use callwright_types::Cost;
use callwright_upstream::TextSource;
use lookup::{Fitting, Retrieved};
use prompts::{Answered, Task, edited, questions, reviewed, summary, updated};

/// What a workflow may spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Requests to the model.
    pub requests: u64,
    /// Tokens of prompts and answers; where nobody counts them, estimates.
    pub tokens: u64,
}

/// What is to be done.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// What the user asks for.
    pub request: &'a str,
    /// The tools in play, best first: names and descriptions.
    pub tools: &'a [(&'a str, &'a str)],
}

/// What came of a workflow.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outline {
    /// What to do, step by step; empty where nothing came of it.
    pub steps: Vec<String>,
    /// The ids of the procedures that fit the request itself, the withheld ones among them, best first.
    pub fitting: Vec<String>,
    /// The ids of the procedures that it rests on, in the order in which they were found.
    pub procedures: Vec<String>,
    /// What it has cost.
    pub cost: Cost,
    /// Why it ended before its end, where it did.
    pub stopped: Option<String>,
}

/// Makes the outline of what to do. Nothing is asked where no procedure fits the request.
pub async fn outline(
    wanted: &Wanted<'_>,
    lookup: &Lookup<'_>,
    source: &dyn TextSource,
    budget: Budget,
    settings: &Settings,
) -> Outline {
    let mut run = Run {
        task: Task::of(wanted, settings),
        lookup,
        asker: Asker { source, budget, spent: Cost::default(), settings },
        settings,
        fitting: Vec::new(),
        retrieved: Retrieved::default(),
        steps: Vec::new(),
    };
    let stopped = run.all().await.err().map(|stop| stop.to_string());
    let Run { steps, fitting, retrieved, asker, .. } = run;
    Outline { steps, fitting, procedures: retrieved.ids(), cost: asker.spent, stopped }
}

/// Steps as a model is shown them, behind the message that asks for them.
pub fn note(steps: &[String]) -> String {
    let mut note = "Similar requests were served by steps like these. They are an outline: take values from the conversation and from what tools answer, \
        and leave out what does not apply."
        .to_owned();
    for (number, step) in (1..).zip(steps) {
        let _ = write!(note, "\n{number}. {step}");
    }
    note
}

/// A workflow under way.
struct Run<'a> {
    task: Task<'a>,
    lookup: &'a Lookup<'a>,
    asker: Asker<'a>,
    settings: &'a Settings,
    fitting: Vec<String>,
    retrieved: Retrieved,
    /// The best so far.
    steps: Vec<String>,
}

/// Steps in words.
#[derive(Debug, Deserialize)]
struct Steps {
    steps: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Questions {
    questions: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Summary {
    answer: String,
}

#[derive(Debug, Deserialize)]
struct Edits {
    edits: Vec<String>,
}

impl Run<'_> {
    async fn all(&mut self) -> Result<(), Stop> {
        let Fitting { ids, shown: found } = self.lookup.for_request(self.task.request, self.settings).await;
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

    /// Rewrites the request, looks up each question, and updates the draft from what was found.
    async fn update(&mut self) -> Result<Vec<Answered>, Stop> {
        let asked: Asking<Questions> = self.asker.ask(&questions(&self.task, self.settings)).await?;
        let Some(Questions { questions }) = asked else { return Ok(Vec::new()) };
        let mut context = Vec::new();
        let mut all = Retrieved::default();
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
            let summed: Asking<Summary> = self.asker.ask(&summary(&self.task, &question, &found)).await?;
            let answer = summed.map(|summed| self.short(vec![summed.answer], 1)).unwrap_or_default().pop();
            context.extend(answer.map(|answer| Answered::Summary { question, answer }));
        }
        // Without summaries all that was found is one context, each procedure once.
        if !all.is_empty() {
            context.push(Answered::Whole { procedures: all.wordings() });
        }
        for answered in &context {
            let steps = self.asker.ask(&updated(&self.task, &self.steps, answered)).await?;
            self.take(steps);
        }
        Ok(context)
    }

    /// Has the steps reviewed and edited until nothing is to be edited.
    async fn refine(&mut self, context: &[Answered]) -> Result<(), Stop> {
        for _ in 0..self.settings.critic_rounds {
            let review: Asking<Edits> = self.asker.ask(&reviewed(&self.task, &self.steps)).await?;
            let edits = review.map(|review| self.short(review.edits, self.settings.outline_steps)).unwrap_or_default();
            if edits.is_empty() {
                break;
            }
            let steps = self.asker.ask(&edited(&self.task, &self.steps, &edits, context)).await?;
            self.take(steps);
        }
        Ok(())
    }

    /// Takes steps over where there are any.
    fn take(&mut self, answered: Asking<Steps>) {
        let steps = answered.map(|Steps { steps }| self.short(steps, self.settings.outline_steps)).unwrap_or_default();
        if !steps.is_empty() {
            self.steps = steps;
        }
    }

    /// Of a model's texts as many as may be, each on one line and not too long.
    fn short(&self, texts: Vec<String>, at_most: usize) -> Vec<String> {
        let one_line = |text: &String| -> String {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            text.chars().filter(|letter| !letter.is_control()).take(self.settings.step_chars).collect()
        };
        texts.iter().map(one_line).filter(|text| !text.is_empty()).take(at_most).collect()
    }
}

impl From<Wording<'_>> for prompts::Known {
    fn from(wording: Wording<'_>) -> Self {
        Self { input: wording.needs().collect(), output: wording.output.to_owned(), steps: wording.steps.to_vec() }
    }
}
