//! Round trip: a document, its tool's arguments, the request, and the same values parsed from it by a parser that
//! only uses the document.

use std::collections::BTreeSet;

use percent_encoding::percent_decode_str;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::request::{self, ApiRequest};
use callwright_openapi::{ToolsetSettings, load_document};

/// Names that collide across locations and with each other, and names with special characters.
const NAMES: [&str; 9] = ["id", "id_query", "body", "a b", "filter[x]", "$top", "a&b=c", "ü;q", "50%"];
const HEADERS: [&str; 5] = ["id", "X-Id", "body", "a.b", "id_query"];
const LOCATIONS: [&str; 4] = ["path", "query", "header", "cookie"];

/// Parameter of the document with its expected value.
#[derive(Debug, Clone)]
struct Parameter {
    location: &'static str,
    name: &'static str,
    style: &'static str,
    explode: bool,
    value: Value,
}

impl Parameter {
    /// Returns a description that is unique to this parameter, so that its argument is found without the bindings.
    fn description(&self) -> String {
        format!("{} parameter {}", self.location, self.name)
    }

    fn described(&self) -> Value {
        let kind = if self.value.is_object() {
            "object"
        } else if self.value.is_array() {
            "array"
        } else {
            "string"
        };
        json!({"name": self.name, "in": self.location, "required": self.location == "path", "style": self.style,
            "explode": self.explode, "description": self.description(), "schema": {"type": kind}})
    }
}

fn parameters() -> impl Strategy<Value = Vec<Parameter>> {
    let texts = || proptest::collection::vec("v[a-z/ü&=?#;+\"',:]{0,5}", 1..4);
    // Headers are not encoded, so list items cannot contain the separator.
    let plain = || proptest::collection::vec("v[a-z/&?#;+\"':]{0,5}", 1..4);
    let one = (0..4_usize, 0..9_usize, 0..4_usize, any::<bool>(), 0..3_usize, texts(), plain());
    proptest::collection::vec(one, 0..9).prop_map(|rows| {
        let mut names = BTreeSet::new();
        let rows = rows.into_iter().enumerate();
        let made = rows.map(|(index, (location, name, style, explode, kind, texts, plain))| {
            let location = LOCATIONS[location];
            let name = if location == "header" { HEADERS[name % HEADERS.len()] } else { NAMES[name] };
            let texts = if location == "header" { plain } else { texts };
            // Members of an exploded object are separate parameters: no other parameter may have their names.
            let members =
                || texts.iter().enumerate().map(|(at, text)| (format!("m{index}.{at}"), json!(text))).collect();
            let value = match kind {
                0 => json!(texts[0]),
                1 => json!(texts),
                _ => Value::Object(members()),
            };
            let style = match location {
                "path" => ["matrix", "label", "simple", "simple"][style],
                "query" if value.is_object() => ["form", "spaceDelimited", "pipeDelimited", "deepObject"][style],
                "query" => ["form", "spaceDelimited", "pipeDelimited", "form"][style],
                "header" => "simple",
                _ => "form",
            };
            // A label separates by dots, which occur in the members' names.
            let explode = explode && !(style == "label" && value.is_object());
            Parameter { location, name, style, explode, value }
        });
        made.filter(|parameter| names.insert((parameter.location, parameter.name.to_lowercase()))).collect()
    })
}

