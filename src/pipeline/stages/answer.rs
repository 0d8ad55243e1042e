//! Answer: the last judged answer → JSON or events to the client.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use crate::domain::json::RawObject;
use crate::domain::rules::{Mode, OnExhausted, UsageReport};
use crate::domain::trace::Attempt;
use crate::domain::{Call, Trace, UpstreamFailure, Verdict, ids};
use crate::openai::{Choice, Chunk, Completion, ErrorBody, StreamHead, ToolChoice, emit, event};
use crate::pipeline::Pipeline;
use crate::pipeline::answer::{Answer, AnswerBody, ClientGone, Outlet};
use crate::pipeline::dialogue::Ending;
use crate::pipeline::record::milliseconds;
use crate::pipeline::turn::Turn;
use crate::repair::{JudgedCall, JudgedMessage};
use crate::scanner::CheckedCall;

use super::ask::Relay;
use super::feed_back::is_same;
use super::judge::JudgedAnswer;
use super::offer::Offer;

/// Our id of the turn.
const TRACE_HEADER: HeaderName = HeaderName::from_static("x-callwright-trace");
/// The verdict on the answer.
const VERDICT_HEADER: HeaderName = HeaderName::from_static("x-callwright-verdict");
/// Upstream requests made.
const ATTEMPTS_HEADER: HeaderName = HeaderName::from_static("x-callwright-attempts");
/// Time that was neither the upstream's nor a tool API's.
const OVERHEAD_HEADER: HeaderName = HeaderName::from_static("x-callwright-overhead-ms");
type HeaderName = http::HeaderName;

/// Answers with the last judged answer, in the form that its ending asks for.
pub(crate) async fn answer(
    pipeline: &Pipeline,
    turn: &mut Turn,
    offer: &Offer,
    outlet: &mut Outlet,
    judged: JudgedAnswer,
    kept: &[CheckedCall],
    ending: Ending,
) -> Result<(), ClientGone> {
    let verdict = verdict(turn, &judged, ending);
    turn.record.trace_mut().verdict = verdict;
    turn.record.trace_mut().exhausted = ending.limit().map(|limit| limit.label().to_owned());
    if let (Ending::Exhausted(limit), OnExhausted::Error) = (ending, turn.policy.on_exhausted) {
        let message = format!(
            "the model's calls are still faulty and the limit `{}` is reached; trace {} has the record",
            limit.label(),
            turn.record.trace().id
        );
        let error = ErrorBody {
            message,
            kind: "upstream_error".to_owned(),
            param: None,
            code: Some("feedback_exhausted".to_owned()),
        };
        return fail(turn, outlet, StatusCode::BAD_GATEWAY, &error).await;
    }
    let JudgedAnswer { mut completion, choices } = judged;
    let mut rescued = BTreeMap::new();
    let changed = match ending {
        Ending::Handover(_) => {
            let trace = turn.record.trace();
            completion = Completion::of_text(&trace.model, &pipeline.templates.handover(&trace.record, &trace.id));
            turn.streamed.replaced();
            true
        }
        _ if turn.policy.mode != Mode::Guard || !offer.is_judged() => false,
        _ => {
            let mut changed = false;
            for (number, judged) in choices.iter().enumerate() {
                let kept = if number == 0 { kept } else { &[] };
                let Some(choice) = completion.choices_mut().get_mut(number) else { continue };
                let before = judged.rescued.as_ref().and_then(|_| choice.message.text());
                match change(turn, offer, choice, judged, kept, ending) {
                    Change::None => {}
                    Change::Calls => changed = true,
                    Change::Rescue => {
                        changed = true;
                        let spans = judged.rescued.as_ref().map(|rescued| rescued.spans.as_slice());
                        let left =
                            turn.streamed.unsaid(choice.index, &before.unwrap_or_default(), spans.unwrap_or(&[]));
                        rescued.insert(choice.index, left);
                    }
                }
            }
            changed
        }
    };
    deliver(turn, outlet, completion, changed, &rescued).await
}

/// What was changed in a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    None,
    /// Its calls.
    Calls,
    /// Its text, of which calls were made.
    Rescue,
}

