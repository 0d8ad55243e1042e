//! One line of the answers.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::verdict_line::verdict_line;
use crate::judge::Judge;
use crate::questions::{MAX_QUOTED, QuestionIndex};
use crate::tool_sets::{NO_TOOLS, OfferedToolSet, ToolSetKey};
use callwright_common::text::excerpt;
use callwright_judge::repair::JudgedMessage;
use callwright_openai::{RecordedAnswer, name_of};

/// Judges a line. Returns the line of the output and the judgement.
///
/// # Errors
/// The error and its remedy if the line is unusable.
pub(super) fn judge_line(
    text: &str,
    judge: &Judge<'_>,
    questions: Option<&QuestionIndex>,
) -> Result<(Box<RawValue>, JudgedMessage), String> {
    let answer = RecordedAnswer::parse(text).map_err(|error| error.message)?;
    let id = answer.member("id").filter(|id| name_of(id).is_some());
    let id = id.ok_or("there is no `id`; give each line a string or a number that its verdict can repeat")?;
    let message = answer.message().map_err(|error| error.message)?;
    let offered = offered(&answer, judge, questions)?;
    let judged = judge.message(&message, answer.is_cut_off(), &answer, &offered);
    Ok((verdict_line(id, &judged), judged))
}

/// Returns the offered tools: the line's own, or those of its question.
fn offered(
    answer: &RecordedAnswer<'_>,
    judge: &Judge<'_>,
    questions: Option<&QuestionIndex>,
) -> Result<Arc<OfferedToolSet>, String> {
    if let Some(text) = answer.tools_text().map_err(|error| error.message)? {
        return judge.offered(ToolSetKey::Own(text.to_owned()), answer, || Ok(text.to_owned()));
    }
    let question = answer.member("question").and_then(name_of);
    if question.is_none() && answer.brings_tools() {
        return judge.offered(ToolSetKey::Own(NO_TOOLS.to_owned()), answer, || Ok(NO_TOOLS.to_owned()));
    }
    let question = question.ok_or(
        "there are neither `tools` nor a `question`; give one of them, `\"tools\": []` where none was offered",
    )?;
    let Some(questions) = questions else {
        return Err("it names a `question`, but no --tools file with its tools is given; give one".to_owned());
    };
    judge.offered(ToolSetKey::Question(question.clone()), answer, || {
        questions.tools_text(&question)?.ok_or_else(|| {
            let id = excerpt(&question, MAX_QUOTED);
            format!("there is no question `{id}` in the --tools file; add a line with that `id`")
        })
    })
}
