//! File of tools: lines `{"name", "description", "parameters"?}`.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::OfflineError;
use super::input::input_name;
use super::lines::{LinesRead, each_line, parse_line};
use callwright_common::limits::{LISTED, WORD_CHARS};
use callwright_common::progress::ProgressObserver;
use callwright_common::text::excerpt;
use callwright_search::retrieval::parameters_text;

/// Tool of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedTool {
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
    /// Reads the whole file. Unusable lines are reported to the observer and counted.
    ///
    /// # Errors
    /// [`OfflineError::Unreadable`] if the file cannot be read or has no tool.
    pub fn read(path: &Path, observer: &dyn ProgressObserver) -> Result<Self, OfflineError> {
        let mut seen = HashMap::new();
        let mut tools = Vec::new();
        let LinesRead { problems, lines } = each_line(path, observer, |number, text| {
            let tool = read_tool(text)?;
            if let Some(first) = seen.insert(tool.name.clone(), number) {
                let name = excerpt(&tool.name, WORD_CHARS);
                return Err(format!(
                    "the tool `{name}` is already defined in line {first}; give each tool a unique name"
                ));
            }
            tools.push(tool);
            Ok(())
        })?;
        let listed = Self { tools, problems, lines };
        if listed.tools.is_empty() {
            let source = std::io::Error::new(std::io::ErrorKind::InvalidInput, "the file contains no tool");
            let fix = "give each tool a line {\"name\", \"description\"}";
            return Err(OfflineError::Unreadable { file: input_name(path), source, fix });
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
        for group in alike.iter().take(LISTED) {
            notes.push(format!("tools with equal descriptions, which only samples can distinguish: {}", names(group)));
        }
        notes
    }
}

fn is_silent(tool: &ListedTool) -> bool {
    tool.description.trim().is_empty()
}

/// Joins names, and appends the number of omitted ones.
pub(super) fn names(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().take(LISTED).map(|name| excerpt(name, WORD_CHARS)).collect();
    let more = names.len().saturating_sub(LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", quoted.join(", "))
}

fn read_tool(text: &str) -> Result<ListedTool, String> {
    let form = "one object with `name` and `description` on each line";
    let line: ToolLine = parse_line(text, "a tool", form)?;
    let name = line.name.filter(|name| !name.trim().is_empty()).ok_or("there is no `name`; give each tool one")?;
    Ok(ListedTool { name, description: line.description.unwrap_or_default(), parameters: line.parameters })
}
