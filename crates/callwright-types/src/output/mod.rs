//! What a tool's answer holds, value by value: what further calls can take from it.

mod walk;

use std::borrow::Cow;
use std::sync::Arc;

pub use walk::{SchemaNode, SchemaValue, fields_of};

/// One value inside the answers of a tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OutputField {
    /// Where it stands in an answer: a JSON Pointer (RFC 6901). Of lists the first item stands for every item: `/rooms/0/id`.
    pub pointer: String,
    /// The name of the thing that it belongs to, where the schema says one: the last part of its `$ref`, its `title`, or the member that
    /// holds the object or the list. Fields of one thing share it.
    pub owner: Option<Arc<str>>,
    /// The type that its schema says; `None` where it says none, or several.
    pub kind: Option<ValueKind>,
    /// The `format` of its schema, in lower case.
    pub format: Option<Arc<str>>,
    /// The values that it may have, as text; empty where any may come.
    pub values: Arc<[String]>,
    /// Examples that its schema gives, as text.
    pub examples: Arc<[String]>,
    /// The name of its own schema, where that is a `$ref`.
    pub schema: Option<Arc<str>>,
    /// What the schema says about it; may be empty.
    pub description: Arc<str>,
}

/// The types of JSON Schema, but for `null`, which no call is made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ValueKind {
    /// `true` or `false`.
    Boolean,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// A text.
    String,
    /// A list.
    Array,
    /// An object.
    Object,
}

/// A document's own word that a value of one operation's answer is a parameter of another one (OpenAPI 3.1, section 4.8.20, Link Object).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputLink {
    /// The tool that takes the value, by its name within the toolset.
    pub tool: String,
    /// The argument that takes it.
    pub argument: String,
    /// Where the value stands in the answer, as [`OutputField::pointer`] says it.
    pub pointer: String,
}

impl OutputField {
    /// The name of the member that holds the value; empty for the answer itself. Items of lists have the name of their list.
    pub fn name(&self) -> Cow<'_, str> {
        let is_index = |token: &&str| token.bytes().all(|byte| byte.is_ascii_digit());
        let name = self.pointer.rsplit('/').find(|token| !is_index(token)).unwrap_or_default();
        match name.contains('~') {
            true => name.replace("~1", "/").replace("~0", "~").into(),
            false => name.into(),
        }
    }

    /// Is it one of many in an answer, because a list is on the way to it?
    pub fn is_in_list(&self) -> bool {
        self.pointer.split('/').skip(1).any(|token| token == "0")
    }
}

impl ValueKind {
    /// The kind of a name of JSON Schema.
    pub fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "boolean" => Self::Boolean,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "string" => Self::String,
            "array" => Self::Array,
            "object" => Self::Object,
            _ => return None,
        })
    }

    /// Is it a number, whole or not?
    pub fn is_number(self) -> bool {
        matches!(self, Self::Integer | Self::Number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(pointer: &str) -> OutputField {
        OutputField { pointer: pointer.to_owned(), ..OutputField::default() }
    }

    #[test]
    fn a_field_has_the_name_of_the_member_that_holds_it() {
        assert_eq!(field("/rooms/0/id").name(), "id");
        assert_eq!(field("/rooms/0").name(), "rooms");
        assert_eq!(field("/a~1b~0c").name(), "a/b~c");
        assert_eq!((field("").name().as_ref(), field("/0").name().as_ref()), ("", ""));
    }

    #[test]
    fn what_is_in_a_list_is_one_of_many() {
        assert!(field("/rooms/0/id").is_in_list() && field("/0").is_in_list());
        assert!(!field("/id").is_in_list() && !field("").is_in_list());
    }
}
