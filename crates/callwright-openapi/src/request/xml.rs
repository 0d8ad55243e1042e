//! Describes the XML serialisation of a schema's values (OpenAPI 3.0.4, XML Object), as data.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde_json::Value;

use crate::LocatedValue;
use callwright_common::schema::Views;

/// Maximum number of schemas of one body whose XML Objects are read. Values of other schemas keep their JSON names.
const MAX_NODES: usize = 1_000;

/// Default name of the root element.
const ROOT: &str = "root";

/// Elements and attributes of an XML body, as a graph, because a schema may be recursive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct XmlShape {
    /// Name of the root element.
    pub root: String,
    /// Nodes of the graph. The first one is the root element; the others are referenced by index.
    pub nodes: Vec<XmlNode>,
}

/// XML representation of one schema's values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct XmlNode {
    /// Name of the element or attribute; `None`: the name of the property.
    pub name: Option<String>,
    /// URI of the namespace.
    pub namespace: Option<String>,
    /// Prefix of the namespace.
    pub prefix: Option<String>,
    /// Whether it is an attribute of the parent element.
    pub attribute: bool,
    /// Whether the items of an array are wrapped in an element.
    pub wrapped: bool,
    /// Node indexes of an object's members.
    pub members: BTreeMap<String, usize>,
    /// Node index of members outside `members`.
    pub others: Option<usize>,
    /// Node index of an array's items.
    pub items: Option<usize>,
}

impl XmlShape {
    /// Returns the shape of the values of `schema`. The root element's name is that of the XML Object, otherwise of
    /// the component, otherwise the title.
    pub(crate) fn new(schema: &LocatedValue<'_>) -> Self {
        let mut reader = XmlShapeReader { nodes: Vec::new(), indexes: HashMap::new(), pending: Vec::new() };
        reader.node(schema.clone());
        // A work list instead of recursion, because the nesting of schemas is not limited.
        while let Some((index, schema)) = reader.pending.pop() {
            reader.fill(index, &schema);
        }
        let component = schema.reference().and_then(|reference| reference.rsplit('/').next());
        let named = reader.nodes.first().and_then(|node| node.name.clone());
        let root = named.or_else(|| {
            component.into_iter().chain(schema.text("title")).find(|name| is_name(name)).map(str::to_owned)
        });
        Self { root: root.unwrap_or_else(|| ROOT.to_owned()), nodes: reader.nodes }
    }

    /// Returns the node of the member `name` of `node`.
    pub fn member(&self, node: Option<&XmlNode>, name: &str) -> Option<&XmlNode> {
        let node = node?;
        self.nodes.get(*node.members.get(name).or(node.others.as_ref())?)
    }

    /// Returns the node of the items of `node`.
    pub fn items(&self, node: Option<&XmlNode>) -> Option<&XmlNode> {
        self.nodes.get(node?.items?)
    }
}

/// Whether an element may have this name. Colons are not allowed, because prefixes are separate (Namespaces in XML
/// 1.0, NCName). Non-ASCII letters are classified by Unicode.
pub fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.'))
}

struct XmlShapeReader<'d> {
    nodes: Vec<XmlNode>,
    /// Node indexes by the memory address of the schema, which does not move.
    indexes: HashMap<*const Value, usize>,
    pending: Vec<(usize, LocatedValue<'d>)>,
}

impl<'d> XmlShapeReader<'d> {
    fn node(&mut self, schema: LocatedValue<'d>) -> Option<usize> {
        let schema = schema.follow().ok()?;
        let key = std::ptr::from_ref(schema.value);
        if let Some(index) = self.indexes.get(&key) {
            return Some(*index);
        }
        if self.nodes.len() == MAX_NODES {
            return None;
        }
        let index = self.nodes.len();
        self.nodes.push(XmlNode::default());
        self.indexes.insert(key, index);
        self.pending.push((index, schema));
        Some(index)
    }

