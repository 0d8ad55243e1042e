//! The tools of a turn, compiled for validation and serialised for the upstream, and the cache of compiled offers.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use callwright_common::cache::{ByteCache, FirstSight, Usage};
use callwright_judge::repair::rescue::hold::Starts;
use callwright_judge::scanner::{FoundTool, Relevance, ToolSet, Validators};
use callwright_plan::when::may_require_key;
use callwright_search::retrieval::{Bm25, ToolQuery};
use callwright_telemetry::Metrics;
use callwright_types::rules::{Action, ScanRules};
use callwright_types::{FaultCode, SchemaDialect, Tool};
use callwright_wire::{ModelRequest, SentTool, ToolsElsewhere, WrittenTool};

use super::candidates::Candidates;
use super::chosen::ToolAt;
use super::producer_index::ProducerIndex;
use super::toolset_index::{LiveIndex, ToolsetIndex};
use crate::pipeline::settings::SMALL_LIST_BYTES;

/// The tools offered in a turn.
#[derive(Debug)]
pub(crate) struct Offer {
    /// All tools, compiled.
    pub(crate) tool_set: ToolSet,
    /// Possible beginnings of their calls in a text.
    pub(crate) starts: Starts,
    /// The tools to send.
    pub(crate) sent: SentToolList,
    /// Whether the client sent tools of its own.
    pub(crate) client_sent_tools: bool,
    /// Search index of the tools' texts with their learned patterns, built at first use (E2.1).
    by_meaning: OnceLock<LiveIndex>,
    /// Keyword index of the tools' texts by position, built if a vector is missing.
    by_words: OnceLock<Bm25<usize>>,
    /// Whether any tool may require a key, determined at first use.
    may_require_key: OnceLock<bool>,
    /// Index of argument sources in which no tool requires a supply, if the offer is the client's list alone.
    without_supply: Mutex<Weak<ProducerIndex>>,
    /// Names of all tools.
    pub(crate) names: Arc<[String]>,
}

/// The tools in their sent form.
#[derive(Debug)]
pub(crate) enum SentToolList {
    /// These tools are appended to the client's own list, which stays unchanged.
    Behind(Vec<Arc<WrittenTool>>),
    /// These tools replace the client's own list.
    Instead(Vec<SentTool>),
}

impl Offer {
    /// Creates an offer of the client's own tools, unchanged.
    pub(crate) fn of_client(tools: Vec<Tool>, validators: &Validators) -> Self {
        let has_any = !tools.is_empty();
        let tools = tools.into_iter().map(Arc::new).collect();
        Self::compile(tools, SentToolList::Behind(Vec::new()), has_any, &ToolsElsewhere::default(), validators)
    }

    /// Compiles tools in the order sent. `elsewhere` has the names of further ones.
    pub(crate) fn compile(
        tools: Vec<Arc<Tool>>,
        sent: SentToolList,
        client_sent_tools: bool,
        elsewhere: &ToolsElsewhere,
        validators: &Validators,
    ) -> Self {
        let tool_set = ToolSet::compile(tools, validators);
        let tool_set = tool_set.beside(elsewhere.is_open(), elsewhere.referenced(), elsewhere.qualified());
        let names = tool_set.tools().iter().map(|compiled| compiled.tool.name.clone()).collect();
        let starts = Starts::of(&tool_set);
        Self {
            tool_set,
            starts,
            sent,
            client_sent_tools,
            by_meaning: OnceLock::new(),
            by_words: OnceLock::new(),
            may_require_key: OnceLock::new(),
            without_supply: Mutex::default(),
            names,
        }
    }

    /// Whether there are tools for validating calls.
    pub(crate) fn is_judged(&self) -> bool {
        !self.tool_set.is_empty()
    }

    /// Returns the relevance of each tool to a request. Never waits for a vector: if one is missing, keywords are
    /// compared.
    pub(crate) fn relevance(&self, request: &str, toolset_index: &ToolsetIndex) -> Relevance {
        let index = self.by_meaning.get_or_init(|| LiveIndex::new(vec![toolset_index.of_offer(&self.tool_set)]));
        let vectors = toolset_index.text_vectors.as_ref().filter(|_| index.has_vectors());
        if let Some(vector) = vectors.and_then(|vectors| vectors.query(request)) {
            let found = index.search(&ToolQuery { text: request, vector: Some(&vector) }, Relevance::MAX_RANKED);
            return Relevance::by_meaning(found.iter().filter_map(|found| {
                let closeness = found.why.closest.map_or(0.0, |closest| f64::from(closest.cosine));
                Some(FoundTool { name: self.names.get(found.position)?, closeness, is_named: found.why.named })
            }));
        }
        self.relevance_by_words(request)
    }

