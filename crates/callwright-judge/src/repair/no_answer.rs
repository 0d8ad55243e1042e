//! Empty answers (E6): rescues the call at the end of the reasoning, or reports that there is no answer.

use super::message::{CallJudge, JudgedMessage};
use super::rescue::decision::Decision;
use super::rescue::reading::{Rescued, Situation};
use super::rescue::reasoning::{decide_end, only_reasoning, rescue_end};
use callwright_scanner::{CallFreeAnswer, Context, ToolSet, scan_answer};
use callwright_types::rules::{RepairRules, ScanRules, Unsure};
use callwright_types::{Diagnosis, FaultCode};

/// An answer that contains only text and reasoning: no call, no refusal, no audio and no image.
#[derive(Debug, Clone, Copy)]
pub struct TextAnswer<'a> {
    /// Text of the answer.
    pub text: Option<&'a str>,
    /// Reasoning, if the answer has a separate member for it.
    pub reasoning: Option<&'a str>,
    /// Restrictions on how the text may be parsed.
    pub situation: Situation<'a>,
}

impl JudgedMessage {
    /// Judges whether a message without a call is an answer at all. If it is empty, the call at the end of its
    /// reasoning becomes the answer, or is named in the diagnosis if it is unsure. A message with calls, or with a fault
    /// or advice about calls, is returned unchanged.
    #[must_use]
    pub fn or_no_answer(
        self,
        answer: &TextAnswer<'_>,
        tool_set: &ToolSet,
        scan: &ScanRules,
        repair: &RepairRules,
        context: &Context<'_>,
    ) -> Self {
        let is_text = self.calls.is_empty() && self.no_call.is_none() && self.no_call_advice.is_none();
        if !is_text || answer.situation.cut_off || self.unjudged.is_some() {
            return self;
        }
        let text = answer.text.unwrap_or_default();
        let inner = only_reasoning(text);
        let scanned = CallFreeAnswer {
            text: if inner.is_some() { "" } else { text },
            reasoned: inner.is_some() || answer.reasoning.is_some_and(|reasoning| !reasoning.trim().is_empty()),
        };
        let Some(mut diagnosis) = scan_answer(&scanned, tool_set, scan) else { return self };
        let action = scan.faults.of(diagnosis.code);
        if diagnosis.code == FaultCode::CallAnnounced || !action.repairs() {
            return Self { no_call_advice: Some(diagnosis), ..self };
        }
        // The proxy parses reasoning that the server left in the text. A separate member was already parsed by the
        // server.
        let reasoning = inner.filter(|inner| !inner.trim().is_empty()).or(answer.reasoning).unwrap_or_default();
        let judge = CallJudge { tool_set, scan, repair, context };
        let situation = Situation { budget: context.budget, ..answer.situation };
        let found = rescue_end(reasoning, text, tool_set, &situation);
        let decision = found.as_ref().map_or(Decision::Text, |rescued| {
            decide_end(rescued.case(reasoning, tool_set, context.conversation, &situation))
        });
        let is_call =
            decision == Decision::Call || (decision == Decision::Unsure && repair.rescue.unsure == Unsure::Call);
        if decision == Decision::Unsure {
            name_call(&mut diagnosis, found.as_ref());
        }
        let judged = match found.filter(|_| is_call) {
            Some(rescued) => Self { calls: judge.rescued(&rescued), rescued: Some(rescued), ..self },
            None if action.blocks() => Self { no_call: Some(diagnosis), ..self },
            None => Self { no_call_advice: Some(diagnosis), ..self },
        };
        if context.is_spent() { Self::unjudged(&[]) } else { judged }
    }

    /// Returns the diagnosis of an empty message that is sent back to the model (E6).
    pub fn no_answer(&self) -> Option<&Diagnosis> {
        self.no_call.as_ref().filter(|diagnosis| diagnosis.code == FaultCode::NoAnswer)
    }
}

