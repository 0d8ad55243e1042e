//! Toolsets, their reports, and single tools in the form that models get.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::Inspection;
use callwright_knowledge::planner::producers::RequestScores;
use callwright_knowledge::representation::{RepresentationError, RepresentationFile, render, shared_id};
use callwright_openapi::{Operation, Report, Toolset};
use callwright_types::representation::{Pattern, Representation, SharedRepresentation};

/// Maximum number of sources per argument. The first one is nearly always the right one (docs/benchmarks/plans.md).
const SHOWN_SOURCES: usize = 3;

/// Summary of a toolset.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolsetShown {
    /// Name of the toolset.
    pub name: String,
    /// The document's `info.title`.
    pub title: String,
    /// Path or URL of the document in the configuration.
    pub document: String,
    /// Base URLs of the servers that get its calls.
    pub servers: Vec<String>,
    /// Number of operations that became tools.
    pub loaded: usize,
    /// Number of operations that were skipped.
    pub skipped: usize,
    /// Number of tools with a name other than their `operationId`.
    pub renamed: usize,
    /// Number of places in the document that were interpreted with a loss or a guess.
    pub simplified: usize,
}

/// A tool in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolListed {
    /// Name of the toolset.
    pub toolset: String,
    /// The tool's name within the toolset.
    pub tool: String,
    /// Method and path.
    pub operation: String,
    /// Number of patterns of the tool, learned or written.
    pub patterns: usize,
    /// Whether the document marks the operation as deprecated.
    pub deprecated: bool,
}

/// A tool with all details.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolShown {
    /// Name of the toolset.
    pub toolset: String,
    /// The tool's name within the toolset.
    pub tool: String,
    /// The name offered to models.
    pub offered_as: String,
    /// Method and path.
    pub operation: String,
    /// Description from the document.
    pub description: String,
    /// The description that models get: the one from the document, followed by the learned patterns.
    pub shown: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
    /// Patterns of the tool, learned or written, in display order.
    pub patterns: Vec<Pattern>,
    /// Possible sources of the argument values.
    pub arguments: Vec<ArgumentSources>,
}

/// Possible sources of one argument's value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArgumentSources {
    /// Name of the argument.
    pub argument: String,
    /// Tools that return the value, best first.
    pub sources: Vec<SourceShown>,
}

/// A tool whose answer can supply an argument.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceShown {
    /// Name of its toolset.
    pub toolset: String,
    /// Its name within the toolset.
    pub tool: String,
    /// JSON Pointer (RFC 6901) to the value in its answer.
    pub output: String,
    /// Score, comparable only among the sources of one argument.
    pub score: f32,
    /// Evidence for and against this source, in descending weight.
    pub reasons: Vec<String>,
}

/// A validated representation that an operator wrote.
#[derive(Debug, Clone, PartialEq)]
pub struct Editing {
    /// The representation in the form that replicas share.
    pub shared: SharedRepresentation,
    /// The resulting description for models.
    pub shown: String,
}

impl Inspection {
    /// Returns the toolsets, ordered by name.
    pub fn toolsets(&self) -> Vec<ToolsetShown> {
        let shown = self.tooling.catalog.toolsets().map(|toolset: &Arc<Toolset>| ToolsetShown {
            name: toolset.name.clone(),
            title: toolset.title.clone(),
            document: toolset.report.file.clone(),
            servers: toolset.servers.iter().map(ToString::to_string).collect(),
            loaded: toolset.report.operations_loaded,
            skipped: toolset.report.operations_skipped.len(),
            renamed: toolset.report.renamed.len(),
            simplified: toolset.report.simplified.len(),
        });
        shown.collect()
    }

    /// Returns the load report of a toolset's document.
    pub fn report(&self, toolset: &str) -> Option<&Report> {
        self.tooling.catalog.toolset(toolset).map(|toolset| &toolset.report)
    }

