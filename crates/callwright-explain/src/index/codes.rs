//! Exact-match fields: the codes and names that a text mentions or defines.

use callwright_common::text::{is_digits, letters};

/// Maximum length of a code in bytes; longer text is data.
pub(crate) const MAX_CODE_BYTES: usize = 100;

/// Minimum number of digits at which a bare number counts as a code and not as a quantity, and a word with letters as an
/// id and not as a name.
pub(crate) const LEAST_CODE_DIGITS: usize = 3;

/// Normalises a code or name for comparison: without quotes and outer punctuation except the sign of a number, in lower
/// case. Returns `None` for text that cannot be one: empty, several words, or too long.
pub(crate) fn normal_form(text: &str) -> Option<String> {
    let end = text.trim().trim_end_matches(|character: char| !character.is_alphanumeric());
    let core = end.trim_start_matches(|character: char| !character.is_alphanumeric());
    let one_word = !core.is_empty() && core.len() <= MAX_CODE_BYTES && !core.contains(char::is_whitespace);
    let before = end.strip_suffix(core)?;
    let is_negative = is_digits(core) && before.ends_with(['-', '\u{2212}']) && !before.ends_with("--");
    one_word.then(|| if is_negative { format!("-{core}") } else { core.to_lowercase() })
}

/// Whether the text is a decimal number, with or without a sign.
pub(crate) fn is_integer(text: &str) -> bool {
    is_digits(text.strip_prefix(['-', '\u{2212}']).unwrap_or(text))
}

/// Returns the codes and names that a text mentions: the contents of code spans, and words that resemble codes.
pub(crate) fn mentioned(text: &str) -> Vec<String> {
    let spans = text.split('`').skip(1).step_by(2);
    let in_spans = spans.flat_map(words).filter_map(normal_form);
    let in_prose = text.split('`').step_by(2).flat_map(words).filter(|word| is_code_like(word)).filter_map(normal_form);
    in_spans.chain(in_prose).collect()
}

/// Whether a word resembles a code or an identifier: `INVALID_PARAM`, `start_date`, `P2002`, `20000`, `startDate`.
pub(crate) fn is_code_like(word: &str) -> bool {
    let core = word.trim_matches(|character: char| !character.is_alphanumeric());
    let count = |test: fn(&char) -> bool| core.chars().filter(test).count();
    let digits = count(|character| character.is_ascii_digit());
    let capitals = count(|character| character.is_uppercase());
    let small = count(|character| character.is_lowercase());
    let inner_capital = core.chars().skip(1).any(char::is_uppercase) && small > 0;
    core.contains('_')
        || digits > 0 && (capitals + small > 0 || digits >= LEAST_CODE_DIGITS && digits == core.len())
        || small == 0 && capitals >= 3
        || inner_capital
}

/// Returns the words of a text, including the characters that may occur inside a code.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !(character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '/')))
        .filter(|word| !word.is_empty())
}

/// Likelihood that a name is a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CodeLikelihood {
    /// Any word: `origin`, `gone`.
    Name,
    /// Identifier, which may also be a parameter or a method: `not_found`, `startDate`.
    Weak,
    /// Almost certainly a code: `21211`, `E1001`, `NOT_FOUND`, `400.3`.
    Strong,
}

/// Returns the likelihood that a word is a code.
pub(crate) fn strength(word: &str) -> CodeLikelihood {
    let core = word.trim_matches(|character: char| !character.is_alphanumeric());
    let digits = core.bytes().filter(u8::is_ascii_digit).count();
    let leading_digits = core.bytes().take_while(u8::is_ascii_digit).count();
    let small = core.chars().any(char::is_lowercase);
    let capitals = core.chars().any(char::is_uppercase);
    let number = leading_digits >= LEAST_CODE_DIGITS && core.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let constant = capitals && !small && (digits > 0 || core.contains('_'));
    if number || constant || core.starts_with("0x") && digits > 1 {
        CodeLikelihood::Strong
    } else if is_code_like(core) && !is_version(core) && (small || digits > 0) || is_joined(core) {
        CodeLikelihood::Weak
    } else {
        CodeLikelihood::Name
    }
}

/// Whether the word is a version: `v2`, `v1.0.3`.
fn is_version(core: &str) -> bool {
    core.strip_prefix(['v', 'V']).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
}

/// Whether the word consists of lower-case parts joined without a space: `invalid-api-key`, `auth/wrong-password`,
/// `chat.update`.
fn is_joined(core: &str) -> bool {
    let mut parts = core.split(['-', '.', '/', ':']).peekable();
    let several = core.contains(['-', '.', '/', ':']);
    several && parts.all(|part| !part.is_empty() && part.chars().all(|character| character.is_lowercase()))
}

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

