//! Parses the commands in a model's output.

use serde_json::Value;

use crate::experience::Settings;
use crate::experience::text::shortened;
use callwright_common::json::bare;
use callwright_common::limits::TEXT_LENGTH;
use callwright_common::text::{beginning_bytes, one_line};
use callwright_judge::repair::answers::{AnswerShape, after_reasoning, read_value};
use callwright_prompt::MAX_BYTES;

/// Maximum number of notes per output, and of demonstrations in a prompt (paper, appendix B: two or three).
pub(super) const MAX_NOTES: usize = 8;

/// Commands of a model's output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::experience) struct OutputCommands {
    /// Key and value of each note, in order.
    pub(in crate::experience) notes: Vec<(String, String)>,
    /// Answer to the question: the text after `ANSWER`, or else the last line without a command.
    pub(in crate::experience) answer: Option<String>,
    /// Whether the output contains `DONE`.
    pub(in crate::experience) done: bool,
}

/// Parses an output leniently. Models put commands into lists, bold text and fences, several into one line, and omit
/// brackets and colons, or write their contents as JSON. Recognisable commands are parsed; everything else is skipped.
pub(in crate::experience) fn parse_output(text: &str, settings: &Settings) -> OutputCommands {
    let text = bare(after_reasoning(beginning_bytes(text, MAX_BYTES)));
    let mut parser =
        OutputParser { commands: OutputCommands::default(), open: OpenCommand::Nothing, last: None, settings };
    for line in text.lines() {
        parser.line(line);
    }
    parser.close();
    let OutputParser { mut commands, last, .. } = parser;
    if commands == OutputCommands::default() {
        commands = json_commands(text, settings).unwrap_or_default();
    }
    if commands.answer.is_none() {
        commands.answer = last.map(|line| normalized_answer(stated_answer(line))).filter(|answer| !answer.is_empty());
    }
    commands
}

/// Output that is being parsed.
struct OutputParser<'a> {
    commands: OutputCommands,
    open: OpenCommand,
    /// Last line without a command.
    last: Option<&'a str>,
    settings: &'a Settings,
}

impl<'a> OutputParser<'a> {
    fn line(&mut self, mut line: &'a str) {
        // Each round consumes at least one command.
        while let Some(command) = Command::parse(line) {
            self.close();
            self.commands.done |= matches!(command, Command::Done);
            let (opened, rest) = command.open();
            self.open = opened;
            match rest {
                Some(rest) if !rest.trim().is_empty() => line = rest,
                _ => return,
            }
        }
        match &mut self.open {
            // A note ends at the next command or empty line; an answer and `DONE` take one line.
            _ if line.trim().is_empty() => self.close(),
            OpenCommand::Thought(depth) => {
                if let Some(rest) = after_thought(line, depth) {
                    self.open = OpenCommand::Nothing;
                    self.line(rest);
                }
            }
            OpenCommand::Note(_, value) => {
                value.push(' ');
                value.push_str(line);
            }
            OpenCommand::Answer(answer) if answer.trim().is_empty() => answer.push_str(line),
            OpenCommand::Answer(_) | OpenCommand::Nothing => self.last = Some(line),
        }
    }

    fn close(&mut self) {
        match std::mem::replace(&mut self.open, OpenCommand::Nothing) {
            OpenCommand::Note(key, value) => self.commands.add_note(&key, &value, self.settings),
            OpenCommand::Answer(answer) => {
                self.commands.answer = Some(normalized_answer(&answer)).filter(|answer| !answer.is_empty());
            }
            OpenCommand::Thought(_) | OpenCommand::Nothing => {}
        }
    }
}

