//! Judges one message of a model: its native calls, or the calls that its text contains.

use std::collections::HashSet;
use std::sync::Arc;

use super::judge::{judge, of_reading};
use super::rescue::decision::{Case, Decision, Delivery, decide};
use super::rescue::reading::{Reading, Rescued, Situation};
use super::rescue::residue::{self, Residue};
use super::rescue::written::WrittenCall;
use super::rescue::{rescue, unknown_tool, unsure};
use callwright_common::json::{RawObject, is_object_text};
use callwright_scanner::{CheckedCall, CompiledTool, Context, JudgementBudget, Scan, ToolSet, accept_unjudged};
use callwright_types::rules::{Action, RepairRules, ScanRules, Unsure};
use callwright_types::{Call, Diagnosis, FaultCode, Repair, RepairKind, ToolKind, Verdict, ids};
use serde_json::Value;
use serde_json::value::RawValue;

/// One message of a model, before it is judged.
#[derive(Debug, Clone, Copy)]
pub struct Spoken<'a> {
    /// Text of the message.
    pub text: Option<&'a str>,
    /// Native calls. If there are any, the text is not searched for calls.
    pub calls: &'a [Call],
    /// Restrictions on how the text may be parsed.
    pub situation: Situation<'a>,
}

/// One call with its judgement.
#[derive(Debug)]
pub struct JudgedCall {
    /// The call as the model made it.
    pub made: Call,
    /// The call after the repairs.
    pub repaired: Call,
    /// The repairs that were made.
    pub repairs: Vec<Repair>,
    /// The call that may be forwarded or executed, or the faults that remain after the repairs. An empty list means
    /// that the call was not examined, because the answer already has enough faults or was not judged at all.
    pub result: Result<CheckedCall, Vec<Diagnosis>>,
    /// Diagnoses that policy only notes. They do not block the call and do not change the verdict.
    pub advice: Vec<Diagnosis>,
}

impl JudgedCall {
    /// Creates a call that was not examined. It is neither reported as valid nor executed.
    fn unexamined(call: Call) -> Self {
        Self { repaired: call.clone(), made: call, repairs: Vec::new(), result: Err(Vec::new()), advice: Vec::new() }
    }

    /// Creates an accepted native call of a tool whose schema is the provider's.
    fn unjudged(call: &Call, tool: &Arc<CompiledTool>) -> Self {
        let Scan { result, advice } = accept_unjudged(call, tool);
        Self { made: call.clone(), repaired: call.clone(), repairs: Vec::new(), result, advice }
    }

    /// Whether the call was not examined.
    pub fn is_unexamined(&self) -> bool {
        self.result.as_ref().is_err_and(Vec::is_empty)
    }

    /// Whether the call is accepted as a call of a custom tool, whose text is the one member of its arguments.
    pub fn is_custom(&self) -> bool {
        self.result.as_ref().is_ok_and(|checked| checked.custom_input().is_some())
    }

    /// Whether the arguments could not be read as one JSON object (E1).
    fn is_unread(&self) -> bool {
        self.result.as_ref().is_err_and(|found| found.first().is_some_and(|fault| fault.code == FaultCode::NoCall))
    }

    /// Whether the call is of an offered tool that the client executes.
    fn is_clients(&self, tool_set: &ToolSet) -> bool {
        tool_set.get(&self.made.name).is_some_and(|tool| !tool.tool.owner.is_proxy())
    }

    /// Whether the arguments are a JSON object, but hold what a parsed value cannot.
    fn cannot_be_held(&self, tool_set: &ToolSet) -> bool {
        self.is_unread() && self.is_clients(tool_set) && is_object_text(&self.made.arguments)
    }

    /// Returns the verdict on this call alone.
    pub fn verdict(&self) -> Verdict {
        match &self.result {
            Err(_) => Verdict::Faulty,
            Ok(_) if self.repairs.is_empty() => Verdict::Clean,
            Ok(_) => Verdict::Repaired,
        }
    }
}

