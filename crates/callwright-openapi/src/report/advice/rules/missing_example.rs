//! `missing-example`: strings with a required pattern or format and no example value.

use regex::RegexBuilder;
use serde_json::Value;

use super::super::inputs::InputArgument;
use super::super::rule::{AdviceSubject, Findings, OperationCase, Rule, RuleCheck};

/// Formats that models can write without an example.
const KNOWN_FORMATS: [&str; 36] = [
    "base64",
    "binary",
    "boolean",
    "byte",
    "char",
    "date",
    "date-time",
    "datetime",
    "decimal",
    "double",
    "duration",
    "email",
    "float",
    "hostname",
    "html",
    "idn-email",
    "idn-hostname",
    "int32",
    "int64",
    "integer",
    "ip",
    "ipv4",
    "ipv6",
    "iri",
    "json",
    "markdown",
    "number",
    "password",
    "string",
    "text",
    "time",
    "uri",
    "uri-reference",
    "url",
    "uuid",
    "xml",
];

/// Markers that introduce or enclose an example in a description.
const EXAMPLE_MARKS: [&str; 6] = ["example", "e.g.", "such as", "`", "\"", "<code>"];

/// Words and numbers. A pattern that matches one of them needs no example.
const PLAIN_VALUES: [&str; 6] = ["a", "name", "Name1", "1", "12345", "a name"];

/// Maximum size of a compiled pattern, in bytes. A larger pattern counts as structured.
const MAX_PATTERN_BYTES: usize = 1 << 20;

pub(crate) const RULE: Rule = Rule {
    code: "missing-example",
    about: "a required format has no example",
    fix: "give it an `example`",
    check: RuleCheck::Operation(check),
};

fn check(_: &AdviceSubject<'_>, case: &OperationCase<'_>, findings: &mut Findings) {
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
    let format = format.filter(|format| !KNOWN_FORMATS.contains(&format.to_ascii_lowercase().as_str()))?;
    Some(format!("the format `{format}`"))
}

/// Whether `pattern` rejects all simple values. A pattern that the `regex` crate cannot compile counts as structured.
fn has_structure(pattern: &str) -> bool {
    let regex = RegexBuilder::new(pattern).size_limit(MAX_PATTERN_BYTES).build();
    regex.map_or(true, |regex| !PLAIN_VALUES.iter().any(|value| regex.is_match(value)))
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::advice_on_operation;
    use super::*;
    use serde_json::json;

    fn messages_for(schema: Value, description: &str) -> Vec<String> {
        let parameter = json!({"name": "s", "in": "query", "schema": schema, "description": description});
        let found = advice_on_operation("missing-example", json!({"parameters": [parameter]}));
        found.into_iter().map(|advice| advice.message).collect()
    }

    #[test]
    fn patterns_of_several_parts_and_unusual_formats_need_an_example() {
        let expected = "the query parameter `s` must have the pattern `^[A-Z]{2}-\\d+$`";
        assert_eq!(messages_for(json!({"type": "string", "pattern": "^[A-Z]{2}-\\d+$"}), "An id."), [expected]);
        assert_eq!(messages_for(json!({"type": "string", "format": "x-part-number"}), "").len(), 1);
    }

    #[test]
    fn documented_values_and_plain_forms_need_no_example() {
        let pattern = "^[A-Z]{2}-\\d+$";
        for (schema, description) in [
            (json!({"type": "string", "pattern": pattern, "example": "AB-1"}), ""),
            (json!({"type": "string", "pattern": pattern, "default": "AB-1"}), ""),
            (json!({"type": "string", "pattern": pattern}), "For example AB-1."),
            (json!({"type": "string", "pattern": ".+"}), ""),
            (json!({"type": "string", "format": "Date-Time"}), ""),
        ] {
            assert!(messages_for(schema.clone(), description).is_empty(), "{schema}");
        }
    }

    #[test]
    fn patterns_for_plain_words_or_numbers_need_no_example() {
        for plain in [
            "^\\w+$",
            "[a-z]{1,64}",
            "[\\s\\S]*",
            "^(\\d)+$",
            "",
            ".*\\S.*",
            "^[a-z](?:[a-z-]*[a-z])?$",
            "^[A-Z][a-z]*\\d",
        ] {
            assert!(!has_structure(plain), "{plain}");
        }
        for structured in ["a\\d{4}", "^(?!x)y$", "\\d{3}-\\d{4}", "^arn:.*", "(", "(?:\\w{999}){999}"] {
            assert!(has_structure(structured), "{structured}");
        }
    }
}
