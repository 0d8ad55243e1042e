//! Which schemas apply to one and the same value.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::reference;

/// Schemas that are looked at for one value; beyond that nothing more is known about it.
const MAX_VIEWS: usize = 256;

/// A place in the schema document.
#[derive(Debug, Clone)]
pub(super) struct Source<'a> {
    pub(super) pointer: String,
    pub(super) schema: &'a Value,
}

/// One of the schemas that apply, or may apply, to a value.
#[derive(Debug, Clone)]
pub(super) struct View<'a> {
    pub(super) pointer: String,
    pub(super) keywords: &'a Map<String, Value>,
    /// Does it apply whatever the value is? Branches of `anyOf`, `oneOf`, `if` and `dependentSchemas` only may.
    pub(super) certain: bool,
}

impl<'a> View<'a> {
    /// The schema under `path` inside this one.
    pub(super) fn source(&self, path: &[&str], schema: &'a Value) -> Source<'a> {
        let mut pointer = self.pointer.clone();
        for token in path {
            pointer.push('/');
            pointer.push_str(&token.replace('~', "~0").replace('/', "~1"));
        }
        Source { pointer, schema }
    }
}

/// Every schema that applies or may apply to a value that `sources` describe: through `$ref`, `allOf`, `anyOf`, `oneOf`,
/// `if`/`then`/`else` and `dependentSchemas`. Cycles end where they close.
pub(super) fn expand<'a>(root: &'a Value, sources: &[Source<'a>]) -> Vec<View<'a>> {
    let mut views = Vec::new();
    let mut seen = HashSet::new();
    let mut queue: Vec<(Source<'a>, bool)> = sources.iter().rev().map(|source| (source.clone(), true)).collect();
    while let Some((source, certain)) = queue.pop() {
        let Some(keywords) = source.schema.as_object() else { continue };
        if views.len() >= MAX_VIEWS || !seen.insert(std::ptr::from_ref(source.schema)) {
            continue;
        }
        let view = View { pointer: source.pointer, keywords, certain };
        for (keyword, value) in keywords.iter().rev() {
            let branch_certain = certain && keyword == "allOf";
            match (keyword.as_str(), value) {
                ("allOf" | "anyOf" | "oneOf", Value::Array(branches)) => {
                    for (index, branch) in branches.iter().enumerate().rev() {
                        queue.push((view.source(&[keyword, &index.to_string()], branch), branch_certain));
                    }
                }
                ("if" | "then" | "else", branch) => queue.push((view.source(&[keyword], branch), false)),
                ("dependentSchemas", Value::Object(branches)) => {
                    for (name, branch) in branches {
                        queue.push((view.source(&[keyword, name], branch), false));
                    }
                }
                _ => {}
            }
        }
        if let Some(reference) = keywords.get("$ref").and_then(Value::as_str)
            && let Some((pointer, schema)) = reference::resolve(root, reference)
        {
            queue.push((Source { pointer, schema }, certain));
        }
        views.push(view);
    }
    views
}
