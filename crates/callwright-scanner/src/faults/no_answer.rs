//! E6 `no_answer`: tools are offered, and the answer has neither content nor a call.
//!
//! Models produce such an answer after a tool result, or when all their output goes into the reasoning. An agent
//! mistakes it for the end of its task. Answers that were truncated, filtered or refused are not checked.

use serde_json::json;

use super::case::CallFreeAnswer;
use callwright_types::{Diagnosis, FaultCode};

pub(super) fn check(answer: &CallFreeAnswer<'_>) -> Option<Diagnosis> {
    if !answer.text.trim().is_empty() {
        return None;
    }
    let message = match answer.reasoned {
        true => "the answer is empty: there is reasoning, but neither content nor a call",
        false => "the answer is empty: there is neither content nor a call",
    };
    // Rescue adds the tool's name of a possible call at the end of the reasoning.
    let facts = json!({ "reasoned": answer.reasoned, "name": null });
    Some(Diagnosis::new(FaultCode::NoAnswer, 0, message, facts))
}

#[cfg(test)]
mod tests {
    use crate::testing::{TOOLS, tool_set};
    use crate::{CallFreeAnswer, ToolSet, scan_answer};
    use callwright_types::FaultCode;
    use callwright_types::rules::{Action, ScanRules};

    #[test]
    fn an_answer_without_text_is_none_where_tools_are_offered() {
        let (book, rules) = (tool_set(TOOLS), ScanRules::default());
        let code = |text, book: &ToolSet, rules| {
            let answer = CallFreeAnswer { text, reasoned: false };
            scan_answer(&answer, book, rules).map(|diagnosis| diagnosis.code)
        };
        for empty in ["", " \n\t", "\u{a0}"] {
            assert_eq!(code(empty, &book, &rules), Some(FaultCode::NoAnswer), "{empty:?}");
        }
        assert_eq!(code("Done.", &book, &rules), None);
        assert_eq!(code("", &ToolSet::default(), &rules), None, "nothing is offered");
        let off = ScanRules { faults: rules.faults.with(FaultCode::NoAnswer, Action::Off), ..rules.clone() };
        assert_eq!(code("", &book, &off), None);
    }

    #[test]
    fn it_is_told_whether_there_is_reasoning() {
        let found = |reasoned| {
            let answer = CallFreeAnswer { text: "", reasoned };
            scan_answer(&answer, &tool_set(TOOLS), &ScanRules::default()).unwrap()
        };
        assert_eq!((&found(true).facts["reasoned"], &found(false).facts["reasoned"]), (&true.into(), &false.into()));
        assert!(found(true).message.contains("reasoning") && !found(false).message.contains("reasoning"));
    }
}
