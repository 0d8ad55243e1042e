//! Member names that a schema allows at each location, and locations that require integers.
//!
//! JSON Schema allows additional members by default, so a validator does not detect a misspelt optional parameter. The
//! shape does: it is a table of the known names at each location, across all branches of the schema.

use std::collections::{HashMap, VecDeque};
use std::sync::OnceLock;

use indexmap::IndexMap;
use serde_json::Value;

use super::value_type::type_names;
use crate::names::{self, NameList};
use callwright_common::json::Pointer;
use callwright_common::limits::VISITED_SCHEMAS;
use callwright_common::schema::{Applies, Source, View, expand, subschemas};

/// Index of a [`ShapeNode`].
pub type NodeId = usize;

/// Locations of a schema at which names or integers matter. The first node is the argument object.
#[derive(Debug)]
pub struct SchemaShape {
    nodes: Vec<ShapeNode>,
}

/// Whether an object may have members that its schema does not name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Openness {
    /// The schema forbids additional members.
    Closed,
    /// The schema names members and has no rule for additional ones.
    Unstated,
    /// The schema allows additional members, or names no members.
    #[default]
    Open,
}

/// Requirements for the values at one location.
#[derive(Debug, Default)]
pub struct ShapeNode {
    /// Members that the schema names, in its order.
    pub members: IndexMap<String, ShapeMember>,
    /// Names of required members.
    pub required: Vec<String>,
    /// Whether additional members are allowed.
    pub openness: Openness,
    /// Node of the items, for an array.
    pub items: Option<NodeId>,
    /// Node of the members that the schema does not name.
    pub others: Option<NodeId>,
    /// Whether a number must be an integer.
    pub whole: bool,
    folded: OnceLock<HashMap<String, Vec<usize>>>,
    names: OnceLock<NameList>,
}

/// A member that the schema names.
#[derive(Debug)]
pub struct ShapeMember {
    /// JSON Pointer of its schema; the first one if several schemas describe it.
    pub schema: Option<String>,
    pub node: Option<NodeId>,
}

impl SchemaShape {
    /// Builds the shape of a normalised schema.
    pub(super) fn read(schema: &Value) -> Self {
        let root = Source { pointer: String::new(), schema };
        let mut builder =
            ShapeBuilder { root: schema, nodes: Vec::new(), known: HashMap::new(), queue: VecDeque::new() };
        let views = expand(schema, &[root]);
        builder.allocate(Vec::new(), views);
        while let Some((id, views)) = builder.queue.pop_front() {
            builder.fill(id, &views);
        }
        Self { nodes: builder.nodes }
    }

    /// Returns the node of the argument object; never `None` for a shape from [`SchemaShape::read`].
    pub fn root(&self) -> Option<&ShapeNode> {
        self.nodes.first()
    }

    /// Returns the node with the given index.
    pub fn node(&self, id: NodeId) -> Option<&ShapeNode> {
        self.nodes.get(id)
    }

    /// Returns the node of the value at `path` in the arguments.
    pub fn at(&self, path: &Pointer) -> Option<&ShapeNode> {
        self.follow(&path.tokens())
    }

    /// Returns the schema member at `path` in the arguments.
    pub fn member(&self, path: &Pointer) -> Option<&ShapeMember> {
        let tokens = path.tokens();
        let (last, parents) = tokens.split_last()?;
        self.follow(parents)?.members.get(last)
    }

    fn follow(&self, tokens: &[String]) -> Option<&ShapeNode> {
        let mut node = self.root()?;
        for token in tokens {
            let next = match node.members.get(token) {
                Some(member) => member.node,
                None if token.parse::<usize>().is_ok() => node.items.or(node.others),
                None => node.others,
            };
            node = self.node(next?)?;
        }
        Some(node)
    }
}

impl ShapeNode {
    /// Returns up to `limit` members with names most similar to `name`, best first. Considers only members for which
    /// `wanted` returns true and similarities of at least `floor`.
    pub fn nearest(&self, name: &str, limit: usize, floor: f64, wanted: impl Fn(&str) -> bool) -> Vec<(&str, f64)> {
        let names = self.names.get_or_init(|| NameList::read(self.members.keys().map(String::as_str)));
        let ranked = names.nearest(name, limit, floor, |index| self.name_at(index).is_some_and(&wanted));
        ranked.into_iter().filter_map(|(index, alike)| Some((self.name_at(index)?, alike))).collect()
    }

    fn name_at(&self, index: usize) -> Option<&str> {
        self.members.get_index(index).map(|(name, _)| name.as_str())
    }

