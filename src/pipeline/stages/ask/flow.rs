//! Processing of a streamed answer: forwards text at once, and holds calls until they are validated.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use tokio::time::timeout_at;

use crate::pipeline::answer::ResponseSender;
use crate::pipeline::memory_limit::MemoryLimit;
use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{Relay, Turn, UpstreamReply};
use crate::pipeline::tools::Offer;
use callwright_judge::repair::rescue::hold::HoldRules;
use callwright_types::rules::{Evidence, Mode};
use callwright_types::{Purpose, UpstreamFailure, UpstreamFailureKind};
use callwright_upstream as upstream;
use callwright_wire::{Assembler, ModelRequest, SseEvent, SseReader, stream_form};

use super::chat_flow::ChatFlow;
use super::event_flow::EventFlow;
use super::forwarding::{BrokenStream, Forwarding, HoldSource, unreadable};
use super::passed_end::AFTER_END;
use super::texts::StreamHoldRules;

/// The request of an attempt, and the tools that it offers.
#[derive(Debug, Clone, Copy)]
pub(super) struct AttemptRequest<'a> {
    pub(super) chat: &'a ModelRequest,
    pub(super) offer: &'a Offer,
    pub(super) purpose: Purpose,
}

/// Reads a stream to its end. Sets `first_chunk` to the time until its first data.
pub(super) async fn flow(
    pipeline: &Pipeline,
    turn: &mut Turn,
    request: &AttemptRequest<'_>,
    answer: &mut upstream::Answer,
    response_sender: &mut ResponseSender,
    first_chunk: &mut Option<Duration>,
) -> UpstreamReply {
    let AttemptRequest { chat, offer, purpose } = *request;
    let forwarding = match purpose {
        Purpose::First if offer.is_judged() && turn.policy.mode == Mode::Guard => Forwarding::Text,
        Purpose::First => Forwarding::Through,
        _ => Forwarding::Hold,
    };
    let rules = StreamHoldRules {
        hold: HoldRules {
            evidence: if forwarding == Forwarding::Text { turn.evidence(chat) } else { Evidence::Off },
            json_wanted: chat.requires_json(),
            max_bytes: pipeline.settings.max_held_bytes,
        },
        max_time: Duration::from_millis(pipeline.settings.max_hold_milliseconds),
        residue: forwarding == Forwarding::Text && turn.policy.repair.residue,
    };
    let source = HoldSource {
        starts: &offer.starts,
        rules,
        metrics: &pipeline.metrics,
        // Reasoning of an answer that is requested again is removed when the client returns, which takes the store. The
        // answer to a confirmation is usually not used.
        is_reasoning_live: turn.is_single() || pipeline.store.is_open() && purpose != Purpose::Confirmation,
    };
    // Text that has left, and that no one judges or records, is of no use.
    let is_needed = forwarding != Forwarding::Through || offer.is_judged() || turn.record.keep_bodies;
    let max_bytes = if is_needed { turn.max_stream_bytes } else { turn.max_stream_bytes.min(UNJUDGED_BYTES) };
    let form = match stream_form(turn.request.protocol(), max_bytes) {
        Some(form) => FlowForm::Events(EventFlow::new(forwarding, form, source)),
        None => FlowForm::Chat(ChatFlow::new(
            forwarding,
            turn,
            Assembler::new(max_bytes),
            response_sender.is_open(),
            source,
        )),
    };
    let mut flow = Flow {
        form,
        memory: &pipeline.answer_memory,
        lenient: turn.policy.mode == Mode::Off,
        reader: SseReader::new(turn.upstream.settings().max_event_bytes),
        out: BytesMut::new(),
        last_event_by: None,
    };
    match flow.run(turn, answer, response_sender, first_chunk).await {
        Ok(()) => {}
        Err(BrokenStream::Client) => return UpstreamReply::ClientGone,
        Err(broken) => {
            turn.streamed.unsent.clear();
            if flow.release(forwarding, turn, response_sender).await.is_err() {
                return UpstreamReply::ClientGone;
            }
            return UpstreamReply::Relay(match broken {
                BrokenStream::ErrorEvent(event) => Relay::ErrorEvent(turn.upstream.without_keys(event)),
                BrokenStream::Upstream(failure) => Relay::Failure(failure),
                BrokenStream::MemoryFull => Relay::MemoryFull,
                BrokenStream::Client => return UpstreamReply::ClientGone,
            });
        }
    }
    turn.streamed.delivered = forwarding == Forwarding::Through || turn.streamed.passed_on;
    let mut end = BytesMut::new();
    let completion = match flow.form {
        FlowForm::Chat(chat_flow) => chat_flow.finish(turn, chat, &mut end),
        FlowForm::Events(event_flow) => event_flow.finish(turn),
    };
    if !end.is_empty() && response_sender.send(end.freeze()).await.is_err() {
        return UpstreamReply::ClientGone;
    }
    UpstreamReply::Completion(completion)
}

/// Maximum number of bytes of content that are kept of an answer that is neither judged nor recorded. Some servers repeat
/// the text so far in each event, which its beginning shows.
const UNJUDGED_BYTES: usize = 32 * 1024;

/// Reading of one stream.
struct Flow<'a> {
    form: FlowForm<'a>,
    /// Limit of the memory of all answers.
    memory: &'a Arc<MemoryLimit>,
    /// Whether invalid events are forwarded, because nothing is validated.
    lenient: bool,
    reader: SseReader,
    /// Data for the next send.
    out: BytesMut,
    /// Time at which the stream counts as complete, after the event that ended the answer.
    last_event_by: Option<tokio::time::Instant>,
}

