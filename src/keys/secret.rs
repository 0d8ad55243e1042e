//! Secrets of keys (creation, parsing, comparison), and the credential of operators.

use std::iter::repeat_with;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use ring::rand::{SecureRandom, SystemRandom};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use callwright_common::digest::hex;
use callwright_types::{KeySecret, Secret};

/// Prefix of every secret, recognisable by people and by secret scanners.
const BEGINNING: &str = "cw-";

/// Number of characters of the handle, which lists show. The chance that two keys have the same handle is 1 in 10^14.
const HANDLE_LENGTH: usize = 8;

/// Number of random bytes of a secret. 256 bits cannot be guessed, so a plain hash protects them as well as a slow one.
const RANDOM_BYTES: usize = 32;

/// Creates a secret and its stored form. Returns `None` if the system provides no random numbers.
pub(super) fn mint(at: Timestamp) -> Option<(Secret, KeySecret)> {
    let mut random = [0; RANDOM_BYTES];
    SystemRandom::new().fill(&mut random).ok()?;
    let handle: String = repeat_with(fastrand::alphanumeric).take(HANDLE_LENGTH).collect();
    let text = format!("{BEGINNING}{handle}-{}", URL_SAFE_NO_PAD.encode(random));
    let kept = KeySecret { handle, hash: hex(&digest(&text)), created_at: at, valid_until: None };
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

/// Returns the SHA-256 hash of a text.
pub(super) fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// Compares two hashes in constant time.
pub(super) fn is_same(one: &[u8; 32], other: &[u8; 32]) -> bool {
    one.ct_eq(other).into()
}

/// Parses a hash in hexadecimal digits.
pub(super) fn hash_of(hex: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let digits = hex.as_bytes();
    if digits.len() != 2 * bytes.len() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// Operator token; only its hash is held.
#[derive(Clone)]
pub struct OperatorToken(Option<[u8; 32]>);

impl OperatorToken {
    /// Creates a credential from the settings; an empty token disables the check.
    pub fn of(token: &Secret) -> Self {
        Self((!token.is_empty()).then(|| digest(token.expose())))
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
    fn a_secret_is_known_again_by_what_is_kept_and_cannot_be_read_there() {
        let (secret, kept) = mint(Timestamp::UNIX_EPOCH).unwrap();
        let text = secret.expose();
        assert_eq!(handle_of(text), Some(kept.handle.as_str()));
        assert!(is_same(&hash_of(&kept.hash).unwrap(), &digest(text)));
        assert!(!is_same(&hash_of(&kept.hash).unwrap(), &digest(&format!("{text}x"))));
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
    fn only_64_digits_are_a_hash() {
        assert_eq!(hash_of(&hex(&[7; 32])), Some([7; 32]));
        for text in ["", "0", &"0".repeat(63), &"g".repeat(64), &"ä".repeat(32)] {
            assert_eq!(hash_of(text), None, "{text}");
        }
    }

    #[test]
    fn without_a_token_everybody_is_admitted_and_with_one_only_who_sends_it() {
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
