//! Toolsets, their reports, and single tools as models are shown them.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::Inspection;
use callwright_knowledge::planner::producers::Asked;
use callwright_knowledge::representation::{RepresentationError, RepresentationFile, render, shared_id};
use callwright_openapi::{Operation, Report, Toolset};
use callwright_types::representation::{Pattern, Representation, SharedRepresentation};

/// Sources that are shown of an argument: the first is nearly always the right one (BENCHMARKS.md, producers).
const SHOWN_SOURCES: usize = 3;

/// A toolset.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolsetShown {
    /// Its name.
    pub name: String,
    /// The document's `info.title`.
    pub title: String,
    /// The document, as the configuration names it.
    pub document: String,
    /// The servers that its calls go to.
    pub servers: Vec<String>,
    /// How many operations became tools.
    pub loaded: usize,
    /// How many did not.
    pub skipped: usize,
    /// How many tools do not bear their `operationId`.
    pub renamed: usize,
    /// How many places were understood with a loss or a guess.
    pub simplified: usize,
}

/// A tool in a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolListed {
    /// The toolset.
    pub toolset: String,
    /// The tool's name within it.
    pub tool: String,
    /// Method and path.
    pub operation: String,
    /// Patterns that were learned of it, or written.
    pub patterns: usize,
    /// Does the document call it deprecated?
    pub deprecated: bool,
}

/// A tool, whole.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolShown {
    /// The toolset.
    pub toolset: String,
    /// The tool's name within it.
    pub tool: String,
    /// The name under which models are offered it.
    pub offered_as: String,
    /// Method and path.
    pub operation: String,
    /// Its own description.
    pub description: String,
    /// The description that models are shown: the own one with what was learned behind it.
    pub shown: String,
    /// The schema of its arguments.
    pub parameters: Value,
    /// What was learned of it or written, in the order in which it is shown.
    pub patterns: Vec<PatternShown>,
    /// Where the values of its arguments can come from.
    pub arguments: Vec<ArgumentSources>,
}

/// A pattern.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PatternShown {
    /// A general sentence.
    pub description: String,
    /// Short phrases, as people use them.
    pub cases: Vec<String>,
    /// How much a likeness to it says for the tool; 1 is usual.
    pub weight: f32,
}

/// Where the value of an argument can come from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArgumentSources {
    /// The argument.
    pub argument: String,
    /// The tools whose answers have it, best first.
    pub sources: Vec<SourceShown>,
}

/// A tool whose answer can supply an argument.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceShown {
    /// Its toolset.
    pub toolset: String,
    /// Its name within it.
    pub tool: String,
    /// Where the value stands in its answer (RFC 6901).
    pub output: String,
    /// Comparable only among the sources of one argument.
    pub score: f32,
    /// What speaks for it and against it, the weightiest first.
    pub reasons: Vec<String>,
}

/// A representation that somebody writes, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Editing {
    /// What replicas would share.
    pub shared: SharedRepresentation,
    /// The description that models would be shown.
    pub shown: String,
}

impl Inspection {
    /// The toolsets, by name.
    pub fn toolsets(&self) -> Vec<ToolsetShown> {
        let shown = |toolset: &Arc<Toolset>| ToolsetShown {
            name: toolset.name.clone(),
            title: toolset.title.clone(),
            document: toolset.report.file.clone(),
            servers: toolset.servers.iter().map(ToString::to_string).collect(),
            loaded: toolset.report.operations_loaded,
            skipped: toolset.report.operations_skipped.len(),
            renamed: toolset.report.renamed.len(),
            simplified: toolset.report.simplified.len(),
        };
        self.tooling.catalog.toolsets().map(shown).collect()
    }

    /// What became of a toolset's document.
    pub fn report(&self, toolset: &str) -> Option<&Report> {
        self.tooling.catalog.toolset(toolset).map(|toolset| &toolset.report)
    }

    /// The tools of a toolset, or of all, whose names or operations have `part` in them, in any case: `limit` of them behind the first
    /// `offset`. Also how many there are in all.
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
                let learned = self.tooling.shelf.learned(&toolset.name, tool);
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

    /// A tool, whole; `None` where there is none. It looks through the whole catalog for where values come from, which may take tens of
    /// milliseconds with ten thousand tools.
    pub fn tool(&self, toolset: &str, tool: &str) -> Option<ToolShown> {
        let operation = self.tooling.catalog.toolset(toolset)?.operation(tool)?;
        let learned = self.tooling.shelf.learned(toolset, tool);
        Some(ToolShown {
            toolset: toolset.to_owned(),
            tool: tool.to_owned(),
            offered_as: operation.tool.name.clone(),
            operation: operation.label(),
            description: operation.tool.description.clone(),
            shown: self.shown(operation, learned.map(|learned| &**learned)),
            parameters: Value::clone(&operation.tool.parameters),
            patterns: learned
                .map(|learned| learned.patterns.iter().map(PatternShown::of).collect())
                .unwrap_or_default(),
            arguments: self.sources(operation),
        })
    }

    /// The id under which replicas share what is written of a tool.
    pub fn shared_id(toolset: &str, tool: &str) -> String {
        shared_id(Some(toolset), tool)
    }

    /// Checks patterns that somebody writes for a tool, a list as a representation file has it; `None` where there is no such tool.
    ///
    /// # Errors
    /// [`RepresentationError`]: what no representation file may say.
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
            evidence: Vec::new(),
            updated_at: now,
        };
        Some(RepresentationFile::of_shared(&shared).map(|file| {
            let written = file.tool(tool).map(|stored| stored.representation());
            Editing { shown: self.shown(operation, written.as_ref()), shared }
        }))
    }

    fn shown(&self, operation: &Operation, learned: Option<&Representation>) -> String {
        let own = &operation.tool.description;
        match learned {
            Some(learned) => render(own, learned, self.tooling.shelf.description_tokens()).into_owned(),
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
        let asked = Asked::default();
        let sources = |argument: &str| {
            let candidates = producers.candidates(position, argument, &asked, SHOWN_SOURCES);
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
        };
        producers.arguments(position).map(sources).collect()
    }
}

impl PatternShown {
    fn of(pattern: &Pattern) -> Self {
        let Pattern { description, cases, weight } = pattern;
        Self { description: description.clone(), cases: cases.clone(), weight: *weight }
    }
}
