//! Text form of a trace, for people who analyse a turn or take it over: request, attempts, executions, rounds, result.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use callwright_common::limits::{LISTED_ROWS, TEXT_LENGTH};
use callwright_common::text::acts_on_terminal;
use callwright_types::trace::{Attempt, Enrichment, Execution, Observation, Round};
use callwright_types::{
    Call, ChosenBy, Diagnosis, Explanation, OfferNote, OfferReason, PlanNote, Protocol, RepairKind, RepairNote, Trace,
};
use callwright_wire::{Completion, ModelRequest};

pub(super) fn write(trace: &Trace) -> String {
    let mut page = TraceTextPage::default();
    head(&mut page, trace);
    page.section("Request");
    request(&mut page, trace);
    page.items("Failures that the client's tool messages report", &trace.observed, observation);
    if trace.observed_left_out > 0 {
        page.line(&format!("{} older ones are neither listed nor explained", trace.observed_left_out));
    }
    if let Some(plan) = &trace.plan {
        page.section("Plan");
        page.text(&plan_lines(plan));
    }
    page.items("Attempts", &trace.attempts, attempt);
    page.items("Executions", &trace.executions, execution);
    page.items("Rounds of feedback", &trace.record, round);
    if let Some(said) = trace.answer.as_ref().and_then(|body| answer(Protocol::of_endpoint(&trace.endpoint), body)) {
        page.section("Answer");
        page.text(&said);
    }
    if trace.request.is_none() {
        page.section("Texts are omitted");
        page.line("Texts of users, models and APIs, and values of arguments, are stored only if the policy key `record.bodies` is");
        page.line("set, the proxy runs with `serve --record`, or an operator sends `x-callwright-record: full`.");
    }
    page.out
}

fn head(page: &mut TraceTextPage, trace: &Trace) {
    page.line(&format!("Trace {}", trace.id));
    page.line(&format!("{}  {}  model {} at {}", trace.started_at, trace.endpoint, trace.model, trace.upstream));
    let session = trace.session.as_deref().map(|session| format!(", session {session}")).unwrap_or_default();
    let key = trace.key.as_ref().map(|key| format!(", key {}", key.name)).unwrap_or_default();
    page.line(&format!("policy {} ({}){session}{key}", trace.policy, trace.mode));
    page.line(&format!(
        "status {}, verdict {}, {} tokens, {} ms with {} ms of overhead{}",
        trace.status,
        trace.verdict,
        trace.usage.total_tokens,
        trace.duration_ms,
        trace.overhead_ms,
        if trace.stream { ", streamed" } else { "" },
    ));
    if let Some(outcome) = trace.outcome {
        let reason = trace.unjudged.map(|reason| format!(" ({})", reason.label())).unwrap_or_default();
        page.line(&format!("outcome {outcome}{reason}, actions: {}", trace.actions));
    }
    if let Some(verdict) = trace.shadow_verdict {
        page.line(&format!("shadow mode: the client got the model's answer; the verdict on it is {verdict}"));
    }
    why(page, trace);
    if let Some(limit) = &trace.exhausted {
        page.line(&format!("LIMIT REACHED: {limit}. The turn ended before its goal; a person must take over."));
    }
    if let Some(error) = &trace.error {
        page.line(&format!("ERROR: {error}"));
    }
}

/// Writes why calls were changed: each repair that left, with the tool that was meant.
fn why(page: &mut TraceTextPage, trace: &Trace) {
    if !trace.actions.repaired {
        return;
    }
    for attempt in &trace.attempts {
        for repair in &attempt.repairs {
            let is_named = |other: &&RepairNote| other.call == repair.call && other.kind == RepairKind::ToolRenamed;
            let renamed = attempt.repairs.iter().find(is_named).and_then(|renamed| renamed.to.as_str());
            let made = attempt.calls.get(repair.call).map(|call| call.name.as_str());
            let location = if repair.path.is_root() { "" } else { repair.path.as_str() };
            let change = repair.change().map(|change| format!(": {change}")).unwrap_or_default();
            let tool = renamed.or(made).unwrap_or("the call");
            page.line(&format!("CHANGED: {} {tool}{location}{change}", repair.kind.label()));
        }
    }
}

