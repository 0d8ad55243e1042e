//! Lessons about a client's own tools: stored as facts, worded when a request is shown the lesson.

use serde_json::Value;

use super::event::{Event, Lived};
use super::place::ArgumentLocation;
use super::schema::{parameters, property};
use super::sentences;
use crate::experience::Settings;
use callwright_common::json::Pointer;
use callwright_types::memory::{Change, ClientEvent, ClientFacts, ClientTool, Identifier, Step, Wording, WorkedWith};
use callwright_types::{Diagnosis, EvidenceKind, FaultCode, Lesson, Tool};

/// Schema member that represents one whose name the schema leaves open.
const ANY_MEMBER: &str = "*";

/// Extracts the facts of an experience with a client's own tool. Returns `None` if the tool's name is no identifier, or
/// if nothing general can be learned.
pub(super) fn facts(lived: &Lived<'_>) -> Option<ClientFacts> {
    let subject = lived.subject();
    let tool = ClientTool::of(subject)?;
    let right = (lived.tool.name != subject.name).then(|| ClientTool::of(lived.tool)).flatten();
    let facts = match lived.event {
        Event::Fault { diagnosis, .. } => {
            // Without the right tool, such a lesson has no content.
            if diagnosis.code == FaultCode::ToolNotRelevant && right.is_none() {
                return None;
            }
            let other = match diagnosis.code {
                FaultCode::WrongSource => source(lived, diagnosis),
                _ => right,
            };
            let is_misspelt = matches!(diagnosis.code, FaultCode::ParameterLiteral | FaultCode::ParameterSemantic);
            let meant = sentences::meant(subject, diagnosis).filter(|_| is_misspelt).and_then(Identifier::new);
            let place = place(&subject.parameters, diagnosis)?;
            ClientFacts { tool, other, event: ClientEvent::Fault { code: diagnosis.code, place, meant } }
        }
        Event::Failure { called, arguments, .. } => {
            if called.name != lived.tool.name {
                return None;
            }
            let changes = changes(&called.parameters, arguments, lived.arguments);
            ClientFacts { tool, other: None, event: ClientEvent::Failure { changes } }
        }
        Event::Success { .. } => {
            let given = lived.arguments.as_object().into_iter().flat_map(|given| given.keys());
            let known = parameters(&subject.parameters);
            let given = given.filter(|name| known.contains(&name.as_str())).filter_map(|name| Identifier::new(name));
            ClientFacts { tool, other: None, event: ClientEvent::Success { given: given.collect() } }
        }
    };
    Some(facts.bounded())
}

/// Returns the client's own tool whose result contains the value.
fn source(lived: &Lived<'_>, diagnosis: &Diagnosis) -> Option<ClientTool> {
    ClientTool::of((lived.offered)(diagnosis.facts.get("source")?.as_str()?)?)
}

/// Returns the path to the fault's location, as far as the schema names it with identifiers. Returns `None` if the
/// lesson has no meaning without the rest of the path.
fn place(root: &Value, diagnosis: &Diagnosis) -> Option<Vec<Step>> {
    let (mut steps, mut pointer) = (Vec::new(), Pointer::root());
    let tokens = diagnosis.path.tokens();
    for token in &tokens {
        let before = ArgumentLocation::of(root, &pointer);
        pointer = pointer.child(token);
        let now = ArgumentLocation::of(root, &pointer);
        let is_member = before.schemas.iter().any(|schema| property(schema, token).is_some());
        let step = match Identifier::new(token) {
            _ if !now.is_known => break,
            Some(name) if is_member => Step::Member(name),
            _ if is_member => break,
            _ if now.name.ends_with(']') => Step::Item,
            _ => Step::AnyMember,
        };
        steps.push(step);
    }
    let is_general = match diagnosis.code {
        FaultCode::ParameterMissing
        | FaultCode::TypeMismatch
        | FaultCode::Constraint
        | FaultCode::Placeholder
        | FaultCode::WrongSource => steps.len() == tokens.len(),
        // These faults concern an answer, not a tool.
        FaultCode::NoAnswer | FaultCode::CallAnnounced => false,
        _ => true,
    };
    (is_general && steps.len() <= ClientFacts::MAX_STEPS).then_some(steps)
}

/// Returns the differences between two calls of one tool, limited to parameters of the schema.
fn changes(schema: &Value, before: &Value, after: &Value) -> Vec<Change> {
    let names = parameters(schema).into_iter().filter(|name| before.get(*name) != after.get(*name));
    let changes = names.filter_map(|name| {
        let worked_with = match (before.get(name), after.get(name)) {
            (None, Some(_)) => WorkedWith::AValue,
            (Some(_), None) => WorkedWith::None,
            _ => WorkedWith::AnotherValue,
        };
        Some(Change { parameter: Identifier::new(name)?, worked_with })
    });
    changes.collect()
}

/// Returns the text of a lesson for a request that offers these tools. Text about a client's own tools is derived from
/// the request's schema. Returns `None` if the request does not offer those tools unchanged.
pub fn wording<'t>(
    lesson: &Lesson,
    offered: &dyn Fn(&ClientTool) -> Option<&'t Tool>,
    settings: &Settings,
) -> Option<Wording> {
    let Some(facts) = &lesson.client else {
        return Some(Wording { key: lesson.key.clone(), value: lesson.value.clone() });
    };
    let tool = offered(&facts.tool)?;
    let other = match &facts.other {
        Some(other) => Some(offered(other)?),
        None => None,
    };
    let right = other.unwrap_or(tool);
    match &facts.event {
        ClientEvent::Fault { code, place, meant } => {
            let is_source = *code == FaultCode::WrongSource;
            let diagnosis = Diagnosis {
                code: *code,
                call: 0,
                // A misspelt name is no member of the schema, so the path uses the intended name instead.
                path: meant.iter().fold(pointer(place), |place, meant| place.child(meant.as_str())),
                message: String::new(),
                facts: match other {
                    Some(source) if is_source => serde_json::json!({"source": source.name}),
                    _ => Value::Null,
                },
                suggestion: meant.as_ref().map(ToString::to_string),
            };
            let lived = Lived {
                event: Event::Fault { diagnosis: &diagnosis, called: Some(tool) },
                tool: if is_source { tool } else { right },
                arguments: &Value::Null,
                offered: &|name| other.filter(|other| other.name == name),
            };
            Some(Wording { key: sentences::key(&lived, settings), value: sentences::value(&lived, settings)? })
        }
        ClientEvent::Failure { changes } => {
            let event = Event::Failure { called: tool, arguments: &Value::Null, status: None, explanation: None };
            let lived = Lived { event, tool, arguments: &Value::Null, offered: &|_| None };
            let value = sentences::recovered(tool, changes, settings);
            Some(Wording { key: sentences::key(&lived, settings), value })
        }
        ClientEvent::Success { given } => {
            let event = Event::Success { kind: EvidenceKind::Feedback };
            let lived = Lived { event, tool, arguments: &Value::Null, offered: &|_| None };
            let names: Vec<&str> = given.iter().map(Identifier::as_str).collect();
            let value = sentences::served(tool, &names, settings);
            Some(Wording { key: sentences::key(&lived, settings), value })
        }
    }
}

/// Converts schema steps to a JSON pointer.
fn pointer(place: &[Step]) -> Pointer {
    place.iter().fold(Pointer::root(), |pointer, step| match step {
        Step::Member(name) => pointer.child(name.as_str()),
        Step::Item => pointer.item(0),
        Step::AnyMember => pointer.child(ANY_MEMBER),
    })
}
