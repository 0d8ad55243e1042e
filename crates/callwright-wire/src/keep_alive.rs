//! Events that keep a silent stream alive.
//!
//! Intermediaries count any byte as life, but clients with a time limit for silence count events alone, and skip comments.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use serde_json::value::RawValue;

use crate::emit::{self, KEEP_ALIVE};
use crate::fields::{ObjectFields, object};
use crate::sse::{SseEvent, SseReader};
use callwright_common::json::{RawObject, raw};
use callwright_types::Protocol;

/// Event of Messages that has no other meaning.
const PING: &[u8] = b"event: ping\ndata: {\"type\": \"ping\"}\n\n";

/// Event of Messages that states that nothing has changed yet.
const UNCHANGED: &[u8] = b"event: message_delta\ndata: {\"type\": \"message_delta\", \"delta\": \
    {\"stop_reason\": null, \"stop_sequence\": null}, \"usage\": {\"output_tokens\": 0}}\n\n";

/// Silence after which a `ping` is not enough: Anthropic's SDKs drop pings, so that a client with a limit for silence
/// (300 s in Claude Code) does not see them. Such a client counts the cost of the prompt with each `message_delta`, so
/// that they are rare.
const UNSEEN_PINGS: Duration = Duration::from_secs(120);

/// Events of Messages behind which the message has its reason to stop.
const CONCLUSIONS: [&str; 2] = ["message_delta", "message_stop"];

/// Event of Responses that states what the client knows.
const IN_PROGRESS: &str = "response.in_progress";

/// Events of Responses whose response is not final.
const HEADS: [&str; 3] = ["response.created", "response.queued", IN_PROGRESS];

/// Events of Responses behind which no other one may follow.
const ENDS: [&str; 4] = ["response.completed", "response.incomplete", "response.failed", "error"];

/// Member with the number of an event.
const NUMBER: &str = "sequence_number";

/// Members of a chunk that all chunks of a completion share.
const CHUNK_MEMBERS: [&str; 6] = ["id", "object", "created", "model", "service_tier", "system_fingerprint"];

/// Writer of keep-alive events of one stream: `ping` of Messages and, in a long silence, a `message_delta` without change;
/// `response.in_progress` of Responses; an empty delta of chat completions. Where the protocol permits no event, it writes
/// a comment.
#[derive(Debug)]
pub struct KeepAlive {
    /// `None` for a stream that gets comments only.
    protocol: Option<Protocol>,
    has_begun: bool,
    /// Response of the first event, for `response.in_progress`.
    response: Option<RawObject>,
    /// The last events that the client got.
    last: Bytes,
    /// Number of inserted events, by which the numbers of later ones are greater.
    inserted: u64,
    /// Time of the last event of Messages that a client sees.
    seen: Instant,
    /// Whether the message has its reason to stop.
    is_concluded: bool,
}

impl KeepAlive {
    /// Creates the writer for a stream of a protocol.
    pub fn events(protocol: Protocol) -> Self {
        Self { protocol: Some(protocol), ..Self::comments() }
    }

    /// Creates a writer of comments, for a stream to which nothing is added.
    pub fn comments() -> Self {
        Self {
            protocol: None,
            has_begun: false,
            response: None,
            last: Bytes::new(),
            inserted: 0,
            seen: Instant::now(),
            is_concluded: false,
        }
    }

    /// Records complete events for the client. Returns them, with greater numbers if events were inserted before.
    pub fn pass(&mut self, events: Bytes) -> Bytes {
        let Some(protocol) = self.protocol else { return events };
        let events = if self.inserted > 0 { self.renumbered(events) } else { events };
        if protocol == Protocol::Responses && !self.has_begun {
            self.response = read(&events).iter().find_map(response_in_progress);
        }
        if protocol == Protocol::Messages {
            self.seen = Instant::now();
            self.is_concluded |= may_conclude(&events) && read(&events).iter().any(concludes);
        }
        self.has_begun = true;
        self.last.clone_from(&events);
        events
    }

    /// Returns the bytes for a client that has got nothing for some time.
    pub fn event(&mut self) -> Bytes {
        let event = match self.protocol {
            None => None,
            Some(Protocol::Messages) => Some(Bytes::from_static(self.ping(Instant::now()))),
            Some(Protocol::Responses) => self.in_progress(),
            Some(Protocol::Chat) => empty_delta(&self.last),
        };
        event.unwrap_or_else(|| Bytes::from_static(KEEP_ALIVE))
    }

