//! Changes to patterns, and how they are confirmed or reverted.

use super::{Learner, ToolLearningState};
use crate::representation::learner::LearnError;
use crate::representation::learner::board::ScoreBoard;
use crate::representation::learner::fit::CompetitorScores;
use crate::representation::learner::similarities::{EmbeddedPattern, SampleSimilarities};
use callwright_search::retrieval::Fusion;

/// State to restore if a change does not improve the score.
pub(super) struct ChangeSnapshot {
    similarities: SampleSimilarities,
    tools: Vec<ToolLearningState>,
}

impl Learner<'_> {
    /// Implements the paper's addition: applies the proposals for all tools together and, if that does not help, for
    /// one tool at a time. Returns the score before and after on the samples that confirm the proposals.
    pub(super) async fn add(&mut self, iteration: usize, best: f64) -> Result<(f64, f64), LearnError> {
        let proposals = self.additions(iteration).await?;
        if proposals.is_empty() {
            return Ok((best, best));
        }
        let best = self.confirm(&proposals, best).await;
        let before = self.snapshot();
        self.add_proposals(&proposals);
        if self.settings.edit {
            self.tune(iteration == 1);
        }
        let together = self.validation().await;
        if together.macro_f1() > best + self.settings.threshold {
            self.record_gains(&proposals, &together);
            return Ok((best, together.macro_f1()));
        }
        self.revert(before);
        Ok((best, self.add_single(&proposals, best).await?))
    }

    /// Cross-validates the first additions if there are few samples. A fifth of few samples confirms too little: a
    /// change that helps most tools would be rejected because of one sample of another. Therefore all samples confirm,
    /// each for the patterns that were made without it. Confirmed patterns are then made of all samples, and learning
    /// ends because no unused samples remain. `None` if the condition does not hold, the change is not confirmed, or it
    /// would cost requests to a model.
    pub(super) async fn add_from_all(&mut self) -> Result<Option<f64>, LearnError> {
        let is_free = !self.components.proposer.uses_model() && self.components.candidates() <= 1;
        if !is_free || self.samples.queries.len() >= self.settings.cross_below {
            return Ok(None);
        }
        let (mut without, mut with, mut fusions) = (Vec::new(), Vec::new(), Vec::new());
        for samples in self.samples.rotations(self.settings.seed) {
            let mut rotated = self.with_split(samples);
            without.push(rotated.validation().await);
            let proposals = rotated.additions(1).await?;
            rotated.add_proposals(&proposals);
            if rotated.settings.edit {
                rotated.tune(true);
            }
            with.push(rotated.validation().await);
            fusions.push(rotated.similarities.fusion);
        }
        let (before, after) = (ScoreBoard::macro_f1_of_all(&without), ScoreBoard::macro_f1_of_all(&with));
        if after <= before + self.settings.threshold {
            return Ok(None);
        }
        let confirming = std::mem::take(&mut self.samples.validation);
        self.samples.training = (0..self.samples.queries.len()).collect();
        let proposals = self.additions(1).await?;
        self.add_proposals(&proposals);
        if self.settings.edit {
            // The weight of words relative to meaning has to be fitted on samples from which no pattern was made.
            self.similarities.fusion = median_fusion(fusions);
            self.fit_weights();
        }
        self.samples.validation = confirming;
        for (tool, added) in &proposals {
            let gain = ScoreBoard::part_of_all(&with, *tool) - ScoreBoard::part_of_all(&without, *tool);
            self.record_gain(*tool, added.len(), gain);
        }
        self.before = (0..self.similarities.tools()).map(|tool| ScoreBoard::f1_of_all(&without, tool)).collect();
        if let Some(point) = self.curve.first_mut() {
            point.macro_f1 = before;
        }
        self.cross_validated = with;
        Ok(Some(after))
    }

    /// Adds the proposed patterns to all tools.
    pub(super) fn add_proposals(&mut self, proposals: &[(usize, Vec<EmbeddedPattern>)]) {
        for (tool, added) in proposals {
            self.add_patterns(*tool, added, 0.0);
        }
        self.similarities.update_word_scores(&self.sample_queries);
    }

    /// Records the gain of each tool's part of an accepted addition.
    pub(super) fn record_gains(&mut self, proposals: &[(usize, Vec<EmbeddedPattern>)], board: &ScoreBoard) {
        let (statistics, queries) = self.similarities.statistics(&self.sample_queries);
        for (tool, added) in proposals {
            let count = self.similarities.patterns(*tool).len();
            let mut without = self.similarities.clone_tool(*tool);
            without.truncate_patterns(0, count.saturating_sub(added.len()));
            without.update_word_scores_of(0, &queries, &statistics);
            let scores = without.scores(0, &board.samples);
            let gain = board.macro_f1() - board.trial(*tool, &scores);
            self.record_gain(*tool, added.len(), gain);
        }
    }

    /// Records the common gain of the last `count` patterns of a tool.
    fn record_gain(&mut self, tool: usize, count: usize, gain: f64) {
        if let Some(tool) = self.tools.get_mut(tool) {
            tool.gains.iter_mut().rev().take(count).for_each(|slot| *slot = gain);
        }
    }

    pub(super) async fn add_single(
        &mut self,
        proposals: &[(usize, Vec<EmbeddedPattern>)],
        mut best: f64,
    ) -> Result<f64, LearnError> {
        let (before, start) = (self.snapshot(), best);
        let (statistics, queries) = self.similarities.statistics(&self.sample_queries);
        let mut board = self.validation().await;
        let mut competitors = CompetitorScores::new(&self.similarities, &self.samples.training);
        for (tool, added) in proposals {
            let mut with = self.similarities.clone_tool(*tool);
            with.add(0, added, &self.sample_queries);
            with.update_word_scores_of(0, &queries, &statistics);
            if self.settings.edit {
                self.fit_one(*tool, &mut with, &competitors);
            }
            let f1 = self.trial(*tool, &with, &mut board).await;
            if f1 > best + self.settings.threshold {
                competitors.set_scores(*tool, with.scores(0, &self.samples.training));
                self.similarities.replace_tool(*tool, with);
                self.append_gains(*tool, added, f1 - best);
                best = f1;
            }
        }
        self.keep_or_revert(before, start).await
    }

    /// Keeps the changes if the score holds with updated word statistics, else reverts them. They were tried with the
    /// old ones.
    async fn keep_or_revert(&mut self, before: ChangeSnapshot, start: f64) -> Result<f64, LearnError> {
        self.similarities.update_word_scores(&self.sample_queries);
        let now = self.validation().await.macro_f1();
        if now < start {
            self.revert(before);
            return Ok(start);
        }
        Ok(now)
    }

    /// Implements the paper's edition, one tool at a time; then fits the weights of all patterns.
    pub(super) async fn edit(&mut self, is_first: bool, mut best: f64) -> Result<f64, LearnError> {
        let (before, start) = (self.snapshot(), best);
        let training = self.training().await;
        let (statistics, queries) = self.similarities.statistics(&self.sample_queries);
        let mut board = self.validation().await;
        for tool in 0..self.similarities.tools() {
            let wrong: Vec<&str> = training
                .wrong(tool)
                .filter_map(|row| training.samples.get(row))
                .filter_map(|at| self.samples.queries.get(*at))
                .map(String::as_str)
                .collect();
            let Some(added) = self.edition(tool, &wrong).await? else { continue };
            let kept = self.kept(tool);
            let mut with = self.similarities.clone_tool(tool);
            with.truncate_patterns(0, kept);
            with.add(0, &added, &self.sample_queries);
            with.update_word_scores_of(0, &queries, &statistics);
            let f1 = self.trial(tool, &with, &mut board).await;
            if f1 > best + self.settings.threshold {
                self.similarities.replace_tool(tool, with);
                if let Some(tool) = self.tools.get_mut(tool) {
                    tool.gains.iter_mut().skip(kept).for_each(|gain| *gain += f1 - best);
                }
                best = f1;
            }
        }
        best = self.keep_or_revert(before, start).await?;
        let before = self.snapshot();
        self.tune(is_first);
        let tuned = self.validation().await.macro_f1();
        if tuned > best + self.settings.threshold {
            return Ok(tuned);
        }
        self.revert(before);
        Ok(best)
    }

    /// Returns macro-F1 with one tool changed. If it is an improvement, the board keeps the change.
    pub(super) async fn trial(&mut self, tool: usize, with: &SampleSimilarities, board: &mut ScoreBoard) -> f64 {
        let scores = with.scores(0, &board.samples);
        if self.components.candidates() <= 1 {
            let f1 = board.trial(tool, &scores);
            if f1 > board.macro_f1() + self.settings.threshold {
                board.set_scores(tool, &scores);
            }
            return f1;
        }
        // The selector sees the tool with its change.
        let before = self.similarities.clone_tool(tool);
        self.similarities.replace_tool(tool, with.clone());
        let mut changed = board.clone();
        changed.set_scores(tool, &scores);
        self.select(&mut changed).await;
        self.similarities.replace_tool(tool, before);
        let f1 = changed.macro_f1();
        if f1 > board.macro_f1() + self.settings.threshold {
            *board = changed;
        }
        f1
    }

    pub(super) fn add_patterns(&mut self, tool: usize, added: &[EmbeddedPattern], gain: f64) {
        self.similarities.add(tool, added, &self.sample_queries);
        self.append_gains(tool, added, gain);
    }

    pub(super) fn append_gains(&mut self, tool: usize, added: &[EmbeddedPattern], gain: f64) {
        if let Some(tool) = self.tools.get_mut(tool) {
            tool.gains.extend(added.iter().map(|_| gain));
        }
    }

    pub(super) fn snapshot(&self) -> ChangeSnapshot {
        ChangeSnapshot { similarities: self.similarities.clone(), tools: self.tools.clone() }
    }

    pub(super) fn revert(&mut self, before: ChangeSnapshot) {
        self.similarities = before.similarities;
        self.tools = before.tools;
    }
}

/// Returns the median of each parameter.
fn median_fusion(fusions: Vec<Fusion>) -> Fusion {
    let or = Fusion::default();
    Fusion {
        sharpness: median(fusions.iter().map(|fusion| fusion.sharpness)).unwrap_or(or.sharpness),
        words: median(fusions.iter().map(|fusion| fusion.words)).unwrap_or(or.words),
    }
}

fn median(values: impl Iterator<Item = f32>) -> Option<f32> {
    let mut values: Vec<f32> = values.collect();
    values.sort_unstable_by(f32::total_cmp);
    values.get(values.len() / 2).copied()
}
