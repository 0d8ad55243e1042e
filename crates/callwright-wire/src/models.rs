//! List of models (API reference, "List models").

use std::borrow::Cow;

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::fields::{ObjectFields, string};
use callwright_common::json::{RawObject, raw};

/// Returns the response of `GET /v1/models` for aliases only: pairs of id and owner.
pub fn model_list(aliases: &[(&str, &str)]) -> Value {
    json!({ "object": "list", "data": aliases.iter().map(|alias| model(*alias)).collect::<Vec<_>>() })
}

/// Returns the upstream's list with the aliases at the front. Upstream entries with the id of an alias are omitted;
/// all others keep their text. Returns `None` if the upstream's response is not a model list.
pub fn merge_model_lists(upstream: &[u8], aliases: &[(&str, &str)]) -> Option<Bytes> {
    let own = aliases.iter().map(|alias| raw(&model(*alias))).collect();
    with_entries(upstream, own, |id| id.is_none_or(|id| aliases.iter().all(|(alias, _)| id != *alias)))
}

/// Returns the list with only those entries whose id satisfies `is_wanted`; their text is kept. Returns `None` if it
/// is not a model list.
pub fn filter_model_list(list: &[u8], is_wanted: impl Fn(&str) -> bool) -> Option<Bytes> {
    with_entries(list, Vec::new(), |id| id.is_some_and(&is_wanted))
}

/// Returns a list with the entries `first`, and those of its own whose id satisfies `is_kept`.
fn with_entries(list: &[u8], first: Vec<Box<RawValue>>, is_kept: impl Fn(Option<&str>) -> bool) -> Option<Bytes> {
    let mut list = RawObject::parse_bytes(list).ok()?;
    let mut entries = first;
    let own: Vec<&RawValue> = list.get_as("data")?;
    let kept = own
        .into_iter()
        .filter(|entry| is_kept(ObjectFields::parse(entry.get()).and_then(|entry| entry.string("id")).as_deref()));
    entries.extend(kept.map(ToOwned::to_owned));
    list.set("data", raw(&entries));
    Some(list.to_raw().get().as_bytes().to_vec().into())
}

/// Returns the `model` that a body names.
pub fn named_model(body: &[u8]) -> Option<String> {
    let body = RawObject::parse_bytes(body).ok()?;
    body.get("model").and_then(string).map(Cow::into_owned)
}

/// Returns the body with another `model`; all other members keep their text. `None` if it is not a JSON object.
pub fn with_model(body: &[u8], model: &str) -> Option<Bytes> {
    let mut body = RawObject::parse_bytes(body).ok()?;
    body.set("model", raw(model));
    Some(body.to_raw().get().as_bytes().to_vec().into())
}

fn model((id, owned_by): (&str, &str)) -> Value {
    // Aliases have no creation time.
    json!({"id": id, "object": "model", "created": 0, "owned_by": owned_by})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_precede_the_upstreams_models_and_hide_namesakes() {
        let upstream = br#"{"object":"list","x":1.0,"data":[{"id":"a", "k":1E1},{"id":"b"},7]}"#;
        let merged = merge_model_lists(upstream, &[("b", "callwright")]).unwrap();
        assert_eq!(
            merged,
            r#"{"object":"list","x":1.0,"data":[{"id":"b","object":"model","created":0,"owned_by":"callwright"},{"id":"a", "k":1E1},7]}"#
        );
    }

    #[test]
    fn a_list_can_be_made_shorter() {
        let list = br#"{"object":"list","data":[{"id":"a", "k":1E1},{"id":"b"},7],"x":1.0}"#;
        assert_eq!(
            filter_model_list(list, |id| id == "a").unwrap(),
            r#"{"object":"list","data":[{"id":"a", "k":1E1}],"x":1.0}"#
        );
        assert!(filter_model_list(b"[]", |_| true).is_none());
    }

    #[test]
    fn an_answer_that_is_no_list_is_not_merged() {
        for text in [&b"[]"[..], b"{\"data\":{}}", b"{\"error\":{}}", b"\xff"] {
            assert!(merge_model_lists(text, &[]).is_none());
        }
    }

    #[test]
    fn a_list_of_aliases_has_the_form_clients_read() {
        let list = model_list(&[("a", "callwright")]);
        assert_eq!(list["data"][0], json!({"id": "a", "object": "model", "created": 0, "owned_by": "callwright"}));
        assert_eq!(list["object"], "list");
    }
}
