//! Resolution of references within one schema document.

use percent_encoding::percent_decode_str;
use serde_json::Value;

/// Returns the JSON Pointer (RFC 6901) of a `$ref` within the same document, percent-decoded. `None` for any other
/// reference: nothing is fetched, and tool schemas are self-contained.
pub fn pointer(reference: &str) -> Option<String> {
    let pointer = percent_decode_str(reference.strip_prefix('#')?).decode_utf8().ok()?;
    (pointer.is_empty() || pointer.starts_with('/')).then(|| pointer.into_owned())
}

/// Returns the target of `reference` in the document `root`, and its pointer. A target that is itself a reference is
/// not followed, so that callers detect cycles.
pub fn resolve<'s>(root: &'s Value, reference: &str) -> Option<(String, &'s Value)> {
    let pointer = pointer(reference)?;
    let target = root.pointer(&pointer)?;
    Some((pointer, target))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_fragment_is_decoded_and_its_tokens_unescaped() {
        let root = json!({"$defs": {"a b": 1, "c/d~e": 2, "ü": 3, "100%": 4}, "definitions": {"x": 5}});
        for (reference, value) in [
            ("#/$defs/a%20b", 1),
            ("#/%24defs/a%20b", 1),
            ("#/$defs/c~1d~0e", 2),
            ("#/$defs/c%7E1d%7e0e", 2),
            ("#/$defs/%C3%BC", 3),
            ("#/$defs/100%25", 4),
            ("#/definitions/x", 5),
        ] {
            assert_eq!(resolve(&root, reference).map(|(_, found)| found), Some(&json!(value)), "{reference}");
        }
        assert_eq!(resolve(&root, "#"), Some((String::new(), &root)));
        for nowhere in ["#/$defs/none", "#name", "other.json#/x", "https://example.org/#/$defs/x", "#/%FF", ""] {
            assert_eq!(resolve(&root, nowhere), None, "{nowhere}");
        }
    }
}
