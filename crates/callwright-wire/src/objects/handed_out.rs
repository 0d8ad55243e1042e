//! Objects that an answer hands out to its client.
//!
//! Only members count in which the provider writes ids of its own. What a model or the client wrote, and what an answer
//! repeats of its request, must not make the client the owner of an object.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bytes::Bytes;

use super::{MAX_DEPTH, OPAQUE, ObjectKind, ObjectPath};
use crate::fields::ObjectFields;
use crate::forms::answer_form;
use crate::scanner::{Scanned, Scanner};
use crate::sse::SseReader;
use callwright_common::json::RawObject;
use callwright_types::{Protocol, Usage};

/// Maximum number of objects of an answer or event that are recorded.
const MAX_OBJECTS: usize = 4_096;

/// Members with content of the model or of the request.
const REPEATED: [&str; 8] =
    ["annotations", "citations", "input", "instructions", "logprobs", "prompt", "results", "tools"];

/// Members with ids.
const IDS: [(&str, ObjectKind); 6] = [
    ("container_id", ObjectKind::Container),
    ("error_file_id", ObjectKind::File),
    ("file_id", ObjectKind::File),
    ("output_file_id", ObjectKind::File),
    ("result_files", ObjectKind::File),
    ("thread_id", ObjectKind::Thread),
];

/// Members with objects that have an `id`, or with such an id.
const HOLDERS: [(&str, ObjectKind); 5] = [
    ("audio", ObjectKind::Audio),
    ("container", ObjectKind::Container),
    ("conversation", ObjectKind::Conversation),
    ("file", ObjectKind::File),
    ("thread", ObjectKind::Thread),
];

/// Members with a response or items, which the provider keeps if the response is stored.
const STORED: [(&str, ObjectKind); 3] =
    [("item", ObjectKind::Item), ("output", ObjectKind::Item), ("response", ObjectKind::Response)];

/// Member with the entries of a list.
const ENTRIES: &str = "data";

/// Types of the last events of streams without `[DONE]`.
const LAST_EVENTS: [&str; 4] = ["message_stop", "response.completed", "response.failed", "response.incomplete"];

/// States of a response that has ended.
const FINAL_STATUSES: [&str; 4] = ["cancelled", "completed", "failed", "incomplete"];

const DONE: &str = "[DONE]";

/// An object that an answer hands out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandedOut {
    /// Id of the object.
    pub id: String,
    /// Kind of the object.
    pub kind: ObjectKind,
}

/// Objects that the answers of an endpoint may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerObjects {
    /// Kind of the answer itself, if the provider keeps it.
    root: Option<ObjectKind>,
    /// Kind of the entries of a list.
    entries: Option<ObjectKind>,
    /// Whether the provider keeps a response in the answer, with its items.
    is_stored: bool,
}

impl AnswerObjects {
    /// Returns the objects of the answer of a turn; `is_stored` is whether the provider keeps the answer.
    pub fn of_turn(protocol: Protocol, is_stored: bool) -> Self {
        let root = match protocol {
            Protocol::Chat => Some(ObjectKind::ChatCompletion),
            Protocol::Responses => Some(ObjectKind::Response),
            Protocol::Messages => None,
        };
        Self {
            root: root.filter(|_| is_stored),
            entries: None,
            is_stored: is_stored && protocol == Protocol::Responses,
        }
    }

    /// Returns the objects of the answer at a path; `creates` is whether the request creates objects. Others list also
    /// what clients named themselves.
    pub fn of_path(path: &ObjectPath<'_>, creates: bool) -> Self {
        let is_list = path.is_collection && !creates;
        Self {
            root: Some(path.part).filter(|_| !is_list),
            entries: Some(path.part).filter(|_| creates),
            is_stored: !is_list,
        }
    }

    /// Whether no answer has any of them. `body` is that of the request.
    pub fn is_none(&self, protocol: Protocol, body: &[u8]) -> bool {
        protocol == Protocol::Chat && self.root.is_none() && memchr::memmem::find(body, b"audio").is_none()
    }
}