/// Tools, rules and context with which the calls of a message are judged.
#[derive(Clone, Copy)]
pub(super) struct CallJudge<'a> {
    pub(super) tool_set: &'a ToolSet,
    pub(super) scan: &'a ScanRules,
    pub(super) repair: &'a RepairRules,
    pub(super) context: &'a Context<'a>,
}

impl CallJudge<'_> {
    /// Repairs and scans the calls of an answer. After enough faults, further calls are not examined.
    fn calls(&self, calls: &[Call]) -> Vec<JudgedCall> {
        calls.iter().enumerate().map(|(index, call)| self.call(call, index, None)).collect()
    }

    /// Judges a native call, which has the form of a function's. `id` is the id of the call that the model made.
    fn native_call(&self, call: &Call, index: usize, id: &str) -> JudgedCall {
        if self.tool_set.kind(&call.name) == Some(ToolKind::Predefined)
            && let Some(tool) = self.tool_set.get(&call.name)
        {
            return JudgedCall::unjudged(call, tool);
        }
        let namespace = self.context.namespaces.and_then(|namespaces| namespaces.get(id));
        let mut judged = self.call(call, index, namespace.map(String::as_str));
        if judged.is_custom() {
            judged.repairs.push(Repair::of_call(RepairKind::FormChanged, index, "function", "custom"));
        }
        judged
    }

    /// Judges native calls. A call whose arguments are several objects is several calls, if no call is faulty then.
    fn native(&self, calls: &[Call]) -> Vec<JudgedCall> {
        let judged: Vec<JudgedCall> =
            calls.iter().enumerate().map(|(index, call)| self.native_call(call, index, &call.id)).collect();
        if !judged.iter().any(JudgedCall::is_unread) {
            return judged;
        }
        let mut divided = Vec::with_capacity(judged.len());
        for call in &judged {
            let parts = self.parts(call);
            if call.result.is_err() && parts.is_empty() {
                return judged;
            }
            if parts.is_empty() {
                divided.push(self.native_call(&call.made, divided.len(), &call.made.id));
            }
            for part in parts {
                let mut of_part = self.native_call(&part, divided.len(), &call.made.id);
                if of_part.result.is_err() {
                    return judged;
                }
                of_part.repairs.insert(0, divided_from(&call.made, &part, divided.len()));
                divided.push(of_part);
            }
        }
        divided
    }

    /// Returns the calls that the arguments of an unread call of a client's tool are.
    fn parts(&self, call: &JudgedCall) -> Vec<Call> {
        let tool = self.tool_set.find(&call.made.name).map(|tool| &tool.tool);
        let is_clients = tool.is_some_and(|tool| tool.kind == ToolKind::Function && !tool.owner.is_proxy());
        let repairs = self.repair.values && self.scan.faults.of(FaultCode::NoCall).repairs();
        if !(call.is_unread() && is_clients && repairs) {
            return Vec::new();
        }
        concatenated(&call.made).unwrap_or_default()
    }

    fn call(&self, call: &Call, index: usize, namespace: Option<&str>) -> JudgedCall {
        let Self { tool_set, scan, repair, context } = *self;
        if context.budget.is_some_and(JudgementBudget::has_enough_faults) || context.is_spent() {
            return JudgedCall::unexamined(call.clone());
        }
        let namesake = tool_set.for_call(call, namespace);
        let tool_set = namesake.as_ref().unwrap_or(tool_set);
        let (repaired, Scan { result, advice }) = judge(call, index, tool_set, scan, repair, context);
        if let (Some(budget), Err(diagnoses)) = (context.budget, &result) {
            budget.found(diagnoses.len());
        }
        JudgedCall { made: call.clone(), repaired: repaired.call, repairs: repaired.repairs, result, advice }
    }

    /// Finds what is left of native calls in the text beside them, and records its removal as a repair of the first call.
    fn residue(&self, spoken: &Spoken<'_>, calls: &mut [JudgedCall]) -> Option<Residue> {
        let Self { tool_set, scan, repair, context } = *self;
        let text = spoken.text.filter(|_| repair.residue && scan.faults.of(FaultCode::NoCall).repairs())?;
        let Situation { sent, expressions, .. } = spoken.situation;
        let residue = residue::find(text, sent, tool_set, context.budget, |written: &[WrittenCall]| {
            written.iter().all(|written| {
                let resolved = written.resolve(tool_set, expressions).unwrap_or_default();
                !resolved.is_empty()
                    && resolved.into_iter().all(|(name, arguments)| self.is_made(name, arguments, calls))
            })
        })?;
        let first = calls.iter().position(|call| call.result.is_ok())?;
        let repair = Repair::of_call(RepairKind::ResidueRemoved, first, residue.mark.as_str(), Value::Null);
        calls.get_mut(first)?.repairs.insert(0, repair);
        Some(residue)
    }

    /// Whether one of these calls is the call of `name` with `arguments`, after the repairs of both.
    fn is_made(&self, name: String, arguments: String, calls: &[JudgedCall]) -> bool {
        let written = self.call(&Call { id: String::new(), name, arguments }, 0, None).repaired;
        let parsed = |call: &Call| serde_json::from_str::<Value>(&call.arguments).ok();
        let arguments = parsed(&written);
        arguments.is_some()
            && calls.iter().any(|call| call.repaired.name == written.name && parsed(&call.repaired) == arguments)
    }

    /// Judges calls that were found in a text, and records the notation as the first repair of each.
    pub(super) fn rescued(&self, rescued: &Rescued) -> Vec<JudgedCall> {
        let scan = of_reading(self.scan);
        let mut calls = CallJudge { scan: &scan, ..*self }.calls(&rescued.calls);
        for (index, call) in calls.iter_mut().enumerate() {
            let repair = Repair::of_call(RepairKind::Rescued, index, rescued.notation, call.made.name.as_str());
            call.repairs.insert(0, repair);
        }
        calls
    }
}

