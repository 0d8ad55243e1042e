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
mod question;
mod quote;
mod record;
mod samples;
mod shown;
mod unread;
mod watch;

use std::path::Path;
use std::sync::{Arc, LazyLock};

use arc_swap::ArcSwap;
use minijinja::value::Value;

pub use found::ToolSummary;
use library::TemplateLibrary;
pub use library::{Settings, TemplateError};
pub use observed::ObservedFailure;
pub use outcome::{FailedOutcome, MAX_TRIED, brief};
pub use shown::{are_too_long, shortened_arguments};
pub use watch::watch;

use crate::scanner::ToolSet;
use callwright_types::trace::Round;
use callwright_types::{ApprovalNote, Call, Diagnosis};

static BUILT_IN: LazyLock<Arc<TemplateLibrary>> =
    LazyLock::new(|| Arc::new(TemplateLibrary { environment: library::built_in(), sources: Vec::new() }));

/// Templates of all messages that the proxy inserts into a conversation. Cheap to clone; all clones are updated
/// together when the operator's templates are reloaded. A message is rendered from a single snapshot of the templates.
#[derive(Debug, Clone)]
pub struct Templates {
    current: Arc<ArcSwap<TemplateLibrary>>,
}

impl Default for Templates {
    fn default() -> Self {
        Self::builtin()
    }
}

impl Templates {
    /// Returns the built-in templates.
    pub fn builtin() -> Self {
        Self { current: Arc::new(ArcSwap::new(Arc::clone(&BUILT_IN))) }
    }

    /// Returns the built-in templates, with replacements from the directory in `settings`.
    ///
    /// # Errors
    /// If the directory or a template in it cannot be read, does not match a built-in template, or does not render.
    pub fn load(settings: &Settings) -> Result<Self, TemplateError> {
        if settings.templates.is_empty() {
            return Ok(Self::builtin());
        }
        let library = library::compile(library::read(Path::new(&settings.templates))?)?;
        Ok(Self { current: Arc::new(ArcSwap::from_pointee(library)) })
    }

    /// Static feedback for a faulty call, in five parts from coarse to fine (AutoFeedback section 3.2.3, figure 4):
    /// that there is an error; its location and description; the excluded causes; the source of the correct value and
    /// the repair; the request to call again. Ends with an example that matches the tool's schema, if the intended tool
    /// is known and an example can be created.
    pub fn faulty_call(&self, call: &Call, diagnoses: &[Diagnosis], tool_set: &ToolSet) -> String {
        let library = self.current.load();
        let texts = fault::texts(call, diagnoses, |name, facts| render(&library, name, facts));
        render(&library, "faulty_call", &fault::frame(call, diagnoses, &texts, tool_set))
    }

    /// Static feedback for an answer that contains an unreadable call (E1), in the same five parts. It is sent as a
    /// user message, because there is no call that a tool message could answer.
    pub fn no_call(&self, diagnosis: &Diagnosis, tool_set: &ToolSet) -> String {
        self.render("unread_answer", &unread::context(diagnosis, tool_set))
    }

    /// Request to confirm a text that may be a call or a text about one (E1, reason `unsure`). Sent as a user message.
    pub fn confirm_call(&self, diagnosis: &Diagnosis, tool_set: &ToolSet) -> String {
        self.render("confirm_call", &unread::context(diagnosis, tool_set))
    }

    /// Static feedback for an answer without content and call (E6). Sent as a user message.
    pub fn no_answer(&self, diagnosis: &Diagnosis) -> String {
        self.render("no_answer", &fault::of_answer(diagnosis))
    }

    /// Renders recorded faults that do not reject the call, one line each, to append to [`Templates::faulty_call`].
    /// Empty if there are none.
    pub fn hints(&self, call: &Call, advice: &[Diagnosis]) -> String {
        let texts = fault::texts(call, advice, |name, facts| self.render(name, facts));
        texts.into_iter().map(|(_, text)| format!("\nNote besides: {text}")).collect()
    }

    /// Message for a valid call beside a faulty one: it is accepted, not executed yet, and must not be repeated.
    pub fn accepted_call(&self, call: &Call) -> String {
        self.render("accepted_call", &fault::call_alone(call))
    }

    /// Message for a call that is not executed in this round and may be made again later.
    pub fn deferred_call(&self, call: &Call) -> String {
        self.render("deferred_call", &fault::call_alone(call))
    }

    /// Message for a call that was not examined, because the answer already has enough faults.
    pub fn unexamined_call(&self, call: &Call) -> String {
        self.render("unexamined_call", &fault::call_alone(call))
    }

    /// Dynamic feedback (AutoFeedback section 3.3.2): action, observation, passages with their sources, the parameters
    /// concerned, and earlier attempts.
    pub fn failed_outcome(&self, facts: &FailedOutcome<'_>) -> String {
        self.render("failed_outcome", &outcome::context(facts))
    }

    /// Returns the operator's text of a template, if any. Texts written with another version of the template are
    /// outdated.
    pub fn replacing(&self, name: &str) -> Option<String> {
        self.current.load().replacing(name).map(str::to_owned)
    }

    /// Dynamic feedback about a call that the client executed, to append to the tool message that reports the failure.
    /// Deterministic.
    pub fn observed_failure(&self, facts: &ObservedFailure<'_>) -> String {
        self.render("observed_failure", &observed::context(facts))
    }

    /// Successful answer of a call with the doubt of a check below it. The answer stays unchanged.
    pub fn doubted_answer(&self, call: &Call, answer: &str, reason: &str) -> String {
        self.render("doubted_answer", &outcome::doubted(call, answer, reason))
    }

    /// Message for a call that was not executed because it requires approval, with the approval status. The approver's
    /// comment is quoted as data.
    pub fn unapproved_call(&self, call: &Call, note: &ApprovalNote) -> String {
        self.render("unapproved_call", &approval::context(call, note))
    }

    /// Message for a call that was executed in an earlier turn and whose result was not kept.
    pub fn lost_result(&self) -> String {
        self.render("lost_result", &Value::UNDEFINED)
    }

    /// Message with the tools that a search found, the best first.
    pub fn found_tools(&self, tools: &[ToolSummary<'_>]) -> String {
        self.render("found_tools", &found::context(tools))
    }

    /// Message for a model that exceeds the number of searches per turn.
    pub fn no_further_search(&self, limit: u32) -> String {
        self.render("found_tools", &found::exhausted(limit))
    }

    /// Message to the user that requests all missing inputs of a plan at once.
    pub fn missing_inputs(&self, questions: &[&str]) -> String {
        self.render("missing_inputs", &question::context(questions))
    }

    /// Request for a final answer without calls after a limit is reached; the model reports to the user what is
    /// missing.
    pub fn closing(&self, record: &[Round]) -> String {
        self.render("closing", &record::closing(record))
    }

    fn render(&self, name: &str, context: &Value) -> String {
        render(&self.current.load(), name, context)
    }
}

/// Renders a template. If an operator's template fails despite the checks at load time, renders the built-in one.
fn render(library: &TemplateLibrary, name: &str, context: &Value) -> String {
    library.render(name, context).or_else(|_| BUILT_IN.render(name, context)).unwrap_or_default()
}
