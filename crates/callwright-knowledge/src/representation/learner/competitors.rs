//! Combined scores of a tool's competitors.

use super::closeness::SampleSimilarities;

/// Scores of all tools for some samples, with the sum of all tools but one.
#[derive(Debug)]
pub(super) struct Rivals {
    scores: Vec<Vec<f32>>,
    /// Maximum initial score per sample, subtracted before exponentiation to avoid overflow.
    heights: Vec<f32>,
    /// Sum of `exp(score - height)` per sample.
    totals: Vec<f64>,
}

impl Rivals {
    /// Computes the sums for the current tools.
    pub(super) fn new(closeness: &SampleSimilarities, among: &[usize]) -> Self {
        let scores: Vec<Vec<f32>> = (0..closeness.tools()).map(|tool| closeness.scores(tool, among)).collect();
        let mut heights = vec![f32::NEG_INFINITY; among.len()];
        for column in &scores {
            heights.iter_mut().zip(column).for_each(|(height, score)| *height = height.max(*score));
        }
        let mut rivals = Self { scores: Vec::new(), totals: vec![0.0; heights.len()], heights };
        for column in &scores {
            rivals.count(column, 1.0);
        }
        rivals.scores = scores;
        rivals
    }

    /// Returns the sum of `exp(score)` of all tools but one, per sample.
    pub(super) fn of(&self, tool: usize) -> Vec<f32> {
        let own = self.scores.get(tool).map_or(&[][..], Vec::as_slice);
        let rest = self.totals.iter().zip(&self.heights).zip(own).map(|((total, height), own)| {
            let rest = (total - f64::from(own - height).exp()).max(f64::from(f32::MIN_POSITIVE));
            (rest.ln() + f64::from(*height)).exp() as f32
        });
        rest.collect()
    }

    /// Replaces the scores of a tool.
    pub(super) fn put(&mut self, tool: usize, scores: Vec<f32>) {
        let Some(place) = self.scores.get_mut(tool) else { return };
        let old = std::mem::replace(place, scores.clone());
        self.count(&old, -1.0);
        self.count(&scores, 1.0);
    }

    fn count(&mut self, scores: &[f32], times: f64) {
        for ((total, height), score) in self.totals.iter_mut().zip(&self.heights).zip(scores) {
            *total += times * f64::from(score - height).exp();
        }
    }
}
