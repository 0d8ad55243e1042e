//! What a search finds, and why.

/// One tool that a search found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// The tool's position: among all tools of the index, in the order of its segments.
    pub position: usize,
    /// Comparable only within one search, among tools that are equally named.
    pub score: f32,
    /// Where the score comes from.
    pub why: Why,
}

/// Where a score comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Why {
    /// The request mentions the tool by its name. Such tools come first, whatever their scores are.
    pub named: bool,
    /// BM25 of the tool's words.
    pub words: f32,
    /// [`soft_sum`](super::soft_sum) of the tool's vectors; `None` where it was ranked by words alone.
    pub meaning: Option<f32>,
    /// Which of the tool's texts is closest in meaning.
    pub closest: Option<Closest>,
}

/// The text of a tool that is closest to a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Closest {
    /// The index of a pattern; `None` is the tool's own description.
    pub pattern: Option<usize>,
    /// How close, -1 to 1.
    pub cosine: f32,
}
