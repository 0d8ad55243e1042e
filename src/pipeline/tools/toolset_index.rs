//! Search index of tools: by keywords at once, semantic as soon as the vectors are ready.
//!
//! Vectors are computed in background tasks. Until a toolset has vectors, its tools are found by keywords only, and no
//! turn waits: a local model may need minutes for the first run over a large catalog. A reload keeps the index of
//! unchanged toolsets.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};

use callwright_common::parallel::map_all;
use callwright_judge::scanner::ToolSet;
use callwright_memory::representation::Representations;
use callwright_openapi::{Catalog, Operation, Toolset};
use callwright_search::embedding::{Embedder, Vector};
use callwright_search::retrieval::{
    FieldWeights, Fusion, RankedTool, SegmentClassifier, TextVectors, ToolIndex, ToolQuery, ToolSegment, ToolText,
    ToolVectors, embed_tools, parameters_text,
};
use callwright_telemetry::{Metrics, WithoutVectors};
use callwright_types::representation::Representation;
use callwright_types::{Owner, Tool};

/// Search index of the catalog's tools, with the learned representations.
#[derive(Debug, Default)]
pub struct ToolsetIndex {
    pub(crate) by_toolset: BTreeMap<String, Arc<ToolListIndex>>,
    representations: Arc<Representations>,
    /// Approximate maximum tokens of a description with its learned patterns.
    pub(crate) description_tokens: usize,
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    /// Vectors of names and user messages, if an embedder is configured.
    pub(crate) text_vectors: Option<TextVectors>,
}

/// Search index of one toolset, or of one client's list.
#[derive(Debug)]
pub(crate) struct ToolListIndex {
    texts: Vec<ToolText>,
    segment: ArcSwap<ToolSegment>,
    learned: LearnedRanking,
    /// Vectors of the tools' own texts, without learned patterns, once the index has them.
    meanings: OnceLock<Arc<[Vector]>>,
    /// Counts the tools in the metric until the vectors are available.
    without_vectors: Mutex<Option<WithoutVectors>>,
}

/// Learned parameters of the ranking of a tool list.
#[derive(Debug, Clone, Default, PartialEq)]
struct LearnedRanking {
    fusion: Fusion,
    classifier: Option<SegmentClassifier>,
}

impl ToolsetIndex {
    /// Builds the index of a catalog with the learned representations. `description_tokens` limits the description for
    /// models. Reuses the unchanged parts of `before`; computes the other vectors in background tasks. Needs a Tokio
    /// runtime.
    pub fn build(
        catalog: &Catalog,
        representations: Arc<Representations>,
        description_tokens: usize,
        embedder: Option<Arc<dyn Embedder>>,
        before: Option<&Self>,
        metrics: &Metrics,
    ) -> Self {
        let toolsets: Vec<&Arc<Toolset>> = catalog.toolsets().collect();
        let indexed = map_all(&toolsets, |toolset| {
            let texts = texts(toolset, &representations);
            let names = toolset.operations.iter().map(Operation::own_name);
            let learned = LearnedRanking::new(&representations, Some(&toolset.name), embedder.as_ref(), names);
            let known = before.and_then(|before| before.by_toolset.get(&toolset.name));
            match known.filter(|known| known.texts == texts && known.learned == learned) {
                Some(known) => (Arc::clone(known), false),
                None => (Arc::new(ToolListIndex::build(texts, learned, None)), true),
            }
        });
        let mut by_toolset = BTreeMap::new();
        // Vectors are computed when all toolsets are indexed by words: the start waits for the words only.
        for (toolset, (tools, is_new)) in toolsets.into_iter().zip(indexed) {
            if has_unfitting_classifier(&representations, &toolset.name, embedder.as_ref()) {
                let toolset = &toolset.name;
                tracing::warn!(toolset, "the learned classifier is not used: it was learned with other vectors");
            }
            if is_new {
                let counted = embedder.as_ref().map(|_| metrics.without_vectors(tools.len()));
                tools.embed(embedder.as_ref(), &toolset.name, counted);
            }
            by_toolset.insert(toolset.name.clone(), tools);
        }
        let known = before.and_then(|before| before.text_vectors.as_ref());
        let text_vectors = embedder.clone().map(|embedder| match known {
            Some(known) if Arc::ptr_eq(known.embedder(), &embedder) => known.clone(),
            _ => TextVectors::new(embedder),
        });
        Self { by_toolset, representations, description_tokens, embedder, text_vectors }
    }

