//! Names of subschemas (`$anchor`), which references may use instead of a JSON Pointer.

use std::cell::OnceCell;
use std::collections::HashMap;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};
use serde_json::Value;

use callwright_common::json::Pointer;

/// Characters of a pointer that are encoded in a URI fragment (RFC 3986 section 3.5).
pub(super) const FRAGMENT: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'$').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Keywords whose values are no schemas.
const VALUES: [&str; 5] = ["const", "default", "enum", "example", "examples"];

/// Anchors of a schema, collected when the first one is needed.
#[derive(Debug, Default)]
pub(super) struct Anchors<'a> {
    root: Option<&'a Value>,
    /// Locations by name; `None` for a name that several subschemas have.
    found: OnceCell<HashMap<&'a str, Option<Pointer>>>,
}

impl<'a> Anchors<'a> {
    pub(super) fn new(root: &'a Value) -> Self {
        Self { root: Some(root), found: OnceCell::new() }
    }

    /// Returns the JSON Pointer of the only subschema with this name.
    pub(super) fn target(&self, name: &str) -> Option<String> {
        let found = self.found.get_or_init(|| self.root.map(collect).unwrap_or_default());
        found.get(name)?.as_ref().map(|at| at.as_str().to_owned())
    }
}

fn collect(root: &Value) -> HashMap<&str, Option<Pointer>> {
    let mut found: HashMap<&str, Option<Pointer>> = HashMap::new();
    let mut waiting = vec![(root, Pointer::root())];
    while let Some((value, at)) = waiting.pop() {
        match value {
            Value::Object(members) => {
                let own =
                    ["$anchor", "$dynamicAnchor"].into_iter().filter_map(|keyword| members.get(keyword)?.as_str());
                // In early drafts, an id may be an anchor.
                let early =
                    ["$id", "id"].into_iter().filter_map(|keyword| members.get(keyword)?.as_str()?.strip_prefix('#'));
                for name in own.chain(early).filter(|name| !name.is_empty()) {
                    found.entry(name).and_modify(|known| *known = None).or_insert_with(|| Some(at.clone()));
                }
                let inside = members.iter().filter(|(keyword, _)| !VALUES.contains(&keyword.as_str()));
                waiting.extend(inside.map(|(keyword, value)| (value, at.child(keyword))));
            }
            Value::Array(items) => {
                waiting.extend(items.iter().enumerate().map(|(index, item)| (item, at.item(index))));
            }
            _ => {}
        }
    }
    found
}
