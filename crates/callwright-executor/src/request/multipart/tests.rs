//! Parts, parsed by an independent test parser.

use callwright_openapi::Content;
use serde_json::json;

use super::*;
use callwright_openapi::{BodyFormat, BodyShape, Style};
use callwright_types::Refusal;

/// A part as a server parses it: its fields and its content.
type Read = (Vec<(String, String)>, Vec<u8>);

fn encoded(media_type: &str, encoding: &[(&str, Encoding)], value: &Value) -> Result<(String, Vec<u8>), Refusal> {
    let binding = BodyBinding {
        media_type: media_type.into(),
        format: BodyFormat::Multipart,
        required: true,
        shape: BodyShape::Argument("body".into()),
        content: Content::Value,
        encoding: encoding.iter().map(|(name, encoding)| ((*name).to_owned(), encoding.clone())).collect(),
    };
    encode(&binding, value).map(|(header, body)| (header.to_str().unwrap().to_owned(), body.to_vec()))
}

/// Parses a body by RFC 2046 section 5.1.1: delimiters begin a line, and there is no text before the first or after
/// the last.
fn read(header: &str, body: &[u8]) -> Vec<Read> {
    let boundary = header.split("boundary=").nth(1).unwrap().split(';').next().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let end = format!("--{boundary}--\r\n");
    assert!(body.ends_with(end.as_bytes()), "{}", text(body));
    let delimiter = format!("--{boundary}\r\n");
    let inner = &body[..body.len() - end.len()];
    let starts: Vec<usize> = memchr::memmem::find_iter(inner, delimiter.as_bytes()).collect();
    assert!(starts.first().is_none_or(|start| *start == 0));
    let ends = starts.iter().skip(1).copied().chain([inner.len()]);
    let part = |(start, end): (&usize, usize)| {
        let block = inner[start + delimiter.len()..end].strip_suffix(b"\r\n").unwrap();
        let split = memchr::memmem::find(block, b"\r\n\r\n").unwrap();
        let fields = text(&block[..split]);
        let field = |line: &str| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_owned(), value.to_owned())
        };
        (fields.split("\r\n").map(field).collect(), block[split + 4..].to_vec())
    };
    starts.iter().zip(ends).map(part).collect()
}

fn parts(encoding: &[(&str, Encoding)], value: &Value) -> Vec<Read> {
    let (header, body) = encoded("multipart/form-data", encoding, value).unwrap();
    read(&header, &body)
}

fn expected(disposition: &str, more: &[(&str, &str)], content: &[u8]) -> Read {
    let disposition = ("Content-Disposition".to_owned(), format!("form-data; {disposition}"));
    let more = more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    (std::iter::once(disposition).chain(more).collect(), content.to_vec())
}

fn file() -> Encoding {
    Encoding { content: Content::File, ..Encoding::default() }
}

