//! Example texts for a format, a pattern or a length.

use serde_json::{Map, Value};

use super::pattern;

/// Maximum length to which a text is padded, in characters.
const MAX_LENGTH: u64 = 256;

/// Returns a matching text: by pattern, by format, else the parameter's name in angle brackets, a common notation for
/// placeholders.
pub(super) fn text(keywords: &Map<String, Value>, name: &str, variant: usize) -> Option<String> {
    let word = |keyword: &str| keywords.get(keyword).and_then(Value::as_str);
    if let Some(pattern) = word("pattern") {
        return pattern::matching(pattern);
    }
    if let Some(text) = word("format").and_then(of_format) {
        return Some(text.to_owned());
    }
    let length = |keyword: &str| keywords.get(keyword).and_then(Value::as_u64);
    let (least, most) = (length("minLength").unwrap_or(0), length("maxLength").unwrap_or(MAX_LENGTH));
    if least > MAX_LENGTH {
        return None;
    }
    let number = if variant == 0 { String::new() } else { (variant + 1).to_string() };
    let mut text: String = format!("<{}{number}>", name.chars().take(64).collect::<String>());
    while (text.chars().count() as u64) < least {
        text.push('a');
    }
    if text.chars().count() as u64 > most {
        text = (0..most).map(|_| 'a').collect();
    }
    Some(text)
}

fn of_format(format: &str) -> Option<&'static str> {
    Some(match format {
        "date-time" => "2025-01-31T08:30:00Z",
        "date" => "2025-01-31",
        "time" => "08:30:00Z",
        "duration" => "P1D",
        "email" | "idn-email" => "name@example.org",
        "hostname" | "idn-hostname" => "example.org",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "uri" | "uri-reference" | "iri" | "iri-reference" | "uri-template" => "https://example.org/",
        "uuid" => "123e4567-e89b-12d3-a456-426614174000",
        "json-pointer" => "/a",
        "relative-json-pointer" => "0/a",
        "regex" => "^a$",
        _ => return None,
    })
}
