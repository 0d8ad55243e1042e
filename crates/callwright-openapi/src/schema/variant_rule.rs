//! Writes the variants of a schema with a discriminator: their properties beside those of the parent, and conditions
//! that hold a value to the properties of its variant.
//!
//! A model fills flat optional properties more reliably than alternatives, and the common providers reject alternatives
//! at the top of a tool's schema. The conditions are therefore in `dependentSchemas`.

use serde_json::{Map, Value, json};

use super::literal::{fit, types_of};
use super::trail::SchemaTrail;
use super::translator::{SchemaTranslator, TooLarge};
use crate::schema::subtypes::{Variant, Variants};
use crate::tool::text::shorten;
use crate::{LoadNotes, ValuePosition};
use callwright_common::text::code_spans;

/// Maximum number of variants that the description of one property names.
const MAX_OWNERS: usize = 8;

/// Maximum length of the description of the variants, in characters.
const MAX_CHARS: usize = 2_000;

/// The conditions on the properties of variants.
pub(super) struct VariantRule {
    selector: String,
    /// All values of the discriminator; empty if they are not known.
    values: Vec<Value>,
    description: String,
    conditions: Vec<Value>,
}

impl VariantRule {
    /// Creates the rule. `offered` returns the name under which a property is offered; `None` if it is not. `required`
    /// are the names of required properties of all variants.
    pub(super) fn new<'d>(
        translator: &mut SchemaTranslator<'_, 'd>,
        variants: &Variants<'d>,
        offered: &dyn Fn(&str) -> Option<String>,
        required: &[String],
        level: usize,
    ) -> Result<Option<Self>, TooLarge> {
        let Some(selector) = offered(variants.selector) else { return Ok(None) };
        let mut conditions = Vec::new();
        for variant in variants.variants.iter().filter(|variant| !variant.names.is_empty()) {
            let then = consequence(translator, variants, variant, offered, required, level)?;
            if then.is_empty() {
                continue;
            }
            let condition = match variant.names.as_slice() {
                [only] => json!({"const": only}),
                several => json!({"enum": several}),
            };
            conditions.push(json!({"if": {"properties": {&selector: condition}}, "then": then}));
        }
        let mut values: Vec<Value> = Vec::new();
        if variants.is_complete {
            values.extend(variants.names().into_iter().map(Value::from));
            values.extend(variants.other_values.iter().map(|value| Value::from(*value)));
        }
        let description = description(variants, offered);
        translator.spend(description.len() + values.len() + conditions.len())?;
        Ok(Some(Self { selector, values, description, conditions }))
    }

    /// Adds the rule to the object schema with the properties.
    pub(super) fn apply(self, schema: &mut Map<String, Value>, description_chars: usize) {
        let Self { selector, values, description, conditions } = self;
        let properties = schema.entry("properties").or_insert_with(|| json!({})).as_object_mut();
        let described = properties.map(|properties| {
            properties.entry(selector.as_str()).or_insert_with(|| json!({"type": "string"})).as_object_mut()
        });
        if let Some(Some(described)) = described {
            let has_values = ["enum", "const", "$ref", "allOf"].iter().any(|keyword| described.contains_key(*keyword));
            let types = types_of(described);
            let values: Vec<Value> = values.iter().filter_map(|value| fit(value, &types)).collect();
            if !has_values && !values.is_empty() {
                described.shift_remove("examples");
                described.insert("enum".to_owned(), values.into());
            }
            if description_chars > 0 {
                let own = described.get("description").and_then(Value::as_str);
                let text = own.map_or_else(|| description.clone(), |own| format!("{own}\n{description}"));
                described.insert("description".to_owned(), shorten(&text, description_chars).into());
            }
        }
        if conditions.is_empty() {
            return;
        }
        let dependent = schema.entry("dependentSchemas").or_insert_with(|| json!({}));
        if let Some(dependent) = dependent.as_object_mut() {
            dependent.entry(selector).or_insert_with(|| json!({"allOf": conditions}));
        }
    }
}

/// Returns what holds for the values of one variant.
fn consequence<'d>(
    translator: &mut SchemaTranslator<'_, 'd>,
    variants: &Variants<'d>,
    variant: &Variant<'d>,
    offered: &dyn Fn(&str) -> Option<String>,
    required: &[String],
    level: usize,
) -> Result<Map<String, Value>, TooLarge> {
    let mut then = Map::new();
    let names = variant.required.iter().filter_map(|name| offered(name));
    let names: Vec<String> = names.filter(|name| !required.contains(name)).collect();
    if !names.is_empty() {
        then.insert("required".to_owned(), json!(names));
    }
    let mut properties = Map::new();
    for (name, schema) in variants.restated(variant) {
        if let Some(name) = offered(name) {
            let translated = translator.any(schema.value, &SchemaTrail::start(&schema.at, level + 1))?;
            properties.insert(name, translated);
        }
    }
    for name in variants.forbidden(variant).into_iter().filter_map(offered) {
        properties.insert(name, Value::Bool(false));
    }
    if !properties.is_empty() {
        then.insert("properties".to_owned(), properties.into());
    }
    Ok(then)
}

/// Returns the text that lists the variants with their properties.
fn description(variants: &Variants<'_>, offered: &dyn Fn(&str) -> Option<String>) -> String {
    let mut parts: Vec<String> = Vec::new();
    for variant in &variants.variants {
        let name = match variant.names.first() {
            Some(name) => format!("`{name}`"),
            None => variant.schema_name.clone(),
        };
        let required: Vec<String> = variant.required.iter().filter_map(|name| offered(name)).collect();
        let optional = variant.members.iter().filter(|(name, _)| !variant.required.contains(name));
        let optional: Vec<String> = optional.filter_map(|(name, _)| offered(name)).collect();
        parts.push(match (required.is_empty(), optional.is_empty()) {
            (true, true) => name,
            (false, true) => format!("{name} requires {}", code_spans(&required)),
            (true, false) => format!("{name} may have {}", code_spans(&optional)),
            (false, false) => {
                format!("{name} requires {} and may have {}", code_spans(&required), code_spans(&optional))
            }
        });
    }
    shorten(&format!("Selects the variant: {}.", parts.join("; ")), MAX_CHARS)
}

/// Returns a note on the variants to which a property belongs; `None` if it belongs to all of them.
pub(crate) fn owners_note(variants: &Variants<'_>, name: &str) -> Option<String> {
    let owners = variants.owners(name);
    let shown: Vec<String> = owners.iter().take(MAX_OWNERS).map(|owner| format!("`{owner}`")).collect();
    let more = if owners.len() > MAX_OWNERS { ", ..." } else { "" };
    (!shown.is_empty()).then(|| format!("Only if `{}` is {}{more}.", variants.selector, shown.join(" or ")))
}

/// Reports what the offered schema does not represent.
pub(crate) fn report(notes: &mut LoadNotes, at: &ValuePosition<'_>, variants: &Variants<'_>) {
    if variants.left_out > 0 {
        notes.remark_at(at, format_args!("{} of its variants are left out", variants.left_out));
    }
    for variant in &variants.variants {
        let Variant { schema_name, names, ignored, .. } = variant;
        if names.is_empty() {
            notes.remark_at(
                at,
                format_args!(
                    "no value of the discriminator is known for the variant `{schema_name}`; calls are not judged by it"
                ),
            );
        }
        if !ignored.is_empty() {
            let keywords: Vec<String> = ignored.iter().map(|keyword| format!("`{keyword}`")).collect();
            notes.remark_at(
                at,
                format_args!("the variant `{schema_name}` has {}, which is left out", keywords.join(", ")),
            );
        }
    }
}
