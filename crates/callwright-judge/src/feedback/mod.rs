//! Messages to the model, made from diagnoses and outcomes.
//!
//! Owns the templates, one per fault code. Must not decide whether feedback is given.

pub mod answer;
mod approval;
mod body;
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
mod settings;
mod shown;
mod unread;
mod watch;

use std::path::Path;
use std::sync::{Arc, LazyLock};

use arc_swap::ArcSwap;
use minijinja::value::Value;

pub use found::FoundTool;
use library::Library;
pub use library::TemplateError;
pub use observed::ObservedFailure;
pub use outcome::{FailedOutcome, MAX_TRIED};
pub use settings::Settings;
pub use watch::watch;

use crate::scanner::Toolbook;
use callwright_types::trace::Round;
use callwright_types::{ApprovalNote, Call, Diagnosis};

static BUILT_IN: LazyLock<Arc<Library>> =
    LazyLock::new(|| Arc::new(Library { environment: library::built_in(), sources: Vec::new() }));

/// The templates of every message that the proxy writes into a conversation. Cheap to clone; clones are replaced together
/// when an operator's templates are read again. Every message is made from the templates of one moment.
#[derive(Debug, Clone)]
pub struct Templates {
    current: Arc<ArcSwap<Library>>,
}

impl Default for Templates {
    fn default() -> Self {
        Self::builtin()
    }
}

impl Templates {
    /// The built-in templates.
    pub fn builtin() -> Self {
        Self { current: Arc::new(ArcSwap::new(Arc::clone(&BUILT_IN))) }
    }

    /// The built-in templates, with those of the directory in `settings` in place of theirs.
    ///
    /// # Errors
    /// When the directory or a template in it cannot be read, replaces none, or does not render.
    pub fn load(settings: &Settings) -> Result<Self, TemplateError> {
        if settings.templates.is_empty() {
            return Ok(Self::builtin());
        }
        let library = library::compile(library::read(Path::new(&settings.templates))?)?;
        Ok(Self { current: Arc::new(ArcSwap::from_pointee(library)) })
    }

    /// Static feedback for a faulty call, in five parts from coarse to fine (AutoFeedback section 3.2.3, figure 4): there
    /// is an error; where and what; what was ruled out; where it comes from and how to mend it; call again. Ends with an
    /// example that fits the tool's schema, where the tool meant is known and an example can be made.
    pub fn faulty_call(&self, call: &Call, diagnoses: &[Diagnosis], toolbook: &Toolbook) -> String {
        let library = self.current.load();
        let texts = fault::texts(call, diagnoses, |name, facts| render(&library, name, facts));
        render(&library, "faulty_call", &fault::frame(call, diagnoses, &texts, toolbook))
    }

    /// Static feedback for an answer that meant to call and holds no call that can be read (E1), to be sent as the user's: it
    /// has no call that a tool could answer. In the same five parts.
    pub fn no_call(&self, diagnosis: &Diagnosis, toolbook: &Toolbook) -> String {
        self.render("unread_answer", &unread::context(diagnosis, toolbook))
    }

    /// The request to confirm a text that may be a call or about one (E1, reason `unsure`), to be sent as the user's.
    pub fn confirm_call(&self, diagnosis: &Diagnosis, toolbook: &Toolbook) -> String {
        self.render("confirm_call", &unread::context(diagnosis, toolbook))
    }

    /// Static feedback for an answer without content and call (E6), to be sent as the user's.
    pub fn no_answer(&self, diagnosis: &Diagnosis) -> String {
        self.render("no_answer", &fault::of_answer(diagnosis))
    }

    /// What is only noted about a call, a line each, for the end of [`Templates::faulty_call`]; empty where nothing is.
    pub fn hints(&self, call: &Call, advice: &[Diagnosis]) -> String {
        let texts = fault::texts(call, advice, |name, facts| self.render(name, facts));
        texts.into_iter().map(|(_, text)| format!("\nNote besides: {text}")).collect()
    }

    /// For a good call beside a faulty one: it is accepted, not run yet, and not to be repeated.
    pub fn accepted_call(&self, call: &Call) -> String {
        self.render("accepted_call", &fault::call_alone(call))
    }

    /// For a call that is not executed in this round and may be made again later.
    pub fn deferred_call(&self, call: &Call) -> String {
        self.render("deferred_call", &fault::call_alone(call))
    }

    /// For a call that was not examined, because the answer has enough faults without it.
    pub fn unexamined_call(&self, call: &Call) -> String {
        self.render("unexamined_call", &fault::call_alone(call))
    }

    /// Dynamic feedback (AutoFeedback section 3.3.2): action, observation, passages with their source, the parameters
    /// concerned, what was tried before.
    pub fn failed_outcome(&self, facts: &FailedOutcome<'_>) -> String {
        self.render("failed_outcome", &outcome::context(facts))
    }

    /// The operator's own text of a template, if there is one: what was written before by another text is out of date.
    pub fn replacing(&self, name: &str) -> Option<String> {
        self.current.load().replacing(name).map(str::to_owned)
    }

    /// Dynamic feedback about a call that the client executed: what stands below the message that reports the failure. The same facts
    /// give the same text.
    pub fn observed_failure(&self, facts: &ObservedFailure<'_>) -> String {
        self.render("observed_failure", &observed::context(facts))
    }

    /// For a call that was not run because a person has to approve it: where its approval stands. What that person said is
    /// quoted as data.
    pub fn unapproved_call(&self, call: &Call, note: &ApprovalNote) -> String {
        self.render("unapproved_call", &approval::context(call, note))
    }

    /// For a call that was run in an earlier turn, and whose result could not be kept.
    pub fn lost_result(&self) -> String {
        self.render("lost_result", &Value::UNDEFINED)
    }

    /// For a model that searched for tools: those that were found, the best first.
    pub fn found_tools(&self, tools: &[FoundTool<'_>]) -> String {
        self.render("found_tools", &found::context(tools))
    }

    /// For a model that searches again after the searches that a turn may make.
    pub fn no_further_search(&self, limit: u32) -> String {
        self.render("found_tools", &found::exhausted(limit))
    }

    /// For the user: what a plan lacks, in one question.
    pub fn missing_inputs(&self, questions: &[&str]) -> String {
        self.render("missing_inputs", &question::context(questions))
    }

    /// Asks for a last word without calls: a limit is reached, the user is to be told what is missing.
    pub fn closing(&self, record: &[Round]) -> String {
        self.render("closing", &record::closing(record))
    }

    /// The text for a person, when the model does not answer either.
    pub fn handover(&self, record: &[Round], trace_id: &str) -> String {
        self.render("handover", &record::handover(record, trace_id))
    }

    fn render(&self, name: &str, context: &Value) -> String {
        render(&self.current.load(), name, context)
    }
}

/// A template that fails in the middle of a conversation in spite of all samples gives way to the built-in one.
fn render(library: &Library, name: &str, context: &Value) -> String {
    let render = |library: &Library| {
        let template = library.environment.get_template(name)?;
        template.render(context).map(|text| text.trim().to_owned())
    };
    render(library).or_else(|_| render(&BUILT_IN)).unwrap_or_default()
}
