//! Objects that a request names.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{MAX_DEPTH, OPAQUE, ObjectKind, PREVIOUS_RESPONSE};
use crate::scanner::{Malformed, Scanned, Scanner};

/// Maximum number of different objects that a request may name: its items, mostly.
pub const MAX_REFERENCES: usize = 20_000;

/// Values that name an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReferenceForm {
    /// An id, several ids, or an object with an `id`.
    Any,
    /// Only an object with an `id`: a text is something else.
    Object,
    /// An id that clients also make up; the provider need not have the object.
    Carried,
}

use ReferenceForm::{Any, Carried, Object};

/// Members that name objects, wherever they are in a request.
const REFERENCES: [(&str, ObjectKind, ReferenceForm); 26] = [
    ("approval_request_id", ObjectKind::Item, Carried),
    ("assistant_id", ObjectKind::Assistant, Any),
    ("audio", ObjectKind::Audio, Object),
    ("batch_id", ObjectKind::Batch, Any),
    ("connector_id", ObjectKind::Connector, Any),
    ("container", ObjectKind::Container, Any),
    ("container_id", ObjectKind::Container, Any),
    ("conversation", ObjectKind::Conversation, Any),
    ("conversation_id", ObjectKind::Conversation, Any),
    ("file_id", ObjectKind::File, Any),
    ("file_ids", ObjectKind::File, Any),
    ("input_file_id", ObjectKind::File, Any),
    ("part_ids", ObjectKind::Upload, Any),
    (PREVIOUS_RESPONSE, ObjectKind::Response, Any),
    ("prompt", ObjectKind::Prompt, Object),
    ("prompt_id", ObjectKind::Prompt, Any),
    ("response_id", ObjectKind::Response, Any),
    ("skill_id", ObjectKind::Skill, Any),
    ("thread", ObjectKind::Thread, Any),
    ("thread_id", ObjectKind::Thread, Any),
    ("training_file", ObjectKind::File, Any),
    ("upload_id", ObjectKind::Upload, Any),
    ("validation_file", ObjectKind::File, Any),
    ("vector_store_id", ObjectKind::VectorStore, Any),
    ("vector_store_ids", ObjectKind::VectorStore, Any),
    ("video_id", ObjectKind::Video, Any),
];

/// Lists of items of Responses and conversations.
const ITEMS: [&str; 2] = ["input", "items"];

/// Member with values by names that the client chose.
const VARIABLES: &str = "variables";

/// Members of an item that are no content.
const BARE_MEMBERS: [&str; 3] = ["id", "type", "status"];

/// `type` of skills that the provider made.
const PROVIDERS_SKILL: &str = "anthropic";

/// An object that a request names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectReference {
    /// Id of the object.
    pub id: String,
    /// Kind that the request expects.
    pub kind: ObjectKind,
    /// Member that has the id.
    pub member: &'static str,
    /// Whether the request depends on the object. Otherwise the request has its content, and the id may be of any origin.
    pub is_needed: bool,
}

/// Body whose references cannot be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UncheckedBody {
    /// The body is not JSON.
    #[error("the request body is not valid JSON")]
    Malformed,
    /// The body is nested too deeply.
    #[error("the request body is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// The body names too many objects.
    #[error("the request body names more than {MAX_REFERENCES} stored objects")]
    TooMany,
}

/// Returns the objects that a JSON body names, each once.
///
/// # Errors
/// [`UncheckedBody`].
pub fn object_references(body: &[u8]) -> Result<Vec<ObjectReference>, UncheckedBody> {
    let text = std::str::from_utf8(body).map_err(|_| UncheckedBody::Malformed)?;
    let mut search = Search::default();
    let mut scanner = Scanner::new(text);
    let read = search.value(&mut scanner, 0).and_then(|()| scanner.end());
    match (search.fault, read) {
        (Some(fault), _) => Err(fault),
        (None, Err(Malformed)) => Err(UncheckedBody::Malformed),
        (None, Ok(())) => Ok(search.found.into_values().collect()),
    }
}

