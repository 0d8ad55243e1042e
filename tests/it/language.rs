//! The language of the repository: plain technical English in comments, documents, messages and dashboards, type names
//! that denote one type, few named closures, and short names of tests.
//!
//! The limits are ceilings: what is below them stays below.

use std::collections::BTreeMap;
use std::path::Path;

use crate::architecture::sources::{Source, files_below, packages, root_file, sources};

/// Words that a doc comment must not begin with: it begins with a verb in the third person or with a noun phrase.
const BEGINNINGS: [&str; 14] =
    ["What", "Who", "Whoever", "Nobody", "Is", "Are", "Does", "Do", "Has", "Can", "How", "Of", "So", "That"];

/// Words for which the field has a term.
const HOMELY: [&str; 21] = [
    "told", "tell", "tells", "say", "says", "said", "ask", "asks", "asked", "asking", "stand", "stands", "whoever",
    "nobody", "anybody", "anew", "mend", "mends", "mended", "mending", "wants",
];

/// Phrases for which there is a plain word.
const HOMELY_PHRASES: [&str; 7] =
    ["knows of", "in vain", "left alone", "leaves alone", "passes by", "made right", "became of"];

/// Files with prose, and the beginnings of their comments; everything is prose in Markdown.
const PROSE: [(&str, &str, &[&str]); 14] = [
    (".", ".md", &[]),
    ("docs", ".md", &[]),
    ("examples", ".md", &[]),
    ("bench", ".md", &[]),
    ("config", ".toml", &["#"]),
    ("policies", ".yaml", &["#"]),
    ("deploy", "", &["#"]),
    ("docker", "", &["#"]),
    ("packaging", ".md", &[]),
    ("dashboards/prometheus", ".yml", &["#"]),
    ("console", ".js", &["//", "/**", "*"]),
    (".ci", "", &["#"]),
    ("tests/it", ".rs", &["//"]),
    ("tests/slow", ".rs", &["//"]),
];

/// Sources with texts of conversations or for models, which are worded by measurement.
const CONVERSATIONS: [&str; 4] = [
    "crates/callwright-demo/src/conversations.rs",
    "crates/callwright-demo/src/scripted_model/",
    "crates/callwright-explain/src/failures/text_rules.rs",
    "crates/callwright-search/src/retrieval/function_words.rs",
];

/// Type names that may denote several types: each module has its own.
const SHARED_NAMES: [&str; 3] = ["Settings", "Error", "Facts"];

/// Type names in a thousand that denote more than one type, at most.
const MOST_SHARED_NAMES: usize = 70;

/// Named closures in ten thousand lines of a crate, at most. Write functions, loops or plain conditions instead.
const MOST_CLOSURES: usize = 12;

/// Crates with another ceiling.
const CLOSURES: [(&str, usize); 2] = [("callwright-explain", 24), ("callwright-memory", 24)];

/// Characters in the name of a function, at most: the name of a test is one short sentence.
const LONGEST_NAME: usize = 60;

/// Words before `fn`, except for the visibility.
const QUALIFIERS: [&str; 4] = ["async", "const", "unsafe", "extern"];

/// Returns the production lines of a file with their numbers.
fn lines(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let production = source.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    production.lines().enumerate().map(|(at, line)| (at + 1, line.trim_start()))
}

/// Returns the text of a comment without code spans.
fn prose(line: &str) -> Option<String> {
    let text = line.strip_prefix("//")?.trim_start_matches(['/', '!']);
    Some(without_code(text))
}

/// Removes code spans and the targets of links.
fn without_code(text: &str) -> String {
    let mut links = String::new();
    let mut rest = text;
    while let Some((before, code)) = rest.split_once('`') {
        links.push_str(before);
        links.push(' ');
        let marks = 1 + code.len() - code.trim_start_matches('`').len();
        let code = code.trim_start_matches('`');
        rest = code.split_once(&"`".repeat(marks)).map_or("", |(_, behind)| behind);
    }
    links.push_str(rest);
    while let Some((start, length)) = links.find("](").and_then(|start| Some((start, links[start..].find(')')?))) {
        links.replace_range(start..=start + length, " ");
    }
    links
}

