//! Identity of reasoning: what recognises a part of an answer when the client returns it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use callwright_common::digest;

/// A thinking block or a reasoning item, as far as it can be recognised. The members are hashes, so that they disclose
/// nothing, except for the id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasoningPart {
    /// `id` of an item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// Hash of the member that proves the origin to the provider: `signature` or `data` of a block, `encrypted_content`
    /// of an item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    proof: Option<String>,
    /// Hash of the readable text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl ReasoningPart {
    /// Creates the identity from the members of a part; empty ones count as absent. `None` if all are.
    pub(crate) fn new(id: Option<Cow<'_, str>>, proof: Option<Cow<'_, str>>, text: &str) -> Option<Self> {
        let part = Self {
            id: present(id).map(Cow::into_owned),
            proof: present(proof).map(|proof| digest::of_text(&proof)),
            text: present(Some(text.into())).map(|text| digest::of_text(&text)),
        };
        (part.id.is_some() || part.proof.is_some() || part.text.is_some()).then_some(part)
    }

    /// Returns the values by which the part can be found: proof and id, because clients may omit either, or else the text.
    pub fn keys(&self) -> Vec<[&str; 2]> {
        let keys = [("proof", &self.proof), ("id", &self.id)];
        let mut keys: Vec<[&str; 2]> =
            keys.into_iter().filter_map(|(kind, value)| Some([kind, value.as_deref()?])).collect();
        if keys.is_empty() {
            keys.extend(self.text.as_deref().map(|text| ["text", text]));
        }
        keys
    }

    /// Whether two parts are the same one: they share a key, and no member that both have differs. Some servers give the
    /// same id or signature to different parts.
    pub fn is_same(&self, other: &Self) -> bool {
        let members = [(&self.proof, &other.proof), (&self.id, &other.id), (&self.text, &other.text)];
        let is_contradicted = members.iter().any(|(own, other)| own.is_some() && other.is_some() && own != other);
        !is_contradicted && self.keys().iter().any(|key| other.keys().contains(key))
    }
}

fn present(value: Option<Cow<'_, str>>) -> Option<Cow<'_, str>> {
    value.filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(id: &str, proof: &str, text: &str) -> ReasoningPart {
        ReasoningPart::new(Some(id.into()), Some(proof.into()), text).unwrap()
    }

    #[test]
    fn a_part_is_recognised_by_what_the_client_returns_of_it() {
        let whole = part("rs_1", "gAAAA", "Rain?");
        for returned in [whole.clone(), part("", "gAAAA", ""), part("rs_1", "", ""), part("rs_1", "", "Rain?")] {
            assert!(whole.is_same(&returned) && returned.is_same(&whole), "{returned:?}");
        }
        for other in [
            part("rs_2", "", ""),
            part("rs_1", "gBBBB", "Rain?"),
            part("rs_1", "", "Snow?"),
            part("", "gAAAA", "Snow?"),
            part("", "", "Rain?"),
        ] {
            assert!(!whole.is_same(&other) && !other.is_same(&whole), "{other:?}");
        }
        assert!(part("", "", "Rain?").is_same(&part("", "", "Rain?")), "a server without signatures");
        assert_eq!(ReasoningPart::new(None, Some("".into()), ""), None);
    }
}