    /// Creates an index without a catalog.
    #[cfg(test)]
    pub(crate) fn of_clients(representations: Representations, embedder: Option<Arc<dyn Embedder>>) -> Self {
        let text_vectors = embedder.clone().map(TextVectors::new);
        Self { representations: Arc::new(representations), embedder, text_vectors, ..Self::default() }
    }

    /// Builds the index of a client's list.
    pub(crate) fn of_client(&self, tools: &[&Tool]) -> Arc<ToolListIndex> {
        let texts = tools.iter().map(|tool| text(tool, String::new(), self.representations.of_client_tool(&tool.name)));
        let names = tools.iter().map(|tool| tool.name.as_str());
        let learned = LearnedRanking::new(&self.representations, None, self.embedder.as_ref(), names);
        ToolListIndex::new(texts.collect(), learned, self.embedder.as_ref(), "(client)")
    }

    /// Builds the index of an offer, with tools of the client and of the catalog. It has vectors at once if the
    /// embedder is immediate, otherwise soon after.
    pub(crate) fn of_offer(&self, offered: &ToolSet) -> Arc<ToolListIndex> {
        let tools = offered.tools().iter();
        let texts = tools.map(|compiled| {
            let learned = match &compiled.tool.owner {
                Owner::Proxy(reference) => self.representations.of_tool(&reference.toolset, &reference.tool),
                Owner::Client | Owner::Search => self.representations.of_client_tool(&compiled.tool.name),
            };
            text(&compiled.tool, String::new(), learned)
        });
        let (texts, learned) = (texts.collect::<Vec<_>>(), LearnedRanking::default());
        match self.text_vectors.as_ref().and_then(|vectors| vectors.tools(&texts)) {
            Some(vectors) => Arc::new(ToolListIndex::build(texts, learned, Some(vectors))),
            None => ToolListIndex::new(texts, learned, self.embedder.as_ref(), "(offer)"),
        }
    }

    /// Returns the learned representation of a toolset's tool.
    pub(crate) fn learned(&self, toolset: &str, tool: &str) -> Option<&Arc<Representation>> {
        self.representations.of_tool(toolset, tool)
    }
}

impl ToolListIndex {
    fn new(
        texts: Vec<ToolText>,
        learned: LearnedRanking,
        embedder: Option<&Arc<dyn Embedder>>,
        name: &str,
    ) -> Arc<Self> {
        let tools = Arc::new(Self::build(texts, learned, None));
        tools.embed(embedder, name, None);
        tools
    }

    /// Indexes the tools by words, and by vectors if they are known.
    fn build(texts: Vec<ToolText>, learned: LearnedRanking, vectors: Option<Vec<ToolVectors>>) -> Self {
        let segment = ArcSwap::from_pointee(learned.segment(&texts, vectors.as_deref()));
        let meanings = vectors.map_or_else(OnceLock::new, |vectors| meanings(vectors).into());
        Self { texts, segment, learned, meanings, without_vectors: Mutex::default() }
    }

    /// Starts a task that adds the vectors. `counted` counts the tools in the metric until then.
    fn embed(self: &Arc<Self>, embedder: Option<&Arc<dyn Embedder>>, name: &str, counted: Option<WithoutVectors>) {
        *self.without_vectors.lock().unwrap_or_else(PoisonError::into_inner) = counted;
        if let Some(embedder) = embedder.filter(|_| !self.texts.is_empty()) {
            tokio::spawn(embed(Arc::downgrade(self), Arc::clone(embedder), name.to_owned()));
        }
    }

    pub(crate) fn segment(&self) -> Arc<ToolSegment> {
        self.segment.load_full()
    }

    /// Returns the vectors of the tools' own texts, in their order, once available.
    pub(crate) fn meanings(&self) -> Option<&Arc<[Vector]>> {
        self.meanings.get()
    }

