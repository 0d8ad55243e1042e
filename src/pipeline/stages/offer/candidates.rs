//! The catalog's tools that a turn may be offered, in the dialect of its upstream.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::catalog::{Catalog, dialect};
use crate::domain::{SchemaDialect, Tool};
use crate::openai::WrittenTool;
use crate::retrieval::Bm25;

/// The tools of some toolsets of one catalog, in the order of their documents. What costs time is done when it is asked for first:
/// of a thousand tools, most are never offered.
#[derive(Debug)]
pub(super) struct Candidates {
    dialect: SchemaDialect,
    tools: Vec<Candidate>,
    positions: HashMap<String, usize>,
    index: OnceLock<Bm25<()>>,
}

#[derive(Debug)]
struct Candidate {
    tool: Arc<Tool>,
    written: OnceLock<Arc<WrittenTool>>,
}

impl Candidates {
    /// The tools of `toolsets`, those that `catalog` has.
    pub(super) fn of(catalog: &Catalog, toolsets: &[String], dialect: SchemaDialect) -> Self {
        let toolsets = toolsets.iter().flat_map(|name| catalog.toolsets_of(name));
        let tools = toolsets.flat_map(|toolset| toolset.operations.iter().map(|operation| operation.tool.clone()));
        Self::new(tools, dialect)
    }

    pub(super) fn new(tools: impl Iterator<Item = Arc<Tool>>, dialect: SchemaDialect) -> Self {
        let tools: Vec<Candidate> = tools.map(|tool| Candidate { tool, written: OnceLock::new() }).collect();
        let positions =
            tools.iter().enumerate().rev().map(|(at, candidate)| (candidate.tool.name.clone(), at)).collect();
        Self { dialect, tools, positions, index: OnceLock::new() }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.tools.len()
    }

    /// The tool at a position.
    pub(super) fn tool(&self, position: usize) -> Option<&Arc<Tool>> {
        self.tools.get(position).map(|candidate| &candidate.tool)
    }

    /// Where the tool of this name stands.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.positions.get(name).copied()
    }

    /// The tool at a position as it is sent.
    pub(super) fn written(&self, position: usize) -> Option<&Arc<WrittenTool>> {
        let Candidate { tool, written } = self.tools.get(position)?;
        Some(written.get_or_init(|| Arc::new(write(tool, self.dialect))))
    }

    /// Positions of the tools whose texts serve a request, best first, with how well.
    pub(super) fn search(&self, request: &str) -> Vec<(usize, f32)> {
        let texts = || self.tools.iter().map(|candidate| ((), candidate.tool.search_text()));
        let index = self.index.get_or_init(|| Bm25::build(texts()));
        index.search(request, self.len()).into_iter().map(|hit| (hit.position, hit.score)).collect()
    }
}

fn write(tool: &Arc<Tool>, dialect: SchemaDialect) -> WrittenTool {
    let translated = dialect::translate(&tool.parameters, dialect);
    if !translated.losses.is_empty() {
        let losses: Vec<String> = translated.losses.iter().map(ToString::to_string).collect();
        tracing::debug!(tool = tool.name, %dialect, "the tool's schema is simplified: {}", losses.join("; "));
    }
    let is_unchanged = translated.parameters == *tool.parameters;
    let parameters = if is_unchanged { tool.parameters.clone() } else { Arc::new(translated.parameters) };
    WrittenTool::new(tool.clone(), parameters, translated.strict)
}
