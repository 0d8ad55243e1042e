//! Expansion of a path template with its values to a path that stays within the operation.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str};
use serde_json::Value;

use super::path_traversal::is_path_traversal;
use super::style;
use crate::refusal::invalid;
use callwright_openapi::{Binding, Style};
use callwright_types::Refusal;

/// Characters that must be encoded in the literal text of a template (RFC 3986 section 3.3); servers may read a
/// backslash as a slash.
const NO_PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'`')
    .add(b'{')
    .add(b'}')
    .add(b'|')
    .add(b'\\')
    .add(b'^')
    .add(b'[')
    .add(b']');

/// Expanded path template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExpandedPath {
    /// Path, encoded, with its leading slash.
    pub(super) path: String,
    /// Text after a `?` in the template: some documents put a fixed query there.
    pub(super) query: Option<String>,
}

/// Replaces the `{name}` placeholders of a template with encoded values.
///
/// # Errors
/// Fails if a placeholder has no value, a value is empty or contains control characters, or a segment would be `.` or
/// `..`: such a path would lead to another operation.
pub(super) fn expand(template: &str, parameters: &[(&Binding, &Value)]) -> Result<ExpandedPath, Refusal> {
    // A fragment is never sent; documents use it to distinguish operations with the same path.
    let template = template.split('#').next().unwrap_or_default();
    let (template, query) = match template.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (template, None),
    };
    let path = fill(template, parameters)?;
    let path = if path.starts_with('/') { path } else { format!("/{path}") };
    check_segments(&path)?;
    let query = query.filter(|query| !query.is_empty()).map(|query| fill(query, parameters)).transpose()?;
    Ok(ExpandedPath { path, query })
}

fn fill(template: &str, parameters: &[(&Binding, &Value)]) -> Result<String, Refusal> {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((literal, behind)) = rest.split_once('{') {
        filled.push_str(&style::encode_rest(literal, NO_PATH));
        let Some((name, behind)) = behind.split_once('}') else {
            return Err(invalid(format!("the path template `{template}` has a `{{` without its `}}`")));
        };
        filled.push_str(&value_of(name, parameters)?);
        rest = behind;
    }
    filled.push_str(&style::encode_rest(rest, NO_PATH));
    Ok(filled)
}

fn value_of(name: &str, parameters: &[(&Binding, &Value)]) -> Result<String, Refusal> {
    let (binding, value) = parameters
        .iter()
        .find(|(binding, _)| binding.name == name)
        .ok_or_else(|| invalid(format!("the path parameter `{name}` has no value")))?;
    let text = style::path(binding, value).unwrap_or_default();
    if text.is_empty() {
        return Err(invalid(format!("the path parameter `{name}` is empty: the path would lead to another operation")));
    }
    let plain = percent_decode_str(&text).decode_utf8_lossy();
    // A label style value begins with its own dot.
    let written = match binding.style {
        Style::Label => plain.strip_prefix('.').unwrap_or(&plain),
        _ => &plain,
    };
    if is_path_traversal(written) {
        return Err(invalid(format!(
            "the path parameter `{name}` has a segment `.` or `..`, or only empty segments: the path would lead to another operation"
        )));
    }
    if percent_decode_str(&text).any(|byte| byte.is_ascii_control()) {
        return Err(invalid(format!("the path parameter `{name}` contains control characters")));
    }
    Ok(if binding.allow_reserved { with_slashes(&text) } else { text })
}

/// Restores the slashes in a placeholder that permits them (`{+name}`, `{key+}`), because servers with such templates
/// expect them. A slash that would create an empty segment stays encoded.
fn with_slashes(encoded: &str) -> String {
    let mut joined = String::new();
    let mut segments = encoded.split("%2F").peekable();
    while let Some(segment) = segments.next() {
        joined.push_str(segment);
        if let Some(next) = segments.peek() {
            joined.push_str(if segment.is_empty() || next.is_empty() { "%2F" } else { "/" });
        }
    }
    joined
}

