//! A draft of a lesson, without any model: what happened, in general terms.
//!
//! A draft consists of words of our own, of names, descriptions and values (`enum`, `const`, `default`) that the tools' schemas have, of sentences of the
//! documentation, and of codes. What a client, its user, a model or an API wrote is never copied: a value of a call is looked up in the
//! schema, and stands in the draft only where the schema has it.

mod key;
mod place;
mod schema;
mod sentences;
#[cfg(test)]
mod tests;

use serde_json::Value;

use super::Settings;
use super::notebook::ToolInPlay;
use crate::domain::memory::Backing;
use crate::domain::{Diagnosis, EvidenceKind, Explanation, LessonDraft, Polarity, Tool};

/// What was lived through, told at the end of a turn, while its texts are at hand.
#[derive(Clone, Copy)]
pub struct Lived<'a> {
    /// What happened.
    pub event: Event<'a>,
    /// The tool whose call worked in the end.
    pub tool: &'a Tool,
    /// The arguments of that call.
    pub arguments: &'a Value,
    /// Is a tool of this name offered? Other names are somebody's invention.
    pub is_offered: &'a dyn Fn(&str) -> bool,
}

/// What happened before a call worked.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// The scan found a fault in an earlier call, and the model mended it.
    Fault {
        /// The fault.
        diagnosis: &'a Diagnosis,
        /// The tool that the faulty call named, where it is offered.
        called: Option<&'a Tool>,
    },
    /// An earlier call failed.
    Failure {
        /// Its tool.
        called: &'a Tool,
        /// Its arguments.
        arguments: &'a Value,
        /// The status that the API answered with; `None` where the client made the call. Nothing is learned of calls that no API answered.
        status: Option<u16>,
        /// What the documentation says about it.
        explanation: Option<&'a Explanation>,
    },
    /// Nothing: it worked at once.
    Success {
        /// What verifies that it was right: a verdict, or that the whole turn went well.
        kind: EvidenceKind,
    },
}

/// Makes a draft; `None` where there is nothing general to say, such as of a fault of the proxy's own search.
///
/// The draft is learned once `backing` is fulfilled: [`Backing::Seen`] where the proxy saw the call work, [`Backing::Awaits`] where the
/// client has to come back with its result.
pub fn compose(lived: &Lived<'_>, backing: Backing, settings: &Settings) -> Option<LessonDraft> {
    let subject = subject(lived);
    let about = ToolInPlay::of(subject)?;
    let (kind, polarity) = match lived.event {
        Event::Fault { .. } => (EvidenceKind::Mended, Polarity::Negative),
        Event::Failure { .. } => (EvidenceKind::Recovered, Polarity::Negative),
        Event::Success { kind } => (kind, Polarity::Positive),
    };
    let value = sentences::value(lived, settings)?;
    let mut tools = vec![about.name.to_owned()];
    // What to call instead is of no use where it is not at hand; of another toolset it cannot be told.
    if let Some(worked) = ToolInPlay::of(lived.tool).filter(|worked| worked.toolset == about.toolset) {
        tools.push(worked.name.to_owned());
    }
    tools.sort_unstable();
    tools.dedup();
    Some(LessonDraft {
        kind,
        toolset: about.toolset.map(str::to_owned),
        tools,
        polarity,
        key: key::key(lived, settings),
        value,
        backing,
    })
}

/// The tool that there is something to know about: the one that was called wrongly, where it is the right one or a wrong choice; else the one
/// that was meant.
fn subject<'a>(lived: &Lived<'a>) -> &'a Tool {
    match lived.event {
        Event::Fault { called: Some(called), .. } | Event::Failure { called, .. } => called,
        Event::Fault { called: None, .. } | Event::Success { .. } => lived.tool,
    }
}
