//! Implements Algorithm 1 of the paper.

mod changes;
mod classifier;
mod confirming;
mod proposals;
mod selection;
#[cfg(test)]
mod tests;
mod tuning;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::board::ScoreBoard;
use super::result::{LearnResult, LearnedPattern, LearnedTool, LearningPoint};
use super::samples::{Sample, SampleSplit};
use super::similarities::{SampleQueries, SampleSimilarities};
use super::{LearnError, LearnSettings, ProposeError, Proposer};
use crate::representation::LlmSelector;
use callwright_common::progress::ProgressObserver;
use callwright_search::embedding::{Embedder, Vector};
use callwright_search::retrieval::{Fusion, ToolText};

/// Components that the learner uses.
#[derive(Debug, Clone)]
pub struct LearnerComponents {
    /// Embedder; `None`: only words are compared.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Proposer of patterns.
    pub proposer: Arc<dyn Proposer>,
    /// Selector among the retrieved tools; `None`: the first is taken.
    pub selector: Option<Arc<LlmSelector>>,
}

impl LearnerComponents {
    /// Returns the number of tools that the selector chooses from; 1 without a selector.
    fn candidates(&self) -> usize {
        self.selector.as_ref().map_or(1, |selector| selector.candidates())
    }
}

/// Maximum number of failures in a result.
const MAX_FAILURES: usize = 1000;

/// Run of the learner, between iterations.
#[derive(Debug)]
pub struct Learner<'a> {
    settings: LearnSettings,
    components: LearnerComponents,
    observer: Option<&'a dyn ProgressObserver>,
    failures: Mutex<BTreeSet<ProposeError>>,
    samples: SampleSplit,
    sample_queries: SampleQueries,
    tools: Vec<ToolLearningState>,
    similarities: SampleSimilarities,
    /// Vectors of the tools' own texts; empty without an embedder.
    own: Vec<Vector>,
    /// Requests that no tool serves.
    without_tool: SampleQueries,
    /// Selections of the model, by a hash of its input.
    selections: HashMap<u64, usize>,
    /// F1 of each tool at the start.
    before: Vec<Option<f64>>,
    curve: Vec<LearningPoint>,
    stale_iterations: usize,
    /// Samples that confirm changes: those for validation, and with a model's proposals further ones.
    confirming: Vec<usize>,
    /// State before the first change, if the confirming samples vary.
    initial: Option<Box<SampleSimilarities>>,
    /// Boards of the cross-validation, if there was one; see `add_from_all`.
    cross_validated: Vec<ScoreBoard>,
}

/// Learning state of a tool, apart from its patterns.
#[derive(Debug, Clone, Default)]
struct ToolLearningState {
    /// Number of patterns that belong to people; they come first and do not change.
    kept: usize,
    /// Gain of each pattern, in points of macro-F1.
    gains: Vec<f64>,
}

impl<'a> Learner<'a> {
    /// Creates a learner and requests the embeddings of tools and samples. Existing patterns of the tools are treated
    /// as those of people.
    ///
    /// # Errors
    /// [`LearnError`]: there are too few or too many samples, or embedding fails.
    pub async fn new(
        tools: &[ToolText],
        samples: &[Sample],
        components: LearnerComponents,
        settings: LearnSettings,
        observer: Option<&'a dyn ProgressObserver>,
    ) -> Result<Self, LearnError> {
        let samples = SampleSplit::new(samples, tools, settings.validation_share, settings.seed)?;
        let columns = tools.len().saturating_mul(2 + settings.max_patterns);
        let cells = samples.queries.len().saturating_mul(columns);
        if cells > settings.max_cells {
            return Err(LearnError::TooMany {
                samples: samples.queries.len(),
                tools: tools.len(),
                cells,
                most: settings.max_cells,
            });
        }
        let mut learner = Self::initial_state(tools, samples, components, settings, observer).await?;
        if learner.confirms_by_unquoted() {
            // Nothing is quoted yet.
            learner.confirming = (0..learner.samples.queries.len()).collect();
        }
        let board = learner.validation().await;
        learner.before =
            (0..tools.len()).map(|tool| ScoreBoard::f1_of_all(std::slice::from_ref(&board), tool)).collect();
        learner.record_point(board.macro_f1(), 0);
        if learner.confirms_by_unquoted() {
            learner.initial = Some(Box::new(learner.similarities.clone()));
        }
        Ok(learner)
    }

    /// Creates the state before anything is learned.
    async fn initial_state(
        tools: &[ToolText],
        samples: SampleSplit,
        components: LearnerComponents,
        settings: LearnSettings,
        observer: Option<&'a dyn ProgressObserver>,
    ) -> Result<Self, LearnError> {
        let mut sample_queries = SampleQueries { queries: samples.queries.clone(), vectors: Vec::new() };
        let mut without_tool = SampleQueries { queries: samples.without_tool.clone(), vectors: Vec::new() };
        let mut own = Vec::new();
        let mut fusion = Fusion { sharpness: 0.0, ..Fusion::default() };
        if let Some(embedder) = &components.embedder {
            sample_queries.vectors = embedder.embed(samples.queries.clone()).await?;
            without_tool.vectors = embedder.embed(samples.without_tool.clone()).await?;
            own = embedder.embed(tools.iter().map(ToolText::embedded).collect()).await?;
            fusion = Fusion::default();
        }
        let similarities = SampleSimilarities::new(tools, &own, &sample_queries, fusion);
        let mut learner = Self {
            tools: vec![ToolLearningState::default(); tools.len()],
            selections: HashMap::new(),
            before: Vec::new(),
            curve: Vec::new(),
            stale_iterations: 0,
            cross_validated: Vec::new(),
            settings,
            components,
            observer,
            failures: Mutex::default(),
            samples,
            sample_queries,
            similarities,
            own,
            without_tool,
            confirming: Vec::new(),
            initial: None,
        };
        learner.confirming.clone_from(&learner.samples.validation);
        for (at, tool) in tools.iter().enumerate().filter(|(_, tool)| !tool.patterns.is_empty()) {
            let added = learner.embedded(&tool.patterns).await?;
            learner.add_patterns(at, &added, 0.0);
            if let Some(tool) = learner.tools.get_mut(at) {
                tool.kept = added.len();
            }
        }
        learner.similarities.update_word_scores(&learner.sample_queries);
        Ok(learner)
    }

