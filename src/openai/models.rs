//! The list of models.

use bytes::Bytes;
use serde_json::Value;

/// The answer of `GET /v1/models` for aliases alone: pairs of id and owner.
pub fn model_list(_aliases: &[(&str, &str)]) -> Value {
    todo!()
}

/// The upstream's list with the aliases in front; entries of the upstream whose id is an alias are left out. `None` where the
/// upstream's answer is not a model list.
pub fn merge_model_lists(_upstream: &[u8], _aliases: &[(&str, &str)]) -> Option<Bytes> {
    todo!()
}