/// Returns the reference of a member of a form.
pub(super) fn form_reference(name: &str, value: &str) -> Option<ObjectReference> {
    // Forms write lists as `name[]`.
    let (member, kind, form) = reference(name.trim_end_matches("[]"))?;
    (form == Any).then(|| ObjectReference { id: value.to_owned(), kind, member, is_needed: true })
}

fn reference(name: &str) -> Option<(&'static str, ObjectKind, ReferenceForm)> {
    // Some servers ignore the case of members.
    REFERENCES.into_iter().find(|(member, ..)| member.eq_ignore_ascii_case(name))
}

fn is_one_of(names: &[&str], name: &str) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

#[derive(Default)]
struct Search {
    found: BTreeMap<String, ObjectReference>,
    fault: Option<UncheckedBody>,
}

impl Search {
    fn add(&mut self, id: Cow<'_, str>, kind: ObjectKind, member: &'static str, is_needed: bool) {
        if id.is_empty() {
            return;
        }
        if self.found.len() >= MAX_REFERENCES && !self.found.contains_key(id.as_ref()) {
            self.fault = Some(UncheckedBody::TooMany);
            return;
        }
        let known = self.found.get(id.as_ref());
        if known.is_none_or(|known| is_needed && !known.is_needed) {
            let id = id.into_owned();
            self.found.insert(id.clone(), ObjectReference { id, kind, member, is_needed });
        }
    }

    /// Counts a level of nesting. A fault ends the search.
    fn deeper(&mut self, depth: usize) -> Scanned<usize> {
        if depth >= MAX_DEPTH {
            self.fault = Some(UncheckedBody::TooDeep);
        }
        if self.fault.is_some() { Err(Malformed) } else { Ok(depth + 1) }
    }

    fn value(&mut self, scanner: &mut Scanner<'_>, depth: usize) -> Scanned<()> {
        match scanner.peek() {
            Some(b'{') => {
                let inner = self.deeper(depth)?;
                let (mut skill, mut is_providers) = (None, false);
                scanner.object(|scanner, name| match &*name {
                    "type" => {
                        is_providers |= scanner.string()?.as_deref() == Some(PROVIDERS_SKILL);
                        Ok(())
                    }
                    "skill_id" => {
                        skill = scanner.string()?;
                        Ok(())
                    }
                    name => self.member(scanner, name, inner),
                })?;
                if let Some(id) = skill.filter(|_| !is_providers) {
                    self.add(id, ObjectKind::Skill, "skill_id", true);
                }
                Ok(())
            }
            Some(b'[') => {
                let inner = self.deeper(depth)?;
                scanner.array(|scanner| self.value(scanner, inner)).map(drop)
            }
            _ => scanner.skip(),
        }
    }

    fn member(&mut self, scanner: &mut Scanner<'_>, name: &str, depth: usize) -> Scanned<()> {
        if is_one_of(&OPAQUE, name) {
            return scanner.skip();
        }
        if let Some((member, kind, form)) = reference(name) {
            return self.reference(scanner, depth, (member, kind, form));
        }
        match scanner.peek() {
            Some(b'[') if is_one_of(&ITEMS, name) => {
                let inner = self.deeper(depth)?;
                scanner.array(|scanner| self.item(scanner, inner)).map(drop)
            }
            // The input of a tool, which has the form of its schema. That of a request is at the first level.
            Some(b'{') if name == "input" && depth > 1 => scanner.skip(),
            Some(b'{') if name == VARIABLES => {
                let inner = self.deeper(depth)?;
                scanner.object(|scanner, _| self.value(scanner, inner)).map(drop)
            }
            _ => self.value(scanner, depth),
        }
    }

