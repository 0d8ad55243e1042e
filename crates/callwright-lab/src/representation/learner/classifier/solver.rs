//! Trains a linear separator: an L2-regularised support vector machine with squared hinge loss, by dual coordinate
//! descent with shrinking (Hsieh et al., "A dual coordinate descent method for large-scale linear SVM", ICML 2008).

use callwright_search::embedding::dot;

/// Largest violation of the optimality conditions at which training ends.
const TOLERANCE: f32 = 0.1;

/// Maximum number of passes. Most classes need 10 to 40.
const PASSES: usize = 200;

/// Features of some requests.
#[derive(Debug, Default)]
pub(super) struct FeatureRows {
    /// Terms of each request by position, as a vector of length one.
    pub(super) terms: Vec<Vec<(u32, f32)>>,
    /// Number of positions.
    pub(super) width: usize,
    /// Vectors of the requests, one after the other; empty without vectors.
    pub(super) meanings: Vec<f32>,
    /// Number of components of a vector.
    pub(super) dimensions: usize,
}

/// Weights of the features.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Separator {
    pub(super) terms: Vec<f32>,
    pub(super) meaning: Vec<f32>,
    pub(super) bias: f32,
}

impl FeatureRows {
    fn meaning(&self, row: usize) -> &[f32] {
        self.meanings.get(row * self.dimensions..(row + 1) * self.dimensions).unwrap_or_default()
    }

    /// Returns the squared length of a row, with the constant feature of the bias.
    fn squared_length(&self, row: usize) -> f32 {
        let terms = self.terms.get(row).map_or(0.0, |terms| terms.iter().map(|(_, value)| value * value).sum::<f32>());
        1.0 + terms + self.meaning(row).iter().map(|value| value * value).sum::<f32>()
    }
}

impl Separator {
    fn new(rows: &FeatureRows) -> Self {
        Self { terms: vec![0.0; rows.width], meaning: vec![0.0; rows.dimensions], bias: 0.0 }
    }

    /// Returns the margin of a row.
    fn margin(&self, rows: &FeatureRows, row: usize) -> f32 {
        let mut sum = self.bias;
        for (position, value) in rows.terms.get(row).into_iter().flatten() {
            sum += self.terms.get(*position as usize).copied().unwrap_or_default() * value;
        }
        sum + dot(&self.meaning, rows.meaning(row))
    }

    /// Adds a multiple of a row.
    fn add(&mut self, rows: &FeatureRows, row: usize, times: f32) {
        self.bias += times;
        for (position, value) in rows.terms.get(row).into_iter().flatten() {
            if let Some(weight) = self.terms.get_mut(*position as usize) {
                *weight += times * value;
            }
        }
        for (weight, value) in self.meaning.iter_mut().zip(rows.meaning(row)) {
            *weight += times * value;
        }
    }
}

/// State of a row in training.
#[derive(Debug, Clone, Copy)]
struct DualVariable {
    row: usize,
    sign: f32,
    alpha: f32,
    curvature: f32,
}

/// Returns the separator of the rows for which `is_positive` is true from all others. Equal input gives equal output.
pub(super) fn separate(rows: &FeatureRows, is_positive: impl Fn(usize) -> bool, seed: u64) -> Separator {
    // The cost of a training error is 1.
    let (mut separator, softness) = (Separator::new(rows), 0.5);
    let mut variables: Vec<DualVariable> = Vec::with_capacity(rows.terms.len());
    for row in 0..rows.terms.len() {
        let sign = if is_positive(row) { 1.0 } else { -1.0 };
        variables.push(DualVariable { row, sign, alpha: 0.0, curvature: rows.squared_length(row) + softness });
    }
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut active, mut bound) = (variables.len(), f32::INFINITY);
    for _ in 0..PASSES {
        let (mut largest, mut smallest) = (f32::NEG_INFINITY, f32::INFINITY);
        random.shuffle(variables.get_mut(..active).unwrap_or_default());
        let mut at = 0;
        while at < active {
            let Some(variable) = variables.get_mut(at) else { break };
            let gradient = variable.sign * separator.margin(rows, variable.row) - 1.0 + variable.alpha * softness;
            if variable.alpha <= 0.0 && gradient > bound {
                // The row is far on its side; it is examined again before the end.
                active -= 1;
                variables.swap(at, active);
                continue;
            }
            let projected = if variable.alpha > 0.0 { gradient } else { gradient.min(0.0) };
            (largest, smallest) = (largest.max(projected), smallest.min(projected));
            if projected.abs() > 1e-12 {
                let alpha = (variable.alpha - gradient / variable.curvature).max(0.0);
                let change = (alpha - variable.alpha) * variable.sign;
                variable.alpha = alpha;
                separator.add(rows, variable.row, change);
            }
            at += 1;
        }
        if largest - smallest <= TOLERANCE {
            if active == variables.len() {
                break;
            }
            (active, bound) = (variables.len(), f32::INFINITY);
            continue;
        }
        bound = if largest > 0.0 { largest } else { f32::INFINITY };
    }
    separator
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> FeatureRows {
        let term = |position| vec![(position, 1.0)];
        FeatureRows {
            terms: vec![term(0), term(0), term(1), term(1), Vec::new()],
            width: 2,
            meanings: vec![1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0],
            dimensions: 2,
        }
    }

    #[test]
    fn terms_and_vectors_separate() {
        let rows = rows();
        let separator = separate(&rows, |row| row < 2, 1);
        let margins: Vec<f32> = (0..5).map(|row| separator.margin(&rows, row)).collect();
        assert!(margins[0] > 0.5 && margins[1] > 0.0 && margins[2] < 0.0 && margins[3] < 0.0, "{margins:?}");
        assert!(separator.terms[0] > 0.0 && separator.terms[1] < 0.0);
        assert_eq!(separator, separate(&rows, |row| row < 2, 1));
    }

    /// The primal and the dual objective agree at the optimum.
    #[test]
    fn duality_gap_is_small() {
        let rows = rows();
        let is_positive = |row: usize| row == 0 || row == 4;
        let separator = separate(&rows, is_positive, 1);
        let mut norm = separator.bias * separator.bias;
        norm += separator.terms.iter().chain(&separator.meaning).map(|weight| weight * weight).sum::<f32>();
        let (mut primal, mut alphas) = (0.5 * norm, 0.0);
        let mut dual = -0.5 * norm;
        for row in 0..5 {
            let sign = if is_positive(row) { 1.0 } else { -1.0 };
            let loss = (1.0 - sign * separator.margin(&rows, row)).max(0.0);
            primal += loss * loss;
            // At the optimum, alpha is twice the loss.
            let alpha = 2.0 * loss;
            alphas += alpha;
            dual += alpha - alpha * alpha / 4.0;
        }
        assert!((primal - dual).abs() < 0.1 * primal, "{primal} {dual} {alphas}");
    }

    #[test]
    fn without_features_there_is_a_bias() {
        let rows = FeatureRows { terms: vec![Vec::new(); 4], ..FeatureRows::default() };
        assert!(separate(&rows, |row| row == 0, 1).bias < 0.0);
    }
}
