//! Fits the weights of patterns and the weight of words relative to meaning.

use super::Learner;
use crate::representation::learner::fit::CompetitorScores;
use crate::representation::learner::fit::WeightProblem;
use crate::representation::learner::similarities::SampleSimilarities;
use callwright_search::retrieval::Fusion;

/// Candidate values of the sharpness.
const SHARPNESS: [f32; 6] = [8.0, 10.0, 12.5, 16.0, 20.0, 25.0];

/// Candidate values of the word weight.
const WORDS: [f32; 11] = [0.0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.45, 0.7, 1.0, 1.5];

/// Factor of the ridge penalty if there are no embeddings.
const WORDS_ONLY_RIDGE: f32 = 0.02;

impl Learner<'_> {
    /// Fits pattern weights on the training samples, and sharpness and word weight on the validation samples. The
    /// latter cannot use the training samples, because patterns contain their words.
    pub(super) fn tune(&mut self, sharpness_too: bool) {
        if self.samples.queries.len() < self.settings.fit_ranking_from {
            return self.fit_weights();
        }
        let sharpnesses: &[f32] = if sharpness_too && self.components.embedder.is_some() { &SHARPNESS } else { &[] };
        let start: Vec<f32> = self.similarities.weights().collect();
        let subset = self.samples.validation.clone();
        let mut best: Option<(f64, Vec<f32>, Fusion)> = None;
        for sharpness in
            sharpnesses.iter().copied().chain(sharpnesses.is_empty().then_some(self.similarities.fusion.sharpness))
        {
            self.similarities.set_weights(start.iter().copied());
            self.similarities.fusion.sharpness = sharpness;
            self.fit_weights();
            let likelihood = self.tune_words(&subset);
            if best.as_ref().is_none_or(|(most, ..)| likelihood > *most) {
                best = Some((likelihood, self.similarities.weights().collect(), self.similarities.fusion));
            }
        }
        if let Some((_, weights, fusion)) = best {
            self.similarities.set_weights(weights);
            self.similarities.fusion = fusion;
        }
    }

    /// Sets the word weight that maximises the likelihood of the right tools for some samples, and returns the
    /// log-likelihood.
    pub(super) fn tune_words(&mut self, subset: &[usize]) -> f64 {
        let tools = 0..self.similarities.tools();
        let meanings: Vec<Vec<f32>> = tools.clone().map(|tool| self.similarities.meanings(tool, subset)).collect();
        let words: Vec<Vec<f32>> = tools.map(|tool| self.similarities.words(tool, subset)).collect();
        let mut best = (f64::NEG_INFINITY, self.similarities.fusion);
        for word_weight in WORDS {
            let fusion = Fusion { words: word_weight, ..self.similarities.fusion };
            let mut columns: Vec<Vec<f32>> = Vec::with_capacity(meanings.len());
            for (meanings, words) in meanings.iter().zip(&words) {
                let pairs = meanings.iter().zip(words);
                columns.push(pairs.map(|(meaning, words)| fusion.score(*meaning, *words)).collect());
            }
            let likelihood = self.likelihood(subset, &columns);
            if likelihood > best.0 {
                best = (likelihood, fusion);
            }
        }
        self.similarities.fusion = best.1;
        best.0
    }

    /// Returns the mean log-likelihood of the right tools for some samples. `columns` are the scores of each tool.
    fn likelihood(&self, subset: &[usize], columns: &[Vec<f32>]) -> f64 {
        let mut largest = vec![f32::NEG_INFINITY; subset.len()];
        for column in columns {
            largest.iter_mut().zip(column).for_each(|(largest, score)| *largest = largest.max(*score));
        }
        let mut totals = vec![0.0_f32; subset.len()];
        for column in columns {
            let scores = column.iter().zip(&largest);
            totals.iter_mut().zip(scores).for_each(|(total, (score, largest))| *total += (score - largest).exp());
        }
        let mut sum = 0.0;
        for (row, (sample, (largest, total))) in subset.iter().zip(largest.iter().zip(&totals)).enumerate() {
            let right = self.samples.right.get(*sample).map_or(&[][..], Vec::as_slice);
            let log_likelihoods =
                right.iter().filter_map(|tool| columns.get(*tool)?.get(row)).map(|score| score - largest - total.ln());
            sum += f64::from(log_likelihoods.sum::<f32>()) / right.len().max(1) as f64;
        }
        sum / subset.len().max(1) as f64
    }

    /// Returns the number of a tool's patterns that belong to people; they come first.
    pub(super) fn kept(&self, tool: usize) -> usize {
        self.tools.get(tool).map_or(0, |tool| tool.kept)
    }

    /// Returns the ridge penalty. Without embeddings, the patterns of a tool cannot be distinguished. Their weights
    /// only reflect the tool's frequency, and less regularisation is needed.
    pub(super) fn ridge(&self) -> f32 {
        self.settings.ridge * if self.components.embedder.is_some() { 1.0 } else { WORDS_ONLY_RIDGE }
    }

    /// Returns the word scores of a tool for the training samples, in the unit of the total score.
    fn weighted_word_scores(&self, similarities: &SampleSimilarities, tool: usize) -> Vec<f32> {
        let words = similarities.words(tool, &self.samples.training).into_iter();
        words.map(|words| self.similarities.fusion.words * words).collect()
    }

    /// Fits the weights of one tool's patterns and keeps all others fixed.
    pub(super) fn fit_one(&self, tool: usize, one: &mut SampleSimilarities, competitors: &CompetitorScores) {
        let subset = &self.samples.training;
        let right = subset.iter().map(|sample| if self.samples.is_right(*sample, tool) { &[0][..] } else { &[1][..] });
        let problem = WeightProblem {
            own: vec![one.own_similarity(0, subset), competitors.sum_without(tool)],
            words: vec![self.weighted_word_scores(one, 0), vec![0.0; subset.len()]],
            patterns: one.pattern_similarities(subset),
            right: right.collect(),
        };
        let kept = self.kept(tool);
        let is_kept = (0..one.patterns(0).len()).map(|at| at < kept);
        let weights = self.fitted(&problem, one.weights(), is_kept);
        one.set_weights(weights);
    }

    /// Fits the weights of all tools' patterns.
    pub(super) fn fit_weights(&mut self) {
        let subset = &self.samples.training;
        let tools = 0..self.similarities.tools();
        let problem = WeightProblem {
            own: tools.clone().map(|tool| self.similarities.own_similarity(tool, subset)).collect(),
            words: tools.map(|tool| self.weighted_word_scores(&self.similarities, tool)).collect(),
            patterns: self.similarities.pattern_similarities(subset),
            right: subset.iter().filter_map(|sample| self.samples.right.get(*sample)).map(Vec::as_slice).collect(),
        };
        let is_kept = (0..self.similarities.tools()).flat_map(|tool| {
            let kept = self.kept(tool);
            (0..self.similarities.patterns(tool).len()).map(move |at| at < kept)
        });
        let weights = self.fitted(&problem, self.similarities.weights(), is_kept);
        self.similarities.set_weights(weights);
    }

    /// Returns the fitted weights; patterns of people keep theirs.
    fn fitted(
        &self,
        problem: &WeightProblem<'_>,
        weights: impl Iterator<Item = f32>,
        is_kept: impl Iterator<Item = bool>,
    ) -> Vec<f32> {
        let start: Vec<f32> = weights.map(f32::ln).collect();
        let logs = problem.fit(&start, self.ridge());
        let logs = is_kept.zip(start.iter().zip(logs));
        logs.map(|(is_kept, (start, fitted))| if is_kept { start.exp() } else { fitted.exp() }).collect()
    }
}
