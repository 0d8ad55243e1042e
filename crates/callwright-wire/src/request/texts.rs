//! Texts of a request with their authors, in any protocol.
//!
//! Members and blocks of unknown kinds count as texts, in their JSON form, because the model reads them too.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use serde_json::value::RawValue;

use super::ModelRequest;
use crate::content::part_text;
use crate::fields::{ObjectFields, array, string, string_in};
use crate::parts::RequestForm;
use callwright_types::{RequestPart, TextAuthor, ToolKind};

/// Members with the conversation.
const CONVERSATION: [&str; 2] = ["messages", "input"];

/// Members with the definitions of tools.
const DEFINITIONS: [&str; 2] = ["tools", "functions"];

/// Members with instructions.
const INSTRUCTIONS: [&str; 2] = ["system", "instructions"];

/// Members by which the model reads content that the request does not have.
const HIDDEN: [&str; 5] = ["previous_response_id", "conversation", "thread", "prompt", "web_search_options"];

/// Members of a message that are not its content.
const ENVELOPE: [&str; 9] =
    ["type", "role", "id", "name", "status", "tool_call_id", "call_id", "index", "cache_control"];

/// Types of parts and blocks with text of the message's author.
const TEXT_PARTS: [&str; 4] = ["text", "input_text", "output_text", "refusal"];

/// Types of parts and blocks with media.
const MEDIA_PARTS: [&str; 6] = ["image_url", "image", "input_image", "input_audio", "video_url", "audio_url"];

/// Types of blocks with reasoning of the model.
const REASONING_PARTS: [&str; 3] = ["thinking", "redacted_thinking", "reasoning"];

/// Types of the model's calls in Messages.
const CALL_PARTS: [&str; 3] = ["tool_use", "server_tool_use", "mcp_tool_use"];

/// Members of an item or a block with content that only the provider can read.
const REFERENCES: [&str; 3] = ["\"file_id\"", "\"file_url\"", "\"encrypted_content\""];

/// Kinds of sources that only the provider can read.
const REMOTE_SOURCES: [&str; 2] = ["url", "file"];

/// Receives the parts of a request.
type PartVisitor<'v> = dyn FnMut(RequestPart<'_>) + 'v;

impl ModelRequest {
    /// Passes all texts of the request, and its other content, to `visit`.
    pub fn visit_parts(&self, visit: &mut PartVisitor<'_>) {
        visit_members(&self.fields.iter().collect::<Vec<_>>(), self.form, visit);
        for message in &self.additions.messages {
            element(message, visit);
        }
        for note in self.additions.notes.values() {
            visit(RequestPart::Text(TextAuthor::Client, note));
        }
        for tool in &self.additions.tools {
            definition(tool, self.form, visit);
        }
    }
}

/// Passes the texts of the members of a request to `visit`: those of the conversation in its order, then all others.
pub(crate) fn visit_members(members: &[(&str, &str)], form: &dyn RequestForm, visit: &mut PartVisitor<'_>) {
    for (_, value) in members.iter().filter(|(key, _)| INSTRUCTIONS.contains(key)) {
        content(value, TextAuthor::Client, visit);
    }
    for (_, value) in members.iter().filter(|(key, _)| CONVERSATION.contains(key)) {
        if value.starts_with('"') {
            visit(RequestPart::UserMessage);
            content(value, TextAuthor::User, visit);
        }
        for item in items(value) {
            element(item, visit);
        }
    }
    for (key, value) in members.iter().filter(|(key, _)| !CONVERSATION.contains(key) && !INSTRUCTIONS.contains(key)) {
        if *value == "null" {
            continue;
        }
        if HIDDEN.contains(key) {
            visit(RequestPart::Hidden);
        }
        if DEFINITIONS.contains(key) {
            items(value).into_iter().for_each(|tool| definition(tool, form, visit));
        } else if *key == "prompt" {
            visit(RequestPart::Text(TextAuthor::Foreign, value));
        } else if value.starts_with(['"', '{', '[']) && *key != "model" {
            visit(RequestPart::Text(TextAuthor::Client, value));
        }
    }
}

