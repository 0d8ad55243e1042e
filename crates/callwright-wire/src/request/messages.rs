//! The conversation of a request: its views, notes on its texts, reasoning, and reinsertion of the parts that the client
//! did not receive.
//!
//! Notes are stored separately and joined to the messages when the request is written. Code that reads the
//! conversation therefore sees the original text without the notes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use memchr::memmem::Finder;
use serde_json::value::RawValue;

use super::ModelRequest;
use crate::content::SEPARATOR;
use crate::parts::Rejoined;
use crate::words::{ToolWords, Word, has_one_of};
use crate::{KeptPart, MessageView, ReasoningPart};
use callwright_types::Protocol;

/// Parts of the types of reasoning, and of references to it.
static REASONING: [Word; 3] = [
    Word::new(|| Finder::new("thinking")),
    Word::new(|| Finder::new("reasoning")),
    Word::new(|| Finder::new("item_reference")),
];

impl ModelRequest {
    /// Returns the messages, including pushed ones. Elements that are not objects are omitted; the upstream decides
    /// about them.
    pub fn messages(&self) -> Vec<MessageView<'_>> {
        if !self.additions.messages.is_empty() {
            return self.form.views(&self.fields, &self.additions.messages);
        }
        self.client_views().iter().map(MessageView::borrowed).collect()
    }

    /// Returns the views of the client's messages, which are parsed at the first use.
    fn client_views(&self) -> &[MessageView<'static>] {
        self.viewed
            .get_or_init(|| self.form.views(&self.fields, &[]).into_iter().map(MessageView::into_owned).collect())
    }

    /// Whether a message may contain calls. Searches for the names of their fields only, without parsing the
    /// messages.
    pub fn may_have_calls(&self) -> bool {
        !self.additions.messages.is_empty() || self.tool_words().calls
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

    /// Returns the words about tools in the client's conversation.
    pub(super) fn tool_words(&self) -> ToolWords {
        *self.tool_words.get_or_init(|| ToolWords::in_text(self.conversation_text(), self.form.call_words()))
    }

    /// Returns the JSON text of the client's conversation.
    pub(super) fn conversation_text(&self) -> &str {
        self.fields.get(self.form.conversation_key()).unwrap_or_default()
    }

    /// Returns the pushed messages, in order.
    pub fn pushed(&self) -> &[Arc<RawValue>] {
        &self.additions.messages
    }

    /// Adds a note after the text of a message in the sent request, by its position among [`ModelRequest::messages`].
    /// The text keeps its bytes and stays first; a content with several parts gets one more part. A second note
    /// follows the first. A content of another type gets no note.
    pub fn add_note(&mut self, place: usize, note: String) {
        let known = self.additions.notes.entry(place).or_default();
        if !known.is_empty() {
            known.push_str(SEPARATOR);
        }
        known.push_str(&note);
        self.edited = true;
    }

    /// Reinserts kept parts into their messages, by position among [`ModelRequest::messages`]. A missing result of a
    /// part becomes `lost`. Notes move with their messages.
    pub fn rejoin(&mut self, parts: &BTreeMap<usize, KeptPart>, lost: &str) {
        let notes = std::mem::take(&mut self.additions.notes);
        let Rejoined { conversation, positions } = self.form.rejoined(&self.fields, parts, lost);
        let moved = notes.into_iter().filter_map(|(place, note)| Some(((*positions.get(place)?)?, note)));
        self.additions.notes = moved.collect();
        self.set(self.form.conversation_key(), conversation);
    }

    /// Returns the reasoning in the client's conversation, in order; none in chat completions, whose providers do not
    /// verify it.
    pub fn reasoning(&self) -> Vec<ReasoningPart> {
        match self.protocol != Protocol::Chat && has_one_of(self.conversation_text(), &REASONING) {
            true => self.form.reasoning(&self.fields),
            false => Vec::new(),
        }
    }

    /// Removes reasoning from the client's conversation, by position in [`Self::reasoning`].
    pub fn remove_reasoning(&mut self, positions: &BTreeSet<usize>) {
        if !positions.is_empty() {
            self.set(self.form.conversation_key(), self.form.without_reasoning(&self.fields, positions));
        }
    }
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

    fn request(messages: &str) -> ModelRequest {
        ModelRequest::parse(Protocol::Chat, Bytes::from(format!(r#"{{"model":"m","messages":{messages},"n":1}}"#)))
            .unwrap()
    }

    fn sent(messages: &str, place: usize) -> String {
        let mut request = request(messages);
        request.add_note(place, "see \"this\"".to_owned());
        String::from_utf8(request.to_bytes().to_vec()).unwrap()
    }

    #[test]
    fn the_text_stays_first_and_to_the_byte() {
        assert_eq!(
            sent(r#"[7,{"role":"user"},{"role":"tool", "x":1.0,"content":"\u0041\/\ud800"}]"#, 1),
            r#"{"model":"m","messages":[7,{"role":"user"},{"role":"tool","x":1.0,"content":"\u0041\/\ud800\n\nsee \"this\""}],"n":1}"#
        );
    }

    #[test]
    fn parts_get_one_more_and_missing_content_becomes_the_note() {
        let part = r#"{"type":"text","text":"see \"this\""}"#;
        let parts = sent(r#"[{"role":"tool","content":[{"type":"text", "text":"a"},{"type":"image_url"}]}]"#, 0);
        assert!(
            parts.contains(&format!(r#""content":[{{"type":"text", "text":"a"}},{{"type":"image_url"}},{part}]"#)),
            "{parts}"
        );
        for absent in [r#"{"role":"tool"}"#, r#"{"role":"tool","content":null}"#] {
            assert!(sent(&format!("[{absent}]"), 0).contains(r#""content":"see \"this\"""#));
        }
        assert!(sent(r#"[{"role":"tool","content":5}]"#, 0).contains(r#""content":5}"#), "left to the upstream");
    }

    #[test]
    fn readers_of_the_conversation_see_what_was_said() {
        let mut request = request(r#"[{"role":"tool","content":"a"}]"#);
        request.add_note(0, "b".to_owned());
        assert_eq!(request.messages()[0].text.as_deref(), Some("a"));
    }

    #[test]
    fn notes_move_with_their_messages_and_precede_pushed_ones() {
        let call = r#"{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
        let mut request = request(&format!(r#"[{call},{{"role":"tool","tool_call_id":"a","content":"x"}}]"#));
        request.add_note(1, "note".to_owned());
        let part: KeptPart = serde_json::from_str(
            r#"{"before":[{"role":"user","content":"before"}],"calls":[{"client":"a"}],"results":{}}"#,
        )
        .unwrap();
        request.rejoin(&BTreeMap::from([(0, part)]), "lost");
        request.push_user("and now?");
        let messages = request.to_value()["messages"].clone();
        let contents: Vec<_> = messages.as_array().unwrap().iter().map(|message| message["content"].as_str()).collect();
        assert_eq!(contents, [Some("before"), None, Some("x\n\nnote"), Some("and now?")]);
    }

    #[test]
    fn calls_are_found_by_the_members_of_chat_messages() {
        let may_have_calls = |text: &str| {
            let body = format!(r#"{{"messages":{text}}}"#);
            ModelRequest::parse(Protocol::Chat, body.into()).unwrap().may_have_calls()
        };
        assert!(!may_have_calls(r#"[{"role": "tool", "content": "tools tool_calls"}]"#));
        assert!(may_have_calls(r#"[{"tool_calls": []}]"#) && may_have_calls(r#"[{"function_call": {}}]"#));
    }
}
