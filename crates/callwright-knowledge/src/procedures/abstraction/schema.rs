//! Reads the schema of a tool's arguments.

use std::collections::VecDeque;

use serde_json::{Map, Value};

use callwright_common::schema::resolve;
use callwright_types::memory::is_identifier;

/// Maximum number of subschemas that are combined (`$ref`, `allOf`, `anyOf`, `oneOf`).
const MAX_PARTS: usize = 32;

/// Maximum depth of the names that are kept of a client's schema.
const MAX_NAMED_DEPTH: usize = 6;

/// Maximum number of names that are kept of a client's schema.
const MAX_NAMES: usize = 512;

/// Reduces a client's own schema to its member names. A procedure stores nothing else of a client's tools, so
/// abstraction gets no more. Parameters whose names are not identifiers are removed.
pub fn names_only(parameters: &Value) -> Value {
    let mut remaining = MAX_NAMES;
    names_of(&ExpandedSchema::new(parameters, parameters), MAX_NAMED_DEPTH, &mut remaining)
}

fn names_of(schema: &ExpandedSchema<'_>, depth: usize, remaining: &mut usize) -> Value {
    let mut named_schema = Map::new();
    if depth == 0 {
        return Value::Object(named_schema);
    }
    let mut members = Map::new();
    let names = schema.parts.iter().filter_map(|part| part.get("properties")?.as_object()).flatten();
    for (name, member) in names.filter(|(name, _)| is_identifier(name)) {
        if *remaining == 0 || members.contains_key(name) {
            continue;
        }
        *remaining -= 1;
        members.insert(name.clone(), names_of(&ExpandedSchema::new(schema.root, member), depth - 1, remaining));
    }
    if !members.is_empty() {
        named_schema.insert("properties".to_owned(), Value::Object(members));
    }
    if let Some(items) = schema.items() {
        named_schema.insert("items".to_owned(), names_of(&items, depth - 1, remaining));
    }
    Value::Object(named_schema)
}

/// Schema with all of its subschemas.
#[derive(Debug, Clone)]
pub(in crate::procedures) struct ExpandedSchema<'s> {
    root: &'s Value,
    parts: Vec<&'s Map<String, Value>>,
}

/// Parameter of a tool.
#[derive(Debug, Clone)]
pub(in crate::procedures) struct SchemaParameter<'s> {
    pub(super) name: &'s str,
    schema: ExpandedSchema<'s>,
}

/// Parameters of a tool.
#[derive(Debug, Clone)]
pub(in crate::procedures) struct Parameters<'s> {
    schema: ExpandedSchema<'s>,
}

impl<'s> Parameters<'s> {
    pub(in crate::procedures) fn new(parameters: &'s Value) -> Self {
        Self { schema: ExpandedSchema::new(parameters, parameters) }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = SchemaParameter<'s>> {
        let members = self.schema.parts.iter().filter_map(|part| part.get("properties")?.as_object());
        let root = self.schema.root;
        members.flatten().map(move |(name, schema)| SchemaParameter { name, schema: ExpandedSchema::new(root, schema) })
    }

    /// Returns the names of required parameters without a default.
    pub(in crate::procedures) fn required_without_default(&self) -> impl Iterator<Item = &'s str> {
        let required = self.schema.parts.iter().filter_map(|part| part.get("required")?.as_array());
        required.flatten().filter_map(Value::as_str).filter(|name| !self.has_default(name))
    }

    fn has_default(&self, name: &str) -> bool {
        self.get(name).is_some_and(|parameter| parameter.schema.parts.iter().any(|part| part.contains_key("default")))
    }

    pub(in crate::procedures) fn get(&self, name: &str) -> Option<SchemaParameter<'s>> {
        self.iter().find(|parameter| parameter.name == name)
    }
}

impl<'s> SchemaParameter<'s> {
    pub(in crate::procedures) fn schema(&self) -> &ExpandedSchema<'s> {
        &self.schema
    }

    /// Returns the description or title in the schema; may be empty.
    pub(super) fn description(&self) -> &'s str {
        self.text("description").or_else(|| self.text("title")).unwrap_or_default()
    }

    fn text(&self, keyword: &str) -> Option<&'s str> {
        let mut texts = self.schema.parts.iter().filter_map(|part| part.get(keyword)?.as_str());
        texts.find(|text| !text.trim().is_empty())
    }
}

