//! Matches the names of members and arguments with the offered tools.

use std::collections::HashSet;
use std::rc::Rc;

use super::UnescapedSearch;
use super::thread::{Frame, FrameRole, NextElement, Thread, name_at};
use crate::repair::rescue::call_names::{ARGUMENTS, MAX_NAME, NAMES, NEUTRAL, WRAPPERS, clean, offered};
use callwright_scanner::CompiledTool;
use callwright_scanner::schema::member_names;

impl<'a> UnescapedSearch<'a, '_> {
    /// Returns the role of a bracket within another one.
    pub(super) fn role_within(&self, frame: &Frame<'a>) -> FrameRole<'a> {
        if !matches!(frame.role, FrameRole::Envelope) {
            // The items of a list have the role of the list.
            return if frame.close == b']' && !frame.is_call { frame.role } else { FrameRole::Nested };
        }
        let key = frame.key.as_str();
        if frame.close == b']' || WRAPPERS.contains(&key) {
            FrameRole::Envelope
        } else if ARGUMENTS.contains(&key) {
            FrameRole::Arguments(self.named_tool(frame))
        } else {
            offered(&clean(key), self.criteria.guard.tool_set)
                .map_or(FrameRole::Nested, |tool| FrameRole::Arguments(Some(tool)))
        }
    }

    /// Returns the offered tool that a member of the bracket names.
    fn named_tool(&self, frame: &Frame<'a>) -> Option<&'a CompiledTool> {
        let name = frame.entries.iter().find(|(key, _)| NAMES.contains(&key.as_str()))?.1.text()?;
        // With unescaped quotes, the rest of the text may be taken for a name.
        (name.len() <= MAX_NAME).then(|| offered(&clean(name), self.criteria.guard.tool_set)).flatten()
    }

    /// Parses the name of a member or argument, or the start of an argument without a name.
    pub(super) fn name(&mut self, thread: &mut Thread<'a>) -> Option<()> {
        let at = thread.at;
        let frame = thread.frames.last()?;
        let (key, end) = match name_at(self.text, at, frame.is_call) {
            Some((key, end)) => {
                let key = key.to_owned();
                self.is_known(frame, &key).then_some(())?;
                (key, end)
            }
            None if frame.is_call && frame.entries.iter().all(|(key, _)| key.is_empty()) => (String::new(), at),
            None => return None,
        };
        thread.frames.last_mut()?.key = key;
        thread.at = end;
        thread.next = NextElement::Value;
        Some(())
    }

    /// Whether the bracket can contain a member of this name, and does not contain it yet.
    pub(super) fn is_known(&mut self, frame: &Frame<'a>, key: &str) -> bool {
        if frame.entries.iter().any(|(taken, _)| taken == key) {
            return false;
        }
        match frame.role {
            FrameRole::Arguments(Some(tool)) => tool.has_parameter(key),
            FrameRole::Arguments(None) => self.is_parameter(key) || self.is_nested(key),
            FrameRole::Nested => self.is_nested(key),
            FrameRole::Envelope => {
                let is_part = [&NAMES[..], &ARGUMENTS, &WRAPPERS, &NEUTRAL].iter().any(|names| names.contains(&key));
                is_part || self.is_parameter(key) || self.criteria.guard.tool_set.get(key).is_some()
            }
        }
    }

    fn is_parameter(&self, key: &str) -> bool {
        self.criteria.guard.tool_set.tools().iter().any(|tool| tool.has_parameter(key))
    }

    /// Whether any tool has such a member at any depth within its arguments.
    fn is_nested(&mut self, key: &str) -> bool {
        let tools = self.criteria.guard.tool_set.tools();
        let names = self.effort.nested.get_or_insert_with(|| {
            Rc::new(tools.iter().flat_map(|tool| member_names(tool.schema())).collect::<HashSet<String>>())
        });
        names.contains(key)
    }
}
