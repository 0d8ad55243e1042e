//! What OpenAI takes with `strict: true` (its guide "Structured model outputs", "Supported schemas").
//!
//! Every property is required and every object closed; what may be absent may be null instead, which the repair of a call takes out
//! again. Keywords that are not in the subset are said in the description where a sentence can say them. A schema that could no longer
//! say a value that the tool takes is not strict at all: the whole translation then gives the obstacle.

mod intersection;
mod limits;
mod nullable;
mod translator;
mod value_type;

use serde_json::Value;

use super::{Loss, Translated};

/// The strict form of `schema`.
///
/// # Errors
/// The first place that the subset cannot say without losing values.
pub(super) fn translate(schema: &Value) -> Result<Translated, Loss> {
    let (parameters, losses) = translator::translate(schema)?;
    limits::check(&parameters)?;
    Ok(Translated { parameters, strict: true, losses })
}