fn members() -> impl Strategy<Value = Map<String, Value>> {
    let value = prop_oneof![
        any::<String>().prop_map(Value::from),
        proptest::collection::vec("[a-z&=+%\r\n\"-]{0,4}", 1..3).prop_map(Value::from),
    ];
    let name = proptest::sample::select([NAMES.as_slice(), &["a\"; x=\"", "\r\nX: 1"]].concat());
    proptest::collection::btree_map(name, value, 0..5)
        .prop_map(|members| members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Returns the operation's request with these arguments, each found by its description.
fn sent(parameters: &[Parameter], body: Option<(&str, &Map<String, Value>)>) -> Result<ApiRequest, TestCaseError> {
    let in_path = parameters.iter().filter(|parameter| parameter.location == "path");
    let path: String = in_path.map(|parameter| format!("/at/{{{}}}", parameter.name)).collect();
    let described: Vec<Value> = parameters.iter().map(Parameter::described).collect();
    let mut operation = json!({"operationId": "use", "parameters": described, "responses": {}});
    if let Some((media_type, members)) = body {
        let property =
            |(name, _): (&String, &Value)| (name.clone(), json!({"description": format!("body member {name}")}));
        let properties: Map<String, Value> = members.iter().map(property).collect();
        let schema = json!({"type": "object", "properties": properties});
        operation["requestBody"] = json!({"required": true, "content": {media_type: {"schema": schema}}});
    }
    let document = json!({"openapi": "3.0.3", "servers": [{"url": "http://api.example/base"}],
        "paths": {format!("{path}/end"): {"post": operation}}});
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("api.json");
    std::fs::write(&file, document.to_string())?;
    let toolset = load_document("api", &file, &ToolsetSettings::default()).unwrap();
    prop_assert_eq!(&toolset.report.operations_skipped, &[]);
    let operation = &toolset.operations[0];

    let mut arguments = Map::new();
    let properties = operation.tool.parameters["properties"].as_object().unwrap();
    for (argument, schema) in properties {
        let is_safe = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
        prop_assert!(argument.len() <= 64 && argument.chars().all(is_safe), "{}", argument);
        let text = schema["description"].as_str().unwrap_or_default();
        let is_documented = |description: &str| text == description || text.starts_with(&format!("{description}\n"));
        let parameter = parameters.iter().find(|parameter| is_documented(&parameter.description()));
        let member = body
            .and_then(|(_, members)| members.iter().find(|(name, _)| is_documented(&format!("body member {name}"))));
        let value = match (parameter, member) {
            (Some(parameter), _) => parameter.value.clone(),
            (None, Some((_, value))) => value.clone(),
            (None, None) => body.map(|(_, members)| json!(members)).unwrap_or_default(),
        };
        arguments.insert(argument.clone(), value);
    }
    request::build(operation, &arguments).map_err(|refusal| TestCaseError::fail(refusal.message))
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8().unwrap().into_owned()
}

/// Removes and returns the values of every pair with this name.
fn take(pairs: &mut Vec<(String, String)>, name: &str) -> Vec<String> {
    let taken =
        pairs.iter().filter(|(pair_name, _)| decoded(pair_name) == name).map(|(_, value)| value.clone()).collect();
    pairs.retain(|(pair_name, _)| decoded(pair_name) != name);
    taken
}

/// Parses a value that was written as one text with a separator; `between` separates a member's name from its value.
fn split(text: &str, separator: &str, between: &str, like: &Value, decode: fn(&str) -> String) -> Value {
    let parts: Vec<&str> = text.split(separator).collect();
    match like {
        Value::Array(_) => parts.into_iter().map(|part| json!(decode(part))).collect(),
        Value::Object(_) if between == separator => {
            Value::Object(parts.chunks(2).map(|pair| (decode(pair[0]), json!(decode(pair[1])))).collect())
        }
        Value::Object(_) => {
            let pair = |part: &str| {
                let (name, value) = part.split_once(between).unwrap();
                (decode(name), json!(decode(value)))
            };
            Value::Object(parts.into_iter().map(pair).collect())
        }
        _ => json!(decode(text)),
    }
}

fn from_segment(parameter: &Parameter, segment: &str) -> Value {
    let like = &parameter.value;
    match (parameter.style, parameter.explode) {
        ("simple", explode) => split(segment, ",", if explode { "=" } else { "," }, like, decoded),
        ("label", explode) => {
            let separator = if explode { "." } else { "," };
            split(segment.strip_prefix('.').unwrap(), separator, separator, like, decoded)
        }
        (_, true) if like.is_object() => split(segment.strip_prefix(';').unwrap(), ";", "=", like, decoded),
        (_, true) if like.is_array() => {
            let values = segment.split(';').skip(1).map(|pair| {
                let (name, value) = pair.split_once('=').unwrap();
                assert_eq!(decoded(name), parameter.name);
                json!(decoded(value))
            });
            values.collect()
        }
        _ => {
            let (name, value) = segment.strip_prefix(';').unwrap().split_once('=').unwrap();
            assert_eq!(decoded(name), parameter.name);
            split(value, ",", ",", like, decoded)
        }
    }
}

fn from_pairs(parameter: &Parameter, pairs: &mut Vec<(String, String)>) -> Value {
    let members = parameter.value.as_object();
    if let Some(members) = members.filter(|_| parameter.style == "deepObject" || parameter.explode) {
        let wire_name = |member: &str| match parameter.style {
            "deepObject" => format!("{}[{member}]", parameter.name),
            _ => member.to_owned(),
        };
        let read = |member: &String| (member.clone(), json!(decoded(&take(pairs, &wire_name(member)).concat())));
        return Value::Object(members.keys().map(read).collect());
    }
    let values = take(pairs, parameter.name);
    if parameter.explode && parameter.value.is_array() {
        return values.iter().map(|value| json!(decoded(value))).collect();
    }
    let separator = match parameter.style {
        "spaceDelimited" => "%20",
        "pipeDelimited" => "%7C",
        _ => ",",
    };
    assert_eq!(values.len(), 1, "{parameter:?}");
    split(&values[0], separator, separator, &parameter.value, decoded)
}

fn pairs(text: &str, separator: &str) -> Vec<(String, String)> {
    let parts = text.split(separator).filter(|part| !part.is_empty());
    parts.map(|part| part.split_once('=').unwrap()).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Returns the members of a form or multipart body, each with all its values.
fn body_members(request: &ApiRequest) -> Vec<(String, String)> {
    let media_type = request.headers["content-type"].to_str().unwrap();
    let body = String::from_utf8(request.body.clone().unwrap().to_vec()).unwrap();
    let Some((_, boundary)) = media_type.split_once("boundary=") else {
        return pairs(&body, "&").into_iter().map(|(name, value)| (decoded(&name), decoded(&value))).collect();
    };
    let body = body.strip_suffix(&format!("--{boundary}--\r\n")).unwrap();
    let delimiter = format!("--{boundary}\r\n");
    let part = |part: &str| {
        let (head, content) = part.split_once("\r\n\r\n").unwrap();
        let name = head.strip_prefix("Content-Disposition: form-data; name=\"").unwrap().strip_suffix('"').unwrap();
        let name = name.replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n");
        (name, content.strip_suffix("\r\n").unwrap().to_owned())
    };
    body.split(&delimiter).skip(1).map(part).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, rng_seed: proptest::test_runner::RngSeed::Fixed(23), failure_persistence: None, ..ProptestConfig::default() })]

    /// Every parameter arrives once, in its location, with its value; and nothing else arrives.
    #[test]
    fn parameters_come_back_out_of_the_request(parameters in parameters()) {
        let request = sent(&parameters, None)?;
        let segments: Vec<&str> = request.url.path().split('/').collect();
        let in_path: Vec<&Parameter> = parameters.iter().filter(|parameter| parameter.location == "path").collect();
        prop_assert_eq!(segments.len(), 3 + 2 * in_path.len());
        for (index, parameter) in in_path.iter().enumerate() {
            prop_assert_eq!(from_segment(parameter, segments[3 + 2 * index]), parameter.value.clone());
        }
        let mut query = pairs(request.url.query().unwrap_or_default(), "&");
        let cookie = request.headers.get("cookie").map(|value| value.to_str().unwrap().to_owned());
        let mut cookies = pairs(&cookie.unwrap_or_default(), "; ");
        let mut headers = request.headers.clone();
        for name in ["accept", "cookie"] {
            headers.remove(name);
        }
        for parameter in &parameters {
            let read = match parameter.location {
                "query" => from_pairs(parameter, &mut query),
                "cookie" => from_pairs(parameter, &mut cookies),
                "header" => {
                    let text = headers.remove(parameter.name).unwrap();
                    let between = if parameter.explode { "=" } else { "," };
                    split(text.to_str().unwrap(), ",", between, &parameter.value, str::to_owned)
                }
                _ => continue,
            };
            prop_assert_eq!(read, parameter.value.clone(), "{:?}", parameter);
        }
        prop_assert!(query.is_empty() && cookies.is_empty() && headers.is_empty(), "{:?} {:?} {:?}", query, cookies, headers);
    }

    /// Every member of a body arrives once, also next to parameters with the same names.
    #[test]
    fn bodies_come_back_out_of_the_request(parameters in parameters(), members in members(), format in 0..3_usize) {
        let media_type = ["application/json", "application/x-www-form-urlencoded", "multipart/form-data"][format];
        let request = sent(&parameters, Some((media_type, &members)))?;
        if format == 0 {
            let read: Value = serde_json::from_slice(request.body.as_ref().unwrap()).unwrap();
            prop_assert_eq!(read, json!(members));
            return Ok(());
        }
        let mut expected: Vec<(String, String)> = Vec::new();
        for (name, value) in &members {
            let items = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
            expected.extend(items.iter().map(|item| (name.clone(), item.as_str().unwrap().to_owned())));
        }
        prop_assert_eq!(body_members(&request), expected);
    }
}
