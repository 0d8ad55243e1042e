//! A streamed answer on its way: what flows on to the client at once, and what is held until it is judged.

use std::time::Instant;

use bytes::{Bytes, BytesMut};

use crate::domain::rules::Mode;
use crate::domain::{UpstreamFailure, UpstreamFailureKind};
use crate::openai::{AnswerError, Assembler, Chunk, SseError, SseEvent, SseReader, StreamHead, StreamItem};
use crate::pipeline::answer::{ClientGone, Outlet};
use crate::pipeline::dialogue::Purpose;
use crate::pipeline::turn::Turn;
use crate::upstream;

use super::super::offer::Offer;
use super::{Asked, Notes, Relay, malformed};

/// What of a turn's stream the client has, and what is held.
#[derive(Debug, Default)]
pub(crate) struct Streamed {
    /// Id, model and so on of the stream that the client sees: those of the first attempt.
    pub(crate) head: Option<StreamHead>,
    /// Text that the client has.
    pub(crate) text: String,
    /// Events of the last attempt that were held, as they came.
    pub(crate) held: Vec<Bytes>,
    /// May the held events be sent as they came, if they are judged clean?
    pub(crate) verbatim: bool,
    /// Chunks of the last attempt of which nothing has flowed.
    pub(crate) unsent: Vec<Chunk>,
    /// Has the client the whole last attempt, `[DONE]` included?
    pub(crate) delivered: bool,
}

impl Streamed {
    /// Bytes of a choice's text that the client may have got before the judgement.
    pub(crate) fn sent(&self, index: u32) -> usize {
        if self.unsent.is_empty() && index == 0 { self.text.len() } else { 0 }
    }
}

/// What may flow before the judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Everything: there is nothing to judge, or nothing may be changed.
    Through,
    /// Text; calls and the end are held.
    Text,
    /// Nothing: a later attempt, whose text is only sent if it is the answer.
    Hold,
}

/// Why a stream broke off.
enum Broken {
    Client,
    Upstream(UpstreamFailure),
    ErrorEvent(Bytes),
}

impl From<ClientGone> for Broken {
    fn from(_: ClientGone) -> Self {
        Self::Client
    }
}

/// Reads a stream to its end.
pub(super) async fn flow(
    turn: &mut Turn,
    offer: &Offer,
    answer: upstream::Answer,
    outlet: &mut Outlet,
    notes: &mut Notes,
    purpose: Purpose,
) -> Asked {
    let way = match purpose {
        Purpose::First if offer.is_judged() && turn.policy.mode == Mode::Guard => Way::Text,
        Purpose::First => Way::Through,
        _ => Way::Hold,
    };
    turn.streamed.held.clear();
    turn.streamed.unsent.clear();
    turn.streamed.verbatim = true;
    let mut flow = Flow {
        way,
        lenient: turn.policy.mode == Mode::Off,
        events: SseReader::new(turn.upstream.settings().max_event_bytes),
        assembler: Assembler::new(turn.max_stream_bytes),
        out: BytesMut::new(),
        done: false,
    };
    match flow.run(turn, answer, outlet, notes).await {
        Ok(()) => {}
        Err(Broken::Client) => return Asked::ClientGone,
        Err(Broken::Upstream(failure)) => return Asked::Relay(Relay::Failure(failure)),
        Err(Broken::ErrorEvent(event)) => return Asked::Relay(Relay::ErrorEvent(event)),
    }
    turn.streamed.verbatim &= flow.assembler.is_conformant();
    turn.streamed.delivered = way == Way::Through;
    let completion = flow.assembler.into_completion();
    if way != Way::Hold
        && let Some(text) = completion.choices().first().and_then(|choice| choice.message.text())
    {
        turn.streamed.text = text;
    }
    Asked::Completion(completion)
}

struct Flow {
    way: Way,
    /// Pass on what cannot be understood: nothing is judged.
    lenient: bool,
    events: SseReader,
    assembler: Assembler,
    /// What flows on with the next send.
    out: BytesMut,
    done: bool,
}

