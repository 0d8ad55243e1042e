//! Lines about a turn's trace and the plan that it followed, in chronological order.

use callwright_types::trace::{Attempt, Execution, Observation, Round};
use callwright_types::{Call, ChosenBy, Diagnosis, PlanChoice, PlanNote, Purpose, RepairNote, Trace};
use serde_json::Value;

use super::{TranscriptLabel, TranscriptLine};
use callwright_common::text::cut;

/// Maximum number of characters printed of an API response.
const BODY_CHARS: usize = 260;

/// Maximum number of lines printed of a message to the model.
const FEEDBACK_LINES: usize = 10;

/// Returns the events of a turn up to its answer, in order. The answer itself is omitted, also if it is the model's
/// last thought. The turn `before` may have followed the same plan.
pub(crate) fn turn_lines(trace: &Trace, answer: &str, before: Option<&Trace>) -> Vec<TranscriptLine> {
    let rounds = trace.record.iter().collect();
    let mut transcript = TurnTranscript { trace, answer, lines: Vec::new(), rounds, last_feedback: "" };
    trace
        .observed
        .iter()
        .filter(|observation| !observation.again)
        .for_each(|observation| transcript.observation(observation));
    transcript.lessons();
    if let Some(plan) = &trace.plan {
        transcript.lines.extend(plan_lines(trace, plan, before));
    }
    for attempt in &trace.attempts {
        transcript.attempt(attempt);
    }
    transcript.lines
}

/// Returns the lines after the answer: the record for a person if a limit ended the turn, the verdict, the costs.
pub(crate) fn ending_lines(trace: &Trace) -> Vec<TranscriptLine> {
    let mut lines = Vec::new();
    if is_handed_over(trace) {
        lines.push(TranscriptLine::new(TranscriptLabel::Record, "attempts, for the person who takes over"));
        lines.extend(record_lines(&trace.record));
    }
    if let Some(error) = &trace.error {
        lines.push(TranscriptLine::new(TranscriptLabel::Problem, error.clone()));
    }
    let mut requests = match trace.attempts.iter().filter(|attempt| attempt.purpose != Purpose::Plan).count() {
        0 => "no request to the model".to_owned(),
        1 => "1 request to the model".to_owned(),
        count => format!("{count} requests to the model"),
    };
    if let Some(plan) = &trace.plan {
        requests += &format!(", {}", cost_text(plan));
    }
    let verdict = format!(
        "{}; {requests}; {:.1} ms (overhead {:.1} ms)\ntrace {}",
        trace.verdict, trace.duration_ms, trace.overhead_ms, trace.id
    );
    lines.push(TranscriptLine::new(TranscriptLabel::Verdict, verdict));
    lines
}

/// Whether a limit ended the turn, with or without a final answer of the model.
pub(crate) fn is_handed_over(trace: &Trace) -> bool {
    trace.exhausted.is_some() || trace.attempts.iter().any(|attempt| attempt.purpose == Purpose::Closing)
}

/// Returns the lines of the rounds; equal consecutive rounds are merged.
fn record_lines(record: &[Round]) -> Vec<TranscriptLine> {
    let mut number = 1;
    let mut lines = Vec::new();
    for rounds in record.chunk_by(|one, other| one.action == other.action && one.observation == other.observation) {
        let Some(round) = rounds.first() else { continue };
        let last = number + rounds.len() - 1;
        let numbers = if last > number { format!("{number} to {last}") } else { number.to_string() };
        let found = round.observation.lines().find(|line| line.starts_with("- "));
        let found = found.or_else(|| round.observation.lines().next()).unwrap_or_default();
        lines.push(TranscriptLine::new(
            TranscriptLabel::Record,
            format!("{numbers}. {}\n   {found}", cut(round.action.trim(), BODY_CHARS)),
        ));
        number = last + 1;
    }
    lines
}

struct TurnTranscript<'a> {
    trace: &'a Trace,
    answer: &'a str,
    lines: Vec<TranscriptLine>,
    /// Rounds that are not printed yet.
    rounds: Vec<&'a Round>,
    /// Last printed message to the model, to avoid repeating it.
    last_feedback: &'a str,
}

