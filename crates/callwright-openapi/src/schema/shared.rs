//! Shares the argument schemas of operations with equal arguments.
//!
//! Operations of one resource often have the same parameters and the same body. Translating their schema once saves
//! most of the time for large documents, and sharing it most of the memory.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use super::argument_object::{ArgumentSchema, ObjectArgument};
use crate::LocatedValue;
use callwright_common::digest;

/// A tool's argument schema, and the required arguments with a single allowed value, which it does not contain.
#[derive(Debug, Clone)]
pub(crate) struct ToolSchema {
    pub(crate) schema: Arc<Value>,
    pub(crate) single_values: Arc<[(String, Value)]>,
}

/// The schemas written so far. Keys are cryptographic hashes, so that a document cannot produce a collision.
#[derive(Debug, Default)]
pub(super) struct SharedSchemas {
    by_arguments: HashMap<String, ToolSchema>,
    by_content: HashMap<String, ToolSchema>,
}

impl SharedSchemas {
    /// Returns the schema written for arguments with this [`key`].
    pub(super) fn find(&self, key: &str) -> Option<ToolSchema> {
        self.by_arguments.get(key).cloned()
    }

    /// Returns the shared form of a new schema. `arguments` is the key of its arguments, `None` if the schema must be
    /// written for each operation.
    pub(super) fn add(
        &mut self,
        arguments: Option<String>,
        schema: Value,
        single_values: Vec<(String, Value)>,
    ) -> ToolSchema {
        let mut content = String::new();
        push_json(&mut content, &(&schema, &single_values));
        let shared = self
            .by_content
            .entry(digest::of_text(&content))
            .or_insert_with(|| ToolSchema { schema: Arc::new(compact(schema)), single_values: single_values.into() });
        if let Some(key) = arguments {
            self.by_arguments.insert(key, shared.clone());
        }
        shared.clone()
    }
}

/// Returns a key that is the same for arguments with the same schema.
pub(super) fn key(arguments: &[ObjectArgument<'_>]) -> String {
    let mut text = String::new();
    arguments.iter().for_each(|argument| push_argument(&mut text, argument));
    digest::of_text(&text)
}

/// Appends everything that determines the schema of the argument.
fn push_argument(text: &mut String, argument: &ObjectArgument<'_>) {
    let ObjectArgument { name, schema, part, description, examples, hint, required, empty, deprecated } = argument;
    push_json(text, &(name, part, description, examples, hint, required, empty, deprecated));
    match schema {
        ArgumentSchema::Document(schema) => push_json(text, &identity(schema)),
        ArgumentSchema::Alternatives(schemas) => push_json(text, &schemas.iter().map(identity).collect::<Vec<_>>()),
        ArgumentSchema::Object(members) => {
            push_json(text, &members.len());
            members.iter().for_each(|member| push_argument(text, member));
        }
        ArgumentSchema::Own(schema) => push_json(text, &[schema]),
    }
}

/// Equal schemas of different files may refer to different definitions.
fn identity<'d>(schema: &LocatedValue<'d>) -> (usize, &'d Value) {
    (std::ptr::from_ref(schema.at.file()).addr(), schema.value)
}

/// Appends a value as JSON, in which members have an order, in contrast to [`Value`]'s own hash.
fn push_json(text: &mut String, value: &impl Serialize) {
    // Values of JSON have a JSON form.
    text.push_str(&serde_json::to_string(value).unwrap_or_default());
    text.push('\n');
}

/// Returns the value without spare capacity: translation grows texts and objects step by step.
fn compact(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.into_boxed_str().into_string()),
        Value::Array(items) => {
            Value::Array(items.into_iter().map(compact).collect::<Vec<_>>().into_boxed_slice().into_vec())
        }
        Value::Object(members) => {
            let members = members.into_iter();
            let compacted = members.map(|(name, member)| (name.into_boxed_str().into_string(), compact(member)));
            Value::Object(compacted.collect::<Map<_, _>>())
        }
        other => other,
    }
}
