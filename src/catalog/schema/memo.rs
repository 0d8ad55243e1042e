//! What was found out about a document's schemas, so that it is found out once.

use std::collections::HashMap;

use serde_json::Value;

use super::super::document::{Document, Located};
use super::keyword::{Form, form};

/// A referenced schema of up to so many schemas, everything below counted, is copied to where it is used; a larger or
/// recursive one becomes a definition. Models read a copy more easily than a reference, but copies must not multiply.
const MAX_COPIED_SCHEMAS: usize = 8;

/// Answers that hold for a whole document.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    copied: HashMap<String, bool>,
}

impl Memo {
    /// Is the schema at `target` small enough to be copied?
    pub(super) fn is_copied(&mut self, document: &Document, target: &Located<'_>) -> bool {
        if let Some(known) = self.copied.get(target.at.as_str()) {
            return *known;
        }
        let mut left = MAX_COPIED_SCHEMAS;
        let copied = is_within(document, target.value, &mut left);
        self.copied.insert(target.at.as_str().to_owned(), copied);
        copied
    }
}

/// Takes one from `left` for each schema; a recursive schema runs out of it.
fn is_within(document: &Document, schema: &Value, left: &mut usize) -> bool {
    let Some(rest) = left.checked_sub(1) else { return false };
    *left = rest;
    let Some(members) = schema.as_object() else { return true };
    if let Some(reference) = members.get("$ref").and_then(Value::as_str)
        && let Ok(target) = document.lookup(reference)
        && !is_within(document, target.value, left)
    {
        return false;
    }
    members.iter().all(|(key, value)| match form(key) {
        Some(Form::Schema) => is_within(document, value, left),
        Some(Form::Schemas) => value.as_array().into_iter().flatten().all(|schema| is_within(document, schema, left)),
        Some(Form::SchemaMap) => {
            value.as_object().into_iter().flatten().all(|(_, schema)| is_within(document, schema, left))
        }
        _ => true,
    })
}
