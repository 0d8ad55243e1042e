//! Tool samples from feedback.

use serde::Deserialize;

use crate::experience::redacted;
use callwright_common::limits::NAME_LENGTH;
use callwright_store::{FeedbackRow, FeedbackVerdict};
use callwright_types::memory::ToolSample;
use callwright_types::{Diagnosis, Evidence, EvidenceKind, MemoryNote, Protocol, Trace};
use callwright_wire::RecordedAnswer;

/// Maximum length of a text to learn from in characters, equal to the limit of embedding models
/// (`embedding.max_text_chars`). Text that users paste after their question is not part of it.
pub const MAX_QUERY_CHARS: usize = 8192;

/// Maximum number of expected tools of a request.
const MAX_TOOLS: usize = 32;

/// Part of `expected` that names tools.
#[derive(Deserialize)]
struct ExpectedTools {
    tools: Vec<String>,
}

/// Expected tools of a turn according to feedback.
#[derive(Debug)]
pub(super) struct ToolExpectation {
    /// Id of the turn's sample.
    pub(super) id: String,
    /// Kind of evidence of the feedback, or of a corrected call.
    kind: EvidenceKind,
    /// Whether the feedback is that the turn was wrong.
    is_refuted: bool,
    /// Sample; `None` if the feedback contains none.
    sample: Option<ToolSample>,
}

impl ToolExpectation {
    /// Returns the expectation of valid feedback on its turn.
    pub(super) fn of(row: &FeedbackRow, trace: &Trace, memory: &MemoryNote, evidence: Evidence) -> Self {
        let (id, kind) = (id_of(trace), evidence.kind);
        let is_refuted = row.verdict == FeedbackVerdict::Wrong;
        let sample = tools_named(row).and_then(|tools| sample_of(tools, trace, memory, evidence, &id));
        Self { sample, id, kind, is_refuted }
    }

    /// Returns the expectation of a turn in which the model called a wrong tool (E2), and the call of another tool
    /// replaced it and succeeded. It needs no feedback.
    pub(super) fn of_correction(trace: &Trace, memory: &MemoryNote) -> Option<Self> {
        let tool = corrected_tool(trace)?;
        let (id, evidence) = (id_of(trace), trace.evidence(EvidenceKind::Mended, trace.started_at));
        let sample = sample_of(vec![tool.to_owned()], trace, memory, evidence, &id)?;
        Some(Self { id, kind: EvidenceKind::Mended, sample: Some(sample), is_refuted: false })
    }

    /// Merges this expectation with the turn's present sample. An operator's feedback takes precedence over an
    /// application's, and that over a corrected call. Each revokes only its own, and that of a corrected call.
    pub(super) fn over(&self, existing: Option<ToolSample>) -> Option<ToolSample> {
        let rests_on =
            |kind| existing.as_ref().is_some_and(|sample| sample.evidence.iter().any(|event| event.kind == kind));
        match &self.sample {
            Some(_) if self.kind == EvidenceKind::Mended && existing.is_some() => existing,
            None if self.is_refuted && rests_on(EvidenceKind::Mended) => None,
            Some(_) if self.kind != EvidenceKind::Operator && rests_on(EvidenceKind::Operator) => existing,
            Some(sample) => Some(sample.clone()),
            None if rests_on(self.kind) => None,
            None => existing,
        }
    }
}

fn id_of(trace: &Trace) -> String {
    format!("sam_{}", trace.id)
}

/// Returns the tool whose call replaced one of a wrong tool, if the proxy saw it succeed.
fn corrected_tool(trace: &Trace) -> Option<&str> {
    let wrong = trace.attempts.iter().position(|attempt| attempt.diagnoses.iter().any(is_about_tool))?;
    let later = trace.attempts.get(wrong + 1..)?;
    let faulty: Vec<&str> = trace.attempts.get(wrong)?.calls.iter().map(|call| call.name.as_str()).collect();
    let made = later.iter().flat_map(|attempt| &attempt.calls).find(|call| !faulty.contains(&call.name.as_str()))?;
    let mut executions = trace.executions.iter();
    let has_worked = executions.any(|execution| {
        execution.call.id == made.id && execution.outcome == SUCCESS && execution.explanation.is_none()
    });
    has_worked.then_some(&made.name)
}