/// Returns the first word or phrase for which there is a better one.
fn homely(prose: &str) -> Option<&'static str> {
    let lower = prose.to_lowercase();
    let mut words = lower.split(|letter: char| !(letter.is_alphanumeric() || letter == '-' || letter == '_'));
    let word = words.find_map(|word| HOMELY.iter().find(|homely| **homely == word));
    word.or_else(|| HOMELY_PHRASES.iter().find(|phrase| lower.contains(*phrase))).copied()
}

/// Returns the prose of a file with line numbers: the comments, or everything outside of the code of Markdown.
fn prose_of(text: &str, comments: &[&str]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut is_code = false;
    for (at, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        let prose = if comments.is_empty() {
            is_code ^= trimmed.starts_with("```");
            // A table of notations has texts of models in its cells.
            (!is_code && !line.starts_with("    ") && !trimmed.starts_with("```")).then_some(trimmed)
        } else {
            let begin = comments.iter().find(|begin| trimmed.starts_with(**begin));
            begin.and_then(|begin| trimmed.strip_prefix(begin))
        };
        found.extend(prose.map(|prose| (at + 1, without_code(prose))));
    }
    found
}

#[test]
fn comments_are_plain_technical_english() {
    let mut found = Vec::new();
    for source in sources() {
        let mut is_first = true;
        for (number, line) in lines(source) {
            let Some(prose) = prose(line) else {
                is_first = true;
                continue;
            };
            let first = prose.split_whitespace().next().unwrap_or_default();
            let is_doc = line.starts_with("///") || line.starts_with("//!");
            if is_doc && (is_first && BEGINNINGS.contains(&first) || prose.trim_end().ends_with('?')) {
                found.push(format!("{}: begin with a verb or a noun phrase: {line}", source.at(number)));
            }
            is_first = false;
            if let Some(word) = homely(&prose) {
                found.push(format!("{}: use the term of the field for \"{word}\": {line}", source.at(number)));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn documents_are_plain_technical_english() {
    let (mut found, mut files) = (Vec::new(), 0);
    for (folder, ending, comments) in PROSE {
        for path in files_below(folder, folder != ".").into_iter().filter(|path| path.ends_with(ending)) {
            let Ok(text) = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&path)) else { continue };
            files += 1;
            for (number, prose) in prose_of(&text, comments) {
                if let Some(word) = homely(&prose) {
                    found.push(format!("{path}:{number}: use the term of the field for \"{word}\": {}", prose.trim()));
                }
            }
        }
    }
    assert!(files > 150, "{files} files are too few: the search is broken");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn messages_are_plain_technical_english() {
    let mut found = Vec::new();
    for source in sources() {
        if CONVERSATIONS.iter().any(|path| source.path.starts_with(path)) {
            continue;
        }
        for literal in source.scan.literals.iter().filter(|literal| literal.text.contains(' ')) {
            let text: String =
                literal.text.split('{').map(|part| part.split_once('}').map_or(part, |(_, text)| text)).collect();
            if let Some(word) = homely(&without_code(&text)) {
                found.push(format!("{}: use the term of the field for \"{word}\": {text}", source.at(literal.line)));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn feedback_is_plain_technical_english() {
    let path = "crates/callwright-judge/src/feedback/templates.jinja";
    let (templates, mut found) = (root_file(path), Vec::new());
    for (at, line) in templates.lines().enumerate() {
        let text: String = line.split('{').map(|part| part.split_once('}').map_or(part, |(_, text)| text)).collect();
        found.extend(homely(&text).map(|word| format!("{path}:{}: \"{word}\": {line}", at + 1)));
    }
    let count = templates.lines().filter(|line| line.starts_with("## ")).count();
    assert!(count > 20, "{count} templates are too few: the search is broken");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn titles_of_dashboards_are_noun_phrases() {
    let mut found = Vec::new();
    for path in files_below("dashboards/grafana/boards", true) {
        for (at, line) in root_file(&path).lines().enumerate() {
            let (key, text) = line.trim().split_once(": ").unwrap_or_default();
            let text = text.trim_end_matches(',').trim_matches('"');
            let is_text = key == "\"title\"" || key == "\"description\"";
            let is_question =
                text.ends_with('?') || text.split(' ').next().is_some_and(|word| BEGINNINGS.contains(&word));
            if is_text && (is_question || homely(&without_code(text)).is_some()) {
                found.push(format!("{path}:{}: {text}", at + 1));
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
    let mut found = Vec::new();
    for package in packages().into_iter().chain(["callwright".to_owned()]) {
        let (mut all, mut closures) = (0, 0);
        for source in sources().iter().filter(|source| source.package == package) {
            for (_, line) in lines(source) {
                all += 1;
                closures += usize::from(is_named_closure(line));
            }
        }
        let most = CLOSURES.iter().find(|(name, _)| *name == package).map_or(MOST_CLOSURES, |(_, most)| *most);
        let share = closures * 10_000 / all;
        if share > most {
            found.push(format!("{package}: {share} named closures in 10,000 lines, more than {most}"));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn names_of_tests_are_short() {
    let (mut found, mut count) = (Vec::new(), 0);
    for path in ["src", "crates", "tests", "bench"].into_iter().flat_map(|folder| files_below(folder, true)) {
        if !path.ends_with(".rs") {
            continue;
        }
        for (at, line) in root_file(&path).lines().enumerate() {
            let Some(name) = function_name(line) else { continue };
            count += 1;
            if name.len() > LONGEST_NAME {
                found.push(format!("{path}:{}: at most {LONGEST_NAME} characters: {name}", at + 1));
            }
        }
    }
    assert!(count > 10_000, "{count} functions are too few: the search is broken");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Returns the name of the function that a line declares, also inside of a macro that makes tests of it.
fn function_name(line: &str) -> Option<&str> {
    let (before, name) = line.trim_start().split_once("fn ")?;
    let is_declaration = before.split_whitespace().all(|word| word.starts_with("pub") || QUALIFIERS.contains(&word));
    let name = name.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).next();
    name.filter(|name| is_declaration && !name.is_empty())
}

fn is_named_closure(line: &str) -> bool {
    let bound = line.strip_prefix("let ").and_then(|rest| rest.split_once(" = "));
    bound.is_some_and(|(_, value)| value.trim_start_matches("move ").starts_with('|'))
}

#[test]
fn the_patterns_find_what_they_must() {
    let table: &[(&str, Option<&str>)] = &[
        ("The proxy tells the client.", Some("tells")),
        ("Nobody waits.", Some("nobody")),
        ("The circuit is left alone.", Some("left alone")),
        ("A stand-alone file, `told` in code and [a link](docs/told.md).", None),
        ("A span ```` ``` they stand ``` ```` with fences.", None),
    ];
    for (text, word) in table {
        assert_eq!(homely(&without_code(text)), *word, "{text}");
    }
    assert_eq!(prose_of("a: 1 # told\n# told `x`\n", &["#"]), [(2, " told  ".to_owned())]);
    assert_eq!(prose_of("text\n```\ncode\n```\nmore", &[]), [(1, "text".to_owned()), (5, "more".to_owned())]);
    assert_eq!(function_name("    pub(crate) async fn a_b(store: Store) {"), Some("a_b"));
    assert_eq!(function_name("// A fn a_b() is named.").or(function_name("let f: fn (u8);")), None);
    assert!(is_named_closure("let f = move |x| x;") && !is_named_closure("let a = b | c;"));
}
