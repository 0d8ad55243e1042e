//! Bodies of every media type, from argument values.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use callwright_openapi::{Encoding as Member, Style};

fn binding(media_type: &str, format: BodyFormat) -> BodyBinding {
    BodyBinding {
        media_type: media_type.into(),
        format,
        required: true,
        shape: BodyShape::Argument("body".into()),
        content: if format == BodyFormat::Bytes { Content::File } else { Content::Value },
        encoding: BTreeMap::new(),
    }
}

fn encoded(binding: &BodyBinding, value: &Value) -> (String, Vec<u8>) {
    let (header, bytes) = encode(Some(binding), Some(value)).unwrap().unwrap();
    (header.to_str().unwrap().to_owned(), bytes.to_vec())
}

fn form(encoding: &[(&str, Member)], value: &Value) -> String {
    let mut form = binding("application/x-www-form-urlencoded", BodyFormat::Form);
    form.encoding = encoding.iter().map(|(name, encoding)| ((*name).to_owned(), encoding.clone())).collect();
    String::from_utf8(encoded(&form, value).1).unwrap()
}

fn parse_form(form: &str) -> Vec<(String, String)> {
    url::form_urlencoded::parse(form.as_bytes()).into_owned().collect()
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn json_bodies_are_sent_as_they_are() {
    for media_type in ["application/json", "Application/JSON; charset=utf-8", "application/merge-patch+json"] {
        let (header, bytes) = encoded(&binding(media_type, BodyFormat::Json), &json!({"a": 1.5}));
        assert_eq!((header.as_str(), &bytes[..]), (media_type, &br#"{"a":1.5}"#[..]));
    }
}

#[test]
fn sequences_have_one_item_per_line() {
    let cases = [
        ("application/x-ndjson", json!([{"a": 1}, "b\n"]), "{\"a\":1}\n\"b\\n\"\n"),
        ("application/json-seq", json!([1, 2]), "\u{1e}1\n\u{1e}2\n"),
        ("application/geo+json-seq", json!({"a": 1}), "\u{1e}{\"a\":1}\n"),
        ("application/x-ndjson", json!([]), ""),
    ];
    for (media_type, value, expected) in cases {
        let (_, bytes) = encoded(&binding(media_type, BodyFormat::JsonSequence), &value);
        assert_eq!(String::from_utf8(bytes).unwrap(), expected, "{media_type}");
    }
}

#[test]
fn yaml_is_json_or_the_text_that_it_is() {
    let yaml =
        |value: Value| String::from_utf8(encoded(&binding("application/yaml", BodyFormat::Yaml), &value).1).unwrap();
    assert_eq!(yaml(json!({"a": [1]})), r#"{"a":[1]}"#);
    assert_eq!(yaml(json!("a: 1\n")), "a: 1\n");
}

#[test]
fn texts_are_sent_in_the_declared_charset() {
    let text = |media_type: &str, value: Value| encoded(&binding(media_type, BodyFormat::Text), &value).1;
    assert_eq!(text("text/plain", json!("ü\r\n")), "ü\r\n".as_bytes());
    assert_eq!(text("text/plain; charset=\"ISO-8859-1\"", json!("ü")), [0xfc]);
    assert_eq!(text("text/plain; charset=unheard-of", json!("ü")), "ü".as_bytes());
    assert_eq!(text("text/plain", json!(7)), b"7");
    let latin = binding("text/plain; charset=iso-8859-1", BodyFormat::Text);
    let refusal = encode(Some(&latin), Some(&json!("日本"))).unwrap_err();
    assert!(refusal.message.contains("`body`"), "{refusal}");
}

#[test]
fn files_are_sent_as_bytes_with_their_type_if_left_open() {
    let png = json!("data:image/png;base64,iVBORw==");
    let cases = [
        ("image/png", &png, "image/png", b"\x89PNG".to_vec()),
        ("image/*", &png, "image/png", b"\x89PNG".to_vec()),
        ("application/octet-stream", &png, "application/octet-stream", b"\x89PNG".to_vec()),
        ("image/*", &json!("ü"), "application/octet-stream", "ü".as_bytes().to_vec()),
    ];
    for (media_type, value, header, bytes) in cases {
        assert_eq!(encoded(&binding(media_type, BodyFormat::Bytes), value), (header.to_owned(), bytes), "{media_type}");
    }
}

#[test]
fn absent_bodies_are_none() {
    assert!(encode(Some(&binding("application/json", BodyFormat::Json)), None).unwrap().is_none());
    assert!(encode(None, Some(&json!(1))).unwrap().is_none());
    assert!(encode(Some(&binding("text/plain", BodyFormat::Text)), Some(&Value::Null)).unwrap().is_none());
}

#[test]
fn form_members_are_pairs_and_read_back() {
    let value = json!({"criteria": "a=b & c+d~", "rows": 5, "tags": ["x", "y"], "on": true, "none": null, "e": ""});
    let body = form(&[], &value);
    assert!(body.starts_with("criteria=a%3Db%20%26%20c%2Bd~&rows=5"), "{body}");
    let expected =
        owned(&[("criteria", "a=b & c+d~"), ("rows", "5"), ("tags", "x"), ("tags", "y"), ("on", "true"), ("e", "")]);
    assert_eq!(parse_form(&body), expected, "{body}");
    assert_eq!(form(&[], &json!("a=b&c=d")), "a=b&c=d");
    assert!(encode(Some(&binding("x", BodyFormat::Form)), Some(&json!([1]))).is_err());
}

#[test]
fn form_members_are_written_by_style_or_else_by_content() {
    let value = json!({"m": {"city": "Bonn", "x": [1, 2]}});
    let style = |style, explode| Member { style: Some(style), explode, ..Member::default() };
    let typed = |media_type: &str| Member { content_type: Some(media_type.into()), ..Member::default() };
    assert_eq!(parse_form(&form(&[], &value)), owned(&[("m", r#"{"city":"Bonn","x":[1,2]}"#)]));
    let deep = form(&[("m", style(Style::DeepObject, Some(true)))], &value);
    assert_eq!(parse_form(&deep), owned(&[("m[city]", "Bonn"), ("m[x]", "1"), ("m[x]", "2")]));
    let spread = form(&[("m", style(Style::Form, None))], &json!({"m": {"a": 1, "b": "c"}}));
    assert_eq!(parse_form(&spread), owned(&[("a", "1"), ("b", "c")]));
    let joined = form(&[("m", style(Style::Form, Some(false)))], &json!({"m": ["a", "b"]}));
    assert_eq!(joined, "m=a,b");
    let piped = form(&[("m", style(Style::PipeDelimited, None))], &json!({"m": ["a", "b"]}));
    assert_eq!(piped, "m=a%7Cb");
    let reserved = Member { allow_reserved: Some(true), ..Member::default() };
    assert_eq!(form(&[("m", reserved)], &json!({"m": "a/b?c&d"})), "m=a/b?c%26d");
    assert_eq!(form(&[("m", typed("application/json"))], &json!({"m": "a"})), "m=%22a%22");
    assert_eq!(
        parse_form(&form(&[], &json!({"m": [{"a": 1}, {"b": 2}]}))),
        owned(&[("m", r#"{"a":1}"#), ("m", r#"{"b":2}"#)])
    );
}

#[test]
fn files_of_a_form_are_encoded_bytes() {
    let file = Member { content: Content::File, ..Member::default() };
    assert_eq!(form(&[("f", file)], &json!({"f": "data:;base64,AP8="})), "f=%00%FF");
}
