//! One bit for each component of many vectors: enough to tell far from near.

use std::f32::consts::PI;

use super::Vector;

/// Bits of a word.
const BITS: usize = u64::BITS as usize;

/// Words whose bits are counted together.
const GROUP: usize = 3;

type Group = [u64; GROUP];

/// The signs of vectors' components. The share of signs in which two vectors differ is about their angle's share of 180° (Charikar, "Similarity
/// estimation techniques from rounding algorithms", STOC 2002), so a table of all possible shares says how close two vectors are, roughly, at the cost
/// of some instructions.
#[derive(Debug, Clone)]
pub struct SignVectors {
    dimensions: usize,
    groups: Vec<Group>,
}

/// The signs of a vector that many are compared with.
#[derive(Debug, Clone)]
pub struct SignQuery(Vec<Group>);

impl SignVectors {
    /// None yet, of `dimensions` components each.
    pub fn new(dimensions: usize) -> Self {
        Self { dimensions: dimensions.max(1), groups: Vec::new() }
    }

    /// Adds a vector behind the others.
    pub fn push(&mut self, vector: &Vector) {
        self.groups.extend(signs(vector, self.dimensions));
    }

    /// Gives back the memory that growing has taken in advance.
    pub fn shrink_to_fit(&mut self) {
        self.groups.shrink_to_fit();
    }

    /// How many signs each has; two vectors can differ in none to all of them.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// In how many signs the vector at an index differs from the query.
    #[inline]
    pub fn differences(&self, query: &SignQuery, index: usize) -> usize {
        let groups = groups(self.dimensions);
        self.groups.get(index * groups..(index + 1) * groups).map_or(0, |row| differing(row, &query.0))
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

/// In how many bits two rows differ. Every processor of the architecture must run it, so it counts without an instruction for that: in
/// pairs of bits, then in fours, of which a group's counts fit into the same bits, then in bytes and doubles.
#[inline]
fn differing(left: &[Group], right: &[Group]) -> usize {
    const PAIRS: u64 = 0x5555_5555_5555_5555;
    const FOURS: u64 = 0x3333_3333_3333_3333;
    const BYTES: u64 = 0x0f0f_0f0f_0f0f_0f0f;
    const DOUBLES: u64 = 0x00ff_00ff_00ff_00ff;
    let in_fours = |(left, right): (&u64, &u64)| {
        let bits = left ^ right;
        let pairs = bits - ((bits >> 1) & PAIRS);
        (pairs & FOURS) + ((pairs >> 2) & FOURS)
    };
    let mut doubles = 0_u64;
    for (left, right) in left.iter().zip(right) {
        let fours: u64 = left.iter().zip(right).map(in_fours).sum();
        let bytes = (fours & BYTES) + ((fours >> 4) & BYTES);
        doubles += (bytes & DOUBLES) + ((bytes >> 8) & DOUBLES);
    }
    let quads = (doubles & 0x0000_ffff_0000_ffff) + ((doubles >> 16) & 0x0000_ffff_0000_ffff);
    ((quads & 0xffff_ffff) + (quads >> 32)) as usize
}

/// Groups for each vector; the last one is filled up with zeros.
fn groups(dimensions: usize) -> usize {
    dimensions.div_ceil(GROUP * BITS)
}

fn signs(vector: &Vector, dimensions: usize) -> impl Iterator<Item = Group> {
    let word = |components: &[f32]| {
        components.iter().enumerate().fold(0, |word, (at, component)| word | (u64::from(*component > 0.0) << at))
    };
    let mut words = vector.components().chunks(BITS).map(word);
    (0..groups(dimensions)).map(move |_| std::array::from_fn(|_| words.next().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn difference(left: &[f32], right: &[f32]) -> usize {
        let mut vectors = SignVectors::new(left.len());
        vectors.push(&Vector::new(left.to_vec()).unwrap());
        vectors.differences(&SignQuery::of(&Vector::new(right.to_vec()).unwrap()), 0)
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