impl<'s> ExpandedSchema<'s> {
    fn new(root: &'s Value, schema: &'s Value) -> Self {
        let mut parts: Vec<&Map<String, Value>> = Vec::new();
        let mut pending = VecDeque::from([schema]);
        while let Some(schema) = pending.pop_front() {
            let Some(members) = schema.as_object().filter(|_| parts.len() < MAX_PARTS) else { continue };
            if parts.iter().any(|existing| std::ptr::eq(*existing, members)) {
                continue;
            }
            parts.push(members);
            let target = members.get("$ref").and_then(Value::as_str).and_then(|reference| resolve(root, reference));
            pending.extend(target.map(|(_, target)| target));
            for keyword in ["allOf", "anyOf", "oneOf"] {
                pending.extend(members.get(keyword).and_then(Value::as_array).into_iter().flatten());
            }
        }
        Self { root, parts }
    }

    /// Whether the value is the schema's constant or default.
    pub(in crate::procedures) fn has_fixed_value(&self, value: &Value) -> bool {
        self.parts.iter().any(|part| part.get("const") == Some(value) || part.get("default") == Some(value))
    }

    /// Whether the value is one of the schema's enum values.
    pub(in crate::procedures) fn has_enum_value(&self, value: &Value) -> bool {
        let mut lists = self.parts.iter().filter_map(|part| part.get("enum")?.as_array());
        lists.any(|values| values.contains(value))
    }

    /// Returns the schema of a member.
    pub(super) fn member(&self, name: &str) -> Option<Self> {
        let mut members = self.parts.iter().filter_map(|part| part.get("properties")?.get(name));
        members.next().map(|schema| Self::new(self.root, schema))
    }

    /// Returns the schema of the items.
    pub(super) fn items(&self) -> Option<Self> {
        self.parts.iter().find_map(|part| part.get("items")).map(|schema| Self::new(self.root, schema))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schema_parts_are_resolved_through_references() {
        let schema = json!({"allOf": [{"$ref": "#/$defs/Base"}], "$defs": {"Base": {"properties": {
            "class": {"anyOf": [{"enum": ["economy", "first"]}, {"type": "null"}], "description": "The class."},
            "items": {"items": {"properties": {"unit": {"const": "kg"}}}}, "limit": {"default": 10}}}}});
        let parameters = Parameters::new(&schema);
        let class = parameters.get("class").unwrap();
        assert_eq!(class.description(), "The class.");
        assert!(class.schema().has_enum_value(&json!("first")) && !class.schema().has_enum_value(&json!("second")));
        assert!(parameters.get("limit").unwrap().schema().has_fixed_value(&json!(10)));
        let unit = parameters.get("items").unwrap().schema().items().and_then(|item| item.member("unit"));
        assert!(unit.unwrap().has_fixed_value(&json!("kg")));
    }

    #[test]
    fn client_schemas_are_reduced_to_names() {
        let schema = json!({"type": "object", "title": "zq", "description": "zq", "required": ["zq"], "patternProperties": {"^zq": {}},
            "properties": {"board": {"enum": ["zq"], "const": "zq", "default": "zq", "examples": ["zq"], "title": "zq"},
                "guests": {"items": {"$ref": "#/$defs/zq"}}, "two zq words": {}},
            "$defs": {"zq": {"properties": {"name": {"description": "zq"}}}}});
        let names = names_only(&schema);
        assert_eq!(names, json!({"properties": {"board": {}, "guests": {"items": {"properties": {"name": {}}}}}}));
    }

    #[test]
    fn broken_and_cyclic_schemas_terminate() {
        let endless =
            json!({"$ref": "#", "allOf": [{"$ref": "#"}], "properties": {"a": {"$ref": "#/nowhere"}, "b": 7}});
        assert_eq!(Parameters::new(&endless).iter().count(), 2);
        for broken in [json!(null), json!([1]), json!({"properties": 7}), json!({"properties": [1]})] {
            assert_eq!(Parameters::new(&broken).iter().count(), 0, "{broken}");
        }
    }
}
