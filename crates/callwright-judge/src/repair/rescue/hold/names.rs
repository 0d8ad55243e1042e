//! Words with which a call may begin, matched by prefix while they are being received.

use super::super::call_names::{ARGUMENTS, NAMES, NEUTRAL, WRAPPERS};
use crate::scanner::ToolSet;
use crate::scanner::names::{fold, partly_qualified, without_namespace};

/// Namespaces that models put before the name of a tool that has none.
const NAMESPACES: [&str; 8] =
    ["functions", "function", "tools", "tool", "default_api", "api", "multi_tool_use", "client"];

/// Separators between a namespace and a name.
const SEPARATORS: [char; 4] = ['.', ':', '/', '_'];

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
        self.has(name) || in_namespace(name).is_some_and(|name| self.has(name))
    }

    fn has(&self, name: &str) -> bool {
        self.folded.binary_search(&fold(name)).is_ok()
    }

    /// Whether `start` may become the name of a tool. Returns true for every prefix of a name that
    /// [`FoldedToolNames::contain`] accepts.
    pub(super) fn may_become(&self, start: &str) -> bool {
        self.has_start(start)
            || in_namespace(start).is_some_and(|start| self.has_start(start))
            || NAMESPACES.iter().any(|namespace| namespace.starts_with(start))
    }

    fn has_start(&self, start: &str) -> bool {
        let start = fold(start);
        let at = self.folded.partition_point(|name| *name < start);
        self.folded.get(at).is_some_and(|name| name.starts_with(&start))
    }
}

/// Returns the part after one of the usual namespaces.
fn in_namespace(name: &str) -> Option<&str> {
    NAMESPACES.iter().find_map(|namespace| name.strip_prefix(namespace)?.strip_prefix(SEPARATORS))
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
    use crate::scanner::testing::{TOOLS, tool_set};

    #[test]
    fn names_are_known_in_any_writing_from_their_first_letter_on() {
        let names = FoldedToolNames::of(&tool_set(TOOLS));
        for written in [
            "get_weather",
            "getWeather",
            "GET-WEATHER",
            "get\\_weather",
            "functions.get_weather",
            "cancel",
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
