//! Schemas of the tools that Anthropic defines and the client executes (documentation, "Tool use").
//!
//! Versions of a tool differ in details, such as the two names of the inserted text, so the schemas have what all versions
//! share, and are open.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

/// Schemas of the inputs of tools, by the beginning of their types, which a version follows.
static SCHEMAS: LazyLock<BTreeMap<String, Arc<Value>>> =
    LazyLock::new(|| serde_json::from_str(include_str!("predefined.json")).unwrap_or_default());

/// Returns the schema of the input of a tool of this type, such as `bash_20250124`; `null` if it is not known.
pub(super) fn schema_of(kind: &str) -> Arc<Value> {
    let name = kind.trim_end_matches(|letter: char| letter.is_ascii_digit());
    SCHEMAS.get(name).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_belongs_to_all_versions_of_a_tool() {
        for (kind, members) in [
            ("bash_20250124", 2),
            ("bash_20241022", 2),
            ("text_editor_20250728", 8),
            ("text_editor_20250124", 8),
            ("memory_20250818", 10),
        ] {
            assert_eq!(schema_of(kind)["properties"].as_object().map(serde_json::Map::len), Some(members), "{kind}");
        }
        for kind in ["computer_20250124", "bash_v2", "bash", "x_bash_20250124"] {
            assert!(schema_of(kind).is_null(), "{kind}");
        }
    }
}
