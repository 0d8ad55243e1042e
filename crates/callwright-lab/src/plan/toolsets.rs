//! Toolsets of a file, with the producers of their arguments.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::OfflineError;
use crate::input::input_name;
use crate::lines::{InputLines, each_input_line, parse_line};
use callwright_common::json::scalar_text;
use callwright_common::limits::WORD_CHARS;
use callwright_common::progress::ProgressObserver;
use callwright_common::text::excerpt;
use callwright_judge::scanner::Validators;
use callwright_plan::generation::ToolList;
use callwright_plan::producers::{Edges, Producers, Segment, ToolShape, documented_fields};
use callwright_search::embedding::Embedder;
use callwright_types::{Owner, Tool, ToolKind};

/// Inputs of toolsets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ingredients<'a> {
    /// Lines `{"id", "tools"}`.
    pub(super) tools: &'a Path,
    pub(super) edges: &'a Edges,
    pub(super) embedder: Option<&'a Arc<dyn Embedder>>,
    /// Schema compiler, if calls are judged.
    pub(super) validators: Option<&'a Validators>,
}

/// Toolsets by id.
#[derive(Debug, Default)]
pub(super) struct PlanToolsets {
    by_id: HashMap<String, PlanToolset>,
    pub(super) counts: ToolsetCounts,
}

/// Counts over the file of the toolsets.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ToolsetCounts {
    pub(super) toolsets: u64,
    pub(super) tools: u64,
    /// Tools skipped because their toolset has another tool of the same name.
    pub(super) repeated: u64,
    /// Lines that are unusable as a whole or in part.
    pub(super) problems: u64,
}

/// Tools of one line.
#[derive(Debug)]
pub(super) struct PlanToolset {
    names: Vec<String>,
    pub(super) producers: Producers,
    /// Compiled tools; empty if calls are not judged.
    pub(super) tools: ToolList,
}

#[derive(Deserialize)]
struct ToolsetLine {
    id: Option<Value>,
    tools: Option<Vec<Value>>,
}

#[derive(Deserialize)]
struct ToolsetToolForm {
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    parameters: Value,
    #[serde(default)]
    output: Value,
}

/// Tool of a line.
struct ToolsetTool {
    name: String,
    form: ToolsetToolForm,
}

impl ToolsetTool {
    fn into_tool(self) -> Arc<Tool> {
        let ToolsetToolForm { description, parameters, .. } = self.form;
        let (description, parameters) = (description.unwrap_or_default(), Arc::new(parameters));
        Arc::new(Tool {
            name: self.name,
            description,
            parameters,
            kind: ToolKind::Function,
            reads: None,
            owner: Owner::Client,
            namespace: None,
        })
    }
}

impl PlanToolsets {
    /// Reads the whole file. Unusable lines and tools are reported to the observer and counted.
    ///
    /// # Errors
    /// [`OfflineError`] if the file cannot be read or has no toolset, or the embedder fails.
    pub(super) async fn read(from: Ingredients<'_>, observer: &dyn ProgressObserver) -> Result<Self, OfflineError> {
        let (mut by_id, mut counts) = (BTreeMap::new(), ToolsetCounts::default());
        let read = each_input_line(InputLines::open(from.tools)?, observer, |line, report| {
            let (id, listed, broken) = match line.text().and_then(read_line) {
                Ok((id, ..)) if by_id.contains_key(&id) => {
                    let id = excerpt(&id, WORD_CHARS);
                    report(format!(
                        "the toolset `{id}` is already defined in an earlier line; give each toolset a unique id"
                    ));
                    return Ok(());
                }
                Ok(read) => read,
                Err(message) => {
                    report(message);
                    return Ok(());
                }
            };
            broken.into_iter().for_each(report);
            let (listed, repeated) = each_once(listed);
            counts.repeated += repeated;
            counts.tools += listed.len() as u64;
            by_id.insert(id, listed);
            Ok(())
        })?;
        counts.problems = read.problems;
        counts.toolsets = by_id.len() as u64;
        let mut toolsets = Self { by_id: HashMap::new(), counts };
        for (id, listed) in by_id {
            toolsets.by_id.insert(id, PlanToolset::of(listed, from).await?);
        }
        if toolsets.by_id.is_empty() {
            let source = std::io::Error::new(std::io::ErrorKind::InvalidInput, "the file contains no toolset");
            let fix = "give each toolset a line {\"id\", \"tools\": [{\"name\", \"description\", \"parameters\", \"output\"}]}";
            return Err(OfflineError::Unreadable { file: input_name(from.tools), source, fix });
        }
        Ok(toolsets)
    }

