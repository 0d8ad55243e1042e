//! The key of a composed lesson.

use super::place::Place;
use super::{Event, Lived, Settings, subject};
use crate::domain::FaultCode;
use crate::experience::text::{first_sentence, shortened};

/// Tool, parameter, what went wrong, and what the tool is for: the last is what requests have in common with it.
pub(super) fn key(lived: &Lived<'_>, settings: &Settings) -> String {
    let subject = subject(lived);
    let mut parts = vec![subject.name.clone()];
    match lived.event {
        Event::Fault { diagnosis, .. } => {
            let place = Place::of(&subject.parameters, &diagnosis.path);
            parts.extend(place.parameter.map(str::to_owned));
            parts.push(fault_words(diagnosis.code).to_owned());
        }
        Event::Failure { status, .. } => parts.extend(status.map(|status| format!("status {status}"))),
        Event::Success { .. } => {}
    }
    if lived.tool.name != subject.name {
        parts.push(lived.tool.name.clone());
    }
    // What is asked for is what the right tool does; a wrong one may have little to do with it.
    let purpose = if lived.tool.description.trim().is_empty() { subject } else { lived.tool };
    parts.push(first_sentence(&purpose.description, settings.key_chars));
    parts.retain(|part| !part.is_empty());
    shortened(&parts.join(", "), settings.key_chars).to_owned()
}

/// A fault in two or three words.
pub(super) const fn fault_words(code: FaultCode) -> &'static str {
    match code {
        FaultCode::NoCall => "call as text",
        FaultCode::ToolNotRelevant => "wrong tool",
        FaultCode::ToolNameLiteral => "tool name spelling",
        FaultCode::ToolNameSemantic | FaultCode::ToolUnknown => "unknown tool",
        FaultCode::ParameterOfOtherTool => "parameter of another tool",
        FaultCode::ParameterLiteral => "parameter spelling",
        FaultCode::ParameterSemantic | FaultCode::ParameterUnknown => "unknown parameter",
        FaultCode::ParameterMissing => "missing parameter",
        FaultCode::TypeMismatch => "wrong type",
        FaultCode::Constraint => "value not allowed",
        FaultCode::Placeholder => "placeholder value",
        FaultCode::WrongSource => "value from another answer",
        FaultCode::Circle | FaultCode::RepeatedCall => "repeated call",
        FaultCode::NoAnswer | FaultCode::CallAnnounced => "no call",
    }
}
