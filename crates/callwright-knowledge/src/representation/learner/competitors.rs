//! Combined scores of a tool's competitors.

use super::similarities::SampleSimilarities;

/// Scores of all tools for some samples, with the sum of all tools but one.
#[derive(Debug)]
pub(super) struct CompetitorScores {
    scores: Vec<Vec<f32>>,
    /// Maximum initial score per sample, subtracted before exponentiation to avoid overflow.
    maxima: Vec<f32>,
    /// Sum of `exp(score - maximum)` per sample.
    totals: Vec<f64>,
}

impl CompetitorScores {
    /// Computes the sums for the current tools.
    pub(super) fn new(similarities: &SampleSimilarities, subset: &[usize]) -> Self {
        let scores: Vec<Vec<f32>> = (0..similarities.tools()).map(|tool| similarities.scores(tool, subset)).collect();
        let mut maxima = vec![f32::NEG_INFINITY; subset.len()];
        for column in &scores {
            maxima.iter_mut().zip(column).for_each(|(maximum, score)| *maximum = maximum.max(*score));
        }
        let mut competitors = Self { scores: Vec::new(), totals: vec![0.0; maxima.len()], maxima };
        for column in &scores {
            competitors.add(column, 1.0);
        }
        competitors.scores = scores;
        competitors
    }

    /// Returns the sum of `exp(score)` of all tools but one, per sample.
    pub(super) fn sum_without(&self, tool: usize) -> Vec<f32> {
        let own = self.scores.get(tool).map_or(&[][..], Vec::as_slice);
        let rest = self.totals.iter().zip(&self.maxima).zip(own).map(|((total, maximum), own)| {
            let rest = (total - f64::from(own - maximum).exp()).max(f64::from(f32::MIN_POSITIVE));
            (rest.ln() + f64::from(*maximum)).exp() as f32
        });
        rest.collect()
    }

    /// Replaces the scores of a tool.
    pub(super) fn set_scores(&mut self, tool: usize, scores: Vec<f32>) {
        let Some(column) = self.scores.get_mut(tool) else { return };
        let old = std::mem::replace(column, scores.clone());
        self.add(&old, -1.0);
        self.add(&scores, 1.0);
    }

    fn add(&mut self, scores: &[f32], times: f64) {
        for ((total, maximum), score) in self.totals.iter_mut().zip(&self.maxima).zip(scores) {
            *total += times * f64::from(score - maximum).exp();
        }
    }
}
