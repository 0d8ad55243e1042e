//! Matches the names of members and arguments with the offered tools.

use std::collections::HashSet;
use std::rc::Rc;

use super::thread::{Frame, FrameRole, NextElement, Thread, collect_names, name_at};
use super::{MAX_DEPTH, UnescapedSearch};
use crate::repair::rescue::shape;
use crate::repair::rescue::written::offered;

/// Maximum number of bytes of a tool's name.
const MAX_NAME: usize = 512;

impl<'a> UnescapedSearch<'a, '_> {
    /// Returns the role of a bracket within another one.
    pub(super) fn role_within(&self, frame: &Frame<'a>) -> FrameRole<'a> {
        if !matches!(frame.role, FrameRole::Envelope) {
            // The items of a list have the role of the list.
            return if frame.close == b']' && !frame.is_call { frame.role } else { FrameRole::Nested };
        }
        let key = frame.key.as_str();
        let named = || {
            let name = frame.entries.iter().find(|(key, _)| shape::NAMES.contains(&key.as_str()))?.1.text()?;
            // With unescaped quotes, the rest of the text may be taken for a name.
            (name.len() <= MAX_NAME).then(|| offered(&shape::clean(name), self.guard.tool_set)).flatten()
        };
        if frame.close == b']' || shape::WRAPPERS.contains(&key) {
            FrameRole::Envelope
        } else if shape::ARGUMENTS.contains(&key) {
            FrameRole::Arguments(named())
        } else {
            offered(&shape::clean(key), self.guard.tool_set)
                .map_or(FrameRole::Nested, |tool| FrameRole::Arguments(Some(tool)))
        }
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
        let tools = self.guard.tool_set.tools();
        let is_parameter = || tools.iter().any(|tool| tool.parameter(key).is_some());
        match frame.role {
            FrameRole::Arguments(Some(tool)) => tool.parameter(key).is_some(),
            FrameRole::Arguments(None) => is_parameter() || self.is_nested(key),
            FrameRole::Nested => self.is_nested(key),
            FrameRole::Envelope => {
                let is_part = [&shape::NAMES[..], &shape::ARGUMENTS, &shape::WRAPPERS, &shape::NEUTRAL]
                    .iter()
                    .any(|names| names.contains(&key));
                is_part || is_parameter() || self.guard.tool_set.get(key).is_some()
            }
        }
    }

    /// Whether any tool has such a member at any depth within its arguments.
    fn is_nested(&mut self, key: &str) -> bool {
        let tool_set = self.guard.tool_set;
        let names = self.effort.nested.get_or_insert_with(|| {
            let mut names = HashSet::new();
            for tool in tool_set.tools() {
                collect_names(tool.schema(), &mut names, MAX_DEPTH);
            }
            Rc::new(names)
        });
        names.contains(key)
    }
}
