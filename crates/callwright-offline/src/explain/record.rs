//! One line of the failures.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::docs::DocumentLibrary;
use callwright_common::json::raw;
use callwright_openai::name_of;
use callwright_types::outcome::ApiAnswer;
use callwright_types::{Explanation, OperationRef, Outcome};

/// Used members of a line; others are ignored.
#[derive(Deserialize)]
struct FailureInput<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    api: Option<String>,
    operation: Option<String>,
    status: Option<u16>,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
    #[serde(default)]
    arguments: Option<Map<String, Value>>,
}

/// Members of an output line, in order.
#[derive(Serialize)]
struct ExplanationLine<'a> {
    id: &'a RawValue,
    passages: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sources: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scores: Option<Vec<f32>>,
}

/// Default status of an answer: it indicates no failure, so it adds nothing to the search.
const UNTOLD_STATUS: u16 = 200;

/// Explains the failure of a line and appends the result.
///
/// # Errors
/// The error and its remedy if the line is unusable; nothing is appended then.
pub(super) async fn explain_line(
    text: &str,
    library: &DocumentLibrary,
    details: bool,
    lines: &mut Vec<u8>,
) -> Result<Explanation, String> {
    let failure: FailureInput<'_> = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
    let id = failure.id.filter(|id| name_of(id).is_some());
    let id = id.ok_or("there is no `id`; give each line a string or a number that its passages can repeat")?;
    let api = failure.api.ok_or("there is no `api`; name a file of the documentation, without its ending")?;
    let toolset = library.toolset(&api)?;
    let operation = OperationRef { toolset: toolset.to_owned(), tool: failure.operation.unwrap_or_default() };
    let outcome = Outcome::Answered(ApiAnswer::new(
        failure.status.unwrap_or(UNTOLD_STATUS),
        failure.body.map(body).unwrap_or_default(),
    ));
    let explanation = library.explainer().explain(&operation, &outcome, &failure.arguments.unwrap_or_default()).await;
    write(id, &explanation, details, lines);
    Ok(explanation)
}

/// Returns the body text: the content of a string, or the JSON of any other value.
fn body(value: &RawValue) -> String {
    serde_json::from_str::<String>(value.get()).unwrap_or_else(|_| value.get().to_owned())
}

fn write(id: &RawValue, explanation: &Explanation, details: bool, lines: &mut Vec<u8>) {
    let passages = &explanation.passages;
    let line = ExplanationLine {
        id,
        passages: passages.iter().map(|passage| passage.text.as_str()).collect(),
        sources: details.then(|| passages.iter().map(|passage| passage.source.as_str()).collect()),
        scores: details.then(|| passages.iter().map(|passage| passage.score).collect()),
    };
    lines.extend_from_slice(raw(&line).get().as_bytes());
    lines.push(b'\n');
}

fn unreadable(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => {
            format!(
                "the line is not a failure: {error}; give an object with `id`, `api`, `body` and, if known, `operation` and `status`"
            )
        }
        _ => format!("the line is not valid JSON: {error}; give one object on each line"),
    }
}