/// Makes a choice what the client gets.
fn change(
    turn: &Turn,
    offer: &Offer,
    choice: &mut Choice,
    judged: &JudgedMessage,
    kept: &[CheckedCall],
    ending: Ending,
) -> Change {
    let pass_faulty = match ending {
        Ending::Exhausted(_) => turn.policy.on_exhausted == OnExhausted::Pass,
        _ => true,
    };
    // Faulty calls that were text are passed on as what they were.
    let stays_text = pass_faulty && judged.calls.iter().any(|call| call.result.is_err());
    let rescued = judged.rescued.as_ref();
    let calls = if rescued.is_some() && stays_text { &[][..] } else { &judged.calls };
    let wanted = wanted_calls(turn, offer, calls, kept, pass_faulty);
    if let Some(rescued) = rescued.filter(|_| !stays_text) {
        choice.rescue(&rescued.text, &wanted, turn.request.is_legacy());
        return Change::Rescue;
    }
    let mut changed = false;
    if wanted != choice.message.calls() || !choice.message.is_well_formed() {
        choice.set_calls(&wanted);
        changed = true;
    }
    changed |= says_stop_for_calls(turn, choice) && choice.finish_with_calls();
    if changed { Change::Calls } else { Change::None }
}

/// Agents decide by the finish reason whether there are calls to make. Where a call was forced, `stop` is what OpenAI
/// itself says, and clients know it.
fn says_stop_for_calls(turn: &Turn, choice: &Choice) -> bool {
    let is_free = matches!(turn.request.tool_choice(), ToolChoice::Auto | ToolChoice::Allowed { required: false, .. });
    is_free && choice.finish_reason.as_deref() == Some("stop") && !choice.message.calls().is_empty()
}

/// The verdict on the turn as a whole.
fn verdict(turn: &Turn, judged: &JudgedAnswer, ending: Ending) -> Verdict {
    let trace = turn.record.trace();
    if turn.policy.mode == Mode::Off {
        return Verdict::Unguarded;
    }
    if ending.limit().is_some() {
        return Verdict::Faulty;
    }
    match judged.verdict() {
        Verdict::Faulty => Verdict::Faulty,
        _ if !trace.record.is_empty() => Verdict::Corrected,
        _ if trace.attempts.iter().any(|attempt| !attempt.repairs.is_empty()) => Verdict::Repaired,
        Verdict::Text if !trace.executions.is_empty() => Verdict::Clean,
        verdict => verdict,
    }
}

/// The calls that the client gets: those that were kept, then the answer's, repaired; never a call of a tool that the
/// client does not know.
fn wanted_calls(
    turn: &Turn,
    offer: &Offer,
    calls: &[JudgedCall],
    kept: &[CheckedCall],
    pass_faulty: bool,
) -> Vec<Call> {
    let mut wanted: Vec<Call> = kept.iter().map(|checked| checked.call().clone()).collect();
    for judged in calls {
        let call = match &judged.result {
            Ok(checked) if kept.iter().any(|kept| is_same(kept, checked)) => continue,
            Ok(checked) => checked.call().clone(),
            Err(_) if pass_faulty => judged.made.clone(),
            Err(_) => continue,
        };
        wanted.push(with_fresh_id(call, &wanted));
    }
    wanted.retain(|call| !(offer.is_proxys(&call.name) && offer.toolbook.get(&call.name).is_some()));
    if !turn.request.parallel_tool_calls() {
        wanted.truncate(1);
    }
    wanted
}

/// Two attempts may use the same id for different calls.
fn with_fresh_id(mut call: Call, earlier: &[Call]) -> Call {
    if earlier.iter().any(|other| other.id == call.id) {
        call.id = ids::call_id();
    }
    call
}

/// All checked calls of an answer and those kept before it, once each.
pub(crate) fn merged_calls(kept: &[CheckedCall], judged: &JudgedAnswer) -> Vec<CheckedCall> {
    let mut merged = kept.to_vec();
    for checked in
        judged.choices.first().into_iter().flat_map(|choice| &choice.calls).filter_map(|call| call.result.as_ref().ok())
    {
        if !merged.iter().any(|earlier| is_same(earlier, checked)) {
            merged.push(checked.clone());
        }
    }
    merged
}

async fn deliver(
    turn: &mut Turn,
    outlet: &mut Outlet,
    mut completion: Completion,
    changed: bool,
    rescued: &BTreeMap<u32, String>,
) -> Result<(), ClientGone> {
    turn.record.trace_mut().status = StatusCode::OK.as_u16();
    if turn.record.keeps_bodies() {
        turn.record.trace_mut().answer = Some(completion.to_value());
    }
    let sum = turn.policy.usage == UsageReport::Sum && turn.record.trace().attempts.len() > 1;
    if sum {
        completion.set_usage(turn.record.trace().usage);
    }
    // Outside `guard` an upstream that does not stream is passed on as it is.
    let is_changed = turn.policy.mode == Mode::Guard || turn.streamed.head.is_some();
    if turn.request.is_stream() && is_changed {
        return stream(turn, outlet, &completion, changed || sum, rescued).await;
    }
    if turn.debug {
        completion.set_debug(&debug(turn));
    }
    let headers = turn.answer_headers();
    outlet.whole(Answer { status: turn.answer_status, headers, body: AnswerBody::Whole(completion.to_bytes()) });
    Ok(())
}

