//! Requests of chat completions.

use std::collections::BTreeMap;
use std::sync::Arc;

use memchr::memmem::Finder;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::fields::{Additions, RequestFields, check_arrays};
use crate::content::{noted_content, text_block, text_of};
use crate::fields::ObjectFields;
use crate::message_calls::FunctionCall;
use crate::parts::{ConversationForm, Rejoined, RequestForm};
use crate::scanner::{Scanned, Scanner};
use crate::tools::{WrittenToolFields, read_tool};
use crate::words::{CallWords, Word};
use crate::{AssistantMessage, KeptPart, MessageView, RequestError, ToolChoice};
use callwright_common::json::{RawObject, raw};
use callwright_types::{Call, Tool};

/// Member with the conversation.
const MESSAGES: &str = "messages";

/// Requests of this protocol.
#[derive(Debug)]
pub(crate) struct ChatRequest;

impl RequestForm for ChatRequest {
    fn check(&self, fields: &RequestFields) -> Result<(), RequestError> {
        check_arrays(fields, &[MESSAGES, "tools", "functions"])
    }

    fn max_answer_tokens(&self, fields: &RequestFields) -> Option<u64> {
        fields.get_as("max_completion_tokens").or_else(|| fields.get_as("max_tokens"))
    }

    fn requires_json(&self, fields: &RequestFields) -> bool {
        let format = fields.get("response_format").and_then(ObjectFields::parse);
        let kind = format.as_ref().and_then(|format| format.string("type"));
        matches!(kind.as_deref(), Some("json_object" | "json_schema"))
    }

    fn tool_choice(&self, fields: &RequestFields) -> ToolChoice {
        let key = if fields.is_legacy() { "function_call" } else { "tool_choice" };
        fields.get(key).map(ToolChoice::read).unwrap_or_default()
    }

    /// `Auto`, which is the default, removes the member; so does a choice that the legacy form cannot express.
    fn new_tool_choice(&self, fields: &RequestFields, choice: &ToolChoice) -> (&'static str, Option<Box<RawValue>>) {
        match fields.is_legacy() {
            true => ("function_call", choice.to_legacy_value().as_ref().map(raw::<Value>)),
            false => ("tool_choice", choice.to_value().as_ref().map(raw::<Value>)),
        }
    }

    fn read_tools(&self, element: &RawValue) -> Vec<Tool> {
        read_tool(element).into_iter().collect()
    }

    fn write_tool(&self, tool: WrittenToolFields<'_>, legacy: bool) -> Box<RawValue> {
        tool.in_chat(legacy)
    }

    fn push_assistant(&self, added: &mut Additions, message: &AssistantMessage) {
        if !message.calls().is_empty() {
            added.legacy_calls = message.is_legacy();
        }
        added.messages.extend(message.chat_element().map(Arc::from));
    }

    fn push_result(&self, added: &mut Additions, call: &Call, content: &str, _is_error: bool) {
        added.messages.push(match added.legacy_calls {
            true => raw(&json!({"role": "function", "name": call.name, "content": content})).into(),
            false => raw(&json!({"role": "tool", "tool_call_id": call.id, "content": content})).into(),
        });
    }

    fn push_user(&self, added: &mut Additions, text: &str) {
        added.messages.push(raw(&json!({"role": "user", "content": text})).into());
    }
}

