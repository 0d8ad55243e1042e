//! Vectors and their similarity.

/// Direction of a text in the embedding space: of length one, or zero for a text without known words.
#[derive(Debug, Clone, PartialEq)]
pub struct Vector(Box<[f32]>);

impl Vector {
    /// Normalises components to length one. `None` if one is not finite.
    pub fn new(mut components: Vec<f32>) -> Option<Self> {
        let norm = components.iter().map(|component| component * component).sum::<f32>().sqrt();
        if !norm.is_finite() {
            return None;
        }
        if norm > 0.0 {
            components.iter_mut().for_each(|component| *component /= norm);
        }
        Some(Self(components.into_boxed_slice()))
    }

    /// Returns the vector of a text without known words.
    pub fn zero(dimensions: usize) -> Self {
        Self(vec![0.0; dimensions].into_boxed_slice())
    }

    pub fn components(&self) -> &[f32] {
        &self.0
    }

    /// Returns the cosine similarity of two vectors of one embedder, -1 to 1; 0 if either is zero.
    pub fn cosine(&self, other: &Self) -> f32 {
        self.0.iter().zip(&other.0).map(|(left, right)| left * right).sum()
    }
}

/// Returns the dot product. Independent partial sums allow vectorisation.
pub fn dot(left: &[f32], right: &[f32]) -> f32 {
    const LANES: usize = 16;
    let (left, left_rest) = left.as_chunks::<LANES>();
    let (right, right_rest) = right.as_chunks::<LANES>();
    let mut sums = [0.0_f32; LANES];
    for (left, right) in left.iter().zip(right) {
        for (sum, (left, right)) in sums.iter_mut().zip(left.iter().zip(right)) {
            *sum += left * right;
        }
    }
    let rest: f32 = left_rest.iter().zip(right_rest).map(|(left, right)| left * right).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_compared_by_direction() {
        let vector = |components: &[f32]| Vector::new(components.to_vec()).unwrap();
        assert!((vector(&[3.0, 4.0]).cosine(&vector(&[30.0, 40.0])) - 1.0).abs() < 1e-6);
        assert!(vector(&[1.0, 0.0]).cosine(&vector(&[0.0, 2.0])).abs() < 1e-6);
        assert!(vector(&[0.0, 0.0]).cosine(&vector(&[1.0, 0.0])).abs() < 1e-6);
    }

    #[test]
    fn vectors_are_finite() {
        assert_eq!(Vector::new(vec![f32::NAN, 1.0]), None);
        assert_eq!(Vector::new(vec![f32::MAX, f32::MAX]), None);
    }
}
