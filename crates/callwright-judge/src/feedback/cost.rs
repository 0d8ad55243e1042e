//! Checks that the table of feedback sizes in docs/benchmarks/judging.md matches the templates.

use std::fmt::Write as _;

use super::samples;
use callwright_common::tokens::estimated;
use callwright_types::FaultCode;

/// Returns the table: for each template, the shortest and the longest message about one fault of the sample tools.
fn table() -> String {
    let mut table = String::from("| code | template | bytes | words | tokens, about |\n|---|---|---:|---:|---:|\n");
    let of_answers = (FaultCode::NoCall, "unread_answer", samples::unread_messages());
    let calls = FaultCode::ALL.into_iter().filter(|code| code.is_of_call());
    let calls = calls.map(|code| (code, code.name(), samples::messages(code)));
    let silent = (FaultCode::NoAnswer, "no_answer", samples::silent_messages());
    for (code, template, messages) in std::iter::once(of_answers).chain(calls).chain([silent]) {
        let (bytes, words) = (range(&messages, str::len), range(&messages, |text| text.split_whitespace().count()));
        let tokens = range(&messages, estimated);
        let _ = writeln!(table, "| {code} | `{template}` | {bytes} | {words} | {tokens} |");
    }
    table
}

fn range(messages: &[String], measure: impl Fn(&str) -> usize) -> String {
    let measured: Vec<usize> = messages.iter().map(|message| measure(message)).collect();
    match (measured.iter().min(), measured.iter().max()) {
        (Some(least), Some(most)) if least < most => format!("{least} to {most}"),
        (least, _) => least.unwrap_or(&0).to_string(),
    }
}

#[test]
fn the_table_of_costs_is_that_of_the_templates() {
    let table = table();
    let documented = include_str!("../../../../docs/benchmarks/judging.md");
    assert!(documented.contains(&table), "docs/benchmarks/judging.md does not contain this table:\n{table}");
}