    /// Returns the event of Messages at the time `now`.
    fn ping(&mut self, now: Instant) -> &'static [u8] {
        let is_short = now.saturating_duration_since(self.seen) < UNSEEN_PINGS;
        if is_short || !self.has_begun || self.is_concluded {
            return PING;
        }
        self.seen = now;
        UNCHANGED
    }

    /// Returns the event that the response is in progress; `None` before the first and after the last event.
    fn in_progress(&mut self) -> Option<Bytes> {
        let response = self.response.as_ref()?;
        let events = read(&self.last);
        let last = ObjectFields::parse(events.iter().rev().find_map(|event| event.data.as_deref())?)?;
        if ENDS.contains(&last.string("type")?.as_ref()) {
            return None;
        }
        let mut event = object([("type", raw(IN_PROGRESS))]);
        if let Some(number) = last.get_as::<u64>(NUMBER) {
            event.set(NUMBER, raw(&number.saturating_add(1)));
            self.inserted = self.inserted.saturating_add(1);
        }
        event.set("response", response.to_raw());
        let name = format!("event: {IN_PROGRESS}\n");
        let event = Bytes::from([name.as_bytes(), &emit::event(event.to_raw().get().as_bytes())].concat());
        self.last.clone_from(&event);
        Some(event)
    }

    /// Returns events whose numbers count the inserted events.
    fn renumbered(&self, events: Bytes) -> Bytes {
        let mut out = BytesMut::with_capacity(events.len());
        let read = read(&events);
        if read.is_empty() {
            return events;
        }
        for event in read {
            match self.renumbered_data(&event) {
                Some(data) => {
                    let lines = event.raw.split_inclusive(|byte| *byte == b'\n');
                    let others = lines.filter(|line| !line.starts_with(b"data") && !line.trim_ascii().is_empty());
                    others.for_each(|line| out.extend_from_slice(line));
                    out.extend_from_slice(&emit::event(data.get().as_bytes()));
                }
                None => out.extend_from_slice(&event.raw),
            }
        }
        out.freeze()
    }

    fn renumbered_data(&self, event: &SseEvent) -> Option<Box<RawValue>> {
        let mut fields = RawObject::parse(event.data.as_deref()?).ok()?;
        let number: u64 = fields.get_as(NUMBER)?;
        fields.set(NUMBER, raw(&number.saturating_add(self.inserted)));
        Some(fields.to_raw())
    }
}

/// Parses complete events; none if they are unreadable.
fn read(events: &Bytes) -> Vec<SseEvent> {
    SseReader::new(usize::MAX).push(events.clone()).unwrap_or_default()
}

/// Whether events of Messages may have the reason to stop. Dismisses most of a stream without parsing it.
fn may_conclude(events: &[u8]) -> bool {
    CONCLUSIONS.iter().any(|kind| memchr::memmem::find(events, kind.as_bytes()).is_some())
}

/// Whether the event of Messages has or follows the reason to stop.
fn concludes(event: &SseEvent) -> bool {
    let kind = event.data.as_deref().and_then(ObjectFields::parse).and_then(|fields| fields.get_as::<String>("type"));
    kind.is_some_and(|kind| CONCLUSIONS.contains(&kind.as_str()))
}

/// Returns the response of an event that begins a stream, without the members that repeat the request.
fn response_in_progress(event: &SseEvent) -> Option<RawObject> {
    let fields = ObjectFields::parse(event.data.as_deref()?)?;
    let mut response = RawObject::parse(fields.get("response")?.get()).ok()?;
    if !HEADS.contains(&fields.string("type")?.as_ref()) {
        return None;
    }
    response.set("status", raw("in_progress"));
    if response.contains("instructions") {
        response.set("instructions", raw(&()));
    }
    if response.contains("tools") {
        response.set("tools", raw::<[(); 0]>(&[]));
    }
    Some(response)
}

