//! Run of the learner over the prepared inputs.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::job::LearnInputs;
use super::report::{Report, ToolScores};
use super::test::test;
use crate::OfflineError;
use crate::journal::{JournaledModel, journal_in};
use crate::representation::{
    LearnResult, LearnSettings, Learner, LearnerComponents, LearnerModel, LlmSelector, Proposer,
};
use callwright_common::progress::ProgressObserver;
use callwright_memory::representation::{LearnerRun, Ranking, StoredPattern};
use callwright_search::embedding::Embedder;
use callwright_types::Cost;

/// Components and settings of a run.
#[derive(Debug, Clone)]
pub struct LearnRun {
    /// Embedding model; without it, learning uses words only.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Source of proposals.
    pub proposer: Arc<dyn Proposer>,
    /// Selector among the found tools, if one is used.
    pub selector: Option<Arc<LlmSelector>>,
    /// Model behind proposer or selector, if any: for its answers and cost.
    pub model: Option<Arc<LearnerModel>>,
    /// Settings such as iterations, threshold and seed.
    pub settings: LearnSettings,
}

impl LearnRun {
    fn selector_name(&self) -> &str {
        self.selector.as_ref().map_or("none", |selector| selector.name())
    }
}

/// Learns, and writes the representations and the report. An interrupted run is resumed.
///
/// # Errors
/// [`OfflineError`] if learning is impossible, or files cannot be read or written.
pub async fn learn(
    prepared: &LearnInputs,
    run: LearnRun,
    observer: &dyn ProgressObserver,
) -> Result<Report, OfflineError> {
    let model = run.model.as_ref().map(|model| model.journal());
    model.map_or(Ok(()), |model| model.resume(journal_in(prepared.folder())))?;
    let begun = model.map_or_else(Timestamp::now, JournaledModel::begun);
    let (embedder, proposer, selector) = (run.embedder.clone(), run.proposer.clone(), run.selector.clone());
    let components = LearnerComponents { embedder, proposer, selector };
    let samples = &prepared.samples.samples;
    let mut learner = Learner::new(&prepared.texts(), samples, components, run.settings.clone(), Some(observer))
        .await
        .map_err(OfflineError::Learning)?;
    while learner.step().await.map_err(OfflineError::Learning)? {}
    let learned = learner.result().await.map_err(OfflineError::Learning)?;
    let mut report = report(prepared, &run, &learned, model.map(JournaledModel::cost).unwrap_or_default());
    if !report.has_learned_nothing() {
        write(prepared, &run, &learned, &report, begun.to_zoned(TimeZone::UTC).date())?;
    }
    report.test = test(prepared, run.embedder.as_deref()).await?;
    prepared.write_report(&report)?;
    model.map_or(Ok(()), JournaledModel::finish)?;
    Ok(report)
}

fn write(
    prepared: &LearnInputs,
    run: &LearnRun,
    learned: &LearnResult,
    report: &Report,
    date: Date,
) -> Result<(), OfflineError> {
    let proposer = run.proposer.name();
    let stored = learned.tools.iter().map(|tool| {
        let patterns = tool.patterns.iter();
        let patterns = patterns.map(|learned| StoredPattern::learned(&learned.pattern, proposer, learned.gain, date));
        (tool.tool.clone(), patterns.collect())
    });
    let by = LearnerRun {
        date,
        proposer: proposer.to_owned(),
        embedder: report.embedder.clone(),
        seed: report.seed,
        macro_f1: Some((report.before, report.after)),
    };
    let ranking = Ranking { sharpness: learned.fusion.sharpness, words: learned.fusion.words };
    let file = prepared.file(by, Some(ranking), &stored.collect::<HashMap<_, _>>())?;
    prepared.write(file, learned.classifier.as_ref(), report)
}

fn report(prepared: &LearnInputs, run: &LearnRun, learned: &LearnResult, cost: Cost) -> Report {
    let mut tools: Vec<ToolScores> = learned
        .tools
        .iter()
        .map(|tool| ToolScores {
            tool: tool.tool.clone(),
            before: tool.f1_before,
            after: tool.f1_after,
            patterns: tool.patterns.len() + prepared.kept(&tool.tool).len(),
        })
        .collect();
    tools.sort_by(|one, other| other.gain().total_cmp(&one.gain()).then_with(|| one.tool.cmp(&other.tool)));
    Report {
        toolset: prepared.toolset().map(str::to_owned),
        proposer: run.proposer.name().to_owned(),
        selector: run.selector_name().to_owned(),
        embedder: run.embedder.as_ref().map(|embedder| embedder.id().to_owned()),
        seed: run.settings.seed,
        threshold: run.settings.threshold,
        samples: prepared.samples.samples.len(),
        validation_share: learned.validation_share,
        before: learned.curve.first().map_or(0.0, |point| point.macro_f1),
        after: learned.curve.last().map_or(0.0, |point| point.macro_f1),
        curve: learned.curve.clone(),
        tools,
        patterns: learned.tools.iter().map(|tool| tool.patterns.len()).sum(),
        test: None,
        classifier: learned.classifier.as_ref().map(|classifier| classifier.effect),
        confusions: learned.confusions.clone(),
        failures: learned.failures.clone(),
        cost,
    }
}
