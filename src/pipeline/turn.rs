//! The processing of one turn; the file to read first.
//!
//! A turn is one client request, from its arrival to the answer, with all its upstream requests and tool executions.
//! [`Pipeline::take`] opens a turn, [`converse`] is the sequence of stages (one module each under `stages/`), and
//! [`dialogue`](super::dialogue) decides its only loop. [`Turn`] and [`TurnConversation`] hold the state of one turn;
//! [`Pipeline`] holds the services that all turns share.

use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode};
use jiff::Timestamp;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::answer::{AnswerBody, ClientGone, DeliveryAck, PendingAnswer, ResponseSender, Running, TurnAnswer};
use super::charge::{charge, cost, reserve_background};
use super::cpu::CpuWork;
use super::dialogue::{DialogueStep, TurnEnding};
use super::kept_key;
use super::services::Pipeline;
use super::stages::keep::MixedAnswer;
use super::stages::open::{self, TurnRefusal, TurnRequest};
use super::stages::{
    answer, ask, compose, continuation, feed_back, gather, hand_back, judge, keep, observe, offer, plan, recall,
    rejoin, retract, run,
};
use super::state::{JudgedAnswer, Relay, TRACE_HEADER, Turn, TurnConversation, UpstreamReply};
use callwright_types::rules::Mode;
use callwright_types::{Purpose, Trace, TurnOutcome, ids};
use callwright_wire::{ErrorBody, response_id};

/// Target of the line with which each turn ends.
pub(crate) const TURN_LOG_TARGET: &str = module_path!();

impl Pipeline {
    /// Starts a turn. Started work is completed and recorded even if the client disconnects. Needs a Tokio runtime.
    pub async fn take(self: &Arc<Self>, request: Box<TurnRequest>) -> PendingAnswer {
        let cancelled = CancellationToken::new();
        let (head, answer) = oneshot::channel();
        let mut response_sender = ResponseSender::new(head);
        let protocol = request.protocol;
        let turn = match open_turn(self, request, cancelled.clone()).await {
            Ok(turn) => turn,
            Err(refusal) => {
                let mut headers = refusal.headers;
                if is_service_failure(refusal.status.as_u16()) {
                    log_refusal(&mut headers, refusal.status, &refusal.error);
                }
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                let body = AnswerBody::Whole(refusal.error.to_bytes_in(protocol, refusal.status));
                response_sender.whole(TurnAnswer { status: refusal.status, headers, body });
                let running = Running::elsewhere(cancelled, &self.running);
                return PendingAnswer {
                    answer,
                    running,
                    protocol,
                    is_stream: false,
                    is_guarded: false,
                    delivery_ack: None,
                };
            }
        };
        // Error level, so that the span is active at every log level and log lines contain the trace id.
        let span = tracing::error_span!("turn", trace = turn.record.trace.id);
        let is_stream = turn.request.is_stream();
        let is_guarded = turn.policy.mode == Mode::Guard;
        let pipeline = self.clone();
        // API calls have deadlines, so an executing turn must not pause while the client reads nothing.
        if turn.toolsets.is_empty() {
            let turn = async move { drop(process(&pipeline, turn, response_sender).await) };
            let running = Running::here(Box::pin(turn.instrument(span)), cancelled, &self.running);
            return PendingAnswer { answer, running, protocol, is_stream, is_guarded, delivery_ack: None };
        }
        let (delivery_ack, delivered) = DeliveryAck::new();
        let executing = async move {
            if let Some(trace_id) = process(&pipeline, turn, response_sender).await
                && delivered.await.is_ok()
            {
                pipeline.executor.mark_delivered(&trace_id).await;
            }
        };
        self.running.spawn(executing.instrument(span));
        let running = Running::elsewhere(cancelled, &self.running);
        PendingAnswer { answer, running, protocol, is_stream, is_guarded, delivery_ack: Some(delivery_ack) }
    }
}

