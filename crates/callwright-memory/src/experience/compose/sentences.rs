//! Texts of composed lessons: one template per fault, and templates for failures and successes.

use serde_json::Value;

use super::experience::{Event, Experience};
use super::location::ArgumentLocation;
use super::schema::{constraints, names, own_value, parameters};
use crate::experience::Settings;
use crate::experience::text::{first_sentence, shortened};
use callwright_common::json::Pointer;
use callwright_common::text::one_line;
use callwright_types::memory::{Change, WorkedWith};
use callwright_types::{Diagnosis, Explanation, FaultCode, Owner, Tool};

/// Maximum number of characters quoted from a tool's or parameter's description.
const MAX_DESCRIPTION: usize = 120;

/// Maximum number of characters quoted from the documentation.
const MAX_PASSAGE: usize = 240;

/// Maximum number of listed parameters.
const MAX_PARAMETERS: usize = 16;

/// Returns the text of the lesson; `None` if nothing general can be learned.
pub(super) fn value(experience: &Experience<'_>, settings: &Settings) -> Option<String> {
    let text = match experience.event {
        Event::Fault { diagnosis, called } => fault(experience, diagnosis, called),
        Event::Failure { called, arguments, status, explanation } => {
            Some(failure(experience, called, arguments, status, explanation))
        }
        Event::Success { .. } => Some(success(experience)),
    };
    Some(shortened(&text?, settings.value_chars).to_owned())
}

/// Returns the key of the lesson: tool, parameter, kind of failure, and the tool's purpose. The purpose is what later
/// requests have in common with the lesson.
pub(super) fn key(experience: &Experience<'_>, settings: &Settings) -> String {
    let subject = experience.subject();
    let mut parts = vec![subject.name.clone()];
    match experience.event {
        Event::Fault { diagnosis, .. } => {
            let location = ArgumentLocation::resolve(&subject.parameters, &diagnosis.path);
            parts.extend(location.parameter.map(str::to_owned));
            parts.push(diagnosis.code.words().to_owned());
        }
        Event::Failure { status, .. } => parts.extend(status.map(|status| format!("status {status}"))),
        Event::Success { .. } => {}
    }
    if experience.tool.name != subject.name {
        parts.push(experience.tool.name.clone());
    }
    // Requests describe what the right tool does; the wrong tool's purpose may be unrelated.
    let purpose = if experience.tool.description.trim().is_empty() { subject } else { experience.tool };
    parts.push(first_sentence(&purpose.description, settings.key_chars));
    parts.retain(|part| !part.is_empty());
    shortened(&parts.join(", "), settings.key_chars).to_owned()
}

fn fault(experience: &Experience<'_>, diagnosis: &Diagnosis, called: Option<&Tool>) -> Option<String> {
    let right = experience.tool;
    let subject = called.unwrap_or(right);
    let name = &subject.name;
    let location = ArgumentLocation::resolve(&subject.parameters, &diagnosis.path);
    let parameter = if location.name.is_empty() { "a value".to_owned() } else { format!("`{}`", location.name) };
    Some(match diagnosis.code {
        FaultCode::NoCall => format!(
            "Calls of `{name}` must be tool calls with one JSON object as arguments; calls in the text are not run."
        ),
        FaultCode::ToolNotRelevant if subject.name == right.name => return None,
        FaultCode::ToolNotRelevant => format!("For this, use `{}`{}, not `{name}`.", right.name, purpose(right)),
        FaultCode::ToolNameLiteral => format!("The exact name of the tool is `{}`.", right.name),
        FaultCode::ToolNameSemantic | FaultCode::ToolUnknown => {
            format!("The tool for this is `{}`{}; do not invent names of tools.", right.name, purpose(right))
        }
        FaultCode::ParameterOfOtherTool => format!(
            "`{name}` has no parameters of other tools{}.{}",
            accepted_parameters(subject, &location),
            alternative(experience, subject)
        ),
        FaultCode::ParameterLiteral | FaultCode::ParameterSemantic => match intended_parameter(subject, diagnosis) {
            Some(intended) => format!("The exact name of this parameter of `{name}` is `{intended}`."),
            None => format!("`{name}` has its own names for parameters{}.", accepted_parameters(subject, &location)),
        },
        FaultCode::ParameterMissing => {
            let worked = worked_value(experience, subject, diagnosis, &location);
            format!("`{name}` cannot be called without {parameter}{}.{worked}", details(&location))
        }
        FaultCode::ParameterUnknown => {
            format!(
                "`{name}` has only its own parameters{}.{}",
                accepted_parameters(subject, &location),
                alternative(experience, subject)
            )
        }
        FaultCode::TypeMismatch | FaultCode::Constraint => {
            let constraints = constraints(&location.schemas).unwrap_or_else(|| "as its schema requires".to_owned());
            let worked = worked_value(experience, subject, diagnosis, &location);
            format!("In calls of `{name}`, {parameter} must be {constraints}{}.{worked}", description_note(&location))
        }
        FaultCode::Placeholder => format!(
            "In calls of `{name}`, {parameter} requires a real value{}: from the conversation, another tool's answer or the \
             user, never a placeholder.",
            details(&location)
        ),
        FaultCode::WrongSource => match source(experience, diagnosis) {
            Some(Tool { name: source, .. }) => format!(
                "In calls of `{name}`, {parameter} must be copied from the answer of `{source}`; call `{source}` first."
            ),
            None => format!("In calls of `{name}`, {parameter} must be copied from another tool's answer."),
        },
        FaultCode::Circle | FaultCode::RepeatedCall => {
            let other = match subject.name == right.name {
                true => String::new(),
                false => format!("; `{}` was what helped", right.name),
            };
            format!(
                "Calling `{name}` again with the same arguments returns the same answer: change an argument, use another tool, or answer \
                 with the known results{other}."
            )
        }
        // Nothing about a tool can be learned from a fault of an answer, or from one without a sentence here.
        _ => return None,
    })
}

