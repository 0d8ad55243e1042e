//! Tests of the table: the built-in one is complete, and an operator's file extends it or is rejected.

use super::Notations;
use super::file::built_in;
use crate::repair::rescue::hold::{Hold, HoldRules, Starts};
use crate::repair::rescue::testing::tools;
use crate::repair::rescue::{Reading, Rescued, Situation, rescue};
use callwright_types::rules::Evidence;

/// Returns the example of the documentation.
fn example() -> String {
    let page = include_str!("../../../../../../docs/notations.md");
    let behind = page.split_once("```toml\n").unwrap().1;
    behind.split_once("```").unwrap().0.to_owned()
}

fn read(text: &str, notations: &Notations) -> Reading {
    rescue(text, tools(), &Situation { notations: Some(notations), ..Situation::with(Evidence::Amid) })
}

fn calls(text: &str, notations: &Notations) -> Rescued {
    match read(text, notations) {
        Reading::Calls(rescued) => rescued,
        other => panic!("{other:?} in:\n{text}"),
    }
}

#[test]
fn every_entry_of_the_built_in_table_is_used() {
    let text = include_str!("../notations.toml");
    assert_eq!(built_in().entries.len(), text.matches("[[notation]]").count());
}

#[test]
fn the_example_of_the_documentation_is_read() {
    let table = Notations::parse(&example()).unwrap();
    let text = "<<call get_weather>>\n<<arg city>>\nOslo\n<</arg>>\n<<arg days>>3<</arg>>\n<</call>>";
    let rescued = calls(text, &table);
    assert_eq!(rescued.notation, "house_style");
    assert_eq!(rescued.calls[0].arguments, r#"{"city":"Oslo","days":"3"}"#);
    assert_eq!(rescued.text, "");
    assert!(matches!(read(text, Notations::built_in()), Reading::Text));
    // The entry disables the code fences of Gemma.
    let fence = "<execute_tool>get_weather(city=\"Oslo\")</execute_tool>";
    assert_eq!(calls(fence, Notations::built_in()).notation, "tool_code");
    assert!(!matches!(read(fence, &table), Reading::Calls(rescued) if rescued.notation == "tool_code"));
}

#[test]
fn a_stream_holds_the_calls_of_an_operators_notation() {
    let table = Notations::parse(&example()).unwrap();
    let text = "One moment.\n<<call get_weather>>\n<<arg city>>\nOslo\n<</arg>>\n<</call>>";
    let starts = Starts::of(tools());
    let rules = HoldRules { evidence: Evidence::Amid, json_wanted: false, max_bytes: 1 << 16 };
    let mut hold = Hold::with_notations(&starts, &table, rules);
    for letter in text.chars() {
        hold.push(letter.encode_utf8(&mut [0; 4]));
    }
    assert_eq!(&text[..hold.released()], "One moment.\n");
    let mut hold = Hold::new(&starts, rules);
    // Two characters at the end may become a marker of another notation.
    assert_eq!(hold.push(text), text.len() - 2);
}

#[test]
fn objects_whole_calls_and_sections_are_read() {
    let table = Notations::parse(
        "[[notation]]\nname = 'a'\nsection = ['@calls{']\nopen = ['@call:']\nbefore_arguments = ['@with:']\nclose = ['@end']\nsection_close = ['}@']\n\
         [[notation]]\nname = 'b'\nopen = ['@@run']\nbody = 'calls'\nclose = ['@@stop']\n",
    )
    .unwrap();
    let text = "@calls{\n@call:get_weather @with:{\"city\": \"Oslo\"}@end\n@call:ping @with:{}@end\n}@";
    let rescued = calls(text, &table);
    assert_eq!((rescued.notation, rescued.calls.len(), rescued.text.as_str()), ("a", 2, ""));
    let rescued = calls("@@run get_weather(city=\"Oslo\"); ping() @@stop", &table);
    assert_eq!((rescued.notation, rescued.calls.len()), ("b", 2));
    // A closer that is not optional.
    assert!(matches!(read("@call:ping @with:{}", &table), Reading::NoCall(_)));
    assert!(matches!(read("@call:nothing @with:{}@end", &table), Reading::NoCall(_)));
}

#[test]
fn a_file_with_a_mistake_is_refused_with_line_key_and_fix() {
    for (text, line, parts) in [
        ("[[notation]]\nname = 'Bad Name'\nopen = ['@@x']\n", 2, ["`name`", "lower-case"]),
        ("[[notation]]\nname = 'a'\n", 2, ["`open`", "give at least one"]),
        ("[[notation]]\nname = 'a'\nopen = ['call me']\n", 3, ["`open`", "line_start"]),
        ("[[notation]]\nname = 'a'\nopen = ['<']\n", 3, ["`open`", "3 bytes"]),
        ("[[notation]]\nname = 'a'\nopen = ['<tool_call>']\n", 3, ["`<tool_call>`", "disable"]),
        ("[[notation]]\nname = 'a'\nopen = ['@@x']\nreader = 'kimi'\n", 4, ["`reader`", "tokens"]),
        ("[[notation]]\nname = 'a'\nopen = ['@@x']\nbody = 'parameters'\n", 2, ["`parameter`", "middle"]),
        ("[[notation]]\nname = 'a'\nopen = ['@@x']\ncolour = 1\n", 4, ["colour", "expected"]),
        (
            "[[notation]]\nname = 'a'\nopen = ['@@x']\n\n[[notation]]\nname = 'a'\nopen = ['@@y']\n",
            6,
            ["`name`", "second"],
        ),
        ("[[notation]]\nname = 'nothing'\ndisabled = true\n", 2, ["`disabled`", "no built-in"]),
        ("[[notation]]\nname = 'a'\nopen = ['@@x'\n", 3, ["array", ""]),
    ] {
        let problem = Notations::parse(text).unwrap_err();
        assert_eq!(problem.line, line, "{}: {text}", problem.message);
        assert!(parts.iter().all(|part| problem.message.contains(part)), "{}: {text}", problem.message);
    }
}

#[test]
fn an_empty_file_is_the_built_in_table() {
    assert_eq!(*Notations::parse("").unwrap(), **Notations::built_in());
    assert_ne!(*Notations::parse(&example()).unwrap(), **Notations::built_in());
}
