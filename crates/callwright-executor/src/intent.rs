//! Key under which an execution is recorded, and the executions that are in flight.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use callwright_common::digest::hex;
use callwright_store::IntentKey;

/// Returns the key of one execution: equal for the same call in the same session, independent of the order of its
/// arguments. A turn without a session is its own session.
pub(super) fn intent_key(
    session: Option<&str>,
    trace_id: &str,
    tool: &str,
    arguments: &Map<String, Value>,
) -> IntentKey {
    let session = session.unwrap_or(trace_id).to_owned();
    IntentKey { session, operation: tool.to_owned(), arguments_hash: arguments_hash(arguments) }
}

/// Returns a hash that is equal for the same arguments, independent of their order.
pub(super) fn arguments_hash(arguments: &Map<String, Value>) -> String {
    let mut canonical = String::new();
    write_object(arguments, &mut canonical);
    hex(&Sha256::digest(canonical.as_bytes()))
}

/// Writes JSON with sorted members and without spaces.
fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => write_object(members, out),
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write(item, out);
                out.push(',');
            }
            out.push(']');
        }
        _ => out.push_str(&value.to_string()),
    }
}

fn write_object(members: &Map<String, Value>, out: &mut String) {
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort_by_key(|(name, _)| *name);
    out.push('{');
    for (name, value) in sorted {
        out.push_str(&Value::from(name.as_str()).to_string());
        out.push(':');
        write(value, out);
        out.push(',');
    }
    out.push('}');
}

/// Set of in-flight calls.
#[derive(Debug, Clone, Default)]
pub(super) struct RunningCalls(Arc<Mutex<HashSet<IntentKey>>>);

/// Entry of one in-flight call, removed on drop.
#[derive(Debug)]
pub(super) struct RunningCall {
    all: RunningCalls,
    key: IntentKey,
}

impl RunningCalls {
    /// Registers a call; returns `None` if the same call is in flight.
    pub(super) fn enter(&self, key: &IntentKey) -> Option<RunningCall> {
        let entered = self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone());
        entered.then(|| RunningCall { all: self.clone(), key: key.clone() })
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.all.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(session: Option<&str>, arguments: &str) -> IntentKey {
        intent_key(session, "trace", "rooms/book", &serde_json::from_str(arguments).unwrap())
    }

    #[test]
    fn order_and_spacing_of_arguments_do_not_matter() {
        let same = key(Some("s"), r#"{"a":1,"b":{"c":[1,2],"d":null}}"#);
        assert_eq!(same, key(Some("s"), r#"{ "b": {"d":null, "c": [1, 2]}, "a": 1 }"#));
        assert_eq!(same.arguments_hash.len(), 64);
    }

    #[test]
    fn values_types_and_nesting_matter() {
        let texts = [
            r#"{"a":1}"#, r#"{"a":"1"}"#, r#"{"a":[1]}"#, r#"{"a":[[1]]}"#, r#"{"a":{"b":1}}"#, r#"{"a":1,"b":1}"#,
            r#"{"a,b":1}"#,
        ];
        let hashes: std::collections::HashSet<_> = texts.iter().map(|text| key(None, text).arguments_hash).collect();
        assert_eq!(hashes.len(), texts.len());
    }

    #[test]
    fn without_a_session_a_turn_is_its_own_session() {
        assert_eq!(key(None, "{}").session, "trace");
        assert_eq!(key(Some("s"), "{}").session, "s");
    }
}
