//! Locations inside arguments, named by the schema.

use serde_json::Value;

use super::schema::Schemas;
use callwright_common::json::Pointer;
use callwright_common::schema::{Applies, LocalSchema, SchemaNode, Views};

/// Part of a name that represents an item of an array.
const ITEM: &str = "[]";

/// Part of a name that represents a member whose name the schema leaves open.
pub(super) const ANY_MEMBER: &str = "*";

/// Location inside a tool's arguments. Its name contains no word that the caller chose.
#[derive(Debug, Clone)]
pub(super) struct ArgumentLocation<'a> {
    /// Names on the path, such as `guests[].name`; empty for the arguments as a whole.
    pub(super) name: String,
    /// Name of the last member on the path that the schema declares.
    pub(super) parameter: Option<&'a str>,
    pub(super) schemas: Schemas<'a>,
    /// Whether the schema declares the whole path.
    pub(super) is_declared: bool,
}

impl<'a> ArgumentLocation<'a> {
    /// Resolves a pointer as far as the schema declares the path.
    pub(super) fn resolve(root: &'a Value, pointer: &Pointer) -> Self {
        let schemas = Views::new(LocalSchema::root(root));
        let mut location = Self { name: String::new(), parameter: None, schemas, is_declared: true };
        for token in pointer.tokens() {
            if !location.step(&token) {
                location.is_declared = false;
                break;
            }
        }
        location
    }

    /// Descends by one token. Returns whether the schema declares it.
    fn step(&mut self, token: &str) -> bool {
        let declared = self.schemas.properties().find(|(name, _)| *name == token);
        if let Some(((name, _), schemas)) = declared.zip(self.schemas.member(token)) {
            if !self.name.is_empty() {
                self.name.push('.');
            }
            self.name.push_str(name);
            self.parameter = Some(name);
            self.schemas = schemas;
            return true;
        }
        let is_index = token.bytes().all(|byte| byte.is_ascii_digit());
        let inside = self.schemas.inside(|applies| match applies {
            Applies::OtherItems | Applies::Item(_) => is_index,
            Applies::OtherMembers => !is_index,
            _ => false,
        });
        let inside: Vec<_> = inside.filter(|node| is_index || node.schema().is_object()).collect();
        if inside.is_empty() {
            return false;
        }
        let mark = if is_index { ITEM } else { ANY_MEMBER };
        self.name.push_str(if mark == ANY_MEMBER && !self.name.is_empty() { ".*" } else { mark });
        self.schemas = Views::of_all(inside);
        true
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
