use super::*;

fn object(required: &[&str], wrapped: Option<(&str, PromisedValue)>) -> PromisedValue {
    let shape = PromisedShape::Object {
        required: required.iter().map(|name| (*name).to_owned()).collect(),
        least: 0,
        wrapped: wrapped.map(|(name, value)| (name.to_owned(), Box::new(value))),
    };
    PromisedValue { nullable: false, shape }
}

fn list(least: u64) -> PromisedValue {
    PromisedValue { nullable: false, shape: PromisedShape::Array { least } }
}

fn promise(value: impl Into<Option<PromisedValue>>) -> Promise {
    Promise { statuses: 200..=200, only_json: true, value: value.into(), description: String::new() }
}

fn answer(status: u16, body: &str) -> ApiAnswer {
    let headers = vec![("content-type".to_owned(), "application/json; charset=utf-8".to_owned())];
    ApiAnswer { status, headers, body: body.to_owned().into(), truncated: false, paging: Default::default() }
}

fn rule(promise: &Promise, body: &str) -> Option<&'static str> {
    shortfall(&answer(200, body), std::slice::from_ref(promise)).map(|shortfall| shortfall.rule)
}

#[test]
fn missing_promised_content_is_an_empty_result() {
    let room = promise(object(&["id", "name"], None));
    let some = promise(list(2));
    let wrapped = promise(object(&["data"], Some(("data", object(&["id"], None)))));
    let listed = promise(object(&["data"], Some(("data", list(1)))));
    let least = PromisedShape::Object { required: Vec::new(), least: 1, wrapped: None };
    let least = promise(PromisedValue { nullable: false, shape: least });
    for (promise, bodies) in [
        (&room, &["", " \n", "null", "{}", "[]", r#"{"message":"ok","took":3}"#][..]),
        (&some, &["", "null", "{}", "[]", "[1]"]),
        (&wrapped, &[r#"{"data":null}"#, r#"{"data":{}}"#, r#"{"data":[]}"#, r#"{"data":{"took":3},"page":1}"#]),
        (&listed, &[r#"{"data":[]}"#, r#"{"data":null,"page":1}"#]),
        (&least, &["{}", "null"]),
        (&promise(list(0)), &[""]),
    ] {
        for body in bodies {
            assert_eq!(rule(promise, body), Some("empty_result"), "{promise:?} {body}");
        }
    }
}

#[test]
fn content_or_permitted_emptiness_is_no_shortfall() {
    let room = promise(object(&["id", "name"], None));
    let null = PromisedValue { nullable: true, ..object(&["id"], None) };
    let wrapped_null = PromisedValue { nullable: true, ..object(&["id"], None) };
    for (promise, bodies) in [
        // One member in any spelling, an envelope that the document does not describe, and a value of another type than
        // promised.
        (&room, &[r#"{"id":1}"#, r#"{"Name":null}"#, r#"{"data":{"id":1}}"#, r#"{"rooms":[{"id":1}]}"#][..]),
        (&room, &[r#"[{"id":1}]"#, "17", "\"done\"", "true"]),
        (&promise(list(0)), &["[]", "null", "{}", r#"{"items":[]}"#]),
        (&promise(list(1)), &["[0]", r#"{"items":[]}"#]),
        (&promise(object(&[], None)), &["", "null", "{}", "[]"]),
        (&promise(object(&["data"], None)), &[r#"{"data":null}"#, r#"{"data":[]}"#]),
        (&promise(null), &["", "null"]),
        (&promise(object(&["data"], Some(("data", wrapped_null)))), &[r#"{"data":null}"#]),
        (&promise(None), &["", "null", "{}", "[]", "OK"]),
    ] {
        for body in bodies {
            assert_eq!(rule(promise, body), None, "{promise:?} {body}");
        }
    }
}

#[test]
fn a_page_instead_of_json_is_recognised_by_its_mark() {
    let json = promise(None);
    for page in ["<!DOCTYPE html><title>Sign in</title>", "\n<html lang=en><body>", "<!-- proxy -->\n<HTML>"] {
        assert_eq!(rule(&json, page), Some("page_for_json"), "{page}");
        assert_eq!(rule(&Promise { only_json: false, ..json.clone() }, page), None, "{page}");
    }
    for other in ["<p>no document</p>", "<room/>", "\"<html>\"", r#"{"page":"<html></html>"}"#] {
        assert_eq!(rule(&json, other), None, "{other}");
    }
}

#[test]
fn malformed_json_with_a_json_media_type_is_broken() {
    let room = promise(object(&["id"], None));
    for broken in [r#"{"id": 1, "na"#, "[{\"id\":", "upstream gave up", "id=1"] {
        assert_eq!(rule(&room, broken), Some("broken_json"), "{broken}");
        let mut text = answer(200, broken);
        text.headers = vec![("content-type".to_owned(), "text/plain".to_owned())];
        assert_eq!(shortfall(&text, std::slice::from_ref(&room)), None, "the media type is not JSON: {broken}");
        assert_eq!(rule(&promise(None), broken), None, "{broken}");
    }
    for sloppy in [r#"{"id": NaN}"#, "{\"id\":1}\n{\"id\":2}", ")]}'\n{\"id\":1}", "{id: 1}"] {
        assert_eq!(rule(&room, sloppy), None, "{sloppy}");
    }
}

#[test]
fn other_statuses_parts_and_pages_are_not_judged() {
    let room = [promise(object(&["id"], None))];
    for status in [201, 204, 205, 206, 304] {
        assert_eq!(shortfall(&answer(status, ""), &room), None, "{status}");
    }
    let cut = ApiAnswer { truncated: true, ..answer(200, "{") };
    assert_eq!(shortfall(&cut, &room), None);
    let mut pages = answer(200, "{}");
    pages.paging.later.push("{\"id\":1}".into());
    assert_eq!(shortfall(&pages, &room), None);
}

#[test]
fn deep_and_large_bodies_are_bounded() {
    let room = promise(object(&["id"], None));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(rule(&room, &deep), None, "too deep to be read is not broken");
    assert_eq!(rule(&room, &"<".repeat(1 << 20)), Some("broken_json"));
}