/// Opens a turn, on a CPU slot if its request is large. Refuses it under load.
async fn open_turn(
    pipeline: &Pipeline,
    request: Box<TurnRequest>,
    cancelled: CancellationToken,
) -> Result<Box<Turn>, Box<TurnRefusal>> {
    let (caller, key, bytes) =
        (request.caller.clone(), kept_key::client_key(&request.headers).cloned(), request.body.len());
    let opened = pipeline.cpu.try_run(
        || kept_key::tenant_of(&caller, key.as_ref()),
        CpuWork::Body,
        bytes,
        || open::open(pipeline, request, cancelled),
    );
    opened.await.unwrap_or_else(|overloaded| Err(open::shed(overloaded)))
}

/// Error of a turn whose client disconnected.
const CLIENT_GONE: &str = "the client went away";

/// Whether the status reports a failure of the service, or a limit of the client.
fn is_service_failure(status: u16) -> bool {
    status >= 500 || status == StatusCode::TOO_MANY_REQUESTS.as_u16()
}

/// Logs a request that was refused before its turn began. The response gets the id that the line has; no trace is
/// stored.
fn log_refusal(headers: &mut HeaderMap, status: StatusCode, error: &ErrorBody) {
    let id = ids::trace_id(Timestamp::now());
    let reason = error.code.as_deref().unwrap_or(&error.kind);
    tracing::warn!(trace = id, status = status.as_u16(), reason, error = error.message, "a request was refused");
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert(TRACE_HEADER, id);
    }
}

/// Processes and records a turn. Returns its trace id if the delivered answer reports the results of executed calls; an
/// error reports none.
async fn process(pipeline: &Arc<Pipeline>, mut turn: Box<Turn>, response_sender: ResponseSender) -> Option<String> {
    if converse(pipeline, &mut turn, response_sender).await.is_err() {
        turn.record.trace.error = Some(CLIENT_GONE.to_owned());
        if turn.record.trace.outcome.is_none() {
            turn.record.conclude(TurnOutcome::Unanswered);
        }
    }
    let streamed = turn.streamed.stream_id().map(str::to_owned);
    reserve_background(pipeline, &turn, streamed).await;
    let trace = &turn.record.trace;
    let has_results = trace.error.is_none() && trace.status == StatusCode::OK.as_u16() && !trace.executions.is_empty();
    let reported = has_results.then(|| trace.id.clone());
    record(pipeline, turn);
    reported
}

