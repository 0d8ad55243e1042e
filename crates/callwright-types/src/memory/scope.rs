//! Whose memory it is.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whose memory a lesson or procedure belongs to. It is used for turns of the same scope alone, so that nothing that one client's
/// traffic taught reaches another client, unless policy names a group that both belong to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Scope(String);

impl Scope {
    /// The memory of one client alone: `tenant` is the hash of its key.
    pub fn of_key(tenant: &str) -> Self {
        Self(format!("key:{tenant}"))
    }

    /// The memory that all clients share whose policy names this group.
    pub fn of_group(group: &str) -> Self {
        Self(format!("group:{group}"))
    }

    /// As it is stored: `key:HASH` or `group:NAME`.
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
    }
}
