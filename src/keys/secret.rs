//! Secrets of keys (creation, parsing, comparison), and the credential of operators.

use std::iter::repeat_with;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use ring::rand::{SecureRandom, SystemRandom};
use subtle::ConstantTimeEq;

use callwright_common::digest;
use callwright_types::{KeySecret, Secret};

/// Prefix of every secret, recognisable by people and by secret scanners.
const BEGINNING: &str = "cw-";

/// Number of characters of the handle, which lists show. The chance that two keys have the same handle is 1 in 10^14.
const HANDLE_LENGTH: usize = 8;

/// Creates a secret and its stored form. Returns `None` if the system provides no random numbers.
pub(super) fn mint(at: Timestamp) -> Option<(Secret, KeySecret)> {
    // 256 bits cannot be guessed, so a plain hash protects them as well as a slow one.
    let mut random = [0; 32];
    SystemRandom::new().fill(&mut random).ok()?;
    let handle: String = repeat_with(fastrand::alphanumeric).take(HANDLE_LENGTH).collect();
    let text = format!("{BEGINNING}{handle}-{}", URL_SAFE_NO_PAD.encode(random));
    let kept = KeySecret { handle, hash: digest::of_text(&text), created_at: at, valid_until: None };
    Some((Secret::new(text), kept))
}

/// Returns the handle of a text with the form of a virtual key's secret.
pub(super) fn handle_of(text: &str) -> Option<&str> {
    let (handle, secret) = text.strip_prefix(BEGINNING)?.split_once('-')?;
    let fits = handle.len() == HANDLE_LENGTH && handle.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (fits && !secret.is_empty()).then_some(handle)
}

/// Whether a text has the form of a virtual key's secret.
pub fn may_be_ours(text: &str) -> bool {
    handle_of(text).is_some()
}

/// Returns the form in which lists show a secret.
pub(super) fn prefix(handle: &str) -> String {
    format!("{BEGINNING}{handle}-...")
}

/// Whether a text has this hash. The comparison takes constant time.
pub(super) fn has_hash(text: &str, hash: &str) -> bool {
    digest::of_text(text).as_bytes().ct_eq(hash.as_bytes()).into()
}

/// Operator token; only its hash is held.
#[derive(Clone)]
pub struct OperatorToken(Option<String>);

impl OperatorToken {
    /// Creates a credential from the settings; an empty token disables the check.
    pub fn of(token: &Secret) -> Self {
        Self((!token.is_empty()).then(|| digest::of_text(token.expose())))
    }

    /// Whether the sent token matches. A proxy without an operator token recognises no operator.
    pub fn is_operator(&self, sent: Option<&str>) -> bool {
        self.0.is_some() && self.admits(sent)
    }

    /// Whether the sent token matches, or none is required.
    pub fn admits(&self, sent: Option<&str>) -> bool {
        match (&self.0, sent) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(hash), Some(sent)) => has_hash(sent, hash),
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
    fn a_secret_is_recognised_by_a_stored_form_that_hides_it() {
        let (secret, kept) = mint(Timestamp::UNIX_EPOCH).unwrap();
        let text = secret.expose();
        assert_eq!(handle_of(text), Some(kept.handle.as_str()));
        assert!(has_hash(text, &kept.hash) && !has_hash(&format!("{text}x"), &kept.hash));
        let random = text.rsplit_once(&format!("{}-", kept.handle)).unwrap().1;
        assert_eq!(random.len(), 43, "256 bits in base64");
        assert!(!format!("{kept:?}").contains(random));
        assert_ne!(mint(Timestamp::UNIX_EPOCH).unwrap().0.expose(), text);
    }

    #[test]
    fn what_is_no_secret_of_ours_has_no_handle() {
        for text in
            ["", "sk-abc", "cw-", "cw-12345678", "cw-12345678-", "cw-1234567-x", "cw-1234567ä-x", "CW-12345678-x"]
        {
            assert_eq!(handle_of(text), None, "{text}");
        }
        assert_eq!(handle_of("cw-12345678-x-y"), Some("12345678"));
    }

    #[test]
    fn a_text_that_is_no_hash_fits_nothing() {
        for hash in ["", "0", &"0".repeat(64), &"g".repeat(64)] {
            assert!(!has_hash("", hash), "{hash}");
        }
    }

    #[test]
    fn a_token_admits_only_its_senders_and_no_token_admits_all() {
        let none = OperatorToken::of(&Secret::default());
        assert!(!none.is_operator(None) && !none.is_operator(Some("x")));
        assert!(none.admits(None) && none.admits(Some("anything")));
        let token = OperatorToken::of(&Secret::new("canary"));
        assert!(token.is_operator(Some("canary")) && !token.is_operator(Some("x")) && !token.is_operator(None));
        assert!(token.admits(Some("canary")));
        for sent in [None, Some(""), Some("canar"), Some("canary "), Some("Canary")] {
            assert!(!token.admits(sent), "{sent:?}");
        }
        assert!(!format!("{token:?}").contains("canary"));
    }
}