    /// Returns the toolset with an id.
    ///
    /// # Errors
    /// A message with the remedy if there is none.
    pub(super) fn get(&self, id: &str) -> Result<&PlanToolset, String> {
        self.by_id.get(id).ok_or_else(|| {
            format!("there is no toolset `{}`; give the `id` of a line of --tools", excerpt(id, WORD_CHARS))
        })
    }
}

impl PlanToolset {
    async fn of(listed: Vec<ToolsetTool>, from: Ingredients<'_>) -> Result<Self, OfflineError> {
        let outputs: Vec<_> = listed.iter().map(|tool| documented_fields(&tool.form.output)).collect();
        let shapes = listed.iter().zip(&outputs).map(|(tool, outputs)| ToolShape {
            name: &tool.name,
            description: tool.form.description.as_deref().unwrap_or_default(),
            parameters: &tool.form.parameters,
            outputs,
            http: None,
            links: &[],
        });
        let shapes: Vec<ToolShape<'_>> = shapes.collect();
        let mut segment = Segment::build(&shapes);
        if let Some(embedder) = from.embedder {
            let texts = shapes.iter().map(ToolShape::embedded).collect();
            segment = segment.with_vectors(embedder.embed(texts).await.map_err(OfflineError::Unembedded)?);
        }
        let producers = Producers::new([Arc::new(segment)]).with_edges(from.edges);
        let names = listed.iter().map(|tool| tool.name.clone()).collect();
        let tools = listed.into_iter().map(ToolsetTool::into_tool).zip(outputs).collect();
        let tools = from.validators.map(|validators| ToolList::compile(tools, validators)).unwrap_or_default();
        Ok(Self { names, producers, tools })
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    pub(super) fn name(&self, position: usize) -> Option<&str> {
        self.names.get(position).map(String::as_str)
    }
}

/// Returns the id of a line, its tools, and the errors of unusable tools.
fn read_line(text: &str) -> Result<(String, Vec<ToolsetTool>, Vec<String>), String> {
    let line: ToolsetLine = parse_line(text, "a toolset", "one object with `id` and `tools` on each line")?;
    let id =
        line.id.as_ref().and_then(scalar_text).ok_or("there is no `id`; give each toolset a string or a number")?;
    let tools = line.tools.ok_or("there are no `tools`; give a list of them")?;
    let (mut listed, mut broken) = (Vec::new(), Vec::new());
    for (number, tool) in tools.into_iter().enumerate() {
        match serde_json::from_value::<ToolsetToolForm>(tool) {
            Ok(mut form) => match form.name.take().filter(|name| !name.trim().is_empty()) {
                Some(name) => listed.push(ToolsetTool { name, form }),
                None => broken.push(format!("/tools/{number}: there is no `name`; the tool is skipped")),
            },
            Err(error) => broken.push(format!("/tools/{number}: this is not a tool: {error}; it is skipped")),
        }
    }
    Ok((id, listed, broken))
}

/// Returns the first tool of each name, and the number of the others.
fn each_once(listed: Vec<ToolsetTool>) -> (Vec<ToolsetTool>, u64) {
    let (all, mut seen) = (listed.len(), HashSet::new());
    let kept: Vec<ToolsetTool> = listed.into_iter().filter(|tool| seen.insert(tool.name.clone())).collect();
    let repeated = all - kept.len();
    (kept, repeated as u64)
}
