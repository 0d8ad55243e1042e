//! The subset that OpenAI accepts with `strict: true` (its guide "Structured model outputs", "Supported schemas").
//!
//! Every property is required and every object is closed. An optional property becomes nullable; the repair of a call
//! removes the nulls. Keywords outside the subset are moved to the description if a sentence can express them. A
//! schema is not translated at all if its strict form would exclude values that the tool accepts. The error then
//! names the obstacle.

mod intersection;
mod nullable;
mod translator;

use serde_json::Value;

use super::translated::{DialectTrail, Loss, TranslatedSchema};
use crate::schema::{KeywordForm, form};

/// Translates `schema` to its strict form.
///
/// # Errors
///
/// Returns the first location that the subset cannot express without excluding values.
pub(super) fn translate(schema: &Value) -> Result<TranslatedSchema, Loss> {
    let (parameters, losses) = translator::translate(schema)?;
    check_limits(&parameters)?;
    Ok(TranslatedSchema { parameters, strict: true, losses })
}

/// Maximum nesting of objects.
const MAX_NESTING: usize = 10;
/// Number of values above which an `enum` has its own limit of characters.
const LONG_ENUM_VALUES: usize = 250;
/// Maximum number of characters of all strings of such an `enum` together.
const MAX_LONG_ENUM_CHARS: usize = 15_000;

/// Checks `schema` against the limits. The error names the first limit that is exceeded.
fn check_limits(schema: &Value) -> Result<(), Loss> {
    let mut count = SchemaCounts::default();
    let trail = DialectTrail::Root;
    count.visit(schema, &trail, 0)?;
    let over = [
        (count.properties, 5_000, "properties"),
        (count.chars, 120_000, "characters of names and values"),
        (count.enum_values, 1_000, "values of enumerations"),
    ];
    match over.into_iter().find(|(found, most, _)| found > most) {
        Some((found, most, what)) => Err(Loss::new(&trail, format!("has {found} {what}, but `strict` allows {most}"))),
        None => Ok(()),
    }
}

#[derive(Debug, Default)]
struct SchemaCounts {
    properties: usize,
    chars: usize,
    enum_values: usize,
}

impl SchemaCounts {
    fn visit(&mut self, schema: &Value, trail: &DialectTrail<'_>, above: usize) -> Result<(), Loss> {
        let Some(members) = schema.as_object() else { return Ok(()) };
        let nesting = above + usize::from(members.contains_key("properties"));
        if nesting > MAX_NESTING {
            return Err(Loss::new(trail, format!("is nested deeper than {MAX_NESTING} objects")));
        }
        self.values(members.get("enum").or_else(|| members.get("const")), trail)?;
        for (key, value) in members {
            let child = trail.member(key);
            match (key.as_str(), form(key), value) {
                ("$defs", _, Value::Object(schemas)) => {
                    for (name, schema) in schemas {
                        self.chars += name.chars().count();
                        self.visit(schema, &child.member(name), 0)?;
                    }
                }
                (_, Some(KeywordForm::Schema), _) => self.visit(value, &child, nesting)?,
                (_, Some(KeywordForm::Schemas), Value::Array(schemas)) => {
                    for (index, schema) in schemas.iter().enumerate() {
                        self.visit(schema, &child.item(index), nesting)?;
                    }
                }
                (_, Some(KeywordForm::SchemaMap), Value::Object(schemas)) => {
                    for (name, schema) in schemas {
                        self.properties += 1;
                        self.chars += name.chars().count();
                        self.visit(schema, &child.member(name), nesting)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn values(&mut self, values: Option<&Value>, trail: &DialectTrail<'_>) -> Result<(), Loss> {
        let Some(values) = values else { return Ok(()) };
        let texts = values.as_array().map_or_else(|| std::slice::from_ref(values), Vec::as_slice);
        let chars = texts.iter().map(|value| value.as_str().map_or(0, |text| text.chars().count())).sum::<usize>();
        if texts.len() > LONG_ENUM_VALUES && chars > MAX_LONG_ENUM_CHARS {
            let what = format!("has {chars} characters in one enumeration, but `strict` allows {MAX_LONG_ENUM_CHARS}");
            return Err(Loss::new(trail, what));
        }
        self.chars += chars;
        self.enum_values += values.as_array().map_or(0, Vec::len);
        Ok(())
    }
}
