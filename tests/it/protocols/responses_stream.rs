//! Checks a stream of the Responses protocol as strictly as the official clients rely on it, and assembles it.

use std::collections::BTreeMap;

use serde_json::Value;

/// The last events of a response.
const ENDS: [&str; 3] = ["response.completed", "response.incomplete", "response.failed"];

/// Checks a whole stream and returns its final response. Panics if the stream violates a rule: one head and one end,
/// gapless numbers and indexes, items that are begun and ended once with one id, deltas that yield the final texts, and
/// a final response with the items that were streamed.
pub(super) fn assembled(events: &[Value]) -> Value {
    let mut stream = CheckedStream::default();
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number, "the number is not the next one: {event} in {events:#?}");
        stream.take(event);
    }
    stream.end.unwrap_or_else(|| panic!("a stream without an end: {events:#?}"))
}

#[derive(Default)]
struct CheckedStream {
    /// Response of the head.
    head: Option<Value>,
    /// Items that were ended.
    done: Vec<Value>,
    open: Option<OpenItem>,
    end: Option<Value>,
}

/// The item that is being streamed.
struct OpenItem {
    begun: Value,
    /// Deltas and final texts, by kind and the index of the part.
    texts: BTreeMap<(String, u64), StreamedText>,
    /// Number of begun and of ended parts, by kind.
    parts: BTreeMap<String, (u64, u64)>,
}

#[derive(Default)]
struct StreamedText {
    deltas: String,
    done: Option<String>,
}

impl CheckedStream {
    fn take(&mut self, event: &Value) {
        assert!(self.end.is_none(), "behind the end: {event}");
        let kind = event["type"].as_str().unwrap();
        match kind {
            "response.created" => {
                assert!(self.head.is_none(), "a second head: {event}");
                assert_eq!(event["response"]["output"], Value::Array(Vec::new()), "{event}");
                self.head = Some(event["response"].clone());
            }
            "response.in_progress" | "response.queued" => self.check_head(event),
            "response.output_item.added" => self.begin(event),
            "response.output_item.done" => self.finish(event),
            _ if ENDS.contains(&kind) => {
                self.check_head(event);
                assert!(self.open.is_none(), "an item is still open: {event}");
                let output = event["response"]["output"].as_array().unwrap_or_else(|| panic!("no output: {event}"));
                assert_eq!(*output, self.done, "the final items are not those that were streamed");
                let status = kind.strip_prefix("response.").unwrap();
                assert_eq!(event["response"]["status"], status, "{event}");
                self.end = Some(event["response"].clone());
            }
            "error" => self.end = Some(event.clone()),
            _ if event.get("output_index").is_some() => self.add(kind, event),
            _ => assert!(self.head.is_some(), "before the head: {event}"),
        }
    }

    fn check_head(&self, event: &Value) {
        let head = self.head.as_ref().unwrap_or_else(|| panic!("before the head: {event}"));
        for member in ["id", "model", "object", "created_at"] {
            assert_eq!(event["response"][member], head[member], "another {member}: {event}");
        }
    }

    fn begin(&mut self, event: &Value) {
        assert!(self.head.is_some(), "before the head: {event}");
        assert!(self.open.is_none(), "the item before it is still open: {event}");
        assert_eq!(event["output_index"], self.done.len(), "not the next index: {event}");
        let begun = event["item"].clone();
        assert!(begun["type"].is_string() && begun["id"].as_str().is_some_and(|id| !id.is_empty()), "{event}");
        let has_id = |item: &Value| item["id"] == begun["id"];
        assert!(!self.done.iter().any(has_id), "an id twice: {event}");
        if begun["type"] == "function_call" {
            assert!(begun["call_id"].is_string() && begun["name"].is_string(), "{event}");
            assert_eq!(begun["arguments"], "", "{event}");
        }
        self.open = Some(OpenItem { begun, texts: BTreeMap::new(), parts: BTreeMap::new() });
    }

