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
mod event;
mod place;
mod schema;
mod sentences;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub use client::wording;
pub use event::{Event, Lived};

use super::Settings;
use super::lesson_store::ToolInPlay;
use callwright_types::memory::Backing;
use callwright_types::{EvidenceKind, FaultCode, LessonDraft, Owner, Polarity};

/// Composes a draft. Returns `None` if nothing general can be learned, for example from a fault of the proxy's own
/// search.
///
/// The draft becomes a lesson once `backing` is fulfilled: [`Backing::Seen`] if the proxy observed the successful call,
/// [`Backing::Awaits`] if the client must return with its result.
pub fn compose(lived: &Lived<'_>, backing: Backing, settings: &Settings) -> Option<LessonDraft> {
    let subject = lived.subject();
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
    Some(LessonDraft {
        kind,
        toolset,
        tools,
        polarity,
        key: sentences::key(&lived, settings),
        value,
        client: None,
        backing,
    })
}
