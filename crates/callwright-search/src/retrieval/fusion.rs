//! Fusion of lexical and semantic scores.

/// Weights of the lexical and the semantic score. Learned values are stored with the representations with which they
/// were learned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fusion {
    /// Weight of the closest text of a tool relative to its others: 0 counts all equally, a large value counts the
    /// closest only.
    pub sharpness: f32,
    /// Weight of a BM25 point in units of [`soft_sum`].
    pub words: f32,
}

impl Default for Fusion {
    fn default() -> Self {
        Self { sharpness: 10.0, words: 0.2 }
    }
}

impl Fusion {
    /// Returns the score of a tool from its semantic score `meaning` ([`soft_sum`] of its texts) and its lexical score
    /// `words` (BM25 of its document).
    pub fn score(&self, meaning: f32, words: f32) -> f32 {
        meaning + self.words * words
    }

    /// Returns [`soft_sum`] with this fusion's sharpness.
    pub fn meaning(&self, texts: impl Iterator<Item = (f32, f32)>) -> f32 {
        soft_sum(self.sharpness, texts)
    }
}

/// Returns the similarity of a query to the texts of a tool, given as pairs of cosine and weight: ln Σ weight ·
/// exp(sharpness · cosine) − ½ ln Σ weight.
///
/// It is the softened maximum of the cosines times the sharpness; each further similar text increases it. The second
/// term subtracts half of the effect of the number of texts. Without it, a tool with many patterns would win by their
/// number. Subtracting all of it would ignore that tools in frequent demand have more patterns. A tool without texts
/// has 0, as has one with a single text of cosine 0.
pub fn soft_sum(sharpness: f32, texts: impl Iterator<Item = (f32, f32)>) -> f32 {
    // Relative to the largest term so far, which avoids overflow at any sharpness.
    let (mut largest, mut sum, mut weights) = (f32::NEG_INFINITY, 0.0_f32, 0.0_f32);
    for (cosine, weight) in texts {
        weights += weight;
        let exponent = sharpness * cosine;
        if sum > 0.0 && exponent <= largest {
            sum += weight * (exponent - largest).exp();
        } else {
            let earlier = if sum > 0.0 { sum * (largest - exponent).exp() } else { 0.0 };
            sum = earlier + weight;
            largest = exponent;
        }
    }
    match sum / weights.sqrt() {
        // Fast path without a logarithm: most tools have one text.
        1.0 => largest,
        share if share > 0.0 => largest + share.ln(),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_single_text_gives_its_cosine_times_the_sharpness() {
        assert!((soft_sum(10.0, [(0.4, 1.0)].into_iter()) - 4.0).abs() < 1e-6);
        assert!(soft_sum(10.0, std::iter::empty()).abs() < 1e-6);
    }

    #[test]
    fn half_the_weight_lowers_every_similarity_equally() {
        let loss =
            |cosine: f32| soft_sum(10.0, [(cosine, 1.0)].into_iter()) - soft_sum(10.0, [(cosine, 0.5)].into_iter());
        let half = 2.0_f32.ln() / 2.0;
        assert!((loss(0.9) - half).abs() < 1e-5 && (loss(-0.3) - half).abs() < 1e-5);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_is_the_logarithm_of_the_sum_in_any_order(
            texts in proptest::collection::vec((-1.0_f32..1.0, 0.01_f32..1.0), 1..14), sharpness in 0.0_f32..200.0,
        ) {
            let sum: f64 = texts.iter().map(|(cosine, weight)| f64::from(*weight) * (f64::from(sharpness) * f64::from(*cosine)).exp()).sum();
            let soft = soft_sum(sharpness, texts.iter().copied());
            let reversed = soft_sum(sharpness, texts.iter().rev().copied());
            let weights: f64 = texts.iter().map(|(_, weight)| f64::from(*weight)).sum();
            let expected = sum.ln() - weights.ln() / 2.0;
            prop_assert!((f64::from(soft) - expected).abs() < 1e-3, "{soft} {expected}");
            prop_assert!((soft - reversed).abs() < 1e-3);
        }
    }
}
