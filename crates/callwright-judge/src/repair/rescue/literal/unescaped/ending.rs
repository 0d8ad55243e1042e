//! Checks the text after a value, and whether the value fits the offered tools.

use super::thread::{Thread, name_at};
use super::{UnescapedKind, UnescapedReading, UnescapedSearch};
use crate::repair::rescue::call_names::{MAX_NAME, NAMES, WRAPPERS, accepts, clean, offered};
use crate::repair::rescue::literal::value::Literal;

/// Classification of the text after a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueEnding {
    /// Text that cannot follow a value.
    No,
    /// The end of the text, or other text.
    Text,
    /// A marker that belongs to the value, or another call.
    Mark,
}

impl UnescapedSearch<'_, '_> {
    /// Keeps a reading if valid text follows it and it fits the tools.
    pub(super) fn end(&mut self, value: Literal, thread: &Thread<'_>) {
        let ending = self.ending(thread.at);
        if ending == ValueEnding::No || !self.fits(&value) {
            return;
        }
        if ending == ValueEnding::Mark {
            self.limit = self.limit.min(thread.at);
        }
        let reading = UnescapedReading { value, end: thread.at, is_uncertain: thread.is_uncertain };
        if self.readings.iter().all(|known| known.end != reading.end || known.value != reading.value) {
            self.readings.push(reading);
        }
    }

    /// Classifies the text after the outermost bracket.
    fn ending(&self, at: usize) -> ValueEnding {
        let mut line = self.rest(at).trim_start_matches([' ', '\t', '\r']);
        let is_call = matches!(self.criteria.kind, UnescapedKind::Call(_));
        // Closing brackets of lists and functions around calls.
        if is_call {
            line = line.trim_start_matches([' ', '\t', '\r', ')', ']']);
        }
        let after = line.trim_start();
        let before = self.text.get(..self.start).unwrap_or_default();
        if after.is_empty() {
            return ValueEnding::Text;
        }
        let is_mark = after.starts_with("<|")
            || after.starts_with("<｜")
            || after.starts_with(">>>")
            || after.starts_with("[/")
            || after.starts_with("[END_")
            || after.starts_with("[TOOL_")
            || after.starts_with("```") && before.contains("```")
            || after.strip_prefix("</").is_some_and(|tag| is_end_tag(tag, before));
        let next = line.strip_prefix([',', ';']).map(str::trim_start);
        if is_mark || next.or(line.starts_with('\n').then_some(after)).is_some_and(|next| self.is_call(next)) {
            return ValueEnding::Mark;
        }
        // Closing bracket of a list that is parsed piece by piece.
        let line = line.trim_start_matches([']', ' ']);
        let is_text = line.is_empty()
            || line.starts_with(['\n', '<', '#'])
            || is_call && matches!(next, Some(""))
            || line.starts_with("```");
        if is_text { ValueEnding::Text } else { ValueEnding::No }
    }

    /// Whether `text` begins with another call.
    fn is_call(&self, text: &str) -> bool {
        if let Some(object) = text.trim_start_matches(['[', ' ', '\n']).strip_prefix('{') {
            let key = name_at(object, object.len() - object.trim_start().len(), false);
            return key.is_some_and(|(key, _)| NAMES.contains(&key) || WRAPPERS.contains(&key));
        }
        let name = text.get(..text.bytes().take(MAX_NAME).position(|byte| byte == b'(').unwrap_or_default());
        name.is_some_and(|name| !name.is_empty() && offered(&clean(name), self.criteria.guard.tool_set).is_some())
    }

    /// Whether the value is a call of an offered tool, or its arguments.
    fn fits(&self, value: &Literal) -> bool {
        if matches!(self.criteria.kind, UnescapedKind::Call(_)) || self.criteria.guard.tool.is_some() {
            return true;
        }
        let tools = self.criteria.guard.tool_set.tools();
        (self.criteria.are_calls)(value)
            || value.members().is_some_and(|members| tools.iter().any(|tool| accepts(members, tool)))
    }
}

/// Whether the end tag after `</` closes an element of the text `before`.
fn is_end_tag(tag: &str, before: &str) -> bool {
    let name = tag.split(|letter: char| letter == '>' || letter.is_whitespace()).next().unwrap_or_default();
    !name.is_empty() && (before.contains(&format!("<{name}>")) || before.contains(&format!("<{name} ")))
}
