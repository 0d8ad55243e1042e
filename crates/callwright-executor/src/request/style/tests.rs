use serde_json::json;

use super::*;
use callwright_openapi::Location;

fn binding(location: Location, style: Style, explode: bool) -> Binding {
    Binding {
        argument: "color".into(),
        name: "color".into(),
        location,
        required: false,
        style,
        explode,
        allow_reserved: false,
        media_type: None,
        nested: Vec::new(),
    }
}

/// Values of the specification's table of examples: empty, string, array, object; and an empty array and object.
fn values() -> [Value; 6] {
    [
        json!(""),
        json!("blue"),
        json!(["blue", "black", "brown"]),
        json!({"R": 100, "G": 200, "B": 150}),
        json!([]),
        json!({}),
    ]
}

/// One row of the table: a style, whether it explodes, and the expected text for each of [`values`].
type Row = (Style, bool, [&'static str; 6]);

/// OpenAPI 3.1.1, Style Examples. Empty arrays and objects are undefined values, which a path cannot omit: the text
/// is empty except for the prefix, and [`super::super::path`] rejects it.
#[test]
fn path_styles_agree_with_the_specification_s_table() {
    let table: [Row; 6] = [
        (
            Style::Matrix,
            false,
            [";color", ";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150", ";color", ";color"],
        ),
        (
            Style::Matrix,
            true,
            [";color", ";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150", "", ""],
        ),
        (Style::Label, false, [".", ".blue", ".blue,black,brown", ".R,100,G,200,B,150", ".", "."]),
        (Style::Label, true, [".", ".blue", ".blue.black.brown", ".R=100.G=200.B=150", ".", "."]),
        (Style::Simple, false, ["", "blue", "blue,black,brown", "R,100,G,200,B,150", "", ""]),
        (Style::Simple, true, ["", "blue", "blue,black,brown", "R=100,G=200,B=150", "", ""]),
    ];
    for (style, explode, expected) in table {
        for (value, expected) in values().iter().zip(expected) {
            let written = path(&binding(Location::Path, style, explode), value);
            assert_eq!(written.as_deref(), Some(expected), "{style:?} {explode} {value}");
        }
    }
}

/// The same for queries; cells that the specification leaves undefined (`n/a`) are marked.
#[test]
fn query_styles_agree_with_the_specification_s_table() {
    let joined_by_space =
        ["color=", "color=blue", "color=blue%20black%20brown", "color=R%20100%20G%20200%20B%20150", "", ""];
    let joined_by_pipe =
        ["color=", "color=blue", "color=blue%7Cblack%7Cbrown", "color=R%7C100%7CG%7C200%7CB%7C150", "", ""];
    let exploded = ["color=", "color=blue", "color=blue&color=black&color=brown", "R=100&G=200&B=150", "", ""];
    let deep = [
        "color=",
        "color=blue",
        "color=blue&color=black&color=brown",
        "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150",
        "",
        "",
    ];
    let table: [Row; 8] = [
        (Style::Form, false, ["color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150", "", ""]),
        (Style::Form, true, exploded),
        // n/a: empty and string.
        (Style::SpaceDelimited, false, joined_by_space),
        (Style::PipeDelimited, false, joined_by_pipe),
        // n/a: every cell.
        (Style::SpaceDelimited, true, exploded),
        (Style::PipeDelimited, true, exploded),
        // n/a: every cell, and all but the object.
        (Style::DeepObject, false, deep),
        (Style::DeepObject, true, deep),
    ];
    for (style, explode, expected) in table {
        for (value, expected) in values().iter().zip(expected) {
            let binding = binding(Location::Query, style, explode);
            assert_eq!(query(&[(&binding, value)]).join("&"), expected, "{style:?} {explode} {value}");
        }
    }
}

/// The rows of `simple` for headers, which are not percent-encoded (OpenAPI 3.1.1, Appendix D), and of `form` for
/// cookies, whose pairs are joined by `; `.
#[test]
fn headers_and_cookies_agree_with_the_specification_s_table() {
    let headers: [Row; 2] = [
        (Style::Simple, false, ["", "blue", "blue,black,brown", "R,100,G,200,B,150", "", ""]),
        (Style::Simple, true, ["", "blue", "blue,black,brown", "R=100,G=200,B=150", "", ""]),
    ];
    for (style, explode, expected) in headers {
        for (value, expected) in values().iter().zip(expected) {
            // An empty list or object is undefined: the field is absent.
            let written = header(&binding(Location::Header, style, explode), value);
            let is_undefined = value == &json!([]) || value == &json!({});
            assert_eq!(written.as_deref(), (!is_undefined).then_some(expected), "{explode} {value}");
        }
    }
    let cookie_rows: [Row; 2] = [
        (Style::Form, false, ["color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150", "", ""]),
        (
            Style::Form,
            true,
            ["color=", "color=blue", "color=blue; color=black; color=brown", "R=100; G=200; B=150", "", ""],
        ),
    ];
    for (style, explode, expected) in cookie_rows {
        for (value, expected) in values().iter().zip(expected) {
            let binding = binding(Location::Cookie, style, explode);
            assert_eq!(cookies(&[(&binding, value)]).join("; "), expected, "{explode} {value}");
        }
    }
}

/// Numbers are sent as JSON writes them: no rounding, no other notation.
#[test]
fn numbers_and_flags_keep_their_text() {
    let plain = binding(Location::Query, Style::Form, true);
    let texts = [
        "0", "-7", "9007199254740993", "18446744073709551615", "-9223372036854775808", "0.1", "1e21", "5e-324", "true",
        "false",
    ];
    for text in texts {
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(query(&[(&plain, &value)]), [format!("color={text}")]);
        assert_eq!(path(&binding(Location::Path, Style::Simple, false), &json!([value])).as_deref(), Some(text));
    }
}

#[test]
fn null_is_left_out_everywhere() {
    for (location, style) in
        [(Location::Query, Style::Form), (Location::Query, Style::DeepObject), (Location::Cookie, Style::Form)]
    {
        let binding = binding(location, style, true);
        for value in [json!(null), json!([null]), json!({"a": null})] {
            assert!(query(&[(&binding, &value)]).is_empty() && cookies(&[(&binding, &value)]).is_empty(), "{value}");
        }
    }
    assert_eq!(path(&binding(Location::Path, Style::Simple, false), &json!(null)), None);
    for value in [json!(null), json!([]), json!({}), json!([null])] {
        assert_eq!(header(&binding(Location::Header, Style::Simple, false), &value), None, "{value}");
    }
    let list = json!(["a", null, "b"]);
    assert_eq!(query(&[(&binding(Location::Query, Style::Form, false), &list)]), ["color=a,b"]);
}

#[test]
fn delimiters_within_values_are_encoded() {
    let value = json!(["a,b", "c|d", "e f", "ü.;="]);
    let written = |style| query(&[(&binding(Location::Query, style, false), &value)]).join("&");
    assert_eq!(written(Style::Form), "color=a%2Cb,c%7Cd,e%20f,%C3%BC.%3B%3D");
    // The specification has no escape for the other two: after one decoding, the encoded character equals their
    // delimiter.
    assert_eq!(written(Style::PipeDelimited), "color=a%2Cb%7Cc%7Cd%7Ce%20f%7C%C3%BC.%3B%3D");
    let matrix = path(&binding(Location::Path, Style::Matrix, true), &value);
    assert_eq!(matrix.as_deref(), Some(";color=a%2Cb;color=c%7Cd;color=e%20f;color=%C3%BC.%3B%3D"));
}

/// Swagger 2.0, Parameter Object, `collectionFormat`: `csv`, `ssv`, `tsv`, `pipes`, `multi`.
#[test]
fn collection_formats_agree_with_swaggers_table() {
    let table = [
        (Style::Form, false, "color=blue,black", "blue,black", "blue,black"),
        (Style::SpaceDelimited, false, "color=blue%20black", "blue%20black", "blue black"),
        (Style::TabDelimited, false, "color=blue%09black", "blue%09black", "blue\tblack"),
        (Style::PipeDelimited, false, "color=blue%7Cblack", "blue%7Cblack", "blue|black"),
        (Style::Form, true, "color=blue&color=black", "blue,black", "blue,black"),
    ];
    let value = json!(["blue", "black"]);
    for (style, explode, in_query, in_path, in_header) in table {
        let of = |location| binding(location, style, explode);
        assert_eq!(query(&[(&of(Location::Query), &value)]).join("&"), in_query, "{style:?} {explode}");
        assert_eq!(path(&of(Location::Path), &value).as_deref(), Some(in_path), "{style:?} {explode}");
        assert_eq!(header(&of(Location::Header), &value).as_deref(), Some(in_header), "{style:?} {explode}");
    }
}

#[test]
fn nested_arrays_have_a_separator_of_their_own_at_each_level() {
    let value = json!([[["a", "b"], ["c"]], ["d"]]);
    let mut nested = binding(Location::Header, Style::PipeDelimited, false);
    nested.nested = vec![Style::Simple, Style::TabDelimited];
    assert_eq!(header(&nested, &value).as_deref(), Some("a\tb,c|d"));
    nested.location = Location::Query;
    assert_eq!(query(&[(&nested, &value)]), ["color=a%09b%2Cc%7Cd"]);
    nested.nested.clear();
    assert_eq!(header(&nested, &value).as_deref(), Some(r#"[["a","b"],["c"]]|["d"]"#));
}

#[test]
fn nothing_gives_nothing() {
    let binding = binding(Location::Query, Style::Form, false);
    for value in [json!(null), json!([]), json!({}), json!([null])] {
        assert!(query(&[(&binding, &value)]).is_empty(), "{value}");
    }
}

#[test]
fn characters_with_a_meaning_are_encoded_in_names_and_values() {
    let mut hostile = binding(Location::Query, Style::Form, true);
    hostile.name = "a&b=c#".into();
    let value = json!("x&admin=1#y z+%2F\r\né/?");
    assert_eq!(query(&[(&hostile, &value)]), ["a%26b%3Dc%23=x%26admin%3D1%23y%20z%2B%252F%0D%0A%C3%A9%2F%3F"]);
    assert_eq!(cookies(&[(&hostile, &json!("v; admin=1"))]), ["a%26b%3Dc%23=v%3B%20admin%3D1"]);
}

/// OpenAPI 3.1.1, Parameter Object, `allowReserved`, and Appendix E: reserved characters and percent-encoded triples
/// are kept, except those that have a meaning in a query (`[`, `]`, `#`) or a form (`&`, `=`, `+`).
#[test]
fn allow_reserved_frees_no_character_that_ends_a_value() {
    let mut free = binding(Location::Query, Style::Form, true);
    free.allow_reserved = true;
    let table = [
        (":/?@!$'()*,;", ":/?@!$'()*,;"),
        ("#[]&=+", "%23%5B%5D%26%3D%2B"),
        (" \"<>\\^`{|}", "%20%22%3C%3E%5C%5E%60%7B%7C%7D"),
        ("-._~aZ09", "-._~aZ09"),
        ("a%2Fb", "a%2Fb"),
        ("50%", "50%25"),
        ("%zz%4", "%25zz%254"),
        ("\u{fc}\r\n", "%C3%BC%0D%0A"),
    ];
    for (value, expected) in table {
        assert_eq!(query(&[(&free, &json!(value))]), [format!("color={expected}")], "{value}");
        let pairs = query(&[(&free, &json!({value: value}))]).join("&");
        assert_eq!(pairs, format!("{}={expected}", encode(value)), "a name is encoded anyway");
    }
}

#[test]
fn a_parameter_with_content_is_one_text() {
    let of = |media_type: &str, value: Value| {
        let mut binding = binding(Location::Query, Style::Form, true);
        binding.media_type = Some(media_type.into());
        query(&[(&binding, &value)])
    };
    assert_eq!(of("application/json", json!({"a": [1]})), ["color=%7B%22a%22%3A%5B1%5D%7D"]);
    assert_eq!(of("application/json", json!("a")), ["color=%22a%22"]);
    assert_eq!(of("application/vnd.a+json; v=1", json!(["a"])), ["color=%5B%22a%22%5D"]);
    assert_eq!(of("text/plain", json!("a b")), ["color=a%20b"]);
    assert_eq!(of("text/plain", json!([1, 2])), ["color=%5B1%2C2%5D"]);
    assert!(of("application/json", json!(null)).is_empty());
}

#[test]
fn deep_objects_go_as_deep_as_they_are() {
    let deep = binding(Location::Query, Style::DeepObject, true);
    assert_eq!(
        query(&[(&deep, &json!({"a": {"b c": 1}, "d": [2, 3], "e": null}))]),
        ["color%5Ba%5D%5Bb%20c%5D=1", "color%5Bd%5D=2", "color%5Bd%5D=3"]
    );
}
