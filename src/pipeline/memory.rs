//! What was learned from use, as a turn sees it.

use std::sync::Arc;

use callwright_knowledge::experience::Notebook;
use callwright_knowledge::procedures::Library;
use callwright_search::embedding::Embedder;

/// Lessons and procedures, ready to be found. Replaced as one when something is learned, here or by another replica.
#[derive(Debug, Default)]
pub struct Memory {
    /// The lessons of all scopes.
    pub notebook: Arc<Notebook>,
    /// The procedures of all scopes.
    pub library: Arc<Library>,
    /// What made the vectors of lessons and procedures, and makes those of what users say; `None` where all is found by words alone.
    pub embedder: Option<Arc<dyn Embedder>>,
}