/// Returns the objects of a JSON answer, each once.
pub fn handed_out(body: &[u8], objects: AnswerObjects) -> Vec<HandedOut> {
    let Ok(text) = std::str::from_utf8(body) else { return Vec::new() };
    let mut search = Search::new(objects);
    // What follows a defect is not read by clients either.
    let _ = search.object(&mut Scanner::new(text), objects.root, 0);
    search.into_objects()
}

/// Reader of the objects in a stream of events.
#[derive(Debug)]
pub struct ObjectReader {
    events: SseReader,
    objects: AnswerObjects,
}

/// Objects of the events in a part of a stream.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct StreamedObjects {
    /// The objects, each once.
    pub objects: Vec<HandedOut>,
    /// Whether the last event of the answer is among the events.
    pub is_last: bool,
    /// The response of its last event.
    pub finished: Option<FinishedResponse>,
}

impl ObjectReader {
    /// Creates a reader of events of at most `max_event_bytes`.
    pub fn new(objects: AnswerObjects, max_event_bytes: usize) -> Self {
        // The events of Responses have the response in a member.
        let root = objects.root.filter(|root| !matches!(root, ObjectKind::Response));
        Self { events: SseReader::new(max_event_bytes), objects: AnswerObjects { root, ..objects } }
    }

    /// Reads the next bytes of the stream.
    pub fn read(&mut self, bytes: Bytes) -> StreamedObjects {
        let mut search = Search::new(self.objects);
        let (mut is_last, mut finished) = (false, None);
        // After an event over the limit, the rest of the stream has no objects.
        for data in self.events.push(bytes).unwrap_or_default().into_iter().filter_map(|event| event.data) {
            is_last |= data == DONE;
            let _ = search.object(&mut Scanner::new(&data), self.objects.root, 0);
            is_last |= search.is_last;
            if search.is_last && self.objects.is_stored {
                finished = FinishedResponse::of_event(&data);
            }
        }
        StreamedObjects { objects: search.into_objects(), is_last, finished }
    }
}

/// A response that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedResponse {
    /// Id of the response.
    pub id: String,
    /// Tokens that the provider reports.
    pub usage: Usage,
}

impl FinishedResponse {
    /// Parses a response; `None` for one that has not ended or has no usage, and for other answers.
    pub fn parse(body: &[u8]) -> Option<Self> {
        let response = RawObject::parse_bytes(body).ok()?;
        let status: String = response.get_as("status")?;
        let usage = answer_form(Protocol::Responses).usage(&response)?;
        FINAL_STATUSES.contains(&status.as_str()).then_some(())?;
        Some(Self { id: response.get_as("id")?, usage })
    }

    fn of_event(event: &str) -> Option<Self> {
        Self::parse(ObjectFields::parse(event)?.get("response")?.get().as_bytes())
    }
}

struct Search {
    objects: AnswerObjects,
    found: BTreeMap<String, ObjectKind>,
    is_last: bool,
}

impl Search {
    fn new(objects: AnswerObjects) -> Self {
        Self { objects, found: BTreeMap::new(), is_last: false }
    }

    fn into_objects(self) -> Vec<HandedOut> {
        self.found.into_iter().map(|(id, kind)| HandedOut { id, kind }).collect()
    }

    fn add(&mut self, id: Option<Cow<'_, str>>, kind: ObjectKind) {
        if let Some(id) = id.filter(|id| !id.is_empty() && self.found.len() < MAX_OBJECTS) {
            self.found.insert(id.into_owned(), kind);
        }
    }