    /// Returns the known members whose names differ only in case, separators and chat-template residue.
    pub fn literal<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        let found = self.same_name(name).or_else(|| self.same_name(names::without_debris(name)?));
        found.into_iter().flatten().filter_map(|index| self.name_at(*index))
    }

    fn same_name(&self, name: &str) -> Option<&Vec<usize>> {
        let folded = self.folded.get_or_init(|| {
            let mut table: HashMap<String, Vec<usize>> = HashMap::new();
            for (index, name) in self.members.keys().enumerate() {
                table.entry(names::fold(name)).or_default().push(index);
            }
            table
        });
        let key = names::fold(name);
        if key.is_empty() { None } else { folded.get(&key) }
    }
}

struct ShapeBuilder<'a> {
    root: &'a Value,
    nodes: Vec<ShapeNode>,
    /// Allocated nodes, keyed by the schemas that describe them.
    known: HashMap<Vec<*const Value>, NodeId>,
    queue: VecDeque<(NodeId, Vec<View<'a>>)>,
}

impl<'a> ShapeBuilder<'a> {
    fn allocate(&mut self, key: Vec<*const Value>, views: Vec<View<'a>>) -> NodeId {
        let id = self.nodes.len();
        self.nodes.push(ShapeNode::default());
        self.known.insert(key, id);
        self.queue.push_back((id, views));
        id
    }

