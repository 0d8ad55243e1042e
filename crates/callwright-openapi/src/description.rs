//! Builds the description of a tool for the model.

use super::document::LocatedValue;
use super::shorten::shorten;

/// Joins summary and description of `operation` in at most `chars` characters. Falls back to method and path
/// (`label`).
pub(super) fn tool_description(operation: &LocatedValue<'_>, label: &str, chars: usize) -> String {
    let (summary, description) = (operation.text("summary"), operation.text("description"));
    let text = match (summary, description) {
        (Some(summary), Some(description)) if repeats(summary, description) => description.to_owned(),
        (Some(summary), Some(description)) => format!("{summary}\n\n{description}"),
        (Some(only), None) | (None, Some(only)) => only.to_owned(),
        (None, None) => label.to_owned(),
    };
    let is_deprecated = operation.flag("deprecated") == Some(true);
    shorten(&if is_deprecated { format!("Deprecated. {text}") } else { text }, chars)
}

fn repeats(summary: &str, description: &str) -> bool {
    let summary = summary.trim_end_matches('.');
    description.get(..summary.len()).is_some_and(|head| head.eq_ignore_ascii_case(summary))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{SourceFile, ValuePosition};
    use serde_json::json;

    #[test]
    fn summary_and_description_are_joined_unless_one_repeats_the_other() {
        let cases = [
            (json!({"summary": "List pets.", "description": "list pets of a shop"}), "list pets of a shop"),
            (json!({"summary": "List", "description": "All of them."}), "List\n\nAll of them."),
            (json!({"summary": " ", "description": 3, "deprecated": true}), "Deprecated. GET /pets"),
        ];
        for (value, expected) in cases {
            let file = SourceFile::of_value(value);
            let operation = LocatedValue { value: &file.root, at: ValuePosition::root(&file) };
            assert_eq!(tool_description(&operation, "GET /pets", 100), expected);
        }
        let long = SourceFile::of_value(json!({"description": "word ".repeat(500)}));
        let operation = LocatedValue { value: &long.root, at: ValuePosition::root(&long) };
        assert!(tool_description(&operation, "", 1024).chars().count() <= 1024);
    }
}
