//! Translates a tool's schema to the subset of JSON Schema that a provider accepts. No other module does this.
//!
//! Pure functions: they return the translated schema and its losses. Calls are always validated against the tool's
//! original schema. A constraint that a dialect cannot express is therefore hidden from the model but still enforced.

mod openai;
mod pattern;
mod plain;
mod strict;
mod translated;
mod words;

use serde_json::Value;

use crate::Simplification;
use callwright_types::SchemaDialect;

pub use translated::{Loss, TranslatedSchema};

/// Translates `schema`, the schema of a tool's argument object, to `dialect`.
pub fn translate(schema: &Value, dialect: SchemaDialect) -> TranslatedSchema {
    match dialect {
        SchemaDialect::OpenaiStrict => strict::translate(schema).unwrap_or_else(|obstacle| {
            let openai = openai::translate(schema);
            let what = format!("{}, so the tool is offered without `strict`", obstacle.what);
            let losses = std::iter::once(Loss { at: obstacle.at, what }).chain(openai.losses).collect();
            TranslatedSchema { losses, ..openai }
        }),
        SchemaDialect::Openai => openai::translate(schema),
        SchemaDialect::Plain => plain::translate(schema),
    }
}

/// Returns the losses of the tools of `operations` in `dialect`, as report entries. A loss in a definition that
/// several tools share is reported once.
pub fn losses<'o>(
    operations: impl IntoIterator<Item = &'o crate::Operation>,
    dialect: SchemaDialect,
) -> Vec<Simplification> {
    let mut shared = std::collections::HashSet::new();
    let mut losses = Vec::new();
    for operation in operations {
        for loss in translate(&operation.tool.parameters, dialect).losses {
            let what = format!("{dialect}: {loss}");
            if !loss.is_shared() || shared.insert(what.clone()) {
                losses.push(Simplification { operation: operation.label(), what });
            }
        }
    }
    losses
}

#[cfg(test)]
mod tests;
