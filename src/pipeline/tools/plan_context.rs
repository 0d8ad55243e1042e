//! The input for plans of a turn: the available tools by position, and which tool can supply which argument.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use callwright_judge::scanner::{ToolSet, Validators};
use callwright_plan::generation::{PlanTool, Tools};
use callwright_plan::producers::{Request, RequestScores};
use callwright_search::embedding::Embedder;
use callwright_telemetry::labels::Stage;

use super::offer::Offer;
use super::offering::Offering;
use super::producer_index::{IndexScope, IndexedTools};
use crate::pipeline::cpu::CpuWork;
use crate::pipeline::query_vectors::query_vectors;
use crate::pipeline::services::Pipeline;
use crate::pipeline::state::Turn;

/// The tools of a turn from the planner's view.
///
/// These are the tools of its toolsets and the client's own, offered or not: a tool that supplies an argument need not
/// match the request. Tools that policy never offers or does not execute are excluded. Each tool has its offered name.
#[derive(Debug)]
pub(crate) struct PlanContext {
    pub(crate) indexed: Arc<IndexedTools>,
    offer: Arc<Offer>,
    /// Positions of the offered tools, best first.
    pub(crate) offered: Vec<usize>,
    validators: Validators,
    /// Cache of compiled tools by position.
    compiled: Mutex<HashMap<usize, PlanTool>>,
}

impl PlanContext {
    /// Collects the tools of a turn, with `offering` as the offered ones; `None` while many operations are being indexed,
    /// which no turn waits for.
    pub(crate) async fn new(pipeline: &Pipeline, turn: &Turn, offering: &Offering) -> Option<Self> {
        Self::with(pipeline, turn, offering, |_| ()).await
    }

    /// Same as [`Self::new`]. Runs `prepare` on newly indexed tools, as part of the same CPU work.
    pub(crate) async fn with(
        pipeline: &Pipeline,
        turn: &Turn,
        offering: &Offering,
        prepare: impl FnOnce(&Self),
    ) -> Option<Self> {
        let (tooling, scope) = (&turn.tooling, &index_scope(turn, offering));
        if let Some(known) = tooling.producers.known(scope) {
            return Some(Self::of_indexed(known, pipeline, turn, offering));
        }
        if !tooling.producers.is_ready(&tooling.catalog, scope) {
            tooling.producers.build_in_background(&tooling.catalog, scope);
            return None;
        }
        // Indexing takes as long as compiling the tools.
        let bytes = turn.request.tools_text().map_or(0, str::len);
        let built = pipeline.cpu.run(turn.tenant(), CpuWork::Tools, bytes, || {
            let indexed = tooling.producers.build(&tooling.catalog, scope, turn.request.client_tools());
            let built = Self::of_indexed(indexed, pipeline, turn, offering);
            prepare(&built);
            built
        });
        Some(built.await)
    }

    fn of_indexed(indexed: Arc<IndexedTools>, pipeline: &Pipeline, turn: &Turn, offering: &Offering) -> Self {
        turn.tooling.producers.take_vectors(&indexed, &turn.tooling.toolset_index);
        let offer = Arc::clone(&offering.offer);
        let offered = offering.best_first().filter_map(|name| indexed.producers.position(name)).collect();
        let validators = pipeline.validators.clone();
        Self { indexed, offer, offered, validators, compiled: Mutex::default() }
    }

    /// Returns the tool with this name; `None` if it does not exist or may not be called.
    pub(crate) fn named(&self, name: &str) -> Option<PlanTool> {
        self.tool(self.indexed.producers.position(name)?)
    }

    /// Whether any offered tool requires a key.
    pub(crate) fn requires_key(&self) -> bool {
        self.offered.iter().any(|position| self.indexed.requires_key(*position, self))
    }

    /// Analyses a request text. Uses vectors only if the embedder returns them at once.
    pub(crate) async fn analyse_at_once(&self, pipeline: &Pipeline, turn: &Turn, text: &str) -> RequestScores {
        let embedder = turn.tooling.toolset_index.embedder.as_ref().filter(|embedder| embedder.is_immediate());
        self.analyse_by(pipeline, embedder, text).await
    }

    /// Analyses a request text. Falls back to keywords if the vectors are not ready in time, which is counted.
    pub(crate) async fn analyse(&self, pipeline: &Pipeline, turn: &Turn, text: &str) -> RequestScores {
        self.analyse_by(pipeline, turn.tooling.toolset_index.embedder.as_ref(), text).await
    }

    async fn analyse_by(&self, pipeline: &Pipeline, embedder: Option<&Arc<dyn Embedder>>, text: &str) -> RequestScores {
        let request = Request::parse(text);
        if let Some(embedder) = embedder {
            self.indexed.take_own_vectors(embedder.as_ref()).await;
        }
        let vectors = match embedder.filter(|_| self.indexed.producers.has_vectors()) {
            Some(embedder) => query_vectors(pipeline, embedder, &request.texts(), Stage::Plan).await,
            None => None,
        };
        self.indexed.producers.score_with_offered(&request, &vectors.unwrap_or_default(), &self.offered)
    }
}

fn index_scope(turn: &Turn, offering: &Offering) -> IndexScope {
    IndexScope {
        toolsets: if offering.has_catalog() { turn.toolsets.clone() } else { Vec::new() },
        never: turn.policy.offer.never.clone(),
        execute: turn.policy.execute.clone(),
        list: turn.request.tools_text().unwrap_or_default().to_owned(),
        narrowed: offering.is_narrowed(),
    }
}

impl Tools for PlanContext {
    fn tool(&self, position: usize) -> Option<PlanTool> {
        let known = self.compiled.lock().unwrap_or_else(PoisonError::into_inner).get(&position).cloned();
        if known.is_some() {
            return known;
        }
        let (tool, outputs) = self.indexed.tool(position)?;
        let offered = self.offer.tool_set.get(&tool.name).filter(|offered| offered.tool.owner == tool.owner);
        let tool = match offered {
            Some(offered) => Arc::clone(offered),
            None => Arc::clone(ToolSet::compile(vec![tool], &self.validators).tools().first()?),
        };
        let tool = PlanTool { tool, outputs };
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner).insert(position, tool.clone());
        Some(tool)
    }
}
