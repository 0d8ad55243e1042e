//! The lessons and procedures that turns use.

use std::sync::Arc;

use callwright_knowledge::experience::LessonStore;
use callwright_knowledge::procedures::ProcedureStore;
use callwright_search::embedding::Embedder;

/// Searchable lessons and procedures. Replaced as a unit when this process or another replica learns something.
#[derive(Debug, Default)]
pub struct RecallMemory {
    /// Lessons of all scopes.
    pub lesson_store: Arc<LessonStore>,
    /// Procedures of all scopes.
    pub library: Arc<ProcedureStore>,
    /// The embedder for the vectors of lessons, procedures and user messages; `None` for keyword search only.
    pub embedder: Option<Arc<dyn Embedder>>,
}
