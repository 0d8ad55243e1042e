//! Locations inside arguments, named by the schema.

use serde_json::Value;

use super::schema::{expand, property};
use callwright_common::json::Pointer;

/// Name parts for an item of an array, and for a member whose name the schema leaves open.
const ITEM: &str = "[]";
const FREE: &str = "*";

/// Location inside a tool's arguments. Its name contains no word that the caller chose.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ArgumentLocation<'a> {
    /// Names on the path, such as `guests[].name`; empty for the arguments as a whole.
    pub(super) name: String,
    /// Name of the last member on the path that the schema declares.
    pub(super) parameter: Option<&'a str>,
    /// Schemas of the location.
    pub(super) schemas: Vec<&'a Value>,
    /// Whether the schema declares the whole path.
    pub(super) is_known: bool,
}

impl<'a> ArgumentLocation<'a> {
    /// Resolves a pointer as far as the schema declares the path.
    pub(super) fn of(root: &'a Value, pointer: &Pointer) -> Self {
        let mut place = Self { name: String::new(), parameter: None, schemas: expand(root, root), is_known: true };
        for token in pointer.tokens() {
            if !place.step(root, &token) {
                place.is_known = false;
                break;
            }
        }
        place
    }

    /// Descends by one token. Returns whether the schema declares it.
    fn step(&mut self, root: &'a Value, token: &str) -> bool {
        let known = self.schemas.iter().filter_map(|schema| property(schema, token));
        let known: Vec<(&'a str, &'a Value)> = known.collect();
        if let Some((name, _)) = known.first() {
            if !self.name.is_empty() {
                self.name.push('.');
            }
            self.name.push_str(name);
            self.parameter = Some(name);
            self.schemas = known.iter().flat_map(|(_, schema)| expand(root, schema)).collect();
            return true;
        }
        let is_index = token.bytes().all(|byte| byte.is_ascii_digit());
        let (mut below, mark) = match is_index {
            true => ([self.below("items"), self.below("prefixItems")].concat(), ITEM),
            false => (self.below("additionalProperties"), FREE),
        };
        below.retain(|schema| is_index || schema.is_object());
        if below.is_empty() {
            return false;
        }
        self.name.push_str(if mark == FREE && !self.name.is_empty() { ".*" } else { mark });
        let below = below.into_iter().flat_map(|schema| match schema {
            Value::Array(schemas) => schemas.iter().collect(),
            schema => vec![schema],
        });
        self.schemas = below.flat_map(|schema| expand(root, schema)).collect();
        true
    }

    fn below(&self, keyword: &str) -> Vec<&'a Value> {
        self.schemas.iter().filter_map(|schema| schema.get(keyword)).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_place_has_the_schema_s_names_alone() {
        let schema = json!({
            "type": "object",
            "properties": {"guests": {"type": "array", "items": {"$ref": "#/$defs/guest"}},
                "tags": {"type": "object", "additionalProperties": {"type": "string"}}},
            "$defs": {"guest": {"allOf": [{"properties": {"name": {"type": "string"}}}]}},
        });
        let at = |pointer: &str| {
            let place = ArgumentLocation::of(&schema, &pointer.into());
            (place.name, place.parameter.map(str::to_owned), place.is_known)
        };
        let known = |name: &str, parameter: &str| (name.to_owned(), Some(parameter.to_owned()), true);
        assert_eq!(at("/guests/0/name"), known("guests[].name", "name"));
        assert_eq!(at("/tags/secret"), known("tags.*", "tags"));
        assert_eq!(at(""), (String::new(), None, true));
        assert_eq!(at("/guests/0/secret"), ("guests[]".to_owned(), Some("guests".to_owned()), false));
        assert_eq!(at("/secret/0"), (String::new(), None, false));
    }
}
