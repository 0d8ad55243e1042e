//! Chooses how much the classifier counts beside patterns and words.

use super::ClassifierEffect;
use callwright_search::retrieval::ClassifierWeights;

/// Candidate weights of a margin. Scores by patterns are in units of ten to twenty cosines.
const WEIGHTS: [f32; 15] = [0.0, 0.15, 0.3, 0.5, 0.8, 1.2, 1.8, 2.5, 3.5, 5.0, 7.0, 10.0, 15.0, 25.0, 50.0];

/// Candidate factors of the sum.
const SCALES: [f32; 12] = [0.1, 0.15, 0.2, 0.3, 0.4, 0.55, 0.75, 1.0, 1.4, 2.0, 2.8, 4.0];

/// Maximum share of the requests with a tool for which none is found.
const MISSED_SHARE: f64 = 0.01;

/// Scores of a request by patterns and classifier, neither of which it was used to learn.
#[derive(Debug, Clone, Default)]
pub(in crate::representation::learner) struct HeldOutScores {
    /// Score of each tool by patterns and words.
    pub(in crate::representation::learner) scores: Vec<f32>,
    /// Margin of each tool above that of a wrong one.
    pub(in crate::representation::learner) margins: Vec<f32>,
    /// Right tools; empty if no tool serves the request.
    pub(in crate::representation::learner) right: Vec<usize>,
    /// Difference of the margin of "no tool" and the largest of a tool, if that class exists.
    pub(in crate::representation::learner) no_tool: Option<f32>,
}

impl HeldOutScores {
    /// Returns the share of right tools among as many first ones as are right.
    fn hits(&self, weight: f32) -> f64 {
        let mut order: Vec<(f32, usize)> = Vec::with_capacity(self.scores.len());
        for (tool, (score, margin)) in self.scores.iter().zip(&self.margins).enumerate() {
            order.push((score + weight * margin, tool));
        }
        let count = self.right.len().min(order.len()).max(1);
        if count < order.len() {
            order.select_nth_unstable_by(count, |one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        }
        let found = order.iter().take(count).filter(|(_, tool)| self.right.contains(tool)).count();
        found as f64 / count as f64
    }

    /// Returns the mean log-likelihood of the right tools.
    fn likelihood(&self, weight: f32, scale: f32) -> f64 {
        let mut sums: Vec<f64> = Vec::with_capacity(self.scores.len());
        for (score, margin) in self.scores.iter().zip(&self.margins) {
            sums.push(f64::from(scale * (score + weight * margin)));
        }
        let largest = sums.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total = largest + sums.iter().map(|sum| (sum - largest).exp()).sum::<f64>().ln();
        let right: f64 = self.right.iter().filter_map(|tool| sums.get(*tool)).map(|sum| sum - total).sum();
        right / self.right.len().max(1) as f64
    }
}

/// Returns the weights with which most right tools come first. `None` if the gain is within one standard error of the
/// difference, and no request without a tool is recognised either: the ranking then stays as it is.
pub(in crate::representation::learner) fn choose(
    rows: &[HeldOutScores],
) -> Option<(ClassifierWeights, ClassifierEffect)> {
    let (with_tool, without): (Vec<_>, Vec<_>) = rows.iter().partition(|row| !row.right.is_empty());
    if with_tool.is_empty() {
        return None;
    }
    let hits: Vec<Vec<f64>> =
        WEIGHTS.iter().map(|weight| with_tool.iter().map(|row| row.hits(*weight)).collect()).collect();
    let sums: Vec<f64> = hits.iter().map(|hits| hits.iter().sum()).collect();
    let best = smoothed_best(&sums);
    let (Some(none), Some(some)) = (hits.first(), hits.get(best)) else { return None };
    let is_better = gain_exceeds_error(none, some);
    let weight = if is_better { WEIGHTS.get(best).copied()? } else { 0.0 };
    let (threshold, recognised) = no_tool(&with_tool, &without);
    if !is_better && threshold.is_none() {
        return None;
    }
    let scale = if is_better { scale(&with_tool, weight) } else { 1.0 };
    let after = if is_better { percent(some) } else { percent(none) };
    let weights = ClassifierWeights { weight, scale, no_tool: threshold };
    Some((weights, ClassifierEffect { before: percent(none), after, no_tool: recognised }))
}

fn percent(hits: &[f64]) -> f64 {
    100.0 * hits.iter().sum::<f64>() / hits.len().max(1) as f64
}

/// Returns the position of the largest sum, smoothed over its neighbours because of the noise of few samples.
fn smoothed_best(sums: &[f64]) -> usize {
    let mut best = (0, f64::NEG_INFINITY);
    for (at, sum) in sums.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| sums.get(before)).unwrap_or(sum);
        let after = sums.get(at + 1).unwrap_or(sum);
        let smooth = 0.25 * before + 0.5 * sum + 0.25 * after;
        if smooth > best.1 {
            best = (at, smooth);
        }
    }
    best.0
}

