//! The BM25 formula, independent of what is indexed.

/// The two free parameters of BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond",
/// 2009, section 3.4).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// Saturation of term frequency: 0 ignores repetitions, larger values count them longer.
    pub k1: f32,
    /// Strength of length normalisation: 0 is none, 1 is full.
    pub b: f32,
}

impl Weights {
    /// The usual values, for running text.
    pub const USUAL: Self = Self { k1: 1.2, b: 0.75 };

    /// Returns the length normalisation: `k1 * (1 - b + b * relative_length)`, with the length relative to the mean.
    pub fn length_norm(self, relative_length: f32) -> f32 {
        self.k1 * (1.0 - self.b + self.b * relative_length)
    }

    /// Returns the saturated weight of `count` occurrences in a text with this [`Self::length_norm`].
    pub fn saturated(self, count: f32, length_norm: f32) -> f32 {
        count * (self.k1 + 1.0) / (count + length_norm)
    }
}

/// Returns the inverse document frequency in its non-negative form: ln(1 + (N − n + ½) / (n + ½)).
pub fn rarity(texts: usize, texts_with_term: usize) -> f32 {
    let with = texts_with_term as f32;
    let without = (texts as f32 - with).max(0.0);
    (1.0 + (without + 0.5) / (with + 0.5)).ln()
}
