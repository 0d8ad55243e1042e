//! One bit for each component of many vectors: enough to tell far from near.

use std::f32::consts::PI;

use super::Vector;

/// Bits of a word.
const BITS: usize = u64::BITS as usize;

/// The signs of vectors' components. The share of signs in which two vectors differ is about their angle's share of 180° (Charikar, "Similarity
/// estimation techniques from rounding algorithms", STOC 2002), so a table of all possible shares says how close two vectors are, roughly, at the cost
/// of some instructions.
#[derive(Debug, Clone)]
pub struct SignVectors {
    dimensions: usize,
    words: Vec<u64>,
}

/// The signs of a vector that many are compared with.
#[derive(Debug, Clone)]
pub struct SignQuery(Vec<u64>);

impl SignVectors {
    /// None yet, of `dimensions` components each, with room for `count`.
    pub fn with_capacity(dimensions: usize, count: usize) -> Self {
        let dimensions = dimensions.max(1);
        Self { dimensions, words: Vec::with_capacity(count.saturating_mul(words(dimensions))) }
    }

    /// Adds a vector behind the others.
    pub fn push(&mut self, vector: &Vector) {
        self.words.extend(signs(vector, self.dimensions));
    }

    /// How many signs each has; two vectors can differ in none to all of them.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// In how many signs each differs from the query, in their order. Processors have an instruction that counts bits, which the compiler takes in what is
    /// dispatched by what they can do.
    pub fn differences(&self, query: &SignQuery) -> Vec<u32> {
        let rows = self.words.chunks_exact(words(self.dimensions));
        let mut differences = vec![0; rows.len()];
        // A loop and no adapters: they would be functions of their own, made for every processor.
        pulp::Arch::new().dispatch(|| {
            for (difference, row) in differences.iter_mut().zip(rows) {
                for (left, right) in row.iter().zip(&query.0) {
                    *difference += (left ^ right).count_ones();
                }
            }
        });
        differences
    }

    /// The cosine that a number of differing signs, of all that there are, speaks for.
    pub fn cosine(differences: usize, dimensions: usize) -> f32 {
        (PI * differences as f32 / dimensions.max(1) as f32).cos()
    }
}

impl SignQuery {
    /// Of a vector of the same embedder.
    pub fn of(vector: &Vector) -> Self {
        Self(signs(vector, vector.components().len()).collect())
    }
}

/// Words for each vector; the last one is filled up with zeros.
fn words(dimensions: usize) -> usize {
    dimensions.div_ceil(BITS)
}

fn signs(vector: &Vector, dimensions: usize) -> impl Iterator<Item = u64> {
    let word = |components: &[f32]| {
        components.iter().enumerate().fold(0, |word, (at, component)| word | (u64::from(*component > 0.0) << at))
    };
    let words_of = vector.components().chunks(BITS).map(word);
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
        let differences = vectors.differences(&SignQuery::of(&Vector::new(right.to_vec()).unwrap()));
        assert_eq!((differences.len(), differences[0]), (2, 0));
        differences[1] as usize
    }

    #[test]
    fn angles_are_read_off_the_signs() {
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
