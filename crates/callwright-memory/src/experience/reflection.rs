//! Notes that a model abstracts from the case of a lesson (`recall.reflect`).
//!
//! Unlike [`wording`](super::wording()), the model sees the case: the request and the calls, redacted. Its note is shared
//! with other clients of the group, so it is accepted only if no word of it comes from the arguments of the case or from
//! the client's own tools. Words of the composed lesson are exempt: they come from the operator's documents.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use super::Settings;
use super::redaction::redacted;
use super::text::shortened;
use super::wording::accepted_wording;
use callwright_common::text::{name_words, one_line};
use callwright_search::retrieval::{content_terms, is_unspaced, stem};
use callwright_types::Lesson;
use callwright_types::memory::Wording;

/// Number of consecutive words of the request that a note must not repeat.
const COPIED_WORDS: usize = 4;

/// Maximum number of characters of one text of a case in a prompt.
const MAX_TEXT_CHARS: usize = 2_000;

/// Values of `type` in lists of tools.
const SCHEMA_WORDS: [&str; 9] =
    ["array", "boolean", "custom", "function", "integer", "null", "number", "object", "string"];

/// Maximum number of diagnoses in a prompt.
const MAX_DIAGNOSES: usize = 4;

/// Case of a lesson: the request, a faulty or failed call, and the call that replaced it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LessonCase {
    /// Last user message of the turn.
    pub request: String,
    /// Name and arguments of the faulty call; `None` if the answer had no readable call.
    pub faulty: Option<(String, String)>,
    /// Diagnoses of the faulty call, or the explanation of its failure.
    pub diagnoses: Vec<String>,
    /// Name and arguments of the call that worked.
    pub corrected: (String, String),
    /// Texts that a note must not contain a word of.
    pub private: PrivateTexts,
}

/// Texts of a turn that must not reach other clients.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PrivateTexts(Vec<String>);

/// Case of a lesson in the model's prompt.
#[derive(Debug, Serialize)]
pub(super) struct CasePromptData<'a> {
    tools: &'a [String],
    known: &'a str,
    request: String,
    faulty: Option<CallPromptData<'a>>,
    diagnosis: Vec<String>,
    corrected: CallPromptData<'a>,
}

#[derive(Debug, Serialize)]
struct CallPromptData<'a> {
    tool: &'a str,
    arguments: String,
}

impl PrivateTexts {
    /// Adds the values of a call's arguments: texts, numbers, and the keys of nested objects. All of an invalid text is a
    /// value.
    pub fn add_arguments(&mut self, arguments: &str) {
        match serde_json::from_str(arguments) {
            Ok(Value::Object(members)) => members.values().for_each(|value| self.add_value(value)),
            Ok(value) => self.add_value(&value),
            Err(_) => self.0.push(arguments.to_owned()),
        }
    }

    /// Adds the texts of a list of tools: names, descriptions, names of parameters, and values.
    pub fn add_tools(&mut self, tools: &Value) {
        match tools {
            Value::String(text) if !SCHEMA_WORDS.contains(&text.as_str()) => self.0.push(text.clone()),
            Value::Array(items) => items.iter().for_each(|item| self.add_tools(item)),
            Value::Object(members) => {
                for (key, member) in members {
                    match (key.as_str(), member) {
                        ("enum" | "const" | "default" | "example" | "examples", _) => self.add_value(member),
                        ("properties" | "patternProperties" | "$defs" | "definitions", Value::Object(named)) => {
                            self.0.extend(named.keys().cloned());
                            named.values().for_each(|schema| self.add_tools(schema));
                        }
                        _ => self.add_tools(member),
                    }
                }
            }
            _ => {}
        }
    }

