//! Instructions and demonstrations of a task, in place of the built-in examples.

use std::fmt::Write as _;

use serde::Deserialize;

use super::output::MAX_NOTES;
use super::questions::{Feedback, PromptNote};
use crate::experience::NO_EXPERIENCE;
use callwright_common::json::raw;
use serde_json::json;

/// Guide of a task: instructions, and demonstrations in place of the built-in ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskGuide {
    /// Instructions to the model, such as the form of an answer; may be empty.
    pub instructions: String,
    /// Demonstrations; empty for the built-in ones.
    pub demonstrations: Vec<Demonstration>,
}

/// One demonstration: a question, how it is answered, and the notes that are taken afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Demonstration {
    pub question: String,
    /// Right answer.
    pub truth: String,
    /// First answer; the right one if omitted.
    #[serde(default)]
    pub answer: Option<String>,
    /// Thought before the answer.
    #[serde(default)]
    pub thought: Option<String>,
    /// Notes that are taken after the truth is known, and shown in the test stage.
    #[serde(default)]
    pub notes: Vec<DemonstrationNote>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct DemonstrationNote {
    /// Situation in which the note applies.
    pub key: String,
    /// Content of the note.
    pub value: String,
}

impl TaskGuide {
    /// Returns the instructions as a part of a prompt; empty without any.
    pub(super) fn instructions(&self) -> String {
        let instructions = self.instructions.trim();
        if instructions.is_empty() { String::new() } else { format!("The task:\n{instructions}\n\n") }
    }

    /// Returns the demonstrations of the training stage; `built_in` without any.
    pub(super) fn training(&self, built_in: &str) -> String {
        self.examples(built_in, |demonstration, text| {
            let question = raw(&json!({"question": demonstration.question}));
            let _ = write!(text, "{question}\n{}", demonstration.answer_commands());
            let answer = demonstration.answer.as_deref().unwrap_or(&demonstration.truth);
            let feedback = Feedback::new(answer == demonstration.truth, &demonstration.truth);
            let _ = write!(text, "\n{}", raw(&feedback));
            for DemonstrationNote { key, value } in &demonstration.notes {
                let _ = write!(text, "\nNOTE[{key}]: {value}");
            }
            text.push_str("\nDONE");
        })
    }

    /// Returns the demonstrations of the test stage, with the right answers; `built_in` without any.
    pub(super) fn solving(&self, built_in: &str) -> String {
        self.examples(built_in, |demonstration, text| {
            let notes: Vec<PromptNote<'_>> =
                demonstration.notes.iter().map(|note| PromptNote { key: &note.key, value: &note.value }).collect();
            let notes = if notes.is_empty() { json!(NO_EXPERIENCE) } else { json!(notes) };
            let input = raw(&json!({"notes": notes, "question": demonstration.question}));
            let right = Demonstration { answer: None, ..demonstration.clone() };
            let _ = write!(text, "{input}\n{}", right.answer_commands());
        })
    }

    fn examples(&self, built_in: &str, write_one: impl Fn(&Demonstration, &mut String)) -> String {
        if self.demonstrations.is_empty() {
            return built_in.to_owned();
        }
        let mut text = String::new();
        for (number, demonstration) in (1..).zip(self.demonstrations.iter().take(MAX_NOTES)) {
            let separator = if number == 1 { "" } else { "\n\n" };
            let _ = writeln!(text, "{separator}Example {number}");
            write_one(demonstration, &mut text);
        }
        text
    }
}

impl Demonstration {
    /// Returns the thought and the answer as commands.
    fn answer_commands(&self) -> String {
        let thought = self.thought.as_deref().map(|thought| format!("THINK[{thought}]\n")).unwrap_or_default();
        format!("{thought}ANSWER: {}", self.answer.as_deref().unwrap_or(&self.truth))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demonstrations_replace_built_in_ones_in_each_stages_form() {
        let lines = [
            r#"{"question": "Turn \"abc\" round.", "thought": "From the end.", "answer": "cab", "truth": "cba", "notes": [{"key": "turn round", "value": "last first"}]}"#,
            r#"{"question": "2+2?", "truth": "4"}"#,
        ];
        let demonstrations = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let guide = TaskGuide { instructions: " Answer in one word.\n".to_owned(), demonstrations };
        assert_eq!(guide.instructions(), "The task:\nAnswer in one word.\n\n");
        assert_eq!(
            guide.training("none"),
            "Example 1\n{\"question\":\"Turn \\\"abc\\\" round.\"}\nTHINK[From the end.]\nANSWER: cab\n\
             {\"feedback\":\"wrong\",\"truth\":\"cba\"}\nNOTE[turn round]: last first\nDONE\n\n\
             Example 2\n{\"question\":\"2+2?\"}\nANSWER: 4\n{\"feedback\":\"right\",\"truth\":\"4\"}\nDONE"
        );
        let solving = guide.solving("none");
        assert!(solving.contains("\"notes\":[{\"key\":\"turn round\",\"value\":\"last first\"}]"), "{solving}");
        assert!(solving.contains("ANSWER: cba") && !solving.contains("cab"), "{solving}");
        assert!(solving.contains("{\"notes\":\"No relevant experience\",\"question\":\"2+2?\"}"), "{solving}");
        let none = TaskGuide::default();
        assert_eq!((none.training("a"), none.solving("b"), none.instructions()), ("a".into(), "b".into(), "".into()));
    }
}
