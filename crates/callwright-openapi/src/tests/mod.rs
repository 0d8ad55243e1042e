//! Tests of the whole crate: from documents to tools.

mod bodies;
mod faults;
mod giants;
mod mistakes;
mod outputs;
mod promises;
mod real_documents;
mod round_trip;
mod schemas;
mod soundness;
mod toolsets;
mod variants;

use std::path::Path;

use serde_json::{Value, json};

use crate::load::toolset_of;
use crate::{Operation, Toolset, ToolsetSettings};

/// Returns the toolset of an OpenAPI 3.0 document with these members.
fn toolset(members: Value) -> Toolset {
    toolset_with(members, &ToolsetSettings::default())
}

fn toolset_with(mut members: Value, settings: &ToolsetSettings) -> Toolset {
    members["openapi"] = json!("3.0.3");
    toolset_of(members, "api", Path::new("api.json"), settings).unwrap()
}

/// Returns the only operation of a document whose path `/x` has `operation` as `post`.
fn operation(operation: Value, components: Value) -> Operation {
    let mut toolset = toolset(json!({"paths": {"/x": {"post": operation}}, "components": components}));
    assert_eq!(toolset.report.operations_skipped, []);
    toolset.operations.remove(0)
}

/// Returns the argument schema of an operation with a required JSON object as body.
fn schema_of_body(schema: Value, schemas: Value) -> Value {
    let body = json!({"required": true, "content": {"application/json": {"schema": schema}}});
    let operation = operation(json!({"requestBody": body}), json!({"schemas": schemas}));
    (*operation.tool.parameters).clone()
}

/// Whether the schema is valid and accepts `arguments`.
fn accepts(schema: &Value, arguments: &Value) -> bool {
    let options = jsonschema::options().with_pattern_options(jsonschema::PatternOptions::regex());
    options.build(schema).unwrap().is_valid(arguments)
}