/// Returns a chunk without content of the completion to which the last chunk belongs; `None` if it has ended.
fn empty_delta(last: &Bytes) -> Option<Bytes> {
    let events = read(last);
    let chunk = ObjectFields::parse(events.iter().rev().find_map(|event| event.data.as_deref())?)?;
    let choices = chunk.items("choices")?;
    let choices: Vec<ObjectFields<'_>> =
        choices.into_iter().filter_map(|choice| ObjectFields::parse(choice.get())).collect();
    if choices.iter().any(|choice| choice.get("finish_reason").is_some()) {
        return None;
    }
    let index: u64 = choices.first()?.get_as("index").unwrap_or_default();
    let choice =
        object([("index", raw(&index)), ("delta", RawObject::default().to_raw()), ("finish_reason", raw(&()))]);
    let members = CHUNK_MEMBERS.into_iter().filter_map(|key| Some((key.to_owned(), chunk.get(key)?.to_owned())));
    let event: RawObject = members.chain([("choices".to_owned(), raw(&[choice]))]).collect();
    Some(emit::event(event.to_raw().get().as_bytes()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn event(data: &Value) -> Bytes {
        let name = data["type"].as_str().map(|kind| format!("event: {kind}\n")).unwrap_or_default();
        format!("{name}data: {data}\n\n").into()
    }

    fn data(bytes: &Bytes) -> Vec<Value> {
        read(bytes).iter().map(|event| serde_json::from_str(event.data.as_deref().unwrap()).unwrap()).collect()
    }

    #[test]
    fn messages_get_a_ping_before_and_after_the_head() {
        let mut alive = KeepAlive::events(Protocol::Messages);
        assert_eq!(data(&alive.event()), [json!({"type": "ping"})]);
        let head = event(&json!({"type": "message_start"}));
        assert_eq!(alive.pass(head.clone()), head);
        assert_eq!(data(&alive.event()), [json!({"type": "ping"})]);
    }

    #[test]
    fn a_long_silence_of_messages_gets_an_event_that_clients_see() {
        let mut alive = KeepAlive::events(Protocol::Messages);
        let late = Instant::now() + UNSEEN_PINGS * 2;
        assert_eq!(alive.ping(late), PING, "nothing may precede the head");
        alive.pass(event(&json!({"type": "message_start"})));
        assert_eq!(alive.ping(Instant::now()), PING);
        assert_eq!(alive.ping(late), UNCHANGED);
        let unchanged = json!({"type": "message_delta", "delta": {"stop_reason": null, "stop_sequence": null}, "usage": {"output_tokens": 0}});
        assert_eq!(data(&Bytes::from_static(UNCHANGED)), [unchanged]);
        assert_eq!(alive.ping(late + UNSEEN_PINGS / 2), PING, "the client saw an event");
        assert_eq!(alive.ping(late + UNSEEN_PINGS), UNCHANGED);
        alive.pass(event(&json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}})));
        assert_eq!(alive.ping(late + UNSEEN_PINGS * 2), PING, "the reason to stop stays");
        alive.pass(event(&json!({"type": "ping"})));
        assert_eq!(alive.ping(late + UNSEEN_PINGS * 2), PING);
    }

    #[test]
    fn responses_are_numbered_without_gaps() {
        let mut alive = KeepAlive::events(Protocol::Responses);
        assert_eq!(alive.event(), KEEP_ALIVE, "nothing may precede the first event");
        let response = json!({"id": "resp_1", "status": "queued", "instructions": "x", "tools": [{}], "output": []});
        let created = event(&json!({"type": "response.created", "sequence_number": 0, "response": response}));
        assert_eq!(alive.pass(created.clone()), created);
        let inserted = [alive.event(), alive.event()];
        for (number, event) in inserted.iter().enumerate() {
            let response =
                json!({"id": "resp_1", "status": "in_progress", "instructions": null, "tools": [], "output": []});
            let expected = json!({"type": "response.in_progress", "sequence_number": number + 1, "response": response});
            assert_eq!(data(event), [expected]);
        }
        let further = |numbers: [u64; 2]| -> Bytes {
            let event = |number| event(&json!({"type": "response.x", "sequence_number": number, "x": [1.5, "\u{e9}"]}));
            numbers.map(event).concat().into()
        };
        assert_eq!(alive.pass(further([1, 2])), further([3, 4]));
        assert_eq!(data(&alive.event())[0]["sequence_number"], 5);
        alive.pass(event(&json!({"type": "response.completed", "sequence_number": 3})));
        assert_eq!(alive.event(), KEEP_ALIVE, "nothing may follow the last event");
    }

    #[test]
    fn chat_gets_an_empty_delta_of_the_same_completion() {
        let mut alive = KeepAlive::events(Protocol::Chat);
        assert_eq!(alive.event(), KEEP_ALIVE);
        let chunk = |choice: Value| json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], "x": 1});
        alive.pass(event(&chunk(json!({"index": 1, "delta": {"content": "a"}, "finish_reason": null}))));
        let mut expected = chunk(json!({"index": 1, "delta": {}, "finish_reason": null}));
        expected.as_object_mut().unwrap().remove("x");
        assert_eq!(data(&alive.event()), [expected.clone()]);
        assert_eq!(data(&alive.event()), [expected]);
        alive.pass(event(&chunk(json!({"index": 1, "delta": {}, "finish_reason": "stop"}))));
        assert_eq!(alive.event(), KEEP_ALIVE, "no delta follows the finish reason");
        alive.pass(Bytes::from_static(emit::DONE));
        assert_eq!(alive.event(), KEEP_ALIVE);
    }

    #[test]
    fn a_stream_that_is_not_guarded_gets_comments() {
        let mut alive = KeepAlive::comments();
        let head = event(&json!({"type": "message_start"}));
        assert_eq!(alive.pass(head.clone()), head);
        assert_eq!(alive.event(), KEEP_ALIVE);
    }
}
