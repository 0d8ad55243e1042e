//! Extraction of output fields from a response schema.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use super::{OutputField, ValueKind};
use callwright_common::json::{Pointer, scalar_text};
use callwright_common::limits::{DESCRIBED_DEPTH, EXAMPLES, LINE_CHARS, WORD_CHARS};
use callwright_common::schema::{SchemaNode, Views};
use callwright_common::text::beginning;

/// Maximum number of fields per response, least deep first. The most relevant fields are near the top.
const MAX_FIELDS: usize = 128;

/// Maximum numbers of values and of examples of a field.
const MAX_VALUES: usize = 32;

/// Returns the fields of responses that match a schema, in order of depth. Recursive schemas end at a fixed depth.
/// Invalid schemas yield the fields that can be determined.
pub fn fields_of<'d>(schema: impl SchemaNode<'d>) -> Vec<OutputField> {
    let mut fields = Vec::new();
    let root = SchemaParts::of(schema);
    if !matches!(root.kind(), Some(ValueKind::Object) | None) {
        fields.push(root.field(String::new(), None));
    }
    let mut waiting = VecDeque::from([PendingNode { parts: root, pointer: String::new(), holder: None, depth: 0 }]);
    while let Some(here) = waiting.pop_front() {
        if here.depth >= DESCRIBED_DEPTH {
            continue;
        }
        for inner in here.inner() {
            if fields.len() >= MAX_FIELDS {
                return fields;
            }
            // The array represents its items, except for items that are scalars.
            if !inner.is_item() || inner.parts.properties().next().is_none() && inner.parts.kind().is_some() {
                fields.push(inner.parts.field(inner.pointer.clone(), inner.holder.clone()));
            }
            waiting.push_back(inner.below());
        }
    }
    fields
}

impl OutputField {
    /// Describes a value by its schema, without a location.
    pub fn of_schema<'d>(schema: impl SchemaNode<'d>) -> Self {
        SchemaParts::of(schema).field(String::new(), None)
    }
}

/// All schemas of one value.
struct SchemaParts<'d, N> {
    views: Views<'d, N>,
    /// The last segment of the first `$ref`, or the schema's title.
    name: Option<Arc<str>>,
    referred: bool,
}

struct PendingNode<'d, N> {
    parts: SchemaParts<'d, N>,
    pointer: String,
    /// Name of the entity that the value is a member of.
    holder: Option<Arc<str>>,
    depth: usize,
}

impl<'d, N: SchemaNode<'d>> PendingNode<'d, N> {
    fn inner(&self) -> Vec<Self> {
        let owner = self.parts.name.clone().or_else(|| self.holder.clone());
        let mut inner: Vec<Self> =
            self.parts.properties().map(|(name, node)| self.child(name, node, owner.clone())).collect();
        let items = self.parts.views.items().filter(|items| items.schema().is_object());
        let may_repeat = self.parts.views.iter().nth(1).is_some() || items.is_some();
        if let Some(items) = items {
            inner.push(self.child("0", items, owner));
        }
        // Combined schemas may both define a member; the first definition is used.
        if may_repeat {
            let mut seen = HashSet::new();
            inner.retain(|inner| seen.insert(inner.pointer.clone()));
        }
        inner
    }

    fn child(&self, token: &str, node: N, holder: Option<Arc<str>>) -> Self {
        let pointer = Pointer::from(self.pointer.as_str()).child(token).into();
        Self { parts: SchemaParts::of(node), pointer, holder, depth: self.depth + 1 }
    }

    fn is_item(&self) -> bool {
        self.pointer.ends_with("/0")
    }

    /// Nested values belong to this value, by its name; an item's members belong to the array.
    fn below(mut self) -> Self {
        if !self.is_item() {
            self.holder = self.pointer.rsplit('/').next().map(Arc::from);
        }
        self
    }
}

