//! Server-sent events with names, as both protocols have them.

use serde_json::Value;

use crate::support::Reply;

/// Returns the bytes of an event whose name is its `type`.
pub(super) fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap())
}

/// Returns the bytes of these events.
pub(super) fn bytes(events: &[Value]) -> String {
    events.iter().map(event).collect()
}

/// Returns a stream of these events, each in a piece of its own.
pub(super) fn reply(events: &[Value]) -> Reply {
    begun(events).end()
}

/// Returns a stream that begins with these events.
pub(super) fn begun(events: &[Value]) -> Reply {
    events.iter().fold(Reply::stream(), |reply, data| reply.piece(event(data)))
}

/// Returns a stream whose bytes arrive in pieces that end at `cuts`.
pub(super) fn cut(bytes: &[u8], cuts: impl IntoIterator<Item = usize>) -> Reply {
    let mut reply = Reply::stream();
    let mut start = 0;
    for end in cuts.into_iter().chain([bytes.len()]) {
        if end > start {
            reply = reply.piece(bytes[start..end].to_vec());
            start = end;
        }
    }
    reply.end()
}

/// Parses the body of a stream. Checks that every event has one name, which is the `type` of its data.
pub(super) fn events_of(body: &str) -> Vec<Value> {
    let blocks = body.split("\n\n").map(str::trim).filter(|block| !block.is_empty());
    blocks.filter(|block| block.lines().any(|line| !line.starts_with(':'))).map(event_of).collect()
}

fn event_of(block: &str) -> Value {
    let field = |name: &str| {
        let mut values = block.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let value = values.next().unwrap_or_else(|| panic!("no {name}: {block}")).trim_start();
        assert!(values.next().is_none(), "{name} twice: {block}");
        value
    };
    let data: Value = serde_json::from_str(field("data")).unwrap_or_else(|error| panic!("{error}: {block}"));
    assert_eq!(data["type"], field("event"), "{block}");
    data
}
