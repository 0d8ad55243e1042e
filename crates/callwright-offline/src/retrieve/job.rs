//! Inputs, settings and counts of a run.

use std::path::PathBuf;
use std::sync::Arc;

use callwright_search::embedding::Embedder;

/// Inputs and settings of a run.
#[derive(Debug)]
pub struct RetrieveJob {
    /// Lines `{"name", "description", "parameters"?}`.
    pub tools: PathBuf,
    /// Learned representations of tools defined by clients, if they are used.
    pub representations: Option<PathBuf>,
    /// Lines `{"query"}`.
    pub queries: PathBuf,
    /// Output file of the rankings.
    pub rankings: PathBuf,
    /// Maximum number of names in a ranking.
    pub count: usize,
    /// Embedding model; without it, texts are compared by words only.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Whether the reasons for each tool are written too.
    pub details: bool,
}

/// Counts over a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetrieveSummary {
    /// Ranked tools.
    pub tools: u64,
    /// Tools with learned representations.
    pub learned: u64,
    /// Answered queries.
    pub records: u64,
    /// Queries without a found tool.
    pub empty: u64,
    /// Whether the classifier beside the representations is not used, because it was learned with other vectors.
    pub unfit_classifier: bool,
    /// Unusable lines of tools and queries.
    pub problems: u64,
}

impl RetrieveSummary {
    pub(super) fn count(&mut self, is_empty: bool) {
        self.records += 1;
        self.empty += u64::from(is_empty);
    }
}
