//! Schemas that apply to the same value.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::subschema::same_value;
use super::{Applies, Subschema, resolve};
use crate::json::Pointer;

/// Maximum number of schemas examined for one value. It bounds the work for schemas that refer to each other in
/// thousands of alternatives; the largest of public documents have some hundreds.
const MAX_VIEWS: usize = 1_024;

/// Number of schemas up to which comparing addresses is faster than hashing them.
const FEW_VIEWS: usize = 8;

/// A schema with the means to follow its references.
pub trait SchemaNode<'a>: Clone {
    fn schema(&self) -> &'a Value;

    /// Returns a direct subschema.
    fn inside(&self, inside: &Subschema<'a>) -> Self;

    /// Returns the target of a `$ref` in this schema; `None` if it has no target.
    fn target(&self, reference: &str) -> Option<Self>;
}

/// A schema whose references stay within one document, as in tool schemas (`#/$defs/Room`).
#[derive(Debug, Clone, Copy)]
pub struct LocalSchema<'a> {
    root: &'a Value,
    schema: &'a Value,
}

impl<'a> LocalSchema<'a> {
    /// Returns the root schema of a document.
    pub fn root(root: &'a Value) -> Self {
        Self { root, schema: root }
    }

    /// Returns a schema of the document `root`.
    pub fn within(root: &'a Value, schema: &'a Value) -> Self {
        Self { root, schema }
    }
}

impl<'a> SchemaNode<'a> for LocalSchema<'a> {
    fn schema(&self) -> &'a Value {
        self.schema
    }

    fn inside(&self, inside: &Subschema<'a>) -> Self {
        Self { root: self.root, schema: inside.schema }
    }

    fn target(&self, reference: &str) -> Option<Self> {
        resolve(self.root, reference).map(|(_, schema)| Self { root: self.root, schema })
    }
}

/// A schema that applies, or may apply, to a value.
#[derive(Debug, Clone)]
struct NodeView<'a, N> {
    node: N,
    keywords: &'a Map<String, Value>,
    certain: bool,
}

/// All schemas that apply or may apply to one value: through `$ref`, `allOf`, `anyOf`, `oneOf`, `then`, `else`,
/// `dependentSchemas` and `dependencies`, each once. The schema itself comes first, then the target of its `$ref`, then
/// its branches in order. Schemas under `not` and `if` are omitted: they state no fact about the value.
#[derive(Debug, Clone)]
pub struct Views<'a, N> {
    views: Vec<NodeView<'a, N>>,
    complete: bool,
}

