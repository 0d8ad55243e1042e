//! The one place where a tool's schema is made to fit the subset of JSON Schema that a provider takes.
//!
//! Pure: a schema goes in, a schema and what it lost come out. Calls are judged by the tool's own schema, whatever the model was
//! shown; so what a dialect cannot say is not lost to the judgement, only to the model.

mod losses;
mod openai;
mod pattern;
mod plain;
mod reference;
mod strict;
mod trail;
mod walk;
mod words;

use serde_json::Value;

use super::report::Simplified;
use callwright_types::SchemaDialect;

pub use losses::Loss;

/// A schema in a dialect.
#[derive(Debug, Clone, PartialEq)]
pub struct Translated {
    /// What the model is offered.
    pub parameters: Value,
    /// May the tool be offered with `strict: true`?
    pub strict: bool,
    /// What the model is no longer told by the schema, each place once.
    pub losses: Vec<Loss>,
}

/// `schema`, the schema of a tool's argument object, in `dialect`.
pub fn translate(schema: &Value, dialect: SchemaDialect) -> Translated {
    match dialect {
        SchemaDialect::OpenaiStrict => strict::translate(schema).unwrap_or_else(|obstacle| {
            let openai = openai::translate(schema);
            let what = format!("{}, so the tool is offered without `strict`", obstacle.what);
            let losses = std::iter::once(Loss { at: obstacle.at, what }).chain(openai.losses).collect();
            Translated { losses, ..openai }
        }),
        SchemaDialect::Openai => openai::translate(schema),
        SchemaDialect::Plain => plain::translate(schema),
    }
}

/// What `dialect` loses of the tools of `operations`, as a report says it. What several tools lose in a definition that they share is
/// said once.
pub fn losses<'o>(
    operations: impl IntoIterator<Item = &'o super::Operation>,
    dialect: SchemaDialect,
) -> Vec<Simplified> {
    let mut shared = std::collections::HashSet::new();
    let mut said = Vec::new();
    for operation in operations {
        for loss in translate(&operation.tool.parameters, dialect).losses {
            let what = format!("{dialect}: {loss}");
            if !loss.is_shared() || shared.insert(what.clone()) {
                said.push(Simplified { operation: operation.label(), what });
            }
        }
    }
    said
}

#[cfg(test)]
mod tests;
