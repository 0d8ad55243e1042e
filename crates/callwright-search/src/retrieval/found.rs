//! Search results and their explanation.

/// A tool found by a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// Position of the tool among all tools of the index, in the order of its segments.
    pub position: usize,
    /// Score; comparable only within one search, among tools with the same [`Why::named`].
    pub score: f32,
    /// Components of the score.
    pub why: Why,
}

/// Components of a score.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Why {
    /// Whether the request mentions the tool by name. Such tools rank first, regardless of their score.
    pub named: bool,
    /// BM25 score of the tool's words.
    pub words: f32,
    /// [`soft_sum`](super::soft_sum) of the tool's vectors; `None` if it was ranked by words only.
    pub meaning: Option<f32>,
    /// The tool's text that is closest in meaning.
    pub closest: Option<Closest>,
}

/// The text of a tool that is closest to a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Closest {
    /// Index of a pattern; `None` for the tool's own description.
    pub pattern: Option<usize>,
    /// Cosine similarity, -1 to 1.
    pub cosine: f32,
}
