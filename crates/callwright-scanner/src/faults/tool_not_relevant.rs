//! E2.1 `tool_not_relevant`: the tool is offered, but another tool clearly serves the request better.
//!
//! The evidence comes from a search for the last user message in the tools' texts and learned patterns
//! ([`crate::Relevance`]). Another tool must be semantically close to the request, and the called tool must
//! have almost nothing in common with it. Without embeddings, word matches replace semantic similarity. A call that
//! follows a call of the better tool is a next step and not a fault.
//!
//! A request often needs a tool that it does not mention (for example, to look up an id first), so this check is off by
//! default. docs/benchmarks/judging.md, "Relevance", has the figures behind that decision.

use serde_json::{Value, json};

use super::case::MAX_FITTING;
use crate::{CompiledTool, FaultCase, quoted};
use callwright_common::json::Pointer;
use callwright_common::limits::LINE_CHARS;
use callwright_common::text::excerpt;
use callwright_types::{Diagnosis, FaultCode};

pub(super) fn check(case: &FaultCase<'_>, tool: &CompiledTool, _: &Value) -> Vec<Diagnosis> {
    better(case, tool).map(|better| diagnose(case, tool, better)).into_iter().collect()
}

/// Returns the tool that clearly serves the request better, unless it was called already.
fn better<'a>(case: &FaultCase<'a>, tool: &CompiledTool) -> Option<&'a CompiledTool> {
    let relevance = case.context.relevance?.relevance()?;
    let best = relevance.better_than(tool.name(), &case.rules.relevance)?;
    let rounds = case.context.conversation.map(|conversation| conversation.transcript().rounds());
    let was_called = rounds.into_iter().flatten().flatten().any(|call| call.name == best);
    if was_called { None } else { case.tool_set.get(best).map(AsRef::as_ref) }
}

fn diagnose(case: &FaultCase<'_>, tool: &CompiledTool, better: &CompiledTool) -> Diagnosis {
    let candidate = better.name();
    let others = case.most_relevant(&[tool.name(), candidate], MAX_FITTING - 1);
    let message = format!("`{}` is offered, but `{candidate}` fits the request better", quoted(tool.name()));
    let facts = json!({
        "name": quoted(tool.name()), "does": excerpt(&tool.tool.description, LINE_CHARS),
        "candidate": candidate, "description": excerpt(&better.tool.description, LINE_CHARS), "others": others,
    });
    let diagnosis = case.diagnosis(FaultCode::ToolNotRelevant, Pointer::root(), message, facts);
    Diagnosis { suggestion: Some(candidate.to_owned()), ..diagnosis }
}

#[cfg(test)]
mod tests {
    use crate::testing::{TOOLS, call, past, tool_set};
    use crate::{Context, Relevance, Transcript, scan_in};
    use callwright_types::FaultCode;
    use callwright_types::rules::{Action, ScanRules};

    fn rules(action: Action) -> ScanRules {
        let faults = ScanRules::default().faults.with(FaultCode::ToolNotRelevant, action);
        ScanRules { faults, ..ScanRules::default() }
    }

    fn found(name: &str, arguments: &str, relevance: &Relevance, conversation: &Transcript) -> Vec<String> {
        let context = Context { relevance: Some(relevance), conversation: Some(conversation), ..Context::default() };
        let scan = scan_in(&call(name, arguments), 0, &tool_set(TOOLS), &rules(Action::Feedback), &context);
        let found = scan.result.err().unwrap_or_default();
        assert!(found.iter().all(|diagnosis| diagnosis.code == FaultCode::ToolNotRelevant));
        found.into_iter().filter_map(|diagnosis| diagnosis.suggestion).collect()
    }

    const NOTHING: fn() -> Transcript = Transcript::default;

    #[test]
    fn a_tool_unrelated_to_the_request_yields_to_a_related_one() {
        let relevance = Relevance::by_words([("get_weather", 9.0), ("search", 1.0)], 0.8);
        assert_eq!(found("search", r#"{"query":"x"}"#, &relevance, &NOTHING()), ["get_weather"]);
        assert_eq!(found("ping", "{}", &relevance, &NOTHING()), ["get_weather"]);
        assert!(found("get_weather", r#"{"city":"Oslo"}"#, &relevance, &NOTHING()).is_empty());
    }

    #[test]
    fn without_clear_evidence_nothing_is_said() {
        let close = Relevance::by_words([("get_weather", 9.0), ("search", 8.0)], 0.8);
        let vague = Relevance::by_words([("get_weather", 9.0)], 0.05);
        for relevance in [close, vague, Relevance::default()] {
            assert!(found("search", r#"{"query":"x"}"#, &relevance, &NOTHING()).is_empty());
        }
        let scan = scan_in(&call("ping", "{}"), 0, &tool_set(TOOLS), &rules(Action::Feedback), &Context::default());
        assert!(scan.result.is_ok(), "no relevance is given");
    }

    #[test]
    fn a_step_behind_the_better_tool_is_no_fault() {
        let relevance = Relevance::by_words([("get_weather", 9.0)], 0.8);
        let mut transcript = Transcript::default();
        transcript.called(vec![past("get_weather", r#"{"city":"Oslo"}"#, "sunny")]);
        assert!(found("ping", "{}", &relevance, &transcript).is_empty());
    }

    #[test]
    fn it_is_off_unless_asked_for() {
        let relevance = Relevance::by_words([("get_weather", 9.0)], 0.8);
        let context = Context { relevance: Some(&relevance), ..Context::default() };
        let scan = scan_in(&call("ping", "{}"), 0, &tool_set(TOOLS), &ScanRules::default(), &context);
        assert!(scan.result.is_ok() && scan.advice.is_empty());
        let scan = scan_in(&call("ping", "{}"), 0, &tool_set(TOOLS), &rules(Action::Advise), &context);
        assert!(scan.result.is_ok() && scan.advice[0].code == FaultCode::ToolNotRelevant);
    }
}
