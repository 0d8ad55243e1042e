//! Search index of the texts of offered tools, for the user's last message (E2.1).

use std::sync::{Arc, OnceLock};

use callwright_judge::scanner::{FoundTool, Relevance, ToolSet};
use callwright_search::retrieval::{Bm25, TextVectors, ToolQuery};

use super::toolset_index::{LiveIndex, ToolListIndex, ToolsetIndex};

/// The tools' texts with their learned patterns. Uses vectors if available, else keywords.
#[derive(Debug)]
pub(crate) struct RelevanceIndex {
    tools: Arc<ToolListIndex>,
    texts: Vec<(String, String)>,
    words: OnceLock<Bm25<String>>,
    by_meaning: LiveIndex,
}

impl RelevanceIndex {
    pub(crate) fn new(offered: &ToolSet, toolset_index: &ToolsetIndex) -> Self {
        let texts = offered.tools().iter().map(|tool| (tool.name().to_owned(), tool.tool.search_text()));
        let tools = toolset_index.of_offer(offered);
        let by_meaning = LiveIndex::new(vec![Arc::clone(&tools)]);
        Self { tools, texts: texts.collect(), words: OnceLock::new(), by_meaning }
    }

    /// Returns the relevance of each tool to a request. Never waits for a vector: if one is missing, keywords are
    /// compared.
    pub(crate) fn search(&self, request: &str, vectors: Option<&TextVectors>) -> Relevance {
        let vector = vectors.filter(|_| self.tools.has_vectors()).and_then(|vectors| vectors.query(request));
        let Some(vector) = vector else { return self.by_words(request) };
        let found = self.by_meaning.search(&ToolQuery { text: request, vector: Some(&vector) }, Relevance::MAX_RANKED);
        Relevance::by_meaning(found.iter().filter_map(|found| {
            let name = self.tools.name(found.position)?;
            let closeness = found.why.closest.map_or(0.0, |closest| f64::from(closest.cosine));
            Some(FoundTool { name, closeness, is_named: found.why.named })
        }))
    }

    fn by_words(&self, request: &str) -> Relevance {
        let words = self.words.get_or_init(|| Bm25::build(self.texts.iter().map(|(name, text)| (name.clone(), text))));
        let hits = words.search(request, Relevance::MAX_RANKED);
        let coverage = hits.first().map_or(0.0, |hit| f64::from(hit.coverage));
        Relevance::by_words(hits.iter().map(|hit| (hit.id.as_str(), f64::from(hit.score))), coverage)
    }
}
