//! Identifiers that we mint.

use std::iter::repeat_with;

/// Length of a call id: some chat templates accept exactly nine alphanumerics (DESIGN section 7).
const CALL_ID_LENGTH: usize = 9;

/// A new id for a call: nine alphanumerics, random, so unique within any conversation.
pub fn call_id() -> String {
    repeat_with(fastrand::alphanumeric).take(CALL_ID_LENGTH).collect()
}

/// A new trace id: 32 lower-case hexadecimal digits, as W3C Trace Context has them; never all zero.
pub fn trace_id() -> String {
    format!("{:032x}", fastrand::u128(1..))
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
        let trace = trace_id();
        assert!(trace.len() == 32 && trace.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_ne!(call_id(), call_id());
    }
}