/// The part of a message that was not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unjudged {
    /// The native calls, because of the budget.
    Calls,
    /// The text, which may contain calls, because of the budget.
    Text,
    /// All of it: it is longer than what the caller keeps.
    Size,
    /// The native calls, because their arguments are JSON that a parsed value cannot hold.
    Values,
}

/// Maximum number of calls that one argument text may be.
const MAX_PARTS: usize = 32;

/// Returns a call for each of the JSON objects that the arguments are; `None` if they are anything else.
fn concatenated(call: &Call) -> Option<Vec<Call>> {
    let mut parts: Vec<Call> = Vec::new();
    for object in serde_json::Deserializer::from_str(&call.arguments).into_iter::<Box<RawValue>>() {
        let object = object.ok().filter(|object| object.get().starts_with('{') && parts.len() < MAX_PARTS)?;
        let id = if parts.is_empty() { call.id.clone() } else { ids::call_id() };
        parts.push(Call { id, name: call.name.clone(), arguments: object.get().to_owned() });
    }
    (parts.len() > 1).then_some(parts)
}

/// Returns the repair of a call that was one of several in the arguments of `made`.
fn divided_from(made: &Call, part: &Call, index: usize) -> Repair {
    let to: Value = serde_json::from_str(&part.arguments).unwrap_or_default();
    Repair::of_call(RepairKind::ArgumentsMended, index, made.arguments.as_str(), to)
}

/// One message with its judgement.
#[derive(Debug, Default)]
pub struct JudgedMessage {
    /// The part that was not judged. If set, no call has a verdict, and the text is treated as plain
    /// text.
    pub unjudged: Option<Unjudged>,
    /// The calls of the message.
    pub calls: Vec<JudgedCall>,
    /// Origin of the calls if they were found in the text.
    pub rescued: Option<Rescued>,
    /// Residue of native calls in the text beside them.
    pub residue: Option<Residue>,
    /// The fault of the whole message: a call that was meant but cannot be recovered (E1), a text that may be a call or
    /// may describe one (E1), or an empty answer (E6).
    pub no_call: Option<Diagnosis>,
    /// Whether `no_call` reports that the message may be a call or may describe one. The model is requested to confirm;
    /// without confirmation the message is text.
    pub is_unsure: bool,
    /// The same fault as in `no_call`, if policy only notes it.
    pub no_call_advice: Option<Diagnosis>,
}

