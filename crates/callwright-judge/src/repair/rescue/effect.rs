//! Classifies tools as reading or changing.

use super::decision::Effect;
use callwright_scanner::names::words;
use callwright_types::Tool;

/// Verbs at the start of the names of tools that only read.
const READING: [&str; 30] = [
    "get", "list", "search", "find", "read", "fetch", "query", "lookup", "show", "describe", "count", "check", "view",
    "retrieve", "calculate", "compute", "convert", "compare", "estimate", "predict", "analyze", "analyse", "summarize",
    "validate", "grep", "glob", "browse", "detect", "measure", "explain",
];

/// Verbs at the start of the descriptions of tools that only read.
const READING_SENTENCES: [&str; 14] = [
    "gets", "lists", "searches", "finds", "reads", "fetches", "returns", "retrieves", "shows", "describes", "counts",
    "calculates", "computes", "looks up",
];

/// Returns the effect of a tool: by the HTTP method of its API operation if known, else by its name or description.
pub(super) fn of(tool: &Tool) -> Effect {
    if tool.reads.unwrap_or_else(|| has_reading_name(tool) || has_reading_description(tool)) {
        Effect::Reads
    } else {
        Effect::Changes
    }
}

fn has_reading_name(tool: &Tool) -> bool {
    let words = words(tool.name.rsplit("__").next().unwrap_or(&tool.name));
    words.first().is_some_and(|verb| READING.contains(&verb.as_str()))
}

fn has_reading_description(tool: &Tool) -> bool {
    let description = tool.description.trim_start().to_lowercase();
    READING_SENTENCES.iter().chain(&READING).any(|verb| {
        let rest = description.strip_prefix(verb);
        rest.is_some_and(|rest| rest.starts_with(|next: char| !next.is_alphanumeric()))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use callwright_types::{Owner, ToolKind};

    fn effect(name: &str, description: &str, reads: Option<bool>) -> Effect {
        let (name, description) = (name.to_owned(), description.to_owned());
        of(&Tool {
            name,
            description,
            parameters: Arc::default(),
            kind: ToolKind::Function,
            reads,
            owner: Owner::Client,
            namespace: None,
        })
    }

    #[test]
    fn the_method_decides_before_the_name_and_the_description() {
        for (name, description) in
            [("get_weather", ""), ("mcp__files__readFile", ""), ("weather", "Returns the forecast.")]
        {
            assert_eq!(effect(name, description, None), Effect::Reads, "{name}");
            assert_eq!(effect(name, description, Some(false)), Effect::Changes, "{name}");
        }
        for (name, description) in [("delete_order", "Deletes it."), ("getaway", ""), ("weather", ""), ("targets", "")]
        {
            assert_eq!(effect(name, description, None), Effect::Changes, "{name}");
            assert_eq!(effect(name, description, Some(true)), Effect::Reads, "{name}");
        }
    }
}
