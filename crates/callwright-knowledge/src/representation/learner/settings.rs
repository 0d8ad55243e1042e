//! What a run of the learner may be told.

/// How representations are learned. The defaults are those of the paper's appendix D where it has any.
#[derive(Debug, Clone, PartialEq)]
pub struct LearnSettings {
    /// Rounds over all tools, at most; the paper's 10.
    pub iterations: usize,
    /// Points of macro-F1 on the validation samples, in percent, by which a change has to raise it to be kept; the paper's 0.01.
    pub threshold: f64,
    /// Rounds without gain after which learning ends; the paper's 3.
    pub patience: usize,
    /// What samples are parted by and clusters begin with.
    pub seed: u64,
    /// Share of the samples that changes are confirmed with; 0.2 is the paper's four to one.
    pub validation_share: f64,
    /// Patterns of a tool, at most.
    pub max_patterns: usize,
    /// Are patterns added? Without it: the paper's ablation.
    pub add: bool,
    /// Are patterns edited, and their weights with them? Without it: the paper's ablation.
    pub edit: bool,
    /// How strongly a pattern's weight is held to 1, as the variance of a normal prior's inverse on its logarithm.
    pub ridge: f32,
    /// Samples that F1 of a tool is in doubt by: F1 of a tool that `n` validation samples want counts as `n / (n + doubt)` in the macro-F1 that decides, because
    /// that of a single sample is 0 or 100 by chance. 0 is the paper's score.
    pub doubt: f64,
    /// Samples below which the first additions are confirmed by all of them, in turn, instead of a part alone; 0 is never.
    pub cross_below: usize,
    /// Tools for which a proposer is asked at the same time.
    pub parallel: usize,
    /// Numbers that may be held at once, a sample's closeness to a pattern being one: what learning costs in memory, four bytes each, and up to
    /// four times that while changes are tried.
    pub max_cells: usize,
}

impl Default for LearnSettings {
    fn default() -> Self {
        Self {
            iterations: 10,
            threshold: 0.01,
            patience: 3,
            seed: 1,
            validation_share: 0.2,
            max_patterns: 12,
            add: true,
            edit: true,
            ridge: 5.0,
            doubt: 5.0,
            cross_below: 1000,
            parallel: 4,
            max_cells: 200_000_000,
        }
    }
}