impl OutputCommands {
    fn add_note(&mut self, key: &str, value: &str, settings: &Settings) {
        let key = shortened(&one_line(key), settings.key_chars).to_owned();
        let value = shortened(&without_marks(&one_line(value)), settings.value_chars).to_owned();
        let note = (key, value);
        if self.notes.len() < MAX_NOTES && !note.0.is_empty() && !note.1.is_empty() && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// Command that may continue on the next line.
enum OpenCommand {
    Nothing,
    /// Thought, with the number of its open brackets; 0 if it has none and ends at an empty line.
    Thought(usize),
    Note(String, String),
    Answer(String),
}

/// Line that begins with a command.
enum Command<'a> {
    Think(&'a str),
    Note(&'a str),
    Answer(&'a str),
    Done,
}

impl<'a> Command<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let line = line.trim_start_matches(|letter: char| letter.is_whitespace() || "*>-#`_".contains(letter));
        let line = numbered(line).unwrap_or(line);
        let (word, rest) =
            line.split_at_checked(line.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(line.len()))?;
        let rest = rest.trim_start_matches(['*', '_', '`', ' ']);
        let follows = rest.starts_with(['[', ':']);
        match word.to_ascii_uppercase().as_str() {
            "THINK" | "THOUGHT" if follows => Some(Self::Think(rest)),
            "NOTE" if rest.starts_with('[') => Some(Self::Note(rest)),
            "ANSWER" if follows => Some(Self::Answer(rest)),
            // A sentence may begin with this word.
            "DONE" if rest.chars().all(|letter| !letter.is_alphanumeric()) => Some(Self::Done),
            _ => final_answer(line).map(Self::Answer),
        }
    }

    /// Returns the opened command, and the text after it on the same line.
    fn open(self) -> (OpenCommand, Option<&'a str>) {
        match self {
            Self::Done => (OpenCommand::Nothing, None),
            Self::Think(rest) => {
                let mut depth = 0;
                match after_thought(rest, &mut depth) {
                    Some(rest) => (OpenCommand::Nothing, Some(rest)),
                    None if depth > 0 => (OpenCommand::Thought(depth), None),
                    None => (OpenCommand::Thought(0), next_command(rest)),
                }
            }
            Self::Answer(rest) => {
                let (rest, next) = split_at_command(rest);
                let bracketed = rest.strip_prefix('[').map(|rest| rest.trim_end().trim_end_matches(']'));
                let answer = bracketed.unwrap_or(rest).trim_start_matches(':').to_owned();
                (OpenCommand::Answer(answer), next)
            }
            Self::Note(rest) => {
                let (key, value) = rest.trim_start_matches('[').split_once(']').unwrap_or_default();
                let (value, next) = split_at_command(value);
                let value = value.trim_start_matches(['*', '_', '`', ' ', ':']).to_owned();
                (OpenCommand::Note(key.to_owned(), value), next)
            }
        }
    }
}

/// Returns the text after the bracket that closes a thought, and updates the number of its open brackets.
fn after_thought<'a>(line: &'a str, depth: &mut usize) -> Option<&'a str> {
    for (at, sign) in line.char_indices() {
        match sign {
            '[' => *depth += 1,
            ']' if *depth > 0 => {
                *depth -= 1;
                if *depth == 0 {
                    return line.get(at + 1..).map(|rest| rest.trim_start_matches(['*', '`', '.', ',', ';', ' ']));
                }
            }
            _ => {}
        }
    }
    None
}

/// Divides the content of a command from the next command on the same line.
fn split_at_command(content: &str) -> (&str, Option<&str>) {
    match next_command(content) {
        Some(next) => (content.get(..content.len() - next.len()).unwrap_or_default(), Some(next)),
        None => (content, None),
    }
}

/// Returns the text from the next command within a line. There, only upper case marks a command.
fn next_command(line: &str) -> Option<&str> {
    let starts = line.match_indices(' ').filter_map(|(at, _)| line.get(at + 1..));
    starts.into_iter().find(|rest| {
        ["NOTE[", "ANSWER:", "ANSWER[", "THINK["].iter().any(|command| rest.starts_with(command))
            || rest.trim_end_matches(['.', '!', '*', '`', ' ']) == "DONE"
    })
}

/// Returns the text after a heading of an answer with other words before it: `Final answer: 7`.
fn final_answer(line: &str) -> Option<&str> {
    let (heading, rest) = line.split_once(':')?;
    let heading = heading.trim_end_matches(['*', '_', '`', ' ']);
    let words = heading.split_whitespace().count();
    let is_answer = heading.split_whitespace().next_back()?.eq_ignore_ascii_case("answer");
    ((2..=3).contains(&words) && is_answer).then_some(rest)
}

/// Returns the end of a sentence that states the answer: `The answer is 7.`
fn stated_answer(line: &str) -> &str {
    let stated = line.to_ascii_lowercase().rfind("answer").and_then(|at| line.get(at + "answer".len()..));
    let stated = stated.and_then(|rest| rest.trim_start_matches(['*', '_', '`', ' ']).strip_prefix("is"));
    let stated =
        stated.filter(|rest| rest.starts_with([' ', ':', '*'])).map(|rest| rest.trim_start_matches([':', '*', ' ']));
    stated.filter(|rest| !rest.is_empty()).unwrap_or(line)
}

/// Returns the commands that a JSON object contains: an `answer`, `notes`, or the `key` and `value` of one note.
fn json_commands(text: &str, settings: &Settings) -> Option<OutputCommands> {
    let commands = read_value(text, AnswerShape::Object, |value| {
        let mut commands = OutputCommands { answer: value.get("answer").and_then(scalar), ..OutputCommands::default() };
        let listed = value.get("notes").or_else(|| value.get("note"));
        let notes = match listed {
            Some(Value::Array(notes)) => notes.iter().collect(),
            Some(note) => vec![note],
            None => vec![&value],
        };
        for note in notes {
            let [key, value] = ["key", "value"].map(|member| note.get(member).and_then(Value::as_str));
            commands.add_note(key.unwrap_or_default(), value.unwrap_or_default(), settings);
        }
        commands.done = value.get("done") == Some(&Value::Bool(true));
        if commands == OutputCommands::default() { Err(String::new()) } else { Ok(commands) }
    });
    commands.ok()
}

