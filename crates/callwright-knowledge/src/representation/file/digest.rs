//! Detects edits of learned patterns.

use sha2::{Digest, Sha256};

use callwright_common::digest::{add_part, hex};
use callwright_types::representation::Pattern;

/// Number of hexadecimal digits of a digest: collisions of accidental edits are unlikely, and the text stays short.
const DIGITS: usize = 16;

/// Returns the digest of the parts of a pattern that a person may edit: its texts and its weight.
pub(super) fn digest(pattern: &Pattern) -> String {
    let mut hash = Sha256::new();
    add_part(&mut hash, &pattern.weight.to_bits().to_be_bytes());
    for text in std::iter::once(&pattern.description).chain(&pattern.cases) {
        add_part(&mut hash, text.as_bytes());
    }
    let mut digits = hex(&hash.finalize());
    digits.truncate(DIGITS);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_makes_another_digest() {
        let pattern = Pattern { description: "a".to_owned(), cases: vec!["b".to_owned(), "c".to_owned()], weight: 1.0 };
        let mut changed = vec![pattern.clone(); 4];
        changed[0].description.push('!');
        changed[1].cases.pop();
        changed[2].cases.swap(0, 1);
        changed[3].weight = 0.5;
        let own = digest(&pattern);
        assert_eq!(own.len(), DIGITS);
        assert!(changed.iter().all(|other| digest(other) != own));
        assert_eq!(digest(&pattern.clone()), own);
    }
}
