//! One line, judged.

use std::sync::Arc;

use super::super::questions::{MAX_QUOTED, Questions};
use super::ScanJob;
use super::toolbooks::{Key, Toolbooks};
use super::verdict_line::write_verdict;
use crate::domain::rules::Evidence;
use crate::openai::{RecordedAnswer, ToolChoice, name_of};
use crate::policy::Policy;
use crate::repair::rescue::Situation;
use crate::repair::{JudgedMessage, Spoken, judge_message};
use crate::scanner::Toolbook;
use crate::scanner::excerpt::excerpt;

/// All that lines are judged by. Shared by the threads.
pub(super) struct Judge<'a> {
    policy: &'a Policy,
    evidence: Evidence,
    questions: Option<Questions>,
    toolbooks: Toolbooks,
}

impl<'a> Judge<'a> {
    pub(super) fn new(job: &'a ScanJob, questions: Option<Questions>) -> Self {
        let rescue = job.policy.repair.rescue;
        Self {
            policy: &job.policy,
            evidence: if job.native_tool_calls { rescue.native } else { rescue.text },
            questions,
            toolbooks: Toolbooks::new(),
        }
    }

    /// Judges a line and writes its verdict.
    ///
    /// # Errors
    /// Why the line cannot be used, and what mends it; nothing is written then.
    pub(super) fn line(&self, text: &str, verdicts: &mut Vec<u8>) -> Result<JudgedMessage, String> {
        let answer = RecordedAnswer::parse(text).map_err(|error| error.message)?;
        let id = answer.member("id").filter(|id| name_of(id).is_some());
        let id = id.ok_or("there is no `id`; give each line a string or a number that its verdict can repeat")?;
        let message = answer.message().map_err(|error| error.message)?;
        let toolbook = self.toolbook(&answer)?;
        let choice = answer.tool_choice();
        let allowed = allowed(&choice);
        let situation = Situation {
            evidence: if choice == ToolChoice::None { Evidence::Off } else { self.evidence },
            allowed: allowed.as_deref(),
            cut_off: answer.is_cut_off(),
            json_wanted: answer.wants_json(),
            sent: 0,
        };
        // Beside calls that are not judged, text is only text.
        let said = if message.has_unjudged_calls() { None } else { message.text() };
        let spoken = Spoken { text: said.as_deref(), calls: message.calls(), situation };
        let judged = judge_message(&spoken, &toolbook, &self.policy.scan, &self.policy.repair);
        write_verdict(id, &judged, verdicts);
        Ok(judged)
    }

    /// The tools that were offered: the line's own, or those of its question.
    fn toolbook(&self, answer: &RecordedAnswer<'_>) -> Result<Arc<Toolbook>, String> {
        if let Some(text) = answer.tools_text().map_err(|error| error.message)? {
            return self.toolbooks.get(Key::Own(text.to_owned()), || Ok(text.to_owned()));
        }
        let question = answer.member("question").and_then(name_of);
        let question = question.ok_or(
            "there are neither `tools` nor a `question`; give one of them, `\"tools\": []` where none was offered",
        )?;
        let Some(questions) = &self.questions else {
            return Err("it names a question, and no --tools file says what was offered for it; give one".to_owned());
        };
        self.toolbooks.get(Key::Question(question.clone()), || {
            questions.tools_text(&question)?.ok_or_else(|| {
                let shown = excerpt(&question, MAX_QUOTED);
                format!("there is no question `{shown}` in the --tools file; add a line with that `id`")
            })
        })
    }
}

/// The tools that may be called, where the choice names some.
fn allowed(choice: &ToolChoice) -> Option<Vec<String>> {
    match choice {
        ToolChoice::Allowed { names, .. } => Some(names.clone()),
        ToolChoice::Named(name) => Some(vec![name.clone()]),
        ToolChoice::Auto | ToolChoice::None | ToolChoice::Required => None,
    }
}