/// Returns the codes that may be contained in another: the end of a type (`com.example#NoSuchKey`,
/// `urn:problem:out-of-credit`), and the number after a prefix (`ERR-4711`, `E4711`, `ERR-0x80070005`).
pub(crate) fn derived(code: &str) -> Vec<&str> {
    let code = code.trim();
    let end = code.rsplit(['#', ':', '/']).next().filter(|end| end.len() < code.len() && end.len() > 1);
    let last = code.rsplit(['-', '_']).next().filter(|last| last.len() < code.len() && is_number(last));
    let mut found: Vec<&str> = end.into_iter().chain(last).chain(number(code)).collect();
    found.dedup();
    found
}

/// Returns the alternative spellings of a documented code, given in normal form: without separators, and its number only.
pub(crate) fn forms(code: &str) -> impl Iterator<Item = String> {
    let number = number(code).map(str::to_owned);
    [Some(letters(code)), number].into_iter().flatten().filter(move |form| form != code)
}

/// Returns the trailing digits of a code whose other characters are letters: `00942` of `ORA-00942`. A text with
/// alternating letters and digits is an id.
fn number(code: &str) -> Option<&str> {
    let before = code.trim_end_matches(|character: char| character.is_ascii_digit());
    let digits = code.get(before.len()..)?;
    let prefixed = !before.is_empty()
        && before.chars().all(|character| character.is_alphabetic() || matches!(character, '-' | '_'));
    (prefixed && digits.len() >= LEAST_CODE_DIGITS).then_some(digits)
}

/// Whether the text is a decimal or hexadecimal number.
fn is_number(text: &str) -> bool {
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    match hexadecimal {
        Some(digits) => !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => is_digits(text),
    }
}

/// Returns the fragment of a URL: `low-balance` of `https://docs.example.com/errors#low-balance`.
pub(crate) fn fragment_of_link(link: &str) -> Option<&str> {
    let (_, fragment) = link.split_once("://")?.1.split_once('#')?;
    Some(fragment).filter(|fragment| !fragment.is_empty())
}

/// Returns the last path segment of a URL: `21211` of `https://docs.example.com/errors/21211?x=1#top`.
pub(crate) fn last_of_link(link: &str) -> Option<&str> {
    let (_, behind) = link.split_once("://")?;
    let (_, path) = behind.split_once('/')?;
    let path = path.split(['?', '#']).next()?;
    path.trim_end_matches('/').rsplit('/').next().filter(|last| !last.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinguished_from_prose() {
        for code in ["INVALID_PARAM", "start_date", "P2002", "20000", "startDate", "E11", "(E_FIELDS)", "EOF"] {
            assert!(is_code_like(code), "{code}");
        }
        for word in ["London", "a", "12", "I", "OK", "invalid", "2.5", ""] {
            assert!(!is_code_like(word), "{word}");
        }
    }

    #[test]
    fn likelihood_of_codes_is_graded() {
        for code in ["21211", "E1001", "NOT_FOUND", "ORA-00942", "400.3", "0x80070005", "-32700"] {
            assert_eq!(strength(code), CodeLikelihood::Strong, "{code}");
        }
        for code in ["not_found", "startDate", "invalid-api-key", "auth/wrong-password", "chat.postMessage", "p2002"] {
            assert_eq!(strength(code), CodeLikelihood::Weak, "{code}");
        }
        for word in ["origin", "London", "7", "1.2", "v2.0", "API", "OVERVIEW", ""] {
            assert_eq!(strength(word), CodeLikelihood::Name, "{word}");
        }
    }

    #[test]
    fn code_spans_and_codes_are_mentioned() {
        assert_eq!(mentioned("In `origin` see `a b` and E_17, not here."), ["origin", "a", "b", "e_17"]);
    }

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

    #[test]
    fn prefixes_and_namespaces_are_removed() {
        let cases: [(&str, &[&str]); 9] = [
            ("ERR-29", &["29"]),
            ("req_21543c3667", &[]),
            ("ERR-4711", &["4711"]),
            ("E4711", &["4711"]),
            ("ERR-0x80070005", &["0x80070005"]),
            ("com.example#NoSuchKey", &["NoSuchKey"]),
            ("urn:problem:out-of-credit", &["out-of-credit"]),
            ("4711", &[]),
            ("NOT_FOUND", &[]),
        ];
        for (code, expected) in cases {
            assert_eq!(derived(code), expected, "{code}");
        }
    }

    #[test]
    fn a_documented_code_is_found_in_other_spellings() {
        let found = |code: &str| forms(code).collect::<Vec<_>>();
        assert_eq!(found("not_found"), ["notfound"]);
        assert_eq!(found("ora-00942"), ["ora00942", "00942"]);
        assert!(found("4711").is_empty() && found("gone").is_empty());
    }

    #[test]
    fn the_end_of_a_link_is_its_last_part() {
        assert_eq!(last_of_link("https://docs.example.com/errors/21211/?x=1"), Some("21211"));
        assert_eq!(last_of_link("https://docs.example.com/"), None);
        assert_eq!(last_of_link("errors/21211"), None);
    }
}
