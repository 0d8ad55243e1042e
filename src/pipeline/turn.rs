//! One turn, from its arrival to the answer: the file to read first.
//!
//! [`take`] is the whole of it; [`converse`] is the visible sequence of stages (one file each under `stages/`), and the
//! only loop is the one that [`dialogue`](super::dialogue) decides. Everything a turn knows is in [`Turn`]; what all
//! turns share is in [`Pipeline`].

use std::sync::Arc;
use std::time::Instant;

use http::{HeaderMap, StatusCode};
use tokio_util::sync::CancellationToken;

use crate::domain::rules::Mode;
use crate::openai::{ChatRequest, Completion};
use crate::policy::Policy;
use crate::telemetry::InFlight;
use crate::telemetry::labels::Stage;
use crate::upstream::Upstream;

use super::Pipeline;
use super::answer::{ClientGone, Outlet};
use super::dialogue::{Dialogue, Ending, Spent, Step};
use super::record::Record;
use super::snapshot::Snapshot;
use super::stages::ask::{Asked, Streamed};
use super::stages::compose::Draft;
use super::stages::judge::JudgedAnswer;
use super::stages::keep::Mixed;
use super::stages::offer::Offering;
use super::stages::{answer, ask, compose, feed_back, hand_back, judge, keep, observe, offer, rejoin, run};

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
    /// Counts the turn among those under way.
    pub(crate) in_flight: InFlight,
}

impl Turn {
    /// Is one answer all there can be? With several choices there is no one conversation to go on with, and outside
    /// `guard` nothing is changed.
    fn is_single(&self) -> bool {
        self.policy.mode != Mode::Guard || self.request.choice_count() > 1
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
    let mut draft = timed(pipeline, Stage::Compose, || compose::first(turn, offering.offer()));
    observe::observe(pipeline, turn, offering.offer(), &mut draft).await;
    rejoin::rejoin(pipeline, turn, &mut draft).await;
    let mut dialogue = Dialogue::new(turn.policy.limits.clone(), turn.is_single());

    let first = dialogue.start();
    let mut judged = match ask::ask(pipeline, turn, offering.offer(), &draft, outlet, first).await {
        Asked::Completion(completion) => judge(pipeline, turn, &mut offering, &mut draft, completion),
        // The client sees what it would have seen without us.
        Asked::Relay(relay) => return answer::relay(turn, outlet, relay).await,
        Asked::ClientGone => return Err(ClientGone),
    };
    let mut step = dialogue.judged(judged.summary(turn, offering.offer(), &draft.kept), turn.spent());
    loop {
        step = match step {
            Step::FeedBack(purpose) => {
                timed(pipeline, Stage::FeedBack, || {
                    feed_back::faults(pipeline, turn, offering.offer(), &mut draft, &judged, purpose)
                });
                Step::Ask(purpose)
            }
            Step::Ask(purpose) => match ask::ask(pipeline, turn, offering.offer(), &draft, outlet, purpose).await {
                Asked::Completion(completion) => {
                    judged = judge(pipeline, turn, &mut offering, &mut draft, completion);
                    dialogue.judged(judged.summary(turn, offering.offer(), &draft.kept), turn.spent())
                }
                // What we have is better than an error.
                Asked::Relay(_) => Step::Answer(dialogue.failed_again(judged.is_of_use(offering.offer(), &draft.kept))),
                Asked::ClientGone => return Err(ClientGone),
            },
            Step::Run => {
                let calls = answer::merged_calls(&draft.kept, &judged);
                let ran = run::run(pipeline, turn, &mut offering, calls).await;
                if turn.cancelled.is_cancelled() {
                    return Err(ClientGone);
                }
                let next = dialogue.ran(ran.any_failed(), turn.spent());
                timed(pipeline, Stage::FeedBack, || {
                    hand_back::hand_back(pipeline, turn, &mut draft, &judged, &ran, next);
                    draft.offer(offering.offer());
                });
                next
            }
            Step::RunAndAnswer => {
                let mixed = keep::mixed(&judged, &draft.kept);
                return finish(pipeline, turn, (&mut offering, &draft), outlet, judged, Ending::Judged, mixed).await;
            }
            Step::Answer(ending) => {
                return finish(pipeline, turn, (&mut offering, &draft), outlet, judged, ending, None).await;
            }
        };
    }
}

/// Judges an answer. A tool that it calls, that is not offered and that could be, is offered from here on, and judged as if it had been.
fn judge(
    pipeline: &Pipeline,
    turn: &mut Turn,
    offering: &mut Offering,
    draft: &mut Draft,
    completion: Completion,
) -> JudgedAnswer {
    timed(pipeline, Stage::Judge, || {
        if offering.take_in(pipeline, turn, completion.called()) {
            draft.offer(offering.offer());
        }
        judge::judge(turn, offering.offer(), draft, completion)
    })
}

/// Answers the client. What it does not get of the turn is kept before the answer leaves; of a `mixed` answer the proxy's calls are run.
async fn finish(
    pipeline: &Pipeline,
    turn: &mut Turn,
    (offering, draft): (&mut Offering, &Draft),
    outlet: &mut Outlet,
    judged: JudgedAnswer,
    ending: Ending,
    mixed: Option<Mixed>,
) -> Result<(), ClientGone> {
    let settled = match answer::settle(pipeline, turn, offering.offer(), judged, &draft.kept, ending) {
        Ok(settled) => settled,
        Err(error) => return answer::refuse(turn, outlet, StatusCode::BAD_GATEWAY, &error).await,
    };
    match mixed {
        Some(mixed) => keep::run_and_keep(pipeline, turn, offering, draft, mixed, &settled).await,
        None => keep::keep_rounds(pipeline, turn, draft, &settled).await,
    }
    if turn.cancelled.is_cancelled() {
        return Err(ClientGone);
    }
    answer::write(turn, outlet, settled).await
}

/// Runs a stage that does not wait, and meters its time.
fn timed<T>(pipeline: &Pipeline, stage: Stage, run: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let result = run();
    pipeline.metrics.overhead.observe(stage, started.elapsed());
    result
}