/// Writes the user's last message, and the offered tools.
fn request(page: &mut TraceTextPage, trace: &Trace) {
    let protocol = Protocol::of_endpoint(&trace.endpoint);
    let chat =
        trace.request.as_ref().and_then(|request| ModelRequest::parse(protocol, request.to_string().into()).ok());
    if let Some(chat) = chat {
        let messages = chat.messages();
        let last = messages.iter().rev().find(|message| message.role == "user");
        page.line(&format!("{} messages; last user message:", messages.len()));
        page.text(last.and_then(|message| message.text.as_deref()).unwrap_or_default());
    }
    let named: Vec<&str> = trace.tools_offered.iter().take(LISTED_ROWS).map(String::as_str).collect();
    let more = trace.tools_offered.len().saturating_sub(LISTED_ROWS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    page.line(&format!("tools offered: {}{more}", if named.is_empty() { "none".to_owned() } else { named.join(", ") }));
    if let Some(offer) = &trace.offer {
        page.line(&chosen(offer));
    }
    if trace.rejoined > 0 {
        page.line(&format!("{} earlier answers had the proxy's part restored", trace.rejoined));
    }
}

/// Returns the reasons of the offer: `chosen from 1000: 3 called, 12 ranked`.
fn chosen(offer: &OfferNote) -> String {
    let mut counts: BTreeMap<OfferReason, usize> = BTreeMap::new();
    for tool in &offer.tools {
        *counts.entry(tool.reason).or_default() += 1;
    }
    let reasons: Vec<String> = counts.iter().map(|(reason, count)| format!("{count} {}", reason.label())).collect();
    let change = offer.prefix_change.map(|change| format!("; changed since the previous turn: {}", change.label()));
    let words = if offer.words_alone { "; by keywords only" } else { "" };
    format!("chosen from {}: {}{words}{}", offer.candidates, reasons.join(", "), change.unwrap_or_default())
}

/// Returns the final answer of the model.
fn answer(protocol: Protocol, body: &Value) -> Option<String> {
    let completion = Completion::parse(protocol, body.to_string().into()).ok()?;
    let message = &completion.choices().first()?.message;
    let calls = message.calls().iter().map(Call::written).collect::<Vec<_>>().join("\n");
    let text = message.text().unwrap_or_default();
    Some([text.as_str(), calls.as_str()].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n"))
}

fn observation(page: &mut TraceTextPage, observation: &Observation) {
    let done = match observation.done {
        Enrichment::Added => "the explanation was added to the message",
        Enrichment::Noted => "noted, the message is unchanged",
        Enrichment::Unexplained => "the documentation does not explain it",
        Enrichment::LeftOut => "not explained for lack of time",
    };
    let again = if observation.again { " (as in an earlier turn)" } else { "" };
    page.line(&format!("{}{again}", observation.call.written()));
    page.line(&format!("recognised by `{}`; {done}", observation.rule));
    explanation(page, observation.explanation.as_ref());
}

fn attempt(page: &mut TraceTextPage, attempt: &Attempt) {
    let status = attempt.status.map(|status| format!(" {status}")).unwrap_or_default();
    let verdict = attempt.verdict.map(|verdict| format!(", verdict {verdict}")).unwrap_or_default();
    page.line(&format!(
        "{} → {}{status}{verdict} ({} ms, {} tokens)",
        attempt.purpose, attempt.outcome, attempt.duration_ms, attempt.usage.total_tokens
    ));
    attempt.calls.iter().for_each(|call| page.line(&format!("call {}", call.written())));
    attempt.diagnoses.iter().for_each(|found| diagnosis(page, "fault", found));
    attempt.advice.iter().for_each(|found| diagnosis(page, "noted", found));
    attempt.repairs.iter().for_each(|made| repair(page, made));
}

fn diagnosis(page: &mut TraceTextPage, kind: &str, diagnosis: &Diagnosis) {
    let place = if diagnosis.path.is_root() { String::new() } else { format!(" at {}", diagnosis.path.as_str()) };
    page.line(&format!("{kind} {} {}{place}: {}", diagnosis.code, diagnosis.code.name(), diagnosis.message));
}

/// Writes a repair: `repaired type_coerced at /days: string → integer`.
fn repair(page: &mut TraceTextPage, repair: &RepairNote) {
    let location = if repair.path.is_root() { "the call" } else { repair.path.as_str() };
    let change = repair.change().map(|change| format!(": {change}")).unwrap_or_default();
    page.line(&format!("repaired {} at {location}{change}", repair.kind.label()));
}

fn execution(page: &mut TraceTextPage, execution: &Execution) {
    let status = execution.status.map(|status| format!(" {status}")).unwrap_or_default();
    page.line(&execution.call.written());
    page.line(&format!(
        "{} of {} → {}{status} ({} ms)",
        execution.operation, execution.toolset, execution.outcome, execution.duration_ms
    ));
    if let Some(reason) = execution.reason {
        page.line(&format!("not sent: {reason}; remedy: {}", execution.remedy.as_deref().unwrap_or("none")));
    }
    if let Some(fault) = execution.credential {
        page.line(&format!(
            "the credential of toolset {} is {}: the operator must fix it",
            execution.toolset,
            fault.label()
        ));
    }
    if let Some(approval) = &execution.approval {
        page.line(&format!("approval {}: {}", approval.id, approval.status.label()));
    }
    if let Some(body) = &execution.body {
        page.line("answer:");
        page.text(body);
    }
    explanation(page, execution.explanation.as_ref());
}

fn explanation(page: &mut TraceTextPage, explanation: Option<&Explanation>) {
    for passage in explanation.into_iter().flat_map(|explanation| &explanation.passages) {
        page.line(&format!("explained by {}:", passage.source));
        page.text(&passage.text);
    }
}

fn round(page: &mut TraceTextPage, round: &Round) {
    page.line(&format!("{} feedback", round.kind));
    let parts = [
        ("action", Some(round.action.as_str())),
        ("observation", Some(round.observation.as_str())),
        ("thought", round.thought.as_deref()),
        ("new action", round.new_action.as_deref()),
    ];
    for (name, text) in parts.into_iter().filter_map(|(name, text)| Some((name, text.filter(|text| !text.is_empty())?)))
    {
        page.line(&format!("{name}:"));
        page.text(text);
    }
}

/// Returns the lines about a plan and its result.
fn plan_lines(note: &PlanNote) -> String {
    let mut lines = format!("{}; {} calls answered", note.result.label(), note.made.len());
    let cost = note.cost;
    let _ = write!(lines, "; drawing it took {} requests and {} tokens", cost.requests, cost.tokens());
    if !note.reason.is_empty() {
        let _ = write!(lines, "\nwhy: {}", note.reason);
    }
    if let Some(plan) = &note.plan {
        let _ = write!(lines, "\n{}", plan.to_string().trim_end());
    }
    for choice in &note.choices {
        let by = match choice.by {
            ChosenBy::Only => "it was the only one",
            ChosenBy::Said => "the conversation names it",
            ChosenBy::Model => "the model chose it",
        };
        let (taken, items) = (choice.taken + 1, choice.items);
        let _ = write!(lines, "\n{} took item {taken} of {items} of {}: {by}", choice.call, choice.from);
    }
    for deviation in &note.deviations {
        let call = if deviation.call.is_empty() { String::new() } else { format!(": {}", deviation.call) };
        let _ = write!(lines, "\nthe client deviated ({}{call})", deviation.kind.label());
    }
    for note in &note.notes {
        let _ = write!(lines, "\nnote: {note}");
    }
    lines
}

/// Text buffer.
#[derive(Debug, Default)]
struct TraceTextPage {
    out: String,
    /// Indentation of the current item's lines.
    indent: &'static str,
    /// Prefix of the current item's first line.
    mark: Option<String>,
}

impl TraceTextPage {
    fn section(&mut self, title: &str) {
        self.indent = "";
        let _ = writeln!(self.out, "\n{title}\n{}", "-".repeat(title.chars().count()));
    }

    /// Writes a section of numbered items; nothing if there are none.
    fn items<T>(&mut self, title: &str, items: &[T], write: fn(&mut TraceTextPage, &T)) {
        if items.is_empty() {
            return;
        }
        self.section(title);
        for (number, item) in (1..).zip(items) {
            self.mark = Some(format!("{number:>2}. "));
            self.indent = "    ";
            write(self, item);
        }
        self.indent = "";
    }

    /// Writes one line; line breaks become spaces.
    fn line(&mut self, text: &str) {
        let mark = self.mark.take().unwrap_or_else(|| self.indent.to_owned());
        let (shown, left) = shown(text);
        let more = if left > 0 { format!(" ({left} bytes more)") } else { String::new() };
        let _ = writeln!(self.out, "{mark}{}{more}", plain(&shown.replace(['\n', '\r'], " ")));
    }

    /// Writes a text of several lines, indented.
    fn text(&mut self, text: &str) {
        let (shown, left) = shown(text);
        for line in shown.lines() {
            let _ = writeln!(self.out, "{}  | {}", self.indent, plain(line));
        }
        if left > 0 {
            let _ = writeln!(self.out, "{}  | ({left} bytes more)", self.indent);
        }
    }
}

/// Returns the shown part of a text, and the number of omitted bytes.
fn shown(text: &str) -> (&str, usize) {
    let end = text.char_indices().nth(TEXT_LENGTH).map_or(text.len(), |(end, _)| end);
    (text.get(..end).unwrap_or_default(), text.len() - end)
}

/// Returns a line without characters that act on a terminal: control characters, and characters that change the text
/// direction (Unicode Standard Annex 9, section 2).
fn plain(line: &str) -> String {
    line.replace(|letter| letter != '\t' && acts_on_terminal(letter), "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn trace(bodies: bool) -> Trace {
        let text = |text: &str| if bodies { text.to_owned() } else { String::new() };
        let call = |arguments: &str| json!({"id": "1", "name": "route", "arguments": text(arguments)});
        let mut trace = json!({
            "id": "0af7", "started_at": "2026-01-01T00:00:00Z", "endpoint": "/v1/chat/completions", "model": "m",
            "upstream": "main", "policy": "default", "mode": "guard", "stream": false, "status": 200, "verdict": "faulty",
            "tools_offered": (0..25).map(|n| format!("tool_{n}")).collect::<Vec<_>>(), "exhausted": "dynamic_feedback",
            "offer": {"candidates": 90, "prefix_change": "limit", "tools": [
                {"name": "tool_0", "reason": "ranked", "share": 1.0}, {"name": "tool_1", "reason": "called"}, {"name": "tool_2", "reason": "ranked"}]},
            "observed": [{"call": call("{}"), "rule": "error", "done": "added",
                "explanation": {"passages": [{"text": "It is closed.", "source": "a.yaml#/x", "score": 1.0}]}}],
            "attempts": [{"purpose": "first", "upstream": "main", "status": 200, "outcome": "success", "verdict": "faulty",
                "calls": [call("{\"x\":1}")], "repairs": [], "usage": {"total_tokens": 10}, "duration_ms": 2.0,
                "diagnoses": [{"code": "E3.4", "call": 0, "path": "/y", "message": text("y is missing"), "facts": null}]}],
            "executions": [{"call": call("{\"x\":1}"), "toolset": "maps", "operation": "GET /route", "outcome": "client_error",
                "status": 401, "credential": "refused", "duration_ms": 5.0,
                "explanation": {"passages": [{"text": "20000: longitude first.", "source": "a.yaml#/y", "score": 1.0}]}}],
            "record": [{"kind": "dynamic", "action": "route({\"x\":1})", "observation": text("400\n\u{1b}[31mred"),
                "thought": text("I see."), "new_action": "route({\"x\":2})"}],
            "usage": {"total_tokens": 10}, "duration_ms": 9.5, "overhead_ms": 0.5,
        });
        if bodies {
            trace["executions"][0]["body"] = json!("{\"info_code\":\"20000\"}");
            trace["request"] = json!({"messages": [{"role": "user", "content": "Plan\na route."}]});
            trace["answer"] =
                json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "I cannot."}}]});
        }
        serde_json::from_value(trace).unwrap()
    }

    #[test]
    fn a_person_finds_everything_in_the_order_in_which_it_happened() {
        let text = write(&trace(true));
        let parts = [
            "Trace 0af7\n",
            "LIMIT REACHED: dynamic_feedback",
            "  | Plan\n  | a route.\n",
            "tool_19 and 5 more",
            "chosen from 90: 1 called, 2 ranked; changed since the previous turn: limit\n",
            " 1. route({})\n    recognised by `error`; the explanation was added",
            "explained by a.yaml#/x:\n      | It is closed.",
            " 1. first → success 200, verdict faulty (2 ms, 10 tokens)\n    call route({\"x\":1})\n    fault E3.4 parameter_missing at /y: y is missing",
            "GET /route of maps → client_error 401 (5 ms)\n    the credential of toolset maps is refused",
            "  | {\"info_code\":\"20000\"}",
            "  | 20000: longitude first.",
            " 1. dynamic feedback\n    action:\n      | route({\"x\":1})\n    observation:\n      | 400\n      | \u{fffd}[31mred",
            "thought:\n      | I see.\n    new action:\n      | route({\"x\":2})",
            "Answer\n------\n  | I cannot.",
        ];
        let mut from = 0;
        for part in parts {
            let at = text.get(from..).unwrap().find(part);
            from += at.unwrap_or_else(|| panic!("{part}\n{text}"));
        }
    }

    #[test]
    fn without_bodies_it_says_what_is_left_out() {
        let text = write(&trace(false));
        assert!(text.contains("policy key `record.bodies`") && !text.contains("observation:"), "{text}");
        assert!(text.contains("fault E3.4 parameter_missing at /y: \n"), "{text}");
    }

    #[test]
    fn a_long_text_is_cut() {
        let mut trace = trace(true);
        trace.executions[0].body = Some("ä".repeat(TEXT_LENGTH + 1));
        assert!(write(&trace).contains("  | (2 bytes more)"));
    }

    #[test]
    fn a_long_line_is_cut_too() {
        let mut trace = trace(true);
        trace.attempts[0].calls[0].arguments = "x".repeat(10 * TEXT_LENGTH);
        trace.error = Some("y".repeat(TEXT_LENGTH + 7));
        let text = write(&trace);
        assert!(text.lines().all(|line| line.chars().count() < TEXT_LENGTH + 100));
        assert!(text.contains("bytes more)\n    fault E3.4"), "{text}");
        assert!(text.contains("yyy (14 bytes more)\n"), "what `ERROR: ` takes is left out too");
    }

    #[test]
    fn what_became_of_a_plan_is_told_in_lines() {
        let note: PlanNote = serde_json::from_value(json!({
            "result": "complete", "reason": "`id` of b is missing, and a supplies it", "made": ["call1"],
            "plan": {"nodes": [{"label": "call1", "tool": "a", "task": "", "arguments": []}], "finals": ["call1"]},
            "choices": [{"call": "call2", "from": "call1", "items": 3, "taken": 1, "by": "model"}],
            "deviations": [{"kind": "changed", "call": "call1"}, {"kind": "answered_itself"}],
            "notes": ["x"], "cost": {"requests": 2, "prompt_tokens": 10, "completion_tokens": 5},
        }))
        .unwrap();
        let text = plan_lines(&note);
        for part in [
            "complete; 1 calls answered; drawing it took 2 requests and 15 tokens",
            "why: `id` of b is missing",
            "call1: a  (goal)",
            "call2 took item 2 of 3 of call1: the model chose it",
            "deviated (changed: call1)",
            "deviated (answered_itself)",
            "note: x",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
}
