//! Feedback about the tools that a search found.

use minijinja::context;
use minijinja::value::Value;

use super::quote;
use callwright_common::limits::LINE_CHARS;
use callwright_common::text::beginning;

/// A tool that a search found.
#[derive(Debug, Clone, Copy)]
pub struct ToolSummary<'a> {
    /// Name that the model must use.
    pub name: &'a str,
    /// Description of the tool.
    pub description: &'a str,
}

/// Returns the template context of tools, the best first.
pub(super) fn context(found: &[ToolSummary<'_>]) -> Value {
    let found: Vec<Value> =
        found.iter().map(|tool| context! { name => tool.name, description => line(tool.description) }).collect();
    context! { exhausted => false, limit => 0, found => found }
}

/// Returns the template context if no further search is allowed.
pub(super) fn exhausted(limit: u32) -> Value {
    context! { exhausted => true, limit => limit, found => Vec::<Value>::new() }
}

/// Returns the first sentence of a description on one line, shortened.
fn line(description: &str) -> String {
    let words = quote::line(description);
    let sentence = words.find(". ").map_or(words.as_str(), |end| words.get(..=end).unwrap_or_default());
    // The full text is in the tool definition, which is offered from then on.
    match beginning(sentence, LINE_CHARS) {
        whole if whole.len() == sentence.len() => whole.to_owned(),
        part => format!("{} ...", part.trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback;

    #[test]
    fn each_tool_found_is_told_in_a_line() {
        let long = "word ".repeat(100);
        let found = [
            ToolSummary { name: "bookRoom", description: "Books a room.\nIt has to be free. Or not." },
            ToolSummary { name: "listRooms", description: &long },
            ToolSummary { name: "getRoom", description: "" },
        ];
        let text = feedback::found_tools(&found);
        assert!(text.contains("- `bookRoom`: Books a room.\n- `listRooms`: word word"), "{text}");
        assert!(text.contains(" ...\n- `getRoom`\n") && text.lines().count() == 5, "{text}");
    }

    #[test]
    fn nothing_found_and_nothing_searched_are_told_apart() {
        assert!(feedback::found_tools(&[]).starts_with("No tool was found"));
        assert!(feedback::no_further_search(3).starts_with("No further searches in this turn: 3 were made."));
    }
}