impl JudgedMessage {
    /// Creates a message whose judgement was not finished; `calls` are its native calls.
    pub(super) fn unjudged(calls: &[Call]) -> Self {
        let unjudged = Some(if calls.is_empty() { Unjudged::Text } else { Unjudged::Calls });
        Self { unjudged, calls: calls.iter().cloned().map(JudgedCall::unexamined).collect(), ..Self::default() }
    }

    /// Creates a text with a fault that is only noted.
    fn noted(diagnosis: Diagnosis) -> Self {
        Self { no_call_advice: Some(diagnosis), ..Self::default() }
    }

    /// Returns the verdict on the whole message, which is that of its worst call.
    pub fn verdict(&self) -> Verdict {
        if self.unjudged.is_some() {
            Verdict::Unguarded
        } else if self.no_call.is_some() || self.has_call(Verdict::Faulty) {
            Verdict::Faulty
        } else if self.has_call(Verdict::Repaired) {
            Verdict::Repaired
        } else if self.calls.is_empty() {
            Verdict::Text
        } else {
            Verdict::Clean
        }
    }

    fn has_call(&self, verdict: Verdict) -> bool {
        self.calls.iter().any(|call| call.verdict() == verdict)
    }

    /// Notes the calls with these ids as calls of functions that had the form of a custom tool's.
    pub fn note_functions(&mut self, ids: &[String]) {
        for (index, call) in self.calls.iter_mut().enumerate().filter(|(_, call)| ids.contains(&call.made.id)) {
            call.repairs.push(Repair::of_call(RepairKind::FormChanged, index, "custom", "function"));
        }
    }

    /// Whether calls were found in the text, or were evidently meant there.
    pub fn called_in_text(&self) -> bool {
        let meant = self.no_call.as_ref().or(self.no_call_advice.as_ref());
        let is_meant = meant.is_some_and(|fault| fault.code == FaultCode::NoCall && !fault.is_unsure());
        self.rescued.is_some() || is_meant
    }

    /// Returns the text that remains if a part of it became calls or was left of native ones.
    pub fn remaining_text(&self) -> Option<&str> {
        let rescued = self.rescued.as_ref().map(|rescued| &rescued.text);
        rescued.or(self.residue.as_ref().map(|residue| &residue.text)).map(String::as_str)
    }

    /// Returns all diagnoses that policy only notes.
    pub fn advice(&self) -> impl Iterator<Item = &Diagnosis> {
        self.no_call_advice.iter().chain(self.calls.iter().flat_map(|call| &call.advice))
    }

    /// Returns all diagnoses of faults.
    pub fn diagnoses(&self) -> impl Iterator<Item = &Diagnosis> {
        self.no_call.iter().chain(self.calls.iter().filter_map(|call| call.result.as_ref().err()).flatten())
    }
}

/// Whether a call that was written as text names a tool that may exist. It stays text: its form is not known.
fn is_of_open_tool(diagnosis: &Diagnosis, tool_set: &ToolSet, context: &Context<'_>) -> bool {
    unknown_tool(diagnosis).is_some_and(|name| context.may_exist(tool_set, name))
}

/// Judges one message: rescues calls from its text, makes lossless repairs, then scans the result. If the budget does
/// not suffice, the whole message is unjudged.
pub fn judge_message(
    spoken: &Spoken<'_>,
    tool_set: &ToolSet,
    scan: &ScanRules,
    repair: &RepairRules,
    context: &Context<'_>,
) -> JudgedMessage {
    let judged = judged_in_budget(spoken, CallJudge { tool_set, scan, repair, context });
    if context.is_spent() { JudgedMessage::unjudged(spoken.calls) } else { judged }
}

