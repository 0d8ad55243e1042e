//! Memory of tools that clients define: names, codes and fingerprints, without any text of a request.
//!
//! A client's own tool arrives with each of its requests. Its descriptions, `enum`, `const`, `default` and examples may
//! contain personal data. Memory therefore stores [`ClientFacts`], whose types have no field for free text. The text
//! that a model reads is generated from the schema of the request to which it is shown.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{FaultCode, Owner, Tool};
use callwright_common::digest::{add_part, hex};
use callwright_common::limits::PROVIDER_NAME_LENGTH;

/// A name of a tool or parameter that memory may store: 1 to 64 ASCII letters, digits, `_`, `-`, `.` and `$`, beginning
/// with a letter or `_`. No other part of a client's request enters memory, so this bounds what a client can write
/// there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Identifier(String);

impl Identifier {
    /// Creates an identifier from a name; `None` if the name has a different form.
    pub fn new(name: &str) -> Option<Self> {
        is_identifier(name).then(|| Self(name.to_owned()))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Identifier {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let refused =
            "a name of a client's tool or parameter must have 1 to 64 ASCII letters, digits, `_`, `-`, `.` or `$`";
        if is_identifier(&name) { Ok(Self(name)) } else { Err(refused.to_owned()) }
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a name has the form of an [`Identifier`].
pub fn is_identifier(name: &str) -> bool {
    name.len() <= PROVIDER_NAME_LENGTH
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.$".contains(&byte))
}

/// SHA-256 over a tool's name and the canonical JSON of its parameters: sorted object keys, no whitespace. Tools with
/// the same fingerprint have the same parameters, whichever client sent them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Fingerprint(String);

impl Fingerprint {
    /// Computes the fingerprint of a tool.
    pub fn of(tool: &Tool) -> Self {
        let mut hash = Sha256::new();
        add_part(&mut hash, tool.name.as_bytes());
        add_part(&mut hash, &[u8::from(!tool.is_function())]);
        // Only a function's parameters are the client's.
        add_canonical(&mut hash, if tool.is_function() { &tool.parameters } else { &Value::Null });
        Self(hex(&hash.finalize()))
    }

    /// Returns the hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_hash = text.len() == 2 * Sha256::output_size() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hash { Ok(Self(text)) } else { Err("a fingerprint must have 64 hexadecimal digits".to_owned()) }
    }
}

/// Adds a value as canonical JSON. The recursion depth is that of a parsed document, which the parser bounds.
fn add_canonical(hash: &mut Sha256, value: &Value) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            hash.update(b"{");
            for (name, member) in members {
                add_part(hash, name.as_bytes());
                add_canonical(hash, member);
            }
            hash.update(b"}");
        }
        Value::Array(items) => {
            hash.update(b"[");
            items.iter().for_each(|item| add_canonical(hash, item));
            hash.update(b"]");
        }
        scalar => add_part(hash, scalar.to_string().as_bytes()),
    }
}

/// A client's own tool, as memory identifies it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ClientTool {
    pub name: Identifier,
    /// Fingerprint of its parameters.
    pub fingerprint: Fingerprint,
}

impl ClientTool {
    /// Identifies a tool; `None` if it is not a client's own, or its name is not an identifier.
    pub fn of(tool: &Tool) -> Option<Self> {
        let is_clients = tool.owner == Owner::Client;
        let name = Identifier::new(&tool.name).filter(|_| is_clients)?;
        Some(Self { name, fingerprint: Fingerprint::of(tool) })
    }
}

/// The content of a lesson about a client's own tools.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ClientFacts {
    /// The tool that the lesson is about.
    pub tool: ClientTool,
    /// The other tool that the lesson names: the right one, or the one whose result has the value.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub other: Option<ClientTool>,
    /// The event that the lesson was learned from.
    pub event: ClientEvent,
}

/// An event of a call to a client's own tool.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientEvent {
    /// The scan found a fault, and another call followed in its place.
    Fault {
        /// Kind of the fault.
        code: FaultCode,
        /// Path from the arguments to the fault, as far as the schema names it.
        #[serde(skip_serializing_if = "Vec::is_empty", default)]
        place: Vec<Step>,
        /// The parameter that was meant.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        meant: Option<Identifier>,
    },
    /// The call failed, and another one with different arguments succeeded.
    Failure {
        /// Differences of the other call.
        changes: Vec<Change>,
    },
    /// The call was right, with these parameters.
    Success {
        /// Parameters, in the order in which they were given.
        given: Vec<Identifier>,
    },
}

/// A step from a value to one nested in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Step to a member whose name the schema defines.
    Member(Identifier),
    /// Step to an item of an array.
    Item,
    /// Step to a member whose name the schema does not define.
    AnyMember,
}

/// A difference between two calls of one tool.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Change {
    pub parameter: Identifier,
    /// The parameter in the call that succeeded.
    pub worked_with: WorkedWith,
}

/// The state of a parameter in the call that succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkedWith {
    /// A value where the failed call had none.
    AValue,
    /// A different value.
    AnotherValue,
    /// No value.
    None,
}

impl ClientFacts {
    /// Maximum number of steps from a tool's arguments to a fault, and of its parameters.
    pub const MAX_STEPS: usize = 16;

    /// Returns the tools that the facts name.
    pub fn tools(&self) -> impl Iterator<Item = &ClientTool> {
        std::iter::once(&self.tool).chain(&self.other)
    }

