//! Tests of the table of notations against its samples and its documentation.

use std::collections::BTreeSet;

use super::samples::SAMPLES;
use crate::repair::rescue::hold::{Hold, HoldRules, Starts};
use crate::repair::rescue::notations::NOTATIONS;
use crate::repair::rescue::testing::{check_text, read, tools};
use crate::repair::rescue::{Reading, Situation, rescue};
use callwright_types::rules::Evidence;

const DOCUMENT: &str = include_str!("../../../../../../docs/notations.md");

/// Returns the cells of the document's table rows, without the backticks around a whole cell.
fn rows() -> Vec<Vec<String>> {
    let cells = |line: &str| {
        let line = line.trim().trim_matches('|').replace("\\|", "\u{1}");
        line.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
    };
    DOCUMENT.lines().filter(|line| line.starts_with('|')).map(cells).collect()
}

#[test]
fn every_notation_has_samples_and_every_sample_a_notation() {
    let names: Vec<&str> = NOTATIONS.iter().map(|entry| entry.name).collect();
    let sampled: Vec<&str> = SAMPLES.iter().map(|sample| sample.notation).collect();
    assert_eq!(names, sampled);
    for sample in SAMPLES {
        assert!(
            !sample.right.is_empty() && !sample.hostile.is_empty() && !sample.alike.is_empty(),
            "{}",
            sample.notation
        );
    }
}

#[test]
fn no_mark_belongs_to_two_notations() {
    let marks: Vec<&str> = NOTATIONS.iter().flat_map(|entry| entry.openers()).collect();
    let distinct: BTreeSet<&str> = marks.iter().copied().collect();
    assert_eq!(marks.len(), distinct.len());
    assert!(marks.iter().all(|mark| !mark.is_empty()));
}

#[test]
fn the_document_names_every_notation_with_its_marks() {
    let rows = rows();
    for grammar in &NOTATIONS {
        let name = format!("`{}`", grammar.name);
        let row = rows.iter().find(|row| row.first() == Some(&name));
        let row = row.unwrap_or_else(|| panic!("docs/notations.md has no row for {name}"));
        assert_eq!(row.len(), 6, "the row of {name} has not six cells: {row:?}");
        for mark in grammar.openers() {
            assert!(row.iter().any(|cell| cell.contains(mark)), "the row of {name} does not name the mark {mark}");
        }
        for (index, cell) in row.iter().enumerate() {
            assert!(!cell.is_empty(), "cell {index} of the row of {name} is empty");
        }
    }
    // The document names no unknown notation.
    let known = |name: &str| NOTATIONS.iter().any(|grammar| format!("`{}`", grammar.name) == name);
    for row in rows.iter().filter(|row| row.len() == 6) {
        let name = row.first().map_or("", String::as_str);
        let is_head = name == "notation" || name.starts_with("--");
        let is_unmarked = ["`json`", "`python`", "`named_json`", "`plain`"].contains(&name);
        assert!(is_head || is_unmarked || known(name), "docs/notations.md names {name}, which is no notation");
    }
}

/// Returns the difference between the parsed `text` and its sample of `notation`.
fn wrong(notation: &str, text: &str, expected: &[(&str, &str)]) -> Option<String> {
    let rescued = match read(text) {
        Reading::Calls(rescued) => rescued,
        other => return Some(format!("{notation}: no call in:\n{text}\n{other:?}")),
    };
    let calls: Vec<(&str, &str)> =
        rescued.calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
    let is_right = calls == expected && rescued.notation == notation && rescued.evidence == Evidence::Marked;
    (!is_right).then(|| format!("{notation}: wrong calls in:\n{text}\n{rescued:?}"))
}

#[test]
fn the_document_shows_texts_that_are_tested() {
    let rows = rows();
    let shown = |cell: Option<&String>| {
        let code = cell.map_or("", |cell| cell.trim_matches('`'));
        if cell.is_some_and(|cell| cell.starts_with("``")) { code.trim().to_owned() } else { code.to_owned() }
    };
    for sample in SAMPLES {
        let name = format!("`{}`", sample.notation);
        let Some(row) = rows.iter().find(|row| row.first() == Some(&name)) else { continue };
        let holds = |texts: &[&str], cell: usize| {
            let cell = shown(row.get(cell));
            assert!(texts.iter().any(|text| text.replace('\n', "⏎") == cell), "no sample of {name} is {cell}");
        };
        holds(&sample.right.iter().map(|(text, _)| *text).collect::<Vec<_>>(), 2);
        holds(sample.hostile, 4);
        holds(sample.alike, 5);
    }
}

