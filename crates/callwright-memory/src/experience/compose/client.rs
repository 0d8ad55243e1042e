//! Lessons about a client's own tools: stored as facts, converted to text for the request that receives the lesson.

use serde_json::Value;

use super::experience::{Event, Experience};
use super::location::{ANY_MEMBER, ArgumentLocation};
use super::schema::parameters;
use super::sentences;
use crate::experience::Settings;
use callwright_common::json::Pointer;
use callwright_types::memory::{Change, ClientEvent, ClientFacts, ClientTool, Identifier, Step, Wording, WorkedWith};
use callwright_types::{Diagnosis, EvidenceKind, FaultCode, Lesson, Tool};

/// Extracts the facts of an experience with a client's own tool. Returns `None` if the tool's name is no identifier, or
/// if nothing general can be learned.
pub(super) fn facts(experience: &Experience<'_>) -> Option<ClientFacts> {
    let subject = experience.subject();
    let tool = ClientTool::of(subject)?;
    let right = (experience.tool.name != subject.name).then(|| ClientTool::of(experience.tool)).flatten();
    let facts = match experience.event {
        Event::Fault { diagnosis, .. } => {
            // Without the right tool, such a lesson has no content.
            if diagnosis.code == FaultCode::ToolNotRelevant && right.is_none() {
                return None;
            }
            let other = match diagnosis.code {
                FaultCode::WrongSource => source(experience, diagnosis),
                _ => right,
            };
            let is_misspelt = matches!(diagnosis.code, FaultCode::ParameterLiteral | FaultCode::ParameterSemantic);
            let meant =
                sentences::intended_parameter(subject, diagnosis).filter(|_| is_misspelt).and_then(Identifier::new);
            let location = location(&subject.parameters, diagnosis)?;
            ClientFacts { tool, other, event: ClientEvent::Fault { code: diagnosis.code, place: location, meant } }
        }
        Event::Failure { called, arguments, .. } => {
            if called.name != experience.tool.name {
                return None;
            }
            let changes = changes(&called.parameters, arguments, experience.arguments);
            ClientFacts { tool, other: None, event: ClientEvent::Failure { changes } }
        }
        Event::Success { .. } => {
            let given = experience.arguments.as_object().into_iter().flat_map(|given| given.keys());
            let declared = parameters(&subject.parameters);
            let given = given.filter(|name| declared.contains(&name.as_str())).filter_map(|name| Identifier::new(name));
            ClientFacts { tool, other: None, event: ClientEvent::Success { given: given.collect() } }
        }
    };
    Some(facts.bounded())
}

/// Returns the client's own tool whose result contains the value.
fn source(experience: &Experience<'_>, diagnosis: &Diagnosis) -> Option<ClientTool> {
    ClientTool::of((experience.offered)(diagnosis.facts.get("source")?.as_str()?)?)
}

/// Returns the path to the fault's location, as far as the schema names it with identifiers. Returns `None` if the
/// lesson has no meaning without the rest of the path.
fn location(root: &Value, diagnosis: &Diagnosis) -> Option<Vec<Step>> {
    let (mut steps, mut pointer) = (Vec::new(), Pointer::root());
    let tokens = diagnosis.path.tokens();
    for token in &tokens {
        let before = ArgumentLocation::resolve(root, &pointer);
        pointer = pointer.child(token);
        let location = ArgumentLocation::resolve(root, &pointer);
        let is_member = before.schemas.member(token).is_some();
        let step = match Identifier::new(token) {
            _ if !location.is_declared => break,
            Some(name) if is_member => Step::Member(name),
            _ if is_member => break,
            _ if location.name.ends_with(']') => Step::Item,
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
        ClientEvent::Fault { code, place: location, meant } => {
            let is_source = *code == FaultCode::WrongSource;
            let diagnosis = Diagnosis {
                code: *code,
                call: 0,
                // A misspelt name is no member of the schema, so the path uses the intended name instead.
                path: meant.iter().fold(pointer(location), |location, meant| location.child(meant.as_str())),
                message: String::new(),
                facts: match other {
                    Some(source) if is_source => serde_json::json!({"source": source.name}),
                    _ => Value::Null,
                },
                suggestion: meant.as_ref().map(ToString::to_string),
            };
            let experience = Experience {
                event: Event::Fault { diagnosis: &diagnosis, called: Some(tool) },
                tool: if is_source { tool } else { right },
                arguments: &Value::Null,
                offered: &|name| other.filter(|other| other.name == name),
            };
            Some(Wording {
                key: sentences::key(&experience, settings),
                value: sentences::value(&experience, settings)?,
            })
        }
        ClientEvent::Failure { changes } => {
            let event = Event::Failure { called: tool, arguments: &Value::Null, status: None, explanation: None };
            let experience = Experience { event, tool, arguments: &Value::Null, offered: &|_| None };
            let value = sentences::recovery(tool, changes, settings);
            Some(Wording { key: sentences::key(&experience, settings), value })
        }
        ClientEvent::Success { given } => {
            let event = Event::Success { kind: EvidenceKind::Feedback };
            let experience = Experience { event, tool, arguments: &Value::Null, offered: &|_| None };
            let names: Vec<&str> = given.iter().map(Identifier::as_str).collect();
            let value = sentences::success_with_names(tool, &names, settings);
            Some(Wording { key: sentences::key(&experience, settings), value })
        }
    }
}

/// Converts schema steps to a JSON pointer.
fn pointer(location: &[Step]) -> Pointer {
    location.iter().fold(Pointer::root(), |pointer, step| match step {
        Step::Member(name) => pointer.child(name.as_str()),
        Step::Item => pointer.item(0),
        Step::AnyMember => pointer.child(ANY_MEMBER),
    })
}