async fn stream(
    turn: &mut Turn,
    outlet: &mut Outlet,
    completion: &Completion,
    changed: bool,
    rescued: &BTreeMap<u32, String>,
) -> Result<(), ClientGone> {
    if turn.streamed.delivered {
        return Ok(());
    }
    let opened = outlet.is_open();
    outlet.open(turn.stream_headers())?;
    let mut out = BytesMut::new();
    let only_held = turn.streamed.verbatim && turn.streamed.unsent.is_empty() && turn.streamed.head.is_some();
    if only_held && !changed {
        for choice in completion.choices() {
            write_held_text(turn, choice, &mut out);
        }
        turn.streamed.held.iter().for_each(|event| out.extend_from_slice(event));
    } else {
        compose(turn, completion, rescued, opened, &mut out);
    }
    if turn.debug {
        let head = head(turn, completion);
        out.extend_from_slice(&emit::debug(&head, &debug(turn)));
    }
    out.extend_from_slice(emit::DONE);
    outlet.send(out.freeze()).await
}

/// Writes what the client does not have yet as well-formed events.
fn compose(turn: &Turn, completion: &Completion, rescued: &BTreeMap<u32, String>, opened: bool, out: &mut BytesMut) {
    let head = head(turn, completion);
    for choice in completion.choices() {
        if !opened {
            out.extend_from_slice(&emit::role(&head, choice.index));
        }
        if turn.streamed.head.is_none() {
            // The upstream did not stream: all of the message is still to be said.
            let members = emit::members(&head, choice.index, &choice.message.other_members());
            members.into_iter().for_each(|event| out.extend_from_slice(&event));
        }
        compose_text(turn, choice, rescued.get(&choice.index), &head, out);
        for event in emit::message_calls(&head, choice.index, 0, &choice.message) {
            out.extend_from_slice(&event);
        }
        let reason = choice.finish_reason.as_deref().unwrap_or("stop");
        out.extend_from_slice(&emit::finish(&head, choice.index, reason));
    }
    if turn.request.wants_usage_chunk()
        && let Some(usage) = completion.usage()
    {
        out.extend_from_slice(&emit::usage(&head, usage));
    }
}

/// Text that has not flowed: what was held, or all of a later attempt's, but what the client has is not repeated. Of a text of
/// which calls were made, `left` is left.
fn compose_text(turn: &Turn, choice: &Choice, left: Option<&String>, head: &StreamHead, out: &mut BytesMut) {
    let text = choice.message.text().unwrap_or_default();
    let sent = turn.streamed.texts.get(&choice.index).map(|sent| sent.text.as_str()).unwrap_or_default();
    if sent.is_empty() && !turn.streamed.unsent.is_empty() {
        // Nothing has flowed: the chunks as they came, unknown fields (reasoning) included.
        let texts = turn.streamed.unsent.iter().filter_map(Chunk::without_calls_and_finish);
        let texts = texts.filter_map(|chunk| if left.is_some() { chunk.without_text() } else { Some(chunk) });
        for mut chunk in texts.filter_map(|chunk| chunk.without_role()) {
            chunk.set_head(head);
            out.extend_from_slice(&chunk.to_event());
        }
    } else if left.is_none() && turn.streamed.holds(choice.index) {
        return write_held_text(turn, choice, out);
    } else if left.is_none() {
        let rest = text.strip_prefix(sent).unwrap_or(&text);
        if !rest.is_empty() {
            out.extend_from_slice(&emit::text(head, choice.index, rest));
        }
    }
    if let Some(left) = left.filter(|left| !left.is_empty()) {
        out.extend_from_slice(&emit::text(head, choice.index, left));
    }
}

fn write_held_text(turn: &Turn, choice: &Choice, out: &mut BytesMut) {
    let held = turn.streamed.texts.get(&choice.index).map(|text| &text.held);
    held.into_iter().flatten().for_each(|held| held.write(out));
}

fn head(turn: &Turn, completion: &Completion) -> StreamHead {
    turn.streamed.head.clone().unwrap_or_else(|| StreamHead {
        id: completion.id().map_or_else(ids::completion_id, str::to_owned),
        model: completion.model().unwrap_or(&turn.record.trace().model).to_owned(),
        created: turn.record.trace().started_at.as_second(),
        extra: RawObject::default(),
    })
}

