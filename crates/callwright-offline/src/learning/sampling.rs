//! Tool samples from feedback.

use serde::Deserialize;

use callwright_knowledge::experience::redacted;
use callwright_openai::RecordedAnswer;
use callwright_store::FeedbackRow;
use callwright_types::memory::ToolSample;
use callwright_types::{Evidence, EvidenceKind, MemoryNote, Trace};

/// Maximum length of a query in characters, equal to the limit of embedding models. Text that users paste after their
/// question is not part of it.
const MAX_QUERY_CHARS: usize = 8192;

/// Maximum number of expected tools of a request.
const MAX_TOOLS: usize = 32;

/// Maximum length of a tool name in characters: above the limits of providers.
const MAX_NAME_CHARS: usize = 128;

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
    /// Kind of evidence of the feedback.
    kind: EvidenceKind,
    /// Sample; `None` if the feedback contains none.
    sample: Option<ToolSample>,
}

impl ToolExpectation {
    /// Returns the expectation of valid feedback on its turn.
    pub(super) fn of(row: &FeedbackRow, trace: &Trace, memory: &MemoryNote, evidence: Evidence) -> Self {
        let (id, kind) = (format!("sam_{}", trace.id), evidence.kind);
        Self { sample: sample_of(row, trace, memory, evidence, &id), id, kind }
    }

    /// Merges this expectation with the turn's present sample. An operator's feedback takes precedence over an
    /// application's, and each revokes only its own.
    pub(super) fn over(&self, standing: Option<ToolSample>) -> Option<ToolSample> {
        let rests_on =
            |kind| standing.as_ref().is_some_and(|sample| sample.evidence.iter().any(|event| event.kind == kind));
        match &self.sample {
            Some(_) if self.kind != EvidenceKind::Operator && rests_on(EvidenceKind::Operator) => standing,
            Some(sample) => Some(sample.clone()),
            None if rests_on(self.kind) => None,
            None => standing,
        }
    }
}

/// Returns the sample of a turn whose expected tools the feedback names. `None` if it names none, or policy does not
/// record the turn's bodies.
fn sample_of(
    row: &FeedbackRow,
    trace: &Trace,
    memory: &MemoryNote,
    evidence: Evidence,
    id: &str,
) -> Option<ToolSample> {
    let tools = tools_named(row)?;
    let request = trace.request.as_ref()?.to_string();
    let query = RecordedAnswer::parse(&request).ok()?.last_of_the_user()?;
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
        let is_too_long = name.chars().count() > MAX_NAME_CHARS;
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
    use callwright_store::FeedbackVerdict;
    use callwright_types::Scope;
    use callwright_types::trace::sample;

    fn made(request: Value, expected: Value) -> Option<ToolSample> {
        said(EvidenceKind::Operator, request, expected).sample
    }

    fn said(kind: EvidenceKind, request: Value, expected: Value) -> ToolExpectation {
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

    fn asking(query: &str) -> Value {
        json!({"messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}, {"role": "user", "content": query}]})
    }

    #[test]
    fn an_expectation_that_names_tools_makes_a_sample_of_the_last_request() {
        let made = made(asking("pay my bill"), json!({"tools": ["pay", "pay", "find"], "answer": "x"})).unwrap();
        assert_eq!((made.id.as_str(), made.query.as_str(), made.scope.as_str()), ("sam_t1", "pay my bill", "key:a"));
        assert_eq!(made.tools, ["pay", "find"]);
    }

    #[test]
    fn an_operator_s_word_stands_over_an_application_s_and_each_takes_back_its_own() {
        use EvidenceKind::{Feedback, Operator};
        let says = |kind, tool: &str| said(kind, asking("pay my bill"), json!({"tools": [tool]}));
        let none = |kind| said(kind, asking("pay my bill"), json!({}));
        let tool = |sample: &Option<ToolSample>| sample.as_ref().map(|sample| sample.tools[0].clone());
        let of_app = says(Feedback, "find").over(None);
        assert_eq!(tool(&says(Feedback, "pay").over(of_app.clone())).as_deref(), Some("pay"));
        let of_operator = says(Operator, "pay").over(of_app.clone());
        assert_eq!(tool(&of_operator).as_deref(), Some("pay"));
        assert_eq!(says(Feedback, "find").over(of_operator.clone()), of_operator);
        assert_eq!(none(Feedback).over(of_operator.clone()), of_operator);
        assert_eq!((none(Operator).over(of_operator), none(Feedback).over(of_app.clone())), (None, None));
        assert_eq!(none(Operator).over(of_app.clone()), of_app);
        assert_eq!(none(Operator).over(None), None);
    }

    #[test]
    fn what_belongs_to_one_person_is_not_in_it() {
        let query = made(asking("write to ann@example.org, card 4111 1111 1111 1111"), json!({"tools": ["pay"]}));
        assert_eq!(query.unwrap().query, "write to <email>, card <number>");
    }

    #[test]
    fn what_names_no_tools_makes_none() {
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
            assert_eq!(made(asking("pay"), expected.clone()), None, "{expected}");
        }
        assert_eq!(made(json!({"messages": []}), json!({"tools": ["pay"]})), None);
        assert_eq!(made(asking("  "), json!({"tools": ["pay"]})), None);
    }
}