    /// Returns the description of a learned pattern.
    pub(crate) fn pattern(&self, tool: usize, pattern: usize) -> Option<&str> {
        self.texts.get(tool)?.patterns.get(pattern).map(|pattern| pattern.description.as_str())
    }

    /// Returns the number of tools.
    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }
}

/// Search index of tool lists, in this order. It is built again when a list has received its vectors.
#[derive(Debug)]
pub(crate) struct LiveIndex {
    pub(crate) lists: Vec<Arc<ToolListIndex>>,
    index: ArcSwapOption<(Vec<Arc<ToolSegment>>, ToolIndex)>,
}

impl LiveIndex {
    pub(crate) fn new(lists: Vec<Arc<ToolListIndex>>) -> Self {
        Self { lists, index: ArcSwapOption::empty() }
    }

    /// Whether semantic search is available. It requires the vectors of all tools; until then no query vector is used.
    pub(crate) fn has_vectors(&self) -> bool {
        let mut lists = self.lists.iter().filter(|tools| tools.len() > 0).peekable();
        lists.peek().is_some() && lists.all(|tools| tools.meanings().is_some())
    }

    /// Returns the `k` best matching tools, best first.
    pub(crate) fn search(&self, query: &ToolQuery<'_>, k: usize) -> Vec<RankedTool> {
        let segments: Vec<Arc<ToolSegment>> = self.lists.iter().map(|tools| tools.segment()).collect();
        if let Some(known) = &*self.index.load()
            && known.0.iter().zip(&segments).all(|(one, other)| Arc::ptr_eq(one, other))
        {
            return known.1.search(query, k);
        }
        // The learned ranking weights apply to a single list only.
        let fusion = if let [only] = self.lists.as_slice() { only.learned.fusion } else { Fusion::default() };
        let index = ToolIndex::new(segments.iter().cloned(), fusion);
        let found = index.search(query, k);
        self.index.store(Some(Arc::new((segments, index))));
        found
    }
}

/// First and longest pause before embedding is retried. An endpoint may start after the proxy, or be overloaded.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// Adds the vectors to the index as soon as embedding succeeds. Stops when the tools are no longer used.
async fn embed(tools: Weak<ToolListIndex>, embedder: Arc<dyn Embedder>, name: String) {
    let mut pause = FIRST_PAUSE;
    while let Some(tools) = tools.upgrade() {
        match embed_tools(&*embedder, &tools.texts).await {
            Ok(vectors) => return add_vectors(tools, vectors, &name).await,
            Err(error) => {
                let seconds = pause.as_secs();
                tracing::warn!(toolset = name, %error, seconds, "embedding failed: the toolset's tools are found by keywords only; will retry");
            }
        }
        drop(tools);
        tokio::time::sleep(pause).await;
        pause = LONGEST_PAUSE.min(2 * pause);
    }
}

async fn add_vectors(tools: Arc<ToolListIndex>, vectors: Vec<ToolVectors>, name: &str) {
    let indexed = Arc::clone(&tools);
    let built = tokio::task::spawn_blocking(move || {
        let segment = ToolSegment::clone(&indexed.segment()).with_vectors(&indexed.texts, &vectors);
        (segment, meanings(vectors))
    });
    match built.await {
        Ok((segment, meanings)) => {
            tools.segment.store(Arc::new(segment));
            // No other task sets the vectors.
            let _ = tools.meanings.set(meanings);
            drop(tools.without_vectors.lock().unwrap_or_else(PoisonError::into_inner).take());
            tracing::debug!(toolset = name, tools = tools.texts.len(), "semantic search of the toolset is available");
        }
        Err(error) => tracing::warn!(toolset = name, %error, "the toolset's tools are found by keywords only"),
    }
}

/// Returns the vectors of the tools' own texts.
fn meanings(vectors: Vec<ToolVectors>) -> Arc<[Vector]> {
    vectors.into_iter().map(|vectors| vectors.description).collect()
}

