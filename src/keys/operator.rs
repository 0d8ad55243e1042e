//! Credential of operators.

use super::secret::{digest, is_same};
use callwright_types::Secret;

/// Operator token; only its hash is held.
#[derive(Clone)]
pub struct OperatorToken(Option<[u8; 32]>);

impl OperatorToken {
    /// Creates a credential from the settings; an empty token disables the check.
    pub fn of(token: &Secret) -> Self {
        Self((!token.is_empty()).then(|| digest(token.expose())))
    }

    /// Whether the sent token matches, or none is required.
    pub fn admits(&self, sent: Option<&str>) -> bool {
        match (&self.0, sent) {
            (None, _) => true,
            (Some(_), None) => false,
            // Hashes have a fixed length, so the comparison does not reveal the token's length.
            (Some(token), Some(sent)) => is_same(token, &digest(sent)),
        }
    }
}

impl std::fmt::Debug for OperatorToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "OperatorToken(set)" } else { "OperatorToken(unset)" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_token_everybody_is_admitted_and_with_one_only_who_sends_it() {
        let none = OperatorToken::of(&Secret::default());
        assert!(none.admits(None) && none.admits(Some("anything")));
        let token = OperatorToken::of(&Secret::new("canary"));
        assert!(token.admits(Some("canary")));
        for sent in [None, Some(""), Some("canar"), Some("canary "), Some("Canary")] {
            assert!(!token.admits(sent), "{sent:?}");
        }
        assert!(!format!("{token:?}").contains("canary"));
    }
}
