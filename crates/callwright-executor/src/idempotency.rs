//! Idempotency: requests that may be sent twice, and the key by which an API recognises the second one.

use http::Method;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use callwright_common::digest::{add_part, hex};
use callwright_openapi::IdempotencyKey;
use callwright_store::IntentKey;
use callwright_types::Outcome;

/// Hexadecimal digits of a UUID.
const UUID_DIGITS: usize = 32;

/// Lengths of the groups of a UUID's hexadecimal digits (RFC 9562 section 4).
const UUID_GROUPS: [usize; 5] = [8, 4, 4, 4, 12];

/// Positions of version and variant among the 32 digits of a UUID.
const VERSION_DIGIT: usize = 12;
const VARIANT_DIGIT: usize = 16;

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
    let mut digits = hex(&hash.finalize());
    digits.truncate(UUID_DIGITS);
    let uuid = uuid(&digits);
    if uuid.len() <= parameter.max_chars { uuid } else { digits.chars().take(parameter.max_chars).collect() }
}

fn uuid(digits: &str) -> String {
    let mut digits = digits.chars().enumerate().map(|(position, digit)| match position {
        VERSION_DIGIT => '4',
        VARIANT_DIGIT => 'a',
        _ => digit,
    });
    UUID_GROUPS.map(|length| digits.by_ref().take(length).collect::<String>()).join("-")
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
        assert_eq!((groups, whole.as_bytes()[14], whole.as_bytes()[19]), (vec![8, 4, 4, 4, 12], b'4', b'a'));
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
