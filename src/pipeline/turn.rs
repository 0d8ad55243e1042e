//! One turn, from its arrival to the answer: the file to read first.
//!
//! [`take`] is the whole of it; [`converse`] is the visible sequence of stages (one file each under `stages/`), and the
//! only loop is the one that [`dialogue`](super::dialogue) decides. Everything a turn knows is in [`Turn`]; what all
//! turns share is in [`Pipeline`].

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{HeaderMap, StatusCode};
use tokio_util::sync::CancellationToken;

use crate::keys::Admission;
use callwright_judge::repair::Unjudged;
use callwright_judge::scanner::Expectations;
use callwright_openai::{ChatRequest, Completion};
use callwright_policy::Policy;
use callwright_telemetry::labels::{Stage, UnjudgedReason};
use callwright_telemetry::{InFlight, SpanContext, TRACEPARENT};
use callwright_types::rules::Mode;
use callwright_upstream::Upstream;

use super::Pipeline;
use super::answer::{ClientGone, Outlet};
use super::cpu::Work;
use super::dialogue::{Dialogue, Ending, Purpose, Spent, Step};
use super::record::Record;
use super::snapshot::Snapshot;
use super::stages::ask::{Asked, Relay, Streamed};
use super::stages::compose::Draft;
use super::stages::judge::JudgedAnswer;
use super::stages::keep::Mixed;
use super::stages::offer::{Offer, Offering};
use super::stages::plan::Course;
use super::stages::{
    answer, ask, compose, feed_back, gather, hand_back, judge, keep, observe, offer, plan, recall, rejoin, run, secrets,
};

/// An answer is compared with the conversation, which is read about so many times as quickly as the answer is judged.
const READ_MORE_QUICKLY: usize = 32;

/// What is known about a turn from its start to its end.
#[derive(Debug)]
pub(crate) struct Turn {
    /// The client's request, as it came.
    pub(crate) request: ChatRequest,
    /// The client's header fields.
    pub(crate) headers: HeaderMap,
    /// The world as it was when the turn began.
    pub(crate) snapshot: Snapshot,
    /// The rules that hold.
    pub(crate) policy: Arc<Policy>,
    /// Where the model is.
    pub(crate) upstream: Arc<Upstream>,
    /// The model's name there.
    pub(crate) model: String,
    /// Who stands in for that upstream, best first: upstreams and the model's names there.
    pub(crate) fallbacks: VecDeque<(Arc<Upstream>, String)>,
    /// Toolsets that the alias offers.
    pub(crate) toolsets: Vec<String>,
    /// Does the client want to see what was done?
    pub(crate) debug: bool,
    /// Largest assembled answer of a stream, in bytes.
    pub(crate) max_stream_bytes: usize,
    /// The trace so far.
    pub(crate) record: Record,
    /// Told when the client goes away: nothing new begins then.
    pub(crate) cancelled: CancellationToken,
    /// Status and header fields of the upstream's answer that the client gets.
    pub(crate) answer_status: StatusCode,
    /// See `answer_status`.
    pub(crate) answer_headers: HeaderMap,
    /// What of a stream the client has.
    pub(crate) streamed: Streamed,
    /// The turn's OpenTelemetry span, where spans are made.
    pub(crate) span: Option<SpanContext>,
    /// Counts the turn among those under way.
    pub(crate) in_flight: InFlight,
    /// The turn's place among those of its key; `None` where keys are not the proxy's own.
    pub(crate) admission: Option<Admission>,
}

impl Turn {
    /// Is one answer all there can be? With several choices there is no one conversation to go on with, and outside
    /// `guard` nothing is changed.
    fn is_single(&self) -> bool {
        self.policy.mode != Mode::Guard || self.request.choice_count() > 1
    }

    /// Whose turn it is: the id of the virtual key, or the hash of the client's own.
    pub(crate) fn tenant(&self) -> &str {
        &self.record.trace().tenant
    }

    /// The client's header fields as the next attempt's upstream is to see them: told which span asks.
    pub(crate) fn headers_of_attempt(&self) -> Cow<'_, HeaderMap> {
        let Some(span) = &self.span else { return Cow::Borrowed(&self.headers) };
        let mut headers = self.headers.clone();
        headers.insert(TRACEPARENT, span.header_of_attempt(self.record.trace().attempts.len()));
        Cow::Owned(headers)
    }

    /// Has the turn asked its upstream in vain, and is there another one? Then that is the turn's from here on.
    pub(crate) fn fall_back(&mut self) -> bool {
        let Some((upstream, model)) = self.fallbacks.pop_front() else { return false };
        upstream.name().clone_into(&mut self.record.trace_mut().upstream);
        (self.upstream, self.model) = (upstream, model);
        true
    }

    /// Time after which nothing new begins.
    pub(crate) fn time_left(&self) -> Duration {
        Duration::from_secs(self.policy.limits.seconds).saturating_sub(self.record.elapsed())
    }

    /// Time after which what is still under way at an upstream is cut off.
    pub(crate) fn total_time_left(&self) -> Duration {
        Duration::from_secs(self.policy.limits.total_seconds).saturating_sub(self.record.elapsed())
    }

    /// What the turn has spent so far.
    fn spent(&self) -> Spent {
        Spent { tokens: self.record.trace().usage.total_tokens, seconds: self.record.elapsed().as_secs() }
    }
}