#[test]
fn right_texts_are_read_as_their_calls() {
    let all = SAMPLES.iter().flat_map(|sample| sample.right.iter().map(|right| (sample.notation, right)));
    let wrong: Vec<String> = all.filter_map(|(notation, (text, expected))| wrong(notation, text, expected)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn prose_around_right_texts_is_kept_and_changes_nothing() {
    let mut all = Vec::new();
    for sample in SAMPLES {
        for (text, expected) in sample.right {
            let around = format!("Let me look that up.\n\n{text}\n\nOne moment, please.");
            all.extend(wrong(sample.notation, &around, expected));
            if let Reading::Calls(rescued) = read(&around) {
                // Content after an invented result is also invented.
                let is_cut = text.contains("Observation: ");
                let is_kept = rescued.text.starts_with("Let me look that up.")
                    && rescued.text.trim_end().ends_with("One moment, please.") != is_cut;
                all.extend((!is_kept).then(|| format!("{:?} is left of:\n{around}", rescued.text)));
            }
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n\n"));
}

#[test]
fn nothing_but_white_space_is_left_of_a_call_alone() {
    let mut all = Vec::new();
    for sample in SAMPLES {
        for (text, _) in sample.right.iter().filter(|(text, _)| text.starts_with(['<', '[', ']'])) {
            let Reading::Calls(rescued) = read(text) else { continue };
            let has_prose = ["Let me", "I will", "<|endoftext|>", "I should"].iter().any(|prose| text.contains(prose));
            all.extend(
                (!has_prose && !rescued.text.is_empty()).then(|| format!("{:?} is left of:\n{text}", rescued.text)),
            );
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n\n"));
}

#[test]
fn hostile_texts_are_no_calls() {
    for sample in SAMPLES {
        for text in sample.hostile {
            let cut = Situation { cut_off: true, ..Situation::with(Evidence::Amid) };
            let reading = rescue(text, tools(), &cut);
            assert!(!matches!(reading, Reading::Calls(_)), "{} in:\n{text}\n{reading:?}", sample.notation);
            // Brackets of a text that is not truncated may be closed; parsing must also terminate.
            let _ = read(text);
        }
    }
}

#[test]
fn look_alikes_stay_text() {
    for sample in SAMPLES {
        for text in sample.alike {
            check_text(text);
        }
    }
}

#[test]
fn a_mark_in_inline_code_or_in_a_quotation_is_text() {
    for grammar in &NOTATIONS {
        for mark in grammar.openers() {
            if !mark.contains('`') {
                check_text(&format!("The mark `{mark}` begins a call (see above)."));
            }
            check_text(&format!("> {mark} (as the manual says)\n\nThat is all."));
            check_text(&format!("It prints \"{mark}\" first (see above)."));
        }
    }
}

#[test]
fn a_mark_in_a_sentence_is_text() {
    for grammar in &NOTATIONS {
        for mark in grammar.openers().filter(|mark| !mark.ends_with('{')) {
            check_text(&format!("Every call begins with {mark} and ends soon after (see above)."));
        }
    }
}

#[test]
fn calls_that_were_thought_only_are_text() {
    for sample in SAMPLES {
        for (text, _) in sample.right {
            check_text(&format!("<think>\nMaybe:\n{text}\n</think>\nNo tool is needed (really)."));
        }
    }
}

#[test]
fn nothing_of_a_call_flows_before_it_is_read() {
    let starts = Starts::of(tools());
    let rules = HoldRules { evidence: Evidence::Amid, json_wanted: false, max_bytes: 1 << 16 };
    let mut all = Vec::new();
    for (text, _) in SAMPLES.iter().flat_map(|sample| sample.right) {
        for text in [(*text).to_owned(), format!("Let me look that up.\n\n{text}")] {
            let Reading::Calls(rescued) = read(&text) else { continue };
            let mut hold = Hold::new(&starts, rules);
            let flowed = text.chars().map(|letter| hold.push(&letter.to_string())).last().unwrap_or_default();
            let start = rescued.spans.first().map_or(0, |span| span.start);
            all.extend(
                (flowed > start).then(|| format!("{flowed} bytes flowed, the call begins at {start} of:\n{text}")),
            );
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n\n"));
}
