//! Cache of the lessons and procedures in the store.

use std::sync::Arc;

use tokio::sync::Mutex;

use crate::experience::{self, LessonStore, StoredLesson};
use crate::memory::{MemoryChange, MemoryIndex, MemoryStore};
use crate::procedures::{self, ProcedureStore, StoredProcedure};
use callwright_search::embedding::{Embedder, Vector};
use callwright_store::{Changes, MAX_PAGE, Memory, Revision, Store, StoreError};
use callwright_types::Lesson;

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
        let CachedMemory { lesson_store, library, lessons, procedures } = &mut *memory;
        let text = |lesson: &Lesson| experience::embedded_text(lesson).to_owned();
        self.load(lesson_store, lessons, text, |lesson, vector| StoredLesson { lesson, vector }).await?;
        let stored = |procedure, vector: Option<Vector>| StoredProcedure { procedure, vector: vector.map(Arc::new) };
        self.load(library, procedures, procedures::embedded_text, stored).await?;
        Ok(memory.clone())
    }

    /// Loads the changes of one kind of memory after a revision.
    async fn load<M, I: MemoryIndex>(
        &self,
        cached: &mut Arc<MemoryStore<I>>,
        revision: &mut Revision,
        text: impl Fn(&M) -> String,
        stored: impl Fn(Arc<M>, Option<Vector>) -> I::Stored,
    ) -> Result<(), StoreError>
    where
        Store: Memory<M>,
    {
        loop {
            let Changes { changed, removed, upto, more, .. } =
                Memory::<M>::changed(&*self.store, *revision, MAX_PAGE).await?;
            if !(changed.is_empty() && removed.is_empty()) {
                let vectors = self.vectors(changed.iter().map(&text)).await;
                let learned = changed.into_iter().zip(vectors);
                let learned = learned.map(|(memory, vector)| MemoryChange::Stored(stored(Arc::new(memory), vector)));
                let forgotten = removed.into_iter().map(MemoryChange::Deleted);
                *cached = Arc::new(cached.with(learned.chain(forgotten)));
            }
            *revision = upto;
            if !more {
                return Ok(());
            }
        }
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