impl ConversationForm for ChatRequest {
    fn conversation_key(&self) -> &'static str {
        MESSAGES
    }

    fn views<'a>(&self, fields: &'a RequestFields, added: &'a [Arc<RawValue>]) -> Vec<MessageView<'a>> {
        let mut views = scan_views(fields.get(MESSAGES).unwrap_or("[]")).unwrap_or_default();
        views.extend(added.iter().filter_map(|message| scan_view(&mut Scanner::new(message.get())).ok()?));
        views
    }

    fn with_notes(&self, fields: &RequestFields, notes: &BTreeMap<usize, String>) -> Box<RawValue> {
        let mut messages: Vec<Box<RawValue>> = fields.get_as(MESSAGES).unwrap_or_default();
        let counted = messages.iter_mut().filter(|message| ObjectFields::parse(message.get()).is_some());
        for (place, message) in counted.enumerate() {
            if let Some(with_note) = notes.get(&place).and_then(|note| with_note(message, note)) {
                *message = with_note;
            }
        }
        raw(&messages)
    }

    fn rejoined(&self, fields: &RequestFields, parts: &BTreeMap<usize, KeptPart>, lost: &str) -> Rejoined {
        let mut messages = Vec::new();
        // Views have the position of their message among the objects.
        let (mut positions, mut next) = (Vec::new(), 0);
        for message in fields.get_as::<Vec<&RawValue>>(MESSAGES).unwrap_or_default() {
            if ObjectFields::parse(message.get()).is_none() {
                messages.push(message.to_owned());
                continue;
            }
            let before = messages.len();
            let part = parts.get(&positions.len());
            match part {
                Some(part) => part.put_back(message, lost, &mut messages),
                None => messages.push(message.to_owned()),
            }
            positions.push(part.is_none().then_some(next));
            next += messages.len() - before;
        }
        Rejoined { conversation: raw(&messages), positions }
    }

    fn call_words(&self) -> CallWords {
        static FUNCTION_CALL: Word = Word::new(|| Finder::new("\"function_call\""));
        CallWords { of_tools: Some("\"tool_calls\""), other: Some(&FUNCTION_CALL) }
    }
}

fn with_note(message: &RawValue, note: &str) -> Option<Box<RawValue>> {
    let mut fields = RawObject::parse(message.get()).ok()?;
    let content = match fields.get("content").filter(|content| content.get() != "null") {
        Some(content) => noted_content(content, note, text_block(note))?,
        None => raw(note),
    };
    fields.set("content", content);
    Some(fields.to_raw())
}

/// Reads the array of messages in one pass.
fn scan_views(messages: &str) -> Scanned<Vec<MessageView<'_>>> {
    let mut views = Vec::new();
    Scanner::new(messages).array(|scanner| {
        views.extend(scan_view(scanner)?);
        Ok(())
    })?;
    Ok(views)
}

fn scan_view<'a>(scanner: &mut Scanner<'a>) -> Scanned<Option<MessageView<'a>>> {
    let (mut role, mut text, mut tool_call_id, mut name) = (None, None, None, None);
    let (mut calls, mut legacy_call) = (Vec::new(), None);
    let is_object = scanner.object(|scanner, key| {
        match key.as_ref() {
            "role" => role = scanner.string()?,
            "content" if scanner.peek() == Some(b'"') => text = scanner.string()?,
            "content" => {
                let content: Option<&RawValue> = serde_json::from_str(scanner.value()?).ok();
                text = content.and_then(|content| text_of(content, "\n"));
            }
            "tool_calls" => calls = scan_calls(scanner)?,
            "function_call" => legacy_call = FunctionCall::scan(scanner)?.map(|call| call.in_request(String::new())),
            "tool_call_id" => tool_call_id = scanner.string()?,
            "name" => name = scanner.string()?,
            _ => scanner.skip()?,
        }
        Ok(())
    })?;
    calls.extend(legacy_call);
    let role = role.unwrap_or_default();
    Ok(is_object.then_some(MessageView { role, text, calls: calls.into(), tool_call_id, name }))
}

fn scan_calls(scanner: &mut Scanner<'_>) -> Scanned<Vec<Call>> {
    let mut calls = Vec::new();
    scanner.array(|scanner| {
        let (mut id, mut function, mut custom) = (None, None, None);
        let is_object = scanner.object(|scanner, key| {
            match key.as_ref() {
                "id" => id = scanner.string()?,
                "function" => function = FunctionCall::scan(scanner)?,
                "custom" => custom = FunctionCall::scan(scanner)?,
                _ => scanner.skip()?,
            }
            Ok(())
        })?;
        if is_object {
            let function = function.or(custom).unwrap_or_default();
            calls.push(function.in_request(id.unwrap_or_default().into_owned()));
        }
        Ok(())
    })?;
    Ok(calls)
}
