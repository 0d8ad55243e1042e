//! Composes drafts of lessons from events in general terms, without a model.
//!
//! A draft about an operator's tools consists of fixed phrases, codes, sentences of the documentation, and the names,
//! descriptions and values (`enum`, `const`, `default`) in the toolset's documents. Text from a client, its user, a
//! model or an API is never copied. A value of a call is looked up in the schema and appears in the draft only if the
//! schema contains it.
//!
//! A draft about a client's own tools contains only names and codes: see
//! [`ClientFacts`](callwright_types::memory::ClientFacts). [`wording`] derives its text from the schema of the request
//! that receives the lesson. No draft is about tools of both kinds.

mod client;
mod experience;
mod location;
mod schema;
mod sentences;
#[cfg(test)]
mod tests;

use serde_json::Value;

use super::Settings;
use super::lesson_store::AvailableTool;
use callwright_types::memory::Backing;
use callwright_types::{EvidenceKind, FaultCode, LessonDraft, Owner, Polarity};

pub use client::wording;
pub use experience::{Event, Experience};

/// Composes a draft. Returns `None` if nothing general can be learned, for example from a fault of the proxy's own
/// search.
///
/// The draft becomes a lesson once `backing` is fulfilled: [`Backing::Seen`] if the proxy observed the successful call,
/// [`Backing::Awaits`] if the client must return with its result.
pub fn compose(experience: &Experience<'_>, backing: Backing, settings: &Settings) -> Option<LessonDraft> {
    let subject = experience.subject();
    let (kind, polarity) = match experience.event {
        Event::Fault { .. } => (EvidenceKind::Mended, Polarity::Negative),
        Event::Failure { .. } => (EvidenceKind::Recovered, Polarity::Negative),
        Event::Success { kind } => (kind, Polarity::Positive),
    };
    if subject.owner == Owner::Client {
        let facts = client::facts(experience)?;
        let (tools, key, value) = (facts.names(), facts.key(), facts.summary());
        return Some(LessonDraft { kind, toolset: None, tools, polarity, key, value, client: Some(facts), backing });
    }
    let about = AvailableTool::from_toolset(subject)?;
    let mut tools = vec![about.name.to_owned()];
    let mut experience = *experience;
    match AvailableTool::from_toolset(experience.tool).filter(|worked| worked.toolset == about.toolset) {
        Some(worked) => tools.push(worked.name.to_owned()),
        // The lesson does not mention a tool of another toolset or a client's own tool.
        None => {
            let mentions_tool = matches!(experience.event, Event::Failure { .. } | Event::Success { .. })
                || matches!(experience.event, Event::Fault { diagnosis, .. } if diagnosis.code == FaultCode::ToolNotRelevant);
            if mentions_tool {
                return None;
            }
            (experience.tool, experience.arguments) = (subject, &Value::Null);
        }
    }
    if let Event::Fault { diagnosis, .. } = experience.event
        && diagnosis.code == FaultCode::WrongSource
    {
        let source = sentences::source(&experience, diagnosis).and_then(AvailableTool::from_toolset);
        tools.extend(source.map(|source| source.name.to_owned()));
    }
    let value = sentences::value(&experience, settings)?;
    let toolset = about.toolset.map(str::to_owned);
    tools.sort_unstable();
    tools.dedup();
    Some(LessonDraft {
        kind,
        toolset,
        tools,
        polarity,
        key: sentences::key(&experience, settings),
        value,
        client: None,
        backing,
    })
}
