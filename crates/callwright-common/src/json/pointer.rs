//! JSON Pointer (RFC 6901).

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A location in a JSON document (RFC 6901), as its text: `` for the whole document, `/a~1b/0` for the first item under
/// `a/b`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Pointer(String);

impl Pointer {
    /// Returns the pointer to the whole document.
    pub fn root() -> Self {
        Self::default()
    }

    /// Whether the value at `inner` is the value at this pointer, or within it.
    pub fn contains(&self, inner: &Self) -> bool {
        inner.0.strip_prefix(&self.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Returns the pointer to the member or item `token`, which is escaped here.
    #[must_use]
    pub fn child(&self, token: &str) -> Self {
        let mut text = String::with_capacity(self.0.len() + 1 + token.len());
        text.push_str(&self.0);
        text.push('/');
        if token.contains(['~', '/']) {
            text.push_str(&token.replace('~', "~0").replace('/', "~1"));
        } else {
            text.push_str(token);
        }
        Self(text)
    }

    /// Returns the pointer to the item at `index`.
    #[must_use]
    pub fn item(&self, index: usize) -> Self {
        Self(format!("{}/{index}", self.0))
    }

    /// Returns the unescaped reference tokens, outermost first.
    pub fn tokens(&self) -> Vec<String> {
        self.0.split('/').skip(1).map(|token| Self::unescaped(token).into_owned()).collect()
    }

    /// Returns the unescaped form of a reference token.
    pub fn unescaped(token: &str) -> Cow<'_, str> {
        if token.contains('~') { token.replace("~1", "/").replace("~0", "~").into() } else { token.into() }
    }

    /// Returns the last unescaped reference token: the parameter's name or the item's index.
    pub fn last(&self) -> Option<String> {
        self.tokens().pop()
    }

    /// Whether the pointer addresses the whole document.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the pointer's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Pointer {
    /// Converts the text of a pointer; a text without a leading `/` is the name of a member.
    fn from(text: &str) -> Self {
        if text.is_empty() || text.starts_with('/') { Self(text.to_owned()) } else { Self::root().child(text) }
    }
}

impl From<Pointer> for String {
    fn from(pointer: Pointer) -> Self {
        pointer.0
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_escaped_and_read_back() {
        let pointer = Pointer::root().child("a/b~c").item(3);
        assert_eq!(pointer.as_str(), "/a~1b~0c/3");
        assert_eq!(pointer.tokens(), ["a/b~c", "3"]);
        assert_eq!(pointer.last().as_deref(), Some("3"));
        assert!(Pointer::root().tokens().is_empty());
    }
}