impl<'a> TurnTranscript<'a> {
    fn add(&mut self, label: TranscriptLabel, text: impl Into<String>) {
        self.lines.push(TranscriptLine::new(label, text));
    }

    fn lessons(&mut self) {
        let lessons = self.trace.memory.iter().flat_map(|memory| &memory.lessons);
        match lessons.filter(|lesson| !lesson.withheld && !lesson.again).count() {
            0 => {}
            1 => self.add(TranscriptLabel::Recall, "one lesson from earlier conversations is added to the message"),
            count => self.add(
                TranscriptLabel::Recall,
                format!("{count} lessons from earlier conversations are added to the message"),
            ),
        }
    }

    fn attempt(&mut self, attempt: &'a Attempt) {
        if attempt.purpose == Purpose::Closing {
            self.add(TranscriptLabel::Limit, "is reached: the model gets one request for a final answer without calls");
        }
        if attempt.outcome != "success" {
            self.add(
                TranscriptLabel::Problem,
                format!("the model at `{}` did not answer: {}", attempt.upstream, attempt.outcome),
            );
        }
        for call in &attempt.calls {
            self.add(TranscriptLabel::Model, call_text(call));
        }
        for repair in &attempt.repairs {
            let (found, repaired) = repair_text(repair);
            self.add(TranscriptLabel::Finding, found);
            self.add(TranscriptLabel::Repaired, repaired);
        }
        for diagnosis in &attempt.diagnoses {
            self.add(TranscriptLabel::Finding, diagnosis_text(diagnosis));
        }
        let mut faulty: Vec<usize> = attempt.diagnoses.iter().map(|diagnosis| diagnosis.call).collect();
        faulty.dedup();
        for _ in faulty {
            self.next_round("static");
        }
        let trace = self.trace;
        for execution in &trace.executions {
            if attempt.calls.iter().any(|call| call.id == execution.call.id) {
                self.execution(execution);
            }
        }
    }

    fn observation(&mut self, observation: &Observation) {
        self.add(
            TranscriptLabel::Finding,
            format!("the client's {} reports a failure (`{}`)", observation.call.name, observation.rule),
        );
        let passage = observation.explanation.as_ref().and_then(|explanation| explanation.passages.first());
        if let Some(passage) = passage {
            self.add(TranscriptLabel::Explained, format!("“{}”\n({})", passage.text, passage.source));
        }
    }

    fn execution(&mut self, execution: &Execution) {
        self.lines.extend(execution_lines(execution));
        if execution.explanation.is_some() {
            self.next_round("dynamic");
        }
    }

    /// Shows the feedback of the next round of this kind, and the model's reaction.
    fn next_round(&mut self, kind: &str) {
        let Some(index) = self.rounds.iter().position(|round| round.kind == kind) else { return };
        let round = self.rounds.remove(index);
        if round.observation == self.last_feedback {
            self.add(TranscriptLabel::SentBack, "the same message again");
        } else {
            self.add(TranscriptLabel::SentBack, first_lines(&round.observation, FEEDBACK_LINES));
        }
        self.last_feedback = &round.observation;
        let thought = round.thought.as_deref().unwrap_or_default().trim();
        if !thought.is_empty() && thought != self.answer.trim() {
            self.add(TranscriptLabel::Model, format!("“{thought}”"));
        }
    }
}

/// Returns the plan, its calls with their outcomes, and its notes. A plan that equals that of the turn `before` is not
/// repeated.
fn plan_lines(trace: &Trace, note: &PlanNote, before: Option<&Trace>) -> Vec<TranscriptLine> {
    let before = before.and_then(|trace| trace.plan.as_ref());
    let mut lines = vec![TranscriptLine::new(TranscriptLabel::Plan, plan_heading(note, before))];
    let mut choices: Vec<&PlanChoice> = note.choices.iter().collect();
    for step in &note.steps {
        for call in &step.calls {
            choices.retain(|choice| {
                let is_taken = tool_of(note, &choice.call) == Some(call.name.as_str());
                if is_taken {
                    lines.push(TranscriptLine::new(TranscriptLabel::Plan, choice_text(note, choice)));
                }
                !is_taken
            });
        }
        lines.extend(step.calls.iter().map(|call| TranscriptLine::new(TranscriptLabel::Plan, call_text(call))));
        for repair in &step.repairs {
            let (found, repaired) = repair_text(repair);
            lines.extend([
                TranscriptLine::new(TranscriptLabel::Finding, found),
                TranscriptLine::new(TranscriptLabel::Repaired, repaired),
            ]);
        }
        let ran = trace.executions.iter().filter(|ran| step.calls.iter().any(|call| call.id == ran.call.id));
        lines.extend(ran.flat_map(execution_lines));
    }
    lines.extend(note.notes.iter().map(|fault| TranscriptLine::new(TranscriptLabel::Finding, fault.clone())));
    lines
}

