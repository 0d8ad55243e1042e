//! Checks the text after a value, and whether the value fits the offered tools.

use super::thread::{MAX_KEY, Thread, has_required, name_at};
use super::{UnescapedKind, UnescapedReading, UnescapedSearch};
use crate::repair::rescue::literal::Literal;
use crate::repair::rescue::shape;
use crate::repair::rescue::written::{WrittenCall, offered};
use crate::scanner::CompiledTool;

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
        let is_new = |known: &UnescapedReading| known.end != reading.end || known.value != reading.value;
        if self.readings.iter().all(is_new) {
            self.readings.push(reading);
        }
    }

    /// Classifies the text after the outermost bracket.
    fn ending(&self, at: usize) -> ValueEnding {
        let mut line = self.rest(at).trim_start_matches([' ', '\t', '\r']);
        let is_call = matches!(self.kind, UnescapedKind::Call(_));
        // Closing brackets of lists and functions around calls.
        if is_call {
            line = line.trim_start_matches([' ', '\t', '\r', ')', ']']);
        }
        let after = line.trim_start();
        let before = self.text.get(..self.start).unwrap_or_default();
        let is_end_tag = |tag: &str| {
            let name = tag.split(|letter: char| letter == '>' || letter.is_whitespace()).next().unwrap_or_default();
            !name.is_empty() && (before.contains(&format!("<{name}>")) || before.contains(&format!("<{name} ")))
        };
        if after.is_empty() {
            return ValueEnding::Text;
        }
        let is_mark = after.starts_with("<|")
            || after.starts_with("<｜")
            || after.starts_with("[/")
            || after.starts_with("[END_")
            || after.starts_with("[TOOL_")
            || after.starts_with("```") && before.contains("```")
            || after.strip_prefix("</").is_some_and(is_end_tag);
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
            return key.is_some_and(|(key, _)| shape::NAMES.contains(&key) || shape::WRAPPERS.contains(&key));
        }
        let name = text.get(..text.bytes().take(MAX_KEY).position(|byte| byte == b'(').unwrap_or_default());
        name.is_some_and(|name| !name.is_empty() && offered(&shape::clean(name), self.guard.tool_set).is_some())
    }

    /// Whether the value is a call of an offered tool, or its arguments.
    fn fits(&self, value: &Literal) -> bool {
        if matches!(self.kind, UnescapedKind::Call(_)) || self.guard.tool.is_some() {
            return true;
        }
        let tool_set = self.guard.tool_set;
        let is_call = |call: &WrittenCall| {
            offered(&call.name, tool_set).is_some_and(|tool| {
                !call.positional.is_empty()
                    || has_required(&call.named, tool)
                        && call.named.iter().all(|(key, _)| tool.parameter(key).is_some())
            })
        };
        let accepts = |members: &[(String, Literal)], tool: &CompiledTool| {
            has_required(members, tool) && members.iter().all(|(key, _)| tool.parameter(key).is_some())
        };
        let are_calls = shape::calls(value, tool_set, self.nesting).is_some_and(|calls| calls.iter().all(is_call));
        are_calls || value.members().is_some_and(|members| tool_set.tools().iter().any(|tool| accepts(members, tool)))
    }
}
