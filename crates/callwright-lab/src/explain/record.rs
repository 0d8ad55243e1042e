//! One line of the failures.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::docs::DocumentLibrary;
use crate::lines::parse_line;
use callwright_common::json::raw;
use callwright_common::limits::WORD_CHARS;
use callwright_common::text::excerpt;
use callwright_types::outcome::ApiAnswer;
use callwright_types::{Explanation, OperationRef, Outcome};
use callwright_wire::name_of;

/// Used members of a line; others are ignored.
#[derive(Deserialize)]
struct FailureInput<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    api: Option<String>,
    #[serde(borrow)]
    operation: Option<&'a RawValue>,
    #[serde(borrow)]
    status: Option<&'a RawValue>,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl FailureInput<'_> {
    /// Parses a member that may be absent or `null`. One that has another form is reported and omitted, so that the
    /// rest of the line counts.
    fn optional<T: DeserializeOwned>(
        library: &DocumentLibrary,
        toolset: &str,
        name: &'static str,
        value: Option<&RawValue>,
        form: &str,
    ) -> Option<T> {
        let value = value?.get();
        match serde_json::from_str::<Option<T>>(value) {
            Ok(value) => value,
            Err(_) => {
                let quoted = excerpt(value, WORD_CHARS);
                library.warn(toolset, name, || {
                    format!("`{name}` {quoted} is no {form}; lines of `{toolset}` are read without it")
                });
                None
            }
        }
    }

    fn outcome(&self, library: &DocumentLibrary, toolset: &str) -> Outcome {
        let status = Self::optional(library, toolset, "status", self.status, "HTTP status");
        Outcome::Answered(ApiAnswer::new(status.unwrap_or(UNTOLD_STATUS), self.body.map(body).unwrap_or_default()))
    }
}

/// Learns the envelope of an API's error bodies from a line. Lines that cannot be used are reported later.
pub(super) fn learn_line(text: &str, library: &DocumentLibrary) {
    let Ok(failure) = serde_json::from_str::<FailureInput<'_>>(text) else { return };
    if let Some(Ok(toolset)) = failure.api.as_deref().map(|api| library.toolset(api)) {
        let answer = ApiAnswer::new(UNTOLD_STATUS, failure.body.map(body).unwrap_or_default());
        library.explainer.learn(toolset, &Outcome::Answered(answer));
    }
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

/// Explains the failure of a line. Returns the line of the output and the explanation.
///
/// # Errors
/// The error and its remedy if the line is unusable.
pub(super) async fn explain_line(
    text: &str,
    library: &DocumentLibrary,
    details: bool,
) -> Result<(Box<RawValue>, Explanation), String> {
    let form = "an object with `id`, `api`, `body` and, if known, `operation` and `status`";
    let failure: FailureInput<'_> = parse_line(text, "a failure", form)?;
    let id = failure.id.filter(|id| name_of(id).is_some());
    let id = id.ok_or("there is no `id`; give each line a string or a number that its passages can repeat")?;
    let api =
        failure.api.as_deref().ok_or("there is no `api`; name a file of the documentation, without its ending")?;
    let toolset = library.toolset(api)?;
    let tool = FailureInput::optional(library, toolset, "operation", failure.operation, "name of an operation");
    let arguments = FailureInput::optional(library, toolset, "arguments", failure.arguments, "object");
    let operation = OperationRef { toolset: toolset.to_owned(), tool: tool.unwrap_or_default() };
    let outcome = failure.outcome(library, toolset);
    let arguments: Map<String, Value> = arguments.unwrap_or_default();
    let explanation = library.explainer.explain(&operation, &outcome, &arguments).await;
    Ok((explanation_line(id, &explanation, details), explanation))
}

/// Returns the body text: the content of a string, or the JSON of any other value.
fn body(value: &RawValue) -> String {
    serde_json::from_str::<String>(value.get()).unwrap_or_else(|_| value.get().to_owned())
}

fn explanation_line(id: &RawValue, explanation: &Explanation, details: bool) -> Box<RawValue> {
    let passages = &explanation.passages;
    raw(&ExplanationLine {
        id,
        passages: passages.iter().map(|passage| passage.text.as_str()).collect(),
        sources: details.then(|| passages.iter().map(|passage| passage.source.as_str()).collect()),
        scores: details.then(|| passages.iter().map(|passage| passage.score).collect()),
    })
}
