//! Settings of a run of the learner.

/// Settings of the learner. The defaults are those of the paper's appendix D, if it has any.
#[derive(Debug, Clone, PartialEq)]
pub struct LearnSettings {
    /// Maximum number of iterations over all tools (paper: 10).
    pub iterations: usize,
    /// Minimum gain in macro-F1 on the validation samples to keep a change, in percentage points (paper: 0.01).
    pub threshold: f64,
    /// Number of iterations without gain after which learning ends (paper: 3).
    pub patience: usize,
    /// Seed of the split of samples and of the clustering.
    pub seed: u64,
    /// Share of the validation samples; 0.2 is the paper's four to one.
    pub validation_share: f64,
    /// Maximum number of patterns per tool.
    pub max_patterns: usize,
    /// Whether patterns are added. `false` is an ablation of the paper.
    pub add: bool,
    /// Whether patterns and their weights are edited. `false` is an ablation of the paper.
    pub edit: bool,
    /// Strength of the regularisation of pattern weights towards 1: the inverse variance of a normal prior on their
    /// logarithm.
    pub ridge: f32,
    /// Shrinkage of a tool's F1, in samples. In the macro-F1 that decides, a tool with `n` validation samples has the
    /// weight `n / (n + doubt)`, because F1 of a single sample is 0 or 100 by chance. 0 is the paper's score.
    pub doubt: f64,
    /// Number of samples below which the first additions are cross-validated; 0 disables cross-validation.
    pub cross_below: usize,
    /// Number of samples below which sharpness and word weight keep their defaults: fitted to few samples, they are
    /// worse on further requests.
    pub fit_ranking_from: usize,
    /// Whether a classifier is learned beside the patterns.
    pub classify: bool,
    /// Number of threads that train the classifier. The result does not depend on it.
    pub jobs: usize,
    /// Number of tools for which proposals are requested concurrently.
    pub parallel: usize,
    /// Maximum number of similarities of samples and patterns held in memory: four bytes each, and up to four times
    /// that while changes are tried.
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
            fit_ranking_from: 200,
            classify: true,
            jobs: 1,
            parallel: 4,
            max_cells: 200_000_000,
        }
    }
}
