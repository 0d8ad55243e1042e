//! The processing of one turn; the file to read first.
//!
//! A turn is one client request, from its arrival to the answer, with all its upstream requests and tool executions.
//! [`take`] processes a turn. [`converse`] is the sequence of stages (one file each under `stages/`), and
//! [`dialogue`](super::dialogue) decides its only loop. [`Turn`] holds the state of one turn; [`Pipeline`] holds the
//! state that all turns share.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{HeaderMap, StatusCode};
use tokio_util::sync::CancellationToken;

use crate::keys::RequestPermit;
use callwright_judge::repair::Unjudged;
use callwright_judge::scanner::Expectations;
use callwright_openai::{ChatRequest, Completion};
use callwright_policy::Policy;
use callwright_telemetry::labels::{Stage, UnjudgedReason};
use callwright_telemetry::{InFlight, SpanContext, TRACEPARENT};
use callwright_types::rules::Mode;
use callwright_upstream::Upstream;

use super::Pipeline;
use super::answer::{ClientGone, ResponseSender};
use super::cpu::CpuWork;
use super::dialogue::{Dialogue, DialogueStep, RequestPurpose, TurnEnding, TurnSpending};
use super::record::TurnRecord;
use super::snapshot::Snapshot;
use super::stages::ask::{Relay, StreamProgress, UpstreamReply};
use super::stages::compose::ChatDraft;
use super::stages::judge::JudgedAnswer;
use super::stages::keep::MixedAnswer;
use super::stages::offer::{Offer, Offering};
use super::stages::plan::PlanRun;
use super::stages::{
    answer, ask, compose, feed_back, gather, hand_back, judge, keep, observe, offer, plan, recall, rejoin, run, secrets,
};

/// An answer is compared with the conversation. Reading the conversation is about this many times faster than
/// validating an answer.
const READ_MORE_QUICKLY: usize = 32;

/// State of a turn from its start to its end.
#[derive(Debug)]
pub(crate) struct Turn {
    /// The client's request, unchanged.
    pub(crate) request: ChatRequest,
    /// The client's header fields.
    pub(crate) headers: HeaderMap,
    /// Catalog, policies and memory at the start of the turn.
    pub(crate) snapshot: Snapshot,
    /// The policy in effect.
    pub(crate) policy: Arc<Policy>,
    /// The current upstream.
    pub(crate) upstream: Arc<Upstream>,
    /// The model's name at that upstream.
    pub(crate) model: String,
    /// Failover upstreams with the model's names there, best first.
    pub(crate) fallbacks: VecDeque<(Arc<Upstream>, String)>,
    /// Toolsets that the alias offers.
    pub(crate) toolsets: Vec<String>,
    /// Whether the client requested debug information.
    pub(crate) debug: bool,
    /// Maximum size of an assembled streamed answer, in bytes.
    pub(crate) max_stream_bytes: usize,
    /// The trace so far.
    pub(crate) record: TurnRecord,
    /// Cancelled when the client disconnects; nothing new starts then.
    pub(crate) cancelled: CancellationToken,
    /// Status of the upstream's answer that the client gets.
    pub(crate) answer_status: StatusCode,
    /// Header fields of the upstream's answer that the client gets.
    pub(crate) answer_headers: HeaderMap,
    /// The part of a stream that the client already has.
    pub(crate) streamed: StreamProgress,
    /// The turn's OpenTelemetry span, if spans are enabled.
    pub(crate) span: Option<SpanContext>,
    /// Counts the turn as in flight.
    pub(crate) in_flight: InFlight,
    /// RequestPermit under the limits of the virtual key; `None` if the proxy does not manage keys.
    pub(crate) request_permit: Option<RequestPermit>,
}

impl Turn {
    /// Whether feedback rounds are impossible (`n > 1` or not in `guard` mode). Several choices have no single
    /// conversation to continue, and outside of `guard` nothing is changed.
    fn is_single(&self) -> bool {
        self.policy.mode != Mode::Guard || self.request.choice_count() > 1
    }

