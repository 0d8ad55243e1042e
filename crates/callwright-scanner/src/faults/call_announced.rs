//! E6.1 `call_announced`: the answer announces an action and ends without a call.
//!
//! The check looks for punctuation, not for phrases, so it works in every language: the last line ends with a colon or
//! an ellipsis. This is weak evidence, so the fault is off by default and, if enabled, is only recorded.

use serde_json::json;

use crate::{CallFreeAnswer, quoted};
use callwright_types::{Diagnosis, FaultCode};

/// Colons and ellipses in ASCII, typographic and full-width form.
const MARKS: [&str; 5] = [":", "\u{ff1a}", "...", "\u{2026}", "\u{fe30}"];

pub(super) fn check(answer: &CallFreeAnswer<'_>) -> Option<Diagnosis> {
    let line = answer.text.trim_end().lines().last()?.trim_end_matches(['*', '_', '`']).trim();
    if !MARKS.iter().any(|mark| line.ends_with(mark)) {
        return None;
    }
    let message = "the answer ends where it announces something, without a call";
    Some(Diagnosis::new(FaultCode::CallAnnounced, 0, message, json!({ "line": quoted(line) })))
}

#[cfg(test)]
mod tests {
    use crate::testing::{TOOLS, tool_set};
    use crate::{CallFreeAnswer, scan_answer};
    use callwright_types::FaultCode;
    use callwright_types::rules::{Action, ScanRules};

    #[test]
    fn a_final_colon_or_ellipsis_announces_something_if_judged() {
        let rules = ScanRules::default();
        let noted = ScanRules { faults: rules.faults.with(FaultCode::CallAnnounced, Action::Advise), ..rules.clone() };
        let code = |text, rules| {
            let answer = CallFreeAnswer { text, reasoned: false };
            scan_answer(&answer, &tool_set(TOOLS), rules).map(|diagnosis| diagnosis.code)
        };
        for text in
            ["Let me look that up:", "Ich schaue nach:\n", "正在查询：", "One moment...", "**Checking the weather:**"]
        {
            assert_eq!(code(text, &noted), Some(FaultCode::CallAnnounced), "{text}");
            assert_eq!(code(text, &rules), None, "off by default: {text}");
        }
        for text in ["It is 7 degrees.", "Two things: rain and wind.", "Which city?"] {
            assert_eq!(code(text, &noted), None, "{text}");
        }
    }
}
