//! The tools of lines, compiled when they are first needed and kept while there is room.

use std::sync::Arc;

use moka::sync::Cache;

use crate::domain::Tool;
use crate::openai::read_tools;
use crate::scanner::{Settings, Toolbook, Validators};

/// Bytes of tools text whose compiled form is kept; compiled it is about twenty times as much.
const MAX_TEXT_BYTES: u64 = 4 * 1024 * 1024;

/// What names the tools of a line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// Those of the question with this id.
    Question(String),
    /// Those that the line holds: this text.
    Own(String),
}

/// Compiled tools by what names them.
#[derive(Debug)]
pub(super) struct Toolbooks {
    cache: Cache<Key, Kept>,
    validators: Validators,
}

#[derive(Debug, Clone)]
struct Kept {
    toolbook: Arc<Toolbook>,
    text_bytes: u32,
}

impl Toolbooks {
    pub(super) fn new() -> Self {
        let key_bytes = |key: &Key| match key {
            Key::Question(text) | Key::Own(text) => u32::try_from(text.len()).unwrap_or(u32::MAX),
        };
        let cache = Cache::builder()
            .max_capacity(MAX_TEXT_BYTES)
            .weigher(move |key, kept: &Kept| kept.text_bytes.saturating_add(key_bytes(key)))
            .build();
        let settings = Settings { validator_cache_bytes: MAX_TEXT_BYTES, ..Settings::default() };
        Self { cache, validators: Validators::new(&settings) }
    }

    /// The toolbook of `key`; where it is not kept, the text that `read` gives is compiled.
    ///
    /// # Errors
    /// That of `read`.
    pub(super) fn get<E>(&self, key: Key, read: impl FnOnce() -> Result<String, E>) -> Result<Arc<Toolbook>, E> {
        if let Some(kept) = self.cache.get(&key) {
            return Ok(kept.toolbook);
        }
        let text = read()?;
        let tools: Vec<Arc<Tool>> = read_tools(&text).into_iter().map(Arc::new).collect();
        let toolbook = Arc::new(Toolbook::compile(tools, &self.validators));
        let text_bytes = u32::try_from(text.len()).unwrap_or(u32::MAX);
        self.cache.insert(key, Kept { toolbook: Arc::clone(&toolbook), text_bytes });
        Ok(toolbook)
    }
}
