//! A plan for people: text, Mermaid, and references as they are written in a line.

use std::fmt::{self, Write as _};

use serde_json::Value;

use super::{Item, Node, Plan, Reference, Source};

/// Characters of a value or a question that a text or a drawing shows.
const SHOWN_CHARS: usize = 80;

impl fmt::Display for Plan {
    /// One line for each call and one for each of its arguments.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for node in &self.nodes {
            let goal = if self.is_final(node) { "  (goal)" } else { "" };
            writeln!(f, "{}: {}{goal}", node.label, shown(&node.tool))?;
            for argument in &node.arguments {
                writeln!(f, "  {} = {}", shown(&argument.name), argument.source)?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { value, words } if words.is_empty() => f.write_str(&shown(&value.to_string())),
            Self::Value { value, words } => {
                write!(f, "{} (\"{}\")", shown(&value.to_string()), shown(words))
            }
            Self::Output(reference) => f.write_str(&reference.written()),
            Self::Composed { .. } => f.write_str(&shown(&self.written().to_string())),
            Self::Missing { question } => write!(f, "? ({})", shown(question)),
        }
    }
}

impl Reference {
    /// As it is written in a line: `$call1.rooms[0].id$`. Of all items `[*]` is written, of one that is still to be chosen `[?]`.
    pub fn written(&self) -> String {
        let mut text = format!("${}", self.node);
        for token in self.output.tokens() {
            let is_item = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
            match (is_item && token == "0", self.item) {
                (true, Item::Whole) => text.push_str("[*]"),
                (true, Item::Chosen) => text.push_str("[?]"),
                (true, Item::Index(index)) => {
                    let _ = write!(text, "[{index}]");
                }
                (false, _) if is_item => {
                    let _ = write!(text, "[{token}]");
                }
                (false, _) => {
                    let _ = write!(text, ".{token}");
                }
            }
        }
        text.push('$');
        text
    }
}

impl Source {
    /// As a value in which references are written as [`Reference::written`] says; `null` for what is missing.
    pub fn written(&self) -> Value {
        match self {
            Self::Value { value, .. } => value.clone(),
            Self::Output(reference) => reference.written().into(),
            Self::Composed { value, outputs } => with_references(value, outputs),
            Self::Missing { .. } => Value::Null,
        }
    }
}

fn with_references(value: &Value, outputs: &[Reference]) -> Value {
    match value {
        Value::String(text) => {
            let numbered = outputs.iter().enumerate();
            numbered
                .fold(text.clone(), |text, (at, output)| text.replace(&format!("{{{}}}", at + 1), &output.written()))
                .into()
        }
        Value::Array(items) => items.iter().map(|item| with_references(item, outputs)).collect(),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| (name.clone(), with_references(value, outputs));
            Value::Object(members.iter().map(member).collect())
        }
        other => other.clone(),
    }
}

impl Plan {
    /// A drawing of it (Mermaid, flowchart): what feeds what, and what is missing.
    pub fn mermaid(&self) -> String {
        let mut text = "flowchart LR\n".to_owned();
        for node in &self.nodes {
            let (open, close) = if self.is_final(node) { ("([", "])") } else { ("[", "]") };
            let _ = writeln!(text, "  {}{open}\"{}\"{close}", node.label, quoted(&node.tool));
        }
        for edge in self.edges() {
            let output = edge.from.output.as_str();
            let label =
                if output.is_empty() { edge.argument.to_owned() } else { format!("{output}: {}", edge.argument) };
            let _ = writeln!(text, "  {} -->|\"{}\"| {}", edge.from.node, quoted(&label), edge.to);
        }
        for (number, missing) in self.missing().enumerate() {
            // Labels may have any letters, and a `-` is none of them.
            let _ = writeln!(text, "  missing-{}{{{{\"{}?\"}}}}", number + 1, quoted(missing.argument));
            let _ = writeln!(text, "  missing-{} -.-> {}", number + 1, missing.node.label);
        }
        text
    }

    fn is_final(&self, node: &Node) -> bool {
        self.finals.contains(&node.label)
    }
}

/// Text from outside on one line, cut short.
fn shown(text: &str) -> String {
    let mut letters = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    let mut kept: String = letters.by_ref().take(SHOWN_CHARS).collect();
    if letters.next().is_some() {
        kept.push('…');
    }
    kept
}

/// The same inside of quotation marks of Mermaid, whose entities begin with `#`.
fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    for letter in shown(text).chars() {
        match letter {
            '"' | '#' | '<' | '>' | '&' | '`' | ';' | '|' | '\\' => {
                let _ = write!(quoted, "#{};", u32::from(letter));
            }
            other => quoted.push(other),
        }
    }
    quoted
}