    /// Returns the owner of the turn: the id of the virtual key, or the hash of the client's own key.
    pub(crate) fn tenant(&self) -> &str {
        &self.record.trace().tenant
    }

    /// Returns the client's header fields for the next attempt, with the `traceparent` of its span.
    pub(crate) fn headers_of_attempt(&self) -> Cow<'_, HeaderMap> {
        let Some(span) = &self.span else { return Cow::Borrowed(&self.headers) };
        let mut headers = self.headers.clone();
        headers.insert(TRACEPARENT, span.header_of_attempt(self.record.trace().attempts.len()));
        Cow::Owned(headers)
    }

    /// Switches the turn to the next failover upstream. Returns whether there was one.
    pub(crate) fn fall_back(&mut self) -> bool {
        let Some((upstream, model)) = self.fallbacks.pop_front() else { return false };
        upstream.name().clone_into(&mut self.record.trace_mut().upstream);
        (self.upstream, self.model) = (upstream, model);
        true
    }

    /// Returns the time after which nothing new starts.
    pub(crate) fn time_left(&self) -> Duration {
        Duration::from_secs(self.policy.limits.seconds).saturating_sub(self.record.elapsed())
    }

    /// Returns the time after which upstream requests in flight are aborted.
    pub(crate) fn total_time_left(&self) -> Duration {
        Duration::from_secs(self.policy.limits.total_seconds).saturating_sub(self.record.elapsed())
    }

    /// Returns the resources that the turn has used so far.
    fn spent(&self) -> TurnSpending {
        TurnSpending { tokens: self.record.trace().usage.total_tokens, seconds: self.record.elapsed().as_secs() }
    }
}

/// A turn whose answer reports the results of its calls.
#[derive(Debug)]
pub(crate) struct ResultsReported {
    pub(crate) trace_id: String,
}

/// Processes and records a turn. Returns `ResultsReported` if the delivered answer reports the results of executed
/// calls; an error reports none.
pub(crate) async fn take(
    pipeline: &Pipeline,
    mut turn: Turn,
    mut response_sender: ResponseSender,
) -> Option<ResultsReported> {
    if converse(pipeline, &mut turn, &mut response_sender).await.is_err() {
        turn.record.trace_mut().error = Some("the client went away".to_owned());
    }
    drop(response_sender);
    let trace = turn.record.trace();
    let is_told = trace.error.is_none() && trace.status == StatusCode::OK.as_u16() && !trace.executions.is_empty();
    let told = is_told.then(|| ResultsReported { trace_id: trace.id.clone() });
    pipeline.finish(turn);
    told
}

