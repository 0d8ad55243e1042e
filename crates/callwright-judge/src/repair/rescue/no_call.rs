//! E1 for a whole answer: a call was meant, but none can be recovered.

use serde::Serialize;
use serde_json::Value;

use callwright_common::limits::LINE_CHARS;
use callwright_common::text::excerpt;
use callwright_scanner::ToolSet;
use callwright_types::{Diagnosis, FaultCode};

/// Reason why no call can be recovered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub(super) enum NoCallReason {
    /// The text after the marker of the notation cannot be parsed.
    Unreadable,
    /// The token limit was reached within the call.
    CutOff,
    /// A call names a tool that is not offered.
    UnknownTool {
        /// The name as it was written.
        name: String,
    },
    /// The arguments of a call are ambiguous.
    Arguments {
        /// The called tool.
        name: String,
    },
    /// An argument is a name or an expression of a program.
    Expression {
        /// The called tool.
        name: String,
        /// The expression.
        source: String,
    },
    /// There are too many calls, or finding them takes too much work, so that only a part of them was found.
    Unfinished {
        /// Tool of the first call.
        name: String,
    },
    /// The text may be a call or may describe one.
    Unsure {
        /// The called tool.
        name: String,
        /// Whether calls of the tool have a form of the provider's API that no text has.
        native_only: bool,
    },
}

/// Variables of this fault's feedback template.
#[derive(Debug, Serialize)]
struct Facts<'a> {
    /// The notation that the answer uses.
    notation: &'a str,
    #[serde(flatten)]
    reason: &'a NoCallReason,
    /// The text at that position.
    near: String,
    /// Offered tools with the most similar names, best first.
    nearest: Vec<&'a str>,
}

/// Maximum number of offered names that are suggested.
const MAX_NEAREST: usize = 3;

/// Creates the diagnosis; `near` is the text at the position of the fault.
pub(super) fn diagnose(notation: &str, reason: &NoCallReason, near: &str, tool_set: &ToolSet) -> Diagnosis {
    let nearest = match reason {
        NoCallReason::UnknownTool { name } => {
            tool_set.nearest(name, MAX_NEAREST).into_iter().map(|(name, _)| name).collect()
        }
        _ => Vec::new(),
    };
    let near = quoted(near.trim());
    let message = match reason {
        NoCallReason::Unreadable => {
            format!("the answer holds a tool call written as text that cannot be read, at `{near}`")
        }
        NoCallReason::CutOff => format!("the answer was cut off within a tool call written as text, at `{near}`"),
        NoCallReason::UnknownTool { name } => {
            format!("the answer calls, as text, the tool `{}`, which is not offered", quoted(name))
        }
        NoCallReason::Arguments { name } => {
            format!("the answer calls `{}` as text, with ambiguous arguments", quoted(name))
        }
        NoCallReason::Expression { name, source } => {
            format!(
                "the answer calls `{}` as text, with the expression `{}` instead of a value",
                quoted(name),
                quoted(source)
            )
        }
        NoCallReason::Unfinished { .. } => {
            format!("the answer contains more tool calls written as text than can be read, from `{near}` on")
        }
        NoCallReason::Unsure { name, native_only: true } => {
            format!("the answer writes a call of `{}` as text, which only the provider's API can call", quoted(name))
        }
        NoCallReason::Unsure { name, .. } => {
            format!("the answer may call `{}` as text, or may describe such a call", quoted(name))
        }
    };
    let facts = serde_json::to_value(Facts { notation, reason, near, nearest }).unwrap_or_default();
    Diagnosis::new(FaultCode::NoCall, 0, message, facts)
}

/// Returns the name of the tool that is not offered, if that is the reason of the diagnosis.
pub(crate) fn unknown_tool(diagnosis: &Diagnosis) -> Option<&str> {
    let fact = |name: &str| diagnosis.facts.get(name).and_then(Value::as_str);
    if fact("reason") == Some("unknown_tool") { fact("name") } else { None }
}

fn quoted(text: &str) -> String {
    excerpt(text, LINE_CHARS)
}
