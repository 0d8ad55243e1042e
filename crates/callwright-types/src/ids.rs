//! Generated identifiers.

use std::iter::repeat_with;

use jiff::Timestamp;

/// Length of a call id. Some chat templates accept exactly nine alphanumerics.
const CALL_ID_LENGTH: usize = 9;

/// Returns a new random call id: nine alphanumerics, unique within any conversation.
pub fn call_id() -> String {
    repeat_with(fastrand::alphanumeric).take(CALL_ID_LENGTH).collect()
}

/// Length of the prefix of a call id that identifies its plan.
pub const PLAN_HANDLE_LENGTH: usize = 6;

const ALPHANUMERIC: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Returns a new handle for a plan. The ids of the plan's calls begin with it, so any of them leads to the plan.
pub fn plan_handle() -> String {
    repeat_with(fastrand::alphanumeric).take(PLAN_HANDLE_LENGTH).collect()
}

/// Returns the id of a plan's call: the handle and the number (from 0), nine alphanumerics in total. Numbers wrap
/// around at 238,328, which three characters cannot represent.
pub fn planned_call_id(handle: &str, number: u32) -> String {
    let mut id = handle.to_owned();
    let mut rest = number as usize;
    for _ in PLAN_HANDLE_LENGTH..CALL_ID_LENGTH {
        id.extend(ALPHANUMERIC.get(rest % ALPHANUMERIC.len()).map(|letter| char::from(*letter)));
        rest /= ALPHANUMERIC.len();
    }
    id
}

/// Returns the prefix of a call id that may be a plan handle; `None` if the id has a different form.
pub fn handle_of(id: &str) -> Option<&str> {
    let fits = id.len() == CALL_ID_LENGTH && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if fits { id.get(..PLAN_HANDLE_LENGTH) } else { None }
}

/// Random bits of a trace id: those not used by the timestamp in milliseconds. RFC 9562, section 5.7, has the same
/// layout.
const TRACE_ID_RANDOM_BITS: u32 = 80;

/// Returns a new trace id for a turn that arrived at time `at`: 32 lower-case hexadecimal digits as in W3C Trace
/// Context, never all zero.
///
/// It begins with the milliseconds since 1970, so that a store appends to the end of its index. With unordered ids
/// every trace would touch a separate page.
pub fn trace_id(at: Timestamp) -> String {
    let milliseconds = u128::from(at.as_millisecond().unsigned_abs());
    let random = fastrand::u128(1..1 << TRACE_ID_RANDOM_BITS);
    format!("{:032x}", milliseconds << TRACE_ID_RANDOM_BITS | random)
}

/// Returns a new id for an approval requested at time `at`. Ids sort by time, like trace ids.
pub fn approval_id(at: Timestamp) -> String {
    format!("apr_{}", trace_id(at))
}

/// Returns a new id for a lesson learned at time `at`. Ids sort by time, like trace ids.
pub fn lesson_id(at: Timestamp) -> String {
    format!("les_{}", trace_id(at))
}

/// Returns a new id for a procedure learned at time `at`. Ids sort by time, like trace ids.
pub fn procedure_id(at: Timestamp) -> String {
    format!("pro_{}", trace_id(at))
}

/// Returns a new id for a virtual key created at time `at`. Ids sort by time, like trace ids.
pub fn key_id(at: Timestamp) -> String {
    format!("{KEY_ID}{}", trace_id(at))
}

/// Prefix of virtual key ids.
pub const KEY_ID: &str = "key_";

/// Returns a new id for a process that shares a store with others: 16 random hexadecimal digits.
pub fn replica_id() -> String {
    format!("{:016x}", fastrand::u64(..))
}

/// Returns a new completion id for an answer to which no upstream assigned one.
pub fn completion_id() -> String {
    format!("chatcmpl-{}", repeat_with(fastrand::alphanumeric).take(29).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_their_documented_form() {
        let call = call_id();
        assert!(call.len() == 9 && call.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        let trace = trace_id(Timestamp::UNIX_EPOCH);
        assert!(trace.len() == 32 && trace.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_ne!(call_id(), call_id());
    }

    #[test]
    fn a_plan_is_known_by_the_ids_of_its_calls() {
        let handle = plan_handle();
        let ids: std::collections::HashSet<String> = (0..1000).map(|number| planned_call_id(&handle, number)).collect();
        assert_eq!(ids.len(), 1000);
        assert!(ids.iter().all(|id| handle_of(id) == Some(handle.as_str())));
        assert_eq!(handle_of("call_0123"), None);
        assert_eq!(handle_of("abc"), None);
    }

    #[test]
    fn trace_ids_follow_turn_order_and_differ_in_a_millisecond() {
        let at = |millisecond| Timestamp::from_millisecond(millisecond).unwrap();
        let ids = [at(1), at(1_767_225_600_000), at(1_767_225_600_001), Timestamp::MAX].map(trace_id);
        assert!(ids.is_sorted() && ids.iter().all(|id| id.len() == 32), "{ids:?}");
        assert_ne!(trace_id(at(1)), trace_id(at(1)));
    }
}
