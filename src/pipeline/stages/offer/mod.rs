//! Offer: which tools the model is offered, compiled for judgement.

mod called;
mod candidates;
mod choose;

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use indexmap::Equivalent;
use moka::sync::Cache;

use crate::domain::rules::Mode;
use crate::domain::{Owner, SchemaDialect, Tool};
use crate::openai::{ToolChoice, WrittenTool};
use crate::pipeline::Pipeline;
use crate::pipeline::turn::Turn;
use crate::repair::rescue::hold::Starts;
use crate::retrieval::{Bm25, Hit};
use crate::scanner::{CompiledTool, Toolbook, Validators};
use crate::telemetry::Metrics;

pub(crate) use called::Called;
use candidates::Candidates;

/// The tools offered in a turn.
#[derive(Debug)]
pub(crate) struct Offer {
    /// All tools, compiled.
    pub(crate) toolbook: Toolbook,
    /// With what their calls may begin in a text.
    pub(crate) starts: Starts,
    /// Those that the catalog adds behind the client's own, as they are sent.
    pub(crate) added: Vec<Arc<WrittenTool>>,
    /// Did the client send tools of its own?
    pub(crate) client_sent_tools: bool,
    /// The tools' texts, indexed when they are searched first.
    index: OnceLock<Bm25<String>>,
    /// The names of all tools.
    names: Arc<[String]>,
}

impl Offer {
    /// The client's tools and behind them what the catalog adds.
    pub(crate) fn compile(client: Vec<Tool>, added: Vec<Arc<WrittenTool>>, validators: &Validators) -> Self {
        let client_sent_tools = !client.is_empty();
        let behind = added.iter().map(|written| written.tool().clone());
        let toolbook = Toolbook::compile(client.into_iter().map(Arc::new).chain(behind).collect(), validators);
        let names = toolbook.tools().iter().map(|compiled| compiled.tool.name.clone()).collect();
        let starts = Starts::of(&toolbook);
        Self { toolbook, added, client_sent_tools, index: OnceLock::new(), names, starts }
    }

    /// Is there anything to judge calls by?
    pub(crate) fn is_judged(&self) -> bool {
        !self.toolbook.is_empty()
    }

    /// The `limit` tools whose names and descriptions serve a request best, best first.
    pub(crate) fn search(&self, request: &str, limit: usize) -> Vec<Hit<'_, String>> {
        let text = |tool: &CompiledTool| (tool.name().to_owned(), tool.tool.search_text());
        let texts = || self.toolbook.tools().iter().map(|tool| text(tool));
        self.index.get_or_init(|| Bm25::build(texts())).search(request, limit)
    }

    /// Does the proxy execute calls of the tool `name`?
    pub(crate) fn is_proxys(&self, name: &str) -> bool {
        match self.toolbook.get(name) {
            Some(compiled) => matches!(compiled.tool.owner, Owner::Proxy(_)),
            // No such tool: the fault is the client's to see if it sent tools at all.
            None => !self.client_sent_tools,
        }
    }
}

/// Identifies an offer: the client's tools as they came, the toolsets added, in which dialect, and which of their tools.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    tools: String,
    toolsets: Vec<String>,
    dialect: SchemaDialect,
    /// `None`: all of them.
    chosen: Option<Vec<u32>>,
}

/// A key that is looked for, hashed as [`Key`] is.
#[derive(Debug, Hash)]
struct KeyView<'a> {
    tools: &'a str,
    toolsets: &'a [String],
    dialect: SchemaDialect,
    chosen: Option<&'a [u32]>,
}

impl KeyView<'_> {
    fn to_key(&self) -> Key {
        Key {
            tools: self.tools.to_owned(),
            toolsets: self.toolsets.to_vec(),
            dialect: self.dialect,
            chosen: self.chosen.map(<[u32]>::to_vec),
        }
    }
}

impl Equivalent<Key> for KeyView<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        let Key { tools, toolsets, dialect, chosen } = key;
        (self.tools, self.toolsets, self.dialect, self.chosen) == (tools, toolsets, *dialect, chosen.as_deref())
    }
}

/// Offers compiled before: agents send the same tools with every request.
#[derive(Debug, Clone)]
pub struct Offers {
    cache: Cache<Key, Arc<Offer>>,
    /// By toolsets and dialect: as many as the aliases of the configuration make.
    candidates: Cache<(Vec<String>, SchemaDialect), Arc<Candidates>>,
}

