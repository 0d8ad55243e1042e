//! The lessons and procedures that turns use.

use std::sync::Arc;

use callwright_knowledge::experience::Notebook;
use callwright_knowledge::procedures::Library;
use callwright_search::embedding::Embedder;

/// Searchable lessons and procedures. Replaced as a unit when this process or another replica learns something.
#[derive(Debug, Default)]
pub struct Memory {
    /// Lessons of all scopes.
    pub notebook: Arc<Notebook>,
    /// Procedures of all scopes.
    pub library: Arc<Library>,
    /// The embedder for the vectors of lessons, procedures and user messages; `None` for keyword search only.
    pub embedder: Option<Arc<dyn Embedder>>,
}
