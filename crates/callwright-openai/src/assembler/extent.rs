//! Progress of a JSON text that arrives in pieces.

/// State machine over brackets and strings. It processes bytes incrementally, so that each piece is scanned once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Extent {
    /// Only white space so far.
    #[default]
    Empty,
    /// Inside an object or array.
    Open {
        /// Number of open brackets.
        depth: usize,
        /// Inside a string, and whether the previous byte is an escaping backslash.
        string: Option<bool>,
    },
    /// A value that is neither an object nor an array; its end cannot be detected.
    Scalar,
    /// The object or array is closed.
    Complete,
}

impl Extent {
    /// Processes the next piece.
    pub(super) fn push(&mut self, piece: &str) {
        for byte in piece.bytes() {
            *self = self.after(byte);
        }
    }

    fn after(self, byte: u8) -> Self {
        match self {
            Self::Empty => match byte {
                b' ' | b'\t' | b'\n' | b'\r' => Self::Empty,
                b'{' | b'[' => Self::Open { depth: 1, string: None },
                _ => Self::Scalar,
            },
            Self::Open { depth, string: Some(escaped) } => {
                let string = if byte == b'"' && !escaped { None } else { Some(byte == b'\\' && !escaped) };
                Self::Open { depth, string }
            }
            Self::Open { depth, string: None } => match byte {
                b'"' => Self::Open { depth, string: Some(false) },
                b'{' | b'[' => Self::Open { depth: depth + 1, string: None },
                b'}' | b']' if depth == 1 => Self::Complete,
                b'}' | b']' => Self::Open { depth: depth - 1, string: None },
                _ => self,
            },
            Self::Scalar | Self::Complete => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(pieces: &[&str]) -> Extent {
        let mut extent = Extent::default();
        pieces.iter().for_each(|piece| extent.push(piece));
        extent
    }

    #[test]
    fn an_object_is_complete_when_its_own_bracket_closes() {
        assert_eq!(extent(&[" {\"a\": [1, {", "}], \"b\":\"}", "\\\"}", "\\\\\"", "}"]), Extent::Complete);
        assert!(matches!(extent(&["{\"a\":\"}\\", "\"}"]), Extent::Open { .. }));
        assert!(matches!(extent(&["{\"a\":{}"]), Extent::Open { depth: 1, string: None }));
        assert_eq!(extent(&[" ", "\n"]), Extent::Empty);
        assert_eq!(extent(&["nul", "l {}"]), Extent::Scalar);
        assert_eq!(extent(&["{}", "{"]), Extent::Complete);
    }
}
