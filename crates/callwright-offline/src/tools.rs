//! File of tools: lines `{"name", "description", "parameters"?}`.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::input::InputReader;
use super::lines::InputLines;
use super::questions::MAX_QUOTED;
use super::{OfflineError, Watcher};
use callwright_common::text::excerpt;
use callwright_search::retrieval::parameters_text;

/// Tool of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedTool {
    /// Tool name.
    pub name: String,
    /// Description; may be empty.
    pub description: String,
    /// JSON Schema of the arguments; `null` if missing.
    pub parameters: Value,
}

/// Tools of a file, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ListedTools {
    /// Tools with distinct names.
    pub tools: Vec<ListedTool>,
    /// Unusable lines.
    pub problems: u64,
    /// All lines.
    pub lines: u64,
}

#[derive(Deserialize)]
struct ToolLine {
    name: Option<String>,
    description: Option<String>,
    #[serde(default)]
    parameters: Value,
}

impl ListedTool {
    /// Returns names and descriptions of the parameters as one text.
    pub fn parameters_text(&self) -> String {
        parameters_text(&self.parameters)
    }
}

impl ListedTools {
    /// Reads the whole file. Unusable lines are reported to the watcher and counted.
    ///
    /// # Errors
    /// [`OfflineError::Unreadable`] if the file cannot be read or has no tool.
    pub fn read(path: &Path, watcher: &dyn Watcher) -> Result<Self, OfflineError> {
        let mut lines = InputLines::of(InputReader::open(path)?);
        let name = lines.name().to_owned();
        let mut listed = Self::default();
        let mut seen = HashMap::new();
        watcher.begins(&name, lines.size());
        while let Some(batch) = lines.next_batch()? {
            for line in &batch.lines {
                listed.lines += 1;
                let read = line.text.as_deref().map_err(Clone::clone).and_then(read_tool);
                let new = read.and_then(|tool| match seen.insert(tool.name.clone(), line.number) {
                    Some(first) => Err(format!(
                        "the tool `{}` is already defined in line {first}; give each tool a unique name",
                        excerpt(&tool.name, MAX_QUOTED)
                    )),
                    None => Ok(tool),
                });
                match new {
                    Ok(tool) => listed.tools.push(tool),
                    Err(message) => {
                        listed.problems += 1;
                        watcher.problem(&line.problem(&name, message));
                    }
                }
            }
            watcher.advances(batch.consumed, listed.tools.len() as u64);
        }
        watcher.ends();
        if listed.tools.is_empty() {
            let source = std::io::Error::new(std::io::ErrorKind::InvalidInput, "the file contains no tool");
            let fix = "give each tool a line {\"name\", \"description\"}";
            return Err(OfflineError::Unreadable { file: name, source, fix });
        }
        Ok(listed)
    }

    /// Returns notes for the author of the file about tools that are hard to find.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let silent: Vec<&str> =
            self.tools.iter().filter(|tool| is_silent(tool)).map(|tool| tool.name.as_str()).collect();
        if !silent.is_empty() {
            notes.push(format!("tools without a description, which are found by their names only: {}", names(&silent)));
        }
        let mut alike: HashMap<&str, Vec<&str>> = HashMap::new();
        for tool in self.tools.iter().filter(|tool| !is_silent(tool)) {
            alike.entry(tool.description.trim()).or_default().push(&tool.name);
        }
        let mut alike: Vec<Vec<&str>> = alike.into_values().filter(|names| names.len() > 1).collect();
        alike.sort_unstable();
        for group in alike.iter().take(MAX_GROUPS) {
            notes.push(format!("tools with equal descriptions, which only samples can distinguish: {}", names(group)));
        }
        notes
    }
}

/// Maximum number of names in a note, and of groups of equal descriptions.
const MAX_NAMES: usize = 10;
const MAX_GROUPS: usize = 10;

fn is_silent(tool: &ListedTool) -> bool {
    tool.description.trim().is_empty()
}

/// Joins names, and appends the number of omitted ones.
pub(super) fn names(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().take(MAX_NAMES).map(|name| excerpt(name, MAX_QUOTED)).collect();
    let more = names.len().saturating_sub(MAX_NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", quoted.join(", "))
}

fn read_tool(text: &str) -> Result<ListedTool, String> {
    let line: ToolLine = serde_json::from_str(text).map_err(|error| {
        format!("the line is not a tool: {error}; give one object with `name` and `description` on each line")
    })?;
    let name = line.name.filter(|name| !name.trim().is_empty()).ok_or("there is no `name`; give each tool one")?;
    Ok(ListedTool { name, description: line.description.unwrap_or_default(), parameters: line.parameters })
}
