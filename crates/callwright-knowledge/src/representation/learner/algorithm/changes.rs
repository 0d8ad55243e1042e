//! Changes to patterns, and how they are confirmed or reverted.

use super::{Learner, ToolLearningState};
use crate::representation::learner::LearnError;
use crate::representation::learner::board::ScoreBoard;
use crate::representation::learner::closeness::{EmbeddedPattern, SampleSimilarities};
use crate::representation::learner::rivals::Rivals;
use callwright_search::retrieval::Fusion;

/// State to restore if a change does not improve the score.
pub(super) struct ChangeSnapshot {
    closeness: SampleSimilarities,
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
        let before = self.before_change();
        self.put_all(&proposals);
        if self.settings.edit {
            self.tune(iteration == 1);
        }
        let together = self.validation().await;
        if together.macro_f1() > best + self.settings.threshold {
            self.note_gains(&proposals, &together);
            return Ok((best, together.macro_f1()));
        }
        self.put_back(before);
        Ok((best, self.add_single(&proposals, best).await?))
    }

    /// Cross-validates the first additions if there are few samples. A fifth of few samples confirms too little: a
    /// change that helps most tools would be rejected because of one sample of another. Therefore all samples confirm,
    /// each for the patterns that were made without it. Confirmed patterns are then made of all samples, and learning
    /// ends because no unused samples remain. `None` if the condition does not hold, the change is not confirmed, or it
    /// would cost requests to a model.
    pub(super) async fn add_from_all(&mut self) -> Result<Option<f64>, LearnError> {
        let is_free = !self.means.proposer.asks_a_model() && self.means.selector.candidates() <= 1;
        if !is_free || self.samples.queries.len() >= self.settings.cross_below {
            return Ok(None);
        }
        let (mut without, mut with, mut fusions) = (Vec::new(), Vec::new(), Vec::new());
        for samples in self.samples.rotations(self.settings.seed) {
            let mut rotated = self.parted_otherwise(samples);
            without.push(rotated.validation().await);
            let proposals = rotated.additions(1).await?;
            rotated.put_all(&proposals);
            if rotated.settings.edit {
                rotated.tune(true);
            }
            with.push(rotated.validation().await);
            fusions.push(rotated.closeness.fusion);
        }
        let (before, after) = (ScoreBoard::macro_f1_of_all(&without), ScoreBoard::macro_f1_of_all(&with));
        if after <= before + self.settings.threshold {
            return Ok(None);
        }
        let confirming = std::mem::take(&mut self.samples.validation);
        self.samples.training = (0..self.samples.queries.len()).collect();
        let proposals = self.additions(1).await?;
        self.put_all(&proposals);
        if self.settings.edit {
            // The weight of words relative to meaning has to be fitted on samples from which no pattern was made.
            self.closeness.fusion = middle(fusions);
            self.fit_weights();
        }
        self.samples.validation = confirming;
        for (tool, grown) in &proposals {
            let gain = ScoreBoard::part_of_all(&with, *tool) - ScoreBoard::part_of_all(&without, *tool);
            self.note_gain(*tool, grown.len(), gain);
        }
        self.before = (0..self.closeness.tools()).map(|tool| ScoreBoard::f1_of_all(&without, tool)).collect();
        if let Some(point) = self.curve.first_mut() {
            point.macro_f1 = before;
        }
        self.crossed = with;
        Ok(Some(after))
    }

    /// Adds the proposed patterns to all tools.
    pub(super) fn put_all(&mut self, proposals: &[(usize, Vec<EmbeddedPattern>)]) {
        for (tool, grown) in proposals {
            self.put(*tool, grown, 0.0);
        }
        self.closeness.look_up_words(&self.asked);
    }

    /// Records the gain of each tool's part of an accepted addition.
    pub(super) fn note_gains(&mut self, proposals: &[(usize, Vec<EmbeddedPattern>)], board: &ScoreBoard) {
        let (statistics, queries) = self.closeness.statistics(&self.asked);
        for (tool, grown) in proposals {
            let held = self.closeness.patterns(*tool).len();
            let mut without = self.closeness.clone_of(*tool);
            without.shorten(0, held.saturating_sub(grown.len()));
            without.look_up_words_of(0, &queries, &statistics);
            let scores = without.scores(0, board.samples());
            let gain = board.macro_f1() - board.trial(*tool, &scores);
            self.note_gain(*tool, grown.len(), gain);
        }
    }

    /// Records the common gain of the last `count` patterns of a tool.
    fn note_gain(&mut self, tool: usize, count: usize, gain: f64) {
        if let Some(tool) = self.tools.get_mut(tool) {
            tool.gains.iter_mut().rev().take(count).for_each(|place| *place = gain);
        }
    }

    pub(super) async fn add_single(
        &mut self,
        proposals: &[(usize, Vec<EmbeddedPattern>)],
        mut best: f64,
    ) -> Result<f64, LearnError> {
        let (before, start) = (self.before_change(), best);
        let (statistics, queries) = self.closeness.statistics(&self.asked);
        let mut board = self.validation().await;
        let mut rivals = Rivals::new(&self.closeness, &self.samples.training);
        for (tool, grown) in proposals {
            let mut with = self.closeness.clone_of(*tool);
            with.add(0, grown, &self.asked);
            with.look_up_words_of(0, &queries, &statistics);
            if self.settings.edit {
                self.fit_one(*tool, &mut with, &rivals);
            }
            let f1 = self.trial(*tool, &with, &mut board).await;
            if f1 > best + self.settings.threshold {
                rivals.put(*tool, with.scores(0, &self.samples.training));
                self.closeness.put_from(*tool, with);
                self.grow(*tool, grown, f1 - best);
                best = f1;
            }
        }
        self.kept_or_put_back(before, start).await
    }

    /// Keeps the changes if the score holds with updated word statistics, else reverts them. They were tried with the
    /// old ones.
    async fn kept_or_put_back(&mut self, before: ChangeSnapshot, start: f64) -> Result<f64, LearnError> {
        self.closeness.look_up_words(&self.asked);
        let now = self.validation().await.macro_f1();
        if now < start {
            self.put_back(before);
            return Ok(start);
        }
        Ok(now)
    }

    /// Implements the paper's edition, one tool at a time; then fits the weights of all patterns.
    pub(super) async fn edit(&mut self, is_first: bool, mut best: f64) -> Result<f64, LearnError> {
        let (before, start) = (self.before_change(), best);
        let training = self.training().await;
        let (statistics, queries) = self.closeness.statistics(&self.asked);
        let mut board = self.validation().await;
        for tool in 0..self.closeness.tools() {
            let wrong: Vec<&str> = training
                .wrong(tool)
                .filter_map(|row| training.samples().get(row))
                .filter_map(|at| self.samples.queries.get(*at))
                .map(String::as_str)
                .collect();
            let Some(grown) = self.edition(tool, &wrong).await? else { continue };
            let kept = self.kept(tool);
            let mut with = self.closeness.clone_of(tool);
            with.shorten(0, kept);
            with.add(0, &grown, &self.asked);
            with.look_up_words_of(0, &queries, &statistics);
            let f1 = self.trial(tool, &with, &mut board).await;
            if f1 > best + self.settings.threshold {
                self.closeness.put_from(tool, with);
                if let Some(tool) = self.tools.get_mut(tool) {
                    tool.gains.iter_mut().skip(kept).for_each(|gain| *gain += f1 - best);
                }
                best = f1;
            }
        }
        best = self.kept_or_put_back(before, start).await?;
        let before = self.before_change();
        self.tune(is_first);
        let tuned = self.validation().await.macro_f1();
        if tuned > best + self.settings.threshold {
            return Ok(tuned);
        }
        self.put_back(before);
        Ok(best)
    }

    /// Returns macro-F1 with one tool changed. If it is an improvement, the board keeps the change.
    pub(super) async fn trial(&mut self, tool: usize, with: &SampleSimilarities, board: &mut ScoreBoard) -> f64 {
        let scores = with.scores(0, board.samples());
        if self.means.selector.candidates() <= 1 {
            let f1 = board.trial(tool, &scores);
            if f1 > board.macro_f1() + self.settings.threshold {
                board.put(tool, &scores);
            }
            return f1;
        }
        // The selector sees the tool with its change.
        let before = self.closeness.clone_of(tool);
        self.closeness.put_from(tool, with.clone());
        let mut changed = board.clone();
        changed.put(tool, &scores);
        self.select(&mut changed).await;
        self.closeness.put_from(tool, before);
        let f1 = changed.macro_f1();
        if f1 > board.macro_f1() + self.settings.threshold {
            *board = changed;
        }
        f1
    }

    pub(super) fn put(&mut self, tool: usize, grown: &[EmbeddedPattern], gain: f64) {
        self.closeness.add(tool, grown, &self.asked);
        self.grow(tool, grown, gain);
    }

    pub(super) fn grow(&mut self, tool: usize, grown: &[EmbeddedPattern], gain: f64) {
        if let Some(tool) = self.tools.get_mut(tool) {
            tool.gains.extend(grown.iter().map(|_| gain));
        }
    }

    pub(super) fn before_change(&self) -> ChangeSnapshot {
        ChangeSnapshot { closeness: self.closeness.clone(), tools: self.tools.clone() }
    }

    pub(super) fn put_back(&mut self, before: ChangeSnapshot) {
        self.closeness = before.closeness;
        self.tools = before.tools;
    }
}

/// Returns the median of each parameter.
fn middle(fusions: Vec<Fusion>) -> Fusion {
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