    fn relevance_by_words(&self, request: &str) -> Relevance {
        let texts = self.tool_set.tools().iter().map(|tool| tool.tool.search_text());
        let words = self.by_words.get_or_init(|| Bm25::build(texts.enumerate()));
        let hits = words.search(request, Relevance::MAX_RANKED);
        let coverage = hits.first().map_or(0.0, |hit| f64::from(hit.coverage));
        let named = hits.iter().filter_map(|hit| Some((self.names.get(*hit.id)?.as_str(), f64::from(hit.score))));
        Relevance::by_words(named, coverage)
    }

    /// Returns the relevance of each tool to the last user message of a request; `None` if there is none. A remote
    /// embedder receives the message only if the policy compares each call with it (E2.1).
    pub(crate) fn relevance_to(
        &self,
        request: &ModelRequest,
        toolset_index: &ToolsetIndex,
        rules: &ScanRules,
    ) -> Option<Relevance> {
        let messages = request.messages();
        let last = messages.iter().rev().find(|message| message.role == "user")?.text.as_deref()?;
        let is_immediate = toolset_index.embedder.as_ref().is_some_and(|embedder| embedder.is_immediate());
        let by_meaning = is_immediate || rules.faults.of(FaultCode::ToolNotRelevant) != Action::Off;
        Some(if by_meaning { self.relevance(last, toolset_index) } else { self.relevance_by_words(last) })
    }

    /// Whether any tool may require a key, so that a plan may be needed.
    pub(crate) fn may_require_key(&self) -> bool {
        *self
            .may_require_key
            .get_or_init(|| self.tool_set.tools().iter().any(|tool| may_require_key(&tool.tool.parameters)))
    }

    /// Whether it is known that no tool of this client list takes an argument from another one.
    pub(crate) fn is_without_supply(&self, index: &Arc<ProducerIndex>) -> bool {
        let known = self.without_supply.lock().unwrap_or_else(PoisonError::into_inner);
        std::ptr::eq(known.as_ptr(), Arc::as_ptr(index))
    }

    /// Notes that no tool of this client list takes an argument from another one.
    pub(crate) fn note_without_supply(&self, index: &Arc<ProducerIndex>) {
        *self.without_supply.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(index);
    }

    /// Whether the proxy executes calls of the tool `name`.
    pub(crate) fn is_proxys(&self, name: &str) -> bool {
        match self.tool_set.get(name) {
            Some(compiled) => compiled.tool.owner.is_proxy(),
            // The tool is unknown: the call belongs to the client if it sent any tools or may have some.
            None => !self.client_sent_tools && !self.tool_set.is_open(),
        }
    }
}

/// Key of a compiled offer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct OfferKey {
    /// The client's list, unchanged.
    pub(crate) tools: String,
    /// Tools in the conversation.
    pub(crate) elsewhere: ToolsElsewhere,
    pub(crate) toolsets: Vec<String>,
    pub(crate) dialect: SchemaDialect,
    /// Whether tools are selected from the client's list.
    pub(crate) narrowed: bool,
    /// The selected tools, in the order sent.
    pub(crate) chosen: Vec<ToolAt>,
    /// The selected tools that are not sent, because the policy can only deny their calls.
    pub(crate) withheld: Vec<ToolAt>,
    /// Digest of the tool search tool, if offered; it depends on policy.
    pub(crate) search: Option<u64>,
    /// Whether descriptions include the learned patterns.
    pub(crate) representations: bool,
}

impl OfferKey {
    /// Returns the number of bytes of the client's tools.
    pub(crate) fn size(&self) -> usize {
        self.tools.len() + self.elsewhere.size()
    }
}

/// Memory of a parsed tool list, per byte of its text (text included) and per tool. Measured on tools of agents. The
/// compiled schemas of called tools count in their own cache.
const OFFER_BYTES_PER_BYTE: usize = 13;
const OFFER_BYTES_PER_TOOL: usize = 1024;

/// Estimated memory of an indexed tool list, which has texts and vectors, per byte of its text and per tool.
pub(super) const INDEXED_BYTES_PER_BYTE: usize = 24;
pub(super) const INDEXED_BYTES_PER_TOOL: usize = 6 * 1024;

/// Size in bytes of each cache of the catalog's tools, with about one entry per alias. The catalog, which is in memory
/// anyway, bounds their number.
pub(super) const CATALOG_TOOLS_BYTES: usize = 64 * 1024 * 1024;

/// Returns the size that the catalog's tools of one alias count for. An entry that takes the whole cache would not be kept,
/// and be computed with every request.
pub(super) fn catalog_tools_bytes(tools: usize) -> usize {
    (tools * OFFER_BYTES_PER_TOOL).min(CATALOG_TOOLS_BYTES / 8)
}

/// Cache of compiled offers: agents send the same tools with every request.
#[derive(Debug, Clone)]
pub(crate) struct Offers {
    /// The offer without tools.
    pub(crate) empty: Arc<Offer>,
    pub(crate) cache: ByteCache<OfferKey, Arc<Offer>>,
    /// Searchable tools by toolsets and dialect.
    of_toolsets: ByteCache<(Vec<String>, SchemaDialect), Arc<Candidates>>,
    /// Searchable tools by the client's list.
    of_clients: ByteCache<String, Arc<Candidates>>,
    /// First occurrences of large lists.
    first_sight: FirstSight,
}

