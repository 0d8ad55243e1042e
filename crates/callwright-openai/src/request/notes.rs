//! Notes: text that is appended to messages of the client, and reinsertion of the parts of a conversation that the
//! client did not receive.
//!
//! Notes are stored separately and joined to the messages when the request is written. Code that reads the
//! conversation therefore sees the original text without the notes.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::ModelRequest;
use crate::KeptPart;
use crate::fields::{ObjectFields, object, present};
use crate::parts::Rejoined;
use callwright_common::json::{RawObject, raw};

/// Separator between a text and the note after it.
const SEPARATOR: &str = "\n\n";

impl ModelRequest {
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
        let mut notes = std::mem::take(&mut self.additions.notes);
        if let Some(form) = self.form {
            let Rejoined { conversation, positions } = form.rejoined(self.fields.object(), parts, lost);
            let moved = notes.into_iter().filter_map(|(place, note)| Some(((*positions.get(place)?)?, note)));
            self.additions.notes = moved.collect();
            self.set(form.conversation_key(), conversation);
            return;
        }
        let mut moved = BTreeMap::new();
        let mut messages = Vec::new();
        let (mut place, mut new_place) = (0, 0);
        for message in self.client_messages() {
            if ObjectFields::parse(message.get()).is_none() {
                messages.push(message.to_owned());
                continue;
            }
            let before = messages.len();
            match parts.get(&place) {
                Some(part) => part.put_back(message, lost, &mut messages),
                None => {
                    moved.extend(notes.remove(&place).map(|note| (new_place, note)));
                    messages.push(message.to_owned());
                }
            }
            place += 1;
            new_place += messages.len() - before;
        }
        self.additions.notes = moved;
        self.set("messages", raw(&messages));
    }

    /// Returns the pushed messages, in order.
    pub fn pushed(&self) -> &[Arc<RawValue>] {
        &self.additions.messages
    }
}

/// Returns the array of messages with their notes, by message position; `None` if it cannot be parsed.
pub(super) fn noted(messages: &str, notes: &BTreeMap<usize, String>) -> Option<Box<RawValue>> {
    let mut messages: Vec<Box<RawValue>> = serde_json::from_str(messages).ok()?;
    let counted = messages.iter_mut().filter(|message| ObjectFields::parse(message.get()).is_some());
    for (place, message) in counted.enumerate() {
        if let Some(with_note) = notes.get(&place).and_then(|note| with_note(message, note)) {
            *message = with_note;
        }
    }
    Some(raw(&messages))
}

/// Returns a JSON string with a note after its text. The note is spliced into the JSON text, so that existing escapes
/// are preserved.
pub(crate) fn spliced(text: &str, note: &str) -> Option<Box<RawValue>> {
    let note = raw(&format!("{SEPARATOR}{note}"));
    let joined = format!("{}{}", text.strip_suffix('"')?, note.get().strip_prefix('"')?);
    RawValue::from_string(joined).ok()
}

fn with_note(message: &RawValue, note: &str) -> Option<Box<RawValue>> {
    let mut fields = RawObject::parse(message.get()).ok()?;
    let content = match present(fields.get("content")).map(RawValue::get) {
        None => raw(note),
        Some(text) if text.starts_with('"') => spliced(text, note)?,
        Some(parts) => {
            let mut parts: Vec<Box<RawValue>> = serde_json::from_str(parts).ok()?;
            parts.push(object([("type", raw("text")), ("text", raw(note))]).to_raw());
            raw(&parts)
        }
    };
    fields.set("content", content);
    Some(fields.to_raw())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use callwright_types::Protocol;

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
    fn parts_are_kept_and_get_one_more_and_no_content_becomes_the_note() {
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
    fn notes_move_with_their_messages_and_stand_before_what_is_pushed() {
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
}
