//! Cache of the tools of lines, compiled on first use.

use std::sync::{Arc, OnceLock};

use callwright_common::cache::ByteCache;
use callwright_judge::scanner::{FoundTool, Relevance, Settings, ToolSet, Validators};
use callwright_search::retrieval::{
    Bm25, FieldWeights, Fusion, TextVectors, ToolIndex, ToolQuery, ToolSegment, ToolText, parameters_text,
};
use callwright_types::Tool;
use callwright_wire::{ModelRequest, RecordedAnswer, ToolsElsewhere, read_tools};

/// Cache size in bytes for tools, and the same again for their compiled schemas.
const CACHE_BYTES: u64 = 96 * 1024 * 1024;

/// Approximate memory of indexed tools per byte of their text.
const BYTES_PER_BYTE: usize = 24;

/// List of the tools of a line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum ToolSetKey {
    /// Tools of the question with this id.
    Question(String),
    /// Tools contained in the line: their text.
    Own(String),
}

/// Text of a list without tools.
pub(super) const NO_TOOLS: &str = "[]";

/// Tools offered for an answer.
#[derive(Debug)]
pub(super) struct OfferedToolSet {
    /// Compiled tools.
    pub(super) tool_set: ToolSet,
    /// Word index of their texts, built on first use.
    words: OnceLock<Bm25<String>>,
    /// `None` if there are no embeddings of their texts.
    by_meaning: OnceLock<Option<ToolIndex>>,
    text_bytes: usize,
}

impl OfferedToolSet {
    /// Returns the relevance of each tool to a request: by embedding if available, otherwise by words.
    pub(super) fn relevance(&self, request: &str, vectors: Option<&TextVectors>) -> Relevance {
        let vector = vectors.and_then(|vectors| vectors.query(request));
        let index = vectors.and_then(|vectors| self.by_meaning.get_or_init(|| self.index(vectors)).as_ref());
        let (Some(vector), Some(index)) = (vector, index) else { return self.relevance_by_words(request) };
        let found = index.search(&ToolQuery { text: request, vector: Some(&vector) }, Relevance::MAX_RANKED);
        Relevance::by_meaning(found.iter().filter_map(|found| {
            let name = self.tool_set.tools().get(found.position)?.name();
            let closeness = found.why.closest.map_or(0.0, |closest| f64::from(closest.cosine));
            Some(FoundTool { name, closeness, is_named: found.why.named })
        }))
    }

    fn index(&self, vectors: &TextVectors) -> Option<ToolIndex> {
        let tools = self.tool_set.tools().iter();
        let texts = tools.map(|compiled| ToolText {
            name: compiled.tool.name.clone(),
            description: compiled.tool.description.clone(),
            parameters: parameters_text(&compiled.tool.parameters),
            ..ToolText::default()
        });
        let texts: Vec<ToolText> = texts.collect();
        let segment = ToolSegment::build(&texts, Some(&vectors.tools(&texts)?), &FieldWeights::default());
        Some(ToolIndex::new([Arc::new(segment)], Fusion::default()))
    }

    fn relevance_by_words(&self, request: &str) -> Relevance {
        let words = self.words.get_or_init(|| {
            Bm25::build(self.tool_set.tools().iter().map(|tool| (tool.name().to_owned(), tool.tool.search_text())))
        });
        let hits = words.search(request, Relevance::MAX_RANKED);
        let coverage = hits.first().map_or(0.0, |hit| f64::from(hit.coverage));
        Relevance::by_words(hits.iter().map(|hit| (hit.id.as_str(), f64::from(hit.score))), coverage)
    }
}

/// Compiled tools by key.
#[derive(Debug)]
pub(super) struct OfferedToolSets {
    /// By the list, and by the tools that the line has elsewhere.
    cache: ByteCache<(ToolSetKey, ToolsElsewhere), Arc<OfferedToolSet>>,
    validators: Validators,
}

impl OfferedToolSets {
    pub(super) fn new() -> Self {
        let settings = Settings { validator_cache_bytes: CACHE_BYTES, ..Settings::default() };
        let cache = ByteCache::new(CACHE_BYTES, |key: &(ToolSetKey, ToolsElsewhere), offered: &Arc<OfferedToolSet>| {
            let (ToolSetKey::Question(text) | ToolSetKey::Own(text), elsewhere) = key;
            text.len() + elsewhere.size() + offered.text_bytes * BYTES_PER_BYTE
        });
        Self { cache, validators: Validators::new(&settings) }
    }

    /// Returns the tools of `request` with the list of `key`; compiles the text that `read` returns if they are not cached.
    ///
    /// # Errors
    /// The error of `read`.
    pub(super) fn get<E>(
        &self,
        key: ToolSetKey,
        request: &RecordedAnswer<'_>,
        read: impl FnOnce() -> Result<String, E>,
    ) -> Result<Arc<OfferedToolSet>, E> {
        let key = (key, elsewhere(request.request(NO_TOOLS).as_ref()));
        if let Some(kept) = self.cache.get(&key) {
            return Ok(kept);
        }
        let text = read()?;
        let request = request.request(&text);
        let elsewhere = elsewhere(request.as_ref());
        let brought = request.map(|request| request.read_tools_elsewhere(&elsewhere)).unwrap_or_default();
        let tools: Vec<Arc<Tool>> = read_tools(&text).into_iter().chain(brought).map(Arc::new).collect();
        let tool_set = ToolSet::compile(tools, &self.validators);
        let offered = Arc::new(OfferedToolSet {
            tool_set: tool_set.beside(elsewhere.is_open(), elsewhere.referenced(), elsewhere.qualified()),
            words: OnceLock::new(),
            by_meaning: OnceLock::new(),
            text_bytes: text.len() + elsewhere.size(),
        });
        self.cache.insert(key, Arc::clone(&offered));
        Ok(offered)
    }
}

fn elsewhere(request: Option<&ModelRequest>) -> ToolsElsewhere {
    request.map(ModelRequest::tools_elsewhere).unwrap_or_default()
}
