//! Processing of a streamed answer: forwards text at once, and holds calls until they are validated.

use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use tokio::time::timeout_at;

use crate::pipeline::answer::{ClientGone, ResponseSender};
use crate::pipeline::dialogue::RequestPurpose;
use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{Relay, Turn, UpstreamReply};
use crate::pipeline::tools::Offer;
use callwright_judge::repair::rescue::hold::HoldRules;
use callwright_openai::{AnswerError, Assembler, ChatRequest, Chunk, SseError, SseEvent, SseReader, StreamItem};
use callwright_types::rules::{Evidence, Mode};
use callwright_types::{UpstreamFailure, UpstreamFailureKind};
use callwright_upstream as upstream;

use super::texts::{StreamHoldRules, Texts};

/// The request of an attempt, and the tools that it offers.
#[derive(Debug, Clone, Copy)]
pub(super) struct AttemptRequest<'a> {
    pub(super) chat: &'a ChatRequest,
    pub(super) offer: &'a Offer,
    pub(super) purpose: RequestPurpose,
}

/// Parts of a stream that are forwarded before validation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Forwarding {
    /// Everything: nothing is validated, or nothing may be changed.
    Through,
    /// Text only; calls and the end are held.
    Text,
    /// Nothing: a later attempt, whose text is sent only if it is the answer.
    Hold,
}

/// Cause of an aborted stream.
enum BrokenStream {
    Client,
    Upstream(UpstreamFailure),
    ErrorEvent(Bytes),
}

impl From<ClientGone> for BrokenStream {
    fn from(_: ClientGone) -> Self {
        Self::Client
    }
}

/// Reads a stream to its end. Sets `first_chunk` to the time until its first data.
pub(super) async fn flow(
    pipeline: &Pipeline,
    turn: &mut Turn,
    request: &AttemptRequest<'_>,
    answer: upstream::Answer,
    response_sender: &mut ResponseSender,
    first_chunk: &mut Option<Duration>,
) -> UpstreamReply {
    let AttemptRequest { chat, offer, purpose } = *request;
    let forwarding = match purpose {
        RequestPurpose::First if offer.is_judged() && turn.policy.mode == Mode::Guard => Forwarding::Text,
        RequestPurpose::First => Forwarding::Through,
        _ => Forwarding::Hold,
    };
    turn.streamed.verbatim = true;
    let rules = StreamHoldRules {
        hold: HoldRules {
            evidence: if forwarding == Forwarding::Text { turn.evidence(chat) } else { Evidence::Off },
            json_wanted: chat.requires_json(),
            max_bytes: pipeline.settings.max_held_bytes,
        },
        max_time: Duration::from_millis(pipeline.settings.max_hold_milliseconds),
    };
    let notations = turn.snapshot.notations.clone();
    let mut flow = Flow {
        forwarding,
        lenient: turn.policy.mode == Mode::Off,
        events: SseReader::new(turn.upstream.settings().max_event_bytes),
        assembler: Assembler::new(turn.max_stream_bytes),
        texts: Texts::new(&offer.starts, &notations, rules, &pipeline.metrics),
        out: BytesMut::new(),
        done: false,
    };
    match flow.run(turn, answer, response_sender, first_chunk).await {
        Ok(()) => {}
        Err(BrokenStream::Client) => return UpstreamReply::ClientGone,
        Err(broken) => {
            turn.streamed.unsent.clear();
            if flow.release(turn, response_sender).await.is_err() {
                return UpstreamReply::ClientGone;
            }
            return UpstreamReply::Relay(match broken {
                BrokenStream::ErrorEvent(event) => Relay::ErrorEvent(turn.upstream.without_keys(event)),
                BrokenStream::Upstream(failure) => Relay::Failure(failure),
                BrokenStream::Client => return UpstreamReply::ClientGone,
            });
        }
    }
    turn.streamed.verbatim &= flow.assembler.is_conformant();
    turn.streamed.delivered = forwarding == Forwarding::Through;
    if turn.streamed.has_usage_chunk && chat.requests_usage_chunk() {
        turn.upstream.reported_stream_usage();
    }
    if forwarding == Forwarding::Text {
        turn.streamed.texts = flow.texts.finish(&flow.assembler);
    }
    UpstreamReply::Completion(flow.assembler.into_completion())
}

struct Flow<'a> {
    forwarding: Forwarding,
    /// Whether invalid events are forwarded, because nothing is validated.
    lenient: bool,
    events: SseReader,
    assembler: Assembler,
    texts: Texts<'a>,
    /// Data for the next send.
    out: BytesMut,
    done: bool,
}