    /// Reads an object whose `id` is that of a kept object of this kind.
    fn object(&mut self, scanner: &mut Scanner<'_>, kind: Option<ObjectKind>, depth: usize) -> Scanned<()> {
        let read = scanner.object(|scanner, name| match (&*name, kind) {
            ("id", Some(kind)) => {
                let id = scanner.string()?;
                self.add(id, kind);
                Ok(())
            }
            ("type", _) if depth == 0 => {
                self.is_last |= scanner.string()?.is_some_and(|kind| LAST_EVENTS.contains(&&*kind));
                Ok(())
            }
            (name, _) => self.member(scanner, name, depth + 1),
        });
        read.map(drop)
    }

    fn member(&mut self, scanner: &mut Scanner<'_>, name: &str, depth: usize) -> Scanned<()> {
        if depth > MAX_DEPTH || OPAQUE.contains(&name) || REPEATED.contains(&name) {
            return scanner.skip();
        }
        let kind_in =
            |table: &[(&str, ObjectKind)]| table.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
        if let Some(kind) = kind_in(&IDS) {
            return self.ids(scanner, kind);
        }
        if let Some(kind) = kind_in(&HOLDERS).filter(|_| scanner.peek() == Some(b'"')) {
            return self.ids(scanner, kind);
        }
        let stored = kind_in(&STORED).filter(|_| self.objects.is_stored);
        let entries = self.objects.entries.filter(|_| name == ENTRIES);
        self.values(scanner, kind_in(&HOLDERS).or(stored).or(entries), depth)
    }

    fn ids(&mut self, scanner: &mut Scanner<'_>, kind: ObjectKind) -> Scanned<()> {
        if scanner.peek() != Some(b'[') {
            let id = scanner.string()?;
            self.add(id, kind);
            return Ok(());
        }
        let read = scanner.array(|scanner| {
            let id = scanner.string()?;
            self.add(id, kind);
            Ok(())
        });
        read.map(drop)
    }

