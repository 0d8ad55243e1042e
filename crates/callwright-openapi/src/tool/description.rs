//! Builds the description of a tool for the model.

use crate::LocatedValue;
use crate::tool::markup::plain_text;
use crate::tool::text::shorten;

/// Beginning of the description of a deprecated tool.
const DEPRECATED: &str = "Deprecated. ";

/// Joins summary and description of `operation` in at most `chars` characters. Falls back to method and path
/// (`label`).
pub(crate) fn tool_description(operation: &LocatedValue<'_>, label: &str, chars: usize) -> String {
    let [summary, description] = ["summary", "description"].map(|key| operation.text(key).map(plain_text));
    let text = joined(summary.as_deref(), description.as_deref()).unwrap_or_else(|| label.to_owned());
    let is_deprecated = operation.flag("deprecated") == Some(true);
    shorten(&if is_deprecated { format!("{DEPRECATED}{text}") } else { text }, chars)
}

/// Joins summary and description. A summary that the description repeats is left out.
pub(crate) fn joined(summary: Option<&str>, description: Option<&str>) -> Option<String> {
    let [summary, description] = [summary, description].map(|text| text.filter(|text| !text.trim().is_empty()));
    match (summary, description) {
        (Some(summary), Some(description)) if !repeats(summary, description) => {
            Some(format!("{summary}\n\n{description}"))
        }
        (_, Some(only)) | (Some(only), None) => Some(only.to_owned()),
        (None, None) => None,
    }
}

fn repeats(summary: &str, description: &str) -> bool {
    let summary = summary.trim_end_matches('.');
    description.get(..summary.len()).is_some_and(|head| head.eq_ignore_ascii_case(summary))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ApiDocument;
    use serde_json::{Value, json};
    use std::path::Path;

    fn description(operation: Value, label: &str, chars: usize) -> String {
        let root = json!({"openapi": "3.0.0", "operation": operation});
        let document = ApiDocument::new(root, Path::new("api.json")).unwrap();
        tool_description(&document.member("operation").unwrap(), label, chars)
    }

    #[test]
    fn summary_and_description_are_joined_unless_one_repeats() {
        let cases = [
            (json!({"summary": "List pets.", "description": "list pets of a shop"}), "list pets of a shop"),
            (json!({"summary": "List", "description": "All of them."}), "List\n\nAll of them."),
            (json!({"summary": " ", "description": 3, "deprecated": true}), "Deprecated. GET /pets"),
        ];
        for (value, expected) in cases {
            assert_eq!(description(value, "GET /pets", 100), expected);
        }
        let long = json!({"description": "word ".repeat(500)});
        assert!(description(long, "", 1024).chars().count() <= 1024);
    }
}
