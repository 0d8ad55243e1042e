//! Serialisation of values in a path, query, header, cookie or form (OpenAPI 3.0.4, Style Values; RFC 6570).
//!
//! Combinations that the specification leaves undefined (`n/a` in its table of examples) are written as most servers
//! read them:
//!
//! | style | value | written |
//! |---|---|---|
//! | `spaceDelimited`, `pipeDelimited` with `explode` | array, object | as `form` with `explode` |
//! | `spaceDelimited`, `pipeDelimited`, `deepObject` | anything but arrays and objects | as `form` |
//! | `deepObject` without `explode` | object | as with `explode`: there is no other form |
//! | `deepObject` | array | as `form` with `explode` |
//! | `deepObject` | nested objects and arrays | `color[a][b]=1`, and the name repeated for each item |
//! | any | objects and arrays inside arrays and objects | as JSON |
//!
//! `null`, empty arrays and empty objects are undefined values and are omitted (RFC 6570 section 2.3). Spaces become
//! `%20`, never `+`, because URI and form decoders both accept it (OpenAPI 3.1.1, Appendix E).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::media_type::is_json;
use callwright_openapi::{Binding, Style};

/// All characters except the unreserved ones (RFC 3986 section 2.3): the set that RFC 6570 section 3.2.2 encodes.
pub(super) const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// [`RESERVED`] without the reserved characters that have no structural meaning in a query. `allowReserved` permits
/// these (OpenAPI 3.1.1, Appendix E: not `[`, `]`, `#`, `&`, `=`, `+`).
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

/// Percent-encodes all characters except the unreserved ones.
pub(crate) fn encode(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// Encoding of the characters of names and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EscapeMode {
    /// Percent-encoded, except unreserved characters.
    Encoded,
    /// Reserved characters in values, and existing percent-encoding, are preserved.
    Reserved,
    /// Not encoded: in headers and in parts of a body.
    Plain,
}

/// Value in the form that styles apply to.
enum StyledValue {
    Text(String),
    List(Vec<String>),
    Members(Vec<(String, String)>),
}

/// Returns the encoded text of a path parameter; `None` for `null`.
pub(super) fn path(binding: &Binding, value: &Value) -> Option<String> {
    let shape = shape(binding, value)?;
    let (style, explode, writing) = (binding.style, binding.explode, EscapeMode::Encoded);
    Some(match style {
        Style::Matrix => matrix(&encode(&binding.name), &shape, explode),
        Style::Label => format!(".{}", joined(&shape, if explode { "." } else { "," }, explode, writing)),
        style => joined(&shape, &writing.separator(style), explode, writing),
    })
}

/// Returns the text of a header parameter, which is not percent-encoded. Returns `None` for `null`, and for an empty
/// list or object, which is undefined (RFC 6570 section 2.3): servers would read an empty text as one empty item.
pub(super) fn header(binding: &Binding, value: &Value) -> Option<String> {
    let writing = EscapeMode::Plain;
    let shape = shape(binding, value)?;
    let is_undefined = match &shape {
        StyledValue::Text(_) => false,
        StyledValue::List(items) => items.is_empty(),
        StyledValue::Members(members) => members.is_empty(),
    };
    (!is_undefined).then(|| joined(&shape, &writing.separator(binding.style), binding.explode, writing))
}

/// Returns the encoded `name=value` pairs of the query parameters, in order.
pub(super) fn query(parameters: &[(&Binding, &Value)]) -> Vec<String> {
    let mut query = Vec::new();
    for (binding, value) in parameters {
        let writing = if binding.allow_reserved { EscapeMode::Reserved } else { EscapeMode::Encoded };
        query.extend(pairs(binding, value, writing).into_iter().map(|(name, value)| format!("{name}={value}")));
    }
    query
}

/// Returns the encoded `name=value` pairs of the cookie parameters, in order.
pub(super) fn cookies(parameters: &[(&Binding, &Value)]) -> Vec<String> {
    let pairs = parameters.iter().flat_map(|(binding, value)| pairs(binding, value, EscapeMode::Encoded));
    pairs.map(|(name, value)| format!("{name}={value}")).collect()
}

/// Returns the pairs of name and value for one parameter or form member.
pub(super) fn pairs(binding: &Binding, value: &Value, writing: EscapeMode) -> Vec<(String, String)> {
    let name = writing.name(&binding.name);
    let is_deep = binding.style == Style::DeepObject;
    if is_deep && value.is_object() && binding.media_type.is_none() {
        let mut pairs = Vec::new();
        deep_object(&name, value, writing, &mut pairs);
        return pairs;
    }
    let Some(shape) = shape(binding, value) else { return Vec::new() };
    form(name, &shape, binding.explode || is_deep, &writing.separator(binding.style), writing)
}

impl EscapeMode {
    fn name(self, name: &str) -> String {
        if self == Self::Plain { name.to_owned() } else { encode(name) }
    }

    fn value(self, text: &str) -> String {
        match self {
            Self::Encoded => encode(text),
            Self::Reserved => encode_rest(text, STRUCTURE),
            Self::Plain => text.to_owned(),
        }
    }

    /// Returns the separator between array items that are written as one text. A comma is a delimiter and is not
    /// encoded (RFC 6570 section 3.2.2).
    fn separator(self, style: Style) -> String {
        match separator(style) {
            "," => ",".to_owned(),
            other if self == Self::Plain => other.to_owned(),
            other => encode(other),
        }
    }

