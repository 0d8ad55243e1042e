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
pub struct Known {
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
    known: Mutex<Known>,
}

impl MemoryCache {
    /// Creates an empty cache. With an embedder, lessons and procedures get vectors.
    pub fn new(
        store: Arc<Store>,
        embedder: Option<Arc<dyn Embedder>>,
        experience: experience::Settings,
        procedures: procedures::Settings,
    ) -> Self {
        let known = Known {
            lesson_store: Arc::new(LessonStore::new([], experience)),
            library: Arc::new(ProcedureStore::new([], procedures)),
            lessons: 0,
            procedures: 0,
        };
        Self { store, embedder, known: Mutex::new(known) }
    }

    /// Returns the cache as of the last refresh.
    pub async fn known(&self) -> Known {
        self.known.lock().await.clone()
    }

    /// Loads the changes in the store since the last refresh, from any process.
    ///
    /// # Errors
    /// [`StoreError`]; changes loaded before the error are kept.
    pub async fn refresh(&self) -> Result<Known, StoreError> {
        let mut known = self.known.lock().await;
        loop {
            let changes = Memory::<Lesson>::changed(&*self.store, known.lessons, PAGE).await?;
            if !(changes.changed.is_empty() && changes.removed.is_empty()) {
                let noted = self.noted(changes.changed).await.into_iter().map(MemoryChange::Stored);
                let forgotten = changes.removed.into_iter().map(MemoryChange::Deleted);
                known.lesson_store = Arc::new(known.lesson_store.with(noted.chain(forgotten)));
            }
            known.lessons = changes.upto;
            if !changes.more {
                break;
            }
        }
        loop {
            let changes = Memory::<Procedure>::changed(&*self.store, known.procedures, PAGE).await?;
            if !(changes.changed.is_empty() && changes.removed.is_empty()) {
                let stored = self.stored(changes.changed).await.into_iter().map(MemoryChange::Stored);
                let forgotten = changes.removed.into_iter().map(MemoryChange::Deleted);
                known.library = Arc::new(known.library.with(stored.chain(forgotten)));
            }
            known.procedures = changes.upto;
            if !changes.more {
                break;
            }
        }
        Ok(known.clone())
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
