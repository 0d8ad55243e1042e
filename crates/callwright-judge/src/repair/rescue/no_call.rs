//! E1 for a whole answer: a call was meant, and none can be recovered.

use serde::Serialize;

use crate::scanner::Toolbook;
use callwright_common::json::Pointer;
use callwright_common::text::excerpt;
use callwright_types::{Diagnosis, FaultCode};

/// Why no call can be recovered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub(super) enum Reason {
    /// What stands behind the mark of the notation cannot be read.
    Unreadable,
    /// The tokens ran out within the call.
    CutOff,
    /// A call names a tool that is not offered.
    UnknownTool {
        /// The name as it was written.
        name: String,
    },
    /// The arguments of a call cannot be told from one another.
    Arguments {
        /// The tool that is called.
        name: String,
    },
    /// An argument is a name or an expression of a program.
    Expression {
        /// The tool that is called.
        name: String,
        /// The expression.
        source: String,
    },
    /// The text may be a call and may be about one.
    Unsure {
        /// The tool that is called.
        name: String,
    },
}

/// What the template of this fault can say.
#[derive(Debug, Serialize)]
struct Facts<'a> {
    /// The notation that the answer uses.
    notation: &'a str,
    #[serde(flatten)]
    reason: &'a Reason,
    /// The text at that place.
    near: String,
    /// Offered tools whose names come closest to the one that is not offered, best first.
    nearest: Vec<&'a str>,
}

/// Characters of the answer that are repeated.
const MAX_QUOTED: usize = 160;

/// Offered names that are suggested.
const MAX_NEAREST: usize = 3;

/// The diagnosis; `near` is the text of the place.
pub(super) fn diagnose(notation: &str, reason: &Reason, near: &str, toolbook: &Toolbook) -> Diagnosis {
    let nearest = match reason {
        Reason::UnknownTool { name } => toolbook.nearest(name, MAX_NEAREST).into_iter().map(|(name, _)| name).collect(),
        _ => Vec::new(),
    };
    let near = excerpt(near.trim(), MAX_QUOTED);
    let message = match reason {
        Reason::Unreadable => format!("the answer holds a tool call written as text that cannot be read, at `{near}`"),
        Reason::CutOff => format!("the answer was cut off within a tool call written as text, at `{near}`"),
        Reason::UnknownTool { name } => {
            format!("the answer calls, as text, the tool `{}`, which is not offered", excerpt(name, MAX_QUOTED))
        }
        Reason::Arguments { name } => {
            format!(
                "the answer calls `{}` as text, with arguments that cannot be told from one another",
                excerpt(name, MAX_QUOTED)
            )
        }
        Reason::Expression { name, source } => {
            format!(
                "the answer calls `{}` as text, with the expression `{}` instead of a value",
                excerpt(name, MAX_QUOTED),
                excerpt(source, MAX_QUOTED)
            )
        }
        Reason::Unsure { name } => {
            format!("the answer may call `{}` as text, or may be about such a call", excerpt(name, MAX_QUOTED))
        }
    };
    let facts = serde_json::to_value(Facts { notation, reason, near, nearest }).unwrap_or_default();
    Diagnosis { code: FaultCode::NoCall, call: 0, path: Pointer::root(), message, facts, suggestion: None }
}
