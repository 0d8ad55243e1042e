//! Sign vectors with one bit per component, for a rough comparison of many vectors.

use std::f32::consts::PI;

use super::Vector;

/// Number of bits in a word.
const BITS: usize = u64::BITS as usize;

/// Signs of vectors' components. The share of differing signs of two vectors approximates their angle as a share of
/// 180° (Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002). A table over all shares
/// therefore gives an approximate similarity in a few instructions.
#[derive(Debug, Clone)]
pub struct SignVectors {
    dimensions: usize,
    words: Vec<u64>,
}

/// Signs of a query vector.
#[derive(Debug, Clone)]
pub struct SignQuery(Vec<u64>);

impl SignVectors {
    /// Creates an empty collection for vectors of `dimensions` components, with capacity for `count`.
    pub fn with_capacity(dimensions: usize, count: usize) -> Self {
        let dimensions = dimensions.max(1);
        Self { dimensions, words: Vec::with_capacity(count.saturating_mul(words(dimensions))) }
    }

    /// Appends a vector.
    pub fn push(&mut self, vector: &Vector) {
        self.words.extend(signs(vector, self.dimensions));
    }

    /// Returns the number of signs per vector, which is the maximum number of differences.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Returns the number of signs in which each vector differs from the query, in order. The dispatch lets the
    /// compiler use the processor's population count instruction.
    pub fn differences(&self, query: &SignQuery) -> Vec<u32> {
        let rows = self.words.chunks_exact(words(self.dimensions));
        let mut differences = vec![0; rows.len()];
        // A loop instead of adapters, which would be separate functions without the processor-specific code generation.
        pulp::Arch::new().dispatch(|| {
            for (difference, row) in differences.iter_mut().zip(rows) {
                for (left, right) in row.iter().zip(&query.0) {
                    *difference += (left ^ right).count_ones();
                }
            }
        });
        differences
    }

    /// Returns the cosine that corresponds to a number of differing signs.
    pub fn cosine(differences: usize, dimensions: usize) -> f32 {
        (PI * differences as f32 / dimensions.max(1) as f32).cos()
    }
}

impl SignQuery {
    /// Returns the signs of a vector of the same embedder.
    pub fn new(vector: &Vector) -> Self {
        Self(signs(vector, vector.components().len()).collect())
    }
}

/// Returns the number of words per vector; the last word is padded with zeros.
fn words(dimensions: usize) -> usize {
    dimensions.div_ceil(BITS)
}

fn signs(vector: &Vector, dimensions: usize) -> impl Iterator<Item = u64> {
    let words_of = vector.components().chunks(BITS).map(|components| {
        components.iter().enumerate().fold(0, |word, (at, component)| word | (u64::from(*component > 0.0) << at))
    });
    words_of.chain(std::iter::repeat(0)).take(words(dimensions))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn difference(left: &[f32], right: &[f32]) -> usize {
        let mut vectors = SignVectors::with_capacity(left.len(), 2);
        for vector in [right, left] {
            vectors.push(&Vector::new(vector.to_vec()).unwrap());
        }
        let differences = vectors.differences(&SignQuery::new(&Vector::new(right.to_vec()).unwrap()));
        assert_eq!((differences.len(), differences[0]), (2, 0));
        differences[1] as usize
    }

    #[test]
    fn signs_approximate_angles() {
        let cosine = |differences| SignVectors::cosine(differences, 100);
        assert!((cosine(0) - 1.0).abs() < 1e-6 && (cosine(100) + 1.0).abs() < 1e-6 && cosine(50).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn every_differing_sign_is_counted(left in vec(-1.0_f32..1.0, 130), right in vec(-1.0_f32..1.0, 130)) {
            let expected = left.iter().zip(&right).filter(|(left, right)| (**left > 0.0) != (**right > 0.0)).count();
            prop_assert_eq!(difference(&left, &right), expected);
        }
    }
}
