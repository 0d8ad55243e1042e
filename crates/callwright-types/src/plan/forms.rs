//! Human-readable forms of a plan: text, Mermaid, and references in one line.

use std::fmt::{self, Write as _};

use serde_json::Value;

use super::{Item, Node, Plan, Reference, Source};
use callwright_common::limits::WORD_CHARS;
use callwright_common::text::excerpt;

impl fmt::Display for Plan {
    /// Writes one line for each call and one for each of its arguments.
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
    /// Returns the reference in one line: `$call1.rooms[0].id$`. `[*]` denotes all items, `[?]` one that is still to be
    /// chosen.
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
    /// Returns the source as a value with references in the form of [`Reference::written`]; `null` for a missing value.
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
            let members = members.iter().map(|(name, value)| (name.clone(), with_references(value, outputs)));
            Value::Object(members.collect())
        }
        other => other.clone(),
    }
}

impl Plan {
    /// Returns the plan as a Mermaid flowchart: the edges between calls, and the missing inputs.
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
            // A label consists of letters, digits and `_`, so no label contains a `-`.
            let _ = writeln!(text, "  missing-{}{{{{\"{}?\"}}}}", number + 1, quoted(missing.argument));
            let _ = writeln!(text, "  missing-{} -.-> {}", number + 1, missing.node.label);
        }
        text
    }

    fn is_final(&self, node: &Node) -> bool {
        self.finals.contains(&node.label)
    }
}

/// Returns untrusted text on one line, truncated.
fn shown(text: &str) -> String {
    excerpt(text, WORD_CHARS)
}

/// Returns the same text for use in Mermaid quotation marks. Entities of Mermaid begin with `#`.
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