/// Whether the sum of the differences exceeds its standard error.
fn gain_exceeds_error(before: &[f64], after: &[f64]) -> bool {
    let (mut sum, mut squares) = (0.0, 0.0);
    for (before, after) in before.iter().zip(after) {
        sum += after - before;
        squares += (after - before) * (after - before);
    }
    sum > squares.sqrt()
}

/// Returns the factor that maximises the likelihood of the right tools.
fn scale(rows: &[&HeldOutScores], weight: f32) -> f32 {
    let mut best = (1.0, f64::NEG_INFINITY);
    for scale in SCALES {
        let likelihood: f64 = rows.iter().map(|row| row.likelihood(weight, scale)).sum();
        if likelihood > best.1 {
            best = (scale, likelihood);
        }
    }
    best.0
}

/// Returns the threshold of "no tool" at which few requests with a tool are missed, and the percentage of the requests
/// without a tool that it recognises. `None` if it recognises none.
fn no_tool(with_tool: &[&HeldOutScores], without: &[&HeldOutScores]) -> (Option<f32>, Option<f64>) {
    let mut differences: Vec<f32> = with_tool.iter().filter_map(|row| row.no_tool).collect();
    let none: Vec<f32> = without.iter().filter_map(|row| row.no_tool).collect();
    if differences.is_empty() || none.is_empty() {
        return (None, None);
    }
    differences.sort_unstable_by(|one, other| other.total_cmp(one));
    let allowed = (differences.len() as f64 * MISSED_SHARE) as usize;
    // Above the first difference that must not be missed.
    let least = differences.get(allowed).copied().unwrap_or_default();
    let threshold = least.max(0.0) + f32::EPSILON.max(least.abs() * 1e-3);
    let recognised = none.iter().filter(|difference| **difference >= threshold).count();
    let share = 100.0 * recognised as f64 / none.len() as f64;
    ((recognised > 0).then_some(threshold), Some(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(scores: [f32; 2], margins: [f32; 2], right: &[usize]) -> HeldOutScores {
        HeldOutScores { scores: scores.to_vec(), margins: margins.to_vec(), right: right.to_vec(), no_tool: None }
    }

    #[test]
    fn classifiers_that_correct_the_patterns_get_weight() {
        let mut rows = vec![row([1.0, 0.0], [0.0, 1.0], &[1]); 20];
        rows.extend(vec![row([1.0, 0.0], [1.0, 0.0], &[0]); 20]);
        let (weights, effect) = choose(&rows).unwrap();
        assert!(weights.weight > 1.0 && weights.no_tool.is_none(), "{weights:?} {effect:?}");
        assert_eq!((effect.before, effect.after), (50.0, 100.0));
    }

    #[test]
    fn a_gain_within_the_error_is_no_gain() {
        let mut rows = vec![row([1.0, 0.0], [1.0, 0.0], &[0]); 20];
        rows.push(row([1.0, 0.0], [0.0, 1.0], &[1]));
        assert_eq!(choose(&rows), None);
        assert_eq!(choose(&[]), None);
    }

    #[test]
    fn several_right_tools_count_proportionally() {
        let row = row([3.0, 1.0], [0.0, 0.0], &[1]);
        assert!(row.hits(0.0).abs() < 1e-9);
        let both = HeldOutScores { right: vec![0, 1], ..row };
        assert!((both.hits(0.0) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn threshold_of_no_tool_rarely_misses_requests_with_a_tool() {
        let row_with = |no_tool: f32, right: &[usize]| HeldOutScores {
            no_tool: Some(no_tool),
            ..row([1.0, 0.0], [0.0; 2], right)
        };
        let mut rows: Vec<HeldOutScores> =
            (0..200).map(|number| row_with(-2.0 + number as f32 / 100.0, &[0])).collect();
        rows.extend([row_with(1.0, &[]), row_with(1.5, &[]), row_with(-1.0, &[])]);
        let (weights, effect) = choose(&rows).unwrap();
        let threshold = weights.no_tool.unwrap();
        assert!(threshold > 0.0 && threshold < 0.1, "{threshold}");
        assert!((effect.no_tool.unwrap() - 200.0 / 3.0).abs() < 1e-6);
        assert_eq!(weights.weight, 0.0);
    }
}