/// Rejects the segments `.` and `..`, encoded or not, because clients and servers resolve them.
fn check_segments(path: &str) -> Result<(), Refusal> {
    for segment in path.split('/') {
        let decoded: Vec<u8> = percent_decode_str(segment).collect();
        if decoded == b"." || decoded == b".." {
            return Err(invalid(format!(
                "a segment of the path would be `{segment}`: the path would lead to another operation"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use url::Url;

    use super::*;
    use callwright_openapi::Location;

    fn binding(name: &str) -> Binding {
        Binding {
            argument: name.into(),
            name: name.into(),
            location: Location::Path,
            required: true,
            style: Style::Simple,
            explode: false,
            allow_reserved: false,
            media_type: None,
            nested: Vec::new(),
        }
    }

    fn expanded(template: &str, value: &Value) -> Result<String, Refusal> {
        expand(template, &[(&binding("id"), value)]).map(|path| path.path)
    }

    #[test]
    fn values_are_encoded_and_never_interpolated() {
        let cases = [
            (json!("a/b"), "/r/a%2Fb/x"),
            (json!("a?b#c"), "/r/a%3Fb%23c/x"),
            (json!("//evil.example"), "/r/%2F%2Fevil.example/x"),
            (json!("@evil.example:80"), "/r/%40evil.example%3A80/x"),
            (json!("{id}"), "/r/%7Bid%7D/x"),
            (json!("ü ．"), "/r/%C3%BC%20%EF%BC%8E/x"),
            (json!(17), "/r/17/x"),
            (json!(true), "/r/true/x"),
            (json!(["a,b", "c"]), "/r/a%2Cb,c/x"),
            (json!("..."), "/r/.../x"),
        ];
        for (value, expected) in cases {
            assert_eq!(expanded("/r/{id}/x", &value).as_deref(), Ok(expected), "{value}");
        }
    }

    #[test]
    fn allowed_slashes_are_kept_and_make_no_empty_segment() {
        let reserved = Binding { allow_reserved: true, ..binding("id") };
        let of = |value: &str| expand("/r/{id}", &[(&reserved, &json!(value))]).map(|path| path.path);
        let cases = [
            ("projects/a b/x:run", "/r/projects/a%20b/x%3Arun"),
            ("/a//b/", "/r/%2Fa%2F%2Fb%2F"),
            ("a%2Fb", "/r/a%252Fb"),
        ];
        for (value, expected) in cases {
            assert_eq!(of(value).as_deref(), Ok(expected), "{value}");
        }
        for value in ["a/../b", "..", "a/.", "//", "a/..%2fb"] {
            assert!(of(value).is_err(), "{value}");
        }
    }

    #[test]
    fn values_that_would_change_the_operation_are_refused() {
        for value in [
            json!("."),
            json!(".."),
            json!("../.."),
            json!("..\\.."),
            json!("%2e%2e"),
            json!("．．"),
            json!("/"),
            json!(""),
            json!(null),
            json!([]),
            json!("a\r\nHost: x"),
            json!("a\0"),
            json!("a\u{7f}"),
        ] {
            assert!(expanded("/r/{id}/x", &value).is_err(), "{value}");
        }
        assert!(expanded("/r/.{id}", &json!(".")).is_err(), "together with fixed text");
        assert!(expanded("/r/%2e%2e/{id}", &json!("a")).is_err(), "in the template itself");
    }

    #[test]
    fn a_template_expression_without_a_value_is_refused() {
        let refusal = expand("/r/{other}", &[(&binding("id"), &json!("a"))]).unwrap_err();
        assert!(refusal.message.contains("`other`"), "{refusal}");
        assert!(expand("/r/{id", &[(&binding("id"), &json!("a"))]).is_err());
    }

    #[test]
    fn fixed_text_is_encoded_only_if_necessary() {
        let fixed = |template: &str| expand(template, &[]).map(|path| (path.path, path.query));
        assert_eq!(fixed("/a b/%7Bc%7D/100%/x:y"), Ok(("/a%20b/%7Bc%7D/100%25/x:y".into(), None)));
        assert_eq!(fixed("a\\..\\b"), Ok(("/a%5C..%5Cb".into(), None)));
        assert_eq!(fixed("/?Action=List#v2"), Ok(("/".into(), Some("Action=List".into()))));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn an_expanded_path_survives_the_url_parser_with_its_value(value in any::<String>()) {
            if let Ok(path) = expanded("/base/{id}/end", &json!(value)) {
                let mut url = Url::parse("https://api.example/").unwrap();
                url.set_path(&path);
                prop_assert_eq!(url.path(), path.as_str());
                let segments: Vec<&str> = path.split('/').collect();
                prop_assert_eq!(segments.len(), 4);
                prop_assert_eq!(percent_decode_str(segments[2]).decode_utf8().unwrap(), value);
            }
        }
    }
}