fn judged_in_budget(spoken: &Spoken<'_>, judge: CallJudge<'_>) -> JudgedMessage {
    let CallJudge { tool_set, scan, repair, context } = judge;
    if !spoken.calls.is_empty() {
        let mut calls = judge.native(spoken.calls);
        if calls.iter().any(|call| call.cannot_be_held(tool_set)) && calls.iter().all(|call| call.is_clients(tool_set))
        {
            return JudgedMessage { unjudged: Some(Unjudged::Values), ..JudgedMessage::unjudged(spoken.calls) };
        }
        if calls.len() > 1 && scan.faults.of(FaultCode::RepeatedCall) != Action::Off {
            note_duplicates(&mut calls);
        }
        let residue = judge.residue(spoken, &mut calls);
        return JudgedMessage { calls, residue, ..Default::default() };
    }
    let action = scan.faults.of(FaultCode::NoCall);
    let text = spoken.text.filter(|_| action != Action::Off);
    let situation = Situation { budget: context.budget, ..spoken.situation };
    let unsure_is = repair.rescue.unsure.towards(situation.delivery == Delivery::Native);
    match text.map_or(Reading::Text, |text| rescue(text, tool_set, &situation)) {
        Reading::Text => JudgedMessage::default(),
        Reading::Unfinished(diagnosis) => unconfirmed(diagnosis, action, unsure_is),
        Reading::NoCall(diagnosis) if diagnosis.is_unsure() => unconfirmed(diagnosis, action, unsure_is),
        Reading::NoCall(diagnosis) if action.blocks() && !is_of_open_tool(&diagnosis, tool_set, context) => {
            JudgedMessage { no_call: Some(diagnosis), ..Default::default() }
        }
        Reading::NoCall(diagnosis) => JudgedMessage::noted(diagnosis),
        Reading::Calls(rescued) if !action.repairs() => JudgedMessage::noted(written_as_text(&rescued)),
        Reading::Calls(rescued) => {
            let case = rescued.case(text.unwrap_or_default(), tool_set, context.conversation, &situation);
            let delivers = case.delivery == Delivery::Native && !case.is_call_but_for_doubt();
            // A model that makes native calls does not end its answer with reserved markers to describe a call.
            let is_native = delivers && (!rescued.ends_in_marks || spoken.situation.cut_off);
            let unsure_is = repair.rescue.unsure.towards(is_native);
            if let Some(other) = not_calls(text.unwrap_or_default(), &rescued, case, action, unsure_is) {
                return other;
            }
            JudgedMessage { calls: judge.rescued(&rescued), rescued: Some(rescued), ..Default::default() }
        }
    }
}

/// Whether a call in the form of a custom tool's is one of a function: it names one, and its input is an object.
pub fn is_call_of_function(call: &Call, tool_set: &ToolSet) -> bool {
    let is_object = || call.arguments.trim_start().starts_with('{') && RawObject::parse(&call.arguments).is_ok();
    tool_set.find(&call.name).is_some_and(|tool| tool.tool.is_function()) && is_object()
}

/// Notes calls that are equal to an earlier call of the same answer. They are not removed, because both may be
/// intended.
fn note_duplicates(calls: &mut [JudgedCall]) {
    let mut seen: HashSet<(&str, &str)> = HashSet::with_capacity(calls.len());
    for (index, JudgedCall { repaired, advice, .. }) in calls.iter_mut().enumerate() {
        if !seen.insert((&repaired.name, &repaired.arguments)) {
            let facts = serde_json::json!({ "name": repaired.name, "rounds_ago": 0, "result": "", "failed": false });
            let message = "the answer makes the same call twice";
            advice.push(Diagnosis::new(FaultCode::RepeatedCall, index, message, facts));
        }
    }
}

/// Returns the judged message if the calls found in its text are not accepted as calls, else `None`.
fn not_calls(text: &str, rescued: &Rescued, case: Case, action: Action, unsure_is: Unsure) -> Option<JudgedMessage> {
    match (decide(case), unsure_is) {
        (Decision::Call, _) | (Decision::Unsure, Unsure::Call) => None,
        (Decision::Unsure, _) => Some(unconfirmed(unsure(text, rescued), action, unsure_is)),
        _ => Some(JudgedMessage::noted(unsure(text, rescued))),
    }
}

