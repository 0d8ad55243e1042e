//! Shares the argument schemas of operations with equal arguments.
//!
//! Operations of one resource often have the same parameters and the same body. Translating their schema once saves
//! most of the time for large documents, and sharing it most of the memory.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::argument_object::{ArgumentSchema, ObjectArgument};
use crate::document::LocatedValue;

/// A tool's argument schema, and the required arguments with a single allowed value, which it does not contain.
#[derive(Debug, Clone)]
pub(crate) struct ToolSchema {
    pub(crate) schema: Arc<Value>,
    pub(crate) single_values: Arc<[(String, Value)]>,
}

/// The schemas written so far. Keys are pairs of hashes with secret random keys, so that a document cannot produce a
/// collision.
#[derive(Debug, Default)]
pub(super) struct SharedSchemas {
    keys: [RandomState; 2],
    /// Schemas by the hashes of their arguments.
    by_arguments: HashMap<(u64, u64), ToolSchema>,
    /// Schemas by the hashes of their own content.
    by_content: HashMap<(u64, u64), ToolSchema>,
}

impl SharedSchemas {
    pub(super) fn key(&self, arguments: &[ObjectArgument<'_>]) -> (u64, u64) {
        self.hashes(|hasher| arguments.iter().for_each(|argument| hash_argument(argument, hasher)))
    }

    /// Returns the schema written for equal arguments.
    pub(super) fn find(&self, key: (u64, u64)) -> Option<ToolSchema> {
        self.by_arguments.get(&key).cloned()
    }

    /// Returns the shared form of a new schema. `arguments` is the key of its arguments, `None` if the schema must be
    /// written for each operation.
    pub(super) fn add(
        &mut self,
        arguments: Option<(u64, u64)>,
        schema: Value,
        single_values: Vec<(String, Value)>,
    ) -> ToolSchema {
        let content = self.hashes(|hasher| {
            hash_value(&schema, hasher);
            for (name, value) in &single_values {
                name.hash(hasher);
                hash_value(value, hasher);
            }
        });
        let shared = self
            .by_content
            .entry(content)
            .or_insert_with(|| ToolSchema { schema: Arc::new(compact(schema)), single_values: single_values.into() });
        let shared = shared.clone();
        if let Some(key) = arguments {
            self.by_arguments.insert(key, shared.clone());
        }
        shared
    }

    fn hashes(&self, hash: impl Fn(&mut HashedBytes)) -> (u64, u64) {
        let mut bytes = HashedBytes(Vec::new());
        hash(&mut bytes);
        let [first, second] = self.keys.each_ref().map(|key| key.hash_one(&bytes.0));
        (first, second)
    }
}

/// Collects what is hashed, because hashing many bytes at once is faster.
struct HashedBytes(Vec<u8>);

impl Hasher for HashedBytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Not used: the bytes are hashed with two keys.
    fn finish(&self) -> u64 {
        0
    }
}

/// Hashes everything that determines the schema of the argument.
fn hash_argument(argument: &ObjectArgument<'_>, hasher: &mut HashedBytes) {
    let ObjectArgument { name, schema, part, description, examples, hint, required, empty, deprecated } = argument;
    (name, part, description, hint, required, empty, deprecated).hash(hasher);
    examples.len().hash(hasher);
    examples.iter().for_each(|example| hash_value(example, hasher));
    match schema {
        ArgumentSchema::Document(schema) => hash_schema(schema, hasher),
        ArgumentSchema::Alternatives(schemas) => {
            (3, schemas.len()).hash(hasher);
            schemas.iter().for_each(|schema| hash_schema(schema, hasher));
        }
        ArgumentSchema::Object(members) => {
            (1, members.len()).hash(hasher);
            members.iter().for_each(|member| hash_argument(member, hasher));
        }
        ArgumentSchema::Own(schema) => {
            2.hash(hasher);
            hash_value(schema, hasher);
        }
    }
}

fn hash_schema(schema: &LocatedValue<'_>, hasher: &mut HashedBytes) {
    // Equal schemas of different files may refer to different definitions.
    (0, std::ptr::from_ref(schema.at.file()) as usize).hash(hasher);
    hash_value(schema.value, hasher);
}

/// Hashes a value with the order of its members, which `Value` itself disregards.
fn hash_value(value: &Value, hasher: &mut HashedBytes) {
    match value {
        Value::Null => 0_u8.hash(hasher),
        Value::Bool(value) => (1_u8, value).hash(hasher),
        Value::Number(number) => (2_u8, number).hash(hasher),
        Value::String(text) => (3_u8, text).hash(hasher),
        Value::Array(items) => {
            (4_u8, items.len()).hash(hasher);
            items.iter().for_each(|item| hash_value(item, hasher));
        }
        Value::Object(members) => {
            (5_u8, members.len()).hash(hasher);
            for (name, member) in members {
                name.hash(hasher);
                hash_value(member, hasher);
            }
        }
    }
}

/// Returns the value without spare capacity: translation grows texts and objects step by step.
fn compact(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.into_boxed_str().into_string()),
        Value::Array(items) => {
            Value::Array(items.into_iter().map(compact).collect::<Vec<_>>().into_boxed_slice().into_vec())
        }
        Value::Object(members) => {
            let members: Map<String, Value> = members
                .into_iter()
                .map(|(name, member)| (name.into_boxed_str().into_string(), compact(member)))
                .collect();
            Value::Object(members)
        }
        other => other,
    }
}
