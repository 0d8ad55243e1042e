//! What a run of the learner gives.

use callwright_search::retrieval::Fusion;
use callwright_types::representation::Pattern;

/// What was learned, and how it went.
#[derive(Debug, Clone, PartialEq)]
pub struct Learned {
    /// Each tool, in the order in which they were given.
    pub tools: Vec<LearnedTool>,
    /// How words and meaning are weighed. Without vectors, sharpness is 0.
    pub fusion: Fusion,
    /// How macro-F1 went.
    pub curve: Vec<Point>,
    /// Tools that are still selected in place of others, on the validation samples.
    pub confusions: Vec<Confusion>,
    /// The share of the samples that confirmed: all, where each confirmed what was made without it.
    pub validation_share: f64,
}

/// What was learned for a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct LearnedTool {
    /// Its name.
    pub tool: String,
    /// The patterns that the learner made; those of people are not among them.
    pub patterns: Vec<LearnedPattern>,
    /// F1 on the validation samples before, in percent; `None` where none of them wants the tool.
    pub f1_before: Option<f64>,
    /// F1 after.
    pub f1_after: Option<f64>,
}

/// A pattern, and what it brought.
#[derive(Debug, Clone, PartialEq)]
pub struct LearnedPattern {
    /// The pattern.
    pub pattern: Pattern,
    /// Points of macro-F1 on the validation samples that it brought, with those that were proposed with it.
    pub gain: f64,
}

/// A point of the curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The round; 0 is before the first.
    pub iteration: usize,
    /// Macro-F1 on the validation samples, in percent.
    pub macro_f1: f64,
    /// Patterns of all tools.
    pub patterns: usize,
}

/// A tool that is selected in place of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confusion {
    /// The tool that the samples want.
    pub wanted: String,
    /// The tool that is selected.
    pub selected: String,
    /// For how many samples.
    pub samples: usize,
}