async fn converse(
    pipeline: &Pipeline,
    turn: &mut Turn,
    response_sender: &mut ResponseSender,
) -> Result<(), ClientGone> {
    let mut offering = offer::offer(pipeline, turn).await;
    let mut draft = compose(pipeline, turn, offering.offer()).await;
    recall::recall(pipeline, turn, offering.offer(), &mut draft).await;
    observe::observe(pipeline, turn, offering.offer(), &mut draft).await;
    rejoin::rejoin(pipeline, turn, &mut draft).await;
    let mut plan_run = plan::plan(pipeline, turn, &mut offering, &mut draft).await;
    let mut dialogue = Dialogue::new(turn.policy.limits.clone(), turn.is_single());

    let first = dialogue.start();
    let mut judged =
        match hear(pipeline, turn, (&mut offering, &mut draft), response_sender, (&mut plan_run, &mut dialogue), first)
            .await
        {
            JudgedReply::Answer(judged) => judged,
            // The client gets the same answer as without the proxy.
            JudgedReply::Relay(relay) => return answer::relay(turn, response_sender, relay).await,
            JudgedReply::ClientGone => return Err(ClientGone),
        };
    let mut step = dialogue.judged(judged.summary(turn, offering.offer(), &draft.kept), turn.spent());
    loop {
        step = match step {
            DialogueStep::FeedBack(RequestPurpose::Confirmation) => {
                timed(pipeline, Stage::FeedBack, || {
                    feed_back::faults(
                        pipeline,
                        turn,
                        offering.offer(),
                        &mut draft,
                        &judged,
                        RequestPurpose::Confirmation,
                    )
                });
                let aside = turn.streamed.set_aside();
                let stages = (&mut plan_run, &mut dialogue);
                match hear(
                    pipeline,
                    turn,
                    (&mut offering, &mut draft),
                    response_sender,
                    stages,
                    RequestPurpose::Confirmation,
                )
                .await
                {
                    JudgedReply::Answer(answer) if answer.makes_calls() => judged = answer,
                    // The model intended no call: the client gets the first answer unchanged.
                    JudgedReply::Answer(_) | JudgedReply::Relay(_) => {
                        turn.streamed.restore(aside);
                        turn.record.declined();
                    }
                    JudgedReply::ClientGone => return Err(ClientGone),
                }
                dialogue.judged(judged.summary(turn, offering.offer(), &draft.kept), turn.spent())
            }
            DialogueStep::FeedBack(purpose) => {
                timed(pipeline, Stage::FeedBack, || {
                    feed_back::faults(pipeline, turn, offering.offer(), &mut draft, &judged, purpose)
                });
                DialogueStep::Ask(purpose)
            }
            DialogueStep::Ask(purpose) => {
                match hear(
                    pipeline,
                    turn,
                    (&mut offering, &mut draft),
                    response_sender,
                    (&mut plan_run, &mut dialogue),
                    purpose,
                )
                .await
                {
                    JudgedReply::Answer(answer) => {
                        judged = answer;
                        dialogue.judged(judged.summary(turn, offering.offer(), &draft.kept), turn.spent())
                    }
                    // The last answer is better than an error.
                    JudgedReply::Relay(_) => {
                        DialogueStep::Answer(dialogue.failed_again(judged.is_of_use(offering.offer(), &draft.kept)))
                    }
                    JudgedReply::ClientGone => return Err(ClientGone),
                }
            }
            DialogueStep::Run => {
                let calls = answer::merged_calls(&draft.kept, &judged);
                let ran = run::run(pipeline, turn, &mut offering, calls).await;
                if turn.cancelled.is_cancelled() {
                    return Err(ClientGone);
                }
                let next = dialogue.ran(ran.any_failed(), turn.spent());
                plan_run.iter_mut().for_each(|plan_run| plan_run.ran(&ran));
                timed(pipeline, Stage::FeedBack, || {
                    hand_back::hand_back(pipeline, turn, &mut draft, &judged, &ran, next);
                    draft.offer(offering.offer());
                });
                next
            }
            DialogueStep::RunAndAnswer => {
                let mixed = keep::mixed(&judged, &draft.kept);
                let ending = (TurnEnding::Judged, mixed);
                return finish(pipeline, turn, (&mut offering, &draft), response_sender, (judged, plan_run), ending)
                    .await;
            }
            DialogueStep::Answer(ending) => {
                return finish(
                    pipeline,
                    turn,
                    (&mut offering, &draft),
                    response_sender,
                    (judged, plan_run),
                    (ending, None),
                )
                .await;
            }
        };
    }
}

/// The next answer of a turn.
enum JudgedReply {
    Answer(JudgedAnswer),
    Relay(Relay),
    ClientGone,
}

/// Returns the next validated answer: from a running plan, else from the upstream.
async fn hear(
    pipeline: &Pipeline,
    turn: &mut Turn,
    (offering, draft): (&mut Offering, &mut ChatDraft),
    response_sender: &mut ResponseSender,
    (plan_run, dialogue): (&mut Option<PlanRun>, &mut Dialogue),
    purpose: RequestPurpose,
) -> JudgedReply {
    if dialogue.may_follow_plan()
        && let Some(completion) = plan::speak(pipeline, turn, (offering, draft), plan_run, purpose).await
    {
        let judged = timed(pipeline, Stage::Judge, || judge::planned(turn, offering.offer(), draft, completion));
        secrets::of_answer(turn, offering.offer(), &judged);
        if plan::accepts(turn, plan_run, &judged) {
            dialogue.planned();
            return JudgedReply::Answer(judged);
        }
    }
    match ask::ask(pipeline, turn, offering.offer(), draft, response_sender, purpose).await {
        UpstreamReply::Completion(completion) => {
            let expectations = plan_run.as_ref().and_then(PlanRun::expectations);
            let judged = judge(pipeline, turn, (offering, draft), completion, expectations.as_ref()).await;
            JudgedReply::Answer(judged)
        }
        UpstreamReply::Relay(relay) => JudgedReply::Relay(relay),
        UpstreamReply::ClientGone => JudgedReply::ClientGone,
    }
}