    /// Adds all texts, numbers and keys of a value.
    fn add_value(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.0.push(text.clone()),
            Value::Number(number) => self.0.push(number.to_string()),
            Value::Array(items) => items.iter().for_each(|item| self.add_value(item)),
            Value::Object(members) => {
                for (key, member) in members {
                    self.0.push(key.clone());
                    self.add_value(member);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

impl<'a> CasePromptData<'a> {
    /// Returns the data of a case without personal data.
    pub(super) fn new(lesson: &'a Lesson, case: &'a LessonCase) -> Self {
        let call =
            |(tool, arguments): &'a (String, String)| CallPromptData { tool, arguments: redacted_excerpt(arguments) };
        Self {
            tools: &lesson.tools,
            known: &lesson.value,
            request: redacted_excerpt(&case.request),
            faulty: case.faulty.as_ref().map(call),
            diagnosis: case.diagnoses.iter().take(MAX_DIAGNOSES).map(|text| redacted_excerpt(text)).collect(),
            corrected: call(&case.corrected),
        }
    }
}

fn redacted_excerpt(text: &str) -> String {
    redacted(shortened(&one_line(text), MAX_TEXT_CHARS))
}

/// Returns the wording of a lesson from a model's note about its case. Returns `None` if the note names something that
/// the lesson does not, repeats the request, or contains a word of the case's private texts.
pub(super) fn accepted_reflection(
    lesson: &Lesson,
    case: &LessonCase,
    key: &str,
    value: String,
    settings: &Settings,
) -> Option<Wording> {
    let note = format!("{key} {value}");
    let lesson_text = format!("{} {} {}", lesson.key, lesson.value, lesson.tools.join(" "));
    if has_private_word(&note, &case.private, &lesson_text) || repeats_request(&note, &case.request, &lesson_text) {
        return None;
    }
    accepted_wording(lesson, key, value, settings)
}

fn has_private_word(note: &str, PrivateTexts(private): &PrivateTexts, lesson_text: &str) -> bool {
    let (note_words, lesson_words) = (all_words(note), all_words(lesson_text));
    let mut private_words = private.iter().flat_map(|text| all_words(text));
    if private_words.any(|word| note_words.contains(&word) && !lesson_words.contains(&word) && !is_function_word(&word))
    {
        return true;
    }
    // Texts that consist of function words, such as names, or of signs.
    private.iter().any(|text| {
        let text = text.trim();
        let has_content = all_words(text).iter().any(|word| !is_function_word(word));
        !has_content
            && text.chars().count() > 1
            && contains_separately(note, text)
            && !contains_separately(lesson_text, text)
    })
}

/// Whether the note has several consecutive words of the request, or a name in it: a capitalised word within a sentence.
fn repeats_request(note: &str, request: &str, lesson_text: &str) -> bool {
    let (note_words, lesson_words) = (all_words(note), all_words(lesson_text));
    let mut starts_sentence = true;
    for word in request.split_whitespace() {
        let is_name = !starts_sentence
            && word.trim_start_matches(|letter: char| !letter.is_alphanumeric()).starts_with(char::is_uppercase);
        let mut parts = all_words(word).into_iter();
        if is_name
            && parts.any(|part| note_words.contains(&part) && !lesson_words.contains(&part) && !is_function_word(&part))
        {
            return true;
        }
        starts_sentence = word.ends_with(['.', '!', '?', ':']);
    }
    let (note, lesson, request) = (name_words(note), name_words(lesson_text), name_words(request));
    request.windows(COPIED_WORDS).any(|run| has_run(&note, run) && !has_run(&lesson, run))
}

fn has_run(text: &[String], run: &[String]) -> bool {
    text.windows(run.len()).any(|words| words == run)
}

/// Returns the words of a text without regard to case and number, also the parts of names. Scripts without spaces yield
/// pairs of characters, and signs such as emoji are words of their own.
fn all_words(text: &str) -> BTreeSet<String> {
    let whole = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    // Upper case first: `ß` becomes `SS`.
    let folded =
        name_words(text).into_iter().chain(whole.map(str::to_owned)).map(|word| word.to_uppercase().to_lowercase());
    let mut all: BTreeSet<String> = folded.map(|word| stem(&word)).collect();
    let characters: Vec<char> = text.chars().collect();
    let pairs = characters.windows(2).filter(|pair| pair.iter().all(|letter| is_unspaced(*letter)));
    all.extend(pairs.map(|pair| pair.iter().collect::<String>()));
    all.extend(characters.iter().filter(|letter| is_sign(**letter)).map(char::to_string));
    all
}

/// Whether a character is neither part of a word nor punctuation.
fn is_sign(letter: char) -> bool {
    let is_punctuation = matches!(letter, '\u{a0}'..='\u{bf}' | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}');
    !letter.is_ascii() && !letter.is_alphanumeric() && !is_punctuation
}

fn is_function_word(word: &str) -> bool {
    content_terms(word).is_empty() && !word.chars().any(is_sign)
}

/// Whether a text contains another one, not within a word.
fn contains_separately(text: &str, part: &str) -> bool {
    let is_within = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    let starts_word = is_within(part.chars().next());
    let ends_word = is_within(part.chars().next_back());
    text.match_indices(part).any(|(at, found)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + found.len()..).and_then(|after| after.chars().next());
        !(starts_word && is_within(before) || ends_word && is_within(after))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use callwright_types::memory::sample_lesson;

    fn lesson() -> Lesson {
        Lesson {
            tools: vec!["book_room".to_owned()],
            key: "book_room, board, value not allowed".to_owned(),
            value: "In calls of `book_room`, `board` must be one of `\"none\"`, `\"half\"`. `\"half\"` worked."
                .to_owned(),
            ..sample_lesson()
        }
    }

    fn case() -> LessonCase {
        let mut private = PrivateTexts::default();
        private.add_arguments(r#"{"guest":"Ada Lovelace","board":"breakfast","nights":3}"#);
        private
            .add_arguments(r#"{"guest":"Ada Lovelace","board":"half","notes":{"allergy":["peanuts"],"pet":"Will"}}"#);
        LessonCase {
            request: "Book a room with dinner for my colleague from Norway, please.".to_owned(),
            faulty: Some(("book_room".to_owned(), r#"{"guest":"Ada Lovelace","board":"breakfast"}"#.to_owned())),
            diagnoses: vec!["`board` must be one of none, half".to_owned()],
            corrected: ("book_room".to_owned(), r#"{"guest":"Ada Lovelace","board":"half"}"#.to_owned()),
            private,
        }
    }

    fn accepted(key: &str, value: &str) -> Option<Wording> {
        accepted_reflection(&lesson(), &case(), key, value.to_owned(), &Settings::default())
    }

    #[test]
    fn abstractions_of_the_case_are_accepted() {
        let value =
            "People name meals. `book_room` knows boards only: where dinner is requested, `board` is `\"half\"`.";
        let wording = accepted("hotel meals, dinner", value).unwrap();
        assert_eq!(wording.key, "hotel meals, dinner, book_room, board, value not allowed");
        assert_eq!(wording.value, value);
    }

    #[test]
    fn notes_with_parts_of_the_case_are_rejected() {
        for value in [
            "For Ada, `board` of `book_room` is `\"half\"`.",
            "`book_room` has no board for BREAKFASTS.",
            "`book_room`: mind peanut_free food.",
            "`book_room`: mind an allergy.",
            "`book_room` for Will needs a `board`.",
            "`book_room` takes 3 nights.",
            "Guests from norway need a `board` in `book_room`.",
            "Use `book_room` where a user says: with dinner for my colleague.",
            "Call `delete_all` before `book_room`.",
        ] {
            assert_eq!(accepted("rooms", value), None, "{value}");
            assert_eq!(accepted(value, "`book_room` needs a `board`."), None, "{value}");
        }
        assert!(accepted("rooms", "It will be refused by `book_room` without a `board`.").is_some());
    }

    #[test]
    fn prompts_contain_the_case_without_personal_data() {
        let case = LessonCase { request: "Write to ada@example.org, +49 30 1234567".to_owned(), ..case() };
        let lesson = lesson();
        let data = serde_json::to_value(CasePromptData::new(&lesson, &case)).unwrap();
        assert_eq!(data["request"], "Write to <email>, <number>");
        assert_eq!(data["corrected"]["tool"], "book_room");
    }

    /// Words that are in no lesson, and are no function words.
    fn canary() -> impl Strategy<Value = String> {
        prop_oneof!["q[a-z]{4,12}x", "[äöüß日本語]{3,8}", "Q[a-z]{3,6} zz[a-z]{3,6}", "[🙂🙃✈]{2,3}"]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn accepted_notes_have_no_canary_of_arguments_or_client_tools(
            canary in canary(),
            source in 0_usize..8,
            form in 0_usize..7,
            in_key in any::<bool>(),
        ) {
            let mut case = case();
            let nested = json!({"a": [{"b": canary.clone()}], "c": 7}).to_string();
            match source {
                0 => case.private.add_arguments(&json!({"guest": canary.clone()}).to_string()),
                1 => case.private.add_arguments(&nested),
                2 => case.private.add_arguments(&json!({"map": {canary.clone(): true}}).to_string()),
                3 => case.private.add_arguments(&format!("{{\"guest\": \"{canary}")),
                4 => case.private.add_tools(&json!([{"type": "function", "function": {"name": canary.clone()}}])),
                5 => case.private.add_tools(&json!([{"description": format!("Reads {canary}.")}])),
                6 => case.private.add_tools(&json!([{"parameters": {"properties": {canary.clone(): {}}}}])),
                _ => case.private.add_tools(&json!([{"properties": {"a": {"enum": [{canary.clone(): 1}]}}}])),
            }
            let disclosed = match form {
                0 => canary.clone(),
                1 => canary.to_uppercase(),
                2 => format!("({canary})"),
                3 => format!("my_{}", canary.replace(' ', "_")),
                4 => format!("{canary}."),
                5 => canary.split(' ').next().unwrap_or_default().to_owned(),
                _ => format!("\n**{canary}**"),
            };
            let value = format!("In `book_room`, the `board` {disclosed} matters.");
            let (key, value) = if in_key { (disclosed.as_str(), "`book_room` needs a `board`.") } else { ("rooms", &*value) };
            prop_assert_eq!(accepted_reflection(&lesson(), &case, key, value.to_owned(), &Settings::default()), None);
        }
    }
}
