//! Alternative spellings of codes, because APIs and their documentation may spell a code differently.

use super::codes::LEAST_CODE_DIGITS;
use callwright_common::text::{is_digits, letters};

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