    /// Returns the name of an object's member.
    fn member(self, name: &str, member: &str) -> String {
        match self {
            Self::Plain => format!("{name}[{member}]"),
            _ => format!("{name}%5B{}%5D", encode(member)),
        }
    }
}

fn separator(style: Style) -> &'static str {
    match style {
        Style::SpaceDelimited => " ",
        Style::TabDelimited => "\t",
        Style::PipeDelimited => "|",
        _ => ",",
    }
}

/// Writes `name=a,b`, or `name=a` and `name=b`. An empty list or object yields nothing, like an undefined variable
/// (RFC 6570 section 2.3).
fn form(
    name: String,
    shape: &StyledValue,
    explode: bool,
    separator: &str,
    writing: EscapeMode,
) -> Vec<(String, String)> {
    match shape {
        StyledValue::Text(text) => vec![(name, writing.value(text))],
        StyledValue::List(items) if explode => items.iter().map(|item| (name.clone(), writing.value(item))).collect(),
        StyledValue::Members(members) if explode => {
            members.iter().map(|(member, value)| (writing.name(member), writing.value(value))).collect()
        }
        StyledValue::List(items) if items.is_empty() => Vec::new(),
        StyledValue::Members(members) if members.is_empty() => Vec::new(),
        _ => vec![(name, joined(shape, separator, false, writing))],
    }
}

/// Writes `;name=a,b` or `;name=a;name=b`; an empty text yields a bare `;name` (RFC 6570 section 3.2.7).
fn matrix(name: &str, shape: &StyledValue, explode: bool) -> String {
    match shape {
        StyledValue::List(items) if explode => items.iter().map(|item| matrix_pair(name, &encode(item))).collect(),
        StyledValue::Members(members) if explode => {
            members.iter().map(|(member, value)| matrix_pair(&encode(member), &encode(value))).collect()
        }
        _ => matrix_pair(name, &joined(shape, ",", false, EscapeMode::Encoded)),
    }
}

fn matrix_pair(name: &str, value: &str) -> String {
    if value.is_empty() { format!(";{name}") } else { format!(";{name}={value}") }
}

/// Writes `name[member]=value` for every level of the object. The specification defines one level; servers that
/// accept more use this form.
fn deep_object(name: &str, value: &Value, writing: EscapeMode, pairs: &mut Vec<(String, String)>) {
    match value {
        Value::Object(members) => {
            for (member, value) in members {
                deep_object(&writing.member(name, member), value, writing, pairs);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| deep_object(name, item, writing, pairs)),
        _ => pairs.extend(text(value).map(|text| (name.to_owned(), writing.value(&text)))),
    }
}

fn joined(shape: &StyledValue, separator: &str, explode: bool, writing: EscapeMode) -> String {
    let between = if explode { "=" } else { separator };
    let parts: Vec<String> = match shape {
        StyledValue::Text(text) => vec![writing.value(text)],
        StyledValue::List(items) => items.iter().map(|item| writing.value(item)).collect(),
        StyledValue::Members(members) => {
            // Names are encoded differently: characters that `allowReserved` permits in values could end a name.
            let pairs = members.iter().map(|(name, value)| (writing.name(name), writing.value(value)));
            pairs.map(|(name, value)| format!("{name}{between}{value}")).collect()
        }
    };
    parts.join(separator)
}

/// Converts the value to the form that styles apply to. A parameter described by `content` is one text: JSON, or for
/// another media type the plain text of the value.
fn shape(binding: &Binding, value: &Value) -> Option<StyledValue> {
    let is_json = binding.media_type.as_deref().map(is_json);
    Some(match value {
        Value::Null => return None,
        _ if is_json == Some(true) => StyledValue::Text(value.to_string()),
        _ if is_json == Some(false) => StyledValue::Text(text(value)?),
        Value::Array(items) => {
            StyledValue::List(items.iter().filter_map(|item| nested_text(item, &binding.nested)).collect())
        }
        Value::Object(members) => StyledValue::Members(
            members.iter().filter_map(|(name, value)| Some((name.clone(), text(value)?))).collect(),
        ),
        _ => StyledValue::Text(text(value)?),
    })
}

/// Returns the text of an array item. A nested array uses the first of `styles`, and arrays within it the remaining
/// ones.
fn nested_text(item: &Value, styles: &[Style]) -> Option<String> {
    match (item, styles.split_first()) {
        (Value::Array(items), Some((style, rest))) => {
            let texts: Vec<String> = items.iter().filter_map(|item| nested_text(item, rest)).collect();
            Some(texts.join(separator(*style)))
        }
        _ => text(item),
    }
}

/// Returns the text of a value inside a list or object. `null` is omitted; values nested deeper than the styles
/// define are JSON.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        // `1e21` equals `1e+21` without the `+`, which has a meaning in a query.
        Value::Number(number) => Some(number.to_string().replace("e+", "e")),
        _ => Some(value.to_string()),
    }
}

/// Encodes the characters of `set` and preserves existing percent-encoding (reserved expansion, RFC 6570 section
/// 3.2.3).
pub(super) fn encode_rest(text: &str, set: &'static AsciiSet) -> String {
    let mut pieces = text.split('%');
    let mut encoded: String = utf8_percent_encode(pieces.next().unwrap_or_default(), set).collect();
    for piece in pieces {
        let is_encoding = piece.len() >= 2 && piece.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
        encoded.push_str(if is_encoding { "%" } else { "%25" });
        encoded.extend(utf8_percent_encode(piece, set));
    }
    encoded
}

#[cfg(test)]
mod tests;
