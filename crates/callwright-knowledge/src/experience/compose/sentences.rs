//! Texts of composed lessons: one template per fault, and templates for failures and successes.

use serde_json::Value;

use super::event::{Event, Lived};
use super::place::ArgumentLocation;
use super::schema::{description, own_value, parameters, rule};
use crate::experience::Settings;
use crate::experience::text::{first_sentence, shortened, tidy};
use callwright_common::json::Pointer;
use callwright_types::memory::{Change, WorkedWith};
use callwright_types::{Diagnosis, Explanation, FaultCode, Owner, Tool};

/// Maximum number of characters quoted from a tool's or parameter's description.
const MAX_DESCRIPTION: usize = 120;

/// Maximum number of characters quoted from the documentation.
const MAX_PASSAGE: usize = 240;

/// Maximum number of listed parameters.
const MAX_PARAMETERS: usize = 16;

/// Returns the text of the lesson; `None` if nothing general can be learned.
pub(super) fn value(lived: &Lived<'_>, settings: &Settings) -> Option<String> {
    let said = match lived.event {
        Event::Fault { diagnosis, called } => fault(lived, diagnosis, called),
        Event::Failure { called, arguments, status, explanation } => {
            Some(failure(lived, called, arguments, status, explanation))
        }
        Event::Success { .. } => Some(success(lived)),
    };
    Some(shortened(&said?, settings.value_chars).to_owned())
}

/// Returns the key of the lesson: tool, parameter, kind of failure, and the tool's purpose. The purpose is what later
/// requests have in common with the lesson.
pub(super) fn key(lived: &Lived<'_>, settings: &Settings) -> String {
    let subject = lived.subject();
    let mut parts = vec![subject.name.clone()];
    match lived.event {
        Event::Fault { diagnosis, .. } => {
            let place = ArgumentLocation::of(&subject.parameters, &diagnosis.path);
            parts.extend(place.parameter.map(str::to_owned));
            parts.push(diagnosis.code.words().to_owned());
        }
        Event::Failure { status, .. } => parts.extend(status.map(|status| format!("status {status}"))),
        Event::Success { .. } => {}
    }
    if lived.tool.name != subject.name {
        parts.push(lived.tool.name.clone());
    }
    // Requests describe what the right tool does; the wrong tool's purpose may be unrelated.
    let purpose = if lived.tool.description.trim().is_empty() { subject } else { lived.tool };
    parts.push(first_sentence(&purpose.description, settings.key_chars));
    parts.retain(|part| !part.is_empty());
    shortened(&parts.join(", "), settings.key_chars).to_owned()
}

fn fault(lived: &Lived<'_>, diagnosis: &Diagnosis, called: Option<&Tool>) -> Option<String> {
    let right = lived.tool;
    let subject = called.unwrap_or(right);
    let name = &subject.name;
    let place = ArgumentLocation::of(&subject.parameters, &diagnosis.path);
    let parameter = if place.name.is_empty() { "a value".to_owned() } else { format!("`{}`", place.name) };
    Some(match diagnosis.code {
        FaultCode::NoCall => format!(
            "Calls of `{name}` have to be made as tool calls whose arguments are one JSON object; what is written into the text is not run."
        ),
        FaultCode::ToolNotRelevant if subject.name == right.name => return None,
        FaultCode::ToolNotRelevant => format!("For this, use `{}`{}, not `{name}`.", right.name, purpose(right)),
        FaultCode::ToolNameLiteral => format!("The tool is called `{}`, spelled exactly so.", right.name),
        FaultCode::ToolNameSemantic | FaultCode::ToolUnknown => {
            format!("The tool for this is `{}`{}; do not invent names of tools.", right.name, purpose(right))
        }
        FaultCode::ParameterOfOtherTool => format!(
            "Parameters of other tools are none of `{name}`{}.{}",
            takes(subject, &place),
            instead(lived, subject)
        ),
        FaultCode::ParameterLiteral | FaultCode::ParameterSemantic => match meant(subject, diagnosis) {
            Some(meant) => format!("`{name}` calls this parameter `{meant}`, spelled exactly so."),
            None => format!("`{name}` has its own names for parameters{}.", takes(subject, &place)),
        },
        FaultCode::ParameterMissing => {
            let worked = worked_value(lived, subject, diagnosis, &place);
            format!("`{name}` cannot be called without {parameter}{}.{worked}", explained(&place))
        }
        FaultCode::ParameterUnknown => {
            format!("`{name}` has no parameters but its own{}.{}", takes(subject, &place), instead(lived, subject))
        }
        FaultCode::TypeMismatch | FaultCode::Constraint => {
            let rule = rule(&place.schemas).unwrap_or_else(|| "as its schema says".to_owned());
            let worked = worked_value(lived, subject, diagnosis, &place);
            format!("In calls of `{name}`, {parameter} must be {rule}{}.{worked}", explained_shortly(&place))
        }
        FaultCode::Placeholder => format!(
            "In calls of `{name}`, {parameter} needs a real value{}: take it from the conversation or from another tool's answer, or ask \
             the user; never a placeholder.",
            explained(&place)
        ),
        FaultCode::WrongSource => match source(lived, diagnosis) {
            Some(Tool { name: source, .. }) => format!(
                "In calls of `{name}`, {parameter} is to be copied from the answer of `{source}`; call `{source}` first."
            ),
            None => format!("In calls of `{name}`, {parameter} is to be copied from another tool's answer."),
        },
        // These faults concern an answer, not a tool.
        FaultCode::NoAnswer | FaultCode::CallAnnounced => return None,
        FaultCode::Circle | FaultCode::RepeatedCall => {
            let other = match subject.name == right.name {
                true => String::new(),
                false => format!("; `{}` was what helped", right.name),
            };
            format!(
                "Calling `{name}` again with the same arguments gives the same answer: change an argument, take another tool, or answer \
                 with what is known{other}."
            )
        }
    })
}