    fn reference(
        &mut self,
        scanner: &mut Scanner<'_>,
        depth: usize,
        known: (&'static str, ObjectKind, ReferenceForm),
    ) -> Scanned<()> {
        let (member, kind, form) = known;
        match scanner.peek() {
            Some(b'"') => {
                if let Some(id) = scanner.string()?.filter(|_| form != Object) {
                    self.add(id, kind, member, form != Carried);
                }
                Ok(())
            }
            Some(b'[') => {
                let inner = self.deeper(depth)?;
                scanner.array(|scanner| self.reference(scanner, inner, known)).map(drop)
            }
            Some(b'{') => {
                let inner = self.deeper(depth)?;
                let read = scanner.object(|scanner, name| match &*name {
                    "id" => self.reference(scanner, inner, (member, kind, Any)),
                    name => self.member(scanner, name, inner),
                });
                read.map(drop)
            }
            _ => scanner.skip(),
        }
    }

    /// Reads an item of a conversation. One without content is a reference; another may be a copy of a stored item.
    fn item(&mut self, scanner: &mut Scanner<'_>, depth: usize) -> Scanned<()> {
        if scanner.peek() != Some(b'{') {
            return self.value(scanner, depth);
        }
        let inner = self.deeper(depth)?;
        let (mut ids, mut has_content) = (Vec::new(), false);
        scanner.object(|scanner, name| {
            if name.eq_ignore_ascii_case("id") {
                ids.extend(scanner.string()?);
                return Ok(());
            }
            let start = scanner.start_of_value();
            self.member(scanner, &name, inner)?;
            let is_content = !BARE_MEMBERS.contains(&&*name) && !is_empty(scanner.between(start, scanner.position()));
            has_content |= is_content;
            Ok(())
        })?;
        for id in ids {
            self.add(id, ObjectKind::Item, "id", !has_content);
        }
        Ok(())
    }
}

/// Whether a value has no content.
fn is_empty(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_whitespace() || matches!(byte, b'[' | b']' | b'{' | b'}' | b'"'))
        || value == "null"
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn ids(body: &Value) -> Vec<String> {
        let references = object_references(body.to_string().as_bytes()).unwrap();
        let text = |reference: ObjectReference| {
            let mark = if reference.is_needed { "" } else { "?" };
            format!("{}{mark}", reference.id)
        };
        references.into_iter().map(text).collect()
    }

