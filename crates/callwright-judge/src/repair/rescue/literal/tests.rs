//! Tests of values as models write them.

use super::{Literal, LiteralReader};

/// Parses a whole text as a value, and returns it as JSON; `None` if it is not exactly one value.
fn value(text: &str) -> Option<String> {
    value_of(&mut LiteralReader::new(text, false))
}

/// Parses like [`value`], and closes brackets that the text leaves open.
fn completed(text: &str) -> Option<String> {
    value_of(&mut LiteralReader::new(text, true))
}

fn value_of(reader: &mut LiteralReader<'_>) -> Option<String> {
    let literal = reader.data()?;
    reader.skip_space()?;
    reader.rest().is_empty().then(|| {
        let json = Literal::Object(vec![("v".to_owned(), literal)]).json();
        json.strip_prefix("{\"v\":").and_then(|json| json.strip_suffix('}')).unwrap_or_default().to_owned()
    })
}

/// Returns the only argument of `f(...)` as JSON.
fn argument(text: &str) -> Option<String> {
    let mut reader = LiteralReader::new(text, false);
    let literal = reader.value()?;
    Some(literal.json())
}

#[test]
fn json_means_what_json_means() {
    for text in [
        r#"{"a":1,"b":[true,false,null],"c":{"d":"e"}}"#,
        "[]",
        "{}",
        r#""""#,
        "0",
        "-1.5e-7",
        r#"["a\"b","\\","/","\n"]"#,
        r#"{"a":{"a":{"a":[[[]]]}}}"#,
        "12345678901234567890123456789",
        "0.1000000000000000055511151231257827",
    ] {
        assert_eq!(value(text).as_deref(), Some(text));
    }
}