impl Offers {
    /// Creates caches of at most this many bytes, and half as many for searchable lists. They belong to one catalog.
    pub(crate) fn new(bytes: u64) -> Self {
        Self {
            empty: Arc::new(Offer::of_client(Vec::new(), &Validators::default())),
            cache: ByteCache::new(bytes, offer_bytes),
            of_toolsets: ByteCache::new(CATALOG_TOOLS_BYTES as u64, |_, tools: &Arc<Candidates>| {
                catalog_tools_bytes(tools.len())
            }),
            of_clients: ByteCache::new(bytes / 2, |list: &String, tools: &Arc<Candidates>| {
                list.len() * INDEXED_BYTES_PER_BYTE + tools.len() * INDEXED_BYTES_PER_TOOL
            }),
            first_sight: FirstSight::new(SMALL_LIST_BYTES),
        }
    }

    /// Returns the cache usage of compiled lists and of searchable lists.
    pub(crate) fn usage(&self) -> [Usage; 2] {
        [self.cache.usage(), self.of_toolsets.usage() + self.of_clients.usage()]
    }

    /// Returns the offer for this key; compiles it if it is new.
    pub(crate) fn get(&self, key: OfferKey, compile: impl FnOnce() -> Offer) -> Arc<Offer> {
        match self.cache.get(&key) {
            Some(offer) => offer,
            None if self.first_sight.admits(&key, key.size()) => self.cache.get_with(key, || Arc::new(compile())),
            None => Arc::new(compile()),
        }
    }

    /// Returns the searchable tools of these toolsets.
    pub(crate) fn of_toolsets(
        &self,
        toolsets: &[String],
        dialect: SchemaDialect,
        make: impl FnOnce() -> Candidates,
    ) -> Arc<Candidates> {
        self.of_toolsets.get_with((toolsets.to_vec(), dialect), || Arc::new(make()))
    }

    /// Returns the searchable tools of this client list.
    pub(crate) fn of_client(&self, list: &str, make: impl FnOnce() -> Candidates) -> Arc<Candidates> {
        match self.of_clients.get(list) {
            Some(candidates) => candidates,
            None if self.first_sight.admits(&("searched", list), list.len()) => {
                self.of_clients.get_with(list.to_owned(), || Arc::new(make()))
            }
            None => Arc::new(make()),
        }
    }
}

fn offer_bytes(key: &OfferKey, offer: &Arc<Offer>) -> usize {
    key.size() * OFFER_BYTES_PER_BYTE + offer.tool_set.tools().len() * OFFER_BYTES_PER_TOOL
}

/// Logs and counts each schema with unusable parts once, for schemas that were used for validation. Their tools are
/// still offered and called.
pub(crate) fn report_problems(tool_set: &ToolSet, metrics: &Metrics) {
    let compiled = tool_set.tools().iter().filter(|tool| tool.is_compiled());
    for tool in compiled.filter(|tool| !tool.problems().is_empty() && tool.is_new()) {
        let (judges, problem) = (tool.judges_values(), tool.problems().join("; "));
        metrics.schema_problems.inc(judges);
        if judges {
            tracing::info!(tool = tool.name(), "parts of the tool's schema cannot be used: {problem}");
        } else {
            tracing::warn!(tool = tool.name(), "the tool's schema cannot be used: {problem}");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use callwright_types::{Owner, ToolKind};

    #[test]
    fn a_schema_that_cannot_be_used_is_reported_once_it_was_asked() {
        let tool = |name: &str, parameters: serde_json::Value| {
            Arc::new(Tool {
                name: name.to_owned(),
                description: String::new(),
                parameters: Arc::new(parameters),
                kind: ToolKind::Function,
                reads: None,
                owner: Owner::Client,
                namespace: None,
            })
        };
        let cycle = json!({ "$ref": "#" });
        let offered = vec![
            tool("whole", json!({ "type": "object" })),
            tool("part", json!({ "properties": { "a": { "pattern": "(" } } })),
            tool("none", cycle.clone()),
            tool("same", cycle),
        ];
        let (validators, metrics) = (Validators::default(), Metrics::new());
        for _ in 0..2 {
            let sent = SentToolList::Behind(Vec::new());
            let offer = Offer::compile(offered.clone(), sent, true, &ToolsElsewhere::default(), &validators);
            assert!(offer.tool_set.tools().iter().all(|tool| !tool.is_compiled()), "nothing is compiled unasked");
            report_problems(&offer.tool_set, &metrics);
            for tool in offer.tool_set.tools() {
                tool.problems();
            }
            report_problems(&offer.tool_set, &metrics);
        }
        let text = metrics.render();
        for judges in ["true", "false"] {
            assert!(text.contains(&format!("callwright_schema_problems_total{{judges=\"{judges}\"}} 1")), "{text}");
        }
    }
}