/// A turn whose answer tells what became of its calls.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) trace_id: String,
}

/// Takes a turn through its stages, and records it. Says whether there are outcomes that the client knows once it has the answer: an
/// error tells none.
pub(crate) async fn take(pipeline: &Pipeline, mut turn: Turn, mut outlet: Outlet) -> Option<Told> {
    if converse(pipeline, &mut turn, &mut outlet).await.is_err() {
        turn.record.trace_mut().error = Some("the client went away".to_owned());
    }
    drop(outlet);
    let trace = turn.record.trace();
    let is_told = trace.error.is_none() && trace.status == StatusCode::OK.as_u16() && !trace.executions.is_empty();
    let told = is_told.then(|| Told { trace_id: trace.id.clone() });
    pipeline.finish(turn);
    told
}

async fn converse(pipeline: &Pipeline, turn: &mut Turn, outlet: &mut Outlet) -> Result<(), ClientGone> {
    let mut offering = offer::offer(pipeline, turn).await;
    let mut draft = compose(pipeline, turn, offering.offer()).await;
    recall::recall(pipeline, turn, offering.offer(), &mut draft).await;
    observe::observe(pipeline, turn, offering.offer(), &mut draft).await;
    rejoin::rejoin(pipeline, turn, &mut draft).await;
    let mut course = plan::plan(pipeline, turn, &mut offering, &mut draft).await;
    let mut dialogue = Dialogue::new(turn.policy.limits.clone(), turn.is_single());

    let first = dialogue.start();
    let mut judged =
        match hear(pipeline, turn, (&mut offering, &mut draft), outlet, (&mut course, &mut dialogue), first).await {
            Heard::Answer(judged) => judged,
            // The client sees what it would have seen without us.
            Heard::Relay(relay) => return answer::relay(turn, outlet, relay).await,
            Heard::ClientGone => return Err(ClientGone),
        };
    let mut step = dialogue.judged(judged.summary(turn, offering.offer(), &draft.kept), turn.spent());
    loop {
        step = match step {
            Step::FeedBack(Purpose::Confirmation) => {
                timed(pipeline, Stage::FeedBack, || {
                    feed_back::faults(pipeline, turn, offering.offer(), &mut draft, &judged, Purpose::Confirmation)
                });
                let aside = turn.streamed.set_aside();
                let stages = (&mut course, &mut dialogue);
                match hear(pipeline, turn, (&mut offering, &mut draft), outlet, stages, Purpose::Confirmation).await {
                    Heard::Answer(answer) if answer.makes_calls() => judged = answer,
                    // No call was meant: the client gets the first answer as it came.
                    Heard::Answer(_) | Heard::Relay(_) => {
                        turn.streamed.restore(aside);
                        turn.record.declined();
                    }
                    Heard::ClientGone => return Err(ClientGone),
                }
                dialogue.judged(judged.summary(turn, offering.offer(), &draft.kept), turn.spent())
            }
            Step::FeedBack(purpose) => {
                timed(pipeline, Stage::FeedBack, || {
                    feed_back::faults(pipeline, turn, offering.offer(), &mut draft, &judged, purpose)
                });
                Step::Ask(purpose)
            }
            Step::Ask(purpose) => {
                match hear(pipeline, turn, (&mut offering, &mut draft), outlet, (&mut course, &mut dialogue), purpose)
                    .await
                {
                    Heard::Answer(answer) => {
                        judged = answer;
                        dialogue.judged(judged.summary(turn, offering.offer(), &draft.kept), turn.spent())
                    }
                    // What we have is better than an error.
                    Heard::Relay(_) => {
                        Step::Answer(dialogue.failed_again(judged.is_of_use(offering.offer(), &draft.kept)))
                    }
                    Heard::ClientGone => return Err(ClientGone),
                }
            }
            Step::Run => {
                let calls = answer::merged_calls(&draft.kept, &judged);
                let ran = run::run(pipeline, turn, &mut offering, calls).await;
                if turn.cancelled.is_cancelled() {
                    return Err(ClientGone);
                }
                let next = dialogue.ran(ran.any_failed(), turn.spent());
                course.iter_mut().for_each(|course| course.ran(&ran));
                timed(pipeline, Stage::FeedBack, || {
                    hand_back::hand_back(pipeline, turn, &mut draft, &judged, &ran, next);
                    draft.offer(offering.offer());
                });
                next
            }
            Step::RunAndAnswer => {
                let mixed = keep::mixed(&judged, &draft.kept);
                let ending = (Ending::Judged, mixed);
                return finish(pipeline, turn, (&mut offering, &draft), outlet, (judged, course), ending).await;
            }
            Step::Answer(ending) => {
                return finish(pipeline, turn, (&mut offering, &draft), outlet, (judged, course), (ending, None)).await;
            }
        };
    }
}

