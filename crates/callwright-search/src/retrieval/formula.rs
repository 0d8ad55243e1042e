//! What BM25 computes with, whatever it is computed over.

/// The two free parameters of BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, section 3.4).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// How soon repeating a term stops to count: 0 is at once, larger is later. 1.2 is the customary value.
    pub k1: f32,
    /// How much a long text is held to its length: 0 not at all, 1 fully. 0.75 is the customary value.
    pub b: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Self { k1: 1.2, b: 0.75 }
    }
}

impl Weights {
    /// How much a text that is `relative_length` times as long as the mean holds back what it repeats.
    pub fn restraint(self, relative_length: f32) -> f32 {
        self.k1 * (1.0 - self.b + self.b * relative_length)
    }

    /// How much `count` occurrences say in a text of a [`Self::restraint`].
    pub fn saturated(self, count: f32, restraint: f32) -> f32 {
        count * (self.k1 + 1.0) / (count + restraint)
    }
}

/// Inverse document frequency, in the form that is never negative: ln(1 + (N − n + ½) / (n + ½)).
pub fn rarity(texts: usize, texts_with_term: usize) -> f32 {
    let with = texts_with_term as f32;
    let without = (texts as f32 - with).max(0.0);
    (1.0 + (without + 0.5) / (with + 0.5)).ln()
}
