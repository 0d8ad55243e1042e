//! Reads the schema of a tool's arguments.

use serde_json::{Map, Value};

use callwright_common::limits::DESCRIBED_DEPTH;
use callwright_common::schema::{LocalSchema, Views};
use callwright_types::memory::is_identifier;

/// Maximum number of names that are kept of a client's schema.
const MAX_NAMES: usize = 512;

/// Reduces a client's own schema to its member names. A procedure stores nothing else of a client's tools, so
/// abstraction gets no more. Parameters whose names are not identifiers are removed.
pub fn names_only(parameters: &Value) -> Value {
    let mut remaining = MAX_NAMES;
    names_of(LocalSchema::root(parameters), DESCRIBED_DEPTH, &mut remaining)
}

fn names_of(node: LocalSchema<'_>, depth: usize, remaining: &mut usize) -> Value {
    let mut named_schema = Map::new();
    if depth == 0 {
        return Value::Object(named_schema);
    }
    let schema = Views::new(node);
    let mut members = Map::new();
    for (name, member) in schema.properties().filter(|(name, _)| is_identifier(name)) {
        if *remaining == 0 || members.contains_key(name) {
            continue;
        }
        *remaining -= 1;
        members.insert(name.to_owned(), names_of(member, depth - 1, remaining));
    }
    if !members.is_empty() {
        named_schema.insert("properties".to_owned(), Value::Object(members));
    }
    if let Some(items) = schema.items() {
        named_schema.insert("items".to_owned(), names_of(items, depth - 1, remaining));
    }
    Value::Object(named_schema)
}

/// Schemas of one value in a tool's arguments.
#[derive(Debug, Clone)]
pub(in crate::procedures) struct ValueSchema<'s>(Views<'s, LocalSchema<'s>>);

impl<'s> ValueSchema<'s> {
    /// Returns the schema of a tool's arguments.
    pub(in crate::procedures) fn new(parameters: &'s Value) -> Self {
        Self(Views::new(LocalSchema::root(parameters)))
    }

    /// Returns the members with their names.
    pub(super) fn members(&self) -> impl Iterator<Item = (&'s str, Self)> {
        self.0.properties().map(|(name, node)| (name, Self(Views::new(node))))
    }

    /// Returns the schema of a member.
    pub(in crate::procedures) fn member(&self, name: &str) -> Option<Self> {
        self.0.member(name).map(Self)
    }

    /// Returns the schema of the items.
    pub(super) fn items(&self) -> Option<Self> {
        self.0.items().map(|node| Self(Views::new(node)))
    }

    /// Returns the names of required members without a default.
    pub(in crate::procedures) fn required_without_default(&self) -> impl Iterator<Item = &'s str> {
        self.0
            .required()
            .filter(|name| self.0.member(name).is_none_or(|member| member.values("default").next().is_none()))
    }

    /// Returns the description or title in the schema; may be empty.
    pub(super) fn description(&self) -> &'s str {
        self.0.text("description").or_else(|| self.0.text("title")).unwrap_or_default()
    }

    /// Whether the value is the schema's constant or default.
    pub(in crate::procedures) fn has_fixed_value(&self, value: &Value) -> bool {
        ["const", "default"].into_iter().any(|keyword| self.0.values(keyword).any(|fixed| fixed == value))
    }

    /// Whether the value is one of the schema's enum values.
    pub(in crate::procedures) fn has_enum_value(&self, value: &Value) -> bool {
        self.0.items_of("enum").any(|option| option == value)
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
        let parameters = ValueSchema::new(&schema);
        let class = parameters.member("class").unwrap();
        assert_eq!(class.description(), "The class.");
        assert!(class.has_enum_value(&json!("first")) && !class.has_enum_value(&json!("second")));
        assert!(parameters.member("limit").unwrap().has_fixed_value(&json!(10)));
        let unit = parameters.member("items").unwrap().items().and_then(|item| item.member("unit"));
        assert!(unit.unwrap().has_fixed_value(&json!("kg")));
    }

    #[test]
    fn members_behind_many_alternatives_are_found() {
        let branches: Vec<Value> = (0..100).map(|at| json!({"properties": {format!("p{at}"): {}}})).collect();
        let schema = json!({ "oneOf": branches });
        assert!(ValueSchema::new(&schema).member("p99").is_some());
        assert_eq!(names_only(&schema)["properties"].as_object().unwrap().len(), 100);
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
        assert_eq!(ValueSchema::new(&endless).members().count(), 2);
        for broken in [json!(null), json!([1]), json!({"properties": 7}), json!({"properties": [1]})] {
            assert_eq!(ValueSchema::new(&broken).members().count(), 0, "{broken}");
        }
    }
}