    /// Returns the node that `sources` describe; `None` if neither names nor integers matter there.
    fn place(&mut self, sources: &[Source<'a>]) -> Option<NodeId> {
        let mut key: Vec<_> = sources.iter().map(|source| std::ptr::from_ref(source.schema)).collect();
        key.sort_unstable();
        key.dedup();
        if let Some(id) = self.known.get(&key) {
            return Some(*id);
        }
        let views = expand(self.root, sources);
        let matters = is_whole(&views)
            || views.iter().any(|view| {
                has_any(view, &["properties", "items"])
                    || view.keywords.get("additionalProperties").is_some_and(Value::is_object)
            });
        (matters && self.nodes.len() < VISITED_SCHEMAS).then(|| self.allocate(key, views))
    }

    fn fill(&mut self, id: NodeId, views: &[View<'a>]) {
        let mut sources: IndexMap<&'a str, Vec<Source<'a>>> = IndexMap::new();
        let (mut items, mut others, mut required) = (Vec::new(), Vec::new(), Vec::new());
        for view in views {
            for inside in subschemas(view.keywords) {
                match (inside.applies, inside.keyword) {
                    (Applies::Member(name), _) => sources.entry(name).or_default().push(view.source_of(&inside)),
                    (Applies::OtherItems, "items") if inside.schema.is_object() => items.push(view.source_of(&inside)),
                    (Applies::OtherMembers, "additionalProperties") if inside.schema.is_object() => {
                        others.push(view.source_of(&inside));
                    }
                    _ => {}
                }
            }
            let names = view.keywords.get("required").and_then(Value::as_array);
            for name in names.into_iter().flatten().filter_map(Value::as_str) {
                sources.entry(name).or_default();
                if view.certain && !required.iter().any(|known| known == name) {
                    required.push(name.to_owned());
                }
            }
        }
        // Positional items are described one by one; no schema applies to all of them.
        if views.iter().any(|view| view.keywords.contains_key("prefixItems")) {
            items.clear();
        }
        let mut members = IndexMap::with_capacity(sources.len());
        for (name, sources) in sources {
            let schema = sources.first().map(|source| source.pointer.clone());
            let node = if sources.is_empty() { None } else { self.place(&sources) };
            members.insert(name.to_owned(), ShapeMember { schema, node });
        }
        let items = if items.is_empty() { None } else { self.place(&items) };
        let others = if others.is_empty() { None } else { self.place(&others) };
        let openness = openness(views);
        let whole = is_whole(views);
        if let Some(node) = self.nodes.get_mut(id) {
            *node = ShapeNode { members, required, openness, items, others, whole, ..ShapeNode::default() };
        }
    }
}

fn openness(views: &[View<'_>]) -> Openness {
    if views.iter().any(|view| view.certain && rules_for_others(view).any(|rule| rule == &Value::Bool(false))) {
        Openness::Closed
    } else if views.iter().any(allows_others) || !names_all(views) {
        Openness::Open
    } else {
        Openness::Unstated
    }
}

/// Returns the schemas of the members that are not named.
fn rules_for_others<'a>(view: &View<'a>) -> impl Iterator<Item = &'a Value> {
    let keywords = view.keywords;
    ["additionalProperties", "unevaluatedProperties"].into_iter().filter_map(|keyword| keywords.get(keyword))
}

fn allows_others(view: &View<'_>) -> bool {
    rules_for_others(view).any(|rule| rule != &Value::Bool(false)) || view.keywords.contains_key("patternProperties")
}

fn has_any(view: &View<'_>, keywords: &[&str]) -> bool {
    keywords.iter().any(|keyword| view.keywords.contains_key(*keyword))
}

/// Whether the schemas name the members of an object: either a schema that always applies does, or every branch that
/// accepts objects does.
fn names_all(views: &[View<'_>]) -> bool {
    if views.iter().any(|view| view.certain && has_any(view, &["properties"])) {
        return true;
    }
    let mut branches = views.iter().filter(|view| is_object_branch(view)).peekable();
    branches.peek().is_some() && branches.all(|view| has_any(view, &["properties"]))
}

/// Whether a schema that applies conditionally accepts objects and has no branches itself.
fn is_object_branch(view: &View<'_>) -> bool {
    let accepts_objects = view.keywords.get("type").is_none_or(|types| types == "object");
    !view.certain && accepts_objects && !has_any(view, &["$ref", "allOf", "anyOf", "oneOf"])
}

/// Whether the schemas allow only integers as numbers.
fn is_whole(views: &[View<'_>]) -> bool {
    if views.iter().any(|view| view.certain && types(view).is_some_and(|types| has_only_integers(&types))) {
        return true;
    }
    let branches = views.iter().filter(|view| !view.certain && !has_any(view, &["$ref", "anyOf", "oneOf"]));
    let types: Option<Vec<Vec<&str>>> = branches.map(types).collect();
    types.is_some_and(|types| has_only_integers(&types.concat()))
}

fn types<'a>(view: &View<'a>) -> Option<Vec<&'a str>> {
    view.keywords.get("type").and_then(type_names)
}

fn has_only_integers(types: &[&str]) -> bool {
    types.contains(&"integer") && !types.contains(&"number")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn names(node: &ShapeNode) -> Vec<&str> {
        node.members.keys().map(String::as_str).collect()
    }

    #[test]
    fn names_are_gathered_over_references_and_branches() {
        let shape = SchemaShape::read(&json!({ "allOf": [{ "$ref": "#/$defs/base" }], "required": ["c"],
            "oneOf": [{ "properties": { "a": {} }, "required": ["a"] }, { "properties": { "b": {} } }],
            "$defs": { "base": { "properties": { "id": {} }, "required": ["id"] } } }));
        let root = shape.root().unwrap();
        assert_eq!(names(root), ["c", "id", "a", "b"]);
        assert_eq!(root.required, ["c", "id"], "what only a branch requires is not always required");
        assert_eq!(root.openness, Openness::Unstated);
        assert_eq!(root.members["a"].schema.as_deref(), Some("/oneOf/0/properties/a"));
    }

    #[test]
    fn an_object_is_open_where_its_schema_says_so_or_names_nothing() {
        let openness = |schema: Value| SchemaShape::read(&schema).root().unwrap().openness;
        assert_eq!(openness(json!({})), Openness::Open);
        assert_eq!(openness(json!({ "properties": {} })), Openness::Unstated);
        assert_eq!(openness(json!({ "properties": {}, "additionalProperties": { "type": "string" } })), Openness::Open);
        assert_eq!(openness(json!({ "properties": {}, "patternProperties": { "^x": true } })), Openness::Open);
        assert_eq!(openness(json!({ "properties": {}, "additionalProperties": false })), Openness::Closed);
        assert_eq!(openness(json!({ "anyOf": [{ "properties": { "a": {} } }, { "type": "object" }] })), Openness::Open);
        assert_eq!(
            openness(json!({ "anyOf": [{ "properties": { "a": {} } }, { "type": "null" }] })),
            Openness::Unstated
        );
    }

    #[test]
    fn recursive_schemas_have_a_finite_shape() {
        let shape = SchemaShape::read(&json!({ "properties": { "value": { "type": "integer" },
            "children": { "type": "array", "items": { "$ref": "#" } } } }));
        let deep = shape.at(&Pointer::from("/children/0/children/7")).unwrap();
        assert_eq!(names(deep), ["value", "children"]);
        assert!(shape.at(&Pointer::from("/children/3/value")).unwrap().whole);
        assert!(shape.at(&Pointer::from("/nowhere")).is_none());
    }

    #[test]
    fn a_number_must_be_whole_only_where_nothing_else_is_allowed() {
        let shape = SchemaShape::read(&json!({ "properties": {
            "a": { "type": ["integer", "null"] }, "b": { "anyOf": [{ "type": "integer" }, { "type": "null" }] },
            "c": { "type": ["integer", "number"] }, "d": { "anyOf": [{ "type": "integer" }, {}] },
            "e": { "type": "number" }, "f": { "type": "array", "items": { "type": "integer" } } } }));
        let whole = |path: &str| shape.at(&Pointer::from(path)).is_some_and(|node| node.whole);
        assert!(whole("/a") && whole("/b") && whole("/f/0"));
        assert!(!whole("/c") && !whole("/d") && !whole("/e"));
    }
}
