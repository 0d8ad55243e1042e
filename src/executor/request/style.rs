//! How values are written in a path, a query and a cookie (OpenAPI 3.0.4, Style Values; RFC 6570).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::catalog::{Binding, Style};

/// Everything but the unreserved characters (RFC 3986 section 2.3): what RFC 6570 section 3.2.2 encodes.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// As [`RESERVED`], but for the reserved characters that mean nothing to the structure of a query: those that `allowReserved` frees.
const STRUCTURE: &AsciiSet = &RESERVED
    .remove(b':')
    .remove(b'/')
    .remove(b'?')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b',')
    .remove(b';');

/// Percent-encodes all but unreserved characters.
pub(in crate::executor) fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// A value as the styles see it.
enum Shape {
    Text(String),
    List(Vec<String>),
    Members(Vec<(String, String)>),
}

/// The text of a path parameter, encoded; `None` for `null`.
pub(super) fn path(binding: &Binding, value: &Value) -> Option<String> {
    let name = encode(&binding.name);
    let shape = shape(binding, value)?;
    Some(match binding.style {
        Style::Matrix => matrix(&name, &shape, binding.explode),
        Style::Label => {
            format!(".{}", joined(&shape, if binding.explode { "." } else { "," }, binding.explode, encode))
        }
        style => joined(&shape, &encode_separator(style), binding.explode, encode),
    })
}

/// The text of a header parameter; `None` for `null`. Headers are not percent-encoded.
pub(super) fn header(binding: &Binding, value: &Value) -> Option<String> {
    Some(joined(&shape(binding, value)?, separator(binding.style), binding.explode, str::to_owned))
}

/// The `name=value` pairs of the query parameters, encoded, in order.
pub(super) fn query(parameters: &[(&Binding, &Value)]) -> Vec<String> {
    parameters.iter().flat_map(|(binding, value)| query_pairs(binding, value)).collect()
}

/// The `name=value` pairs of the cookie parameters, encoded, in order.
pub(super) fn cookies(parameters: &[(&Binding, &Value)]) -> Vec<String> {
    let pairs = |binding: &Binding, value: &Value| {
        shape(binding, value)
            .map(|shape| form(&encode(&binding.name), &shape, binding.explode, ",", encode))
            .unwrap_or_default()
    };
    parameters.iter().flat_map(|(binding, value)| pairs(binding, value)).collect()
}

fn query_pairs(binding: &Binding, value: &Value) -> Vec<String> {
    let name = encode(&binding.name);
    let encoder = if binding.allow_reserved { encode_structure } else { encode };
    if binding.style == Style::DeepObject && value.is_object() && binding.media_type.is_none() {
        let mut pairs = Vec::new();
        deep_object(&name, value, encoder, &mut pairs);
        return pairs;
    }
    let Some(shape) = shape(binding, value) else { return Vec::new() };
    form(&name, &shape, binding.explode, &encode_separator(binding.style), encoder)
}

/// What stands between the items of an array that is written as one text.
fn separator(style: Style) -> &'static str {
    match style {
        Style::SpaceDelimited => " ",
        Style::TabDelimited => "\t",
        Style::PipeDelimited => "|",
        _ => ",",
    }
}

/// The separator as it stands in a path or query. A comma is a delimiter there and stays as it is (RFC 6570 section 3.2.2).
fn encode_separator(style: Style) -> String {
    match separator(style) {
        "," => ",".to_owned(),
        other => encode(other),
    }
}

/// `name=a,b` or `name=a`, `name=b`; an empty list or object gives nothing, as an undefined variable does (RFC 6570 section 2.3).
fn form(name: &str, shape: &Shape, explode: bool, separator: &str, encoder: fn(&str) -> String) -> Vec<String> {
    match shape {
        Shape::Text(text) => vec![format!("{name}={}", encoder(text))],
        Shape::List(items) if explode => items.iter().map(|item| format!("{name}={}", encoder(item))).collect(),
        Shape::Members(members) if explode => {
            members.iter().map(|(member, value)| format!("{}={}", encode(member), encoder(value))).collect()
        }
        Shape::List(items) if items.is_empty() => Vec::new(),
        Shape::Members(members) if members.is_empty() => Vec::new(),
        _ => vec![format!("{name}={}", joined(shape, separator, false, encoder))],
    }
}

/// `;name=a,b` or `;name=a;name=b`; an empty text is a bare `;name` (RFC 6570 section 3.2.7).
fn matrix(name: &str, shape: &Shape, explode: bool) -> String {
    let pair =
        |(name, value): (&str, String)| if value.is_empty() { format!(";{name}") } else { format!(";{name}={value}") };
    match shape {
        Shape::List(items) if explode => items.iter().map(|item| pair((name, encode(item)))).collect(),
        Shape::Members(members) if explode => {
            members.iter().map(|(member, value)| pair((&encode(member), encode(value)))).collect()
        }
        _ => pair((name, joined(shape, ",", false, encode))),
    }
}

/// `name[member]=value`, as deep as the object goes: the specification defines one level, and servers that read more read it so.
fn deep_object(name: &str, value: &Value, encoder: fn(&str) -> String, pairs: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (member, value) in members {
                deep_object(&format!("{name}%5B{}%5D", encode(member)), value, encoder, pairs);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| deep_object(name, item, encoder, pairs)),
        _ => pairs.extend(text(value).map(|text| format!("{name}={}", encoder(&text)))),
    }
}

fn joined(shape: &Shape, separator: &str, explode: bool, encoder: fn(&str) -> String) -> String {
    let between = if explode { "=" } else { separator };
    let parts: Vec<String> = match shape {
        Shape::Text(text) => vec![encoder(text)],
        Shape::List(items) => items.iter().map(|item| encoder(item)).collect(),
        Shape::Members(members) => {
            members.iter().map(|(name, value)| format!("{}{between}{}", encoder(name), encoder(value))).collect()
        }
    };
    parts.join(separator)
}

/// The value as the styles see it; a parameter described by a JSON media type is one text.
fn shape(binding: &Binding, value: &Value) -> Option<Shape> {
    let as_json = binding.media_type.as_deref().is_some_and(super::body::is_json);
    Some(match value {
        Value::Null => return None,
        _ if as_json => Shape::Text(value.to_string()),
        Value::Array(items) => {
            Shape::List(items.iter().filter_map(|item| nested_text(item, &binding.nested)).collect())
        }
        Value::Object(members) => {
            Shape::Members(members.iter().filter_map(|(name, value)| Some((name.clone(), text(value)?))).collect())
        }
        _ => Shape::Text(text(value)?),
    })
}

/// The text of an item of an array: an array within it as the first of `styles` says, those within that as the rest says.
fn nested_text(item: &Value, styles: &[Style]) -> Option<String> {
    match (item, styles.split_first()) {
        (Value::Array(items), Some((style, rest))) => {
            let texts: Vec<String> = items.iter().filter_map(|item| nested_text(item, rest)).collect();
            Some(texts.join(separator(*style)))
        }
        _ => text(item),
    }
}

/// The text of a value inside a list or object; `null` is left out, and what is nested deeper than the styles define is JSON.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        _ => Some(value.to_string()),
    }
}

fn encode_structure(text: &str) -> String {
    utf8_percent_encode(text, STRUCTURE).to_string()
}

#[cfg(test)]
mod tests {
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
            (
                Style::Matrix,
                true,
                [";color", ";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"],
            ),
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
}
