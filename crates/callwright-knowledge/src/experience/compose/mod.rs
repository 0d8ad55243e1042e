//! Composes drafts of lessons from events in general terms, without a model.
//!
//! A draft about an operator's tools consists of fixed phrases, codes, sentences of the documentation, and the names,
//! descriptions and values (`enum`, `const`, `default`) in the toolset's documents. Text from a client, its user, a
//! model or an API is never copied. A value of a call is looked up in the schema and appears in the draft only if the
//! schema contains it.
//!
//! A draft about a client's own tools contains only names and codes: see
//! [`ClientFacts`](callwright_types::memory::ClientFacts). [`wording`] derives its text from the schema of the request
//! that is shown the lesson. No draft is about tools of both kinds.

mod client;
mod key;
mod place;
mod schema;
mod sentences;
#[cfg(test)]
mod tests;

use serde_json::Value;

use super::Settings;
use super::lesson_store::ToolInPlay;
use callwright_types::memory::Backing;
use callwright_types::{Diagnosis, EvidenceKind, Explanation, FaultCode, LessonDraft, Owner, Polarity, Tool};
pub use client::wording;

/// An experience, built at the end of a turn while its texts are available.
#[derive(Clone, Copy)]
pub struct Lived<'a> {
    /// Event before the call that worked.
    pub event: Event<'a>,
    /// Tool whose call finally worked.
    pub tool: &'a Tool,
    /// Arguments of that call.
    pub arguments: &'a Value,
    /// Looks up an offered tool by name. Names that it does not find are invented.
    pub offered: &'a dyn Fn(&str) -> Option<&'a Tool>,
}

/// Event before a call worked.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// The scan found a fault in an earlier call, and the model repaired it.
    Fault {
        /// Fault that the scan found.
        diagnosis: &'a Diagnosis,
        /// Tool that the faulty call named, if it is offered.
        called: Option<&'a Tool>,
    },
    /// An earlier call failed.
    Failure {
        /// Tool of the failed call.
        called: &'a Tool,
        /// Arguments of the failed call.
        arguments: &'a Value,
        /// HTTP status of the API's response; `None` if the client made the call. Calls without a response teach
        /// nothing.
        status: Option<u16>,
        /// Explanation from the documentation.
        explanation: Option<&'a Explanation>,
    },
    /// The first call worked.
    Success {
        /// Evidence that the call was right: a verdict, or the success of the whole turn.
        kind: EvidenceKind,
    },
}

/// Composes a draft. Returns `None` if nothing general can be learned, for example from a fault of the proxy's own
/// search.
///
/// The draft becomes a lesson once `backing` is fulfilled: [`Backing::Seen`] if the proxy observed the successful call,
/// [`Backing::Awaits`] if the client must return with its result.
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
        // The lesson does not mention a tool of another toolset or a client's own tool.
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

/// Returns the tool that the lesson is about: the wrongly called tool if it is offered, otherwise the tool that worked.
fn subject<'a>(lived: &Lived<'a>) -> &'a Tool {
    match lived.event {
        Event::Fault { called: Some(called), .. } | Event::Failure { called, .. } => called,
        Event::Fault { called: None, .. } | Event::Success { .. } => lived.tool,
    }
}
