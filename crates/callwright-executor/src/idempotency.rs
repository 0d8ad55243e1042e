//! Idempotency: requests that may be sent twice, and the key by which an API recognises the second one.

use http::Method;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use uuid::Builder;

use callwright_common::digest::add_part;
use callwright_openapi::IdempotencyKey;
use callwright_store::IntentKey;
use callwright_types::Outcome;

/// Whether the method changes state and is idempotent (RFC 9110 section 9.2.2).
pub(super) fn is_idempotent(method: &Method) -> bool {
    matches!(*method, Method::PUT | Method::DELETE)
}

/// Returns a new idempotency key for a call that turn `turn` makes for the first time since its last known outcome.
///
/// The key is derived from the session, the operation, the arguments, the turn and the time `begun`. It is stored
/// with the intent: a repeat in a later turn, or after a restart, carries the same key. It has the form of a UUID
/// version 4, the form that APIs commonly require. If the document allows fewer characters, the key is a prefix of
/// the UUID's digits.
pub(super) fn new_key(key: &IntentKey, turn: &str, begun: u128, parameter: &IdempotencyKey) -> String {
    let mut hash = Sha256::new();
    for part in [&key.session, &key.operation, &key.arguments_hash, turn] {
        add_part(&mut hash, part.as_bytes());
    }
    hash.update(begun.to_be_bytes());
    let random = hash.finalize().first_chunk().copied().unwrap_or_default();
    let uuid = Builder::from_random_bytes(random).into_uuid();
    let whole = uuid.hyphenated().to_string();
    match whole.len() <= parameter.max_chars {
        true => whole,
        false => uuid.simple().to_string().chars().take(parameter.max_chars).collect(),
    }
}

pub(super) fn with_key(arguments: &Map<String, Value>, parameter: &IdempotencyKey, key: &str) -> Map<String, Value> {
    let mut arguments = arguments.clone();
    arguments.insert(parameter.argument.clone(), Value::from(key));
    arguments
}

/// Whether this outcome of a request with a key leaves the effect of the call open. Server errors do. So do the
/// statuses for a first request that is still in progress (draft-ietf-httpapi-idempotency-key-header section 2.7) or
/// possibly replayed (RFC 8470 section 5.2). A repeat then carries the same key.
pub(super) fn is_open(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Unknown { .. } => true,
        Outcome::Answered(answer) => matches!(answer.status, 409 | 425) || answer.status >= 500,
        Outcome::Unreachable { .. } | Outcome::Refused(_) | Outcome::Unauthorised { .. } | Outcome::Unapproved(_) => {
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(max_chars: usize, turn: &str, arguments: &str) -> String {
        let key = IntentKey { session: "s".into(), operation: "o".into(), arguments_hash: arguments.into() };
        new_key(&key, turn, 1, &IdempotencyKey { argument: "k".into(), max_chars })
    }

    #[test]
    fn a_key_is_a_uuid_or_as_much_of_one_as_fits() {
        let whole = key(36, "t", "h");
        let groups: Vec<usize> = whole.split('-').map(str::len).collect();
        assert_eq!((groups, whole.as_bytes()[14]), (vec![8, 4, 4, 4, 12], b'4'));
        assert!(b"89ab".contains(&whole.as_bytes()[19]), "{whole}");
        let short = key(20, "t", "h");
        assert!(short.len() == 20 && short.bytes().all(|byte| byte.is_ascii_hexdigit()), "{short}");
    }

    #[test]
    fn keys_differ_exactly_with_their_inputs() {
        assert_eq!(key(36, "t", "h"), key(36, "t", "h"));
        assert_ne!(key(36, "t", "h"), key(36, "u", "h"));
        assert_ne!(key(36, "t", "h"), key(36, "t", "i"));
        // Parts are separated by more than their order.
        assert_ne!(key(36, "ab", "c"), key(36, "b", "ca"));
    }
}