    fn add(&mut self, kind: &str, event: &Value) {
        let open = self.open.as_mut().unwrap_or_else(|| panic!("no item is open: {event}"));
        assert_eq!(event["output_index"], self.done.len(), "{event}");
        assert_eq!(event["item_id"], open.begun["id"], "another id: {event}");
        open.add(kind, event);
    }

    fn finish(&mut self, event: &Value) {
        let open = self.open.take().unwrap_or_else(|| panic!("no item is open: {event}"));
        assert_eq!(event["output_index"], self.done.len(), "{event}");
        open.check(&event["item"]);
        self.done.push(event["item"].clone());
    }
}

impl OpenItem {
    fn add(&mut self, kind: &str, event: &Value) {
        let (what, end) = kind.rsplit_once('.').unwrap();
        let index =
            event.get("content_index").or_else(|| event.get("summary_index")).map(|index| index.as_u64().unwrap());
        match (what.strip_suffix("_part"), end) {
            (Some(what), "added") => {
                let (begun, ended) = self.parts.entry(what.to_owned()).or_default();
                assert_eq!((index, *begun), (Some(*ended), *ended), "not the next part: {event}");
                *begun += 1;
            }
            (Some(what), "done") => {
                let (begun, ended) = self.parts.entry(what.to_owned()).or_default();
                assert_eq!((index, *begun), (Some(*ended), *ended + 1), "not the open part: {event}");
                *ended += 1;
                let kind =
                    if what == "response.content" { "response.output_text" } else { "response.reasoning_summary_text" };
                if let Some(text) = self.texts.get(&(kind.to_owned(), *ended - 1)) {
                    assert_eq!(event["part"]["text"].as_str(), text.done.as_deref(), "{event}");
                }
            }
            (None, "delta") => {
                let text = self.texts.entry((what.to_owned(), index.unwrap_or(0))).or_default();
                assert!(text.done.is_none(), "behind the final text: {event}");
                text.deltas.push_str(event["delta"].as_str().unwrap_or_else(|| panic!("no delta: {event}")));
            }
            (None, "done") => {
                let text = self.texts.entry((what.to_owned(), index.unwrap_or(0))).or_default();
                assert!(text.done.is_none(), "a final text twice: {event}");
                let done = ["text", "arguments", "input", "refusal"].iter().find_map(|member| event[*member].as_str());
                assert_eq!(done, Some(text.deltas.as_str()), "the deltas yield another text: {event}");
                text.done = done.map(str::to_owned);
            }
            _ => {}
        }
    }

    /// Checks the final item.
    fn check(&self, item: &Value) {
        for member in ["id", "type", "role", "call_id", "name"] {
            assert_eq!(item[member], self.begun[member], "another {member}: {item}");
        }
        for (what, (begun, ended)) in &self.parts {
            assert_eq!(begun, ended, "a part of {what} was not ended: {item}");
        }
        for ((what, at), text) in &self.texts {
            let done = text.done.as_deref().unwrap_or_else(|| panic!("{what} has no end: {item}"));
            let at = usize::try_from(*at).unwrap();
            let of_item = match what.as_str() {
                "response.output_text" => &item["content"][at]["text"],
                "response.refusal" => &item["content"][at]["refusal"],
                "response.reasoning_summary_text" => &item["summary"][at]["text"],
                "response.reasoning_text" => &item["content"][at]["text"],
                "response.function_call_arguments" => &item["arguments"],
                "response.custom_tool_call_input" => &item["input"],
                _ => continue,
            };
            assert_eq!(*of_item, done, "the item has another text than was streamed");
        }
        let has = |what: &str| self.texts.keys().any(|(kind, _)| kind == what);
        if item["type"] == "function_call" {
            assert!(has("response.function_call_arguments"), "no arguments were streamed: {item}");
        }
        let parts = item["content"].as_array().map_or(0, Vec::len) as u64;
        if item["type"] == "message" {
            let begun = self.parts.get("response.content").map_or(0, |(begun, _)| *begun);
            assert_eq!(begun, parts, "the item has another number of parts than was streamed: {item}");
        }
    }
}
