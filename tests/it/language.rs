//! The language of the code: comments in plain technical English, and type names that stand for one type.
//!
//! The limits are ceilings: what is below them stays below.

use std::collections::BTreeMap;

use crate::architecture::sources::{Source, sources};

/// Words that a doc comment must not begin with: it begins with a verb in the third person or with a noun phrase.
const QUESTIONS: [&str; 11] = ["What", "Who", "Whoever", "Nobody", "Is", "Are", "Does", "Do", "Has", "Can", "How"];

/// Words for which the field has a term.
const HOMELY: [&str; 14] = [
    "told", "tell", "tells", "said", "says", "asked", "stands", "whoever", "nobody", "anew", "mend", "mends", "mended",
    "wants",
];

/// Type names that may stand for several types: each module has its own.
const SHARED_NAMES: [&str; 3] = ["Settings", "Error", "Facts"];

/// Type names in a thousand that stand for more than one type, at most.
const MOST_SHARED_NAMES: usize = 70;

/// Named closures in ten thousand lines, at most. The aim is 20.
const MOST_CLOSURES: usize = 68;

/// Returns the production lines of a file with their numbers.
fn lines(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let production = source.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    production.lines().enumerate().map(|(at, line)| (at + 1, line.trim_start()))
}

/// Returns the text of a comment without code spans.
fn prose(line: &str) -> Option<String> {
    let text = line.strip_prefix("//")?.trim_start_matches(['/', '!']);
    Some(text.split('`').step_by(2).collect::<Vec<_>>().join(" "))
}

#[test]
fn comments_are_plain_technical_english() {
    let mut found = Vec::new();
    for source in sources() {
        for (number, line) in lines(source) {
            let Some(prose) = prose(line) else { continue };
            let first = prose.split_whitespace().next().unwrap_or_default();
            let is_doc = line.starts_with("///") || line.starts_with("//!");
            if is_doc && (QUESTIONS.contains(&first) || prose.trim_end().ends_with('?')) {
                found.push(format!("{}: a doc comment is a question: {line}", source.at(number)));
            }
            let mut words = prose.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
            if let Some(word) = words.find(|word| HOMELY.contains(&word.to_lowercase().as_str())) {
                found.push(format!("{}: use the term of the field for \"{word}\": {line}", source.at(number)));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_type_name_stands_for_one_type() {
    let mut types: BTreeMap<&str, usize> = BTreeMap::new();
    for source in sources() {
        for (_, line) in lines(source) {
            let item = match line.strip_prefix("pub") {
                Some(rest) => {
                    rest.split_once(") ").filter(|_| rest.starts_with('(')).map_or(rest, |(_, item)| item).trim_start()
                }
                None => line,
            };
            let name = ["struct ", "enum ", "trait "].iter().find_map(|keyword| item.strip_prefix(keyword));
            let name = name.and_then(|name| name.split(|letter: char| !letter.is_alphanumeric()).next());
            if let Some(name) = name.filter(|name| !SHARED_NAMES.contains(name)) {
                *types.entry(name).or_default() += 1;
            }
        }
    }
    assert!(types.len() > 500, "{} type names are too few: the search is broken", types.len());
    let shared: Vec<String> =
        types.iter().filter(|(_, count)| **count > 1).map(|(name, count)| format!("{name} ({count})")).collect();
    let share = shared.len() * 1_000 / types.len();
    assert!(share <= MOST_SHARED_NAMES, "{share} of 1,000 type names stand for several types: {}", shared.join(", "));
}

#[test]
fn closures_are_rarely_named() {
    let (mut all, mut closures) = (0, 0);
    for source in sources() {
        for (_, line) in lines(source) {
            all += 1;
            let bound = line.strip_prefix("let ").and_then(|rest| rest.split_once(" = "));
            closures += usize::from(bound.is_some_and(|(_, value)| value.trim_start_matches("move ").starts_with('|')));
        }
    }
    let share = closures * 10_000 / all;
    assert!(share <= MOST_CLOSURES, "{share} named closures in 10,000 lines");
}
