//! The subset that OpenAI accepts with `strict: true` (its guide "Structured model outputs", "Supported schemas").
//!
//! Every property is required and every object is closed. An optional property becomes nullable; the repair of a call
//! removes the nulls. Keywords outside the subset are moved to the description if a sentence can express them. A
//! schema is not translated at all if its strict form would exclude values that the tool accepts. The error then
//! names the obstacle.

mod intersection;
mod limits;
mod nullable;
mod translator;
mod value_type;

use serde_json::Value;

use super::translated::{Loss, TranslatedSchema};

/// Translates `schema` to its strict form.
///
/// # Errors
///
/// Returns the first location that the subset cannot express without excluding values.
pub(super) fn translate(schema: &Value) -> Result<TranslatedSchema, Loss> {
    let (parameters, losses) = translator::translate(schema)?;
    limits::check(&parameters)?;
    Ok(TranslatedSchema { parameters, strict: true, losses })
}
