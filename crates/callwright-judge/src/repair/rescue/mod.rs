//! Rescue (E1): converts calls that a model wrote into its text to tool calls.
//!
//! `layout.rs` separates calls, prose, code and reasoning. Notations with markers are in the table
//! `notations/table.rs`; those that need their own reader have one file each under `grammars/`. Calls without markers are parsed by
//! `statement.rs`, and `program.rs` finds program text. `verdict.rs` parses either all calls of a text or none, and
//! collects the evidence for them. `decision.rs` decides by that evidence whether they are calls, text or unsure.
//!
//! All parsing consumes fuel in proportion to the text (`literal::LiteralReader`), which makes the time linear in any
//! text.

mod body;
pub(crate) mod call_names;
pub mod decision;
mod effect;
mod element;
mod extent;
mod folding;
mod grammars;
pub mod hold;
mod layout;
pub(crate) mod literal;
mod markers;
mod no_call;
mod notations;
mod pairs;
mod plain;
mod program;
mod prose;
mod python;
pub(crate) mod reading;
pub mod reasoning;
mod repetition;
pub(crate) mod residue;
mod shape;
mod statement;
mod tag;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod verdict;
pub(crate) mod written;

use callwright_scanner::ToolSet;
use callwright_types::Diagnosis;
use callwright_types::rules::{Evidence, Expressions};
use literal::LiteralReader;
use no_call::NoCallReason;
pub(crate) use no_call::unknown_tool;
pub use reading::{Reading, Rescued, Situation};

/// Parses the single call in `code`, such as `print(default_api.f(x=1))`. Returns the name of its tool and the text of
/// its arguments.
pub(super) fn call_in_code(code: &str, tool_set: &ToolSet) -> Option<(String, String)> {
    let nesting = LiteralReader::new(code, false).nesting_within();
    let calls = python::whole(code, tool_set, false, &nesting)?;
    let [call] = calls.as_slice() else { return None };
    let resolved = call.resolve(tool_set, Expressions::Refuse).ok()?;
    <[(String, String); 1]>::try_from(resolved).ok().map(|[call]| call)
}

/// Searches the text of an answer for calls.
pub fn rescue(text: &str, tool_set: &ToolSet, situation: &Situation<'_>) -> Reading {
    if situation.evidence == Evidence::Off || tool_set.is_empty() || !may_hold_call(text) {
        return Reading::Text;
    }
    let layout = layout::read(text, tool_set, !situation.cut_off, situation.budget);
    verdict::weigh(text, &layout, tool_set, situation)
}

/// Whether the text has a character that every call has. ReAct agents also write an input without brackets.
fn may_hold_call(text: &str) -> bool {
    text.bytes().any(|byte| matches!(byte, b'(' | b'[' | b'{' | b'<' | b'=' | b'>'))
        || memchr::memmem::find(text.as_bytes(), b"Input:").is_some()
}

/// Creates the diagnosis of calls in `text` that may also be quoted, explained or declined.
pub(crate) fn unsure(text: &str, rescued: &Rescued) -> Diagnosis {
    let name = rescued.calls.first().map(|call| call.name.clone()).unwrap_or_default();
    let near = rescued.written.first().and_then(|written| text.get(written.clone())).unwrap_or_default();
    no_call::diagnose(rescued.notation, &NoCallReason::Unsure { name, native_only: false }, near, &ToolSet::default())
}
