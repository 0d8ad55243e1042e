//! Caches properties of a document's schemas.

use std::collections::HashMap;

use serde_json::Value;

use super::keyword::subschemas;
use crate::document::{ApiDocument, LocatedValue};
use crate::files::{SourceFile, ValuePositionId};

/// Maximum number of schemas, subschemas included, up to which a referenced schema is copied inline. A larger or
/// recursive one becomes a definition. Models read a copy more easily than a reference, but copies must not multiply.
const MAX_COPIED_SCHEMAS: usize = 8;

/// Cached results for a whole document.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    copied: HashMap<ValuePositionId, bool>,
}

impl Memo {
    /// Whether the schema at `target` is small enough to be copied inline.
    pub(super) fn is_copied(&mut self, document: &ApiDocument, target: &LocatedValue<'_>) -> bool {
        let id = target.at.id();
        if let Some(is_copied) = self.copied.get(&id) {
            return *is_copied;
        }
        let mut left = MAX_COPIED_SCHEMAS;
        let copied = is_within(document, target.value, target.at.file(), &mut left);
        self.copied.insert(id, copied);
        copied
    }
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
    let mut inner = members.iter().flat_map(|(key, value)| subschemas(key, value));
    inner.all(|schema| is_within(document, schema, file, left))
}