/// Processing of the events of a protocol.
enum FlowForm<'a> {
    Chat(ChatFlow<'a>),
    Events(EventFlow<'a>),
}

impl Flow<'_> {
    async fn run(
        &mut self,
        turn: &mut Turn,
        answer: &mut upstream::Answer,
        response_sender: &mut ResponseSender,
        first_chunk: &mut Option<Duration>,
    ) -> Result<(), BrokenStream> {
        let started = Instant::now();
        while !self.is_done() {
            let next = match self.deadline() {
                None => answer.next().await,
                Some(deadline) => match timeout_at(deadline, answer.next()).await {
                    Ok(next) => next,
                    Err(_) if self.last_event_by.is_some() => break,
                    Err(_) => {
                        self.expire(turn);
                        self.send(turn, response_sender).await?;
                        continue;
                    }
                },
            };
            let Some(bytes) = next else { break };
            let bytes = match bytes {
                Ok(bytes) => bytes,
                // The answer is complete; only the connection ended without its last chunk.
                Err(_) if self.last_event_by.is_some() => break,
                Err(failure) => return Err(BrokenStream::Upstream(failure)),
            };
            first_chunk.get_or_insert_with(|| started.elapsed());
            let events = self.reader.push(bytes).map_err(|error| unreadable(turn, &error))?;
            let taken = events.into_iter().try_for_each(|event| self.take(turn, event));
            let held = turn.memory.hold(self.held_bytes(turn), self.memory);
            // Data before the error still belongs to the client.
            self.send(turn, response_sender).await?;
            taken?;
            held?;
        }
        let rest = std::mem::replace(&mut self.reader, SseReader::new(0));
        if let Some(event) = rest.finish().map_err(|error| unreadable(turn, &error))? {
            self.take(turn, event)?;
        }
        if let FlowForm::Chat(flow) = &mut self.form {
            flow.settle(turn, self.lenient, &mut self.out)?;
        }
        self.end(turn)?;
        self.send(turn, response_sender).await
    }

    /// Number of bytes that this stream holds: content that is kept, held events, and the event that is not complete. An
    /// event exists twice when it is complete: in the reader and in what is sent.
    fn held_bytes(&self, turn: &Turn) -> usize {
        let kept = match &self.form {
            FlowForm::Chat(flow) => flow.kept_bytes(),
            FlowForm::Events(flow) => flow.kept_bytes(turn),
        };
        kept + 2 * self.reader.buffered()
    }

    /// Whether the event after which nothing may follow was received.
    fn is_done(&self) -> bool {
        matches!(&self.form, FlowForm::Chat(flow) if flow.done)
    }

    fn deadline(&self) -> Option<tokio::time::Instant> {
        self.last_event_by.or_else(|| match &self.form {
            FlowForm::Chat(flow) => flow.deadline(),
            FlowForm::Events(flow) => flow.deadline(),
        })
    }

    /// Releases text that was held for too long.
    fn expire(&mut self, turn: &mut Turn) {
        match &mut self.form {
            FlowForm::Chat(flow) => flow.expire(&mut self.out),
            FlowForm::Events(flow) => flow.expire(turn, &mut self.out),
        }
    }

    /// Processes one event: forwards parts and holds parts.
    fn take(&mut self, turn: &mut Turn, event: SseEvent) -> Result<(), BrokenStream> {
        match &mut self.form {
            FlowForm::Chat(flow) => flow.take(turn, event, self.lenient, &mut self.out),
            FlowForm::Events(flow) => {
                flow.take(turn, event, self.lenient, &mut self.out)?;
                if flow.is_finished() {
                    self.last_event_by.get_or_insert_with(|| tokio::time::Instant::now() + AFTER_END);
                }
                Ok(())
            }
        }
    }

    /// Sends the held text of an aborted stream, which will not be validated. If the client has nothing yet, nothing is
    /// sent: a status reports the failure better.
    async fn release(
        &mut self,
        forwarding: Forwarding,
        turn: &mut Turn,
        response_sender: &mut ResponseSender,
    ) -> Result<(), BrokenStream> {
        if forwarding == Forwarding::Hold || !response_sender.is_open() {
            return Ok(());
        }
        match &mut self.form {
            FlowForm::Chat(flow) => {
                flow.settle(turn, true, &mut self.out)?;
                flow.give_up(&mut self.out);
            }
            FlowForm::Events(flow) => flow.give_up(turn, &mut self.out),
        }
        self.send(turn, response_sender).await
    }

    /// Checks that the stream is complete. A missing end marker is added; without it, a missing finish reason is an error.
    fn end(&mut self, turn: &Turn) -> Result<(), BrokenStream> {
        let is_finished = match &mut self.form {
            FlowForm::Chat(flow) if flow.done => return Ok(()),
            FlowForm::Chat(flow) => flow.assembler.is_finished(),
            FlowForm::Events(flow) => flow.is_finished(),
        };
        if self.lenient {
            return Ok(());
        }
        if !is_finished {
            let message = "the stream ended before its answer was finished";
            let failure = UpstreamFailure::new(UpstreamFailureKind::Truncated, turn.upstream.name(), message);
            return Err(BrokenStream::Upstream(failure));
        }
        if let FlowForm::Chat(flow) = &mut self.form {
            flow.end_through(&mut self.out);
            flow.through(callwright_wire::emit::DONE, &mut self.out);
        }
        Ok(())
    }

    /// Sends the pending data; the first send opens the client's stream.
    async fn send(&mut self, turn: &Turn, response_sender: &mut ResponseSender) -> Result<(), BrokenStream> {
        if self.out.is_empty() {
            return Ok(());
        }
        response_sender.open(turn.stream_headers())?;
        response_sender.send(self.out.split().freeze()).await?;
        Ok(())
    }
}
