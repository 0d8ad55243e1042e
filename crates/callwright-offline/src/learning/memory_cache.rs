//! Cache of the lessons and procedures in the store.

use std::sync::Arc;

use tokio::sync::Mutex;

use callwright_knowledge::experience::{self, LessonStore, StoredLesson};
use callwright_knowledge::memory::MemoryChange;
use callwright_knowledge::procedures::{self, ProcedureStore, StoredProcedure};
use callwright_search::embedding::{Embedder, Vector};
use callwright_store::{Memory, Revision, Store, StoreError};
use callwright_types::{Lesson, Procedure};

/// Number of lessons or procedures read from the store at once.
const PAGE: u32 = 1_000;

/// Lessons and procedures of the store, up to a revision of each.
#[derive(Debug, Clone)]
pub struct CachedMemory {
    /// Lessons of all scopes.
    pub lesson_store: Arc<LessonStore>,
    /// Procedures of all scopes.
    pub library: Arc<ProcedureStore>,
    /// Revision of the last included change of a lesson.
    pub lessons: Revision,
    /// Revision of the last included change of a procedure.
    pub procedures: Revision,
}

/// Keeps the cache current.
#[derive(Debug)]
pub struct MemoryCache {
    store: Arc<Store>,
    embedder: Option<Arc<dyn Embedder>>,
    memory: Mutex<CachedMemory>,
}

impl MemoryCache {
    /// Creates an empty cache. With an embedder, lessons and procedures get vectors.
    pub fn new(
        store: Arc<Store>,
        embedder: Option<Arc<dyn Embedder>>,
        experience: experience::Settings,
        procedures: procedures::Settings,
    ) -> Self {
        let memory = CachedMemory {
            lesson_store: Arc::new(LessonStore::new([], experience)),
            library: Arc::new(ProcedureStore::new([], procedures)),
            lessons: 0,
            procedures: 0,
        };
        Self { store, embedder, memory: Mutex::new(memory) }
    }

    /// Returns the cache as of the last refresh.
    pub async fn current(&self) -> CachedMemory {
        self.memory.lock().await.clone()
    }

    /// Loads the changes in the store since the last refresh, from any process.
    ///
    /// # Errors
    /// [`StoreError`]; changes loaded before the error are kept.
    pub async fn refresh(&self) -> Result<CachedMemory, StoreError> {
        let mut memory = self.memory.lock().await;
        loop {
            let changes = Memory::<Lesson>::changed(&*self.store, memory.lessons, PAGE).await?;
            if !(changes.changed.is_empty() && changes.removed.is_empty()) {
                let noted = self.noted(changes.changed).await.into_iter().map(MemoryChange::Stored);
                let forgotten = changes.removed.into_iter().map(MemoryChange::Deleted);
                memory.lesson_store = Arc::new(memory.lesson_store.with(noted.chain(forgotten)));
            }
            memory.lessons = changes.upto;
            if !changes.more {
                break;
            }
        }
        loop {
            let changes = Memory::<Procedure>::changed(&*self.store, memory.procedures, PAGE).await?;
            if !(changes.changed.is_empty() && changes.removed.is_empty()) {
                let stored = self.stored(changes.changed).await.into_iter().map(MemoryChange::Stored);
                let forgotten = changes.removed.into_iter().map(MemoryChange::Deleted);
                memory.library = Arc::new(memory.library.with(stored.chain(forgotten)));
            }
            memory.procedures = changes.upto;
            if !changes.more {
                break;
            }
        }
        Ok(memory.clone())
    }

    async fn noted(&self, lessons: Vec<Lesson>) -> Vec<StoredLesson> {
        let vectors = self.vectors(lessons.iter().map(|lesson| experience::embedded_text(lesson).to_owned())).await;
        let noted = lessons.into_iter().zip(vectors);
        noted.map(|(lesson, vector)| StoredLesson { lesson: Arc::new(lesson), vector }).collect()
    }

    async fn stored(&self, procedures: Vec<Procedure>) -> Vec<StoredProcedure> {
        let vectors = self.vectors(procedures.iter().map(procedures::embedded_text)).await;
        let stored = procedures.into_iter().zip(vectors);
        stored
            .map(|(procedure, vector)| StoredProcedure { procedure: Arc::new(procedure), vector: vector.map(Arc::new) })
            .collect()
    }

    /// Returns the vectors of texts; `None` without an embedder or after its failure: search uses words only then.
    async fn vectors(&self, texts: impl Iterator<Item = String>) -> Vec<Option<Vector>> {
        let texts: Vec<String> = texts.collect();
        let count = texts.len();
        let Some(embedder) = self.embedder.as_ref().filter(|_| count > 0) else { return vec![None; count] };
        match embedder.embed(texts).await {
            Ok(vectors) if vectors.len() == count => vectors.into_iter().map(Some).collect(),
            Ok(_) => vec![None; count],
            Err(error) => {
                tracing::warn!(%error, "cannot compute embeddings of learned memory: it is searched by words only");
                vec![None; count]
            }
        }
    }
}