    #[test]
    fn every_place_of_an_id_is_found() {
        for body in [
            json!({"previous_response_id": "x"}),
            json!({"Previous_Response_ID": "x"}),
            json!({"conversation": "x"}),
            json!({"conversation": {"id": "x"}}),
            json!({"input": [{"type": "item_reference", "id": "x"}]}),
            json!({"input": [{"id": "x"}]}),
            json!({"input": [{"type": "image_generation_call", "id": "x", "status": "completed", "result": null}]}),
            json!({"input": [{"type": "reasoning", "id": "x", "summary": []}]}),
            json!({"items": [{"type": "item_reference", "id": "x"}]}),
            json!({"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "x"}]}]}),
            json!({"input": [{"type": "function_call_output", "output": [{"type": "input_image", "file_id": "x"}]}]}),
            json!({"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "x"}}]}]}),
            json!({"messages": [{"role": "user", "content": [{"type": "document", "source": {"type": "file", "file_id": "x"}}]}]}),
            json!({"messages": [{"role": "user", "content": [{"type": "tool_result", "content": [{"source": {"file_id": "x"}}]}]}]}),
            json!({"messages": [{"role": "user", "content": [{"type": "container_upload", "file_id": "x"}]}]}),
            json!({"messages": [{"role": "assistant", "audio": {"id": "x"}}]}),
            json!({"tools": [{"type": "file_search", "vector_store_ids": ["x"]}]}),
            json!({"tools": [{"type": "code_interpreter", "container": "x"}]}),
            json!({"tools": [{"type": "code_interpreter", "container": {"type": "auto", "file_ids": ["x"]}}]}),
            json!({"tools": [{"type": "mcp", "connector_id": "x"}]}),
            json!({"tools": [{"type": "shell", "environment": {"type": "container_reference", "container_id": "x"}}]}),
            json!({"tool_resources": {"file_search": {"vector_store_ids": ["x"]}}}),
            json!({"container": "x"}),
            json!({"container": {"id": "x", "skills": [{"type": "anthropic", "skill_id": "pptx"}]}}),
            json!({"container": {"skills": [{"skill_id": "x", "type": "custom"}]}}),
            json!({"thread": {"type": "continue", "id": "x"}}),
            json!({"thread": "x"}),
            json!({"prompt": {"id": "x", "variables": {"file_id": "a", "b": "c"}}}),
            json!({"prompt": {"variables": {"a": {"type": "input_file", "file_id": "x"}}}}),
            json!({"input_file_id": "x", "metadata": {"file_id": "a"}}),
            json!({"requests": [{"params": {"container": "x"}}]}),
        ] {
            assert_eq!(ids(&body), ["x"], "{body}");
        }
    }

    #[test]
    fn names_that_the_client_or_a_tool_chose_are_no_references() {
        for body in [
            json!({"metadata": {"file_id": "x", "conversation": "y"}}),
            json!({"tools": [{"type": "function", "parameters": {"properties": {"file_id": {"default": "x"}}}}]}),
            json!({"tools": [{"name": "f", "input_schema": {"thread": "x"}}]}),
            json!({"messages": [{"content": [{"type": "tool_use", "input": {"file_id": "x", "container": "y"}}]}]}),
            json!({"input": [{"type": "function_call", "call_id": "c", "arguments": "{\"file_id\":\"x\"}"}]}),
            json!({"text": {"format": {"type": "json_schema", "schema": {"file_id": "x"}}}}),
            json!({"prompt": "draw a cat", "audio": {"voice": "alloy"}, "file_id": null, "conversation": ""}),
            json!({"container": {"type": "auto"}, "thread": {"type": "create"}}),
            json!({"input": ["a", "b"], "items": {"id": "x"}}),
        ] {
            assert_eq!(ids(&body), Vec::<String>::new(), "{body}");
        }
    }

    #[test]
    fn an_item_with_content_may_have_any_id() {
        let body = json!({"input": [
            {"type": "message", "id": "a", "role": "assistant", "content": "hi"},
            {"type": "reasoning", "id": "b", "summary": [], "encrypted_content": "..."},
            {"type": "mcp_approval_response", "approval_request_id": "c", "approve": true},
            {"type": "item_reference", "id": "d"},
        ]});
        assert_eq!(ids(&body), ["a?", "b?", "c?", "d"]);
    }

    #[test]
    fn of_members_of_one_name_each_counts() {
        let body = r#"{"previous_response_id":"a","previous_response_id":"b","conv\u0065rsation":"c",
            "input":[{"id":"d","type":"item_reference","id":"e"}]}"#;
        let references = object_references(body.as_bytes()).unwrap();
        assert_eq!(references.iter().map(|reference| &*reference.id).collect::<Vec<_>>(), ["a", "b", "c", "d", "e"]);
    }

    #[test]
    fn what_cannot_be_searched_is_refused() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert_eq!(object_references(deep.as_bytes()), Err(UncheckedBody::TooDeep));
        assert_eq!(object_references(format!("{{\"metadata\":{deep}}}").as_bytes()), Ok(Vec::new()));
        for body in [&b"{"[..], b"file_id=x", b"\xff\xfe{\0}\0", b""] {
            assert_eq!(object_references(body), Err(UncheckedBody::Malformed));
        }
        let many: Vec<String> = (0..=MAX_REFERENCES).map(|number| number.to_string()).collect();
        let body = json!({"file_ids": many}).to_string();
        assert_eq!(object_references(body.as_bytes()), Err(UncheckedBody::TooMany));
    }
}