/// Describes a failure and the change that fixed it.
fn failure(
    lived: &Lived<'_>,
    called: &Tool,
    arguments: &Value,
    status: Option<u16>,
    explanation: Option<&Explanation>,
) -> String {
    let mut said = match status {
        Some(status) => format!("`{}` answered with status {status}.", called.name),
        None => format!("`{}` failed.", called.name),
    };
    if let Some(passage) = explanation.and_then(|explanation| explanation.passages.first()) {
        said.push_str(&format!(" Its documentation says: \"{}\".", shortened(&tidy(&passage.text), MAX_PASSAGE)));
    }
    said.push(' ');
    if called.name != lived.tool.name {
        said.push_str(&format!("What worked instead: `{}`{}.", lived.tool.name, purpose(lived.tool)));
        return said;
    }
    let changes = changes(&called.parameters, arguments, lived.arguments);
    said.push_str(&match changes.is_empty() {
        true if arguments == lived.arguments => "The same call worked when it was made again.".to_owned(),
        true => "It worked with other values.".to_owned(),
        false => format!("It worked with {}.", changes.join("; ")),
    });
    said
}

/// Describes the call that served a request.
fn success(lived: &Lived<'_>) -> String {
    let tool = lived.tool;
    let schema = &tool.parameters;
    let given = lived.arguments.as_object().into_iter().flat_map(|arguments| arguments.iter());
    let given = given.filter_map(|(name, value)| {
        let place = known(schema, name)?;
        Some(match own_value(&place.schemas, value) {
            Some(value) => format!("`{}` = {value}", place.name),
            None => format!("`{}`", place.name),
        })
    });
    was_right(tool, given.take(MAX_PARAMETERS).collect())
}

/// Describes the call that served a request by its parameter names only.
pub(super) fn served(tool: &Tool, given: &[&str], settings: &Settings) -> String {
    let given = given.iter().filter_map(|name| Some(format!("`{}`", known(&tool.parameters, name)?.name)));
    shortened(&was_right(tool, given.collect()), settings.value_chars).to_owned()
}

fn was_right(tool: &Tool, given: Vec<String>) -> String {
    let with = if given.is_empty() { String::new() } else { format!(", with {}", given.join(", ")) };
    format!("For this, `{}`{}{with} was right.", tool.name, purpose(tool))
}

/// Describes the fix for a failure of a client's own tool by the names of the changed parameters.
pub(super) fn recovered(tool: &Tool, changes: &[Change], settings: &Settings) -> String {
    let told = changes.iter().filter_map(|Change { parameter, worked_with }| {
        let place = known(&tool.parameters, parameter.as_str())?;
        Some(match worked_with {
            WorkedWith::AValue => format!("`{parameter}` given{}", explained(&place)),
            WorkedWith::AnotherValue => format!("another value for `{parameter}`{}", explained(&place)),
            WorkedWith::None => format!("`{parameter}` left out"),
        })
    });
    let told: Vec<String> = told.collect();
    let with = if told.is_empty() { "other values".to_owned() } else { told.join("; ") };
    shortened(&format!("`{}` failed. It worked with {with}.", tool.name), settings.value_chars).to_owned()
}

