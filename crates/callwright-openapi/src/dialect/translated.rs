//! A translated schema and its losses with their locations.

use std::fmt;

use serde_json::Value;

use crate::schema::{KeywordForm, form};
use callwright_common::json::Pointer;

/// JSON Pointer prefix of a schema's definitions.
const DEFINITIONS: &str = "/$defs/";

/// A schema translated to a dialect.
#[derive(Debug, Clone, PartialEq)]
pub struct TranslatedSchema {
    /// The schema to offer to the model.
    pub parameters: Value,
    /// Whether the tool may be offered with `strict: true`.
    pub strict: bool,
    /// The constraints that the translated schema no longer expresses, without duplicates.
    pub losses: Vec<Loss>,
}

/// One loss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// Location of the loss in the tool's original schema.
    pub at: Pointer,
    /// Describes the loss.
    pub what: String,
}

impl Loss {
    pub(super) fn new(at: &DialectTrail<'_>, what: impl Into<String>) -> Self {
        Self { at: at.pointer(), what: what.into() }
    }

    /// Whether the loss is in a definition, which other tools of the document may share.
    pub(super) fn is_shared(&self) -> bool {
        self.at.as_str().starts_with(DEFINITIONS)
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "arguments#{}: {}", self.at, self.what)
    }
}

/// Collects losses without duplicates.
#[derive(Debug, Default)]
pub(super) struct Losses(Vec<Loss>);

impl Losses {
    pub(super) fn add(&mut self, at: &DialectTrail<'_>, what: impl Into<String>) {
        let loss = Loss::new(at, what);
        if !self.0.contains(&loss) {
            self.0.push(loss);
        }
    }

    pub(super) fn finish(self) -> Vec<Loss> {
        self.0
    }
}

/// A location in a schema, as a linked list on the stack of the traversal.
#[derive(Debug, Clone, Copy)]
pub(super) enum DialectTrail<'t> {
    /// The whole schema.
    Root,
    /// A member of the parent location.
    Member(&'t DialectTrail<'t>, &'t str),
    /// An item of the parent location.
    Item(&'t DialectTrail<'t>, usize),
}

impl<'t> DialectTrail<'t> {
    /// Returns the location of the member `key`.
    pub(super) fn member(&'t self, key: &'t str) -> DialectTrail<'t> {
        DialectTrail::Member(self, key)
    }

    /// Returns the location of the item `index`.
    pub(super) fn item(&'t self, index: usize) -> DialectTrail<'t> {
        DialectTrail::Item(self, index)
    }

    /// Returns the location as a JSON Pointer.
    pub(super) fn pointer(&self) -> Pointer {
        match self {
            DialectTrail::Root => Pointer::root(),
            DialectTrail::Member(before, key) => before.pointer().child(key),
            DialectTrail::Item(before, index) => before.pointer().item(*index),
        }
    }
}

/// Replaces the schemas in the value of a keyword; `None` if `replace` returns that for one of them.
pub(super) fn replace_schemas<'v>(
    (key, value): (&str, &'v Value),
    trail: &DialectTrail<'_>,
    replace: &mut dyn FnMut(&'v Value, &DialectTrail<'_>) -> Option<Value>,
) -> Option<Value> {
    let form = if key == "$defs" { Some(KeywordForm::SchemaMap) } else { form(key) };
    match (form, value) {
        (Some(KeywordForm::Schema), _) => replace(value, trail),
        (Some(KeywordForm::Schemas), Value::Array(schemas)) => {
            let replaced = schemas.iter().enumerate().map(|(index, schema)| replace(schema, &trail.item(index)));
            replaced.collect::<Option<Vec<Value>>>().map(Value::Array)
        }
        (Some(KeywordForm::SchemaMap), Value::Object(schemas)) => {
            let replaced =
                schemas.iter().map(|(name, schema)| Some((name.clone(), replace(schema, &trail.member(name))?)));
            replaced.collect::<Option<_>>().map(Value::Object)
        }
        _ => Some(value.clone()),
    }
}