/// Passes on what is not ours to judge, or says why there is nothing.
pub(crate) async fn relay(turn: &mut Turn, outlet: &mut Outlet, relay: Relay) -> Result<(), ClientGone> {
    match relay {
        Relay::Answer { status, body } => {
            turn.record.trace_mut().status = status.as_u16();
            if outlet.is_open() {
                outlet.send(event(&body)).await?;
                return outlet.send(Bytes::from_static(emit::DONE)).await;
            }
            let headers = turn.answer_headers();
            outlet.whole(Answer { status, headers, body: AnswerBody::Whole(body) });
            Ok(())
        }
        Relay::ErrorEvent(event) => {
            turn.record.trace_mut().status = StatusCode::OK.as_u16();
            turn.record.trace_mut().error = Some("the upstream sent an error inside its stream".to_owned());
            outlet.open(turn.stream_headers())?;
            outlet.send(event).await
        }
        Relay::Failure(failure) => {
            let status = StatusCode::from_u16(failure.kind.status()).unwrap_or(StatusCode::BAD_GATEWAY);
            fail(turn, outlet, status, &error_of(&failure)).await
        }
    }
}

fn error_of(failure: &UpstreamFailure) -> ErrorBody {
    ErrorBody {
        message: failure.to_string(),
        kind: "upstream_error".to_owned(),
        param: None,
        code: Some(failure.kind.label().to_owned()),
    }
}

/// Tells the client of an error: as status and body, or as an event where the status has been sent.
async fn fail(turn: &mut Turn, outlet: &mut Outlet, status: StatusCode, error: &ErrorBody) -> Result<(), ClientGone> {
    turn.record.trace_mut().error = Some(error.message.clone());
    turn.record.trace_mut().status = if outlet.is_open() { StatusCode::OK.as_u16() } else { status.as_u16() };
    if outlet.is_open() {
        return outlet.send(emit::error(error)).await;
    }
    // The body is ours: of the upstream's header fields none describes it.
    turn.answer_headers = HeaderMap::new();
    turn.answer_headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let headers = turn.answer_headers();
    outlet.whole(Answer { status, headers, body: AnswerBody::Whole(error.to_bytes()) });
    Ok(())
}

/// What was done, for `x-callwright-debug`.
fn debug(turn: &Turn) -> Value {
    let trace = turn.record.trace();
    json!({
        "trace": trace.id,
        "policy": trace.policy,
        "mode": trace.mode,
        "verdict": trace.verdict,
        "tools_offered": trace.tools_offered,
        "attempts": trace.attempts.len(),
        "diagnoses": of_attempts(trace, |attempt| json!(attempt.diagnoses)),
        "advice": of_attempts(trace, |attempt| json!(attempt.advice)),
        "repairs": of_attempts(trace, |attempt| json!(attempt.repairs)),
        "executions": trace.executions.iter().map(|execution| json!({
            "call": execution.call,
            "operation": execution.operation,
            "outcome": execution.outcome,
            "status": execution.status,
            "explanation": execution.explanation,
        })).collect::<Vec<_>>(),
        "record": trace.record,
        "exhausted": trace.exhausted,
        "usage": trace.usage,
    })
}

/// What each attempt has of something, with the attempt's number (from 1).
fn of_attempts(trace: &Trace, what: impl Fn(&Attempt) -> Value) -> Vec<Value> {
    let numbered = trace.attempts.iter().enumerate().flat_map(|(number, attempt)| {
        let Value::Array(items) = what(attempt) else { return Vec::new() };
        items
            .into_iter()
            .map(|mut item| {
                item["attempt"] = json!(number + 1);
                item
            })
            .collect()
    });
    numbered.collect()
}

impl Turn {
    /// Header fields of a whole answer.
    fn answer_headers(&self) -> HeaderMap {
        let trace = self.record.trace();
        let mut headers = self.stream_headers();
        headers.insert(VERDICT_HEADER, HeaderValue::from_static(trace.verdict.label()));
        headers.insert(ATTEMPTS_HEADER, HeaderValue::from(trace.attempts.len()));
        let overhead = HeaderValue::from_str(&format!("{:.3}", milliseconds(self.record.overhead())));
        if let Ok(overhead) = overhead {
            headers.insert(OVERHEAD_HEADER, overhead);
        }
        headers
    }

    /// Header fields of a stream, whose head leaves before the rest is known.
    pub(crate) fn stream_headers(&self) -> HeaderMap {
        let mut headers = self.answer_headers.clone();
        if let Ok(id) = HeaderValue::from_str(&self.record.trace().id) {
            headers.insert(TRACE_HEADER, id);
        }
        headers
    }
}
