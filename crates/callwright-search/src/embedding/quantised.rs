//! Quantised vectors in a quarter of the memory.

use std::ops::Range;

use super::Vector;

/// Vectors of one embedder with 8-bit components and one scale per vector. The error of cosines is less than 0.02.
#[derive(Debug, Clone)]
pub struct QuantisedVectors {
    dimensions: usize,
    /// Components, one vector after the other.
    numbers: Vec<i8>,
    scales: Vec<f32>,
}

impl QuantisedVectors {
    /// Creates an empty collection for vectors of `dimensions` components, with capacity for `count`.
    pub fn with_capacity(dimensions: usize, count: usize) -> Self {
        let dimensions = dimensions.max(1);
        let numbers = Vec::with_capacity(count.saturating_mul(dimensions));
        Self { dimensions, numbers, scales: Vec::with_capacity(count) }
    }

    /// Appends a vector; its index is the previous length. Missing components are zero and excess ones are dropped:
    /// callers use vectors of one embedder.
    pub fn push(&mut self, vector: &Vector) {
        let (numbers, scale) = quantise(vector.components(), self.dimensions);
        self.numbers.extend_from_slice(&numbers);
        self.scales.push(scale);
    }

    /// Returns the cosines with the vectors at these indices, in order.
    pub fn cosines_within(&self, query: &QuantisedQuery, indices: Range<usize>) -> Vec<f32> {
        let numbers = indices.start * self.dimensions..indices.end * self.dimensions;
        let rows = self.numbers.get(numbers).unwrap_or_default().chunks_exact(self.dimensions);
        let mut cosines = self.scales.get(indices).unwrap_or_default().to_vec();
        // A loop instead of adapters, which would be separate functions without the processor-specific code generation.
        pulp::Arch::new().dispatch(|| {
            for (cosine, row) in cosines.iter_mut().zip(rows) {
                *cosine *= query.dot(row);
            }
        });
        cosines
    }
}

/// A query vector for comparison with many vectors.
#[derive(Debug, Clone)]
pub struct QuantisedQuery {
    /// 8-bit values, stored in the width in which they are multiplied.
    numbers: Vec<i16>,
    scale: f32,
}

impl QuantisedQuery {
    /// Quantises a vector of the same embedder.
    pub fn new(vector: &Vector) -> Self {
        let (numbers, scale) = quantise(vector.components(), vector.components().len());
        Self { numbers: numbers.into_iter().map(i16::from).collect(), scale }
    }

    /// Returns the dot product with a row, without the row's scale.
    #[inline(always)]
    fn dot(&self, row: &[i8]) -> f32 {
        let ((left, left_rest), (right, right_rest)) = (row.as_chunks::<LANES>(), self.numbers.as_chunks::<LANES>());
        let mut sum = products(left_rest, right_rest);
        for (left, right) in left.iter().zip(right) {
            sum += products(left, right);
        }
        sum as f32 * self.scale
    }
}

/// Number of components multiplied in parallel: the compiler vectorises chunks of a fixed length.
const LANES: usize = 32;

#[inline(always)]
fn products(left: &[i8], right: &[i16]) -> i32 {
    let mut sum = 0;
    for (left, right) in left.iter().zip(right) {
        sum += i32::from(*left) * i32::from(*right);
    }
    sum
}

/// Quantises components in steps of 1/127 of the largest one.
fn quantise(components: &[f32], dimensions: usize) -> (Vec<i8>, f32) {
    let largest = components.iter().fold(0.0_f32, |largest, component| largest.max(component.abs()));
    let scale = largest / f32::from(i8::MAX);
    let steps = if scale > 0.0 { scale.recip() } else { 0.0 };
    // The cast saturates at the range of the target type.
    let numbers = components.iter().map(|component| (component * steps).round() as i8);
    (numbers.chain(std::iter::repeat(0)).take(dimensions).collect(), scale)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn vector(components: &[f32]) -> Vector {
        Vector::new(components.to_vec()).unwrap()
    }

    proptest! {
        #[test]
        fn cosines_are_those_of_the_vectors(
            left in vec(-1.0_f32..1.0, 24),
            right in vec(-1.0_f32..1.0, 24),
        ) {
            let (left, right) = (vector(&left), vector(&right));
            let mut vectors = QuantisedVectors::with_capacity(24, 1);
            vectors.push(&left);
            let cosine = vectors.cosines_within(&QuantisedQuery::new(&right), 0..1)[0];
            prop_assert!((cosine - left.cosine(&right)).abs() < 0.02, "{cosine} {}", left.cosine(&right));
        }
    }
}
