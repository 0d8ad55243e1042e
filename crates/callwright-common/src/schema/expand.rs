//! Schemas that apply to the same value.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Applies, Subschema, resolve, subschemas};

/// Maximum number of schemas examined for one value; further ones are ignored.
const MAX_VIEWS: usize = 256;

/// A location in the schema document.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    /// JSON Pointer of the schema in the document.
    pub pointer: String,
    /// The schema at that location.
    pub schema: &'a Value,
}

/// A schema that applies, or may apply, to a value.
#[derive(Debug, Clone)]
pub struct View<'a> {
    /// JSON Pointer of the schema in the document.
    pub pointer: String,
    /// Keywords of the schema.
    pub keywords: &'a Map<String, Value>,
    /// Whether it applies unconditionally. Branches of `anyOf`, `oneOf`, `if` and `dependentSchemas` apply
    /// conditionally.
    pub certain: bool,
}

impl<'a> View<'a> {
    /// Returns the schema under `path` in this one.
    fn source(&self, path: &[&str], schema: &'a Value) -> Source<'a> {
        let mut pointer = self.pointer.clone();
        for token in path {
            pointer.push('/');
            pointer.push_str(&token.replace('~', "~0").replace('/', "~1"));
        }
        Source { pointer, schema }
    }

    /// Returns a direct subschema of this one.
    pub fn source_of(&self, inside: &Subschema<'a>) -> Source<'a> {
        match (inside.name, inside.index) {
            (Some(name), _) => self.source(&[inside.keyword, name], inside.schema),
            (None, Some(index)) => self.source(&[inside.keyword, &index.to_string()], inside.schema),
            (None, None) => self.source(&[inside.keyword], inside.schema),
        }
    }
}

/// Returns all schemas that apply or may apply to a value that `sources` describe: through `$ref`, `allOf`, `anyOf`,
/// `oneOf`, `if`/`then`/`else`, `dependentSchemas` and `dependencies`. Schemas under `not` are omitted. Each schema is
/// visited once, which ends cycles.
pub fn expand<'a>(root: &'a Value, sources: &[Source<'a>]) -> Vec<View<'a>> {
    let mut views = Vec::new();
    let mut seen = HashSet::new();
    let mut queue: Vec<(Source<'a>, bool)> = sources.iter().rev().map(|source| (source.clone(), true)).collect();
    while let Some((source, certain)) = queue.pop() {
        let Some(keywords) = source.schema.as_object() else { continue };
        if views.len() >= MAX_VIEWS || !seen.insert(std::ptr::from_ref(source.schema)) {
            continue;
        }
        let view = View { pointer: source.pointer, keywords, certain };
        let inside = subschemas(keywords).filter(|inside| inside.applies.is_same_value() && inside.keyword != "not");
        let inside: Vec<(Source<'a>, bool)> =
            inside.map(|inside| (view.source_of(&inside), certain && inside.applies == Applies::Always)).collect();
        queue.extend(inside.into_iter().rev());
        if let Some(reference) = keywords.get("$ref").and_then(Value::as_str)
            && let Some((pointer, schema)) = resolve(root, reference)
        {
            queue.push((Source { pointer, schema }, certain));
        }
        views.push(view);
    }
    views
}
