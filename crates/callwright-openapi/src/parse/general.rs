//! The general YAML parser.

use serde::de::DeserializeSeed;
use serde_json::Value;
use serde_saphyr::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};

use super::parsed::MAX_NESTING;
use super::value::ValueReader;

/// Maximum number of values that YAML aliases may repeat in total: enough for a response shared by all operations,
/// too few for a denial-of-service attack ("billion laughs").
const MAX_ALIASED: usize = 200_000;

/// Parses a YAML document by the general parser, which recurses, and returns its value with a remark about faults.
pub(super) fn general(text: &str) -> Result<(Value, Option<String>), String> {
    let reading = ValueReader::default();
    let value = serde_saphyr::with_deserializer_from_str_with_options(
        text,
        options(text.len()),
        |deserializer: serde_saphyr::Deserializer<'_, '_>| reading.deserialize(deserializer),
    );
    value.map(|value| (value, reading.remark())).map_err(|error| format!("invalid YAML: {error}"))
}

/// Returns the parser's options. The length of the text in `bytes` bounds its content without aliases; aliases may
/// add [`MAX_ALIASED`]. The last of several equal keys is used, as in JSON. Only `true` and `false` are booleans
/// (YAML 1.2), because `no` can be a country code.
fn options(bytes: usize) -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_NESTING,
            max_events: bytes.saturating_mul(2).saturating_add(MAX_ALIASED),
            max_nodes: bytes.saturating_add(MAX_ALIASED),
            max_total_scalar_bytes: bytes.saturating_mul(2).saturating_add(MAX_ALIASED),
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_ALIASED },
        duplicate_keys: DuplicateKeyPolicy::LastWins,
        strict_booleans: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        with_snippet: false,
    }
}
