//! Short text that matches a regular expression.

use regex_syntax::hir::{Class, Hir, HirKind};

/// Maximum length of the text in bytes.
const MAX_BYTES: usize = 256;

/// Maximum number of steps to create it, regardless of repetitions in the expression.
const MAX_STEPS: usize = 10_000;

/// Returns a text that matches `pattern`. Ignores anchors and word boundaries, so the caller validates the result
/// against the schema.
pub(super) fn matching(pattern: &str) -> Option<String> {
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
        (self.bytes.len() <= MAX_BYTES).then_some(())
    }
}

/// Returns a common letter, digit, hyphen or space of the class, else its first character.
fn letter(class: &Class) -> Option<char> {
    let Class::Unicode(class) = class else { return None };
    let has = |wanted: char| class.ranges().iter().any(|range| range.start() <= wanted && wanted <= range.end());
    let plain = ['a', 'A', '0', '1', '-', ' '].into_iter().find(|wanted| has(*wanted));
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