impl<'a, N: SchemaNode<'a>> Views<'a, N> {
    /// Returns the schemas of the value that `node` describes.
    pub fn new(node: N) -> Self {
        Self::of_all([node])
    }

    /// Returns the schemas of a value that all `nodes` describe.
    pub fn of_all(nodes: impl IntoIterator<Item = N>) -> Self {
        Self::walk(nodes, false)
    }

    fn walk(nodes: impl IntoIterator<Item = N>, with_conditions: bool) -> Self {
        let mut found = Self { views: Vec::new(), complete: true };
        let mut seen = HashSet::new();
        let mut queue: Vec<(N, bool)> = nodes.into_iter().map(|node| (node, true)).collect();
        queue.reverse();
        while let Some((node, certain)) = queue.pop() {
            let Some(keywords) = node.schema().as_object() else { continue };
            if found.views.len() >= MAX_VIEWS {
                found.complete = false;
                break;
            }
            if !found.is_new(keywords, &mut seen) {
                continue;
            }
            let begin = queue.len();
            for inside in same_value(keywords).filter(|inside| with_conditions || inside.keyword != "if") {
                queue.push((node.inside(&inside), certain && inside.applies == Applies::Always));
            }
            queue.get_mut(begin..).into_iter().for_each(<[_]>::reverse);
            if let Some(reference) = keywords.get("$ref").and_then(Value::as_str) {
                match node.target(reference) {
                    Some(target) => queue.push((target, certain)),
                    None => found.complete = false,
                }
            }
            found.views.push(NodeView { node, keywords, certain });
        }
        found
    }

    /// Whether the schema is not among the views yet. Each schema is visited once, which ends cycles.
    fn is_new(&self, keywords: &'a Map<String, Value>, seen: &mut HashSet<*const Map<String, Value>>) -> bool {
        if self.views.len() < FEW_VIEWS {
            return !self.views.iter().any(|view| std::ptr::eq(view.keywords, keywords));
        }
        if seen.is_empty() {
            seen.extend(self.views.iter().map(|view| std::ptr::from_ref(view.keywords)));
        }
        seen.insert(keywords)
    }

    /// Whether every reference has a target and no schema was omitted because of the bound.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Returns only the schemas that apply unconditionally.
    #[must_use]
    pub fn certain(mut self) -> Self {
        self.views.retain(|view| view.certain);
        self
    }

    /// Returns the schemas with their keywords.
    pub fn iter(&self) -> impl Iterator<Item = (&N, &'a Map<String, Value>)> {
        self.views.iter().map(|view| (&view.node, view.keywords))
    }

    /// Returns the values of a keyword.
    pub fn values(&self, keyword: &str) -> impl Iterator<Item = &'a Value> {
        self.views.iter().filter_map(move |view| view.keywords.get(keyword))
    }

    /// Returns the items of all arrays under a keyword.
    pub fn items_of(&self, keyword: &str) -> impl Iterator<Item = &'a Value> {
        self.values(keyword).filter_map(Value::as_array).flatten()
    }

    /// Returns the first text of a keyword that is not blank.
    pub fn text(&self, keyword: &str) -> Option<&'a str> {
        self.values(keyword).filter_map(Value::as_str).find(|text| !text.trim().is_empty())
    }

    /// Returns the names of the permitted types, as far as `type` states them.
    pub fn types(&self) -> impl Iterator<Item = &'a str> {
        let lists =
            self.values("type").map(|types| types.as_array().map_or(std::slice::from_ref(types), Vec::as_slice));
        lists.flatten().filter_map(Value::as_str)
    }

    /// Returns the names of the members that are required in any case.
    pub fn required(&self) -> impl Iterator<Item = &'a str> {
        let certain = self.views.iter().filter(|view| view.certain);
        let lists = certain.filter_map(|view| view.keywords.get("required")?.as_array());
        lists.flatten().filter_map(Value::as_str)
    }

    /// Returns the direct subschemas to which `select` applies.
    pub fn inside(&self, select: impl Fn(Applies<'a>) -> bool) -> impl Iterator<Item = N> {
        self.views.iter().flat_map(move |view| {
            let found = super::subschemas(view.keywords).filter(|inside| select(inside.applies));
            found.map(|inside| view.node.inside(&inside)).collect::<Vec<_>>()
        })
    }

    /// Returns the properties with their names. Several schemas may define the same one.
    pub fn properties(&self) -> impl Iterator<Item = (&'a str, N)> {
        self.views.iter().flat_map(|view| {
            let properties = view.keywords.get("properties").and_then(Value::as_object).into_iter().flatten();
            let properties = properties.map(|(name, schema)| Subschema::new("properties", None, Some(name), schema));
            properties.filter_map(|inside| Some((inside.name?, view.node.inside(&inside))))
        })
    }

    /// Returns the schemas of a property; `None` if no schema defines it.
    pub fn member(&self, name: &str) -> Option<Self> {
        let mut defined = self.properties().filter(|(other, _)| *other == name).map(|(_, node)| node).peekable();
        defined.peek()?;
        Some(Self::of_all(defined))
    }

    /// Returns the first schema that applies to all items.
    pub fn items(&self) -> Option<N> {
        self.inside(|applies| applies == Applies::OtherItems).next()
    }
}

/// A location in the schema document.
#[derive(Debug, Clone)]
pub struct Source<'a> {
    /// JSON Pointer of the schema in the document.
    pub pointer: String,
    /// The schema at that location.
    pub schema: &'a Value,
}

/// A schema that applies, or may apply, to a value, with its location.
#[derive(Debug, Clone)]
pub struct View<'a> {
    /// JSON Pointer of the schema in the document.
    pub pointer: String,
    /// Keywords of the schema.
    pub keywords: &'a Map<String, Value>,
    /// Whether it applies unconditionally. Branches of `anyOf`, `oneOf`, `if` and `dependentSchemas` apply
    /// conditionally.
    pub certain: bool,
}

impl<'a> View<'a> {
    /// Returns a direct subschema of this one.
    pub fn source_of(&self, inside: &Subschema<'a>) -> Source<'a> {
        source_of(&self.pointer, inside)
    }
}

fn source_of<'a>(pointer: &str, inside: &Subschema<'a>) -> Source<'a> {
    let index = inside.index.map(|index| index.to_string());
    let tokens = [Some(inside.keyword), inside.name.or(index.as_deref())];
    let pointer = tokens.into_iter().flatten().fold(Pointer::from(pointer), |pointer, token| pointer.child(token));
    Source { pointer: pointer.into(), schema: inside.schema }
}