    /// Fills the node of `schema`. Values of the schema itself take precedence over those of its parts.
    fn fill(&mut self, index: usize, schema: &LocatedValue<'d>) {
        let mut node = XmlNode::default();
        for branch in branches(schema) {
            if let Some(xml) = branch.member("xml") {
                read_object(&mut node, &xml);
            }
            for (name, property) in branch.members_of("properties") {
                if !node.members.contains_key(name)
                    && let Some(member) = self.node(property)
                {
                    node.members.insert(name.clone(), member);
                }
            }
            if node.items.is_none() {
                node.items = branch.member("items").and_then(|items| self.node(items));
            }
            let others = branch.member("additionalProperties").filter(|more| more.value.is_object());
            if let Some(others) = others.filter(|_| node.others.is_none()) {
                node.others = self.node(others);
            }
        }
        if let Some(slot) = self.nodes.get_mut(index) {
            *slot = node;
        }
    }
}

/// Returns the schema with its parts and alternatives, nearest first, and the targets of their references.
pub(crate) fn branches<'d>(schema: &LocatedValue<'d>) -> Vec<LocatedValue<'d>> {
    Views::new(schema.clone()).iter().map(|(node, _)| node.clone()).collect()
}

fn read_object(node: &mut XmlNode, xml: &LocatedValue<'_>) {
    for (member, key) in [(&mut node.name, "name"), (&mut node.namespace, "namespace"), (&mut node.prefix, "prefix")] {
        *member = member.take().or_else(|| xml.text(key).map(str::to_owned));
    }
    node.attribute |= xml.flag("attribute") == Some(true);
    node.wrapped |= xml.flag("wrapped") == Some(true);
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;
    use crate::ApiDocument;

    fn shape(schema: Value, schemas: Value) -> XmlShape {
        let root = json!({"openapi": "3.0.3", "start": schema, "components": {"schemas": schemas}});
        let document = ApiDocument::new(root, Path::new("api.json")).unwrap();
        XmlShape::new(&document.member("start").unwrap())
    }

    #[test]
    fn a_schema_that_contains_itself_ends() {
        let tree = json!({"type": "object", "properties": {
            "id": {"type": "integer", "xml": {"attribute": true}},
            "children": {"type": "array", "xml": {"wrapped": true}, "items": {"$ref": "#/components/schemas/Tree"}}
        }});
        let shape = shape(json!({"$ref": "#/components/schemas/Tree"}), json!({"Tree": tree}));
        assert_eq!(shape.root, "Tree");
        assert_eq!(shape.nodes.len(), 3);
        let children = shape.member(shape.nodes.first(), "children").unwrap();
        assert!(children.wrapped);
        assert_eq!(children.items, Some(0));
    }

    #[test]
    fn names_come_from_the_xml_object_then_component_then_title() {
        let schemas =
            json!({"Pet": {"title": "A", "xml": {"name": "animal"}}, "a b": {"title": "B"}, "1": {"title": "c d"}});
        for (name, root) in [("Pet", "animal"), ("a b", "root"), ("1", "root")] {
            let schema = json!({"$ref": format!("#/components/schemas/{name}")});
            assert_eq!(shape(schema, schemas.clone()).root, root, "{name}");
        }
        assert_eq!(shape(json!({"title": "Order"}), json!({})).root, "Order");
        assert_eq!(shape(json!({}), json!({})).root, "root");
    }

    #[test]
    fn parts_and_alternatives_add_members_and_the_nearest_name_wins() {
        let schemas = json!({"Base": {"xml": {"name": "base", "namespace": "urn:b"}, "properties": {"id": {"xml": {"name": "far"}}}}});
        let schema = json!({
            "xml": {"name": "near"}, "properties": {"id": {"xml": {"name": "ID"}}},
            "allOf": [{"$ref": "#/components/schemas/Base"}, {"oneOf": [{"properties": {"x": {}}}], "additionalProperties": {"xml": {"name": "other"}}}]
        });
        let shape = shape(schema, schemas);
        let root = shape.nodes.first();
        assert_eq!((shape.root.as_str(), root.unwrap().namespace.as_deref()), ("near", Some("urn:b")));
        assert_eq!(shape.member(root, "id").unwrap().name.as_deref(), Some("ID"));
        assert_eq!(shape.member(root, "x").unwrap().name, None);
        assert_eq!(shape.member(root, "y").unwrap().name.as_deref(), Some("other"));
    }

    #[test]
    fn only_valid_xml_names_are_names() {
        for name in ["a", "_a", "a-b.c_1", "größe", "日本"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "1a", "-a", "a b", "a:b", "a<b", "a\"", "$a", "@a", "a/b"] {
            assert!(!is_name(name), "{name}");
        }
    }
}