#[test]
fn each_member_and_each_item_is_a_part_of_its_own() {
    let value = json!({"id": "ü", "n": 1.5, "on": false, "none": null, "tags": ["a", "b"], "meta": {"x": [1]}, "list": [{"y": 1}], "e": []});
    let json = [("Content-Type", "application/json")];
    assert_eq!(
        parts(&[], &value),
        [
            expected("name=\"id\"", &[], "ü".as_bytes()),
            expected("name=\"n\"", &[], b"1.5"),
            expected("name=\"on\"", &[], b"false"),
            expected("name=\"tags\"", &[], b"a"),
            expected("name=\"tags\"", &[], b"b"),
            expected("name=\"meta\"", &json, br#"{"x":[1]}"#),
            expected("name=\"list\"", &json, br#"{"y":1}"#),
        ]
    );
}

#[test]
fn files_have_a_name_and_a_type() {
    let value = json!({"file": ["plain\r\ntext", "data:image/png;name=cat.png;base64,iVBORw==", "data:text/csv,a"]});
    assert_eq!(
        parts(&[("file", file())], &value),
        [
            expected(
                "name=\"file\"; filename=\"file\"",
                &[("Content-Type", "application/octet-stream")],
                b"plain\r\ntext"
            ),
            expected("name=\"file\"; filename=\"cat.png\"", &[("Content-Type", "image/png")], b"\x89PNG"),
            expected("name=\"file\"; filename=\"file.csv\"", &[("Content-Type", "text/csv")], b"a"),
        ]
    );
    let base64 = |content_type: Option<&str>| Encoding {
        content: Content::Base64,
        content_type: content_type.map(str::to_owned),
        ..Encoding::default()
    };
    let value = json!({"f": "QUJD"});
    assert_eq!(parts(&[("f", base64(None))], &value), [expected("name=\"f\"", &[], b"QUJD")]);
    let png = [("Content-Type", "image/png")];
    assert_eq!(
        parts(&[("f", base64(Some("image/png")))], &value),
        [expected("name=\"f\"; filename=\"f.png\"", &png, b"QUJD")]
    );
}

#[test]
fn the_encoding_of_a_part_is_applied() {
    let encoding = Encoding {
        content_type: Some("application/vnd.meta+json".into()),
        headers: [("X-Part", "1"), ("Content-Length", "9"), ("Content-Disposition", "attachment")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        ..Encoding::default()
    };
    let fields = [("Content-Type", "application/vnd.meta+json"), ("X-Part", "1")];
    assert_eq!(parts(&[("m", encoding)], &json!({"m": "a"})), [expected("name=\"m\"", &fields, br#""a""#)]);
    let csv = Encoding { style: Some(Style::Form), explode: Some(false), ..Encoding::default() };
    assert_eq!(parts(&[("a", csv)], &json!({"a": ["x y", 2]})), [expected("name=\"a\"", &[], b"x y,2")]);
    let deep = Encoding { style: Some(Style::DeepObject), ..Encoding::default() };
    assert_eq!(parts(&[("a", deep)], &json!({"a": {"b c": "&"}})), [expected("name=\"a[b c]\"", &[], b"&")]);
}

#[test]
fn other_subtypes_have_the_same_parts_and_related_has_a_root() {
    let value = json!({"meta": {"a": 1}, "file": "data:image/png;base64,AA=="});
    let (form, body) = encoded("multipart/form-data; boundary=given", &[("file", file())], &value).unwrap();
    for (media_type, end) in [("multipart/mixed", ""), ("Multipart/Related", "; type=\"application/json\"")] {
        let (header, other) = encoded(media_type, &[("file", file())], &value).unwrap();
        assert!(header.starts_with(&media_type.to_ascii_lowercase()) && header.ends_with(end), "{header}");
        assert_eq!(read(&header, &other), read(&form, &body));
    }
    assert_eq!(encoded("multipart/form-data", &[], &json!({})).unwrap().1.len(), 64 + 6);
    assert!(encoded("multipart/form-data", &[], &json!("text")).unwrap_err().message.contains("multipart/form-data"));
}

#[test]
fn no_name_breaks_out_of_its_field() {
    let hostile = "a\"; filename=\"x\r\nX-Evil: 1\r\n\r\n--b\\";
    let name = "name=\"a%22; filename=%22x%0D%0AX-Evil: 1%0D%0A%0D%0A--b%5C\"";
    assert_eq!(parts(&[], &json!({hostile: "v"})), [expected(name, &[], b"v")]);

    let value = json!({"f": "data:text/plain;name=a%22%0D%0AX-Evil%3A%201;base64,QQ=="});
    let disposition = "name=\"f\"; filename=\"a%22%0D%0AX-Evil: 1\"";
    assert_eq!(parts(&[("f", file())], &value), [expected(disposition, &[("Content-Type", "text/plain")], b"A")]);
}

#[test]
fn fields_that_no_header_can_carry_are_refused() {
    for content_type in ["text/plain\r\nX-Evil: 1", "text/plän"] {
        let encoding = Encoding { content_type: Some(content_type.into()), ..Encoding::default() };
        assert!(encoded("multipart/form-data", &[("a", encoding)], &json!({"a": "b"})).is_err(), "{content_type}");
    }
    let encoding = Encoding { headers: [("X:\r\nY".to_owned(), "1".to_owned())].into(), ..Encoding::default() };
    assert!(encoded("multipart/form-data", &[("a", encoding)], &json!({"a": "b"})).is_err());
}

#[test]
fn the_boundary_is_in_no_part_and_the_same_for_the_same_call() {
    let value = json!({"a": "x", "b": ["y", "--z"]});
    let once = encoded("multipart/form-data", &[], &value).unwrap();
    assert_eq!(once, encoded("multipart/form-data", &[], &value).unwrap());
    assert_ne!(once.0, encoded("multipart/form-data", &[], &json!({"a": "z"})).unwrap().0);
    let first = boundary(&[b"x".to_vec()]);
    let blocks = [b"x".to_vec(), first.into_bytes()];
    assert!(!blocks.iter().any(|block| memchr::memmem::find(block, boundary(&blocks).as_bytes()).is_some()));
}