impl LearnedRanking {
    /// Returns what was learned for a toolset, or for client tools. A classifier that was learned with other vectors
    /// ([`has_unfitting_classifier`]) is not used.
    fn new<'a>(
        representations: &Representations,
        toolset: Option<&str>,
        embedder: Option<&Arc<dyn Embedder>>,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let ranking = representations.ranking(toolset);
        let fusion = ranking.map(|ranking| Fusion { sharpness: ranking.sharpness, words: ranking.words });
        let classifier = representations.classifier(toolset);
        let fitting = classifier.filter(|classifier| classifier.fits(embedder.map(|embedder| embedder.id())));
        let classifier = fitting.map(|classifier| SegmentClassifier::new(classifier, names));
        Self { fusion: fusion.unwrap_or_default(), classifier }
    }

    fn segment(&self, texts: &[ToolText], vectors: Option<&[ToolVectors]>) -> ToolSegment {
        ToolSegment::build(texts, vectors, &FieldWeights::default()).with_classifier(self.classifier.clone())
    }
}

/// Whether the classifier of a toolset was learned with other vectors.
fn has_unfitting_classifier(
    representations: &Representations,
    toolset: &str,
    embedder: Option<&Arc<dyn Embedder>>,
) -> bool {
    let classifier = representations.classifier(Some(toolset));
    classifier.is_some_and(|classifier| !classifier.fits(embedder.map(|embedder| embedder.id())))
}

fn texts(toolset: &Toolset, representations: &Representations) -> Vec<ToolText> {
    let texts = toolset.operations.iter().map(|operation| {
        let learned = representations.of_tool(&toolset.name, operation.own_name());
        text(&operation.tool, operation.tags.join(" "), learned)
    });
    texts.collect()
}

fn text(tool: &Tool, tags: String, learned: Option<&Arc<Representation>>) -> ToolText {
    ToolText {
        name: tool.name.clone(),
        description: tool.description.clone(),
        parameters: parameters_text(&tool.parameters),
        tags,
        patterns: learned.map(|learned| learned.patterns.clone()).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_memory::representation::RepresentationFile;
    use callwright_search::retrieval::{ClassifierModel, ClassifierWeights, ToolClass, ToolIndex, ToolQuery};
    use callwright_types::ToolKind;

    fn tool(name: &str) -> Tool {
        Tool {
            name: name.to_owned(),
            description: "Retrieves a card.".to_owned(),
            parameters: Arc::new(serde_json::json!({})),
            kind: ToolKind::Function,
            reads: None,
            owner: Owner::Client,
            namespace: None,
        }
    }

    fn class(tool: Option<&str>, term: usize) -> ToolClass {
        let tool = tool.map(str::to_owned);
        ToolClass { tool, bias: -1.0, terms: vec![(term, 2.0)], meaning: Vec::new(), unit: 0.0 }
    }

    /// Returns the tools found for a request with a learned classifier.
    fn found(text: &str) -> Vec<String> {
        let model = ClassifierModel {
            terms: ["lost", "new", "hello"].map(|term| (term.to_owned(), 1.0)).to_vec(),
            classes: vec![class(Some("block"), 0), class(Some("order"), 1), class(None, 2)],
            ..ClassifierModel::default()
        };
        let weights = ClassifierWeights { weight: 5.0, scale: 1.0, no_tool: Some(1.0) };
        let folder = tempfile::tempdir().unwrap();
        let mut file = RepresentationFile::default();
        file.write_with(&folder.path().join("tools.yaml"), Some((&model, weights))).unwrap();
        let representations = Representations::from_directory(folder.path()).unwrap();
        let (order, block) = (tool("order"), tool("block"));
        let list = ToolsetIndex::of_clients(representations, None).of_client(&[&order, &block]);
        let index = ToolIndex::new([list.segment()], list.learned.fusion);
        let found = index.search(&ToolQuery { text, vector: None }, 2);
        found.iter().map(|found| list.texts[found.position].name.clone()).collect()
    }

    #[test]
    fn a_learned_classifier_ranks_listed_tools_and_may_find_none() {
        assert_eq!(found("my card is lost"), ["block", "order"]);
        assert_eq!(found("a new card"), ["order", "block"]);
        assert!(found("hello card").is_empty());
    }
}