impl Flow {
    async fn run(
        &mut self,
        turn: &mut Turn,
        mut answer: upstream::Answer,
        outlet: &mut Outlet,
        notes: &mut Notes,
    ) -> Result<(), Broken> {
        let started = Instant::now();
        while !self.done {
            let Some(bytes) = answer.next().await else { break };
            let bytes = bytes.map_err(Broken::Upstream)?;
            notes.first_chunk.get_or_insert_with(|| started.elapsed());
            let events = self.events.push(bytes).map_err(|error| unreadable(turn, &error))?;
            let taken = events.into_iter().try_for_each(|event| self.take(turn, event));
            // What came before the fault still belongs to the client.
            self.send(turn, outlet).await?;
            taken?;
        }
        let rest = std::mem::replace(&mut self.events, SseReader::new(0));
        if let Some(event) = rest.finish().map_err(|error| unreadable(turn, &error))? {
            self.take(turn, event)?;
        }
        self.end(turn)?;
        self.send(turn, outlet).await
    }

    /// Takes one event in: part of it flows, part of it is held.
    fn take(&mut self, turn: &mut Turn, event: SseEvent) -> Result<(), Broken> {
        if self.done {
            return Ok(());
        }
        match self.assembler.take(&event) {
            Ok(StreamItem::Chunk(chunk)) => {
                if turn.streamed.head.is_none() {
                    turn.streamed.head = self.assembler.head().cloned();
                }
                self.take_chunk(turn, chunk, event.raw);
            }
            Ok(StreamItem::Done) => {
                self.done = true;
                self.through(&event.raw);
            }
            Ok(StreamItem::Error(_)) => return Err(Broken::ErrorEvent(event.raw)),
            Ok(StreamItem::Other) => self.through(&event.raw),
            Err(_) if self.lenient => self.through(&event.raw),
            Err(error) => return Err(broken(turn, error)),
        }
        Ok(())
    }

    fn take_chunk(&mut self, turn: &mut Turn, chunk: Chunk, raw: Bytes) {
        match self.way {
            Way::Through => self.out.extend_from_slice(&raw),
            Way::Hold => turn.streamed.unsent.push(chunk),
            Way::Text => {
                let is_usage = chunk.is_usage_only() && chunk.usage().is_some();
                if !(is_usage || chunk.has_calls() || chunk.has_finish()) {
                    self.out.extend_from_slice(&raw);
                    return;
                }
                if is_usage && !turn.request.wants_usage_chunk() {
                    return;
                }
                match chunk.without_calls_and_finish().filter(|_| !is_usage) {
                    None => turn.streamed.held.push(raw),
                    Some(flows) => {
                        self.out.extend_from_slice(&flows.to_event());
                        turn.streamed.held.extend(chunk.calls_and_finish().map(|held| held.to_event()));
                    }
                }
            }
        }
    }

    /// Comments and the end mark flow only where everything does.
    fn through(&mut self, raw: &[u8]) {
        if self.way == Way::Through {
            self.out.extend_from_slice(raw);
        }
    }

    /// Checks that the stream is complete; a missing end mark is mended, a missing finish reason is not.
    fn end(&mut self, turn: &Turn) -> Result<(), Broken> {
        if self.done || self.lenient {
            return Ok(());
        }
        if !self.assembler.is_finished() {
            return Err(Broken::Upstream(UpstreamFailure {
                kind: UpstreamFailureKind::Truncated,
                upstream: turn.upstream.name().to_owned(),
                message: "the stream ended before its choices were finished".to_owned(),
            }));
        }
        self.through(crate::openai::emit::DONE);
        Ok(())
    }

    /// Sends what flows; the first piece opens the stream towards the client.
    async fn send(&mut self, turn: &Turn, outlet: &mut Outlet) -> Result<(), Broken> {
        if self.out.is_empty() {
            return Ok(());
        }
        outlet.open(turn.stream_headers())?;
        outlet.send(self.out.split().freeze()).await?;
        Ok(())
    }
}

fn broken(turn: &Turn, error: AnswerError) -> Broken {
    Broken::Upstream(malformed(turn, error.message))
}

fn unreadable(turn: &Turn, error: &SseError) -> Broken {
    Broken::Upstream(malformed(turn, error.to_string()))
}
