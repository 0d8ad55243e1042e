//! Messages of a request.

use std::fmt::Write;

use serde_json::value::RawValue;

use super::ModelRequest;
use crate::content::text_of;
use crate::fields::{ObjectFields, present};
use crate::message_view::MessageView;
use callwright_types::Call;

/// Names of the fields of a chat message with calls, in quotation marks.
const CALL_KEYS: [&[u8]; 2] = [b"\"tool_calls\"", b"\"function_call\""];

impl ModelRequest {
    /// Returns the messages, including pushed ones. Elements that are not objects are omitted; the upstream decides
    /// about them.
    pub fn messages(&self) -> Vec<MessageView<'_>> {
        if let Some(form) = self.form.filter(|_| !self.additions.messages.is_empty()) {
            return form.views(&self.fields, &self.additions.messages);
        }
        let pushed = self.additions.messages.iter().filter_map(|message| view(message));
        self.client_views().iter().map(MessageView::borrowed).chain(pushed).collect()
    }

    /// Returns the views of the client's messages, which are parsed at the first use.
    fn client_views(&self) -> &[MessageView<'static>] {
        self.viewed.get_or_init(|| match self.form {
            Some(form) => form.views(&self.fields, &[]).into_iter().map(MessageView::into_owned).collect(),
            None => self.client_messages().into_iter().filter_map(view).map(MessageView::into_owned).collect(),
        })
    }

    /// Whether a message may contain calls. Searches for the names of their fields only, without parsing the
    /// messages.
    pub fn may_have_calls(&self) -> bool {
        !self.additions.messages.is_empty() || *self.called.get_or_init(|| self.clients_may_have_calls())
    }

    fn clients_may_have_calls(&self) -> bool {
        let key = self.form.map_or("messages", |form| form.conversation_key());
        let text = present(self.fields.get(key)).map_or("", RawValue::get);
        match self.form {
            Some(form) => form.may_have_calls(text),
            None => CALL_KEYS.iter().any(|key| memchr::memmem::find(text.as_bytes(), key).is_some()),
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
        let messages = present(self.fields.get("messages"));
        messages.and_then(|messages| serde_json::from_str(messages.get()).ok()).unwrap_or_default()
    }
}

/// Parses a message; `None` if it is not an object.
pub(crate) fn view(message: &RawValue) -> Option<MessageView<'_>> {
    let fields = ObjectFields::parse(message.get())?;
    let listed = fields.items("tool_calls").unwrap_or_default();
    let legacy = fields.object("function_call").map(|function| call_of(String::new(), Some(&function)));
    let calls = listed.into_iter().filter_map(call).chain(legacy).collect();
    Some(MessageView {
        role: fields.string("role").unwrap_or_default(),
        text: fields.get("content").and_then(|content| text_of(content, "\n")),
        calls,
        tool_call_id: fields.string("tool_call_id"),
        name: fields.string("name"),
    })
}

fn call(call: &RawValue) -> Option<Call> {
    let fields = ObjectFields::parse(call.get())?;
    let id = fields.string("id").unwrap_or_default().into_owned();
    Some(call_of(id, fields.object("function").or_else(|| fields.object("custom")).as_ref()))
}

fn call_of(id: String, function: Option<&ObjectFields<'_>>) -> Call {
    let name = function.and_then(|function| function.string("name"));
    let arguments = function.and_then(|function| function.string("arguments").or_else(|| function.string("input")));
    Call { id, name: name.unwrap_or_default().into_owned(), arguments: arguments.unwrap_or_default().into_owned() }
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
