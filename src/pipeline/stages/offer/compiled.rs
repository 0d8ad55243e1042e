//! The tools of a turn, compiled for judgement and written for the upstream; and those compiled before.

use std::sync::{Arc, OnceLock};

use indexmap::Equivalent;
use moka::sync::Cache;

use crate::domain::{SchemaDialect, Tool};
use crate::openai::{SentTool, WrittenTool};
use crate::pipeline::tool_shelf::ToolShelf;
use crate::repair::rescue::hold::Starts;
use crate::scanner::{Relevance, Toolbook, Validators};
use crate::telemetry::Metrics;

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

/// Offers compiled before: agents send the same tools with every request.
#[derive(Debug, Clone)]
pub struct Offers {
    /// Of no tools.
    empty: Arc<Offer>,
    cache: Cache<Key, Arc<Offer>>,
    /// By toolsets and dialect: as many as the aliases of the configuration make.
    of_toolsets: Cache<(Vec<String>, SchemaDialect), Arc<Candidates>>,
    /// By the client's list.
    of_clients: Cache<String, Arc<Candidates>>,
}

impl Offers {
    /// A cache of at most `entries` offers. It belongs to one catalog.
    pub fn new(entries: u64) -> Self {
        let empty = Arc::new(Offer::of_client(Vec::new(), &Validators::default()));
        let (cache, of_toolsets, of_clients) = (Cache::new(entries), Cache::new(entries), Cache::new(entries));
        Self { empty, cache, of_toolsets, of_clients }
    }

    /// The offer of no tools.
    pub(super) fn empty(&self) -> Arc<Offer> {
        Arc::clone(&self.empty)
    }

    /// The offer of this key, compiled where it is new.
    pub(super) fn get(&self, key: KeyView<'_>, compile: impl FnOnce() -> Offer) -> Arc<Offer> {
        self.cache.get(&key).unwrap_or_else(|| self.cache.get_with(key.to_key(), || Arc::new(compile())))
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
        self.of_clients.get(list).unwrap_or_else(|| self.of_clients.get_with(list.to_owned(), || Arc::new(make())))
    }
}

/// Logs and counts the schemas that cannot be used in whole, each once: their tools are offered and called all the same.
pub(super) fn tell_of_problems(toolbook: &Toolbook, metrics: &Metrics) {
    let troubled = toolbook.tools().iter().filter(|tool| !tool.problems().is_empty());
    for tool in troubled.filter(|tool| tool.is_new()) {
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
    use crate::domain::Owner;

    #[test]
    fn a_schema_that_cannot_be_used_is_told_of_once() {
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
            tell_of_problems(&offer.toolbook, &metrics);
        }
        let text = metrics.render();
        for judges in ["true", "false"] {
            assert!(text.contains(&format!("callwright_schema_problems_total{{judges=\"{judges}\"}} 1")), "{text}");
        }
    }
}
