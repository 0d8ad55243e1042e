//! Messages of a request.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::value::RawValue;

use super::ModelRequest;
use crate::content::text_of;
use crate::message_view::MessageView;
use crate::scanner::{Scanned, Scanner};
use callwright_types::Call;

impl ModelRequest {
    /// Returns the messages, including pushed ones. Elements that are not objects are omitted; the upstream decides
    /// about them.
    pub fn messages(&self) -> Vec<MessageView<'_>> {
        if let Some(form) = self.form.filter(|_| !self.additions.messages.is_empty()) {
            return form.views(self.fields.object(), &self.additions.messages);
        }
        let pushed = self.additions.messages.iter().filter_map(|message| view(message));
        self.client_views().iter().map(MessageView::borrowed).chain(pushed).collect()
    }

    /// Returns the views of the client's messages, which are parsed at the first use.
    fn client_views(&self) -> &[MessageView<'static>] {
        self.viewed.get_or_init(|| match self.form {
            Some(form) => form.views(self.fields.object(), &[]).into_iter().map(MessageView::into_owned).collect(),
            None => scan_views(self.fields.get("messages").unwrap_or("[]")).unwrap_or_default().into(),
        })
    }

    /// Whether a message may contain calls. Searches for the names of their fields only, without parsing the
    /// messages.
    pub fn may_have_calls(&self) -> bool {
        !self.additions.messages.is_empty()
            || match self.form {
                Some(form) => form.may_have_calls(self.conversation_text()),
                None => self.tool_words().calls,
            }
    }

    /// Returns the roles and texts of the client's messages up to and including the first user message. This text
    /// distinguishes conversations.
    pub fn first_messages_text(&self) -> String {
        let mut text = String::new();
        for message in self.client_views() {
            let _ = writeln!(text, "{}: {}", message.role, message.text.as_deref().unwrap_or_default());
            if message.role == "user" {
                break;
            }
        }
        text
    }

    pub(super) fn client_messages(&self) -> Vec<&RawValue> {
        self.fields.get_as("messages").unwrap_or_default()
    }
}

/// Parses a message; `None` if it is not an object.
pub(crate) fn view(message: &RawValue) -> Option<MessageView<'_>> {
    scan_view(&mut Scanner::new(message.get())).ok()?
}

/// Reads the array of messages in one pass.
fn scan_views(messages: &str) -> Scanned<Vec<MessageView<'static>>> {
    let mut views = Vec::new();
    Scanner::new(messages).array(|scanner| {
        views.extend(scan_view(scanner)?.map(MessageView::into_owned));
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
            "function_call" => legacy_call = scan_function(scanner)?.map(|function| function.with_id(String::new())),
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
                "function" => function = scan_function(scanner)?,
                "custom" => custom = scan_function(scanner)?,
                _ => scanner.skip()?,
            }
            Ok(())
        })?;
        if is_object {
            let function = function.or(custom).unwrap_or_default();
            calls.push(function.with_id(id.unwrap_or_default().into_owned()));
        }
        Ok(())
    })?;
    Ok(calls)
}

/// `function` or `custom` of a call, or the legacy `function_call`.
#[derive(Default)]
struct CalledFunction<'a> {
    name: Option<Cow<'a, str>>,
    arguments: Option<Cow<'a, str>>,
    input: Option<Cow<'a, str>>,
}

impl CalledFunction<'_> {
    fn with_id(self, id: String) -> Call {
        let arguments = self.arguments.or(self.input).unwrap_or_default().into_owned();
        Call { id, name: self.name.unwrap_or_default().into_owned(), arguments }
    }
}

/// Reads an object; `None` for another value.
fn scan_function<'a>(scanner: &mut Scanner<'a>) -> Scanned<Option<CalledFunction<'a>>> {
    let mut function = CalledFunction::default();
    let is_object = scanner.object(|scanner, key| {
        match key.as_ref() {
            "name" => function.name = scanner.string()?,
            "arguments" => function.arguments = scanner.string()?,
            "input" => function.input = scanner.string()?,
            _ => scanner.skip()?,
        }
        Ok(())
    })?;
    Ok(is_object.then_some(function))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use callwright_types::Protocol;

    const TEXT: &str = r#"{"messages":[
        {"role":"system","content":"Be brief."},
        {"role":"user","content":[{"type":"text","text":"Where is"},{"type":"image_url"},{"type":"text","text":"Ulm?"}]},
        {"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f"}},{"id":"b"}]},
        {"role":"tool","tool_call_id":"a","content":""},
        7,
        {"role":"user","content":"And Bonn?"}]}"#;

    #[test]
    fn messages_are_viewed_with_their_texts_and_ids() {
        let request = ModelRequest::parse(Protocol::Chat, Bytes::from_static(TEXT.as_bytes())).unwrap();
        let messages = request.messages();
        let roles: Vec<&str> = messages.iter().map(|message| message.role.as_ref()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "tool", "user"]);
        assert_eq!(messages[1].text.as_deref(), Some("Where is\nUlm?"));
        assert_eq!((messages[2].text.as_deref(), messages[2].calls.len()), (None, 2));
        assert_eq!((messages[2].calls[0].name.as_str(), messages[2].calls[1].id.as_str()), ("f", "b"));
        assert_eq!((messages[3].text.as_deref(), messages[3].tool_call_id.as_deref()), (Some(""), Some("a")));
    }

    #[test]
    fn a_request_without_calls_is_told_at_a_glance() {
        assert!(ModelRequest::parse(Protocol::Chat, Bytes::from_static(TEXT.as_bytes())).unwrap().may_have_calls());
        let text = r#"{"messages":[{"role":"user","content":"Hi"}],"tools":[]}"#;
        assert!(!ModelRequest::parse(Protocol::Chat, Bytes::from_static(text.as_bytes())).unwrap().may_have_calls());
    }

    #[test]
    fn a_conversation_is_told_by_its_messages_up_to_the_first_user() {
        let request = ModelRequest::parse(Protocol::Chat, Bytes::from_static(TEXT.as_bytes())).unwrap();
        assert_eq!(request.first_messages_text(), "system: Be brief.\nuser: Where is\nUlm?\n");
    }
}
