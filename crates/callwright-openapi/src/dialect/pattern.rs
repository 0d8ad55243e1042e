//! Regular expressions that a provider can read.
//!
//! OpenAPI asks for ECMA-262's; providers read them with the engine of their own language, and refuse a whole request for one that it
//! does not know.

/// Escaped letters that mean the same to the engines of common languages.
const COMMON_ESCAPES: &str = "dDwWsSbBnrtfvxu";

/// Does every common engine read it? Lookaround is common, Unicode classes and named groups are not.
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

/// Can text be written along it from left to right? That needs neither lookaround nor references back.
pub(super) fn is_regular(pattern: &str) -> bool {
    is_common(pattern) && !has_lookaround(pattern)
}

/// Lookaround or references back, which engines that run in linear time do without.
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
    fn what_engines_share_is_kept_and_what_they_do_not_is_not() {
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
