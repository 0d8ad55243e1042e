//! Span context of a turn and its propagation (W3C Trace Context, <https://www.w3.org/TR/trace-context/>).

use http::{HeaderMap, HeaderName, HeaderValue};

use callwright_common::digest::hex;

/// Header with the ids of the trace and the parent span.
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// Header with vendor-specific trace data.
pub const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// Flag of `traceparent`: the caller records its span (section 3.2.2.5.1).
pub(super) const SAMPLED: u8 = 1;

/// Span of a turn and its place in a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanContext {
    pub(super) trace_id: [u8; 16],
    /// Id of the turn's span. The ids of its attempts are derived from it and their number, so that they are known
    /// before the upstream request.
    span_id: u64,
    pub(super) parent: Option<[u8; 8]>,
    pub(super) is_sampled: bool,
}

impl SpanContext {
    /// Whether the span belongs to the client's trace.
    pub fn has_parent(&self) -> bool {
        self.parent.is_some()
    }

    /// Returns the header for requests on behalf of the turn as a whole.
    pub fn header(&self) -> HeaderValue {
        self.header_of(self.span_id())
    }

    /// Returns the header for the upstream request of the attempt with this number, from 0.
    pub fn header_of_attempt(&self, number: usize) -> HeaderValue {
        self.header_of(self.attempt_id(number))
    }

    pub(super) fn span_id(&self) -> [u8; 8] {
        self.span_id.to_be_bytes()
    }

    pub(super) fn attempt_id(&self, number: usize) -> [u8; 8] {
        // The highest bit of the turn's id is set, so no id is zero or equal to the turn's.
        (self.span_id ^ (number as u64 + 1)).to_be_bytes()
    }

    fn header_of(&self, span: [u8; 8]) -> HeaderValue {
        let flags = if self.is_sampled { SAMPLED } else { 0 };
        let text = format!("00-{}-{}-{flags:02x}", hex(&self.trace_id), hex(&span));
        // Cannot fail: hexadecimal digits are visible ASCII.
        HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""))
    }
}

/// Sampling decision for turns.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sampler {
    ratio: f64,
}

impl Sampler {
    /// Creates a sampler for turns without a client trace. The client's decision applies to the others.
    pub(super) fn new(ratio: f64) -> Self {
        Self { ratio }
    }

    pub(super) fn begin(self, headers: &HeaderMap, turn: &str) -> SpanContext {
        let span_id = fastrand::u64(..) | 1 << 63;
        match parent(headers) {
            Some(Parent { trace_id, span_id: parent, is_sampled }) => {
                SpanContext { trace_id, span_id, parent: Some(parent), is_sampled }
            }
            None => {
                let trace_id = digits::<16>(turn).unwrap_or_else(|| fastrand::u128(1..).to_be_bytes());
                SpanContext { trace_id, span_id, parent: None, is_sampled: fastrand::f64() < self.ratio }
            }
        }
    }
}

/// The client's span.
struct Parent {
    trace_id: [u8; 16],
    span_id: [u8; 8],
    is_sampled: bool,
}

/// Parses the client's span if there is exactly one valid header (section 3.2). Later versions may append fields, but
/// not change the existing ones.
fn parent(headers: &HeaderMap) -> Option<Parent> {
    let mut fields = headers.get_all(TRACEPARENT).iter();
    let (field, None) = (fields.next()?.to_str().ok()?.trim(), fields.next()) else { return None };
    let mut parts = field.split('-');
    let version = digits::<1>(parts.next()?)?;
    let (trace_id, span_id) = (digits::<16>(parts.next()?)?, digits::<8>(parts.next()?)?);
    let [flags] = digits::<1>(parts.next()?)?;
    let is_valid = match version {
        [0] => parts.next().is_none(),
        [version] => version != u8::MAX,
    };
    let is_named = trace_id != [0; 16] && span_id != [0; 8];
    (is_valid && is_named).then_some(Parent { trace_id, span_id, is_sampled: flags & SAMPLED != 0 })
}

/// Parses exactly `N` bytes in lower-case hexadecimal digits.
fn digits<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: &str = "0123456789abcdef0123456789abcdef";

    fn begun(fields: &[&str], ratio: f64) -> SpanContext {
        let mut headers = HeaderMap::new();
        for field in fields {
            headers.append(TRACEPARENT, field.parse().unwrap());
        }
        Sampler::new(ratio).begin(&headers, TURN)
    }

    #[test]
    fn a_client_with_a_trace_gets_a_span_in_it_at_any_ratio() {
        let sampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let context = begun(&[sampled], 0.0);
        assert!(context.is_sampled && context.has_parent());
        assert_eq!(context.parent, digits("b7ad6b7169203331"));
        let header = context.header();
        assert!(header.to_str().unwrap().starts_with("00-0af7651916cd43dd8448eb211c80319c-"), "{header:?}");
        assert!(header.to_str().unwrap().ends_with("-01"), "{header:?}");
        let unsampled = begun(&[&sampled.replace("-01", "-02")], 1.0);
        assert!(!unsampled.is_sampled, "the client decided");
        assert!(unsampled.header().to_str().unwrap().ends_with("-00"));
        assert!(begun(&[&format!("{}-more", sampled.replacen("00", "cc", 1))], 0.0).has_parent(), "a later version");
    }

    #[test]
    fn without_a_valid_field_the_trace_is_the_turns_own() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let bad = [
            "",
            "00",
            &good.to_uppercase(),
            &format!("{good}-more"),
            &good.replacen("00", "ff", 1),
            &good.replace("b7ad6b7169203331", "0000000000000000"),
            &good.replace("0af7651916cd43dd8448eb211c80319c", "00000000000000000000000000000000"),
            &good.replace("b7ad", "b7a"),
            &good.replace("b7ad", "b7a\u{e4}"),
        ];
        for field in bad {
            let mut headers = HeaderMap::new();
            headers.insert(TRACEPARENT, HeaderValue::from_bytes(field.as_bytes()).unwrap());
            let context = Sampler::new(1.0).begin(&headers, TURN);
            assert!(!context.has_parent() && context.is_sampled, "{field}");
            assert_eq!(hex(&context.trace_id), TURN);
        }
        assert!(!begun(&[good, good], 1.0).has_parent(), "two fields name no one span");
        assert!(!begun(&[], 0.0).is_sampled);
    }

    #[test]
    fn every_attempt_has_a_span_of_its_own() {
        let context = begun(&[], 1.0);
        let mut ids: Vec<[u8; 8]> = (0..100).map(|number| context.attempt_id(number)).collect();
        ids.push(context.span_id());
        assert!(!ids.contains(&[0; 8]));
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 101);
        let header = context.header_of_attempt(7);
        assert!(header.to_str().unwrap().contains(&hex(&context.attempt_id(7))));
    }
}
