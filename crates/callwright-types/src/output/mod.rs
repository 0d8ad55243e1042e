//! Fields of a tool's response: the values that further calls can take from it.

mod walk;

use std::borrow::Cow;
use std::sync::Arc;

use callwright_common::json::Pointer;
use strum::EnumString;
pub use walk::fields_of;

/// One value in the responses of a tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OutputField {
    /// Location in a response: a JSON Pointer (RFC 6901). The first item of an array represents all items:
    /// `/rooms/0/id`.
    pub pointer: String,
    /// Name of the entity that the value belongs to, if the schema provides one: the last segment of its `$ref`, its
    /// `title`, or the member that holds the object or the array. Fields of one entity share it.
    pub owner: Option<Arc<str>>,
    /// Type in the schema; `None` if the schema has none or several.
    pub kind: Option<ValueKind>,
    /// `format` of the schema, in lower case.
    pub format: Option<Arc<str>>,
    /// Permitted values as text; empty if the schema does not restrict them.
    pub values: Arc<[String]>,
    /// Examples of the schema, as text.
    pub examples: Arc<[String]>,
    /// Name of the field's own schema, if that is a `$ref`.
    pub schema: Option<Arc<str>>,
    /// Description in the schema; may be empty.
    pub description: Arc<str>,
}

/// JSON Schema types except `null`, which is never passed to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum ValueKind {
    /// `true` or `false`.
    Boolean,
    /// A whole number.
    Integer,
    Number,
    /// A text.
    String,
    /// A list.
    Array,
    Object,
}

/// A link in a document: a value of one operation's response is a parameter of another one (OpenAPI 3.1, section
/// 4.8.20, Link Object).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputLink {
    /// Name of the tool that takes the value, within its toolset.
    pub tool: String,
    /// Parameter that takes the value.
    pub argument: String,
    /// Location of the value in the response, in the form of [`OutputField::pointer`].
    pub pointer: String,
}

impl OutputField {
    /// Returns the name of the member that holds the value; empty for the response itself. Items have the name of their
    /// array.
    pub fn name(&self) -> Cow<'_, str> {
        let mut tokens = self.pointer.rsplit('/');
        let name = tokens.find(|token| !token.bytes().all(|byte| byte.is_ascii_digit())).unwrap_or_default();
        Pointer::unescaped(name)
    }

    /// Whether the value is inside an array, so that a response may have many of it.
    pub fn is_in_list(&self) -> bool {
        self.pointer.split('/').skip(1).any(|token| token == "0")
    }
}

impl ValueKind {
    /// Whether it is a number, integral or not.
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
