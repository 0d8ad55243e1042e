//! The tools of a turn, compiled for judgement and written for the upstream; and those compiled before.

use std::sync::{Arc, OnceLock};

use indexmap::Equivalent;

use crate::pipeline::tool_shelf::ToolShelf;
use callwright_common::cache::{ByteCache, FirstSight, Usage};
use callwright_judge::repair::rescue::hold::Starts;
use callwright_judge::scanner::{Relevance, Toolbook, Validators};
use callwright_openai::{SentTool, WrittenTool};
use callwright_telemetry::Metrics;
use callwright_types::{SchemaDialect, Tool};

use super::candidates::Candidates;
use super::pool::ToolAt;
use super::relevance_index::RelevanceIndex;

/// The tools offered in a turn.
#[derive(Debug)]
pub(crate) struct Offer {
    /// All tools, compiled.
    pub(crate) toolbook: Toolbook,
    /// With what their calls may begin in a text.
    pub(crate) starts: Starts,
    /// Which tools are sent.
    pub(crate) sent: Sent,
    /// Did the client send tools of its own?
    pub(crate) client_sent_tools: bool,
    /// The tools' texts, indexed when they are first searched (E2.1).
    relevance: OnceLock<RelevanceIndex>,
    /// The names of all tools.
    pub(super) names: Arc<[String]>,
}

/// The tools as they are sent.
#[derive(Debug)]
pub(crate) enum Sent {
    /// The client's own as they came, and behind them these.
    Behind(Vec<Arc<WrittenTool>>),
    /// These in place of the client's own list.
    Instead(Vec<SentTool>),
}

impl Offer {
    /// The client's own tools, as they came.
    pub(crate) fn of_client(tools: Vec<Tool>, validators: &Validators) -> Self {
        let has_any = !tools.is_empty();
        Self::compile(tools.into_iter().map(Arc::new).collect(), Sent::Behind(Vec::new()), has_any, validators)
    }

    /// Tools in the order sent.
    pub(super) fn compile(tools: Vec<Arc<Tool>>, sent: Sent, client_sent_tools: bool, validators: &Validators) -> Self {
        let toolbook = Toolbook::compile(tools, validators);
        let names = toolbook.tools().iter().map(|compiled| compiled.tool.name.clone()).collect();
        let starts = Starts::of(&toolbook);
        Self { toolbook, starts, sent, client_sent_tools, relevance: OnceLock::new(), names }
    }

    /// Is there anything to judge calls by?
    pub(crate) fn is_judged(&self) -> bool {
        !self.toolbook.is_empty()
    }

    /// How well each tool serves a request, by what `shelf` knows of the tools.
    pub(crate) fn relevance(&self, request: &str, shelf: &ToolShelf) -> Relevance {
        let index = self.relevance.get_or_init(|| RelevanceIndex::new(&self.toolbook, shelf));
        index.search(request, shelf.text_vectors())
    }

    /// Does the proxy execute calls of the tool `name`?
    pub(crate) fn is_proxys(&self, name: &str) -> bool {
        match self.toolbook.get(name) {
            Some(compiled) => compiled.tool.owner.is_proxy(),
            // No such tool: the fault is the client's to see if it sent tools at all.
            None => !self.client_sent_tools,
        }
    }
}

/// Identifies an offer: the client's tools as they came, the toolsets, in which dialect, and which tools are chosen, in which order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    tools: String,
    toolsets: Vec<String>,
    dialect: SchemaDialect,
    shape: Shape,
}

/// What of an offer does not depend on the tools' texts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    /// Is the client's list among what is chosen from?
    pub(super) narrowed: bool,
    /// In the order sent.
    pub(super) chosen: Vec<ToolAt>,
    /// A digest of the tool that searches for tools, where it is offered: policy has a part in it.
    pub(super) search: Option<u64>,
    /// Are descriptions shown with what was learned?
    pub(super) representations: bool,
}

/// A key that is looked for, hashed as [`Key`] is.
#[derive(Debug, Clone, Copy, Hash)]
pub(super) struct KeyView<'a> {
    pub(super) tools: &'a str,
    pub(super) toolsets: &'a [String],
    pub(super) dialect: SchemaDialect,
    pub(super) shape: &'a Shape,
}

impl KeyView<'_> {
    fn to_key(self) -> Key {
        let Self { tools, toolsets, dialect, shape } = self;
        Key { tools: tools.to_owned(), toolsets: toolsets.to_vec(), dialect, shape: shape.clone() }
    }
}

impl Equivalent<Key> for KeyView<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        let Key { tools, toolsets, dialect, shape } = key;
        (self.tools, self.toolsets, self.dialect, self.shape) == (tools, toolsets, *dialect, shape)
    }
}

/// Bytes of a client's list of tools up to which it is cached when it is seen first: most agents send less.
const SMALL_LIST_BYTES: usize = 32 * 1024;

/// Bytes of memory that a list of tools takes for each byte of its text, the text included, once it is parsed; and each tool besides.
/// Measured on tools of agents. The schemas of the tools that are called are compiled and count in their own cache.
const OFFER_BYTES_PER_BYTE: usize = 13;
const OFFER_BYTES_PER_TOOL: usize = 1024;

