//! Applies `discriminator`: the property whose value selects one of several schemas.
//!
//! `discriminator` is not a JSON Schema keyword. Its mapping is therefore written into the alternatives as `const` or
//! `enum`, which models read and validators enforce. A name that is only implied by a schema's name is added as an
//! example: many documents omit the mapping although their APIs use other names.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::literal::{MANY_VALUES, fit, types_of};
use crate::schema::subtypes::mapped_schema;
use crate::{ApiDocument, SourceFile, ValuePositionId};

/// Applies the discriminator of `members`, a schema in `file`, to its translation.
pub(super) fn apply(
    document: &ApiDocument,
    members: &Map<String, Value>,
    file: &SourceFile,
    translated: &mut Map<String, Value>,
) {
    let Some(discriminator) = members.get("discriminator").and_then(Value::as_object) else { return };
    let Some(property) = discriminator.get("propertyName").and_then(Value::as_str) else { return };
    let mapping = discriminator.get("mapping").and_then(Value::as_object);
    let mut names_of: HashMap<ValuePositionId, Vec<Value>> = HashMap::new();
    for (name, target) in mapping.into_iter().flatten() {
        if let Some(target) = target.as_str().and_then(|target| mapped_schema(document, target, file)) {
            names_of.entry(target.at.id()).or_default().push(name.as_str().into());
        }
    }
    for keyword in ["oneOf", "anyOf"] {
        let branches = members.get(keyword).and_then(Value::as_array);
        let written = translated.get_mut(keyword).and_then(Value::as_array_mut);
        let (Some(branches), Some(written)) = (branches, written) else { continue };
        for (branch, written) in branches.iter().zip(written) {
            let (Some(reference), Value::Object(written)) = (reference(branch), written) else { continue };
            let target = document.lookup(reference, file).ok().map(|target| target.at.id());
            if let Some(names) = target.and_then(|target| names_of.get(&target)) {
                let is_required = !discriminator.contains_key("defaultMapping");
                hold_to(written, property, names, is_required);
            } else {
                let implied = reference.rsplit('/').next().unwrap_or_default();
                illustrate(written, property, vec![implied.into()]);
            }
        }
    }
    if !members.contains_key("oneOf") && !members.contains_key("anyOf") {
        illustrate(translated, property, mapping.into_iter().flatten().map(|(name, _)| name.as_str().into()).collect());
    }
}

fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()
}

/// Restricts `property` to `names`. Leaves the schema unchanged if none of them is allowed by it.
fn hold_to(schema: &mut Map<String, Value>, property: &str, names: &[Value], is_required: bool) {
    let Some(described) = described(schema, property) else { return };
    let types = types_of(described);
    let own: Option<Vec<Value>> = match (described.get("const"), described.get("enum").and_then(Value::as_array)) {
        (Some(only), _) => Some(vec![only.clone()]),
        (None, values) => values.cloned(),
    };
    let fitting = names.iter().filter_map(|name| fit(name, &types));
    let allowed: Vec<Value> = fitting.filter(|name| own.as_ref().is_none_or(|own| own.contains(name))).collect();
    match allowed.as_slice() {
        [] => return,
        [only] => {
            described.shift_remove("enum");
            described.insert("const".to_owned(), only.clone());
        }
        several => {
            described.insert("enum".to_owned(), json!(several));
        }
    }
    if is_required {
        let required = schema.entry("required").or_insert_with(|| json!([]));
        if let Value::Array(required) = required
            && !required.iter().any(|name| name == property)
        {
            required.push(property.into());
        }
    }
}

/// Adds `names` as examples of `property`, unless it already has values or examples.
fn illustrate(schema: &mut Map<String, Value>, property: &str, names: Vec<Value>) {
    let described = schema.get("properties").and_then(|properties| properties.get(property));
    let has_values =
        ["enum", "const", "examples"].iter().any(|keyword| described.is_some_and(|it| it.get(keyword).is_some()));
    if described.is_some()
        && !has_values
        && let Some(described) = self::described(schema, property)
    {
        let types = types_of(described);
        let names: Vec<Value> = names.iter().filter_map(|name| fit(name, &types)).take(MANY_VALUES).collect();
        if !names.is_empty() {
            described.insert("examples".to_owned(), names.into());
        }
    }
}

/// Returns the schema of `property`. Adds it if `schema` only inherits it from the schemas that it refers to.
fn described<'s>(schema: &'s mut Map<String, Value>, property: &str) -> Option<&'s mut Map<String, Value>> {
    let properties = schema.entry("properties").or_insert_with(|| json!({})).as_object_mut()?;
    properties.entry(property).or_insert_with(|| json!({})).as_object_mut()
}
