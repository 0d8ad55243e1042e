//! What a tool is up against.

use super::closeness::Closeness;

/// The scores of all tools for some samples, of which one tool's can be taken out.
#[derive(Debug)]
pub(super) struct Rivals {
    scores: Vec<Vec<f32>>,
    /// For each sample the largest score there was at first: all are held against it, so that they stay within the range of numbers.
    heights: Vec<f32>,
    /// For each sample the sum of exp(score - height).
    totals: Vec<f64>,
}

impl Rivals {
    /// The tools as they are now.
    pub(super) fn new(closeness: &Closeness, among: &[usize]) -> Self {
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

    /// For each sample, the sum of exp(score) of all tools but one.
    pub(super) fn of(&self, tool: usize) -> Vec<f32> {
        let own = self.scores.get(tool).map_or(&[][..], Vec::as_slice);
        let rest = |((total, height), own): ((&f64, &f32), &f32)| {
            let rest = (total - f64::from(own - height).exp()).max(f64::from(f32::MIN_POSITIVE));
            (rest.ln() + f64::from(*height)).exp() as f32
        };
        self.totals.iter().zip(&self.heights).zip(own).map(rest).collect()
    }

    /// Gives a tool other scores.
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
