//! The `$defs` of one argument schema: names for the document's schemas, and a queue of definitions to write. Small
//! schemas are copied instead.

use std::collections::{HashMap, HashSet, VecDeque};

use serde::Serialize;
use serde_json::Value;

use crate::{ApiDocument, LocatedValue, SourceFile, ValuePositionId};
use callwright_common::schema::subschemas;

/// The part of a request that a schema describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub(crate) enum RequestPart {
    /// A segment of the path, which cannot be empty.
    Path,
    /// Another parameter.
    Parameter,
    /// The body or one of its properties.
    Body,
}

/// Names of referenced schemas, and the queue of definitions to write.
#[derive(Debug, Default)]
pub(super) struct Definitions<'d> {
    by_position: HashMap<(ValuePositionId, RequestPart, bool), String>,
    names: HashSet<String>,
    queue: VecDeque<PendingDefinition<'d>>,
}

/// A referenced definition that is still to be written.
#[derive(Debug)]
pub(super) struct PendingDefinition<'d> {
    /// Its name under `$defs`.
    pub(super) name: String,
    /// The schema of the definition.
    pub(super) schema: LocatedValue<'d>,
    /// The part of the request to which it belongs.
    pub(super) part: RequestPart,
    /// Whether it is the parent of a schema that extends it, and described without its variants.
    pub(super) is_parent: bool,
    /// Nesting level of its first use.
    pub(super) level: usize,
}

impl<'d> Definitions<'d> {
    /// Returns the name of the definition of `schema`. The first use, at `level`, adds it to the queue.
    pub(super) fn name_of(
        &mut self,
        schema: &LocatedValue<'d>,
        part: RequestPart,
        is_parent: bool,
        level: usize,
    ) -> String {
        let key = (schema.at.id(), part, is_parent);
        if let Some(name) = self.by_position.get(&key) {
            return name.clone();
        }
        let name = self.free_name(&schema.at.pointer().last().unwrap_or_default());
        self.by_position.insert(key, name.clone());
        self.queue.push_back(PendingDefinition { name: name.clone(), schema: schema.clone(), part, is_parent, level });
        name
    }

    /// Whether the schema has been referenced before.
    pub(super) fn has(&self, schema: &LocatedValue<'d>, part: RequestPart, is_parent: bool) -> bool {
        self.by_position.contains_key(&(schema.at.id(), part, is_parent))
    }

    /// Returns the next definition to write, in order of first reference.
    pub(super) fn next(&mut self) -> Option<PendingDefinition<'d>> {
        self.queue.pop_front()
    }

    fn free_name(&mut self, preferred: &str) -> String {
        let base = preferred.replace(|c: char| !c.is_ascii_alphanumeric() && !"_-.".contains(c), "_");
        let mut name = if base.is_empty() { "schema".to_owned() } else { base.clone() };
        let mut number = 2;
        while !self.names.insert(name.clone()) {
            name = format!("{base}_{number}");
            number += 1;
        }
        name
    }
}

/// Maximum number of schemas, subschemas included, up to which a referenced schema is copied inline. A larger or
/// recursive one becomes a definition. Models read a copy more easily than a reference, but copies must not multiply.
const MAX_COPIED_SCHEMAS: usize = 8;

/// Whether the schema at `target` is small enough to be copied inline. `known` has the results for the document.
pub(super) fn is_copied(known: &mut HashMap<ValuePositionId, bool>, target: &LocatedValue<'_>) -> bool {
    *known
        .entry(target.at.id())
        .or_insert_with(|| is_within(target.document, target.value, target.at.file(), &mut { MAX_COPIED_SCHEMAS }))
}

/// Decrements `left` for each schema; a recursive schema exhausts it.
fn is_within<'d>(document: &'d ApiDocument, schema: &'d Value, file: &'d SourceFile, left: &mut usize) -> bool {
    let Some(rest) = left.checked_sub(1) else { return false };
    *left = rest;
    let Some(members) = schema.as_object() else { return true };
    if let Some(reference) = members.get("$ref").and_then(Value::as_str)
        && let Ok(target) = document.lookup(reference, file)
        && !is_within(document, target.value, target.at.file(), left)
    {
        return false;
    }
    subschemas(members).all(|inside| is_within(document, inside.schema, file, left))
}