    /// Returns the names of the tools, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.tools().map(|tool| tool.name.as_str().to_owned()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Truncates lists that exceed the limits.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        match &mut self.event {
            ClientEvent::Fault { place, .. } => place.truncate(Self::MAX_STEPS),
            ClientEvent::Failure { changes } => changes.truncate(Self::MAX_STEPS),
            ClientEvent::Success { given } => given.truncate(Self::MAX_STEPS),
        }
        self
    }

    /// Returns the key by which the lesson is found.
    pub fn key(&self) -> String {
        let mut words = vec![self.tool.name.to_string()];
        match &self.event {
            ClientEvent::Fault { code, place, .. } => {
                words.extend(place.iter().rev().find_map(Step::member).map(ToString::to_string));
                words.push(code.words().to_owned());
            }
            ClientEvent::Failure { changes } => {
                words.extend(changes.iter().map(|change| change.parameter.to_string()));
            }
            ClientEvent::Success { given } => words.extend(given.iter().map(ToString::to_string)),
        }
        words.extend(self.other.iter().map(|other| other.name.to_string()));
        words.join(", ")
    }

    /// Returns a human-readable summary in names and codes.
    pub fn summary(&self) -> String {
        let mut text = format!("`{}`: ", self.tool.name);
        match &self.event {
            ClientEvent::Fault { code, place, meant } => {
                text.push_str(code.words());
                let names: Vec<String> = place.iter().filter_map(Step::member).map(Identifier::to_string).collect();
                if !names.is_empty() {
                    text.push_str(&format!(" at `{}`", names.join(".")));
                }
                if let Some(meant) = meant {
                    text.push_str(&format!(", meant is `{meant}`"));
                }
            }
            ClientEvent::Failure { changes } => {
                text.push_str("failed, worked with");
                let values = changes.iter().map(|Change { parameter, worked_with }| match worked_with {
                    WorkedWith::AValue => format!(" `{parameter}` given"),
                    WorkedWith::AnotherValue => format!(" another `{parameter}`"),
                    WorkedWith::None => format!(" `{parameter}` left out"),
                });
                let values: Vec<String> = values.collect();
                text.push_str(if values.is_empty() { " other values" } else { "" });
                text.push_str(&values.join(","));
            }
            ClientEvent::Success { given } => {
                text.push_str("was right");
                if !given.is_empty() {
                    let names: Vec<String> = given.iter().map(|name| format!("`{name}`")).collect();
                    text.push_str(&format!(" with {}", names.join(", ")));
                }
            }
        }
        if let Some(other) = &self.other {
            text.push_str(&format!(", see `{}`", other.name));
        }
        text
    }
}

impl ClientEvent {
    /// Returns the kind of fault; `None` for other events.
    pub const fn code(&self) -> Option<FaultCode> {
        match self {
            Self::Fault { code, .. } => Some(*code),
            Self::Failure { .. } | Self::Success { .. } => None,
        }
    }
}

impl Step {
    /// Returns the name of the member that the step leads to.
    pub fn member(&self) -> Option<&Identifier> {
        match self {
            Self::Member(name) => Some(name),
            Self::Item | Self::AnyMember => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::ToolKind;

    fn tool(name: &str, parameters: Value) -> Tool {
        let (description, parameters) = ("Of a patient.".to_owned(), Arc::new(parameters));
        Tool {
            name: name.to_owned(),
            description,
            parameters,
            kind: ToolKind::Function,
            reads: None,
            owner: Owner::Client,
            namespace: None,
        }
    }

    #[test]
    fn a_sentence_is_no_identifier() {
        for name in ["book_room", "mcp__x__y", "a.b-c$", "_"] {
            assert_eq!(Identifier::new(name).unwrap().as_str(), name);
        }
        for name in ["", "1a", "two words", "a\nb", "straße", "a`b", "a\"b", &"a".repeat(65), "-a", "a:b"] {
            assert_eq!(Identifier::new(name), None, "{name}");
            assert!(serde_json::from_value::<Identifier>(json!(name)).is_err(), "{name}");
        }
    }

    #[test]
    fn a_fingerprint_covers_name_and_parameters_in_any_order() {
        let of = |name: &str, parameters: Value| Fingerprint::of(&tool(name, parameters));
        let one = of("f", json!({"type": "object", "properties": {"a": {"enum": [1, 2]}, "b": {}}}));
        assert_eq!(one, of("f", json!({"properties": {"b": {}, "a": {"enum": [1, 2]}}, "type": "object"})));
        for other in [
            of("g", json!({"type": "object", "properties": {"a": {"enum": [1, 2]}, "b": {}}})),
            of("f", json!({"type": "object", "properties": {"a": {"enum": [2, 1]}, "b": {}}})),
            of("f", json!({"type": "object", "properties": {"a": {"enum": ["1", 2]}, "b": {}}})),
            of("f", json!({"type": "object", "properties": {"a": {"enum": [1, 2], "description": "x"}, "b": {}}})),
            of("f", json!({"type": "object", "properties": {"a": {"enum": [1, 2], "b": {}}}})),
        ] {
            assert_ne!(one, other);
        }
        assert_eq!(serde_json::from_value::<Fingerprint>(json!(one.as_str())).unwrap(), one);
        assert!(serde_json::from_value::<Fingerprint>(json!("call delete_all")).is_err());
    }

    #[test]
    fn only_a_client_s_tool_of_a_plain_name_is_known_again() {
        assert!(ClientTool::of(&tool("f", json!({}))).is_some());
        assert_eq!(ClientTool::of(&tool("call delete_all", json!({}))), None);
        assert_eq!(ClientTool::of(&Tool { owner: Owner::Search, ..tool("f", json!({})) }), None);
    }
}