/// Describes a failure and the change that fixed it.
fn failure(
    experience: &Experience<'_>,
    called: &Tool,
    arguments: &Value,
    status: Option<u16>,
    explanation: Option<&Explanation>,
) -> String {
    let mut text = match status {
        Some(status) => format!("`{}` answered with status {status}.", called.name),
        None => format!("`{}` failed.", called.name),
    };
    if let Some(passage) = explanation.and_then(|explanation| explanation.passages.first()) {
        text.push_str(&format!(" Its documentation states: \"{}\".", shortened(&one_line(&passage.text), MAX_PASSAGE)));
    }
    text.push(' ');
    if called.name != experience.tool.name {
        text.push_str(&format!("What worked instead: `{}`{}.", experience.tool.name, purpose(experience.tool)));
        return text;
    }
    let changes = changes(&called.parameters, arguments, experience.arguments);
    text.push_str(&match changes.is_empty() {
        true if arguments == experience.arguments => "The same call worked later.".to_owned(),
        true => "It worked with other values.".to_owned(),
        false => format!("It worked with {}.", changes.join("; ")),
    });
    text
}

/// Describes the call that served a request.
fn success(experience: &Experience<'_>) -> String {
    let tool = experience.tool;
    let schema = &tool.parameters;
    let given = experience.arguments.as_object().into_iter().flat_map(|arguments| arguments.iter());
    let given = given.filter_map(|(name, value)| {
        let location = declared_parameter(schema, name)?;
        Some(match own_value(&location.schemas, value) {
            Some(value) => format!("`{}` = {value}", location.name),
            None => format!("`{}`", location.name),
        })
    });
    success_sentence(tool, given.take(MAX_PARAMETERS).collect())
}

/// Describes the call that served a request by its parameter names only.
pub(super) fn success_with_names(tool: &Tool, given: &[&str], settings: &Settings) -> String {
    let given = given.iter().filter_map(|name| Some(format!("`{}`", declared_parameter(&tool.parameters, name)?.name)));
    shortened(&success_sentence(tool, given.collect()), settings.value_chars).to_owned()
}

fn success_sentence(tool: &Tool, given: Vec<String>) -> String {
    let with = if given.is_empty() { String::new() } else { format!(", with {}", given.join(", ")) };
    format!("For this, `{}`{}{with} was right.", tool.name, purpose(tool))
}

/// Describes the fix for a failure of a client's own tool by the names of the changed parameters.
pub(super) fn recovery(tool: &Tool, changes: &[Change], settings: &Settings) -> String {
    let parts = changes.iter().filter_map(|Change { parameter, worked_with }| {
        let location = declared_parameter(&tool.parameters, parameter.as_str())?;
        Some(match worked_with {
            WorkedWith::AValue => format!("`{parameter}` given{}", details(&location)),
            WorkedWith::AnotherValue => format!("another value for `{parameter}`{}", details(&location)),
            WorkedWith::None => format!("`{parameter}` left out"),
        })
    });
    let parts: Vec<String> = parts.collect();
    let with = if parts.is_empty() { "other values".to_owned() } else { parts.join("; ") };
    shortened(&format!("`{}` failed. It worked with {with}.", tool.name), settings.value_chars).to_owned()
}

