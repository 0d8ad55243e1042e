//! Identifiers that we mint.

use std::iter::repeat_with;

use jiff::Timestamp;

/// Length of a call id: some chat templates accept exactly nine alphanumerics (DESIGN section 7).
const CALL_ID_LENGTH: usize = 9;

/// A new id for a call: nine alphanumerics, random, so unique within any conversation.
pub fn call_id() -> String {
    repeat_with(fastrand::alphanumeric).take(CALL_ID_LENGTH).collect()
}

/// Letters of a call's id that tell its plan.
pub const PLAN_HANDLE_LENGTH: usize = 6;

const ALPHANUMERIC: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A new handle for a plan: what the ids of its calls begin with, so that the plan is found again by any of them.
pub fn plan_handle() -> String {
    repeat_with(fastrand::alphanumeric).take(PLAN_HANDLE_LENGTH).collect()
}

/// The id of a plan's call of this number, from 0: its handle and the number; nine alphanumerics as of any call. Numbers that three letters
/// cannot tell (238,328 and more) begin again.
pub fn planned_call_id(handle: &str, number: u32) -> String {
    let mut id = handle.to_owned();
    let mut rest = number as usize;
    for _ in PLAN_HANDLE_LENGTH..CALL_ID_LENGTH {
        id.extend(ALPHANUMERIC.get(rest % ALPHANUMERIC.len()).map(|letter| char::from(*letter)));
        rest /= ALPHANUMERIC.len();
    }
    id
}

/// The handle that a call's id begins with, where it may be that of a plan.
pub fn handle_of(id: &str) -> Option<&str> {
    let fits = id.len() == CALL_ID_LENGTH && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if fits { id.get(..PLAN_HANDLE_LENGTH) } else { None }
}

/// Random bits of a trace id: those that the milliseconds leave (RFC 9562, section 5.7, has the same layout).
const TRACE_ID_RANDOM_BITS: u32 = 80;

/// A new trace id for a turn that arrived `at` this time: 32 lower-case hexadecimal digits, as W3C Trace Context has them;
/// never all zero. It begins with the milliseconds since 1970, so that a store appends to its index by id: with ids in no
/// order every trace would touch a page of its own.
pub fn trace_id(at: Timestamp) -> String {
    let milliseconds = u128::from(at.as_millisecond().unsigned_abs());
    let random = fastrand::u128(1..1 << TRACE_ID_RANDOM_BITS);
    format!("{:032x}", milliseconds << TRACE_ID_RANDOM_BITS | random)
}

/// A new id for an approval that is asked for `at` this time. In the order of time, as trace ids are.
pub fn approval_id(at: Timestamp) -> String {
    format!("apr_{}", trace_id(at))
}

/// A new id for a lesson that is learned `at` this time. In the order of time, as trace ids are.
pub fn lesson_id(at: Timestamp) -> String {
    format!("les_{}", trace_id(at))
}

/// A new id for a procedure that is learned `at` this time. In the order of time, as trace ids are.
pub fn procedure_id(at: Timestamp) -> String {
    format!("pro_{}", trace_id(at))
}

/// A new id for a virtual key that is made `at` this time. In the order of time, as trace ids are.
pub fn key_id(at: Timestamp) -> String {
    format!("{KEY_ID}{}", trace_id(at))
}

/// What the ids of virtual keys begin with.
pub const KEY_ID: &str = "key_";

/// A new id for a process that shares a store with others: 16 hexadecimal digits, random.
pub fn replica_id() -> String {
    format!("{:016x}", fastrand::u64(..))
}

/// A new completion id for an answer that no upstream gave us one for.
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
    fn trace_ids_are_in_the_order_of_their_turns_and_differ_within_a_millisecond() {
        let at = |millisecond| Timestamp::from_millisecond(millisecond).unwrap();
        let ids = [at(1), at(1_767_225_600_000), at(1_767_225_600_001), Timestamp::MAX].map(trace_id);
        assert!(ids.is_sorted() && ids.iter().all(|id| id.len() == 32), "{ids:?}");
        assert_ne!(trace_id(at(1)), trace_id(at(1)));
    }
}