/// Composes the first upstream request.
async fn compose(pipeline: &Pipeline, turn: &mut Turn, offer: &Offer) -> ChatDraft {
    let (tenant, size) = (turn.tenant().to_owned(), turn.request.size());
    let compose = || {
        timed(pipeline, Stage::Compose, || {
            let draft = compose::first(turn, offer);
            secrets::of_conversation(turn, offer);
            draft
        })
    };
    pipeline.cpu.run(&tenant, (CpuWork::Body, size), compose).await
}

/// Validates an answer. A called tool that was not offered but could be is added to the offer, and then validated like
/// the others.
async fn judge(
    pipeline: &Pipeline,
    turn: &mut Turn,
    (offering, draft): (&mut Offering, &mut ChatDraft),
    completion: Completion,
    expectations: Option<&Expectations>,
) -> JudgedAnswer {
    let (tenant, size) = (turn.tenant().to_owned(), completion.size() + turn.request.size() / READ_MORE_QUICKLY);
    let judge = || {
        timed(pipeline, Stage::Judge, || {
            if offering.take_in(pipeline, turn, completion.called()) {
                draft.offer(offering.offer());
            }
            let judged = judge::judge(turn, offering.offer(), draft, completion, expectations);
            if let Some(unjudged) = judged.unjudged() {
                pipeline.metrics.unjudged_answers.inc(match unjudged {
                    Unjudged::Calls => UnjudgedReason::CallsTime,
                    Unjudged::Text => UnjudgedReason::TextTime,
                });
            }
            secrets::of_answer(turn, offering.offer(), &judged);
            offer::report_problems(&offering.offer().tool_set, &pipeline.metrics);
            judged
        })
    };
    pipeline.cpu.run(&tenant, (CpuWork::Answer, size), judge).await
}

/// Answers the client. Stores the parts of the turn that the client does not get before it sends the answer. Executes
/// the proxy's calls of a `mixed` answer.
async fn finish(
    pipeline: &Pipeline,
    turn: &mut Turn,
    (offering, draft): (&mut Offering, &ChatDraft),
    response_sender: &mut ResponseSender,
    (judged, mut plan_run): (JudgedAnswer, Option<PlanRun>),
    (ending, mixed): (TurnEnding, Option<MixedAnswer>),
) -> Result<(), ClientGone> {
    let is_last_word = judged.calls().next().is_none();
    let settled = match answer::settle(pipeline, turn, offering.offer(), judged, &draft.kept, ending) {
        Ok(settled) => settled,
        Err(error) => return answer::refuse(turn, response_sender, StatusCode::BAD_GATEWAY, &error).await,
    };
    match mixed {
        Some(mixed) => keep::run_and_keep(pipeline, turn, offering, draft, mixed, &settled).await,
        None => keep::keep_rounds(pipeline, turn, draft, &settled).await,
    }
    plan::keep(pipeline, turn, &mut plan_run, &settled).await;
    if turn.cancelled.is_cancelled() {
        return Err(ClientGone);
    }
    answer::write(turn, response_sender, settled).await?;
    // The client has its answer; the rest prepares later turns.
    timed(pipeline, Stage::Gather, || gather::gather(pipeline, turn, offering.offer(), draft, is_last_word));
    Ok(())
}

/// Runs a synchronous stage and records its duration.
fn timed<T>(pipeline: &Pipeline, stage: Stage, run: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let result = run();
    pipeline.metrics.overhead.observe(stage, started.elapsed());
    result
}