/// Returns the cost of drawing, in addition to the requests that the turn needs anyway.
fn cost_text(note: &PlanNote) -> String {
    match note.cost.requests {
        0 => "no request for the plan".to_owned(),
        1 => format!("1 request for the plan ({} tokens)", note.cost.tokens()),
        count => format!("{count} requests for the plan ({} tokens)", note.cost.tokens()),
    }
}

fn plan_heading(note: &PlanNote, before: Option<&PlanNote>) -> String {
    let Some(plan) = &note.plan else { return "none could be drawn".to_owned() };
    let text = plan.to_string();
    match before {
        Some(before) if before.plan == note.plan => {
            format!("continues: {} of {} calls are done", note.made.len(), plan.nodes().len())
        }
        Some(_) => format!("is drawn again for the missing or changed part\n{text}"),
        None => format!("is drawn: {}\n{text}", note.reason),
    }
}

fn choice_text(note: &PlanNote, choice: &PlanChoice) -> String {
    let [from, call] = [&choice.from, &choice.call].map(|label| tool_of(note, label).unwrap_or(label));
    let why = match choice.by {
        ChosenBy::Only => "there is no other",
        ChosenBy::Said => "the user named it",
        ChosenBy::Model => "the model chose it",
    };
    let (taken, items) = (choice.taken + 1, choice.items);
    format!("takes item {taken} of {items} of {from}'s answer for {call}: {why}")
}

/// Returns the tool of the call with this label.
fn tool_of<'a>(note: &'a PlanNote, label: &str) -> Option<&'a str> {
    Some(note.plan.as_ref()?.node(label)?.tool.as_str())
}

/// Returns the lines of an API request, its response, and the documentation of a failure.
fn execution_lines(execution: &Execution) -> Vec<TranscriptLine> {
    let status = execution.status.map_or_else(|| execution.outcome.clone(), |status| status.to_string());
    let body = cut(execution.body.as_deref().unwrap_or_default().trim(), BODY_CHARS);
    let mut lines =
        vec![TranscriptLine::new(TranscriptLabel::Api, format!("{} → {status} {body}", execution.operation))];
    let passage = execution.explanation.as_ref().and_then(|explanation| explanation.passages.first());
    lines.extend(passage.map(|passage| {
        TranscriptLine::new(TranscriptLabel::Explained, format!("“{}”\n({})", passage.text, passage.source))
    }));
    lines
}

fn call_text(call: &Call) -> String {
    format!("calls {} {}", call.name, call.arguments)
}

fn diagnosis_text(diagnosis: &Diagnosis) -> String {
    let location = if diagnosis.path.is_root() { String::new() } else { format!(" at {}", diagnosis.path) };
    format!("{} {}{location}: {}", diagnosis.code, diagnosis.code.name(), diagnosis.message)
}

/// Describes the fault behind a repair, and the repair.
fn repair_text(repair: &RepairNote) -> (String, String) {
    let fault = repair.kind.fault();
    let location = if repair.path.is_root() { "the call".to_owned() } else { repair.path.to_string() };
    let found = format!("{} {} at {location}", fault.code(), fault.name());
    (found, format!("{}: {} → {}", repair.kind.label(), value_text(&repair.from), value_text(&repair.to)))
}

fn value_text(value: &Value) -> String {
    if value.is_null() { "nothing".to_owned() } else { value.to_string() }
}

fn first_lines(text: &str, most: usize) -> String {
    let lines: Vec<&str> = text.trim().lines().collect();
    match lines.get(..most) {
        Some(first) if lines.len() > most + 1 => {
            format!("{}\n… and {} more lines", first.join("\n"), lines.len() - most)
        }
        _ => lines.join("\n"),
    }
}