impl<'d, N: SchemaNode<'d>> SchemaParts<'d, N> {
    fn of(node: N) -> Self {
        let views = Views::new(node);
        let reference = views.values("$ref").filter_map(Value::as_str).next();
        let referred = reference.and_then(|reference| reference.rsplit(['/', '#']).next());
        let referred = referred.filter(|name| !name.is_empty());
        let name = referred.or_else(|| views.text("title")).map(Arc::from);
        Self { referred: referred.is_some(), name, views }
    }

    fn kind(&self) -> Option<ValueKind> {
        let mut kinds: Vec<ValueKind> = Vec::new();
        for (_, keywords) in self.views.iter() {
            match keywords.get("type") {
                Some(Value::String(name)) => kinds.extend(name.parse::<ValueKind>()),
                Some(Value::Array(names)) => {
                    kinds.extend(names.iter().filter_map(|name| name.as_str()?.parse::<ValueKind>().ok()));
                }
                _ if keywords.get("properties").is_some_and(Value::is_object) => kinds.push(ValueKind::Object),
                _ if keywords.get("items").is_some() => kinds.push(ValueKind::Array),
                _ => {}
            }
        }
        kinds.dedup();
        match kinds.as_slice() {
            [kind] => Some(*kind),
            _ => None,
        }
    }

    /// Returns the properties of a response, without those that are `writeOnly`.
    fn properties(&self) -> impl Iterator<Item = (&'d str, N)> {
        let is_read = |node: &N| node.schema().get("writeOnly").and_then(Value::as_bool) != Some(true);
        self.views.properties().filter(move |(_, node)| is_read(node))
    }

    fn field(&self, pointer: String, holder: Option<Arc<str>>) -> OutputField {
        let text = |keyword: &str| self.views.text(keyword);
        let description = text("description").or_else(|| text("title")).unwrap_or_default();
        OutputField {
            pointer,
            owner: holder,
            kind: self.kind(),
            format: text("format").map(|format| format.to_ascii_lowercase().into()),
            values: self.texts("enum", MAX_VALUES),
            examples: self.examples(),
            schema: self.name.clone().filter(|_| self.referred),
            description: beginning(description.trim(), LINE_CHARS).into(),
        }
    }

    fn texts(&self, keyword: &str, limit: usize) -> Arc<[String]> {
        self.views.items_of(keyword).filter_map(value_text).take(limit).collect()
    }

    fn examples(&self) -> Arc<[String]> {
        let several = self.texts("examples", EXAMPLES);
        if !several.is_empty() {
            return several;
        }
        self.views.values("example").find_map(value_text).into_iter().collect()
    }
}

fn value_text(value: &Value) -> Option<String> {
    scalar_text(value).map(|text| beginning(text.trim(), WORD_CHARS).to_owned())
}

#[cfg(test)]
mod tests {
    use callwright_common::schema::LocalSchema;
    use serde_json::{Map, json};

    use super::*;

    fn pointers(schema: &Value) -> Vec<String> {
        fields_of(LocalSchema::root(schema)).into_iter().map(|field| field.pointer).collect()
    }

    #[test]
    fn answer_values_are_identified_by_their_depth_and_owner() {
        let schema = json!({"type": "object", "properties": {
            "rooms": {"type": "array", "items": {"$ref": "#/$defs/Room"}}, "total": {"type": "integer"}},
            "$defs": {"Room": {"type": "object", "properties": {
                "id": {"type": "string", "format": "UUID", "description": "Its id.", "example": "r1"},
                "secret": {"type": "string", "writeOnly": true},
                "kind": {"type": ["string", "null"], "enum": ["small", "large"]}}}}});
        let fields = fields_of(LocalSchema::root(&schema));
        let told: Vec<&str> = fields.iter().map(|field| field.pointer.as_str()).collect();
        assert_eq!(told, ["/rooms", "/total", "/rooms/0/id", "/rooms/0/kind"]);
        let id = &fields[2];
        assert_eq!(
            (id.owner.as_deref(), id.kind, id.format.as_deref()),
            (Some("Room"), Some(ValueKind::String), Some("uuid"))
        );
        assert_eq!((id.description.as_ref(), id.examples.as_ref()), ("Its id.", ["r1".to_owned()].as_slice()));
        assert_eq!(
            (fields[3].kind, fields[3].values.as_ref()),
            (Some(ValueKind::String), ["small".to_owned(), "large".to_owned()].as_slice())
        );
    }

    #[test]
    fn an_answer_that_is_no_object_is_a_value_itself() {
        assert_eq!(pointers(&json!({"type": "string"})), [""]);
        assert_eq!(pointers(&json!({"type": "array", "items": {"type": "string"}})), ["", "/0"]);
        assert_eq!(pointers(&json!({"type": "array", "items": {"properties": {"id": {}}}})), ["", "/0/id"]);
    }

    #[test]
    fn several_schemas_that_hold_together_are_one() {
        let schema = json!({"allOf": [{"$ref": "#/$defs/Base"}, {"properties": {"b": {"type": "integer"}}}],
            "$defs": {"Base": {"type": "object", "properties": {"a": {"type": "string"}}}}});
        assert_eq!(pointers(&schema), ["/a", "/b"]);
    }

    #[test]
    fn a_field_behind_many_alternatives_is_found() {
        let branches: Vec<Value> = (0..100).map(|at| json!({"properties": {format!("p{at}"): {}}})).collect();
        assert_eq!(pointers(&json!({ "oneOf": branches })).len(), 100);
    }

    #[test]
    fn broken_and_endless_schemas_give_what_can_be_understood() {
        for schema in [json!(null), json!(true), json!([1]), json!({"properties": [1]}), json!({"$ref": "#/nowhere"})] {
            assert!(pointers(&schema).is_empty(), "{schema}");
        }
        assert_eq!(pointers(&json!({"properties": {"a": 1, "b": {"type": 7}}})), ["/a", "/b"]);
        let endless = json!({"$ref": "#", "properties": {"next": {"$ref": "#"}, "id": {}}});
        let found = pointers(&endless);
        assert!(found.len() <= MAX_FIELDS && found.contains(&"/next/next/id".to_owned()));
        let wide: Map<String, Value> = (0..1000).map(|at| (format!("f{at}"), json!({}))).collect();
        assert_eq!(pointers(&json!({"properties": wide})).len(), MAX_FIELDS);
    }
}
