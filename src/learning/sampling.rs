//! What a verdict tells about which tools serve a request.

use serde::Deserialize;

use crate::domain::memory::ToolSample;
use crate::domain::{Evidence, MemoryNote, Trace};
use crate::experience::redacted;
use crate::openai::RecordedAnswer;
use crate::store::FeedbackRow;

/// Characters of a query: as many as models of meaning are given. What users paste behind their question is not what they ask.
const MAX_QUERY_CHARS: usize = 8192;

/// Tools that one request is said to need.
const MAX_TOOLS: usize = 32;

/// Characters of a tool's name: as many as providers allow, and some.
const MAX_NAME_CHARS: usize = 128;

/// The part of `expected` that names tools.
#[derive(Deserialize)]
struct Expected {
    tools: Vec<String>,
}

/// The id of the sample that a turn makes.
pub(super) fn sample_id(trace: &str) -> String {
    format!("sam_{trace}")
}

/// The sample of a turn whose right tools a verdict names. `None` where it names none, or where policy does not have the turn's bodies kept.
pub(super) fn sample_of(
    row: &FeedbackRow,
    trace: &Trace,
    memory: &MemoryNote,
    evidence: Evidence,
) -> Option<ToolSample> {
    let tools = tools_named(row)?;
    let request = trace.request.as_ref()?.to_string();
    let query = RecordedAnswer::parse(&request).ok()?.last_of_the_user()?;
    let query = redacted(query.trim());
    let query: String = query.chars().take(MAX_QUERY_CHARS).collect();
    (!query.is_empty()).then(|| ToolSample {
        id: sample_id(&trace.id),
        scope: memory.scope.clone(),
        query,
        tools,
        at: evidence.at,
        evidence: vec![evidence],
    })
}

/// The tools that `expected` names, each once.
fn tools_named(row: &FeedbackRow) -> Option<Vec<String>> {
    let Expected { tools: named } = Expected::deserialize(row.expected.as_ref()?).ok()?;
    if named.len() > MAX_TOOLS {
        return None;
    }
    let is_name = |name: &String| {
        !name.trim().is_empty() && name.chars().count() <= MAX_NAME_CHARS && !name.chars().any(char::is_control)
    };
    let mut tools: Vec<String> = Vec::new();
    for name in named {
        if !is_name(&name) {
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
    use crate::domain::trace::sample;
    use crate::domain::{EvidenceKind, Scope};
    use crate::store::FeedbackVerdict;

    fn made(request: Value, expected: Value) -> Option<ToolSample> {
        let trace = Trace { id: "t1".to_owned(), request: Some(request), ..sample() };
        let row = FeedbackRow {
            trace: "t1".to_owned(),
            source: FeedbackRow::OPERATOR.to_owned(),
            verdict: FeedbackVerdict::Wrong,
            expected: Some(expected),
            comment: None,
            at: Timestamp::UNIX_EPOCH,
        };
        let (kind, trace_id) = (EvidenceKind::Operator, Some("t1".to_owned()));
        let evidence = Evidence { kind, trace: trace_id, session: None, source: None, at: row.at };
        sample_of(&row, &trace, &MemoryNote::of(Scope::of_key("a")), evidence)
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
