//! Subsets of JSON Schema that model providers accept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// The subset of JSON Schema in which the catalog's tools are written for an upstream.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum SchemaDialect {
    /// The subset that OpenAI accepts with `strict: true` (structured outputs: decoding is constrained to the schema).
    /// A tool whose schema would lose something is offered without `strict`, as with `openai`.
    OpenaiStrict,
    /// The subset that OpenAI accepts for any function: an object at the top level, `items` for every array, and
    /// regular expressions that OpenAI can compile.
    #[default]
    Openai,
    /// No `$ref`, for providers that reject it. Shared and recursive schemas are inlined to a bounded depth and size.
    Plain,
}