fn items(value: &str) -> Vec<&RawValue> {
    if value.starts_with('[') { serde_json::from_str(value).unwrap_or_default() } else { Vec::new() }
}

/// Visits one element of the conversation.
fn element(element: &RawValue, visit: &mut PartVisitor<'_>) {
    let Some(fields) = ObjectFields::parse(element.get()) else {
        visit(RequestPart::Text(TextAuthor::Foreign, element.get()));
        return;
    };
    let kind = fields.string("type").unwrap_or_default();
    let role = fields.string("role").unwrap_or_default();
    match (kind.as_ref(), role.as_ref()) {
        ("" | "message", "user") => user_message(&fields, visit),
        ("" | "message", "assistant") => of_model(&fields, visit),
        ("" | "message", "tool" | "function") => other_members(&fields, &[], TextAuthor::Foreign, visit),
        ("" | "message", role) if !role.is_empty() => {
            if let Some(text) = fields.get("content") {
                content(text.get(), TextAuthor::Client, visit);
            }
            other_members(&fields, &["content"], TextAuthor::Client, visit);
        }
        ("function_call", _) => separate(&fields, "arguments", visit),
        ("custom_tool_call", _) => separate(&fields, "input", visit),
        ("reasoning", _) => other_members(&fields, &["encrypted_content"], TextAuthor::Model, visit),
        ("item_reference", _) => visit(RequestPart::Hidden),
        _ => foreign(element, visit),
    }
}

fn user_message(fields: &ObjectFields<'_>, visit: &mut PartVisitor<'_>) {
    let Some(value) = fields.get("content") else { return };
    let is_users = array(value).is_none_or(|parts| {
        parts.is_empty() || parts.iter().any(|part| kind_of(part).is_none_or(|kind| kind != "tool_result"))
    });
    if is_users {
        visit(RequestPart::UserMessage);
    }
    content(value.get(), TextAuthor::User, visit);
    other_members(fields, &["content"], TextAuthor::Foreign, visit);
}

fn of_model(fields: &ObjectFields<'_>, visit: &mut PartVisitor<'_>) {
    if let Some(value) = fields.get("content") {
        content(value.get(), TextAuthor::Model, visit);
    }
    for call in fields.items("tool_calls").unwrap_or_default() {
        let call = ObjectFields::parse(call.get());
        for member in ["function", "custom"] {
            if let Some(called) = call.as_ref().and_then(|call| call.object(member)) {
                separate(&called, "arguments", visit);
                separate(&called, "input", visit);
            }
        }
    }
    if let Some(called) = fields.object("function_call") {
        separate(&called, "arguments", visit);
    }
    other_members(fields, &["content", "tool_calls", "function_call"], TextAuthor::Model, visit);
}

/// Visits a content: a string, or a list of parts or blocks.
fn content(value: &str, author: TextAuthor, visit: &mut PartVisitor<'_>) {
    if let Some(text) = string_in(value) {
        visit(RequestPart::Text(author, &text));
    } else if value.starts_with('[') {
        items(value).into_iter().for_each(|part| content_part(part, author, visit));
    } else if value != "null" {
        visit(RequestPart::Text(author, value));
    }
}

fn content_part(part: &RawValue, author: TextAuthor, visit: &mut PartVisitor<'_>) {
    let kind = kind_of(part).unwrap_or_default();
    let is_of = |kinds: &[&str]| kinds.contains(&kind.as_ref());
    if (kind.is_empty() || is_of(&TEXT_PARTS))
        && let Some(text) = part_text(part)
    {
        visit(RequestPart::Text(author, &text));
    } else if is_of(&MEDIA_PARTS) {
        visit(RequestPart::Media);
    } else if author == TextAuthor::Model && is_of(&REASONING_PARTS) {
        visit(RequestPart::Text(TextAuthor::Model, part.get()));
    } else if author == TextAuthor::Model && is_of(&CALL_PARTS) {
        if let Some(fields) = ObjectFields::parse(part.get()) {
            separate(&fields, "input", visit);
        }
    } else {
        foreign(part, visit);
    }
}