impl Offers {
    /// A cache of at most `entries` offers. It belongs to one catalog.
    pub fn new(entries: u64) -> Self {
        Self { cache: Cache::new(entries), candidates: Cache::new(entries) }
    }
}

/// Which tools the model is offered. Without tools, an empty offer: nothing is judged then.
pub(crate) fn offer(pipeline: &Pipeline, turn: &mut Turn) -> Arc<Offer> {
    let settings = turn.upstream.settings();
    let toolsets: &[String] = if catalog_joins(turn) { &turn.toolsets } else { &[] };
    let dialect = settings.schema_dialect;
    let candidates = (!toolsets.is_empty()).then(|| {
        let compile = || Arc::new(Candidates::of(&turn.snapshot.catalog, toolsets, dialect));
        turn.snapshot.offers.candidates.get_with((toolsets.to_vec(), dialect), compile)
    });
    let chosen = candidates.as_deref().and_then(|candidates| chosen(pipeline, turn, candidates, settings.max_tools));
    let tools = turn.request.tools_text().unwrap_or_default();
    let key = KeyView { tools, toolsets, dialect, chosen: chosen.as_deref() };
    let cache = &turn.snapshot.offers.cache;
    let offer = cache.get(&key).unwrap_or_else(|| {
        cache.get_with(key.to_key(), || {
            let client = turn.request.client_tools();
            let added = candidates.as_deref().map_or_else(Vec::new, |all| added(all, chosen.as_deref(), &client));
            let offer = Offer::compile(client, added, &pipeline.validators);
            tell_of_problems(&offer.toolbook, &pipeline.metrics);
            Arc::new(offer)
        })
    });
    turn.record.trace_mut().tools_offered = offer.names.clone();
    offer
}

/// Which of the candidates are offered; `None` where the upstream takes all of them. The client's own tools always go along, even
/// where they alone are too many: what is wrong with them is for the client to see.
fn chosen(pipeline: &Pipeline, turn: &Turn, candidates: &Candidates, max_tools: usize) -> Option<Vec<u32>> {
    if max_tools == 0 {
        return None;
    }
    let own: HashSet<String> = turn.request.client_tools().into_iter().map(|tool| tool.name).collect();
    let room = max_tools.saturating_sub(own.len());
    let called = pipeline.called.of(turn.record.trace().session.as_deref());
    let chosen = choose::choose(candidates, &turn.request, &called, &own, room)?;
    tracing::debug!(
        offered = chosen.len(),
        left_out = candidates.len() - chosen.len(),
        "the upstream takes {max_tools} tools: those that suit the conversation best are offered"
    );
    Some(chosen)
}

/// The candidates that are offered. The client's own tool wins a shared name: it knows nothing of ours.
fn added(candidates: &Candidates, chosen: Option<&[u32]>, client: &[Tool]) -> Vec<Arc<WrittenTool>> {
    let own: HashSet<&str> = client.iter().map(|tool| tool.name.as_str()).collect();
    let positions: Vec<usize> = match chosen {
        Some(chosen) => chosen.iter().map(|position| *position as usize).collect(),
        None => (0..candidates.len()).collect(),
    };
    let is_free = |position: &usize| candidates.tool(*position).is_some_and(|tool| !own.contains(tool.name.as_str()));
    positions.into_iter().filter(is_free).filter_map(|position| candidates.written(position).cloned()).collect()
}

/// Logs and counts the schemas that cannot be used in whole, each once: their tools are offered and called all the same.
fn tell_of_problems(toolbook: &Toolbook, metrics: &Metrics) {
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

/// May the catalog's tools join? Not where no call may be made, and not where calls could not be executed: with several
/// choices there is no one conversation to go on with.
fn catalog_joins(turn: &Turn) -> bool {
    turn.policy.mode == Mode::Guard
        && turn.request.tool_choice() != ToolChoice::None
        && turn.request.choice_count() == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_schema_that_cannot_be_used_is_told_of_once() {
        let tool = |name: &str, parameters: serde_json::Value| Tool {
            name: name.to_owned(),
            description: String::new(),
            parameters: Arc::new(parameters),
            free_text: false,
            owner: Owner::Client,
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
            let offer = Offer::compile(offered.clone(), Vec::new(), &validators);
            tell_of_problems(&offer.toolbook, &metrics);
        }
        let text = metrics.render();
        for judges in ["true", "false"] {
            assert!(text.contains(&format!("callwright_schema_problems_total{{judges=\"{judges}\"}} 1")), "{text}");
        }
    }
}
