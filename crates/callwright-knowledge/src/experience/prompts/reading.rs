//! Parses the commands in a model's output.

use crate::experience::Settings;
use crate::experience::text::{shortened, tidy};
use callwright_common::json::bare;

/// Maximum number of bytes of an output that are parsed; a note is about a thousandth of that.
const MAX_BYTES: usize = 256 * 1024;

/// Maximum number of notes per output.
const MAX_NOTES: usize = 8;

/// Maximum number of characters of an answer.
const MAX_ANSWER_CHARS: usize = 4_000;

/// Commands of a model's output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// Key and value of each note, in order.
    pub notes: Vec<(String, String)>,
    /// Answer to the question: the text after `ANSWER`, or else the last line without a command.
    pub answer: Option<String>,
    /// Whether the output contains `DONE`.
    pub done: bool,
}

/// Parses an output leniently. Models put commands into lists, bold text and fences, and omit brackets and colons.
/// Recognisable commands are parsed; everything else is skipped.
pub fn read(text: &str, settings: &Settings) -> Said {
    let end = text.char_indices().map(|(at, letter)| at + letter.len_utf8()).take_while(|end| *end <= MAX_BYTES).last();
    let text = bare(text.get(..end.unwrap_or_default()).unwrap_or_default());
    let (mut said, mut open, mut last) = (Said::default(), OpenCommand::Nothing, None);
    for line in text.lines() {
        match Command::of(line) {
            Some(command) => {
                open.close(&mut said, settings);
                said.done |= matches!(command, Command::Done);
                open = command.opened();
            }
            // A note ends at the next command or empty line; an answer and `DONE` take one line.
            None if line.trim().is_empty() => {
                open.close(&mut said, settings);
                open = OpenCommand::Nothing;
            }
            None => match &mut open {
                OpenCommand::Thought => {}
                OpenCommand::Note(_, value) => {
                    value.push(' ');
                    value.push_str(line);
                }
                OpenCommand::Answer(answer) if answer.trim().is_empty() => answer.push_str(line),
                OpenCommand::Answer(_) | OpenCommand::Nothing => last = Some(line),
            },
        }
    }
    open.close(&mut said, settings);
    if said.answer.is_none() {
        said.answer = last.map(answered).filter(|answer| !answer.is_empty());
    }
    said
}

/// Command that may continue on the next line.
enum OpenCommand {
    Nothing,
    Thought,
    Note(String, String),
    Answer(String),
}

impl OpenCommand {
    fn close(&mut self, said: &mut Said, settings: &Settings) {
        match std::mem::replace(self, Self::Nothing) {
            Self::Note(key, value) if said.notes.len() < MAX_NOTES => {
                let key = shortened(&tidy(&key), settings.key_chars).to_owned();
                let value = shortened(&plain(&tidy(&value)), settings.value_chars).to_owned();
                if !key.is_empty() && !value.is_empty() && !said.notes.contains(&(key.clone(), value.clone())) {
                    said.notes.push((key, value));
                }
            }
            Self::Answer(answer) => said.answer = Some(answered(&answer)).filter(|answer| !answer.is_empty()),
            Self::Note(..) | Self::Thought | Self::Nothing => {}
        }
    }
}

/// Line that begins with a command.
enum Command<'a> {
    Think,
    Note(&'a str),
    Answer(&'a str),
    Done,
}

impl<'a> Command<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let line = line.trim_start_matches(|letter: char| letter.is_whitespace() || "*>-#`_".contains(letter));
        let line = numbered(line).unwrap_or(line);
        let (word, rest) =
            line.split_at_checked(line.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(line.len()))?;
        let rest = rest.trim_start_matches(['*', '_', '`', ' ']);
        let follows = rest.starts_with(['[', ':']);
        match word.to_ascii_uppercase().as_str() {
            "THINK" | "THOUGHT" if follows => Some(Self::Think),
            "NOTE" if rest.starts_with('[') => Some(Self::Note(rest)),
            "ANSWER" if follows => Some(Self::Answer(rest)),
            // A sentence may begin with this word.
            "DONE" if rest.chars().all(|letter| !letter.is_alphanumeric()) => Some(Self::Done),
            _ => None,
        }
    }

    fn opened(self) -> OpenCommand {
        match self {
            Self::Think => OpenCommand::Thought,
            Self::Done => OpenCommand::Nothing,
            Self::Answer(rest) => {
                let bracketed = rest.strip_prefix('[').map(|rest| rest.trim_end().trim_end_matches(']'));
                OpenCommand::Answer(bracketed.unwrap_or(rest).trim_start_matches(':').to_owned())
            }
            Self::Note(rest) => {
                let (key, value) = rest.trim_start_matches('[').split_once(']').unwrap_or_default();
                OpenCommand::Note(key.to_owned(), value.trim_start_matches(['*', '_', '`', ' ', ':']).to_owned())
            }
        }
    }
}

