//! Offer: which tools the model is offered, compiled for judgement.

use std::sync::{Arc, OnceLock};

use indexmap::Equivalent;
use moka::sync::Cache;

use crate::domain::rules::Mode;
use crate::domain::{Owner, Tool};
use crate::openai::ToolChoice;
use crate::pipeline::Pipeline;
use crate::pipeline::turn::Turn;
use crate::repair::rescue::hold::Starts;
use crate::retrieval::{Bm25, Hit};
use crate::scanner::{CompiledTool, Toolbook, Validators};
use crate::telemetry::Metrics;

/// The tools offered in a turn.
#[derive(Debug)]
pub(crate) struct Offer {
    /// All tools, compiled.
    pub(crate) toolbook: Toolbook,
    /// With what their calls may begin in a text.
    pub(crate) starts: Starts,
    /// Those that the catalog adds behind the client's own.
    pub(crate) added: Vec<Arc<Tool>>,
    /// Did the client send tools of its own?
    pub(crate) client_sent_tools: bool,
    /// The tools' texts, indexed when they are searched first.
    index: OnceLock<Bm25<String>>,
    /// The names of all tools.
    names: Arc<[String]>,
}

impl Offer {
    pub(crate) fn compile(client: Vec<Tool>, catalog: Vec<Arc<Tool>>, validators: &Validators) -> Self {
        let client: Vec<Arc<Tool>> = client.into_iter().map(Arc::new).collect();
        // The client's own tool wins a shared name: it knows nothing of ours.
        let added: Vec<Arc<Tool>> =
            catalog.into_iter().filter(|tool| client.iter().all(|own| own.name != tool.name)).collect();
        let client_sent_tools = !client.is_empty();
        let toolbook = Toolbook::compile(client.into_iter().chain(added.iter().cloned()).collect(), validators);
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

/// Identifies an offer: the client's tools as they came, and the toolsets added.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    tools: String,
    toolsets: Vec<String>,
}

/// A key that is looked for, hashed as [`Key`] is.
#[derive(Debug, Hash)]
struct KeyView<'a> {
    tools: &'a str,
    toolsets: &'a [String],
}

impl Equivalent<Key> for KeyView<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.tools == key.tools && self.toolsets == key.toolsets
    }
}

/// Offers compiled before: agents send the same tools with every request.
#[derive(Debug, Clone)]
pub struct Offers {
    cache: Cache<Key, Arc<Offer>>,
}

impl Offers {
    /// A cache of at most `entries` offers. It belongs to one catalog.
    pub fn new(entries: u64) -> Self {
        Self { cache: Cache::new(entries) }
    }
}

/// Which tools the model is offered. Without tools, an empty offer: nothing is judged then.
pub(crate) fn offer(pipeline: &Pipeline, turn: &mut Turn) -> Arc<Offer> {
    let key = KeyView {
        tools: turn.request.tools_text().unwrap_or_default(),
        toolsets: if catalog_joins(turn) { &turn.toolsets } else { &[] },
    };
    let cache = &turn.snapshot.offers.cache;
    let offer = cache.get(&key).unwrap_or_else(|| {
        let key = Key { tools: key.tools.to_owned(), toolsets: key.toolsets.to_vec() };
        cache.get_with(key.clone(), || {
            let catalog = key
                .toolsets
                .iter()
                .filter_map(|name| turn.snapshot.catalog.toolset(name))
                .flat_map(|toolset| toolset.operations.iter().map(|operation| operation.tool.clone()))
                .collect();
            let offer = Offer::compile(turn.request.client_tools(), catalog, &pipeline.validators);
            tell_of_problems(&offer.toolbook, &pipeline.metrics);
            Arc::new(offer)
        })
    });
    turn.record.trace_mut().tools_offered = offer.names.clone();
    offer
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
