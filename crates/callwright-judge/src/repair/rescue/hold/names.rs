//! Words with which a call may begin, matched by prefix while they are being received.

use super::super::call_names::{ARGUMENTS, NAMES, NEUTRAL, WRAPPERS};
use callwright_scanner::ToolSet;
use callwright_scanner::names::{fold, partly_qualified, without_namespace};
use callwright_types::tool_names::{after_any_scope, may_become_scope};

/// Folded names of the offered tools.
#[derive(Debug, Default)]
pub(super) struct FoldedToolNames {
    /// Folded names, in full and without their own namespace, sorted.
    folded: Vec<String>,
}

impl FoldedToolNames {
    pub(super) fn of(tool_set: &ToolSet) -> Self {
        let mut folded: Vec<String> = Vec::new();
        for tool in tool_set.tools().iter().filter(|tool| tool.may_be_written()) {
            folded.push(fold(tool.name()));
            folded.extend(without_namespace(tool.name()).map(fold));
            folded.extend(partly_qualified(tool.name()).map(fold));
        }
        folded.retain(|name| !name.is_empty());
        folded.sort_unstable();
        folded.dedup();
        Self { folded }
    }

    /// Whether `name` is the name of a tool, ignoring case, separators and namespace.
    pub(super) fn contain(&self, name: &str) -> bool {
        self.has(name) || after_any_scope(name).is_some_and(|name| self.has(name))
    }

    fn has(&self, name: &str) -> bool {
        self.folded.binary_search(&fold(name)).is_ok()
    }

    /// Whether `start` may become the name of a tool. Returns true for every prefix of a name that
    /// [`FoldedToolNames::contain`] accepts.
    pub(super) fn may_become(&self, start: &str) -> bool {
        self.has_start(start)
            || after_any_scope(start).is_some_and(|start| self.has_start(start))
            || may_become_scope(start)
    }

    fn has_start(&self, start: &str) -> bool {
        let start = fold(start);
        let at = self.folded.partition_point(|name| *name < start);
        self.folded.get(at).is_some_and(|name| name.starts_with(&start))
    }
}

/// Members of an object that is, or contains, a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallMember {
    /// The tool's name.
    Name,
    /// The arguments.
    Arguments,
    /// A member around or beside a call.
    Other,
}

/// Classifies a member of an object; `None` if a call has no such member.
pub(super) fn member(key: &str) -> Option<CallMember> {
    if NAMES.contains(&key) {
        Some(CallMember::Name)
    } else if ARGUMENTS.contains(&key) {
        Some(CallMember::Arguments)
    } else if WRAPPERS.contains(&key) || NEUTRAL.contains(&key) {
        Some(CallMember::Other)
    } else {
        None
    }
}

/// Whether `start` may become the key of such a member.
pub(super) fn may_become_member(start: &str) -> bool {
    let keys = NAMES.iter().chain(&ARGUMENTS).chain(&WRAPPERS).chain(&NEUTRAL);
    keys.into_iter().any(|key| key.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_scanner::testing::{TOOLS, tool_set};

    #[test]
    fn names_are_known_in_any_writing_from_their_first_letter_on() {
        let names = FoldedToolNames::of(&tool_set(TOOLS));
        for written in [
            "get_weather", "getWeather", "GET-WEATHER", "get\\_weather", "functions.get_weather", "cancel",
            "orders.cancel",
        ] {
            assert!(names.contain(written), "{written}");
            for end in 1..=written.len() {
                assert!(names.may_become(&written[..end]), "{}", &written[..end]);
            }
        }
        for word in ["get_weathers", "weather", "The", "functions.", ""] {
            assert!(!names.contain(word), "{word}");
        }
        assert!(!names.may_become("The") && !names.may_become("get_x") && !names.may_become("functions.x"));
    }
}
