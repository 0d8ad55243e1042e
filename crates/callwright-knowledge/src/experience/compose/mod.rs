//! A draft of a lesson, without any model: what happened, in general terms.
//!
//! A draft about an operator's tools consists of words of our own, of names, descriptions and values (`enum`, `const`, `default`) that the documents of its
//! toolset have, of sentences of the documentation, and of codes. What a client, its user, a model or an API wrote is never copied: a value of a
//! call is looked up in the schema, and stands in the draft only where the schema has it.
//!
//! A draft about a client's own tools has names and codes alone: see [`ClientFacts`](callwright_types::memory::ClientFacts). [`wording`] makes the words of it from the schema of the request
//! that is shown it. No draft is about tools of both.

mod client;
mod key;
mod place;
mod schema;
mod sentences;
#[cfg(test)]
mod tests;

use serde_json::Value;

use super::Settings;
use super::notebook::ToolInPlay;
use callwright_types::memory::Backing;
use callwright_types::{Diagnosis, EvidenceKind, Explanation, FaultCode, LessonDraft, Owner, Polarity, Tool};
pub use client::wording;

/// What was lived through, told at the end of a turn, while its texts are at hand.
#[derive(Clone, Copy)]
pub struct Lived<'a> {
    /// What happened.
    pub event: Event<'a>,
    /// The tool whose call worked in the end.
    pub tool: &'a Tool,
    /// The arguments of that call.
    pub arguments: &'a Value,
    /// The tool of this name, where one is offered. Other names are somebody's invention.
    pub offered: &'a dyn Fn(&str) -> Option<&'a Tool>,
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
    let (kind, polarity) = match lived.event {
        Event::Fault { .. } => (EvidenceKind::Mended, Polarity::Negative),
        Event::Failure { .. } => (EvidenceKind::Recovered, Polarity::Negative),
        Event::Success { kind } => (kind, Polarity::Positive),
    };
    if subject.owner == Owner::Client {
        let facts = client::facts(lived)?;
        let (tools, key, value) = (facts.names(), facts.key(), facts.summary());
        return Some(LessonDraft { kind, toolset: None, tools, polarity, key, value, client: Some(facts), backing });
    }
    let about = ToolInPlay::of(subject)?;
    let mut tools = vec![about.name.to_owned()];
    let mut lived = *lived;
    match ToolInPlay::of(lived.tool).filter(|worked| worked.toolset == about.toolset) {
        Some(worked) => tools.push(worked.name.to_owned()),
        // Of a tool of another toolset, or of a client's own, nothing is said here.
        None => {
            let speaks_of_it = matches!(lived.event, Event::Failure { .. } | Event::Success { .. })
                || matches!(lived.event, Event::Fault { diagnosis, .. } if diagnosis.code == FaultCode::ToolNotRelevant);
            if speaks_of_it {
                return None;
            }
            (lived.tool, lived.arguments) = (subject, &Value::Null);
        }
    }
    if let Event::Fault { diagnosis, .. } = lived.event
        && diagnosis.code == FaultCode::WrongSource
    {
        let source = sentences::source(&lived, diagnosis).and_then(ToolInPlay::of);
        tools.extend(source.map(|source| source.name.to_owned()));
    }
    let value = sentences::value(&lived, settings)?;
    let toolset = about.toolset.map(str::to_owned);
    tools.sort_unstable();
    tools.dedup();
    Some(LessonDraft { kind, toolset, tools, polarity, key: key::key(&lived, settings), value, client: None, backing })
}

/// The tool that there is something to know about: the one that was called wrongly, where it is the right one or a wrong choice; else the one
/// that was meant.
fn subject<'a>(lived: &Lived<'a>) -> &'a Tool {
    match lived.event {
        Event::Fault { called: Some(called), .. } | Event::Failure { called, .. } => called,
        Event::Fault { called: None, .. } | Event::Success { .. } => lived.tool,
    }
}
