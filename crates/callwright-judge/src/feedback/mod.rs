//! Messages to the model, created from diagnoses and outcomes.
//!
//! Owns the templates, one per fault code. Must not decide whether feedback is given.

pub mod answer;
mod approval;
mod budget;
mod concerned;
#[cfg(test)]
mod cost;
mod example;
mod fault;
#[cfg(test)]
mod five_parts;
mod found;
mod library;
mod observed;
mod outcome;
#[cfg(test)]
mod properties;
mod quote;
mod record;
#[cfg(test)]
mod samples;
mod shown;
mod unread;

use minijinja::context;
use minijinja::value::Value;

pub use found::ToolSummary;
use library::render;
pub use observed::ObservedFailure;
pub use outcome::{FailedOutcome, MAX_TRIED, brief};
pub use shown::{are_too_long, shortened_arguments};

use callwright_common::limits::VALUE_LENGTH;
use callwright_common::text::beginning;
use callwright_scanner::ToolSet;
use callwright_types::trace::Round;
use callwright_types::{ApprovalNote, Call, Diagnosis};

/// Static feedback for a faulty call, in five parts from coarse to fine (AutoFeedback section 3.2.3, figure 4):
/// that there is an error; its location and description; the excluded causes; the source of the correct value and
/// the repair; the request to call again. Ends with an example that matches the tool's schema, if the intended tool
/// is known and an example can be created.
pub fn faulty_call(call: &Call, diagnoses: &[Diagnosis], tool_set: &ToolSet) -> String {
    let texts = fault::texts(call, diagnoses);
    render("faulty_call", &fault::frame(call, diagnoses, &texts, tool_set))
}

/// Static feedback for an answer that contains an unreadable call (E1), in the same five parts. It is sent as a
/// user message, because there is no call that a tool message could answer.
pub fn no_call(diagnosis: &Diagnosis, tool_set: &ToolSet) -> String {
    render("unread_answer", &unread::context(diagnosis, tool_set))
}

/// Request to confirm a text that may be a call or a text about one (E1, reason `unsure`). Sent as a user message.
pub fn confirm_call(diagnosis: &Diagnosis, tool_set: &ToolSet) -> String {
    render("confirm_call", &unread::context(diagnosis, tool_set))
}

/// Static feedback for an answer without content and call (E6). Sent as a user message.
pub fn no_answer(diagnosis: &Diagnosis) -> String {
    render("no_answer", &fault::of_answer(diagnosis))
}

/// Renders recorded faults that do not reject the call, one line each, to append to [`faulty_call`].
/// Empty if there are none.
pub fn hints(call: &Call, advice: &[Diagnosis]) -> String {
    let texts = fault::texts(call, advice);
    texts.into_iter().map(|(_, text)| format!("\nNote besides: {text}")).collect()
}

/// Message for a valid call beside a faulty one: it is accepted, not executed yet, and must not be repeated.
pub fn accepted_call(call: &Call) -> String {
    render("accepted_call", &fault::call_alone(call))
}

/// Message for a call that is not executed in this round and may be made again later.
pub fn deferred_call(call: &Call) -> String {
    render("deferred_call", &fault::call_alone(call))
}

/// Message for a call that was not examined, because the answer already has enough faults.
pub fn unexamined_call(call: &Call) -> String {
    render("unexamined_call", &fault::call_alone(call))
}

/// Dynamic feedback (AutoFeedback section 3.3.2): action, observation, passages with their sources, the parameters
/// concerned, and earlier attempts.
pub fn failed_outcome(facts: &FailedOutcome<'_>) -> String {
    render("failed_outcome", &outcome::context(facts))
}

/// Dynamic feedback about a call that the client executed, to append to the tool message that reports the failure.
/// Deterministic.
pub fn observed_failure(facts: &ObservedFailure<'_>) -> String {
    render("observed_failure", &observed::context(facts))
}

/// Successful answer of a call with the doubt of a check below it. The answer stays unchanged.
pub fn doubted_answer(call: &Call, answer: &str, reason: &str) -> String {
    render("doubted_answer", &outcome::doubted(call, answer, reason))
}

/// Message for a call that was not executed because it requires approval, with the approval status. The approver's
/// comment is quoted as data.
pub fn unapproved_call(call: &Call, note: &ApprovalNote) -> String {
    render("unapproved_call", &approval::context(call, note))
}

/// Message for a call that was executed in an earlier turn and whose result was not kept.
pub fn lost_result() -> String {
    render("lost_result", &Value::UNDEFINED)
}

/// Message with the tools that a search found, the best first.
pub fn found_tools(tools: &[ToolSummary<'_>]) -> String {
    render("found_tools", &found::context(tools))
}

/// Message for a model that exceeds the number of searches per turn.
pub fn no_further_search(limit: u32) -> String {
    render("found_tools", &found::exhausted(limit))
}

/// Message to the user that requests all missing inputs of a plan at once.
pub fn missing_inputs(questions: &[&str]) -> String {
    render("missing_inputs", &missing_context(questions))
}

/// Returns the template context with each distinct question on one line.
fn missing_context(questions: &[&str]) -> Value {
    let mut distinct: Vec<String> = Vec::new();
    for question in questions {
        let line = beginning(&quote::one_line(question), VALUE_LENGTH).to_owned();
        if !line.is_empty() && !distinct.contains(&line) {
            distinct.push(line);
        }
    }
    context! { questions => distinct }
}

/// Request for a final answer without calls after a limit is reached; the model reports to the user what is
/// missing.
pub fn closing(record: &[Round]) -> String {
    render("closing", &record::closing(record))
}

#[cfg(test)]
mod tests {
    #[test]
    fn one_question_is_asked_as_it_is_and_several_in_one_list() {
        assert_eq!(super::missing_inputs(&["Until\nwhen?"]), "Until when?");
        let text = super::missing_inputs(&["Until when?", "Where?", "Until when?"]);
        assert!(text.ends_with("- Until when?\n- Where?"), "{text}");
    }
}
