use serde_json::json;

use super::*;
use crate::catalog::Location;

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

fn values() -> [Value; 4] {
    [json!(""), json!("blue"), json!(["blue", "black", "brown"]), json!({"R": 100, "G": 200, "B": 150})]
}

#[test]
fn path_styles_agree_with_the_specification_s_table() {
    let table = [
        (Style::Matrix, false, [";color", ";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"]),
        (Style::Matrix, true, [";color", ";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"]),
        (Style::Label, false, [".", ".blue", ".blue,black,brown", ".R,100,G,200,B,150"]),
        (Style::Label, true, [".", ".blue", ".blue.black.brown", ".R=100.G=200.B=150"]),
        (Style::Simple, false, ["", "blue", "blue,black,brown", "R,100,G,200,B,150"]),
        (Style::Simple, true, ["", "blue", "blue,black,brown", "R=100,G=200,B=150"]),
    ];
    for (style, explode, expected) in table {
        for (value, expected) in values().iter().zip(expected) {
            let written = path(&binding(Location::Path, style, explode), value);
            assert_eq!(written.as_deref(), Some(expected), "{style:?} {explode} {value}");
        }
    }
}

#[test]
fn query_styles_agree_with_the_specification_s_table() {
    let table = [
        (Style::Form, false, ["color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"]),
        (Style::Form, true, ["color=", "color=blue", "color=blue&color=black&color=brown", "R=100&G=200&B=150"]),
        (
            Style::SpaceDelimited,
            false,
            ["color=", "color=blue", "color=blue%20black%20brown", "color=R%20100%20G%20200%20B%20150"],
        ),
        (
            Style::PipeDelimited,
            false,
            ["color=", "color=blue", "color=blue%7Cblack%7Cbrown", "color=R%7C100%7CG%7C200%7CB%7C150"],
        ),
        (
            Style::DeepObject,
            true,
            [
                "color=",
                "color=blue",
                "color=blue&color=black&color=brown",
                "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150",
            ],
        ),
    ];
    for (style, explode, expected) in table {
        for (value, expected) in values().iter().zip(expected) {
            let binding = binding(Location::Query, style, explode);
            assert_eq!(query(&[(&binding, value)]).join("&"), expected, "{style:?} {explode} {value}");
        }
    }
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
fn arrays_within_arrays_have_a_separator_of_their_own_at_each_level() {
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

#[test]
fn allow_reserved_frees_no_character_that_ends_a_value() {
    let mut free = binding(Location::Query, Style::Form, true);
    free.allow_reserved = true;
    assert_eq!(query(&[(&free, &json!("a/b?c:d&e=f#g+h%[i]"))]), ["color=a/b?c:d%26e%3Df%23g%2Bh%25%5Bi%5D"]);
}

#[test]
fn a_parameter_with_json_content_is_one_text() {
    let mut json_parameter = binding(Location::Query, Style::Form, true);
    json_parameter.media_type = Some("application/json".into());
    assert_eq!(query(&[(&json_parameter, &json!({"a": [1]}))]), ["color=%7B%22a%22%3A%5B1%5D%7D"]);
}

#[test]
fn deep_objects_go_as_deep_as_they_are() {
    let deep = binding(Location::Query, Style::DeepObject, true);
    assert_eq!(
        query(&[(&deep, &json!({"a": {"b c": 1}, "d": [2, 3], "e": null}))]),
        ["color%5Ba%5D%5Bb%20c%5D=1", "color%5Bd%5D=2", "color%5Bd%5D=3"]
    );
}