/// Label of an outcome without a failure.
const SUCCESS: &str = "success";

/// Whether a fault is that the tool is unknown or not the right one (E2).
fn is_about_tool(diagnosis: &Diagnosis) -> bool {
    diagnosis.code.code().starts_with("E2")
}

/// Returns the sample of a turn with these tools. `None` if policy does not record the turn's bodies.
fn sample_of(
    tools: Vec<String>,
    trace: &Trace,
    memory: &MemoryNote,
    evidence: Evidence,
    id: &str,
) -> Option<ToolSample> {
    let request = trace.request.as_ref()?.to_string();
    let query = RecordedAnswer::parse_in(Protocol::of_endpoint(&trace.endpoint), &request).ok()?.last_of_the_user()?;
    let query = redacted(query.trim());
    let query: String = query.chars().take(MAX_QUERY_CHARS).collect();
    (!query.is_empty()).then(|| ToolSample {
        id: id.to_owned(),
        scope: memory.scope.clone(),
        query,
        tools,
        at: evidence.at,
        evidence: vec![evidence],
    })
}

/// Returns the distinct tools in `expected`.
fn tools_named(row: &FeedbackRow) -> Option<Vec<String>> {
    let ExpectedTools { tools: named } = ExpectedTools::deserialize(row.expected.as_ref()?).ok()?;
    if named.len() > MAX_TOOLS {
        return None;
    }
    let mut tools: Vec<String> = Vec::new();
    for name in named {
        let is_too_long = name.chars().count() > NAME_LENGTH;
        if name.trim().is_empty() || is_too_long || name.chars().any(char::is_control) {
            return None;
        }
        if !tools.contains(&name) {
            tools.push(name);
        }
    }
    (!tools.is_empty()).then_some(tools)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::{Value, json};

    use super::*;
    use callwright_common::json::Pointer;
    use callwright_types::trace::{Attempt, Execution, sample};
    use callwright_types::{Call, FaultCode, Purpose, Scope, Usage};

    fn made(request: Value, expected: Value) -> Option<ToolSample> {
        expectation(EvidenceKind::Operator, request, expected).sample
    }

    fn expectation(kind: EvidenceKind, request: Value, expected: Value) -> ToolExpectation {
        let trace = Trace { id: "t1".to_owned(), request: Some(request), ..sample() };
        let row = FeedbackRow {
            trace: "t1".to_owned(),
            source: FeedbackRow::OPERATOR.to_owned(),
            verdict: FeedbackVerdict::Wrong,
            expected: Some(expected),
            comment: None,
            at: Timestamp::UNIX_EPOCH,
        };
        let evidence = Evidence { kind, trace: Some("t1".to_owned()), session: None, source: None, at: row.at };
        ToolExpectation::of(&row, &trace, &MemoryNote::of(Scope::of_key("a")), evidence)
    }

    fn request_for(query: &str) -> Value {
        json!({"messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}, {"role": "user", "content": query}]})
    }

    #[test]
    fn an_expectation_with_tools_makes_the_last_request_a_sample() {
        let made = made(request_for("pay my bill"), json!({"tools": ["pay", "pay", "find"], "answer": "x"})).unwrap();
        assert_eq!((made.id.as_str(), made.query.as_str(), made.scope.as_str()), ("sam_t1", "pay my bill", "key:a"));
        assert_eq!(made.tools, ["pay", "find"]);
    }

    #[test]
    fn operator_feedback_precedes_and_each_source_revokes_its_own() {
        use EvidenceKind::{Feedback, Operator};
        let expectation_of = |kind, tool: &str| expectation(kind, request_for("pay my bill"), json!({"tools": [tool]}));
        let none = |kind| expectation(kind, request_for("pay my bill"), json!({}));
        let tool = |sample: &Option<ToolSample>| sample.as_ref().map(|sample| sample.tools[0].clone());
        let of_app = expectation_of(Feedback, "find").over(None);
        assert_eq!(tool(&expectation_of(Feedback, "pay").over(of_app.clone())).as_deref(), Some("pay"));
        let of_operator = expectation_of(Operator, "pay").over(of_app.clone());
        assert_eq!(tool(&of_operator).as_deref(), Some("pay"));
        assert_eq!(expectation_of(Feedback, "find").over(of_operator.clone()), of_operator);
        assert_eq!(none(Feedback).over(of_operator.clone()), of_operator);
        assert_eq!((none(Operator).over(of_operator), none(Feedback).over(of_app.clone())), (None, None));
        assert_eq!(none(Operator).over(of_app.clone()), of_app);
        assert_eq!(none(Operator).over(None), None);
    }

    #[test]
    fn a_corrected_wrong_tool_is_a_sample_unless_feedback_differs() {
        let call = |id: &str, name: &str| Call { id: id.to_owned(), name: name.to_owned(), arguments: "{}".to_owned() };
        let attempt = |call: Call, codes: &[FaultCode]| {
            let diagnoses = codes.iter().map(|code| Diagnosis {
                code: *code,
                call: 0,
                path: Pointer::root(),
                message: String::new(),
                facts: Value::Null,
                suggestion: None,
            });
            let attempt = Attempt::unjudged(Purpose::First, "u", "success", Usage::default(), 1.0);
            Attempt { calls: vec![call], diagnoses: diagnoses.collect(), ..attempt }
        };
        let turn = |code: FaultCode, outcome: &str| {
            let execution: Execution = serde_json::from_value(json!({
                "call": call("2", "pay"), "toolset": "bank", "operation": "POST /pay", "outcome": outcome, "duration_ms": 1.0
            }))
            .unwrap();
            Trace {
                id: "t1".to_owned(),
                request: Some(request_for("pay my bill")),
                attempts: vec![attempt(call("1", "play"), &[code]), attempt(call("2", "pay"), &[])],
                executions: vec![execution],
                ..sample()
            }
        };
        let memory = MemoryNote::of(Scope::of_key("a"));
        let corrected = ToolExpectation::of_correction(&turn(FaultCode::ToolUnknown, "success"), &memory).unwrap();
        let sample = corrected.over(None).unwrap();
        assert_eq!((sample.query.as_str(), sample.tools.as_slice()), ("pay my bill", &["pay".to_owned()][..]));
        assert_eq!(sample.evidence[0].kind, EvidenceKind::Mended);
        for other in [turn(FaultCode::ToolUnknown, "refused"), turn(FaultCode::ParameterMissing, "success")] {
            assert!(ToolExpectation::of_correction(&other, &memory).is_none());
        }
        let feedback = expectation(EvidenceKind::Feedback, request_for("pay my bill"), json!({"tools": ["find"]}));
        let of_app = feedback.over(Some(sample.clone()));
        assert_eq!(of_app.as_ref().unwrap().tools, ["find"]);
        assert_eq!(corrected.over(of_app.clone()), of_app, "feedback takes precedence over a corrected call");
        let wrong = expectation(EvidenceKind::Feedback, request_for("pay my bill"), json!({}));
        assert_eq!(wrong.over(Some(sample)), None);
    }

    #[test]
    fn personal_data_is_redacted() {
        let query = made(request_for("write to ann@example.org, card 4111 1111 1111 1111"), json!({"tools": ["pay"]}));
        assert_eq!(query.unwrap().query, "write to <email>, card <number>");
    }

    #[test]
    fn expectations_without_tools_make_no_sample() {
        for expected in [
            json!("pay"),
            json!({}),
            json!({"tools": []}),
            json!({"tools": "pay"}),
            json!({"tools": [7]}),
            json!({"tools": [" "]}),
            json!({"tools": ["a\nb"]}),
            json!({"tools": ["a".repeat(1_000)]}),
            json!({"tools": (0..100).map(|number| number.to_string()).collect::<Vec<_>>()}),
        ] {
            assert_eq!(made(request_for("pay"), expected.clone()), None, "{expected}");
        }
        assert_eq!(made(json!({"messages": []}), json!({"tools": ["pay"]})), None);
        assert_eq!(made(request_for("  "), json!({"tools": ["pay"]})), None);
    }
}