/// Returns a message that may be a call: the model is requested to confirm it, unless policy treats it as text.
fn unconfirmed(diagnosis: Diagnosis, action: Action, unsure: Unsure) -> JudgedMessage {
    if unsure == Unsure::Text || !action.blocks() {
        return JudgedMessage::noted(diagnosis);
    }
    JudgedMessage { no_call: Some(diagnosis), is_unsure: true, ..Default::default() }
}

/// Returns the advice for calls in the text that policy does not rescue.
fn written_as_text(rescued: &Rescued) -> Diagnosis {
    let message = format!("calls are written into the text, in the notation `{}`", rescued.notation);
    let facts = serde_json::json!({ "empty": false, "problem": "written into the text", "near": rescued.notation });
    Diagnosis::new(FaultCode::NoCall, 0, message, facts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use callwright_scanner::testing::{TOOLS, call, tool_set};
    use callwright_types::rules::Evidence;

    fn judged(calls: &[Call]) -> JudgedMessage {
        let spoken = Spoken { text: None, calls, situation: Situation::with(Evidence::Amid) };
        let (scan, repair) = (ScanRules::default(), RepairRules::default());
        judge_message(&spoken, &tool_set(TOOLS), &scan, &repair, &Context::default())
    }

    #[test]
    fn several_valid_objects_in_one_call_become_as_many_calls() {
        let three = r#"{"city": "Oslo"}{"city": "Bergen"}
            {"city": "Bod\u00f8", "num_days": "2"}"#;
        let message = judged(&[call("get_weather", three), call("ping", "{}")]);
        let arguments: Vec<&str> = message.calls.iter().map(|call| call.repaired.arguments.as_str()).collect();
        let last = r#"{"city":"Bod\u00f8","num_days":2}"#;
        assert_eq!(arguments, [r#"{"city": "Oslo"}"#, r#"{"city": "Bergen"}"#, last, "{}"]);
        assert_eq!(message.verdict(), Verdict::Repaired);
        let ids: HashSet<&str> = message.calls.iter().take(3).map(|call| call.made.id.as_str()).collect();
        assert!(ids.len() == 3 && ids.contains("call_1"));
        let indexes: Vec<usize> =
            message.calls.iter().flat_map(|call| &call.repairs).map(|repair| repair.call).collect();
        assert_eq!(indexes, [0, 1, 2, 2]);
        for faulty in [
            r#"{"city": "Oslo"}{"town": 1}"#,
            r#"{"city": "Oslo"}{"city": "#,
            r#"{"city": "Oslo"}, {"city": "Bergen"}"#,
            r#"{"city": "Oslo"} ["Bergen"]"#,
        ] {
            let message = judged(&[call("get_weather", faulty)]);
            assert_eq!((message.verdict(), message.calls.len()), (Verdict::Faulty, 1), "{faulty}");
        }
        let beside = judged(&[call("get_weather", three), call("get_weather", "{}")]);
        assert_eq!((beside.verdict(), beside.calls.len()), (Verdict::Faulty, 2));
    }

    #[test]
    fn json_that_cannot_be_held_passes_unjudged() {
        let modulus = format!(r#"{{"n": {}}}"#, "7".repeat(617));
        let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(300), "]".repeat(300));
        for arguments in [&modulus, &deep, r#"{"a": -1e400}"#, r#"{"a": "half \ud83d"}"#] {
            let message = judged(&[call("log", arguments), call("ping", "{}")]);
            assert_eq!((message.unjudged, message.verdict()), (Some(Unjudged::Values), Verdict::Unguarded));
            assert_eq!(message.calls[0].repaired.arguments, arguments);
            assert!(message.diagnoses().next().is_none());
            let unknown = judged(&[call("lgo", arguments)]);
            assert_eq!((unknown.unjudged, unknown.verdict()), (None, Verdict::Faulty), "{arguments}");
        }
    }
}