    fn values(&mut self, scanner: &mut Scanner<'_>, kind: Option<ObjectKind>, depth: usize) -> Scanned<()> {
        match scanner.peek() {
            Some(b'{') => self.object(scanner, kind, depth),
            Some(b'[') if depth < MAX_DEPTH => scanner.array(|scanner| self.values(scanner, kind, depth + 1)).map(drop),
            _ => scanner.skip(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn ids(body: &Value, objects: AnswerObjects) -> Vec<String> {
        handed_out(body.to_string().as_bytes(), objects).into_iter().map(|object| object.id).collect()
    }

    fn at(path: &str) -> AnswerObjects {
        AnswerObjects::of_path(&ObjectPath::parse(path).unwrap(), true)
    }

    #[test]
    fn a_response_hands_out_itself_its_items_and_its_containers() {
        let response = json!({"id": "resp", "conversation": {"id": "conv"}, "previous_response_id": "old",
            "tools": [{"container": "tool", "vector_store_ids": ["vs"]}], "metadata": {"file_id": "m"},
            "prompt": {"id": "p"}, "output": [
                {"type": "code_interpreter_call", "id": "ci", "container_id": "cntr"},
                {"type": "file_search_call", "id": "fs", "results": [{"file_id": "shared"}]},
                {"type": "message", "id": "msg", "content": [{"annotations": [{"file_id": "cited"}]}]},
                {"type": "function_call", "id": "fc", "call_id": "call", "arguments": "{\"file_id\":\"x\"}"}]});
        let stored = AnswerObjects::of_turn(Protocol::Responses, true);
        assert_eq!(ids(&response, stored), ["ci", "cntr", "conv", "fc", "fs", "msg", "resp"]);
        assert_eq!(ids(&response, AnswerObjects::of_turn(Protocol::Responses, false)), ["cntr", "conv"]);
    }

    #[test]
    fn what_a_model_wrote_is_not_handed_out() {
        let message = json!({"id": "msg", "container": {"id": "cont"}, "content": [
            {"type": "tool_use", "id": "toolu", "input": {"file_id": "x", "container": {"id": "y"}}},
            {"type": "text", "text": "file_z", "citations": [{"file_id": "w"}]},
            {"type": "bash_code_execution_tool_result", "content": {"content": [{"type": "bash_code_execution_output", "file_id": "made"}]}}]});
        assert_eq!(ids(&message, AnswerObjects::of_turn(Protocol::Messages, false)), ["cont", "made"]);
        let chat = json!({"id": "chatcmpl", "choices": [{"message": {"audio": {"id": "audio"},
            "tool_calls": [{"id": "call", "function": {"arguments": "{}"}}]}}]});
        assert_eq!(ids(&chat, AnswerObjects::of_turn(Protocol::Chat, false)), ["audio"]);
        assert_eq!(ids(&chat, AnswerObjects::of_turn(Protocol::Chat, true)), ["audio", "chatcmpl"]);
    }

    #[test]
    fn paths_hand_out_their_object_and_its_parts() {
        let batch = json!({"id": "batch", "input_file_id": "in", "output_file_id": "out", "error_file_id": null});
        assert_eq!(ids(&batch, at("/batches")), ["batch", "out"]);
        let items =
            json!({"object": "list", "data": [{"id": "a", "content": [{"id": "no"}]}, {"id": "b"}], "first_id": "a"});
        assert_eq!(ids(&items, at("/conversations/conv/items")), ["a", "b"]);
        let listed = |path: &str| AnswerObjects::of_path(&ObjectPath::parse(path).unwrap(), false);
        assert_eq!(ids(&items, listed("/conversations/conv/items")), Vec::<String>::new());
        assert_eq!(ids(&json!({"data": [batch]}), listed("/batches")), ["out"]);
        assert_eq!(ids(&json!({"id": "up", "file": {"id": "file"}}), at("/uploads/up/complete")), ["file", "up"]);
    }

    #[test]
    fn stream_events_have_objects_from_the_first_to_the_last() {
        let mut reader = ObjectReader::new(AnswerObjects::of_turn(Protocol::Responses, true), 1_000);
        let mut read = |text: &'static str| {
            let read = reader.read(Bytes::from_static(text.as_bytes()));
            (read.objects.into_iter().map(|object| object.id).collect::<Vec<_>>(), read.is_last)
        };
        assert_eq!(read("data: {\"type\":\"response.created\",\"response\":{\"id\":\"re"), (Vec::new(), false));
        assert_eq!(read("sp\"}}\n\n"), (vec!["resp".to_owned()], false));
        assert_eq!(
            read("data: {\"type\":\"response.output_item.added\",\"item\":{\"id\":\"msg\"}}\n\n"),
            (vec!["msg".to_owned()], false)
        );
        assert_eq!(
            read("data: {\"type\":\"response.output_text.delta\",\"item_id\":\"msg\",\"delta\":\"hi\"}\n\n"),
            (Vec::new(), false)
        );
        let last =
            "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp\",\"output\":[{\"id\":\"msg\"}]}}\n\n";
        assert_eq!(read(last), (vec!["msg".to_owned(), "resp".to_owned()], true));
    }

    #[test]
    fn a_response_has_ended_with_a_final_status_and_usage() {
        let usage = json!({"input_tokens": 3, "output_tokens": 4, "total_tokens": 7});
        let tokens = |status: &str, usage: &Value| {
            let body = json!({"id": "resp", "status": status, "usage": usage}).to_string();
            FinishedResponse::parse(body.as_bytes()).map(|finished| (finished.id, finished.usage.total_tokens))
        };
        for status in FINAL_STATUSES {
            assert_eq!(tokens(status, &usage), Some(("resp".to_owned(), 7)));
            assert_eq!(tokens(status, &Value::Null), None);
        }
        assert_eq!(tokens("in_progress", &usage), None);
    }

    #[test]
    fn hostile_answers_are_bounded() {
        let deep = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
        assert!(handed_out(deep.as_bytes(), at("/files")).is_empty());
        let many: Vec<Value> = (0..10_000).map(|number| json!({"id": number.to_string()})).collect();
        assert_eq!(ids(&json!({"data": many}), at("/responses/r/input_items")).len(), MAX_OBJECTS);
    }
}