    /// Returns the tools whose name or operation contains `part`, case-insensitive, of one toolset or of all. Skips
    /// `offset` tools and returns at most `limit`, with the total number of matches.
    pub fn tools(&self, toolset: Option<&str>, part: &str, offset: usize, limit: usize) -> (Vec<ToolListed>, usize) {
        let part = part.to_lowercase();
        let toolsets =
            self.tooling.catalog.toolsets().filter(|known| toolset.is_none_or(|wanted| known.name == wanted));
        let operations =
            toolsets.flat_map(|toolset| toolset.operations.iter().map(move |operation| (toolset, operation)));
        let fitting = operations.filter(|(_, operation)| {
            part.is_empty()
                || operation.own_name().to_lowercase().contains(&part)
                || operation.label().to_lowercase().contains(&part)
        });
        let (mut page, mut all) = (Vec::new(), 0);
        for (toolset, operation) in fitting {
            if all >= offset && page.len() < limit {
                let tool = operation.own_name();
                let learned = self.tooling.toolset_index.learned(&toolset.name, tool);
                page.push(ToolListed {
                    toolset: toolset.name.clone(),
                    tool: tool.to_owned(),
                    operation: operation.label(),
                    patterns: learned.map_or(0, |learned| learned.patterns.len()),
                    deprecated: operation.deprecated,
                });
            }
            all += 1;
        }
        (page, all)
    }

    /// Returns a tool with all details; `None` if it does not exist. Searches the whole catalog for sources of
    /// arguments, which may take tens of milliseconds with ten thousand tools.
    pub fn tool(&self, toolset: &str, tool: &str) -> Option<ToolShown> {
        let operation = self.tooling.catalog.toolset(toolset)?.operation(tool)?;
        let learned = self.tooling.toolset_index.learned(toolset, tool);
        Some(ToolShown {
            toolset: toolset.to_owned(),
            tool: tool.to_owned(),
            offered_as: operation.tool.name.clone(),
            operation: operation.label(),
            description: operation.tool.description.clone(),
            shown: self.shown(operation, learned.map(|learned| &**learned)),
            parameters: Value::clone(&operation.tool.parameters),
            patterns: learned.map(|learned| learned.patterns.clone()).unwrap_or_default(),
            arguments: self.sources(operation),
        })
    }

    /// Returns the id under which replicas share the representation of a tool.
    pub fn shared_id(toolset: &str, tool: &str) -> String {
        shared_id(Some(toolset), tool)
    }

    /// Validates patterns that an operator wrote for a tool, a list in the format of a representation file. Returns
    /// `None` if the tool does not exist.
    ///
    /// # Errors
    /// [`RepresentationError`] if the patterns are invalid in a representation file.
    pub fn edit(
        &self,
        toolset: &str,
        tool: &str,
        patterns: Value,
        now: Timestamp,
    ) -> Option<Result<Editing, RepresentationError>> {
        let operation = self.tooling.catalog.toolset(toolset)?.operation(tool)?;
        let shared = SharedRepresentation {
            id: Self::shared_id(toolset, tool),
            toolset: Some(toolset.to_owned()),
            tool: tool.to_owned(),
            patterns,
            ranking: None,
            classifier: None,
            evidence: Vec::new(),
            updated_at: now,
        };
        Some(RepresentationFile::from_shared(&shared).map(|file| {
            let written = file.tool(tool).map(|stored| stored.representation());
            Editing { shown: self.shown(operation, written.as_ref()), shared }
        }))
    }

    fn shown(&self, operation: &Operation, learned: Option<&Representation>) -> String {
        let own = &operation.tool.description;
        match learned {
            Some(learned) => render(own, learned, self.tooling.toolset_index.description_tokens).into_owned(),
            None => own.clone(),
        }
    }

    fn sources(&self, operation: &Operation) -> Vec<ArgumentSources> {
        let producers = self.tooling.producers.of_all();
        let Some(position) = producers.position(&operation.tool.name) else { return Vec::new() };
        let operations: Vec<(&str, &Operation)> = self
            .tooling
            .catalog
            .toolsets()
            .flat_map(|toolset| toolset.operations.iter().map(|operation| (toolset.name.as_str(), operation)))
            .collect();
        let scores = RequestScores::default();
        let sources = producers.arguments(position).map(|argument: &str| {
            let candidates = producers.candidates(position, argument, &scores, SHOWN_SOURCES);
            let shown = candidates.into_iter().filter(|candidate| candidate.score > 0.0).filter_map(|candidate| {
                let (toolset, operation) = operations.get(candidate.tool)?;
                Some(SourceShown {
                    toolset: (*toolset).to_owned(),
                    tool: operation.own_name().to_owned(),
                    output: candidate.output,
                    score: candidate.score,
                    reasons: candidate.reasons.iter().map(|reason| reason.evidence.to_string()).collect(),
                })
            });
            ArgumentSources { argument: argument.to_owned(), sources: shown.collect() }
        });
        sources.collect()
    }
}
