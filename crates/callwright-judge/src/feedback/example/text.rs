//! Example texts for a format, a pattern or a length.

use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::{Map, Value};

/// Maximum length to which a text is padded, in characters, and of a text that matches a pattern, in bytes.
const MAX_LENGTH: u64 = 256;

/// Returns a matching text: by pattern, by format, else the parameter's name in angle brackets, a common notation for
/// placeholders.
pub(super) fn text(keywords: &Map<String, Value>, name: &str, variant: usize) -> Option<String> {
    if let Some(pattern) = keywords.get("pattern").and_then(Value::as_str) {
        return matching(pattern);
    }
    if let Some(text) = keywords.get("format").and_then(Value::as_str).and_then(of_format) {
        return Some(text.to_owned());
    }
    let least = keywords.get("minLength").and_then(Value::as_u64).unwrap_or(0);
    let most = keywords.get("maxLength").and_then(Value::as_u64).unwrap_or(MAX_LENGTH);
    if least > MAX_LENGTH {
        return None;
    }
    let number = if variant == 0 { String::new() } else { (variant + 1).to_string() };
    let mut text: String = format!("<{}{number}>", name.chars().take(64).collect::<String>());
    let length = text.chars().count() as u64;
    text.extend((length..least).map(|_| 'a'));
    if length > most {
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

/// Maximum number of steps to create it, regardless of repetitions in the expression.
const MAX_STEPS: usize = 10_000;

/// Returns a text that matches `pattern`. Ignores anchors and word boundaries, so the caller validates the result
/// against the schema.
fn matching(pattern: &str) -> Option<String> {
    let expression = regex_syntax::Parser::new().parse(pattern).ok()?;
    let mut text = PatternText { bytes: Vec::new(), steps: MAX_STEPS };
    text.append(&expression)?;
    String::from_utf8(text.bytes).ok()
}

struct PatternText {
    bytes: Vec<u8>,
    steps: usize,
}

impl PatternText {
    /// Appends a match of the expression; `None` if the text becomes too long or cannot be created.
    fn append(&mut self, expression: &Hir) -> Option<()> {
        self.steps = self.steps.checked_sub(1)?;
        match expression.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => self.bytes.extend_from_slice(&literal.0),
            HirKind::Class(class) => self.bytes.extend_from_slice(letter(class)?.to_string().as_bytes()),
            HirKind::Capture(group) => self.append(&group.sub)?,
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.append(part))?,
            HirKind::Alternation(parts) => self.append(parts.first()?)?,
            HirKind::Repetition(repeated) => {
                let times = repeated.min.max(1).min(repeated.max.unwrap_or(u32::MAX));
                for _ in 0..times {
                    self.append(&repeated.sub)?;
                }
            }
        }
        (self.bytes.len() as u64 <= MAX_LENGTH).then_some(())
    }
}

/// Returns a common letter, digit, hyphen or space of the class, else its first character.
fn letter(class: &Class) -> Option<char> {
    let Class::Unicode(class) = class else { return None };
    let plain = ['a', 'A', '0', '1', '-', ' ']
        .into_iter()
        .find(|letter| class.ranges().iter().any(|range| range.start() <= *letter && *letter <= range.end()));
    plain.or_else(|| class.ranges().first().map(|range| range.start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_match_their_patterns() {
        for (pattern, text) in [
            ("^[A-Z]{2}[0-9]+$", "AA0"),
            ("^(low|high)$", "low"),
            (r"^\d{4}-\d{2}$", "0000-00"),
            ("x?y*z", "xyz"),
            ("[^a-z]", "A"),
            ("", ""),
        ] {
            assert_eq!(matching(pattern).as_deref(), Some(text), "{pattern}");
        }
    }

    #[test]
    fn hostile_patterns_give_up() {
        for pattern in ["((a{100}){100}){100}", "((\\b{1000}){1000}){1000}", "(?=x)y", "("] {
            assert!(matching(pattern).is_none_or(|text| text.is_empty()), "{pattern}");
        }
    }
}
