//! Tests of API responses as shown to the model.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use callwright_types::outcome::Paging;

fn answer(kind: &str, body: impl Into<Bytes>) -> ApiAnswer {
    let headers = if kind.is_empty() { Vec::new() } else { vec![("content-type".to_owned(), kind.to_owned())] };
    ApiAnswer { status: 200, headers, body: body.into(), truncated: false, paging: Paging::default() }
}

fn json_shown(value: &Value, limit: usize) -> Value {
    let text = shown(&answer("application/json", value.to_string()), limit);
    assert!(text.chars().count() <= limit, "{} > {limit}: {text}", text.chars().count());
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_short_answer_is_shown_as_it_came() {
    for body in [r#"{ "a" : 1.50 }"#, "plain", "a,b\n1,2\n", "<p>x</p>"] {
        assert_eq!(shown(&answer("", body), 1_000), body);
    }
    assert_eq!(shown(&ApiAnswer { status: 204, ..answer("", " \n") }, 1_000), "(status 204, no content)");
}

#[test]
fn long_arrays_show_the_first_items_and_count_the_others() {
    let items: Vec<Value> = (0..1_000).map(|id| json!({"id": id, "name": format!("room {id}")})).collect();
    let shown = json_shown(&json!({"total": 1_000, "items": items}), 2_000);
    let first = shown["items"].as_array().unwrap();
    let kept = first.len() - 1;
    assert!(kept > 40, "{kept}");
    assert_eq!(first[kept], json!(format!("… ({} more items)", 1_000 - kept)));
    assert_eq!((&first[0], &shown["total"]), (&json!({"id": 0, "name": "room 0"}), &json!(1_000)));
}

#[test]
fn a_long_string_is_cut_and_says_how_much_is_missing() {
    let shown = json_shown(&json!({"id": 7, "text": "ü".repeat(10_000)}), 1_000);
    let text = shown["text"].as_str().unwrap();
    let letters = text.chars().take_while(|letter| *letter == 'ü').count();
    assert!(letters > 900, "the room is used: {letters}");
    assert!(text.ends_with(&format!("ü… ({} more bytes)", 2 * (10_000 - letters))), "{text}");
}

#[test]
fn what_is_nested_deeply_is_named() {
    let mut value = json!({"leaf": "x".repeat(50), "also": [1, 2]});
    for level in 0..60 {
        value = json!({"level": level, "more": value});
    }
    let shown = json_shown(&value, 400).to_string();
    assert!(shown.contains("… (an object with 2 members)"), "{shown}");
}

#[test]
fn of_an_object_with_very_many_members_the_first_are_shown() {
    let members: serde_json::Map<String, Value> = (0..5_000).map(|n| (format!("key {n}"), json!(n))).collect();
    let shown = json_shown(&Value::Object(members), 1_000);
    let shown = shown.as_object().unwrap();
    assert_eq!(shown["…"], json!(format!("{} more members", 5_000 - (shown.len() - 1))));
}

#[test]
fn values_whose_least_is_too_long_are_named() {
    let huge = "k".repeat(10_000);
    assert_eq!(json_shown(&json!({huge: 1}), 200), json!("… (an object with 1 members)"));
}

#[test]
fn an_answer_that_broke_off_stays_json_and_says_so() {
    for (body, expected) in [
        (r#"{"items":[{"id":1},{"id":2},{"id"#, json!({"items": [{"id": 1}, {"id": 2}, {}], "…": 0})),
        (r#"[1, "a, ]b\"", 2"#, json!([1, "a, ]b\"", 0])),
        (r#"{"a": [[1, 2], [3"#, json!({"a": [[1, 2], []], "…": 0})),
        ("[", json!([0])),
        (r#"{"a": 1}"#, json!({"a": 1, "…": 0})),
    ] {
        let broken = ApiAnswer { truncated: true, ..answer("application/json", body) };
        let text = shown(&broken, 500);
        let replaced =
            text.replace("\"… (the answer is longer than the proxy reads, or broke off; the rest is missing)\"", "0");
        assert_eq!(serde_json::from_str::<Value>(&replaced).unwrap(), expected, "{text}");
        assert_ne!(text, replaced);
    }
    let half = ApiAnswer { truncated: true, ..answer("text/plain", "half a sen") };
    assert!(shown(&half, 500).starts_with("half a sen\n(the answer is longer"));
}

#[test]
fn a_table_keeps_its_head_and_whole_rows() {
    let rows: String = (0..1_000).map(|n| format!("{n},name {n}\n")).collect();
    let text = shown(&answer("text/csv", format!("id,name\n{rows}")), 500);
    let (table, note) = text.rsplit_once('\n').unwrap();
    let lines = table.lines().count();
    assert!(table.starts_with("id,name\n0,name 0\n") && lines > 20, "{text}");
    assert_eq!(note, format!("(shortened: the first {lines} of 1001 lines are shown)"));
    assert!(text.chars().count() <= 500);
}

#[test]
fn one_long_line_is_cut_within() {
    let text = shown(&answer("text/html", format!("<p>\n{}", "ü".repeat(5_000))), 400);
    assert!(text.contains("of 10004 bytes are shown)") && text.chars().count() <= 400, "{text}");
}

#[test]
fn what_is_no_text_is_described() {
    let png: &[u8] = b"\x89PNG\r\n\x1a\n\0\0";
    for (kind, body, says) in [
        ("image/png", png, "`image/png`, 10 bytes"),
        ("application/pdf; v=1", b"%PDF-1.7 looks like text", "`application/pdf`, 24 bytes"),
        ("application/octet-stream", b"\xff\xfe\xfd", "3 bytes"),
        ("", b"a\0b", "no stated type, 3 bytes"),
        ("text/plain", b"PK\0\x01", "`text/plain`, 4 bytes"),
        ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", b"PK\x03\xff", "4 bytes"),
    ] {
        let described = shown(&answer(kind, body), 1_000);
        assert!(described.starts_with("(the answer is no text") && described.contains(says), "{described}");
        assert_eq!(recorded(&answer(kind, body)), described);
    }
    for (kind, body) in [("application/octet-stream", "text after all"), ("application/vnd.a+json", "{}"), ("", "ü")] {
        assert_eq!(shown(&answer(kind, body), 1_000), body);
    }
    assert_eq!(shown(&answer("text/plain", &b"caf\xe9"[..]), 1_000), "caf\u{fffd}");
    let cut_letter = ApiAnswer { truncated: true, ..answer("", &"aü".as_bytes()[..2]) };
    assert!(shown(&cut_letter, 1_000).starts_with("a\u{fffd}\n"));
}

#[test]
fn pages_are_joined_for_the_model_and_whole_in_the_trace() {
    let mut paged = answer("application/json", r#"{"items": [1], "next": "/2"}"#);
    paged.paging.later = vec![Bytes::from(r#"{"items": [2]}"#)];
    assert_eq!(shown(&paged, 1_000), r#"{"items":[1,2],"next":"/2"}"#);
    assert_eq!(recorded(&paged), "{\"items\": [1], \"next\": \"/2\"}\n{\"items\": [2]}");
    let mut lines = answer("text/csv", "a\n1");
    lines.paging.later = vec![Bytes::from("a\n2")];
    assert_eq!(shown(&lines, 1_000), "a\n1\na\n2");
}

#[test]
fn a_next_page_is_told_and_how_to_ask_for_it() {
    let mut more = answer("application/json", "[1]");
    more.paging.next = Some(NextPage { arguments: vec![("cursor".into(), "a`b\nc".into())] });
    assert_eq!(
        shown(&more, 1_000),
        "[1]\n(there are more results: for the next page, call again with `cursor` set to \"a`b\\nc\")"
    );
    more.paging.next = Some(NextPage::default());
    assert!(shown(&more, 1_000).ends_with("which this tool has no argument for)"));
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,80}|[\"\\\\\u{0}-\u{1f}…]{0,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 200, 40, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..40).prop_map(Value::Array),
            prop::collection::vec(("[a-z…]{0,12}", inner), 0..40)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        rng_seed: proptest::test_runner::RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn shortened_json_fits_is_valid_marks_omissions_and_is_stable(value in values(), limit in 200_usize..3_000) {
        let body = value.to_string();
        let text = shown(&answer("application/json", body.clone()), limit);
        prop_assert!(text.chars().count() <= limit, "{} > {limit}", text.chars().count());
        let read: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(read == value, body.chars().count() <= limit);
        if read != value {
            let cut = text.contains(" more items)") || text.contains(" more bytes)") || text.contains(" more members")
                || text.contains("… (an array of ") || text.contains("… (an object with ");
            prop_assert!(cut, "{text}");
        }
        prop_assert_eq!(text, shown(&answer("application/json", body), limit));
    }

    #[test]
    fn any_bytes_fit_and_never_panic(body in prop::collection::vec(any::<u8>(), 0..2_000), truncated: bool, limit in 0_usize..600) {
        for kind in ["", "application/json", "text/plain"] {
            let text = shown(&ApiAnswer { truncated, ..answer(kind, body.clone()) }, limit);
            prop_assert!(text.chars().count() <= limit.max(MIN_LIMIT), "{text}");
        }
    }

    #[test]
    fn json_that_broke_off_anywhere_stays_json(value in values(), cut in 0_usize..2_000) {
        let text = value.to_string();
        let end = text.floor_char_boundary(cut.min(text.len()));
        if matches!(value, Value::Array(_) | Value::Object(_)) && end > 0 {
            let broken = ApiAnswer { truncated: true, ..answer("application/json", text[..end].to_owned()) };
            let text = shown(&broken, 400);
            prop_assert!(text.chars().count() <= 400 && serde_json::from_str::<Value>(&text).is_ok(), "{text}");
        }
    }
}

fn refused(body: &str) -> ApiAnswer {
    ApiAnswer::new(400, body.to_owned())
}

#[test]
fn a_short_answer_is_told_whole() {
    assert_eq!(failed(&refused("{\n  \"info_code\": \"20000\"\n}"), 100), r#"{"info_code":"20000"}"#);
    assert_eq!(failed(&refused("<html>\n\n  Bad   gateway</html>"), 100), "<html> Bad gateway</html>");
    assert_eq!(failed(&refused(""), 100), "");
}

#[test]
fn of_a_long_answer_the_telling_members_come_first() {
    let body = format!(r#"{{"request":"{}","Message":"no such room","id":1}}"#, "x".repeat(500));
    let told = failed(&refused(&body), 200);
    assert!(told.starts_with(r#"{"Message":"no such room","#) && told.contains("more bytes)"), "{told}");
    assert!(serde_json::from_str::<Value>(&told).is_ok() && told.chars().count() <= 200, "{told}");
}

#[test]
fn letters_are_never_cut_in_two() {
    let told = failed(&refused(&"天气 预报\n".repeat(100)), 200);
    assert!(told.starts_with("天气 预报 天气") && told.contains("(shortened: "), "{told}");
    let broken = ApiAnswer { body: vec![0xff, b'a'].into(), ..refused("") };
    assert!(failed(&broken, 10).contains("no text"), "{}", failed(&broken, 10));
}