/// The path of a request through the stages.
///
/// Futures that are large and rarely needed, or that end before the answer is streamed, are boxed where they are awaited:
/// each of the many open streams keeps the size of the largest one that is not.
async fn converse(pipeline: &Pipeline, turn: &mut Turn, response_sender: ResponseSender) -> Result<(), ClientGone> {
    Box::pin(retract::remove(pipeline, turn)).await;
    let offering = offer::offer(pipeline, turn).await;
    let draft = compose::compose(pipeline, turn, &offering.offer).await;
    let mut conversation = TurnConversation::new(turn, offering, draft, response_sender);
    recall::recall(pipeline, turn, &mut conversation).await;
    observe::observe(pipeline, turn, &mut conversation).await;
    rejoin::rejoin(pipeline, turn, &mut conversation).await;
    continuation::resume(pipeline, turn, &mut conversation).await;
    conversation.plan_run = plan::plan(pipeline, turn, &mut conversation).await;

    let first = conversation.dialogue.start();
    let mut judged = match request_answer(pipeline, turn, &mut conversation, first).await? {
        JudgedReply::Answer(judged) => judged,
        // The client gets the same answer as without the proxy.
        JudgedReply::Relay(relay) => {
            if let Relay::Answer { body, .. } = &relay {
                reserve_background(pipeline, turn, response_id(body)).await;
            }
            return answer::relay(turn, &mut conversation.response_sender, relay).await;
        }
    };
    let mut step = conversation.judged(turn, &judged);
    loop {
        step = match step {
            DialogueStep::FeedBack(Purpose::Confirmation) => {
                if let Some(call) = Box::pin(confirm(pipeline, turn, &mut conversation, &judged)).await? {
                    judged = call;
                }
                conversation.judged(turn, &judged)
            }
            DialogueStep::FeedBack(purpose) => {
                feed_back::feed_back(pipeline, turn, &mut conversation, &judged, purpose);
                DialogueStep::Ask(purpose)
            }
            DialogueStep::Ask(purpose) => {
                let attempt = turn.streamed.attempt();
                match request_answer(pipeline, turn, &mut conversation, purpose).await? {
                    JudgedReply::Answer(next) => {
                        judged = next;
                        conversation.judged(turn, &judged)
                    }
                    // The last answer is better than an error.
                    JudgedReply::Relay(_) => {
                        turn.streamed.return_to(attempt);
                        DialogueStep::Answer(conversation.failed_again(&judged))
                    }
                }
            }
            DialogueStep::Run => {
                let calls = conversation.draft.kept.merged(judged.calls_of_first_choice());
                answer::executed(turn, conversation.offer(), &judged, conversation.draft.kept.len(), &calls);
                let choice = conversation.draft.request().tool_choice();
                let mut ran = run::run(pipeline, turn, &mut conversation.offering, &choice, calls).await;
                if turn.cancelled.is_cancelled() {
                    return Err(ClientGone);
                }
                observe::check(pipeline, turn, &mut conversation, &mut ran).await;
                let next = conversation.ran(turn, &ran);
                hand_back::hand_back(pipeline, turn, &mut conversation, &judged, &ran, next);
                next
            }
            DialogueStep::RunAndAnswer => {
                let mixed = MixedAnswer::new(&judged, &conversation.draft.kept);
                return answer_client(pipeline, turn, &mut conversation, judged, TurnEnding::Judged, mixed).await;
            }
            DialogueStep::Answer(ending) => {
                return answer_client(pipeline, turn, &mut conversation, judged, ending, None).await;
            }
        };
    }
}

/// The next answer of a turn.
enum JudgedReply {
    Answer(JudgedAnswer),
    Relay(Relay),
}

/// Returns the next validated answer: from a running plan, else from the upstream.
async fn request_answer(
    pipeline: &Pipeline,
    turn: &mut Turn,
    conversation: &mut TurnConversation,
    purpose: Purpose,
) -> Result<JudgedReply, ClientGone> {
    if purpose != Purpose::First {
        Box::pin(retract::retract(pipeline, turn)).await;
    }
    if conversation.dialogue.may_follow_plan()
        && let Some(completion) = plan::speak(pipeline, turn, conversation, purpose).await
    {
        let judged = judge::judge_planned(pipeline, turn, conversation, completion);
        if plan::accepts(turn, conversation, &judged) {
            conversation.dialogue.planned();
            turn.streamed.planned();
            return Ok(JudgedReply::Answer(judged));
        }
    }
    match ask::ask(pipeline, turn, conversation, purpose).await {
        UpstreamReply::Completion(completion) => {
            Ok(JudgedReply::Answer(judge::judge(pipeline, turn, conversation, completion, purpose).await))
        }
        UpstreamReply::Relay(relay) => Ok(JudgedReply::Relay(relay)),
        UpstreamReply::ClientGone => Err(ClientGone),
    }
}

/// Requests the confirmation of an answer that may be a call. Returns the confirmed call; `None` if the model intended
/// none, so that the client gets the first answer unchanged.
async fn confirm(
    pipeline: &Pipeline,
    turn: &mut Turn,
    conversation: &mut TurnConversation,
    unsure: &JudgedAnswer,
) -> Result<Option<JudgedAnswer>, ClientGone> {
    feed_back::feed_back(pipeline, turn, conversation, unsure, Purpose::Confirmation);
    let aside = turn.streamed.set_aside();
    match request_answer(pipeline, turn, conversation, Purpose::Confirmation).await? {
        JudgedReply::Answer(answer) if answer.makes_calls() => Ok(Some(answer)),
        JudgedReply::Answer(_) | JudgedReply::Relay(_) => {
            turn.streamed.restore(aside);
            turn.record.declined();
            Ok(None)
        }
    }
}

