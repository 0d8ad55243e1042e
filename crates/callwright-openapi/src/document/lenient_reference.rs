//! Resolves `$ref`s whose literal target does not exist.

use crate::document::MAX_REFERENCE_HOPS;
use crate::{ApiDocument, LocatedValue, SourceFile, ValuePosition};

/// Location of schemas in each OpenAPI version. Documents that were migrated by hand keep old references.
const SCHEMAS: [(&str, &str); 2] = [("definitions/", "components/schemas/"), ("components/schemas/", "definitions/")];

/// Returns the target that `reference` in the file `from` was intended to have.
///
/// Tolerates a missing leading slash, a `$ref` on the path (`components: {schemas: {$ref: schemas.yaml}}`), a name
/// with unescaped slashes (`#/paths//pets/get`), and schemas at the location of another OpenAPI version.
pub(crate) fn resolve_leniently<'d>(
    document: &'d ApiDocument,
    reference: &str,
    from: &'d SourceFile,
) -> Option<LocatedValue<'d>> {
    let (file, pointer) = document.split(reference, from).ok()?;
    let pointer = pointer.decode_utf8().ok()?;
    // A single name is an anchor.
    let pointer = pointer.strip_prefix('/').or_else(|| pointer.contains('/').then_some(&*pointer))?;
    let root = LocatedValue { value: &file.root, at: ValuePosition::root(file), document };
    follow_tokens(root.clone(), pointer).or_else(|| {
        let (prefix, alternative) = SCHEMAS.into_iter().find(|(prefix, _)| pointer.starts_with(prefix))?;
        follow_tokens(root, &pointer.replacen(prefix, alternative, 1))
    })
}

fn follow_tokens<'d>(root: LocatedValue<'d>, pointer: &str) -> Option<LocatedValue<'d>> {
    let tokens: Vec<&str> = pointer.split('/').collect();
    if pointer.is_empty() || tokens.len() > MAX_REFERENCE_HOPS {
        return None;
    }
    let mut current = root;
    let mut rest = tokens.as_slice();
    while !rest.is_empty() {
        let (next, taken) = step(&current, rest).or_else(|| step(&end_of(&current)?, rest))?;
        current = next;
        rest = rest.get(taken..)?;
    }
    Some(current)
}

/// Follows the chain of `$ref`s that starts at `current`, each resolved literally: tolerant resolution could recurse
/// without end.
fn end_of<'d>(current: &LocatedValue<'d>) -> Option<LocatedValue<'d>> {
    let mut end = current.clone();
    for _ in 0..MAX_REFERENCE_HOPS {
        let Some(reference) = end.reference() else { return Some(end) };
        end = current.document.by_letter(reference, end.at.file()).ok()?;
    }
    None
}

/// Returns the member or item that the first of `tokens` names, or the member whose name contains slashes and spans
/// several tokens. Also returns the number of tokens consumed.
fn step<'d>(current: &LocatedValue<'d>, tokens: &[&str]) -> Option<(LocatedValue<'d>, usize)> {
    if current.value.is_array() {
        let token = tokens.first()?;
        let index: usize = token.parse().ok().filter(|index: &usize| index.to_string() == **token)?;
        return Some((current.items().nth(index)?, 1));
    }
    (1..=tokens.len()).find_map(|taken| {
        let name = tokens.get(..taken)?.join("/");
        let plain = name.replace("~1", "/").replace("~0", "~");
        let next = current.member(&plain).or_else(|| current.member(&name))?;
        Some((next, taken))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::*;
    use crate::document::ReferenceError;

    fn resolved(root: &Value, reference: &str) -> Result<Value, ReferenceError> {
        let document = ApiDocument::new(root.clone(), Path::new("api.json")).unwrap();
        document.lookup(reference, document.root().at.file()).map(|target| target.value.clone())
    }

    #[test]
    fn references_without_a_literal_target_find_the_intended_one() {
        let root = json!({
            "openapi": "3.0.3",
            "components": {"schemas": {"$ref": "#/x-schemas"}},
            "x-schemas": {"Pet": {"type": "object", "x": [1, 2]}, "a/b": {"type": "string"}},
            "paths": {"/pets/{id}": {"get": {"summary": "s"}}}
        });
        for (reference, expected) in [
            ("#/components/schemas/Pet", json!({"type": "object", "x": [1, 2]})),
            ("#/components/schemas/Pet/x/1", json!(2)),
            ("#/definitions/Pet/type", json!("object")),
            ("#/x-schemas/a/b", json!({"type": "string"})),
            ("#components/schemas/Pet/type", json!("object")),
            ("#/paths//pets/{id}/get/summary", json!("s")),
        ] {
            assert_eq!(resolved(&root, reference).unwrap(), expected, "{reference}");
        }
        for reference in ["#/components/schemas/None", "#/definitions/None", "#/paths/none/get", "#nothing"] {
            assert!(matches!(resolved(&root, reference), Err(ReferenceError::Missing(_))), "{reference}");
        }
    }

    #[test]
    fn circular_references_are_errors() {
        let root = json!({
            "openapi": "3.0.3",
            "a": {"$ref": "#/b/x"}, "b": {"$ref": "#/a/x"},
            "definitions": {"Loop": {"$ref": "#/components/schemas/Loop"}}
        });
        for reference in ["#/a/y", "#/b/x/y", "#/components/schemas/Loop"] {
            let document = ApiDocument::new(root.clone(), Path::new("api.json")).unwrap();
            let start = document.lookup(reference, document.root().at.file());
            assert!(start.and_then(|start| start.follow()).is_err(), "{reference}");
        }
    }
}