/// The same of a list that is searched, estimated: its texts are indexed, with vectors.
const CANDIDATES_BYTES_PER_BYTE: usize = 24;
const CANDIDATES_BYTES_PER_TOOL: usize = 6 * 1024;

/// Bytes of the cache of toolsets that are searched. Their tools belong to the catalog; there are as many entries as aliases, or nearly.
const TOOLSETS_BYTES: u64 = 64 * 1024 * 1024;

/// The part of the bytes that compiled lists take in the cache of lists that are searched.
const SEARCHED_SHARE: u64 = 2;

/// Offers compiled before: agents send the same tools with every request.
#[derive(Debug, Clone)]
pub struct Offers {
    /// Of no tools.
    empty: Arc<Offer>,
    cache: ByteCache<Key, Arc<Offer>>,
    /// By toolsets and dialect.
    of_toolsets: ByteCache<(Vec<String>, SchemaDialect), Arc<Candidates>>,
    /// By the client's list.
    of_clients: ByteCache<String, Arc<Candidates>>,
    /// Of large lists.
    first_sight: FirstSight,
}

impl Offers {
    /// Caches of at most so many bytes, half as many for lists that are searched. They belong to one catalog.
    pub fn new(bytes: u64) -> Self {
        let of_offer = |key: &Key, offer: &Arc<Offer>| {
            key.tools.len() * OFFER_BYTES_PER_BYTE + offer.toolbook.tools().len() * OFFER_BYTES_PER_TOOL
        };
        let of_list = |list: &String, candidates: &Arc<Candidates>| {
            list.len() * CANDIDATES_BYTES_PER_BYTE + candidates.len() * CANDIDATES_BYTES_PER_TOOL
        };
        let of_toolsets =
            |_: &(Vec<String>, SchemaDialect), candidates: &Arc<Candidates>| candidates.len() * OFFER_BYTES_PER_TOOL;
        Self {
            empty: Arc::new(Offer::of_client(Vec::new(), &Validators::default())),
            cache: ByteCache::new(bytes, of_offer),
            of_toolsets: ByteCache::new(TOOLSETS_BYTES, of_toolsets),
            of_clients: ByteCache::new(bytes / SEARCHED_SHARE, of_list),
            first_sight: FirstSight::new(SMALL_LIST_BYTES),
        }
    }

    /// How much is cached: compiled lists, and lists that are searched.
    pub(crate) fn usage(&self) -> [Usage; 2] {
        [self.cache.usage(), self.of_toolsets.usage() + self.of_clients.usage()]
    }

    /// The offer of no tools.
    pub(super) fn empty(&self) -> Arc<Offer> {
        Arc::clone(&self.empty)
    }

    /// The offer of this key, compiled where it is new.
    pub(super) fn get(&self, key: KeyView<'_>, compile: impl FnOnce() -> Offer) -> Arc<Offer> {
        match self.known(key) {
            Some(offer) => offer,
            None if self.first_sight.admits(&key, key.tools.len()) => {
                self.cache.get_with(key.to_key(), || Arc::new(compile()))
            }
            None => Arc::new(compile()),
        }
    }

    /// The offer of this key, where it was compiled before.
    pub(super) fn known(&self, key: KeyView<'_>) -> Option<Arc<Offer>> {
        self.cache.get(&key)
    }

    /// The tools of these toolsets.
    pub(super) fn of_toolsets(
        &self,
        toolsets: &[String],
        dialect: SchemaDialect,
        make: impl FnOnce() -> Candidates,
    ) -> Arc<Candidates> {
        self.of_toolsets.get_with((toolsets.to_vec(), dialect), || Arc::new(make()))
    }

    /// The client's tools of this list.
    pub(super) fn of_client(&self, list: &str, make: impl FnOnce() -> Candidates) -> Arc<Candidates> {
        match self.of_clients.get(list) {
            Some(candidates) => candidates,
            None if self.first_sight.admits(&("searched", list), list.len()) => {
                self.of_clients.get_with(list.to_owned(), || Arc::new(make()))
            }
            None => Arc::new(make()),
        }
    }
}

/// Logs and counts the schemas, of those that judged anything so far, that cannot be used in whole, each once: their tools are offered and
/// called all the same.
pub(crate) fn report_problems(toolbook: &Toolbook, metrics: &Metrics) {
    let compiled = toolbook.tools().iter().filter(|tool| tool.is_compiled());
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
    use callwright_types::Owner;

    #[test]
    fn a_schema_that_cannot_be_used_is_reported_once_it_was_asked() {
        let tool = |name: &str, parameters: serde_json::Value| {
            Arc::new(Tool {
                name: name.to_owned(),
                description: String::new(),
                parameters: Arc::new(parameters),
                free_text: false,
                reads: None,
                owner: Owner::Client,
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
            let sent = Sent::Behind(Vec::new());
            let offer = Offer::compile(offered.clone(), sent, true, &validators);
            assert!(offer.toolbook.tools().iter().all(|tool| !tool.is_compiled()), "nothing is compiled unasked");
            report_problems(&offer.toolbook, &metrics);
            for tool in offer.toolbook.tools() {
                tool.problems();
            }
            report_problems(&offer.toolbook, &metrics);
        }
        let text = metrics.render();
        for judges in ["true", "false"] {
            assert!(text.contains(&format!("callwright_schema_problems_total{{judges=\"{judges}\"}} 1")), "{text}");
        }
    }
}
