//! Portability of regular expressions.
//!
//! OpenAPI prescribes ECMA-262 syntax. Providers compile patterns with the regex engine of their own language and
//! reject the whole request if a pattern is invalid there.

/// Escaped letters with the same meaning in common regex engines.
const COMMON_ESCAPES: &str = "dDwWsSbBnrtfvxu";

/// Whether every common engine accepts the pattern. Lookaround is common; Unicode classes and named groups are not.
pub(super) fn is_common(pattern: &str) -> bool {
    let mut letters = pattern.char_indices();
    while let Some((at, letter)) = letters.next() {
        let rest = pattern.get(at..).unwrap_or_default();
        if letter == '\\' {
            let Some((_, escaped)) = letters.next() else { return false };
            if escaped.is_alphabetic() && !COMMON_ESCAPES.contains(escaped) {
                return false;
            }
        } else if rest.starts_with("(?")
            && !["(?:", "(?=", "(?!", "(?<=", "(?<!"].iter().any(|known| rest.starts_with(known))
        {
            return false;
        }
    }
    has_lookaround(pattern) || regex_syntax::Parser::new().parse(pattern).is_ok()
}

/// Whether the pattern suits constrained decoding from left to right, which excludes lookaround and backreferences.
pub(super) fn is_regular(pattern: &str) -> bool {
    is_common(pattern) && !has_lookaround(pattern)
}

/// Whether the pattern has lookaround or backreferences, which linear-time engines do not support.
fn has_lookaround(pattern: &str) -> bool {
    let mut letters = pattern.char_indices();
    while let Some((at, letter)) = letters.next() {
        let rest = pattern.get(at..).unwrap_or_default();
        if letter == '\\' {
            if letters.next().is_some_and(|(_, escaped)| ('1'..='9').contains(&escaped)) {
                return true;
            }
        } else if ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|mark| rest.starts_with(mark)) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_syntax_shared_by_all_engines_is_regular() {
        for pattern in ["^[a-z]+$", r"^\d{3}-\d{4}$", r"^https?:\/\/", r"\u00e4", "", "(?:a|b)*"] {
            assert!(is_common(pattern) && is_regular(pattern), "{pattern}");
        }
        for pattern in ["^(?!x).*$", r"(a)\1", "(?<=x)y"] {
            assert!(is_common(pattern) && !is_regular(pattern), "{pattern}");
        }
        for pattern in [r"^\p{L}+$", "(?<name>x)", "(", "a{2", "*", r"\h", "(?i)x", r"x\"] {
            assert!(!is_common(pattern) && !is_regular(pattern), "{pattern}");
        }
    }
}
