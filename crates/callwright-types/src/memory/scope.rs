//! Scope of memory.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Beginning of a group's scope.
const GROUP: &str = "group:";

/// Scope that a lesson or procedure belongs to. It is used only for turns of the same scope: knowledge from one
/// client's traffic does not reach another client, unless policy names a group to which both belong.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Scope(String);

impl Scope {
    /// Creates the scope of one client; `tenant` is the hash of its key.
    pub fn of_key(tenant: &str) -> Self {
        Self(format!("key:{tenant}"))
    }

    /// Creates the scope shared by all clients whose policy names this group.
    pub fn of_group(group: &str) -> Self {
        Self(format!("{GROUP}{group}"))
    }

    /// Whether clients share the scope.
    pub fn is_group(&self) -> bool {
        self.0.starts_with(GROUP)
    }

    /// Returns the stored form: `key:HASH` or `group:NAME`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Scope {
    fn from(stored: String) -> Self {
        Self(stored)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_never_a_key() {
        assert_ne!(Scope::of_key("a"), Scope::of_group("a"));
        assert_ne!(Scope::of_group("key:a"), Scope::of_key("a"));
        assert!(Scope::of_group("a").is_group() && !Scope::of_key("group:a").is_group());
    }
}