impl Flow<'_> {
    async fn run(
        &mut self,
        turn: &mut Turn,
        mut answer: upstream::Answer,
        response_sender: &mut ResponseSender,
        first_chunk: &mut Option<Duration>,
    ) -> Result<(), BrokenStream> {
        let started = Instant::now();
        while !self.done {
            let next = match self.texts.deadline() {
                None => answer.next().await,
                Some(deadline) => match timeout_at(deadline, answer.next()).await {
                    Ok(next) => next,
                    Err(_) => {
                        self.texts.expire();
                        self.texts.drain(&mut self.out);
                        self.send(turn, response_sender).await?;
                        continue;
                    }
                },
            };
            let Some(bytes) = next else { break };
            let bytes = bytes.map_err(BrokenStream::Upstream)?;
            first_chunk.get_or_insert_with(|| started.elapsed());
            let events = self.events.push(bytes).map_err(|error| unreadable(turn, &error))?;
            let taken = events.into_iter().try_for_each(|event| self.take(turn, event));
            // Data before the error still belongs to the client.
            self.send(turn, response_sender).await?;
            taken?;
        }
        let rest = std::mem::replace(&mut self.events, SseReader::new(0));
        if let Some(event) = rest.finish().map_err(|error| unreadable(turn, &error))? {
            self.take(turn, event)?;
        }
        self.end(turn)?;
        self.send(turn, response_sender).await
    }

    /// Processes one event: forwards parts and holds parts.
    fn take(&mut self, turn: &mut Turn, event: SseEvent) -> Result<(), BrokenStream> {
        if self.done {
            return Ok(());
        }
        match self.assembler.take(&event) {
            Ok(StreamItem::Chunk(chunk)) => {
                turn.streamed.chunks += 1;
                if turn.streamed.head.is_none() {
                    turn.streamed.head = self.assembler.head().cloned();
                }
                self.take_chunk(turn, chunk, event.raw);
            }
            Ok(StreamItem::Done) => {
                self.done = true;
                self.through(&event.raw);
            }
            Ok(StreamItem::Error(_)) => return Err(BrokenStream::ErrorEvent(event.raw)),
            Ok(StreamItem::Other) => self.through(&event.raw),
            Err(_) if self.lenient => self.through(&event.raw),
            Err(error) => return Err(broken(turn, error)),
        }
        Ok(())
    }

    fn take_chunk(&mut self, turn: &mut Turn, chunk: Chunk, raw: Bytes) {
        let is_usage = chunk.is_usage_only() && chunk.usage().is_some();
        if is_usage && turn.streamed.requested_usage {
            return;
        }
        turn.streamed.has_usage_chunk |= is_usage;
        match self.forwarding {
            Forwarding::Through => self.out.extend_from_slice(&raw),
            Forwarding::Hold => turn.streamed.unsent.push(chunk),
            Forwarding::Text => self.take_text(turn, chunk, raw),
        }
    }

    fn take_text(&mut self, turn: &mut Turn, chunk: Chunk, raw: Bytes) {
        let all_flows = self.texts.advance(&self.assembler);
        let is_usage = chunk.is_usage_only() && chunk.usage().is_some();
        if !(is_usage || chunk.is_held()) {
            if all_flows {
                self.out.extend_from_slice(&raw);
            } else {
                self.texts.drain(&mut self.out);
                self.texts.divide(&chunk, Some(&raw), &mut self.out);
            }
            return;
        }
        match chunk.without_held().filter(|_| !is_usage) {
            None => turn.streamed.held.push(raw),
            // Nothing follows but the end of the stream, so that holding the text costs no time.
            Some(text) if chunk.is_end_of_text() && text.choice_count() == 1 => {
                self.texts.drain(&mut self.out);
                self.texts.hold_end(&text, &raw);
            }
            Some(flows) => {
                self.texts.drain(&mut self.out);
                self.texts.divide(&flows, None, &mut self.out);
                turn.streamed.held.extend(chunk.held().map(|held| held.to_event()));
            }
        }
    }

    /// Sends the held text of an aborted stream, which will not be validated. If the client has nothing yet, nothing is
    /// sent: a status reports the failure better.
    async fn release(&mut self, turn: &Turn, response_sender: &mut ResponseSender) -> Result<(), BrokenStream> {
        if self.forwarding != Forwarding::Text || !response_sender.is_open() {
            return Ok(());
        }
        self.texts.give_up();
        self.texts.drain(&mut self.out);
        self.send(turn, response_sender).await
    }

    /// Forwards comments and the end marker, but only if everything is forwarded.
    fn through(&mut self, raw: &[u8]) {
        if self.forwarding == Forwarding::Through {
            self.out.extend_from_slice(raw);
        }
    }

    /// Checks that the stream is complete. A missing end marker is added; a missing finish reason is an error.
    fn end(&mut self, turn: &Turn) -> Result<(), BrokenStream> {
        if self.done || self.lenient {
            return Ok(());
        }
        if !self.assembler.is_finished() {
            return Err(BrokenStream::Upstream(UpstreamFailure {
                kind: UpstreamFailureKind::Truncated,
                upstream: turn.upstream.name().to_owned(),
                message: "the stream ended before its choices were finished".to_owned(),
                retry_after: None,
            }));
        }
        self.through(callwright_openai::emit::DONE);
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

fn broken(turn: &Turn, error: AnswerError) -> BrokenStream {
    BrokenStream::Upstream(malformed(turn, error.message))
}

fn unreadable(turn: &Turn, error: &SseError) -> BrokenStream {
    BrokenStream::Upstream(malformed(turn, error.to_string()))
}

/// Returns the failure for an unreadable answer.
pub(super) fn malformed(turn: &Turn, message: String) -> UpstreamFailure {
    UpstreamFailure {
        kind: UpstreamFailureKind::Malformed,
        upstream: turn.upstream.name().to_owned(),
        message,
        retry_after: None,
    }
}
