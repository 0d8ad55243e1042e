//! Merging of held deltas. A delta of one character takes hundreds of bytes.

use bytes::BytesMut;

use crate::SseEvent;
use crate::fields::string;
use crate::messages::write_event;
use callwright_common::json::{RawObject, raw};
use callwright_types::Protocol;

/// Members that number or pad single events.
const SINGLE: [&str; 2] = ["sequence_number", "obfuscation"];

/// Deltas of the same part, one after the other.
#[derive(Debug)]
pub struct DeltaRun {
    /// Members of the last event, with an empty content.
    members: RawObject,
    /// Member of its `delta` with the content; `None` if that is the delta itself.
    key: Option<&'static str>,
    content: String,
}

impl DeltaRun {
    /// Begins a run with an event; `None` if it is not a delta with text.
    pub fn new(protocol: Protocol, event: &SseEvent) -> Option<Self> {
        let mut members = RawObject::parse(event.data.as_deref()?).ok()?;
        let kind = members.get("type").and_then(string)?;
        let key = match protocol {
            Protocol::Responses if kind.ends_with(".delta") => None,
            Protocol::Messages if kind == "content_block_delta" => {
                let delta: RawObject = members.get_as("delta")?;
                let keys = ["text", "thinking", "partial_json"];
                Some(keys.into_iter().find(|key| delta.contains(key))?)
            }
            _ => return None,
        };
        let content = replace(&mut members, key, "")?;
        Some(Self { members, key, content })
    }

    /// Adds an event that continues the same part; returns false if it does not.
    pub fn push(&mut self, protocol: Protocol, event: &SseEvent) -> bool {
        let Some(next) = Self::new(protocol, event).filter(|next| next.key == self.key) else { return false };
        let is_same = self.members.iter().count() == next.members.iter().count()
            && self.members.iter().all(|(key, value)| {
                SINGLE.contains(&key) || next.members.get(key).is_some_and(|other| other.get() == value.get())
            });
        if is_same {
            self.content.push_str(&next.content);
            self.members = next.members;
        }
        is_same
    }

    /// Returns the event with the content of all.
    pub fn into_event(self) -> SseEvent {
        let Self { mut members, key, content } = self;
        replace(&mut members, key, &content);
        let kind = members.get("type").and_then(string).unwrap_or_default().into_owned();
        let mut out = BytesMut::new();
        write_event(&kind, &members, &mut out);
        SseEvent { raw: out.freeze(), data: Some(members.to_raw().get().to_owned()) }
    }
}

/// Replaces the content of an event. Returns the earlier one; `None` if it is not a string.
fn replace(members: &mut RawObject, key: Option<&str>, content: &str) -> Option<String> {
    let Some(key) = key else {
        let earlier = members.get("delta").and_then(string)?.into_owned();
        members.set("delta", raw(content));
        return Some(earlier);
    };
    let mut delta: RawObject = members.get_as("delta")?;
    let earlier = delta.get(key).and_then(string)?.into_owned();
    delta.set(key, raw(content));
    members.set("delta", delta.to_raw());
    Some(earlier)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde_json::{Value, json};

    use super::*;

    fn event(data: &Value) -> SseEvent {
        SseEvent { raw: Bytes::new(), data: Some(data.to_string()) }
    }

    /// Returns the data of the merged events; `None` if they do not continue each other.
    fn merged(protocol: Protocol, events: &[Value]) -> Option<Value> {
        let mut run = DeltaRun::new(protocol, &event(&events[0]))?;
        let all = events.iter().skip(1).all(|next| run.push(protocol, &event(next)));
        all.then(|| serde_json::from_str(run.into_event().data.as_deref().unwrap()).unwrap())
    }

    #[test]
    fn deltas_of_the_same_part_become_one() {
        let responses = |number: u64, item: &str, delta: &str| json!({"type": "response.function_call_arguments.delta", "sequence_number": number, "item_id": item, "delta": delta});
        let all = [responses(1, "a", "{\"x"), responses(2, "a", "\":"), responses(3, "a", "1}")];
        assert_eq!(merged(Protocol::Responses, &all).unwrap(), responses(3, "a", "{\"x\":1}"));
        assert!(merged(Protocol::Responses, &[responses(1, "a", "x"), responses(2, "b", "y")]).is_none());
        let messages =
            |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
        let input = |piece: &str| json!({"type": "input_json_delta", "partial_json": piece});
        let all = [messages(1, input("{")), messages(1, input("}"))];
        assert_eq!(merged(Protocol::Messages, &all).unwrap(), messages(1, input("{}")));
        let signature = json!({"type": "signature_delta", "signature": "s"});
        for other in [
            messages(2, input("}")),
            messages(1, json!({"type": "text_delta", "text": "x"})),
            messages(1, signature.clone()),
        ] {
            assert!(merged(Protocol::Messages, &[messages(1, input("{")), other]).is_none());
        }
        assert!(merged(Protocol::Messages, &[messages(1, signature)]).is_none());
        assert!(merged(Protocol::Messages, &[json!({"type": "content_block_stop", "index": 1})]).is_none());
    }
}