/// A [`Source`] in its document.
#[derive(Clone)]
struct SourceNode<'a> {
    root: &'a Value,
    source: Source<'a>,
}

impl<'a> SchemaNode<'a> for SourceNode<'a> {
    fn schema(&self) -> &'a Value {
        self.source.schema
    }

    fn inside(&self, inside: &Subschema<'a>) -> Self {
        Self { root: self.root, source: source_of(&self.source.pointer, inside) }
    }

    fn target(&self, reference: &str) -> Option<Self> {
        let (pointer, schema) = resolve(self.root, reference)?;
        Some(Self { root: self.root, source: Source { pointer, schema } })
    }
}

/// Returns the schemas of [`Views`] for a value that `sources` describe, with their locations and the conditions (`if`).
pub fn expand<'a>(root: &'a Value, sources: &[Source<'a>]) -> Vec<View<'a>> {
    let nodes = sources.iter().map(|source| SourceNode { root, source: source.clone() });
    let views = Views::walk(nodes, true).views.into_iter();
    let views =
        views.map(|NodeView { node, keywords, certain }| View { pointer: node.source.pointer, keywords, certain });
    views.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names(root: &Value) -> Vec<&str> {
        Views::new(LocalSchema::root(root)).properties().map(|(name, _)| name).collect()
    }

    #[test]
    fn properties_behind_references_and_branches_are_found_once() {
        let root = json!({
            "$ref": "#/$defs/a%20b~1c~0d", "properties": {"own": {}},
            "allOf": [{"properties": {"all": {}}}, {"$ref": "#/$defs/a b~1c~0d"}],
            "anyOf": [{"oneOf": [{"properties": {"one": {}}}]}],
            "if": {"properties": {"condition": {}}}, "then": {"properties": {"then": {}}},
            "not": {"properties": {"not": {}}}, "dependentSchemas": {"own": {"properties": {"dependent": {}}}},
            "$defs": {"a b/c~d": {"properties": {"target": {}}, "allOf": [{"$ref": "#"}]}},
        });
        assert_eq!(names(&root), ["own", "target", "all", "one", "then", "dependent"]);
    }

    #[test]
    fn every_branch_of_a_long_list_is_read_up_to_the_bound() {
        let branches = |count: usize| -> Value {
            let branches: Vec<Value> = (0..count).map(|at| json!({"properties": {format!("p{at}"): {}}})).collect();
            json!({ "anyOf": branches })
        };
        let long = branches(700);
        assert_eq!(names(&long).last(), Some(&"p699"));
        assert!(Views::new(LocalSchema::root(&long)).is_complete());
        let endless = branches(2 * MAX_VIEWS);
        assert_eq!(names(&endless).len(), MAX_VIEWS - 1);
        assert!(!Views::new(LocalSchema::root(&endless)).is_complete());
    }

    #[test]
    fn definitions_of_one_property_hold_together() {
        let root = json!({
            "allOf": [
                {"properties": {"id": {"description": " ", "type": "string"}}, "required": ["id"]},
                {"properties": {"id": {"description": "Its id.", "enum": ["a"], "items": [{}]}}},
            ],
            "oneOf": [{"required": ["other"]}],
        });
        let views = Views::new(LocalSchema::root(&root));
        assert_eq!(views.required().collect::<Vec<_>>(), ["id"]);
        let id = views.member("id").unwrap();
        assert_eq!((id.text("description"), id.items_of("enum").count()), (Some("Its id."), 1));
        assert_eq!(id.types().collect::<Vec<_>>(), ["string"]);
        assert!(id.items().is_none() && views.member("other").is_none());
    }

    #[test]
    fn a_reference_without_a_target_is_noticed() {
        let root = json!({"allOf": [{"$ref": "#/$defs/gone"}]});
        assert!(!Views::new(LocalSchema::root(&root)).is_complete());
    }

    #[test]
    fn locations_are_pointers_and_conditions_are_included() {
        let root =
            json!({"dependentSchemas": {"a/b": {"if": {}}}, "allOf": [{"$ref": "#/$defs/x"}], "$defs": {"x": {}}});
        let found = expand(&root, &[Source { pointer: String::new(), schema: &root }]);
        let found: Vec<(&str, bool)> = found.iter().map(|view| (view.pointer.as_str(), view.certain)).collect();
        let expected = [
            ("", true),
            ("/dependentSchemas/a~1b", false),
            ("/dependentSchemas/a~1b/if", false),
            ("/allOf/0", true),
            ("/$defs/x", true),
        ];
        assert_eq!(found, expected);
    }
}
