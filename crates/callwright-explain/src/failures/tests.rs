//! Tests of the rules on recorded cases and on hostile input.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::text_rules::TEXT_RULES;
use super::*;

/// Messages that report a failure, one JSON string per line.
const REPORTS: &str = include_str!("cases/reports.jsonl");

/// Similar messages that report no failure.
const OTHERS: &str = include_str!("cases/others.jsonl");

/// Texts and bodies that the rules recognise, and look-alikes that no rule may recognise, by the name of the rule.
const RULE_CASES: &str = include_str!("cases/rules.json");

#[derive(Deserialize)]
pub(super) struct RuleCases {
    pub(super) failures: Vec<String>,
    pub(super) look_alikes: Vec<String>,
}

pub(super) fn rule_cases() -> BTreeMap<String, RuleCases> {
    serde_json::from_str(RULE_CASES).unwrap()
}

/// Minimum number of cases of each kind.
const LEAST_CASES: usize = 150;

fn cases(lines: &str) -> Vec<String> {
    let cases: Vec<String> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(cases.len() >= LEAST_CASES);
    cases
}

fn found(text: &str) -> Option<&'static str> {
    recognise("t", text, &[]).failure()
}

#[test]
fn every_case_that_reports_a_failure_is_recognised() {
    let missed: Vec<String> = cases(REPORTS).into_iter().filter(|text| found(text).is_none()).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn no_negative_case_is_recognised() {
    let wrong: Vec<_> = cases(OTHERS).into_iter().filter_map(|text| Some((found(&text)?, text))).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_text_rule_matches_its_example_and_no_look_alike() {
    let cases = rule_cases();
    for (rule, ..) in TEXT_RULES {
        let RuleCases { failures, look_alikes } = &cases[*rule];
        for text in failures {
            assert_eq!(found(text), Some(*rule), "{text}");
        }
        assert!(look_alikes.iter().all(|text| found(text).is_none()), "{look_alikes:?}");
    }
}

#[test]
fn every_rule_has_a_case_that_it_alone_decides_in_order() {
    let mut unused: Vec<&str> = TEXT_RULES.iter().map(|(rule, ..)| *rule).collect();
    for text in cases(REPORTS) {
        let by = found(&text);
        unused.retain(|name| Some(*name) != by);
    }
    assert!(unused.is_empty(), "{unused:?}");
}

#[test]
fn large_deep_and_broken_messages_are_bounded() {
    let megabytes = 10 << 20;
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let wide = format!("[{}]", vec![r#"{"id":1,"name":"x"}"#; 200_000].join(","));
    let quotes = format!("{{'a': '{}'}}", "\\'".repeat(megabytes / 2));
    for text in [
        "a".repeat(megabytes),
        "Not found ".repeat(megabytes / 10),
        "<".repeat(megabytes),
        deep,
        wide,
        quotes,
        "\u{0}\u{feff}{".to_owned(),
    ] {
        assert_eq!(found(&text), None);
    }
    assert_eq!(found(&format!("Error: {}", "é".repeat(megabytes / 2))), Some("error_word"));
    let envelopes = format!("{}\"Error: x\"{}", r#"{"result":"#.repeat(100), "}".repeat(100));
    assert_eq!(found(&envelopes), None, "deeper than frameworks wrap");
}

/// Returns the rows of `docs/failures.md`: each rule with a message that it recognises and a look-alike.
fn rows() -> Vec<String> {
    let in_cell = |text: &str| text.replace('`', "").replace('\n', " ⏎ ").replace('|', "\\|");
    let row = |(name, cases): (String, RuleCases)| {
        format!("| `{name}` | `{}` | `{}` |", in_cell(&cases.failures[0]), in_cell(&cases.look_alikes[0]))
    };
    rule_cases().into_iter().map(row).collect()
}

#[test]
fn the_page_on_failures_shows_every_rule() {
    let page = include_str!("../../../../docs/failures.md");
    let missing: Vec<String> = rows().into_iter().filter(|row| !page.contains(row.as_str())).collect();
    assert!(missing.is_empty(), "docs/failures.md lacks:\n{}", missing.join("\n"));
}