    /// Returns an unobserved run in its initial state with another split of the samples.
    fn with_split(&self, samples: SampleSplit) -> Learner<'static> {
        Learner {
            settings: self.settings.clone(),
            components: self.components.clone(),
            observer: None,
            failures: Mutex::default(),
            confirming: samples.validation.clone(),
            samples,
            sample_queries: self.sample_queries.clone(),
            tools: self.tools.clone(),
            similarities: self.similarities.clone(),
            initial: None,
            own: Vec::new(),
            without_tool: SampleQueries::default(),
            selections: HashMap::new(),
            before: Vec::new(),
            curve: Vec::new(),
            stale_iterations: 0,
            cross_validated: Vec::new(),
        }
    }

    /// Runs one iteration: adds patterns, edits them, and reverts changes without improvement. Returns `false` when
    /// learning has ended.
    ///
    /// # Errors
    /// [`LearnError::Embed`]: embedding fails.
    pub async fn step(&mut self) -> Result<bool, LearnError> {
        let iteration = self.curve.len();
        if iteration > self.settings.iterations || self.stale_iterations >= self.settings.patience {
            return Ok(false);
        }
        if iteration == 1
            && self.settings.add
            && let Some(macro_f1) = self.add_from_all().await?
        {
            self.stale_iterations = self.settings.patience;
            self.record_point(macro_f1, iteration);
            return Ok(true);
        }
        let mut start = self.best();
        let mut best = start;
        if self.settings.add {
            (start, best) = self.add(iteration, best).await?;
        }
        if self.settings.edit {
            best = self.edit(iteration == 1, best).await?;
        }
        self.stale_iterations = if best > start + self.settings.threshold { 0 } else { self.stale_iterations + 1 };
        self.record_point(best, iteration);
        Ok(true)
    }

    /// Returns the result so far, with a classifier.
    ///
    /// # Errors
    /// [`LearnError::Thread`]: a thread of the classifier cannot be started.
    pub async fn result(&mut self) -> Result<LearnResult, LearnError> {
        let (boards, validation_share) = match std::mem::take(&mut self.cross_validated) {
            cross_validated if cross_validated.is_empty() => {
                self.update_start().await;
                let share = self.confirming.len() as f64 / self.samples.queries.len().max(1) as f64;
                (vec![self.validation().await], share)
            }
            cross_validated => (cross_validated, 1.0),
        };
        let classifier = match self.confirms_by_unquoted() {
            true => self.parts_of_confirming().await,
            false => boards.clone(),
        };
        let classifier = self.classifier(&classifier)?;
        let tools = (0..self.similarities.tools()).map(|at| {
            let tool = self.tools.get(at).cloned().unwrap_or_default();
            let gains = tool.gains.into_iter().chain(std::iter::repeat(0.0));
            let patterns = self.similarities.patterns(at).iter().zip(gains).skip(tool.kept);
            LearnedTool {
                tool: self.similarities.text(at).map_or_else(String::new, |text| text.name.clone()),
                patterns: patterns.map(|(pattern, gain)| LearnedPattern { pattern: pattern.clone(), gain }).collect(),
                f1_before: self.before.get(at).copied().flatten(),
                f1_after: ScoreBoard::f1_of_all(&boards, at),
            }
        });
        Ok(LearnResult {
            tools: tools.collect(),
            fusion: self.similarities.fusion,
            curve: self.curve.clone(),
            confusions: self.confusions(&boards),
            failures: std::mem::take(&mut *self.lock_failures()).into_iter().collect(),
            classifier,
            validation_share,
        })
    }

    /// Returns the learning curve so far: macro-F1 on the validation samples before the first iteration and after each.
    pub fn curve(&self) -> &[LearningPoint] {
        &self.curve
    }

    /// Reports a failed proposal or selection. Requests run in parallel, so that the order of failures is random.
    fn fail(&self, error: ProposeError) {
        if let Some(observer) = self.observer {
            observer.left_out(&error.to_string().replace(char::is_control, " "));
        }
        let mut failures = self.lock_failures();
        if failures.len() < MAX_FAILURES {
            failures.insert(error);
        }
    }

    fn lock_failures(&self) -> MutexGuard<'_, BTreeSet<ProposeError>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn best(&self) -> f64 {
        self.curve.last().map_or(0.0, |point| point.macro_f1)
    }

    fn record_point(&mut self, macro_f1: f64, iteration: usize) {
        let patterns = self.similarities.weights().count();
        self.curve.push(LearningPoint { iteration, macro_f1, patterns });
    }
}
