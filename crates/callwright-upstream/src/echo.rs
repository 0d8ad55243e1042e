//! Masking of the operator's keys in responses. Some upstreams repeat a key in errors, and clients must not see it.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use memchr::memmem::{self, Finder};

use callwright_types::Secret;

/// Minimum length in bytes of a masked key. A shorter one is a placeholder (`none`, `ollama`) that may occur in any
/// text.
const SHORTEST_KEY: usize = 16;

/// Byte that replaces each byte of a key, so that the body keeps its declared length.
const MASK: u8 = b'*';

/// Configured keys of one upstream.
#[derive(Debug, Clone, Default)]
pub(super) struct Echo {
    keys: Arc<[Secret]>,
}

impl Echo {
    /// Collects the keys from the configured headers.
    pub(super) fn of(configured: &HeaderMap) -> Self {
        let values = configured.values().filter(|value| value.is_sensitive()).filter_map(|value| value.to_str().ok());
        let keys = values.map(|value| value.strip_prefix("Bearer ").unwrap_or(value));
        Self { keys: keys.filter(|key| key.len() >= SHORTEST_KEY).map(Secret::new).collect() }
    }

    /// Whether there are no keys.
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the length in bytes of the longest key.
    pub(super) fn longest(&self) -> usize {
        self.keys.iter().map(|key| key.expose().len()).max().unwrap_or_default()
    }

    /// Returns the bytes with masked keys.
    pub(super) fn mask(&self, bytes: Bytes) -> Bytes {
        let mut masked: Option<BytesMut> = None;
        for key in self.keys.iter().map(|key| key.expose().as_bytes()) {
            let places: Vec<usize> = Finder::new(key).find_iter(&bytes).collect();
            for place in places {
                let masked = masked.get_or_insert_with(|| BytesMut::from(&bytes[..]));
                if let Some(found) = masked.get_mut(place..place + key.len()) {
                    found.fill(MASK);
                }
            }
        }
        masked.map_or(bytes, BytesMut::freeze)
    }

    /// Removes headers that contain a key.
    pub(super) fn strip(&self, headers: &mut HeaderMap) {
        let with_key = headers.iter().filter(|(_, value)| self.occurs_in(value.as_bytes()));
        for name in with_key.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            headers.remove(name);
        }
    }

    /// Whether the text contains a key.
    fn occurs_in(&self, text: &[u8]) -> bool {
        self.keys.iter().any(|key| memmem::find(text, key.expose().as_bytes()).is_some())
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const KEY: &str = "sk-0123456789abcdef";

    fn echo(keys: &[(&'static str, &str)]) -> Echo {
        let mut configured = HeaderMap::new();
        for (name, key) in keys {
            let mut value = HeaderValue::from_str(key).unwrap();
            value.set_sensitive(true);
            configured.insert(*name, value);
        }
        Echo::of(&configured)
    }

    #[test]
    fn keys_are_written_over_and_lengths_stay() {
        let bearer = format!("Bearer {KEY}");
        let echo = echo(&[("authorization", &bearer), ("x-other", "another-long-secret"), ("x-team", "blue")]);
        assert_eq!(echo.longest(), 19);
        let text = format!("{KEY}, blue, another-long-secret, {KEY}");
        let masked = echo.mask(Bytes::from(text.clone()));
        let stars = "*".repeat(19);
        assert_eq!(masked, format!("{stars}, blue, {stars}, {stars}"));
        assert_eq!(masked.len(), text.len());
        let untouched = Bytes::from_static(b"nothing of the kind");
        assert_eq!(echo.mask(untouched.clone()).as_ptr(), untouched.as_ptr(), "what holds no key is not copied");
        assert!(!format!("{echo:?}").contains("0123456789"));
    }

    #[test]
    fn fields_that_hold_a_key_are_dropped() {
        let echo = echo(&[("api-key", KEY)]);
        let mut headers = HeaderMap::new();
        headers.insert("x-echo", HeaderValue::from_str(&format!("you sent {KEY}")).unwrap());
        headers.insert("x-request-id", HeaderValue::from_static("r"));
        echo.strip(&mut headers);
        assert_eq!(headers.len(), 1);
        assert!(self::echo(&[("api-key", "short")]).is_empty());
    }
}