/// Returns the text after a list number.
fn numbered(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let rest = rest.strip_prefix(['.', ')']).filter(|_| rest.len() < line.len())?;
    Some(rest.trim_start_matches(['*', '_', '`', ' ']))
}

fn answered(text: &str) -> String {
    shortened(&plain(&tidy(text)), MAX_ANSWER_CHARS).to_owned()
}

/// Strips enclosing emphasis marks and quotes.
fn plain(text: &str) -> String {
    text.trim_matches(['*', '_', '`', '"', '\u{201c}', '\u{201d}', ' ']).to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(text: &str) -> Said {
        read(text, &Settings::default())
    }

    fn notes(text: &str) -> Vec<(String, String)> {
        said(text).notes
    }

    fn note(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn commands_are_read_as_models_write_them() {
        for text in [
            "NOTE[a, b]: one two",
            "THINK[so]\nNOTE[a, b]: one two\nDONE",
            "**NOTE[a, b]:** one two",
            "- note [a, b] one\n  two",
            "1. NOTE[a, b]: \"one two\"",
            "```\nNOTE[a, b]: one two\n```",
            "<think>NOTE[x]: y</think>NOTE[a, b]: one two",
            "NOTE[a, b]:\none two\n\nThat is all.",
        ] {
            assert_eq!(notes(text), [note("a, b", "one two")], "{text}");
        }
        assert_eq!(notes("NOTE[a]: b\nNOTE[a]: b\nNOTE[c]: d"), [note("a", "b"), note("c", "d")]);
        assert!(said("THINK[x]\nDone.").done && said("DONE").done && !said("Done with it, I go on").done);
    }

    #[test]
    fn what_is_no_command_is_none() {
        for text in
            ["", "NOTE: b", "NOTE[a", "NOTE[]: b", "NOTE[a]:", "note that [a]: b", "THINK[NOTE[a]: b]", "I NOTE[a]: b"]
        {
            assert_eq!(notes(text), [], "{text}");
        }
    }

    #[test]
    fn an_answer_is_what_follows_its_command_or_the_last_line() {
        let answer = |text: &str| said(text).answer;
        for text in [
            "ANSWER: pfe",
            "THINK[p, f and e]\nANSWER: pfe\nNOTE[x]: y",
            "**Answer:** `pfe`",
            "ANSWER[pfe]",
            "ANSWER:\npfe",
            "I splice the letters.\n\"pfe\"",
            "ANSWER: x\nANSWER: pfe",
        ] {
            assert_eq!(answer(text).as_deref(), Some("pfe"), "{text}");
        }
        assert_eq!(answer("THINK[pfe]"), None);
        assert_eq!(answer(""), None);
    }

    #[test]
    fn hostile_answers_are_bounded() {
        let settings = Settings::default();
        let many: String = (0..1000).map(|number| format!("NOTE[k{number}]: v\n")).collect();
        assert_eq!(notes(&many).len(), MAX_NOTES);
        let long = notes(&format!("NOTE[{0}]: {0}", "word ".repeat(100_000)));
        assert!(long.iter().all(|(key, value)| key.len() <= settings.key_chars && value.len() <= settings.value_chars));
        assert_eq!(notes("NOTE[a\u{202e}b]: c\u{0}d"), [note("ab", "cd")]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_answer_breaks_the_reading(text in "(NOTE|ANSWER|THINK|\\[|\\]|:|\\n|\\*|[a-z äß日]){0,40}") {
            let said = said(&text);
            prop_assert!(said.notes.iter().all(|(key, value)| !key.is_empty() && !value.is_empty()));
        }
    }
}
