//! Shortens parameters and outputs for prompts according to the settings.

use serde_json::{Map, Value};

use super::answer::{ItemSelection, TakenOutput};
use super::settings::GenerationSettings;
use callwright_common::json::Pointer;
use callwright_common::schema::{LocalSchema, Views, resolve};
use callwright_common::text::{beginning, excerpt, is_digits};
use callwright_judge::scanner::Parameter;
use callwright_types::plan::{Item, Reference};
use callwright_types::{OutputField, ValueKind};

/// Maximum number of references from one schema to the next that are followed.
const MAX_REFERENCES: usize = 8;

/// Returns a parameter's schema with the keywords of the schema that it refers to, because a prompt has no definitions.
/// It is reduced if it is too large.
pub(super) fn prompt_schema(root: &Value, parameter: &Parameter<'_>, settings: &GenerationSettings) -> Value {
    let schema = without_reference(root, parameter.schema);
    if schema.to_string().len() <= settings.schema_bytes {
        return schema;
    }
    let schemas = Views::new(LocalSchema::within(root, parameter.schema));
    let kept = ["type", "format"].into_iter();
    let kept = kept.filter_map(|keyword| Some((keyword.to_owned(), schemas.values(keyword).next()?.clone())));
    let mut reduced: Map<String, Value> = kept.collect();
    if let Some(about) = schemas.text("description") {
        reduced.insert("description".to_owned(), beginning(about, settings.description_chars).into());
    }
    Value::Object(reduced)
}

fn without_reference(root: &Value, schema: &Value) -> Value {
    let mut schema = schema.clone();
    for _ in 0..MAX_REFERENCES {
        let Some(members) = schema.as_object_mut() else { break };
        let Some(Value::String(reference)) = members.shift_remove("$ref") else { break };
        let target = resolve(root, &reference).and_then(|(_, target)| target.as_object());
        for (keyword, value) in target.into_iter().flatten() {
            members.entry(keyword).or_insert_with(|| value.clone());
        }
    }
    schema
}

/// Returns the output fields of a tool for a prompt: the fields in `first`, then others up to the limit.
pub(super) fn prompt_outputs(
    fields: &[OutputField],
    first: &[&str],
    settings: &GenerationSettings,
) -> Option<Map<String, Value>> {
    let (mut ordered, rest): (Vec<_>, Vec<_>) =
        fields.iter().partition(|field| first.contains(&field.pointer.as_str()));
    ordered.extend(rest);
    let listed =
        ordered.into_iter().take(settings.outputs).map(|field| (field.pointer.clone(), field_text(field, settings)));
    (!fields.is_empty()).then(|| listed.collect())
}

/// Returns the JSON Schema type name of a kind.
pub(super) fn type_name(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Boolean => "boolean",
        ValueKind::Integer => "integer",
        ValueKind::Number => "number",
        ValueKind::String => "string",
        ValueKind::Array => "array",
        ValueKind::Object => "object",
    }
}

fn field_text(field: &OutputField, settings: &GenerationSettings) -> Value {
    let kind = field.kind.map(type_name);
    let about = excerpt(&field.description, settings.description_chars);
    match (kind, about.is_empty()) {
        (Some(kind), true) => kind.into(),
        (Some(kind), false) => format!("{kind}: {about}").into(),
        (None, _) => about.into(),
    }
}

/// Returns the pointer of a value in an answer and the selected list item; `None` if the item index cannot be parsed.
pub(super) fn location(taken: &TakenOutput) -> Option<(Pointer, Item)> {
    let pointer = Pointer::from(taken.output.as_str());
    let (mut output, mut index) = (Pointer::root(), None);
    for token in pointer.tokens() {
        if is_digits(&token) {
            index = Some(token.parse::<usize>().ok()?);
            output = output.item(0);
        } else {
            output = output.child(&token);
        }
    }
    Some(match (index, taken.item) {
        (Some(0) | None, Some(ItemSelection::First)) => (with_item(output, index), Item::Index(0)),
        (Some(0) | None, Some(ItemSelection::Choose)) => (with_item(output, index), Item::Chosen),
        (None, _) | (Some(0), Some(ItemSelection::All)) => (output, Item::Whole),
        (Some(0), None) => (output, Item::Chosen),
        (Some(index), _) => (output, Item::Index(index)),
    })
}

/// Whether an answer with these fields may have a value at `output`: a field, its container, or a part of a field
/// without documented members. Without documented fields, anything may be there.
pub(super) fn may_have(fields: &[OutputField], output: &str) -> bool {
    if fields.is_empty() {
        return true;
    }
    fields.iter().any(|field| {
        is_within(&field.pointer, output)
            || is_within(output, &field.pointer)
                && !fields.iter().any(|part| part.pointer != field.pointer && is_within(&part.pointer, &field.pointer))
    })
}

/// Whether a pointer is equal to another one or below it.
fn is_within(pointer: &str, container: &str) -> bool {
    pointer.strip_prefix(container).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the pointer of a list item; `index` is set if the pointer already contains one.
fn with_item(output: Pointer, index: Option<usize>) -> Pointer {
    if index.is_some() { output } else { output.item(0) }
}

/// Returns the kind of the referenced value, if known.
pub(super) fn kind_of(fields: &[OutputField], reference: &Reference) -> Option<ValueKind> {
    let field = fields.iter().find(|field| field.pointer == reference.output.as_str())?;
    let is_of_all = reference.item == Item::Whole && reference.output.tokens().iter().any(|token| is_digits(token));
    if is_of_all { Some(ValueKind::Array) } else { field.kind }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_large_schema_is_reduced() {
        let settings = GenerationSettings { schema_bytes: 60, description_chars: 4, ..GenerationSettings::default() };
        let large = json!({"type": "string", "description": "long text", "enum": ["a".repeat(60)]});
        let parameter =
            |schema| prompt_schema(&Value::Null, &Parameter { name: "a", required: true, schema }, &settings);
        assert_eq!(parameter(&large), json!({"type": "string", "description": "long"}));
        assert_eq!(parameter(&json!({"type": "string"})), json!({"type": "string"}));
    }

    #[test]
    fn the_likeliest_outputs_come_first() {
        let field = |pointer: &str| OutputField { pointer: pointer.to_owned(), ..OutputField::default() };
        let settings = GenerationSettings { outputs: 2, ..GenerationSettings::default() };
        let outputs = prompt_outputs(&[field("/a"), field("/b"), field("/c")], &["/c"], &settings).unwrap();
        assert_eq!(outputs.keys().collect::<Vec<_>>(), ["/c", "/a"]);
        assert!(prompt_outputs(&[], &[], &settings).is_none());
    }
}
