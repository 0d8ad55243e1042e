//! Rules for the arguments of one operation.

use callwright_common::limits::{COMPILED_PATTERN_BYTES, LISTED};
use regex::RegexBuilder;
use serde_json::Value;

use super::inputs::InputArgument;
use super::rule::{AdviceSubject, Findings, OperationCase};
use crate::tool::text::{is_among, listed};

/// Maximum length of a code, in characters. Longer values are words, which explain themselves.
const MAX_CODE_CHARS: usize = 3;

/// Formats that models can write without an example.
const KNOWN_FORMATS: &str = "base64 binary boolean byte char date date-time datetime decimal double duration email \
    float hostname html idn-email idn-hostname int32 int64 integer ip ipv4 ipv6 iri json markdown number password \
    string text time uri uri-reference url uuid xml";

/// Markers that introduce or enclose an example in a description.
const EXAMPLE_MARKS: [&str; 6] = ["example", "e.g.", "such as", "`", "\"", "<code>"];

/// Words and numbers. A pattern that matches one of them needs no example.
const PLAIN_VALUES: [&str; 6] = ["a", "name", "Name1", "1", "12345", "a name"];

/// `unexplained-parameter`. Skips an argument with `properties`: a whole body is explained by its own properties.
pub(super) fn unexplained_parameter(_: &AdviceSubject<'_>, case: &OperationCase<'_>, findings: &mut Findings) {
    for input in &case.inputs {
        if input.description().is_none() && input.keyword("properties").is_none() {
            let message = format!("the {} `{}` has no description", input.kind, input.argument);
            findings.add(&case.label, &input.at, message);
        }
    }
}

/// `unexplained-values`. Reports enumerated codes whose meanings are not documented.
pub(super) fn unexplained_values(_: &AdviceSubject<'_>, case: &OperationCase<'_>, findings: &mut Findings) {
    for input in &case.inputs {
        let Some(codes) = codes(input) else { continue };
        let words: Vec<&str> = input.description().unwrap_or_default().split(|c: char| !c.is_alphanumeric()).collect();
        let explained = codes.iter().filter(|code| words.contains(&code.as_str())).count();
        if explained * 2 < codes.len() {
            let (kind, argument, codes) =
                (input.kind, input.argument, listed(codes.iter().map(String::as_str), LISTED));
            let message = format!("the values {codes} of the {kind} `{argument}` have no explanation");
            findings.add(&case.label, &input.at, message);
        }
    }
}

/// Returns the values of `enum` if there are several and all are codes.
fn codes(input: &InputArgument<'_>) -> Option<Vec<String>> {
    let values = input.keyword("enum")?.as_array()?.iter().filter(|value| !value.is_null());
    let codes: Vec<String> = values.map(code).collect::<Option<_>>()?;
    (codes.len() > 1).then_some(codes)
}

/// Returns a digit, or a short string with fewer than two letters, as a code. Larger numbers are quantities, such as
/// page sizes. Two letters are a country or language code.
fn code(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => number.as_u64().filter(|number| *number < 10).map(|number| number.to_string()),
        Value::String(text) => {
            let is_short = (1..=MAX_CODE_CHARS).contains(&text.chars().count());
            let is_code = text.chars().all(char::is_alphanumeric)
                && text.chars().filter(|letter| letter.is_alphabetic()).count() < 2;
            (is_short && is_code).then(|| text.clone())
        }
        _ => None,
    }
}

/// `missing-example`. Reports strings with a required pattern or format and no example value.
pub(super) fn missing_example(_: &AdviceSubject<'_>, case: &OperationCase<'_>, findings: &mut Findings) {
    for input in &case.inputs {
        let Some(demand) = demand(input) else { continue };
        let description = input.description().unwrap_or_default().to_ascii_lowercase();
        if !input.shows_a_value() && !EXAMPLE_MARKS.iter().any(|mark| description.contains(mark)) {
            let (kind, argument) = (input.kind, input.argument);
            let message = format!("the {kind} `{argument}` must have {demand}");
            findings.add(&case.label, &input.at, message);
        }
    }
}

/// Returns the pattern or format that a model could get wrong.
fn demand(input: &InputArgument<'_>) -> Option<String> {
    let pattern = input.keyword("pattern").and_then(Value::as_str);
    if let Some(pattern) = pattern.filter(|pattern| has_structure(pattern)) {
        return Some(format!("the pattern `{pattern}`"));
    }
    let format = input.keyword("format").and_then(Value::as_str);
    let format = format.filter(|format| !is_among(KNOWN_FORMATS, &format.to_ascii_lowercase()))?;
    Some(format!("the format `{format}`"))
}

/// Whether `pattern` rejects all simple values. A pattern that the `regex` crate cannot compile counts as structured.
pub(super) fn has_structure(pattern: &str) -> bool {
    let regex = RegexBuilder::new(pattern).size_limit(COMPILED_PATTERN_BYTES).build();
    regex.map_or(true, |regex| !PLAIN_VALUES.iter().any(|value| regex.is_match(value)))
}
