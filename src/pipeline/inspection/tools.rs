//! Toolsets, their reports, and single tools in the form that models get.

use std::sync::Arc;

use http::HeaderMap;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use url::Url;

use callwright_common::limits::EXAMPLES;
use callwright_executor::Permissions;
use callwright_memory::representation::{RepresentationError, RepresentationFile, render, shared_id};
use callwright_openapi::{Operation, Report, Toolset};
use callwright_plan::producers::RequestScores;
use callwright_policy::Policy;
use callwright_types::representation::{Pattern, Representation, SharedRepresentation};

use super::Inspection;

/// Summary of a toolset.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolsetShown {
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
            // The first one is nearly always the right one (docs/benchmarks/plans.md).
            let candidates = producers.candidates(position, argument, &scores, EXAMPLES);
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

/// Number of tools of a toolset, and how many of them can be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolsetState {
    pub name: String,
    /// Number of tools.
    pub tools: usize,
    /// Number of tools whose calls are executed, immediately or after a person's approval.
    pub callable: usize,
    /// Why the others cannot be called, and the remedy; empty if all can.
    pub obstacles: Vec<String>,
}

impl Inspection {
    /// Returns the state of every toolset, ordered by name. `permits` decides whether the executor may call a server.
    pub fn toolset_states(&self, permits: impl Fn(&Url) -> bool) -> Vec<ToolsetState> {
        self.tooling.catalog.toolsets().map(|toolset| self.state(toolset, &permits)).collect()
    }

    fn state(&self, toolset: &Toolset, permits: &impl Fn(&Url) -> bool) -> ToolsetState {
        let policies = self.policies_of(toolset);
        let permissions: Vec<Permissions<'_>> =
            policies.iter().map(|policy| Permissions::new(&policy.execute)).collect();
        let (mut without_server, mut private, mut denied) = (0, 0, 0);
        for operation in &toolset.operations {
            let name = format!("{}/{}", toolset.name, operation.own_name());
            match operation.servers.first() {
                None => without_server += 1,
                Some(server) if !permits(server) => private += 1,
                Some(_) if !permissions.iter().any(|rules| rules.permit(&operation.method, &name)) => denied += 1,
                Some(_) => {}
            }
        }
        let (name, entry, tools) = (toolset.name.clone(), &toolset.entry, toolset.operations.len());
        if policies.is_empty() {
            let obstacle = format!("no model has it: add `{entry}` to `toolsets` of an alias in `[aliases.NAME]`");
            return ToolsetState { name, tools, callable: 0, obstacles: vec![obstacle] };
        }
        let host = toolset.servers.first().and_then(Url::host_str).unwrap_or_default();
        let rules: Vec<&str> = policies.iter().map(|policy| policy.name.as_str()).collect();
        let rules = rules.join("`, `");
        let obstacles = [
            (without_server, format!("without a server: set `base_url` in `[toolsets.{entry}]`")),
            (private, format!("at a private address: add \"{host}\" to `executor.allowed_addresses`")),
            (denied, format!("not GET or HEAD, or denied: `execute.rules` of the policy `{rules}` can allow them")),
        ];
        let obstacles = obstacles.into_iter().filter(|(count, _)| *count > 0);
        let obstacles = obstacles.map(|(count, text)| format!("{count} {text}")).collect();
        ToolsetState { name, tools, callable: tools - without_server - private - denied, obstacles }
    }

    /// Returns the policies of the aliases that offer a toolset, each once.
    fn policies_of(&self, toolset: &Toolset) -> Vec<Arc<Policy>> {
        let mut policies: Vec<Arc<Policy>> = Vec::new();
        for (alias, settings) in &*self.aliases {
            let mut offered = settings.toolsets.iter().flat_map(|entry| self.tooling.catalog.toolsets_of(entry));
            if !offered.any(|one| one.name == toolset.name) {
                continue;
            }
            // Requests of some keys or header fields may get other policies.
            let Ok(explained) = self.explain(alias, None, &HeaderMap::new()) else { continue };
            if !policies.iter().any(|policy| policy.name == explained.rules.name) {
                policies.push(explained.rules);
            }
        }
        policies
    }
}
