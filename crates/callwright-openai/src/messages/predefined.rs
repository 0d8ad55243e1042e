//! Schemas of the tools that Anthropic defines and the client executes (documentation, "Tool use").
//!
//! Versions of a tool differ in details, so the schemas have what all versions share, and are open.

use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

/// Schema of a tool's input.
type InputSchema = LazyLock<Arc<Value>>;

/// `bash_20241022` and later.
static BASH: InputSchema = LazyLock::new(|| {
    schema(&json!({"command": {"type": "string"}, "restart": {"type": "boolean"}}), &["command"], &json!([]))
});

/// `text_editor_20241022` and later. The inserted text has two names, by version.
static TEXT_EDITOR: InputSchema = LazyLock::new(|| {
    let properties = json!({
        "command": {"type": "string", "enum": ["view", "create", "str_replace", "insert", "undo_edit"]},
        "path": {"type": "string"},
        "view_range": {"type": "array", "items": {"type": "integer"}},
        "file_text": {"type": "string"},
        "old_str": {"type": "string"},
        "new_str": {"type": "string"},
        "insert_line": {"type": "integer"},
        "insert_text": {"type": "string"},
    });
    let rules =
        json!(
            [needs("create", &["file_text"]), needs("str_replace", &["old_str"]), needs("insert", &["insert_line"]),]
        );
    schema(&properties, &["command", "path"], &rules)
});

/// `memory_20250818` and later.
static MEMORY: InputSchema = LazyLock::new(|| {
    let properties = json!({
        "command": {"type": "string", "enum": ["view", "create", "str_replace", "insert", "delete", "rename"]},
        "path": {"type": "string"},
        "view_range": {"type": "array", "items": {"type": "integer"}},
        "file_text": {"type": "string"},
        "old_str": {"type": "string"},
        "new_str": {"type": "string"},
        "insert_line": {"type": "integer"},
        "insert_text": {"type": "string"},
        "old_path": {"type": "string"},
        "new_path": {"type": "string"},
    });
    let rules = json!([
        needs("view", &["path"]),
        needs("create", &["path", "file_text"]),
        needs("str_replace", &["path", "old_str"]),
        needs("insert", &["path", "insert_line"]),
        needs("delete", &["path"]),
        needs("rename", &["old_path", "new_path"]),
    ]);
    schema(&properties, &["command"], &rules)
});

/// Returns the schema of the input of a tool of this type, such as `bash_20250124`; `null` if it is not known.
pub(super) fn schema_of(kind: &str) -> Arc<Value> {
    let known = [("bash_", &BASH), ("text_editor_", &TEXT_EDITOR), ("memory_", &MEMORY)];
    let known = known.into_iter().find(|(name, _)| {
        let version = kind.strip_prefix(name);
        version.is_some_and(|version| version.bytes().all(|byte| byte.is_ascii_digit()))
    });
    known.map_or_else(|| Arc::new(Value::Null), |(_, schema)| Arc::clone(schema))
}

fn schema(properties: &Value, required: &[&str], rules: &Value) -> Arc<Value> {
    let mut schema = json!({"type": "object", "properties": properties, "required": required});
    if rules != &json!([]) {
        schema["allOf"] = rules.clone();
    }
    Arc::new(schema)
}

/// Returns the rule that a command has these parameters.
fn needs(command: &str, parameters: &[&str]) -> Value {
    json!({"if": {"properties": {"command": {"const": command}}}, "then": {"required": parameters}})
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
