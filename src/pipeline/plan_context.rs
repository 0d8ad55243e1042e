//! The input for plans of a turn: the available tools by position, and which tool can supply which argument.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::Pipeline;
use super::producer_index::{IndexScope, IndexedTools};
use super::query_vectors::query_vectors;
use super::stages::offer::{Offer, Offering};
use super::turn::Turn;
use callwright_judge::scanner::{ToolSet, Validators};
use callwright_knowledge::planner::drawing::{PlanTool, Tools};
use callwright_knowledge::planner::producers::{Asked, Producers, Request};
use callwright_knowledge::planner::when::Prerequisite;
use callwright_search::embedding::Embedder;
use callwright_telemetry::labels::Stage;

/// The tools of a turn from the planner's view.
///
/// These are the tools of its toolsets and the client's own, offered or not: a tool that supplies an argument need not
/// match the request. Tools that policy never offers or does not execute are excluded. Each tool has its offered name.
#[derive(Debug)]
pub(crate) struct PlanContext {
    ground: Arc<IndexedTools>,
    offer: Arc<Offer>,
    /// Positions of the offered tools, best first.
    offered: Vec<usize>,
    validators: Validators,
    /// Cache of compiled tools by position.
    compiled: Mutex<HashMap<usize, PlanTool>>,
}

impl PlanContext {
    /// Collects the tools of a turn, with `offering` as the offered ones.
    pub(crate) fn of(pipeline: &Pipeline, turn: &Turn, offering: &Offering) -> Self {
        let snapshot = &turn.snapshot;
        let wanted = wanted(turn, offering);
        let ground = snapshot.producers.ground(&snapshot.catalog, wanted, || turn.request.client_tools());
        snapshot.producers.take_vectors(&ground, &snapshot.shelf);
        let offer = Arc::clone(offering.offer());
        let offered = offering.best_first().filter_map(|name| ground.producers.position(name)).collect();
        let validators = pipeline.validators.clone();
        Self { ground, offer, offered, validators, compiled: Mutex::default() }
    }

    /// Whether the tools of the turn are indexed already.
    pub(crate) fn is_known(turn: &Turn, offering: &Offering) -> bool {
        turn.snapshot.producers.knows(wanted(turn, offering))
    }

    /// Returns which tools can supply which argument.
    pub(crate) fn producers(&self) -> &Producers {
        &self.ground.producers
    }

    /// Returns the positions of the offered tools, in descending relevance to the request.
    pub(crate) fn offered(&self) -> &[usize] {
        &self.offered
    }

    /// Returns the position of the tool with this name.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.ground.producers.position(name)
    }

    /// Whether any offered tool requires a key.
    pub(crate) fn requires_key(&self) -> bool {
        self.offered.iter().any(|position| self.ground.requires_key(*position, self))
    }

    /// Returns the keys that the tool at a position requires, with the tools that clearly supply them.
    pub(crate) fn prerequisites(&self, position: usize) -> Arc<[Prerequisite]> {
        self.ground.prerequisites(position, self)
    }

    /// Analyses a request text. Uses vectors only if the embedder returns them at once.
    pub(crate) async fn ask_at_once(&self, pipeline: &Pipeline, turn: &Turn, text: &str) -> Asked {
        let embedder = turn.snapshot.shelf.embedder().filter(|embedder| embedder.is_immediate());
        self.ask_by(pipeline, embedder, text).await
    }

    /// Analyses a request text. Falls back to keywords if the vectors are not ready in time, which is counted.
    pub(crate) async fn ask(&self, pipeline: &Pipeline, turn: &Turn, text: &str) -> Asked {
        self.ask_by(pipeline, turn.snapshot.shelf.embedder(), text).await
    }

    async fn ask_by(&self, pipeline: &Pipeline, embedder: Option<&Arc<dyn Embedder>>, text: &str) -> Asked {
        let request = Request::read(text);
        if let Some(embedder) = embedder {
            self.ground.take_own_vectors(embedder.as_ref()).await;
        }
        let vectors = match embedder.filter(|_| self.ground.producers.has_vectors()) {
            Some(embedder) => query_vectors(pipeline, embedder, &request.texts(), Stage::Plan).await,
            None => None,
        };
        self.ground.producers.ask(&request, &vectors.unwrap_or_default())
    }
}

fn wanted<'a>(turn: &'a Turn, offering: &Offering) -> IndexScope<'a> {
    IndexScope {
        toolsets: if offering.has_catalog() { &turn.toolsets } else { &[] },
        never: &turn.policy.offer.never,
        execute: &turn.policy.execute,
        list: turn.request.tools_text().unwrap_or_default(),
        narrowed: offering.is_narrowed(),
    }
}

impl Tools for PlanContext {
    fn tool(&self, position: usize) -> Option<PlanTool> {
        let known = |compiled: &HashMap<usize, PlanTool>| compiled.get(&position).cloned();
        if let Some(tool) = known(&self.compiled.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Some(tool);
        }
        let (tool, outputs) = self.ground.tool(position)?;
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