/// Describes the differences between two calls of one tool in the schema's words.
fn changes(schema: &Value, before: &Value, after: &Value) -> Vec<String> {
    let names = parameters(schema).into_iter().filter(|name| before.get(*name) != after.get(*name));
    let told = names.filter_map(|name| {
        let place = known(schema, name)?;
        let worked = after.get(name).and_then(|value| own_value(&place.schemas, value));
        Some(match (before.get(name), after.get(name), worked) {
            (_, Some(_), Some(value)) => format!("`{name}` = {value}"),
            (None, Some(_), None) => format!("`{name}` given{}", explained(&place)),
            (Some(_), None, _) => format!("`{name}` left out"),
            _ => format!("another value for `{name}`{}", explained(&place)),
        })
    });
    told.take(MAX_PARAMETERS).collect()
}

fn known<'a>(schema: &'a Value, name: &str) -> Option<ArgumentLocation<'a>> {
    Some(ArgumentLocation::of(schema, &Pointer::root().child(name)))
        .filter(|place| place.is_known && place.parameter.is_some())
}

/// Formats the tool's purpose as ` (purpose)`.
fn purpose(tool: &Tool) -> String {
    parenthesised(first_sentence(&tool.description, MAX_DESCRIPTION))
}

/// Formats the parameter's description and constraints as ` (description; constraints)`.
fn explained(place: &ArgumentLocation<'_>) -> String {
    let said = described(place).into_iter().chain(rule(&place.schemas)).collect::<Vec<_>>();
    parenthesised(said.join("; "))
}

/// Formats the parameter's description as ` (description)`.
fn explained_shortly(place: &ArgumentLocation<'_>) -> String {
    parenthesised(described(place).unwrap_or_default())
}

fn described(place: &ArgumentLocation<'_>) -> Option<String> {
    place.parameter.and_then(|_| description(&place.schemas)).map(|text| first_sentence(text, MAX_DESCRIPTION))
}

fn parenthesised(text: String) -> String {
    if text.is_empty() { text } else { format!(" ({text})") }
}

/// Formats the members of the location, or else of the tool, as `: it takes a, b`.
fn takes(tool: &Tool, place: &ArgumentLocation<'_>) -> String {
    let mut names: Vec<&str> = Vec::new();
    for schema in &place.schemas {
        let members = schema.get("properties").and_then(Value::as_object);
        names.extend(members.into_iter().flat_map(|members| members.keys().map(String::as_str)));
    }
    if names.is_empty() {
        names = parameters(&tool.parameters);
    }
    names.truncate(MAX_PARAMETERS);
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() { String::new() } else { format!(": it takes {}", names.join(", ")) }
}

/// Describes the other tool that worked.
fn instead(lived: &Lived<'_>, subject: &Tool) -> String {
    match lived.tool.name == subject.name {
        true => String::new(),
        false => format!(" What worked instead: `{}`{}.", lived.tool.name, purpose(lived.tool)),
    }
}

/// Returns the parameter that a misspelt name was meant to be: the suggestion, if the schema declares it.
pub(super) fn meant<'a>(tool: &'a Tool, diagnosis: &Diagnosis) -> Option<&'a str> {
    let suggestion = diagnosis.suggestion.as_deref()?;
    let mut tokens = diagnosis.path.tokens();
    tokens.pop();
    let mut pointer = Pointer::root();
    for token in tokens {
        pointer = pointer.child(&token);
    }
    let place = ArgumentLocation::of(&tool.parameters, &pointer.child(suggestion));
    place.parameter.filter(|_| place.is_known)
}

/// Returns the tool that the value comes from, if it has the same owner as the tool that takes the value.
pub(super) fn source<'a>(lived: &Lived<'a>, diagnosis: &Diagnosis) -> Option<&'a Tool> {
    let source = (lived.offered)(diagnosis.facts.get("source")?.as_str()?)?;
    let is_same = match (&source.owner, &lived.subject().owner) {
        (Owner::Client, Owner::Client) => true,
        (Owner::Proxy(source), Owner::Proxy(taker)) => source.toolset == taker.toolset,
        _ => false,
    };
    is_same.then_some(source)
}

/// Formats ` VALUE worked.` if the schema contains the value.
fn worked_value(lived: &Lived<'_>, subject: &Tool, diagnosis: &Diagnosis, place: &ArgumentLocation<'_>) -> String {
    let is_same_tool = subject.name == lived.tool.name && place.is_known;
    let value = lived.arguments.pointer(diagnosis.path.as_str()).filter(|_| is_same_tool);
    let own = value.and_then(|value| own_value(&place.schemas, value));
    own.map_or_else(String::new, |value| format!(" {value} worked."))
}
