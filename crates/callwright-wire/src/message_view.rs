//! View of a message of a request, in any protocol.

use std::borrow::Cow;

use callwright_types::{Call, Message, Speaker};

/// View of one message of a request, with the members that the proxy needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageView<'a> {
    /// `system`, `developer`, `user`, `assistant`, `tool`, `function`; empty if it is missing.
    pub role: Cow<'a, str>,
    /// Text of a string content, or the text parts of a multi-part content joined with newlines; `None` if there is
    /// none.
    pub text: Option<Cow<'a, str>>,
    /// Calls of an assistant message, in order. Missing members of a call are empty.
    pub calls: Cow<'a, [Call]>,
    /// Id of the call that a tool message answers.
    pub tool_call_id: Option<Cow<'a, str>>,
    /// `name` of a participant or, with role `function`, of the function.
    pub name: Option<Cow<'a, str>>,
}

impl MessageView<'_> {
    /// Returns a view that borrows from this one.
    pub(crate) fn borrowed(&self) -> MessageView<'_> {
        MessageView {
            role: Cow::Borrowed(&self.role),
            text: self.text.as_deref().map(Cow::Borrowed),
            calls: Cow::Borrowed(&self.calls),
            tool_call_id: self.tool_call_id.as_deref().map(Cow::Borrowed),
            name: self.name.as_deref().map(Cow::Borrowed),
        }
    }

    /// Returns a view that borrows nothing.
    pub(crate) fn into_owned(self) -> MessageView<'static> {
        MessageView {
            role: owned(self.role),
            text: self.text.map(owned),
            calls: Cow::Owned(self.calls.into_owned()),
            tool_call_id: self.tool_call_id.map(owned),
            name: self.name.map(owned),
        }
    }
}

fn owned(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

impl From<MessageView<'_>> for Message {
    fn from(view: MessageView<'_>) -> Self {
        let speaker = match view.role.as_ref() {
            "user" => Speaker::User,
            "assistant" => Speaker::Model,
            "tool" | "function" => Speaker::Tool,
            _ => Speaker::Other,
        };
        Self {
            speaker,
            text: view.text.map(Cow::into_owned).unwrap_or_default(),
            calls: view.calls.into_owned(),
            answers: view.tool_call_id.map(Cow::into_owned),
            name: view.name.map(Cow::into_owned),
        }
    }
}
