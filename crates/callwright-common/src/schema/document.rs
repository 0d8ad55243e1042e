//! All possible targets of references in one schema document.

use std::collections::HashMap;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

/// Maximum number of embedded resources per document; real documents have a handful.
const MAX_RESOURCES: usize = 64;

/// Keywords that refer to a schema.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// A schema document with its anchors and embedded resources.
///
/// [`super::resolve`] returns the one target of a reference; this type returns all possible targets. Validators of
/// different drafts disagree about base URIs and anchors, and the masking of secrets must be right for each of them.
#[derive(Debug)]
pub struct SchemaDocument<'s> {
    root: &'s Value,
    /// Schemas by `$anchor` and `$dynamicAnchor`.
    anchors: HashMap<&'s str, Vec<&'s Value>>,
    /// Schemas with an `$id`, with that id.
    resources: Vec<(&'s str, &'s Value)>,
}

impl<'s> SchemaDocument<'s> {
    /// Indexes the anchors and resources of a document; `visit` receives every object in it.
    pub fn new(root: &'s Value, mut visit: impl FnMut(&'s Map<String, Value>)) -> Self {
        let mut document = Self { root, anchors: HashMap::new(), resources: Vec::new() };
        let mut waiting = vec![root];
        while let Some(value) = waiting.pop() {
            match value {
                Value::Object(members) => {
                    visit(members);
                    document.note(value, members);
                    waiting.extend(members.values());
                }
                Value::Array(items) => waiting.extend(items),
                _ => {}
            }
        }
        document
    }

    fn note(&mut self, schema: &'s Value, members: &'s Map<String, Value>) {
        for anchor in ["$anchor", "$dynamicAnchor"].into_iter().filter_map(|keyword| members.get(keyword)?.as_str()) {
            self.anchors.entry(anchor).or_default().push(schema);
        }
        for id in ["$id", "id"].into_iter().filter_map(|keyword| members.get(keyword)?.as_str()) {
            // In early drafts, an `id` may be an anchor.
            if let Some((_, anchor)) = id.split_once('#').filter(|(_, anchor)| !anchor.is_empty()) {
                self.anchors.entry(anchor).or_default().push(schema);
            }
            if self.resources.len() < MAX_RESOURCES {
                self.resources.push((id.split('#').next().unwrap_or_default(), schema));
            }
        }
    }

    /// Returns the possible targets of a schema's references.
    pub fn referred(&self, keywords: &Map<String, Value>) -> Vec<&'s Value> {
        let mut found: Vec<&'s Value> = Vec::new();
        for reference in REFERENCES.iter().filter_map(|keyword| keywords.get(*keyword)?.as_str()) {
            self.targets(reference, &mut found);
        }
        found
    }

    fn targets(&self, reference: &str, found: &mut Vec<&'s Value>) {
        let (base, written) = reference.split_once('#').unwrap_or((reference, ""));
        let decoded = percent_decode_str(written).decode_utf8_lossy();
        // Tries both forms, because references in real documents are often not percent-encoded.
        let fragments = [decoded.as_ref(), written];
        let roots = base.is_empty().then_some(self.root).into_iter();
        let resources = self.resources.iter().filter(|(id, _)| {
            // Without a base, every resource is a candidate.
            base.is_empty() || *id == base || last_segment(id) == last_segment(base)
        });
        let resources = resources.map(|(_, schema)| *schema);
        for root in roots.chain(resources) {
            found.extend(fragments.iter().filter_map(|fragment| root.pointer(fragment)));
        }
        for fragment in fragments.iter().filter(|fragment| !fragment.is_empty()) {
            found.extend(self.anchors.get(fragment).into_iter().flatten());
        }
    }
}

fn last_segment(id: &str) -> Option<&str> {
    id.rsplit(['/', ':']).next().filter(|segment| !segment.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pointers_anchors_and_resources_are_found() {
        let root = json!({
            "$id": "https://example.org/root.json",
            "$defs": {
                "a b": {"const": 1}, "c%20d": {"const": 2}, "x": {"$anchor": "here", "const": 3},
                "y": {"$dynamicAnchor": "node", "const": 4},
                "z": {"$id": "item.json", "$defs": {"inner": {"const": 5}}, "const": 6},
                "old": {"id": "#legacy", "const": 7},
            },
        });
        let document = SchemaDocument::new(&root, |_| ());
        for (keywords, constant) in [
            (json!({"$ref": "#/$defs/a%20b"}), 1),
            (json!({"$ref": "#/$defs/c%20d"}), 2),
            (json!({"$ref": "#here"}), 3),
            (json!({"$dynamicRef": "#node"}), 4),
            (json!({"$ref": "item.json#/$defs/inner"}), 5),
            (json!({"$ref": "https://example.org/item.json"}), 6),
            (json!({"$ref": "#/$defs/inner"}), 5),
            (json!({"$ref": "#legacy"}), 7),
        ] {
            let found = document.referred(keywords.as_object().unwrap());
            assert!(found.iter().any(|schema| schema["const"] == constant), "{keywords} {found:?}");
        }
        let root_again = document.referred(json!({"$recursiveRef": "#"}).as_object().unwrap());
        assert!(root_again.iter().any(|schema| std::ptr::eq(*schema, &root)));
        assert!(document.referred(json!({"$ref": "https://elsewhere.org/none.json"}).as_object().unwrap()).is_empty());
    }
}
