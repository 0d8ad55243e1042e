//! Shapes of codes. All codes of a catalogue have the same shape, so an entry for another code of that shape is about
//! another failure.

use super::codes::{CodeLikelihood, is_integer, strength};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum CodeShape {
    /// Words such as `not_found`.
    Words,
    /// Letters and digits such as `E4711`, `0x80070005`, `42P01`.
    Mixed,
    /// Digits such as `4711`.
    Number,
}

/// Returns the shape of a code; `None` for a name that may not be a code.
pub(crate) fn shape_of(code: &str) -> Option<CodeShape> {
    if is_integer(code) {
        Some(CodeShape::Number)
    } else if code.bytes().any(|byte| byte.is_ascii_digit()) && strength(code) > CodeLikelihood::Name {
        Some(CodeShape::Mixed)
    } else {
        (strength(code) > CodeLikelihood::Name).then_some(CodeShape::Words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_shapes_and_names_have_none() {
        let cases = [
            ("4711", Some(CodeShape::Number)),
            ("0x80070005", Some(CodeShape::Mixed)),
            ("e4711", Some(CodeShape::Mixed)),
            ("not_found", Some(CodeShape::Words)),
            ("origin", None),
            ("", None),
        ];
        for (code, expected) in cases {
            assert_eq!(shape_of(code), expected, "{code}");
        }
    }
}
