//! `missing-example`: texts of a demanded form of which no value is shown.

use regex_syntax::hir::{Hir, HirKind};
use serde_json::Value;

use super::super::findings::Findings;
use super::super::inputs::Input;
use super::super::subject::{Case, Subject};

/// Formats that models know how to write.
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

/// What stands before an example in a description, or around it.
const SHOWN_BY: [&str; 6] = ["example", "e.g.", "such as", "`", "\"", "<code>"];

pub(crate) fn look(_: &Subject<'_>, case: &Case<'_>, findings: &mut Findings) {
    for input in &case.inputs {
        let Some(demand) = demand(input) else { continue };
        let told = input.description().unwrap_or_default().to_ascii_lowercase();
        if !input.shows_a_value() && !SHOWN_BY.iter().any(|mark| told.contains(mark)) {
            let (kind, argument) = (input.kind, input.argument);
            let message = format!("the {kind} `{argument}` has to have {demand}; give it an `example`");
            findings.add(&case.label, &input.at, message);
        }
    }
}

/// What is demanded that a model could get wrong.
fn demand(input: &Input<'_>) -> Option<String> {
    let text = |keyword: &str| input.keyword(keyword).and_then(Value::as_str);
    if let Some(pattern) = text("pattern").filter(|pattern| has_structure(pattern)) {
        return Some(format!("the form `{pattern}`"));
    }
    let format = text("format").filter(|format| !KNOWN_FORMATS.contains(&format.to_ascii_lowercase().as_str()))?;
    Some(format!("the format `{format}`"))
}

/// Is it more than characters of one kind? What cannot be read as a regular expression is.
fn has_structure(pattern: &str) -> bool {
    regex_syntax::parse(pattern).map_or(true, |hir| parts(&hir) > 1)
}

/// How many parts that take characters follow each other; 2 stands for more. Recursion is bounded by the parser's own nesting limit.
fn parts(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => literal.0.len().min(2),
        HirKind::Class(_) => 1,
        HirKind::Repetition(repetition) => parts(&repetition.sub),
        HirKind::Capture(capture) => parts(&capture.sub),
        HirKind::Concat(all) => all.iter().map(parts).sum::<usize>().min(2),
        HirKind::Alternation(all) => all.iter().map(parts).max().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::advice_on_operation;
    use super::*;
    use serde_json::json;

    fn found(schema: Value, description: &str) -> Vec<String> {
        let parameter = json!({"name": "s", "in": "query", "schema": schema, "description": description});
        let found = advice_on_operation("missing-example", json!({"parameters": [parameter]}));
        found.into_iter().map(|advice| advice.message).collect()
    }

    #[test]
    fn patterns_of_several_parts_and_unusual_formats_need_an_example() {
        let expected = "the query parameter `s` has to have the form `^[A-Z]{2}-\\d+$`; give it an `example`";
        assert_eq!(found(json!({"type": "string", "pattern": "^[A-Z]{2}-\\d+$"}), "An id."), [expected]);
        assert_eq!(found(json!({"type": "string", "format": "x-part-number"}), "").len(), 1);
    }

    #[test]
    fn shown_values_and_plain_forms_need_none() {
        let pattern = "^[A-Z]{2}-\\d+$";
        for (schema, description) in [
            (json!({"type": "string", "pattern": pattern, "example": "AB-1"}), ""),
            (json!({"type": "string", "pattern": pattern, "default": "AB-1"}), ""),
            (json!({"type": "string", "pattern": pattern}), "For example AB-1."),
            (json!({"type": "string", "pattern": ".+"}), ""),
            (json!({"type": "string", "format": "Date-Time"}), ""),
        ] {
            assert!(found(schema.clone(), description).is_empty(), "{schema}");
        }
    }

    #[test]
    fn structure_is_seen_through_anchors_groups_and_repetitions() {
        for plain in ["^\\w+$", "(?:[a-z]){1,64}", "[\\s\\S]*", "^(\\d)+$", ""] {
            assert!(!has_structure(plain), "{plain}");
        }
        for structured in ["a\\d", "^(?!x)y$", "\\d{3}-\\d{4}", "abc", "[a-z]|a-b"] {
            assert!(has_structure(structured), "{structured}");
        }
    }
}