/// Answers the client. Stores the parts of the turn that the client does not get before it sends the answer. Executes
/// the proxy's calls of a `mixed` answer.
async fn answer_client(
    pipeline: &Pipeline,
    turn: &mut Turn,
    conversation: &mut TurnConversation,
    judged: JudgedAnswer,
    ending: TurnEnding,
    mixed: Option<MixedAnswer>,
) -> Result<(), ClientGone> {
    let makes_no_call = judged.calls().next().is_none();
    let settled = match answer::settle(turn, conversation, judged, ending) {
        Ok(settled) => settled,
        Err(error) => {
            Box::pin(retract::retract(pipeline, turn)).await;
            return answer::refuse(turn, &mut conversation.response_sender, StatusCode::BAD_GATEWAY, &error).await;
        }
    };
    keep::keep(pipeline, turn, conversation, mixed, &settled).await;
    answer::mixed(turn);
    Box::pin(retract::settle(pipeline, turn, &settled)).await;
    continuation::remember(pipeline, turn, &settled).await;
    plan::keep(pipeline, turn, conversation, &settled).await;
    if turn.cancelled.is_cancelled() {
        return Err(ClientGone);
    }
    answer::write(turn, &mut conversation.response_sender, settled).await?;
    // The client has its answer; the rest prepares later turns.
    gather::gather(pipeline, turn, conversation, makes_no_call);
    Ok(())
}

/// Logs the end of a turn: failed ones as warnings, others only where the settings enable it.
fn log(trace: &Trace, log_turns: bool) {
    let is_abandoned = trace.error.as_deref() == Some(CLIENT_GONE);
    let is_failed = is_service_failure(trace.status) || trace.error.is_some() && !is_abandoned;
    if is_failed {
        tracing::warn!(
            model = trace.model,
            policy = trace.policy,
            upstream = trace.upstream,
            status = trace.status,
            reason = trace.error.as_deref().unwrap_or("the upstream's own response"),
            attempts = trace.attempts.len(),
            duration_ms = trace.duration_ms,
            "the turn has failed"
        );
    } else if log_turns {
        tracing::info!(
            model = trace.model,
            policy = trace.policy,
            upstream = trace.upstream,
            status = trace.status,
            verdict = trace.verdict.label(),
            outcome = trace.outcome.map(TurnOutcome::label),
            actions = &*trace.actions.text(),
            attempts = trace.attempts.len(),
            executions = trace.executions.len(),
            tokens = trace.usage.total_tokens,
            duration_ms = trace.duration_ms,
            overhead_ms = trace.overhead_ms,
            "the turn has ended"
        );
    }
}

/// Ends a turn: updates metrics and charges its key. Its log line and its trace are made in another task, so that the
/// connection first sends the answer.
fn record(pipeline: &Arc<Pipeline>, turn: Box<Turn>) {
    let Turn { mut record, in_flight, request_permit, span, .. } = *turn;
    record.end();
    record.trace.cost = cost(pipeline, &record.trace);
    let trace = &record.trace;
    pipeline.metrics.turn_ended(trace);
    charge(pipeline, request_permit, trace);
    if let Some(span) = span {
        pipeline.spans.turn_ended(&span, trace, &record.operations);
    }
    let (shared, log_span) = (Arc::clone(pipeline), tracing::Span::current());
    pipeline.running.spawn(async move {
        log_span.in_scope(|| log(&record.trace, shared.log_turns));
        shared.traces.push(record.close());
        // Without a turn in flight, all traces are stored or counted as waiting.
        drop(in_flight);
    });
}