/// Returns the text of an answer that is a string, a number or a truth value.
fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(normalized_answer(text)).filter(|answer| !answer.is_empty()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

/// Returns the text after a list number.
fn numbered(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let rest = rest.strip_prefix(['.', ')']).filter(|_| rest.len() < line.len())?;
    Some(rest.trim_start_matches(['*', '_', '`', ' ']))
}

fn normalized_answer(text: &str) -> String {
    shortened(&without_marks(&one_line(text)), TEXT_LENGTH).to_owned()
}

/// Strips enclosing emphasis marks and quotes.
fn without_marks(text: &str) -> String {
    text.trim_matches(['*', '_', '`', '"', '\u{201c}', '\u{201d}', ' ']).to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use callwright_judge::repair::answers::assert_understood;

    fn commands(text: &str) -> OutputCommands {
        parse_output(text, &Settings::default())
    }

    fn notes(text: &str) -> Vec<(String, String)> {
        commands(text).notes
    }

    fn note(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn commands_are_parsed_in_the_forms_that_models_use() {
        for text in [
            "NOTE[a, b]: one two",
            "THINK[so]\nNOTE[a, b]: one two\nDONE",
            "**NOTE[a, b]:** one two",
            "- note [a, b] one\n  two",
            "1. NOTE[a, b]: \"one two\"",
            "```\nNOTE[a, b]: one two\n```",
            "<think>NOTE[x]: y</think>NOTE[a, b]: one two",
            "NOTE[a, b]:\none two\n\nThat is all.",
            "THINK[so, [x] and y] NOTE[a, b]: one two DONE",
            "THINK[so\nand so]. NOTE[a, b]: one two",
            "I think.\n</think>\nNOTE[a, b]: one two",
            "{\"notes\": [{\"key\": \"a, b\", \"value\": \"one two\"}]}",
            "```json\n{\"key\": \"a, b\", \"value\": \"one two\"}\n```",
        ] {
            assert_eq!(notes(text), [note("a, b", "one two")], "{text}");
        }
        assert_eq!(notes("NOTE[a]: b\nNOTE[a]: b\nNOTE[c]: d"), [note("a", "b"), note("c", "d")]);
        assert!(commands("THINK[x]\nDone.").done && commands("DONE").done && !commands("Done with it, I go on").done);
    }

    #[test]
    fn objects_are_parsed_in_every_habit() {
        let one = r#"{"notes": [{"key": "a, b", "value": "one's \"two\""}]}"#;
        let expected = vec![note("a, b", "one's \"two")];
        assert_understood("notes", one, &expected, |text| Some(notes(text)));
        let single = r#"{"key": "a, b", "value": "one's \"two\" three"}"#;
        let expected = vec![note("a, b", "one's \"two\" three")];
        assert_understood("note", single, &expected, |text| Some(notes(text)));
        assert_understood("answer", r#"{"answer": "p f"}"#, &"p f".to_owned(), |text| commands(text).answer);
    }

    #[test]
    fn malformed_commands_are_ignored() {
        for text in
            ["", "NOTE: b", "NOTE[a", "NOTE[]: b", "NOTE[a]:", "note that [a]: b", "THINK[NOTE[a]: b]", "I NOTE[a]: b"]
        {
            assert_eq!(notes(text), [], "{text}");
        }
    }

    #[test]
    fn answer_follows_its_command_or_is_the_last_line() {
        let answer = |text: &str| commands(text).answer;
        for text in [
            "ANSWER: pfe",
            "THINK[p, f and e]\nANSWER: pfe\nNOTE[x]: y",
            "**Answer:** `pfe`",
            "ANSWER[pfe]",
            "ANSWER:\npfe",
            "I splice the letters.\n\"pfe\"",
            "ANSWER: x\nANSWER: pfe",
            "THINK[p, f and e] ANSWER: pfe",
            "THINK: p, f and e. ANSWER: pfe",
            "THINK[p, f\nand e] ANSWER: pfe\nDONE",
            "ANSWER: pfe NOTE[x]: y",
            "<think>ANSWER: x</think>ANSWER: pfe",
            "So it is.\n</think>\nThe answer is pfe",
            "**Final answer:** pfe\nI hope this helps.",
            "{\"think\": \"p, f\", \"answer\": \"pfe\"}",
            "```json\n{'answer': 'pfe'}\n```",
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
        assert_eq!(notes("NOTE[a\u{202e}b]: c\u{0}d"), [note("ab", "c d")]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn parsing_accepts_any_text(text in "(NOTE|ANSWER|THINK|\\[|\\]|:|\\n|\\*|[a-z äß日]){0,40}") {
            let commands = commands(&text);
            prop_assert!(commands.notes.iter().all(|(key, value)| !key.is_empty() && !value.is_empty()));
        }
    }
}
