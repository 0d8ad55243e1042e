//! Tests that a reserved marker never ends as text unseen: for each opener of the table, whatever follows it.

use super::samples::SAMPLES;
use crate::repair::rescue::notations::{NOTATIONS, Notation};
use crate::repair::rescue::testing::tools;
use crate::repair::rescue::{Reading, Situation, rescue};
use callwright_types::rules::Evidence;

/// Texts before a marker that do not quote it.
const BEFORE: [&str; 3] = ["", "Let me look that up.\n", "Ich sehe nach.\n\ncourt\n"];

/// Returns the reserved entries of the table.
fn reserved() -> impl Iterator<Item = &'static Notation> {
    NOTATIONS.iter().filter(|entry| entry.is_reserved())
}

/// Returns what follows the opener in the samples of the entry that begin with one.
fn bodies(entry: &Notation) -> Vec<&'static str> {
    let sample = SAMPLES.iter().find(|sample| sample.notation == entry.name);
    let texts = sample.into_iter().flat_map(|sample| sample.right).map(|(text, _)| *text);
    texts
        .filter_map(|text| entry.openers().filter_map(|open| text.strip_prefix(open)).min_by_key(|rest| rest.len()))
        .collect()
}

/// Returns the text if it is read as text without a call. A code fence without brackets is code, whatever its name.
fn unseen(text: &str, cut_off: bool) -> Option<String> {
    if text.contains("```") && !text.contains(['(', '[', '{', '=']) {
        return None;
    }
    let situation = Situation { cut_off, ..Situation::with(Evidence::Amid) };
    (rescue(text, tools(), &situation) == Reading::Text).then(|| format!("{cut_off}: {text}"))
}

fn check(unseen: &[String]) {
    assert!(unseen.is_empty(), "{} texts are not seen:\n{}", unseen.len(), unseen.join("\n----\n"));
}

#[test]
fn whole_and_cut_bodies_are_seen() {
    let mut all = Vec::new();
    for entry in reserved() {
        for open in entry.openers() {
            for body in bodies(entry) {
                let ends = body.char_indices().map(|(at, _)| at).skip(1).step_by(7).chain([body.len()]);
                for end in ends {
                    let text = format!("{open}{}", &body[..end]);
                    all.extend(unseen(&text, true));
                    all.extend(unseen(&text, false));
                }
            }
        }
    }
    check(&all);
}

#[test]
fn misspelt_bodies_are_seen() {
    let mut all = Vec::new();
    for entry in reserved() {
        for (number, open) in entry.openers().enumerate() {
            for body in bodies(entry) {
                let letters: Vec<(usize, char)> = body.char_indices().collect();
                for (at, letter) in letters.into_iter().skip(number % 9).step_by(9) {
                    let text = format!("{open}{}{}", &body[..at], &body[at + letter.len_utf8()..]);
                    all.extend(unseen(&text, false));
                }
            }
        }
    }
    check(&all);
}

#[test]
fn unreadable_bodies_are_seen() {
    let bodies = [
        "", "\n", "{]]}", "get_weather", "get_weather{", "get_weather(city=", "no_such_tool(a=1)", "\"}", "\u{fffd}",
        "call:get_weather{city:<|\"|>Oslo", "{\"city\": \"Oslo\"}",
    ];
    let mut all = Vec::new();
    for open in reserved().flat_map(Notation::openers) {
        for (before, body) in BEFORE.into_iter().flat_map(|before| bodies.map(|body| (before, body))) {
            for cut_off in [false, true] {
                all.extend(unseen(&format!("{before}{open}{body}"), cut_off));
            }
        }
    }
    check(&all);
}

#[test]
fn prose_on_the_same_line_hides_no_call_of_an_offered_tool() {
    let mut all = Vec::new();
    for open in reserved().flat_map(Notation::openers).filter(|open| !open.starts_with('`')) {
        for body in ["get_weather", "get_weather(city=", "get_weather\n\"Oslo", "{\"city\"", "[get_weather"] {
            all.extend(unseen(&format!("I will look.{open}{body}"), false));
        }
    }
    check(&all);
}

#[test]
fn code_without_marks_beside_them_hides_no_reserved_marks() {
    let mut all = Vec::new();
    for open in reserved().flat_map(Notation::openers).filter(|open| !open.starts_with('`')) {
        all.extend(unseen(&format!("I first ran:\nping()\nThen I go on.\n{open}{{]]}}"), false));
        all.extend(unseen(&format!("{open}{{]]}}\nget_weather(city=\"Oslo\")"), false));
    }
    check(&all);
}
