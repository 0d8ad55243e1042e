//! Fits pattern weights that maximise the likelihood of the right tools.

use super::similarities::SampleSimilarities;
use callwright_search::embedding::dot;

/// Number of iterations. Afterwards, weights change by less than 0.01 on sets of 100 and of 10,000 samples.
const ROUNDS: usize = 50;

/// Parameters of RPROP: initial step, step bounds, growth while the sign of the gradient is constant, and reduction
/// when it changes ("A direct adaptive method for faster backpropagation learning: the RPROP algorithm", Riedmiller and
/// Braun, 1993).
const FIRST_STEP: f32 = 0.1;
const STEPS: (f32, f32) = (1e-4, 0.5);
const STEP_GROWTH: f32 = 1.2;

/// Share of the logarithm of a tool's total weight that is subtracted from its score.
const LENGTH_EXPONENT: f32 = 0.5;

/// Scores of tools as a function of their patterns' weights: `ln(own + Σ weight · pattern) − ½ ln(1 + Σ weight) +
/// words` per sample, as [`soft_sum`](callwright_search::retrieval::soft_sum) computes it. All columns have one value
/// per sample.
#[derive(Debug, Default)]
pub(super) struct WeightProblem<'a> {
    /// `exp(sharpness · cosine)` with its description, per tool.
    pub(super) own: Vec<Vec<f32>>,
    /// Word scores in the unit of the total score, per tool.
    pub(super) words: Vec<Vec<f32>>,
    /// Tool and `exp(sharpness · cosine)`, per pattern.
    pub(super) patterns: Vec<(usize, Vec<f32>)>,
    /// Right tools per sample.
    pub(super) right: Vec<&'a [usize]>,
}

