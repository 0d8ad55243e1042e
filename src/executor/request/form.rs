//! Bodies of type `application/x-www-form-urlencoded`.

use serde_json::Value;

use super::style;
use crate::catalog::{Binding, BodyBinding, Encoding, Location, Style};
use crate::executor::refusal::{Refusal, refuse};

/// The members of an object as pairs joined by `&`. A member is written as its encoding says, else like a query parameter
/// (OpenAPI 3.0.4, Encoding Object); what has no form as pairs, objects within, becomes JSON text.
///
/// # Errors
/// Where the value is no object.
pub(super) fn encode(binding: &BodyBinding, value: &Value) -> Result<String, Refusal> {
    let Value::Object(members) = value else {
        return Err(refuse!("a body of type `{}` is made from an object, and the value is none", binding.media_type));
    };
    let pairs = members.iter().flat_map(|(name, value)| pairs(name, value, binding.encoding.get(name)));
    Ok(pairs.collect::<Vec<String>>().join("&"))
}

fn pairs(name: &str, value: &Value, encoding: Option<&Encoding>) -> Vec<String> {
    let style = encoding.and_then(|encoding| encoding.style);
    let explode = encoding.and_then(|encoding| encoding.explode);
    let written = Binding {
        argument: name.to_owned(),
        name: name.to_owned(),
        location: Location::Query,
        required: false,
        style: style.unwrap_or(Style::Form),
        explode: explode.unwrap_or(style.is_none_or(|style| style == Style::Form)),
        allow_reserved: encoding.is_some_and(|encoding| encoding.allow_reserved),
        media_type: (style.is_none() && is_nested(value)).then(|| "application/json".to_owned()),
        nested: encoding.map(|encoding| encoding.nested.clone()).unwrap_or_default(),
    };
    style::query(&[(&written, value)])
}

/// Does the value hold more than a list of scalars?
fn is_nested(value: &Value) -> bool {
    match value {
        Value::Object(_) => true,
        Value::Array(items) => items.iter().any(|item| item.is_object() || item.is_array()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::catalog::BodyShape;

    fn encoded(encoding: &[(&str, Encoding)], value: &Value) -> Result<String, Refusal> {
        encode(
            &BodyBinding {
                media_type: "application/x-www-form-urlencoded".into(),
                required: true,
                shape: BodyShape::Argument("body".into()),
                encoding: encoding
                    .iter()
                    .map(|(name, encoding)| ((*name).to_owned(), encoding.clone()))
                    .collect::<BTreeMap<_, _>>(),
            },
            value,
        )
    }

    #[test]
    fn members_are_written_like_query_parameters_and_read_back() {
        let value = json!({"criteria": "a=b & c+d", "rows": 5, "tags": ["x", "y"], "on": true, "none": null});
        let body = encoded(&[], &value).unwrap();
        let read: Vec<(String, String)> = url::form_urlencoded::parse(body.as_bytes()).into_owned().collect();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = [
            pair("criteria", "a=b & c+d"),
            pair("rows", "5"),
            pair("tags", "x"),
            pair("tags", "y"),
            pair("on", "true"),
        ];
        assert_eq!(read[..5], expected, "{body}");
    }

    #[test]
    fn objects_become_json_unless_an_encoding_spreads_them() {
        let value = json!({"address": {"city": "Bonn"}});
        let read = |body: String| url::form_urlencoded::parse(body.as_bytes()).into_owned().next();
        let json = read(encoded(&[], &value).unwrap());
        assert_eq!(json, Some(("address".into(), r#"{"city":"Bonn"}"#.into())));
        let deep = Encoding { style: Some(Style::DeepObject), explode: Some(true), ..Encoding::default() };
        let spread = read(encoded(&[("address", deep)], &value).unwrap());
        assert_eq!(spread, Some(("address[city]".into(), "Bonn".into())));
    }

    #[test]
    fn a_value_that_is_no_object_is_refused() {
        assert!(encoded(&[], &json!("a=b")).is_err());
    }
}
