//! Authenticated encryption of secrets in the database.
//!
//! AES-256-GCM (NIST SP 800-38D) with a random 96-bit nonce, which precedes the ciphertext.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};

use callwright_types::Secret;

/// Error: a key of `[store] seal_key` is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`store.seal_key`: key {number} of {count} {why}; a key is 32 random bytes in base64, for example from `openssl rand -base64 32`"
)]
pub struct SealKeyError {
    number: usize,
    count: usize,
    why: String,
}

/// Encrypts with the first key, decrypts with any key.
pub(super) struct Seal {
    first: LessSafeKey,
    others: Vec<LessSafeKey>,
    random: SystemRandom,
}

impl Seal {
    /// Parses keys separated by white space; returns `None` if there are none.
    ///
    /// # Errors
    /// [`SealKeyError`], which contains no part of a key.
    pub(super) fn parse(keys: &Secret) -> Result<Option<Self>, SealKeyError> {
        let texts: Vec<&str> = keys.expose().split_whitespace().collect();
        let count = texts.len();
        let mut keys = texts
            .into_iter()
            .zip(1..)
            .map(|(text, number)| parsed_key(text).map_err(|why| SealKeyError { number, count, why }));
        let Some(first) = keys.next().transpose()? else { return Ok(None) };
        let others = keys.collect::<Result<_, _>>()?;
        Ok(Some(Self { first, others, random: SystemRandom::new() }))
    }

    /// Encrypts a text for one location (associated data): decryption fails elsewhere. `None` if the system has no
    /// random numbers.
    pub(super) fn close(&self, text: &[u8], location: &str) -> Option<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        self.random.fill(&mut nonce).ok()?;
        let mut sealed = text.to_vec();
        let nonce_of_this = Nonce::assume_unique_for_key(nonce);
        self.first.seal_in_place_append_tag(nonce_of_this, Aad::from(location.as_bytes()), &mut sealed).ok()?;
        Some([&nonce[..], &sealed].concat())
    }

    /// Decrypts a text for this location; returns `None` if the key or the location differs, or the data is damaged.
    pub(super) fn open(&self, sealed: &[u8], location: &str) -> Option<Vec<u8>> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>()?;
        std::iter::once(&self.first).chain(&self.others).find_map(|key| {
            // Decryption in place destroys the input if the key does not match.
            let mut text = sealed.to_vec();
            let nonce = Nonce::assume_unique_for_key(*nonce);
            let length = key.open_in_place(nonce, Aad::from(location.as_bytes()), &mut text).ok()?.len();
            text.truncate(length);
            Some(text)
        })
    }
}

fn parsed_key(text: &str) -> Result<LessSafeKey, String> {
    let bytes = STANDARD.decode(text).map_err(|_| "is not base64".to_owned())?;
    let key = UnboundKey::new(&AES_256_GCM, &bytes).map_err(|_| format!("has {} bytes", bytes.len()))?;
    Ok(LessSafeKey::new(key))
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seal").field("keys", &(1 + self.others.len())).finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns a key that repeats one byte.
    pub(crate) fn key(byte: u8) -> String {
        STANDARD.encode([byte; 32])
    }

    pub(crate) fn seal(keys: &[u8]) -> Seal {
        let keys: Vec<String> = keys.iter().map(|byte| key(*byte)).collect();
        Seal::parse(&keys.join(" ").into()).unwrap().unwrap()
    }

    #[test]
    fn sealed_text_opens_only_at_its_location() {
        let seal = seal(&[1]);
        let sealed = seal.close(b"canary", "a").unwrap();
        assert!(!sealed.windows(6).any(|part| part == b"canary"));
        assert_eq!(seal.open(&sealed, "a").as_deref(), Some(&b"canary"[..]));
        assert_eq!(seal.open(&sealed, "b"), None);
        assert_ne!(seal.close(b"canary", "a").unwrap(), sealed, "a nonce is used once");
    }

    #[test]
    fn damaged_text_does_not_open() {
        let seal = seal(&[1]);
        let sealed = seal.close(b"canary", "a").unwrap();
        for index in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[index] ^= 1;
            assert_eq!(seal.open(&damaged, "a"), None, "{index}");
            assert_eq!(seal.open(&sealed[..index], "a"), None, "{index}");
        }
    }

    #[test]
    fn the_first_key_seals_and_every_key_opens() {
        let (old, both, new) = (seal(&[1]), seal(&[2, 1]), seal(&[2]));
        let (by_old, by_both) = (old.close(b"text", "a").unwrap(), both.close(b"text", "a").unwrap());
        assert!(both.open(&by_old, "a").is_some() && both.open(&by_both, "a").is_some());
        assert!(new.open(&by_both, "a").is_some() && new.open(&by_old, "a").is_none());
        assert!(old.open(&by_both, "a").is_none());
    }

    #[test]
    fn an_invalid_key_is_reported_without_it() {
        for none in ["", "  \n"] {
            assert!(Seal::parse(&none.into()).unwrap().is_none());
        }
        let error_of = |text: &str| Seal::parse(&text.into()).unwrap_err().to_string();
        let short = STANDARD.encode("canary");
        let error = error_of(&format!("{} {short}", key(1)));
        assert!(error.starts_with("`store.seal_key`: key 2 of 2 has 6 bytes") && !error.contains(&short), "{error}");
        assert!(error_of("canary!").contains("key 1 of 1 is not base64") && !error_of("canary!").contains("canary"));
    }
}