/// Names the call at the end of the reasoning in the diagnosis of an empty answer.
fn name_call(diagnosis: &mut Diagnosis, rescued: Option<&Rescued>) {
    let call = rescued.and_then(|rescued| rescued.calls.first());
    if let (Some(call), Some(facts)) = (call, diagnosis.facts.as_object_mut()) {
        facts.insert("name".to_owned(), call.name.as_str().into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_scanner::testing::{TOOLS, tool_set};
    use callwright_types::rules::{Action, Evidence};
    use callwright_types::{RepairKind, Verdict};

    fn judged(text: Option<&str>, reasoning: Option<&str>, cut_off: bool, action: Action) -> JudgedMessage {
        let scan = ScanRules::default();
        let scan = ScanRules { faults: scan.faults.with(FaultCode::NoAnswer, action), ..scan };
        let situation = Situation { cut_off, ..Situation::with(Evidence::Alone) };
        let answer = TextAnswer { text, reasoning, situation };
        let message = JudgedMessage::default();
        message.or_no_answer(&answer, &tool_set(TOOLS), &scan, &RepairRules::default(), &Context::default())
    }

    const CALL: &str = r#"<tool_call>{"name":"getWeather","arguments":{"city":"Oslo"}}</tool_call>"#;

    #[test]
    fn an_empty_message_is_no_answer_unless_it_was_cut_off() {
        for (text, reasoning) in [
            (None, None),
            (Some(" \n"), None),
            (Some(""), Some("Let me think.")),
            (None, Some("")),
            (Some("<think>hm</think>\n"), None),
        ] {
            let found = judged(text, reasoning, false, Action::Feedback);
            assert_eq!(found.no_answer().map(|found| found.code), Some(FaultCode::NoAnswer), "{text:?}");
            assert_eq!(found.verdict(), Verdict::Faulty);
            assert_eq!(judged(text, reasoning, true, Action::Feedback).verdict(), Verdict::Text, "cut off");
            let noted = judged(text, reasoning, false, Action::Advise);
            assert_eq!((noted.verdict(), noted.advice().count()), (Verdict::Text, 1));
            assert_eq!(judged(text, reasoning, false, Action::Off).advice().count(), 0);
        }
        assert_eq!(judged(Some("Done."), Some("hm"), false, Action::Feedback).diagnoses().count(), 0);
    }

    #[test]
    fn the_call_in_which_reasoning_ends_is_rescued_and_repaired() {
        let inside = format!("<think>I need it. {CALL}</think>");
        for (text, reasoning) in [(None, Some(CALL)), (Some("\n"), Some(CALL)), (Some(inside.as_str()), None)] {
            let found = judged(text, reasoning, false, Action::Repair);
            let [call] = &found.calls[..] else { panic!("{found:?}") };
            assert_eq!((call.repaired.name.as_str(), found.verdict()), ("get_weather", Verdict::Repaired));
            assert_eq!((call.repairs[0].kind, call.repairs[0].from.as_str()), (RepairKind::Rescued, Some("tool_call")));
        }
        let rescued = judged(Some(&inside), None, false, Action::Repair).rescued.unwrap();
        assert_eq!(rescued.text, inside, "what the model wrote stays");
        assert!(
            judged(Some("Done."), Some(CALL), false, Action::Feedback).calls.is_empty(),
            "the model weighed it and did not make it"
        );
        assert!(judged(None, Some(CALL), true, Action::Feedback).calls.is_empty());
        assert_eq!(judged(None, Some(CALL), false, Action::Advise).calls.len(), 0);
    }

    #[test]
    fn what_was_judged_before_stays() {
        let diagnosis = judged(None, None, false, Action::Feedback).no_call;
        let message = JudgedMessage { no_call_advice: diagnosis, ..JudgedMessage::default() };
        let answer = TextAnswer { text: None, reasoning: Some(CALL), situation: Situation::with(Evidence::Alone) };
        let (scan, repair) = (ScanRules::default(), RepairRules::default());
        let found = message.or_no_answer(&answer, &tool_set(TOOLS), &scan, &repair, &Context::default());
        assert!(found.calls.is_empty() && found.no_call.is_none() && found.no_call_advice.is_some());
    }
}