impl WeightProblem<'_> {
    /// Returns the logarithms of the weights that maximise the likelihood of the right tools (softmax over the scores;
    /// the right tools of a sample have equal shares), with `ridge` as L2 penalty. Starts from `start`.
    pub(super) fn fit(&self, start: &[f32], ridge: f32) -> Vec<f32> {
        let mut logs = start.to_vec();
        let mut steps = vec![FIRST_STEP; logs.len()];
        let mut slopes = vec![0.0_f32; logs.len()];
        for _ in 0..ROUNDS {
            let now = self.slopes(&logs, ridge);
            for (((log, step), before), slope) in logs.iter_mut().zip(&mut steps).zip(&mut slopes).zip(now) {
                let turn = *before * slope;
                *before = slope;
                if turn > 0.0 {
                    *step = (*step * STEP_GROWTH).min(STEPS.1);
                } else if turn < 0.0 {
                    *step = (*step / 2.0).max(STEPS.0);
                    // The minimum was passed, so the next iteration continues with half the step.
                    *before = 0.0;
                    continue;
                }
                if slope != 0.0 {
                    *log -= step.copysign(slope);
                }
            }
        }
        logs
    }

    /// Returns the derivative of the loss with respect to the logarithm of each weight.
    fn slopes(&self, logs: &[f32], ridge: f32) -> Vec<f32> {
        let sums = self.sums(logs);
        let totals = self.totals(logs);
        let mut shares = self.likelihoods(&sums, &totals);
        for (sample, right) in self.right.iter().enumerate() {
            for tool in *right {
                if let Some(share) = shares.get_mut(*tool).and_then(|column| column.get_mut(sample)) {
                    *share -= 1.0 / right.len() as f32;
                }
            }
        }
        // Gradient of the normalisation by the total weight.
        let normaliser = shares.iter().zip(&totals);
        let normaliser: Vec<f32> =
            normaliser.map(|(column, total)| LENGTH_EXPONENT * column.iter().sum::<f32>() / total).collect();
        for (column, sums) in shares.iter_mut().zip(&sums) {
            column.iter_mut().zip(sums).for_each(|(share, sum)| *share /= sum);
        }
        let slopes = self.patterns.iter().zip(logs).map(|((tool, column), log)| {
            let shares = shares.get(*tool).map_or(&[][..], Vec::as_slice);
            let normaliser = normaliser.get(*tool).copied().unwrap_or_default();
            log.exp() * (dot(shares, column) - normaliser) + ridge * log
        });
        slopes.collect()
    }

    /// Returns `own + Σ weight · pattern` per tool.
    fn sums(&self, logs: &[f32]) -> Vec<Vec<f32>> {
        let mut sums = self.own.clone();
        for ((tool, column), log) in self.patterns.iter().zip(logs) {
            let weight = log.exp();
            if let Some(sums) = sums.get_mut(*tool) {
                sums.iter_mut().zip(column).for_each(|(sum, similarity)| *sum += weight * similarity);
            }
        }
        sums
    }

    /// Returns `1 + Σ weight` per tool.
    fn totals(&self, logs: &[f32]) -> Vec<f32> {
        let mut totals = vec![1.0_f32; self.own.len()];
        for ((tool, _), log) in self.patterns.iter().zip(logs) {
            totals.get_mut(*tool).into_iter().for_each(|total| *total += log.exp());
        }
        totals
    }

    /// Returns the softmax over the tools per sample.
    fn likelihoods(&self, sums: &[Vec<f32>], totals: &[f32]) -> Vec<Vec<f32>> {
        let mut scores: Vec<Vec<f32>> = Vec::with_capacity(sums.len());
        for ((sums, total), words) in sums.iter().zip(totals).zip(&self.words) {
            let normaliser = LENGTH_EXPONENT * total.ln();
            let column = sums.iter().zip(words);
            scores.push(column.map(|(sum, words)| sum.max(f32::MIN_POSITIVE).ln() - normaliser + words).collect());
        }
        let mut largest = vec![f32::NEG_INFINITY; self.right.len()];
        for column in &scores {
            largest.iter_mut().zip(column).for_each(|(largest, score)| *largest = largest.max(*score));
        }
        let mut totals = vec![0.0_f32; self.right.len()];
        for column in &mut scores {
            for ((score, largest), total) in column.iter_mut().zip(&largest).zip(&mut totals) {
                *score = (*score - largest).exp();
                *total += *score;
            }
        }
        for column in &mut scores {
            column.iter_mut().zip(&totals).for_each(|(score, total)| *score /= total);
        }
        scores
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    /// Two equal tools that differ in one pattern each. The first pattern matches all samples, but its tool is right
    /// for the last two only.
    fn problem() -> WeightProblem<'static> {
        WeightProblem {
            own: vec![vec![1.0; 4], vec![1.0; 4]],
            words: vec![vec![0.0; 4], vec![0.0; 4]],
            patterns: vec![(0, vec![3.0; 4]), (1, vec![1.0, 1.0, 4.0, 4.0])],
            right: vec![&[0], &[0], &[1], &[1]],
        }
    }

    #[test]
    fn patterns_that_attract_wrong_samples_lose_weight() {
        let logs = problem().fit(&[0.0, 0.0], 0.01);
        assert!(logs[1] > logs[0], "{logs:?}");
        let shares = problem().likelihoods(&problem().sums(&logs), &problem().totals(&logs));
        assert!(shares[0][0] > 0.5 && shares[1][2] > 0.5, "{shares:?}");
    }

    #[test]
    fn ridge_penalty_keeps_weights_near_one() {
        let free = problem().fit(&[0.0, 0.0], 0.01);
        let penalised = problem().fit(&[0.0, 0.0], 100.0);
        assert!(
            penalised.iter().zip(&free).all(|(penalised, free)| penalised.abs() < free.abs()),
            "{penalised:?} {free:?}"
        );
    }

    #[test]
    fn slopes_are_the_gradient_of_the_loss() {
        let (problem, logs) = (problem(), [0.3_f32, -0.2]);
        let loss = |logs: &[f32]| -> f32 {
            let shares = problem.likelihoods(&problem.sums(logs), &problem.totals(logs));
            let log_likelihood: f32 =
                problem.right.iter().enumerate().map(|(sample, right)| shares[right[0]][sample].ln()).sum();
            logs.iter().map(|log| log * log).sum::<f32>() - log_likelihood
        };
        for at in 0..2 {
            let moved = |by: f32| {
                let mut moved = logs;
                moved[at] += by;
                loss(&moved)
            };
            let measured = (moved(0.01) - moved(-0.01)) / 0.02;
            assert!((problem.slopes(&logs, 2.0)[at] - measured).abs() < 1e-2, "{measured}");
        }
    }
}
