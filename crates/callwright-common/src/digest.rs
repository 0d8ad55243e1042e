//! Hashes over several parts, and their text form.

use sha2::{Digest, Sha256};

/// Adds a part to `hash`, prefixed with its length, so that different lists of parts never have the same bytes.
pub fn add_part(hash: &mut Sha256, part: &[u8]) {
    hash.update((part.len() as u64).to_be_bytes());
    hash.update(part);
}

/// Returns the hash of several parts.
pub fn of_parts(parts: impl IntoIterator<Item = impl AsRef<[u8]>>) -> String {
    let mut hash = Sha256::new();
    parts.into_iter().for_each(|part| add_part(&mut hash, part.as_ref()));
    hex(&hash.finalize())
}

/// Returns the id of a client: a hash of the header field that contains its key. The key cannot be recovered from it.
pub fn tenant(key_field: &[u8]) -> String {
    of_parts([key_field])
}

/// Returns the hash of a text.
pub fn of_text(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// Returns the bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        for digit in [byte >> 4, byte & 0xf] {
            text.push(char::from(DIGITS[usize::from(digit)]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_two_digits_each() {
        assert_eq!(hex(&[0, 0x0a, 0xff]), "000aff");
        assert_eq!(hex(&[]), "");
    }

    #[test]
    fn where_one_part_ends_makes_another_hash() {
        let of = |parts: &[&str]| of_parts(parts.iter());
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["a"]), of(&["a", ""]));
    }
}