fn kind_of(part: &RawValue) -> Option<Cow<'_, str>> {
    ObjectFields::parse(part.get())?.string("type")
}

/// Visits a member with the arguments of a call.
fn separate(fields: &ObjectFields<'_>, key: &str, visit: &mut PartVisitor<'_>) {
    if let Some(value) = fields.get(key) {
        visit(RequestPart::Separate(&string(value).unwrap_or(Cow::Borrowed(value.get()))));
    }
}

/// Visits the other members of an element.
fn other_members(fields: &ObjectFields<'_>, known: &[&str], author: TextAuthor, visit: &mut PartVisitor<'_>) {
    for (_, value) in fields.iter().filter(|(key, _)| !known.contains(key) && !ENVELOPE.contains(key)) {
        if !value.get().starts_with(['"', '{', '[']) {
            continue;
        }
        match author {
            TextAuthor::Foreign => foreign(value, visit),
            author => visit(RequestPart::Text(author, value.get())),
        }
    }
}

/// Visits foreign content in its JSON form; texts in a row have no other content between them.
fn foreign(value: &RawValue, visit: &mut PartVisitor<'_>) {
    if let Some(text) = string(value) {
        visit(RequestPart::Text(TextAuthor::Foreign, &text));
        return;
    }
    let parts = array(value).unwrap_or_default();
    if !parts.is_empty() && parts.iter().all(|part| part_text(part).is_some()) {
        for text in parts.into_iter().filter_map(part_text) {
            visit(RequestPart::Text(TextAuthor::Foreign, &text));
        }
    }
    visit(RequestPart::Text(TextAuthor::Foreign, value.get()));
    if REFERENCES.iter().any(|key| memchr::memmem::find(value.get().as_bytes(), key.as_bytes()).is_some()) {
        visit(RequestPart::Hidden);
    }
    let Some(fields) = ObjectFields::parse(value.get()) else { return };
    if let Some(inner) = ["content", "output"].into_iter().find_map(|key| fields.items(key)) {
        for text in inner.into_iter().filter_map(part_text) {
            visit(RequestPart::Text(TextAuthor::Foreign, &text));
        }
    }
    let source = fields.object("source");
    if let Some(kind) = source.as_ref().and_then(|source| source.string("type"))
        && REMOTE_SOURCES.contains(&kind.as_ref())
    {
        visit(RequestPart::Hidden);
    }
    let source = source.or_else(|| fields.object("file")).unwrap_or(fields);
    for data in ["data", "file_data"].into_iter().filter_map(|key| source.string(key)) {
        file(&data, visit);
    }
}

/// Visits the bytes of a file: its text, if it is one.
fn file(data: &str, visit: &mut PartVisitor<'_>) {
    let bytes = data.rsplit(',').next().unwrap_or_default();
    let is_encoded = bytes.len() < data.len() || !data.contains(char::is_whitespace);
    let text = STANDARD.decode(bytes).ok().map(String::from_utf8);
    match text {
        Some(Ok(text)) => visit(RequestPart::Text(TextAuthor::Foreign, &text)),
        Some(Err(_)) if is_encoded => visit(RequestPart::Hidden),
        _ => {}
    }
}

/// Visits the strings of a tool's definition. A tool of the API reads content that the request does not have.
fn definition(tool: &RawValue, form: &dyn RequestForm, visit: &mut PartVisitor<'_>) {
    if form.read_tools(tool).iter().any(|tool| tool.kind == ToolKind::BuiltIn) {
        visit(RequestPart::Hidden);
    }
    match serde_json::from_str(tool.get()) {
        Ok(value) => strings(&value, visit),
        Err(_) => visit(RequestPart::Separate(tool.get())),
    }
}

fn strings(value: &Value, visit: &mut PartVisitor<'_>) {
    match value {
        Value::String(text) => visit(RequestPart::Separate(text)),
        Value::Array(items) => items.iter().for_each(|item| strings(item, visit)),
        Value::Object(members) => members.values().for_each(|member| strings(member, visit)),
        _ => {}
    }
}
