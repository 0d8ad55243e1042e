//! Locations inside arguments, named by the schema.

use serde_json::Value;

use super::schema::{expand, property};
use callwright_common::json::Pointer;

/// Part of a name that represents an item of an array.
const ITEM: &str = "[]";

/// Part of a name that represents a member whose name the schema leaves open.
pub(super) const ANY_MEMBER: &str = "*";

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
    pub(super) is_declared: bool,
}

impl<'a> ArgumentLocation<'a> {
    /// Resolves a pointer as far as the schema declares the path.
    pub(super) fn resolve(root: &'a Value, pointer: &Pointer) -> Self {
        let mut location =
            Self { name: String::new(), parameter: None, schemas: expand(root, root), is_declared: true };
        for token in pointer.tokens() {
            if !location.step(root, &token) {
                location.is_declared = false;
                break;
            }
        }
        location
    }

    /// Descends by one token. Returns whether the schema declares it.
    fn step(&mut self, root: &'a Value, token: &str) -> bool {
        let declared = self.schemas.iter().filter_map(|schema| property(schema, token));
        let declared: Vec<(&'a str, &'a Value)> = declared.collect();
        if let Some((name, _)) = declared.first() {
            if !self.name.is_empty() {
                self.name.push('.');
            }
            self.name.push_str(name);
            self.parameter = Some(name);
            self.schemas = declared.iter().flat_map(|(_, schema)| expand(root, schema)).collect();
            return true;
        }
        let is_index = token.bytes().all(|byte| byte.is_ascii_digit());
        let (mut subschemas, mark) = match is_index {
            true => ([self.subschemas("items"), self.subschemas("prefixItems")].concat(), ITEM),
            false => (self.subschemas("additionalProperties"), ANY_MEMBER),
        };
        subschemas.retain(|schema| is_index || schema.is_object());
        if subschemas.is_empty() {
            return false;
        }
        self.name.push_str(if mark == ANY_MEMBER && !self.name.is_empty() { ".*" } else { mark });
        let subschemas = subschemas.into_iter().flat_map(|schema| match schema {
            Value::Array(schemas) => schemas.iter().collect(),
            schema => vec![schema],
        });
        self.schemas = subschemas.flat_map(|schema| expand(root, schema)).collect();
        true
    }

    fn subschemas(&self, keyword: &str) -> Vec<&'a Value> {
        self.schemas.iter().filter_map(|schema| schema.get(keyword)).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn location_contains_only_names_of_the_schema() {
        let schema = json!({
            "type": "object",
            "properties": {"guests": {"type": "array", "items": {"$ref": "#/$defs/guest"}},
                "tags": {"type": "object", "additionalProperties": {"type": "string"}}},
            "$defs": {"guest": {"allOf": [{"properties": {"name": {"type": "string"}}}]}},
        });
        let at = |pointer: &str| {
            let location = ArgumentLocation::resolve(&schema, &pointer.into());
            (location.name, location.parameter.map(str::to_owned), location.is_declared)
        };
        let declared = |name: &str, parameter: &str| (name.to_owned(), Some(parameter.to_owned()), true);
        assert_eq!(at("/guests/0/name"), declared("guests[].name", "name"));
        assert_eq!(at("/tags/secret"), declared("tags.*", "tags"));
        assert_eq!(at(""), (String::new(), None, true));
        assert_eq!(at("/guests/0/secret"), ("guests[]".to_owned(), Some("guests".to_owned()), false));
        assert_eq!(at("/secret/0"), (String::new(), None, false));
    }
}