/// Describes the differences between two calls of one tool in the schema's words.
fn changes(schema: &Value, before: &Value, after: &Value) -> Vec<String> {
    let names = parameters(schema).into_iter().filter(|name| before.get(*name) != after.get(*name));
    let parts = names.filter_map(|name| {
        let location = declared_parameter(schema, name)?;
        let worked = after.get(name).and_then(|value| own_value(&location.schemas, value));
        Some(match (before.get(name), after.get(name), worked) {
            (_, Some(_), Some(value)) => format!("`{name}` = {value}"),
            (None, Some(_), None) => format!("`{name}` given{}", details(&location)),
            (Some(_), None, _) => format!("`{name}` left out"),
            _ => format!("another value for `{name}`{}", details(&location)),
        })
    });
    parts.take(MAX_PARAMETERS).collect()
}

fn declared_parameter<'a>(schema: &'a Value, name: &str) -> Option<ArgumentLocation<'a>> {
    Some(ArgumentLocation::resolve(schema, &Pointer::root().child(name)))
        .filter(|location| location.is_declared && location.parameter.is_some())
}

/// Formats the tool's purpose as ` (purpose)`.
fn purpose(tool: &Tool) -> String {
    parenthesised(first_sentence(&tool.description, MAX_DESCRIPTION))
}

/// Formats the parameter's description and constraints as ` (description; constraints)`.
fn details(location: &ArgumentLocation<'_>) -> String {
    let text = short_description(location).into_iter().chain(constraints(&location.schemas)).collect::<Vec<_>>();
    parenthesised(text.join("; "))
}

/// Formats the parameter's description as ` (description)`.
fn description_note(location: &ArgumentLocation<'_>) -> String {
    parenthesised(short_description(location).unwrap_or_default())
}

fn short_description(location: &ArgumentLocation<'_>) -> Option<String> {
    location
        .parameter
        .and_then(|_| location.schemas.text("description"))
        .map(|text| first_sentence(text, MAX_DESCRIPTION))
}

fn parenthesised(text: String) -> String {
    if text.is_empty() { text } else { format!(" ({text})") }
}

/// Formats the members of the location, or else of the tool, as `: it accepted_parameters a, b`.
fn accepted_parameters(tool: &Tool, location: &ArgumentLocation<'_>) -> String {
    let mut names = names(&location.schemas);
    if names.is_empty() {
        names = parameters(&tool.parameters);
    }
    names.truncate(MAX_PARAMETERS);
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() { String::new() } else { format!(": it takes {}", names.join(", ")) }
}

/// Describes the other tool that worked.
fn alternative(experience: &Experience<'_>, subject: &Tool) -> String {
    match experience.tool.name == subject.name {
        true => String::new(),
        false => format!(" What worked instead: `{}`{}.", experience.tool.name, purpose(experience.tool)),
    }
}

/// Returns the intended parameter of a misspelt name: the suggestion, if the schema declares it and the names are alike.
pub(super) fn intended_parameter<'a>(tool: &'a Tool, diagnosis: &Diagnosis) -> Option<&'a str> {
    let suggestion = diagnosis.suggestion.as_deref().filter(|_| !diagnosis.is_by_elimination())?;
    let mut tokens = diagnosis.path.tokens();
    tokens.pop();
    let mut pointer = Pointer::root();
    for token in tokens {
        pointer = pointer.child(&token);
    }
    let location = ArgumentLocation::resolve(&tool.parameters, &pointer.child(suggestion));
    location.parameter.filter(|_| location.is_declared)
}

/// Returns the tool that the value comes from, if it has the same owner as the tool that takes the value.
pub(super) fn source<'a>(experience: &Experience<'a>, diagnosis: &Diagnosis) -> Option<&'a Tool> {
    let source = (experience.offered)(diagnosis.facts.get("source")?.as_str()?)?;
    let has_same_owner = match (&source.owner, &experience.subject().owner) {
        (Owner::Client, Owner::Client) => true,
        (Owner::Proxy(source), Owner::Proxy(taker)) => source.toolset == taker.toolset,
        _ => false,
    };
    has_same_owner.then_some(source)
}

/// Formats ` VALUE worked.` if the schema contains the value.
fn worked_value(
    experience: &Experience<'_>,
    subject: &Tool,
    diagnosis: &Diagnosis,
    location: &ArgumentLocation<'_>,
) -> String {
    let is_same_tool = subject.name == experience.tool.name && location.is_declared;
    let value = experience.arguments.pointer(diagnosis.path.as_str()).filter(|_| is_same_tool);
    let own = value.and_then(|value| own_value(&location.schemas, value));
    own.map_or_else(String::new, |value| format!(" {value} worked."))
}
