//! Schema quirks that providers accept, each with arguments that match and arguments that do not.

use serde_json::{Value, json};

use super::{CompiledSchema, SchemaRule, Violation};

/// `$schema` draft or empty, schema of the parameter `x`, matching values, violating values.
type Row = (&'static str, Value, &'static [&'static str], &'static [&'static str]);

fn check(rows: Vec<Row>) {
    for (draft, parameter, right, wrong) in rows {
        let mut schema = json!({ "type": "object", "properties": { "x": parameter } });
        if !draft.is_empty() {
            schema["$schema"] = draft.into();
        }
        let compiled = CompiledSchema::compile(&schema);
        assert!(compiled.judges(), "{schema} {:?}", compiled.problems);
        let violations =
            |value: &str| compiled.violations(&serde_json::from_str(&format!("{{\"x\":{value}}}")).unwrap());
        for value in right {
            assert!(violations(value).is_empty(), "{schema} {value} {:?}", violations(value));
        }
        for value in wrong {
            assert!(!violations(value).is_empty(), "{schema} {value}");
        }
    }
}

#[test]
fn types_by_the_names_of_other_languages() {
    check(vec![
        ("", json!({ "type": "dict" }), &["{}", r#"{"a":1}"#], &["[]", "1"]),
        ("", json!({ "type": "float" }), &["1", "1.5"], &[r#""1""#]),
        ("", json!({ "type": "any" }), &["1", "null", "[]", r#""x""#], &[]),
        ("", json!({ "type": "tuple", "items": { "type": "float" } }), &["[1, 2.5]"], &[r#"["a"]"#, "1"]),
        ("", json!({ "type": "String" }), &[r#""x""#], &["1"]),
        ("", json!({ "type": ["int", "none"] }), &["1", "null"], &["1.5", r#""1""#]),
        ("", json!({ "type": "list[int]" }), &["[1]"], &["1"]),
    ]);
}

#[test]
fn types_that_are_left_out_or_may_be_null() {
    check(vec![
        ("", json!({}), &["1", "null"], &[]),
        ("", json!({ "description": "anything" }), &["{}", r#""x""#], &[]),
        ("", json!({ "properties": { "a": { "type": "int" } } }), &[r#"{"a":1}"#], &[r#"{"a":"x"}"#, "1"]),
        ("", json!({ "items": { "type": "string" } }), &[r#"["a"]"#], &["[1]", r#""a""#]),
        ("", json!({ "type": "string", "nullable": true }), &["null", r#""x""#], &["1"]),
        ("", json!({ "type": "string", "nullable": true, "enum": ["a"] }), &["null", r#""a""#], &[r#""b""#]),
        ("", json!({ "type": "string", "nullable": false }), &[r#""x""#], &["null"]),
        ("", json!({ "enum": ["a", 1] }), &[r#""a""#, "1"], &[r#""b""#]),
    ]);
}

const DRAFT_4: &str = "http://json-schema.org/draft-04/schema#";
const DRAFT_6: &str = "http://json-schema.org/draft-06/schema#";
const DRAFT_7: &str = "http://json-schema.org/draft-07/schema#";
const DRAFT_2019: &str = "https://json-schema.org/draft/2019-09/schema";
const DRAFT_2020: &str = "https://json-schema.org/draft/2020-12/schema";

#[test]
fn every_draft_means_what_it_meant() {
    let exclusive = json!({ "type": "number", "minimum": 1, "exclusiveMinimum": true });
    let positional = json!({ "type": "array", "items": [{ "type": "integer" }], "additionalItems": false });
    let conditional = json!({ "if": { "type": "string" }, "then": { "minLength": 2 } });
    check(vec![
        (DRAFT_4, exclusive.clone(), &["2", "1.5"], &["1"]),
        ("", exclusive, &["2", "1.5"], &["1"]),
        (DRAFT_6, json!({ "exclusiveMinimum": 1 }), &["2"], &["1"]),
        (DRAFT_6, json!({ "contains": { "const": 1 } }), &["[2, 1]"], &["[2]"]),
        (DRAFT_7, conditional.clone(), &[r#""ab""#, "1"], &[r#""a""#]),
        (DRAFT_4, conditional, &[r#""a""#], &[]),
        (DRAFT_7, positional.clone(), &["[1]", "[]"], &["[1, 2]", r#"["a"]"#]),
        (DRAFT_2019, positional.clone(), &["[1]"], &["[1, 2]"]),
        ("", positional, &["[1]"], &["[1, 2]"]),
        (DRAFT_2019, json!({ "dependentRequired": { "a": ["b"] } }), &[r#"{"a":1,"b":1}"#], &[r#"{"a":1}"#]),
        (DRAFT_7, json!({ "dependencies": { "a": ["b"] } }), &[r#"{"b":1}"#], &[r#"{"a":1}"#]),
        (DRAFT_2020, json!({ "prefixItems": [{ "type": "integer" }], "items": false }), &["[1]"], &["[1, 2]"]),
        ("urn:no-draft-at-all", json!({ "type": "integer" }), &["1"], &[r#""1""#]),
    ]);
}

#[test]
fn formats_are_checked_in_every_draft() {
    for draft in ["", DRAFT_4, DRAFT_7, DRAFT_2019, DRAFT_2020] {
        check(vec![
            (draft, json!({ "format": "date-time" }), &[r#""2025-01-31T08:30:00Z""#], &[r#""tomorrow""#]),
            (draft, json!({ "format": "email" }), &[r#""a@b.org""#], &[r#""a""#]),
            (draft, json!({ "format": "ipv4" }), &[r#""127.0.0.1""#], &[r#""300.1.1.1""#]),
            (draft, json!({ "format": "uri" }), &[r#""https://a.org/x""#], &[r#""a b""#]),
            (draft, json!({ "format": "of our own" }), &[r#""anything""#, "1"], &[]),
        ]);
    }
    check(vec![
        ("", json!({ "format": "date" }), &[r#""2025-01-31""#], &[r#""31.01.2025""#]),
        ("", json!({ "format": "uuid" }), &[r#""123e4567-e89b-12d3-a456-426614174000""#], &[r#""123""#]),
    ]);
}

#[test]
fn patterns_take_linear_time_or_judge_nothing() {
    let text = Value::from(format!("{}!", "a".repeat(100_000))).to_string();
    for pattern in ["^(a+)+$", "^(a|aa)+$", "^([a-z]*)*$"] {
        let compiled = CompiledSchema::compile(&json!({ "properties": { "x": { "pattern": pattern } } }));
        let arguments = serde_json::from_str(&format!("{{\"x\":{text}}}")).unwrap();
        assert_eq!(compiled.violations(&arguments).len(), 1, "{pattern}");
    }
    for pattern in ["(", "(?<n", &"(a{1000}){1000}".repeat(3)] {
        let compiled =
            CompiledSchema::compile(&json!({ "properties": { "x": { "pattern": pattern, "minLength": 2 } } }));
        assert!(compiled.judges() && compiled.problems.len() == 1, "{pattern} {:?}", compiled.problems);
        assert!(compiled.violations(&json!({ "x": "anything" })).is_empty(), "{pattern}");
        assert_eq!(compiled.violations(&json!({ "x": "a" })).len(), 1, "the rest still judges");
    }
}

#[test]
fn look_around_and_back_references_are_judged_within_bounds() {
    for (pattern, right, wrong) in [
        ("^(?!random).*$", "abc", "random1"),
        ("(?<=a)b", "ab", "cb"),
        ("^(?=.*[A-Z])(?=.*[0-9]).{4,}$", "Abc1", "abc1"),
        (r"^(a+)-\1$", "aa-aa", "aa-a"),
        ("^[a-z-]{1,63}(?<!-)$", "a-b", "a-"),
    ] {
        let compiled =
            CompiledSchema::compile(&json!({ "properties": { "x": { "pattern": pattern, "maxLength": 40 } } }));
        assert!(compiled.problems.is_empty(), "{pattern} {:?}", compiled.problems);
        assert!(compiled.violations(&json!({ "x": right })).is_empty(), "{pattern}");
        let violations = compiled.violations(&json!({ "x": wrong }));
        assert!(matches!(violations[0].rule, SchemaRule::Constraint("pattern", _)), "{pattern} {violations:?}");
    }
    // A search without an end judges nothing, and neither does one in a long text; other rules still do.
    let schema = json!({ "properties": { "x": { "pattern": r"^(?=a)(a*)*\1b$", "maxLength": 9_000 }, "y": { "type": "integer" } } });
    let compiled = CompiledSchema::compile(&schema);
    for length in [30, 5_000, 8_900] {
        let arguments = json!({ "x": "a".repeat(length), "y": "no" });
        let violations = compiled.violations(&arguments);
        assert!(matches!(&violations[..], [Violation { rule: SchemaRule::Type(_), .. }]), "{length} {violations:?}");
    }
}

#[test]
fn a_schema_that_does_not_compile_judges_nothing_and_reports_it() {
    for schema in [
        json!({ "properties": { "x": { "$ref": "#/$defs/a" } }, "$defs": { "a": { "allOf": [{ "$ref": "#/$defs/a" }] } } }),
        json!({ "$ref": "#" }),
    ] {
        let compiled = CompiledSchema::compile(&schema);
        assert!(
            !compiled.judges() && compiled.problems.iter().any(|problem| problem.contains("not used for validation"))
        );
        assert!(compiled.violations(&json!({ "x": [1, "a", null] })).is_empty());
    }
}

#[test]
fn a_literal_that_would_match_nothing_is_its_pattern() {
    for (pattern, right, wrong) in [
        ("/^[a-z]+$/", "abc", "1"),
        ("/^[a-z]+/u", "abc", "1"),
        (r"/\.csv$/", "a.csv", "a.txt"),
        ("/^a|b/", "b/", "a"),
        (r"/a\$/", "/a$/", "a$"),
        ("/v[0-9]/", "/v1/", "v1"),
        ("/", "a/b", "ab"),
    ] {
        let compiled = CompiledSchema::compile(&json!({ "properties": { "x": { "pattern": pattern } } }));
        assert!(compiled.violations(&json!({ "x": right })).is_empty(), "{pattern}");
        assert!(!compiled.violations(&json!({ "x": wrong })).is_empty(), "{pattern}");
    }
}
