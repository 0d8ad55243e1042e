//! The tools of lines, compiled when they are first needed and kept while there is room.

use std::sync::{Arc, OnceLock};

use moka::sync::Cache;

use crate::domain::Tool;
use crate::openai::read_tools;
use crate::retrieval::Bm25;
use crate::scanner::{Relevance, Settings, Toolbook, Validators};

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

/// The tools that were offered for an answer.
#[derive(Debug)]
pub(super) struct Offered {
    /// Compiled.
    pub(super) toolbook: Toolbook,
    /// Their texts, indexed when they are searched first.
    index: OnceLock<Bm25<String>>,
    text_bytes: u32,
}

impl Offered {
    /// How well each tool serves a request.
    pub(super) fn relevance(&self, request: &str) -> Relevance {
        let texts = || self.toolbook.tools().iter().map(|tool| (tool.name().to_owned(), tool.tool.search_text()));
        let hits = self.index.get_or_init(|| Bm25::build(texts())).search(request, Relevance::MAX_RANKED);
        let coverage = hits.first().map_or(0.0, |hit| f64::from(hit.coverage));
        Relevance::new(hits.iter().map(|hit| (hit.id.as_str(), f64::from(hit.score))), coverage)
    }
}

/// Compiled tools by what names them.
#[derive(Debug)]
pub(super) struct Toolbooks {
    cache: Cache<Key, Arc<Offered>>,
    validators: Validators,
}

impl Toolbooks {
    pub(super) fn new() -> Self {
        let key_bytes = |key: &Key| match key {
            Key::Question(text) | Key::Own(text) => u32::try_from(text.len()).unwrap_or(u32::MAX),
        };
        let cache = Cache::builder()
            .max_capacity(MAX_TEXT_BYTES)
            .weigher(move |key, offered: &Arc<Offered>| offered.text_bytes.saturating_add(key_bytes(key)))
            .build();
        let settings = Settings { validator_cache_bytes: MAX_TEXT_BYTES, ..Settings::default() };
        Self { cache, validators: Validators::new(&settings) }
    }

    /// The tools of `key`; where they are not kept, the text that `read` gives is compiled.
    ///
    /// # Errors
    /// That of `read`.
    pub(super) fn get<E>(&self, key: Key, read: impl FnOnce() -> Result<String, E>) -> Result<Arc<Offered>, E> {
        if let Some(kept) = self.cache.get(&key) {
            return Ok(kept);
        }
        let text = read()?;
        let tools: Vec<Arc<Tool>> = read_tools(&text).into_iter().map(Arc::new).collect();
        let offered = Arc::new(Offered {
            toolbook: Toolbook::compile(tools, &self.validators),
            index: OnceLock::new(),
            text_bytes: u32::try_from(text.len()).unwrap_or(u32::MAX),
        });
        self.cache.insert(key, Arc::clone(&offered));
        Ok(offered)
    }
}