#[test]
fn literals_of_other_languages_become_json() {
    for (text, json) in [
        ("None", "null"),
        ("nil", "null"),
        ("undefined", "null"),
        ("True", "true"),
        ("FALSE", "false"),
        ("'a'", r#""a""#),
        ("`a`", r#""a""#),
        ("“a”", r#""a""#),
        ("r'a'", r#""a""#),
        ("(1, 2)", "[1,2]"),
        ("(1,)", "[1]"),
        ("(1)", "1"),
        ("()", "[]"),
        ("{'a': 1, 'b': (2,)}", r#"{"a":1,"b":[2]}"#),
        ("{a: 1}", r#"{"a":1}"#),
        ("[1, 2,]", "[1,2]"),
        ("[1 2]", "[\"1 2\"]"),
        ("[1, # one\n 2]", "[1,2]"),
        ("[1, /* one */ 2]", "[1,2]"),
    ] {
        assert_eq!(value(text).as_deref(), Some(json), "{text}");
    }
}

#[test]
fn strings_keep_what_they_say() {
    for (text, json) in [
        (r#""a\u00e9b""#, r#""aéb""#),
        (r#""\ud83d\ude00""#, r#""😀""#),
        (r"'It\'s'", r#""It's""#),
        (r#"'say "x"'"#, r#""say \"x\"""#),
        (r#""a\_b""#, r#""a_b""#),
        (r#""\d+""#, r#""\\d+""#),
        (r"'\x41'", r#""A""#),
        ("\"one\ntwo\"", r#""one\ntwo""#),
        ("'''one\n'two' '''", r#""one\n'two' ""#),
        ("\"\"\"a \"b\" c\"\"\"", r#""a \"b\" c""#),
        ("\"{[(\"", r#""{[(""#),
        (r"r'\d\n'", r#""\\d\\n""#),
        ("['King's Lynn', 'x']", r#"["King's Lynn","x"]"#),
    ] {
        assert_eq!(value(text).as_deref(), Some(json), "{text}");
    }
    for text in [r#""\ud83d""#, r#""\ud83dx""#, r#""\u12""#, r"'\xZZ'", "\"open", "'", "\"\"\"open"] {
        assert_eq!(value(text), None, "{text}");
    }
}

#[test]
fn numbers_keep_their_digits() {
    for (text, json) in [
        ("+5", "5"),
        ("-5", "-5"),
        (".5", "0.5"),
        ("5.", "5.0"),
        ("1_000_000", "1000000"),
        ("1e5", "1e5"),
        ("1E+5", "1E+5"),
        ("-0", "-0"),
        ("99999999999999999999999999999999999999999", "99999999999999999999999999999999999999999"),
        ("0.30000000000000004440892098500626", "0.30000000000000004440892098500626"),
    ] {
        assert_eq!(value(text).as_deref(), Some(json), "{text}");
    }
    for text in ["007", "1.2.3", "5km", "1__0x", "-", ".", "+", "--1", "1e", "0x10", "0b1", "1e5e5"] {
        assert_eq!(value(text), None, "{text}");
    }
}

#[test]
fn arithmetic_is_computed_and_anything_else_is_source() {
    for (text, json) in [
        ("1 + 2", "3"),
        ("2 * (3 + 4)", "14"),
        ("10 / 4", "2.5"),
        ("7 // 2", "3"),
        ("-7 // 2", "-4"),
        ("-7 % 3", "2"),
        ("2 ** 10", "1024"),
        ("2 ** -1", "0.5"),
        ("-2 ** 2", "-4"),
        ("0.05 / 12 * 0", "0.0"),
        ("1 / 0", "\"1 / 0\""),
        ("5 % 0", "\"5 % 0\""),
        ("9 ** 99", "\"9 ** 99\""),
        ("2 ** 2 ** 9", "\"2 ** 2 ** 9\""),
        ("9007199254740992 + 1", "\"9007199254740992 + 1\""),
        ("x + 1", "\"x + 1\""),
        ("lambda x: x ** 2", "\"lambda x: x ** 2\""),
        ("f(a, b)", "\"f(a, b)\""),
        ("'a' + 'b'", "\"'a' + 'b'\""),
        ("3*x\\**2", "\"3*x**2\""),
    ] {
        assert_eq!(argument(text).as_deref(), Some(json), "{text}");
    }
    for text in ["...", "…", "", ")", "f(a", "'a"] {
        assert_eq!(argument(text), None, "{text}");
    }
}

#[test]
fn an_expression_ends_where_its_argument_ends() {
    for (text, source, rest) in [
        ("f(a, b), c=1)", "f(a, b)", ", c=1)"),
        ("lambda x, y: x + y, 3)", "lambda x, y: x + y", ", 3)"),
        ("x['a,b'])", "x['a,b']", ")"),
        ("x\ny", "x", "\ny"),
        ("{**a}", "{**a}", ""),
    ] {
        let mut reader = LiteralReader::new(text, false);
        assert_eq!(reader.value(), Some(Literal::Source(source.to_owned())), "{text}");
        assert_eq!(reader.rest(), rest, "{text}");
    }
}

#[test]
fn brackets_are_closed_only_where_that_may_be() {
    for (text, json) in [
        ("[1, [2, 3]", "[1,[2,3]]"),
        ("{\"a\": {\"b\": 1}", r#"{"a":{"b":1}}"#),
        ("{\"a\": [1, 2}", r#"{"a":[1,2]}"#),
        ("{\"a\": [{\"b\": 1}}", r#"{"a":[{"b":1}]}"#),
    ] {
        assert_eq!(completed(text).as_deref(), Some(json), "{text}");
        assert_eq!(value(text), None, "{text}");
    }
    // The intended rest of an incomplete string or number is unknown.
    for text in ["{\"a\": \"b", "{\"a\": ", "{\"a", "{\"a\":"] {
        assert_eq!(completed(text), None, "{text}");
    }
}

#[test]
fn nesting_is_followed_to_a_bound() {
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(value(&nested(100)), Some(nested(100)));
    assert_eq!(value(&nested(101)), None);
    for open in ["[", "{\"a\":", "(", "{'a': [("] {
        assert_eq!(value(&open.repeat(50_000)), None);
        assert_eq!(completed(&open.repeat(50_000)), None);
    }
}

/// Returns the work for a text, as a multiple of its bytes.
fn work_per_byte(text: &str) -> usize {
    let mut reader = LiteralReader::new(text, true);
    let _ = reader.value();
    reader.spent() / text.len()
}

#[test]
fn reading_what_is_a_value_costs_a_few_steps_for_each_byte() {
    for unit in [
        "1,", "\"a b c\",", "{\"a\":[1,\"b\"]},", "(1,2),", "None,", "'it\\'s',", "   1  ,", "1.5e3,", "1 + 1,",
        "x.y(z),",
    ] {
        for count in [100, 1_000, 10_000] {
            let text = format!("[{}]", unit.repeat(count));
            assert!(work_per_byte(&text) <= 6, "{} for {unit} x {count}", work_per_byte(&text));
        }
    }
}

#[test]
fn work_grows_no_faster_than_the_text() {
    for unit in
        ["\"", "'", "[\"", "{\"a\":", "(", "/*", "f(", "[1,", "\"\"\"", "1+", "{'a' ", "'a' 'b", "\\", "“", "[}", "-"]
    {
        let spent = |count: usize| {
            let text = unit.repeat(count);
            let mut reader = LiteralReader::new(&text, true);
            for at in 0..64.min(text.len()) {
                reader.go(at);
                let _ = reader.value();
            }
            reader.spent()
        };
        let [small, large] = [spent(2_000), spent(16_000)];
        assert!(large <= small * 8 + 8 * 4096, "{unit}: {small} for 2,000 of them, {large} for 16,000");
    }
}
