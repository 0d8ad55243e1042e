//! Which subset of JSON Schema a model's provider takes.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The subset of JSON Schema that the tools of the catalog are written in for an upstream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SchemaDialect {
    /// What OpenAI takes with `strict: true`, where answers are held to the schema while they are written. A tool whose schema
    /// would lose something is offered without `strict`, as with `openai`.
    OpenaiStrict,
    /// What OpenAI takes of any function: an object at the top, items for every array, regular expressions that it can read.
    #[default]
    Openai,
    /// Without `$ref`, for providers that refuse it: what is shared or recursive is copied to a bounded depth and size.
    Plain,
}

impl SchemaDialect {
    /// Every dialect.
    pub const ALL: [Self; 3] = [Self::OpenaiStrict, Self::Openai, Self::Plain];

    /// The name in configuration and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenaiStrict => "openai-strict",
            Self::Openai => "openai",
            Self::Plain => "plain",
        }
    }
}

impl fmt::Display for SchemaDialect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
