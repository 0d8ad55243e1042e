//! Which tools of the catalog a session used before.
//!
//! The client's history does not hold the calls that the proxy ran, so they are kept here: a hint that is lost with the process, and
//! without which a tool may be missing that the conversation does not name again.

use std::sync::Arc;

use moka::sync::Cache;

/// Sessions that are remembered, those used last.
const MAX_SESSIONS: u64 = 10_000;

/// Tools of a session that are remembered, those called last.
const MAX_TOOLS: usize = 64;

/// The tools that each session called, oldest first. Clones share one memory.
#[derive(Debug, Clone)]
pub(crate) struct Called {
    sessions: Cache<String, Arc<[String]>>,
}

impl Called {
    /// Nothing called yet.
    pub(crate) fn new() -> Self {
        Self { sessions: Cache::new(MAX_SESSIONS) }
    }

    /// The tools that the session called before.
    pub(super) fn of(&self, session: Option<&str>) -> Arc<[String]> {
        session.and_then(|session| self.sessions.get(session)).unwrap_or_default()
    }

    /// Takes note of the tools that a turn of the session called.
    pub(crate) fn note<'a>(&self, session: &str, tools: impl Iterator<Item = &'a str>) {
        let mut tools = tools.peekable();
        if tools.peek().is_none() {
            return;
        }
        let mut all: Vec<String> = self.of(Some(session)).to_vec();
        for tool in tools {
            all.retain(|known| known != tool);
            all.push(tool.to_owned());
        }
        all.drain(..all.len().saturating_sub(MAX_TOOLS));
        self.sessions.insert(session.to_owned(), all.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_keeps_the_tools_that_it_called_last() {
        let called = Called::new();
        called.note("a", ["x", "y", "x"].into_iter());
        called.note("a", ["z"].into_iter());
        called.note("b", std::iter::empty());
        assert_eq!(&*called.of(Some("a")), ["y", "x", "z"]);
        assert!(called.of(Some("b")).is_empty() && called.of(None).is_empty());
        let many: Vec<String> = (0..MAX_TOOLS + 5).map(|n| n.to_string()).collect();
        called.note("a", many.iter().map(String::as_str));
        assert_eq!(&*called.of(Some("a")), &many[5..]);
    }
}