/// What the next answer is.
enum Heard {
    Answer(JudgedAnswer),
    Relay(Relay),
    ClientGone,
}

/// The next answer, judged: that of a plan under way, else the upstream's.
async fn hear(
    pipeline: &Pipeline,
    turn: &mut Turn,
    (offering, draft): (&mut Offering, &mut Draft),
    outlet: &mut Outlet,
    (course, dialogue): (&mut Option<Course>, &mut Dialogue),
    purpose: Purpose,
) -> Heard {
    if dialogue.may_follow_plan()
        && let Some(completion) = plan::speak(pipeline, turn, (offering, draft), course, purpose).await
    {
        let judged = timed(pipeline, Stage::Judge, || judge::planned(turn, offering.offer(), draft, completion));
        secrets::of_answer(turn, offering.offer(), &judged);
        if plan::accepts(turn, course, &judged) {
            dialogue.planned();
            return Heard::Answer(judged);
        }
    }
    match ask::ask(pipeline, turn, offering.offer(), draft, outlet, purpose).await {
        Asked::Completion(completion) => {
            let expectations = course.as_ref().and_then(Course::expectations);
            let judged = judge(pipeline, turn, (offering, draft), completion, expectations.as_ref()).await;
            Heard::Answer(judged)
        }
        Asked::Relay(relay) => Heard::Relay(relay),
        Asked::ClientGone => Heard::ClientGone,
    }
}

/// The first upstream request.
async fn compose(pipeline: &Pipeline, turn: &mut Turn, offer: &Offer) -> Draft {
    let (tenant, size) = (turn.tenant().to_owned(), turn.request.size());
    let compose = || {
        timed(pipeline, Stage::Compose, || {
            let draft = compose::first(turn, offer);
            secrets::of_conversation(turn, offer);
            draft
        })
    };
    pipeline.cpu.run(&tenant, (Work::Body, size), compose).await
}

/// Judges an answer. A tool that it calls, that is not offered and that could be, is offered from here on, and judged as if it had been.
async fn judge(
    pipeline: &Pipeline,
    turn: &mut Turn,
    (offering, draft): (&mut Offering, &mut Draft),
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
            offer::report_problems(&offering.offer().toolbook, &pipeline.metrics);
            judged
        })
    };
    pipeline.cpu.run(&tenant, (Work::Answer, size), judge).await
}

/// Answers the client. What it does not get of the turn is kept before the answer leaves; of a `mixed` answer the proxy's calls are run.
async fn finish(
    pipeline: &Pipeline,
    turn: &mut Turn,
    (offering, draft): (&mut Offering, &Draft),
    outlet: &mut Outlet,
    (judged, mut course): (JudgedAnswer, Option<Course>),
    (ending, mixed): (Ending, Option<Mixed>),
) -> Result<(), ClientGone> {
    let is_last_word = judged.calls().next().is_none();
    let settled = match answer::settle(pipeline, turn, offering.offer(), judged, &draft.kept, ending) {
        Ok(settled) => settled,
        Err(error) => return answer::refuse(turn, outlet, StatusCode::BAD_GATEWAY, &error).await,
    };
    match mixed {
        Some(mixed) => keep::run_and_keep(pipeline, turn, offering, draft, mixed, &settled).await,
        None => keep::keep_rounds(pipeline, turn, draft, &settled).await,
    }
    plan::keep(pipeline, turn, &mut course, &settled).await;
    if turn.cancelled.is_cancelled() {
        return Err(ClientGone);
    }
    answer::write(turn, outlet, settled).await?;
    // The client has its answer; what is left is for later turns.
    timed(pipeline, Stage::Gather, || gather::gather(pipeline, turn, offering.offer(), draft, is_last_word));
    Ok(())
}

/// Runs a stage that does not wait, and meters its time.
fn timed<T>(pipeline: &Pipeline, stage: Stage, run: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let result = run();
    pipeline.metrics.overhead.observe(stage, started.elapsed());
    result
}
