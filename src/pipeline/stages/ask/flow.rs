//! A streamed answer on its way: what flows on to the client at once, and what is held until it is judged.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use tokio::time::timeout_at;

use crate::pipeline::Pipeline;
use crate::pipeline::answer::{ClientGone, Outlet};
use crate::pipeline::dialogue::Purpose;
use crate::pipeline::turn::Turn;
use callwright_judge::repair::rescue::hold::HoldRules;
use callwright_openai::{
    AnswerError, Assembler, ChatRequest, Chunk, SseError, SseEvent, SseReader, StreamHead, StreamItem,
};
use callwright_types::rules::{Evidence, Mode};
use callwright_types::{UpstreamFailure, UpstreamFailureKind};
use callwright_upstream as upstream;

use super::super::judge::evidence;
use super::super::offer::Offer;
use super::texts::{self, SentText, Texts};
use super::{Asked, Notes, Relay, malformed};

/// What of a turn's stream the client has, and what is held.
#[derive(Debug, Default)]
pub(crate) struct Streamed {
    /// Id, model and so on of the stream that the client sees: those of the first attempt.
    pub(crate) head: Option<StreamHead>,
    /// The text of each choice, by the index of the choice.
    pub(crate) texts: BTreeMap<u32, SentText>,
    /// Events of the last attempt that were held, as they came; behind the text that is held.
    pub(crate) held: Vec<Bytes>,
    /// May what is held be sent as it came, if it is judged clean?
    pub(crate) verbatim: bool,
    /// Chunks of the last attempt of which nothing has flowed.
    pub(crate) unsent: Vec<Chunk>,
    /// Has the client the whole last attempt, `[DONE]` included?
    pub(crate) delivered: bool,
    /// Whether the usage chunk of the last attempt is the proxy's wish, and not the client's.
    pub(super) asked_usage: bool,
    /// Whether the last attempt came with a usage chunk that is the client's.
    pub(crate) has_usage_chunk: bool,
    /// Chunks of the last attempt that came.
    pub(super) chunks: u64,
}

impl Streamed {
    /// Bytes of a choice's text in the last attempt that the client may have: no call begins in there.
    pub(crate) fn released(&self, index: u32) -> usize {
        self.texts.get(&index).map_or(0, |text| text.released)
    }

    /// Is text of this choice held?
    pub(crate) fn holds(&self, index: u32) -> bool {
        self.texts.get(&index).is_some_and(|text| !text.held.is_empty())
    }

    /// What of a choice's text is still to be said when calls were made of its `spans`.
    pub(crate) fn unsaid(&self, index: u32, text: &str, spans: &[Range<usize>]) -> String {
        let sent = self.texts.get(&index).map(|sent| sent.text.as_str()).unwrap_or_default();
        // A later attempt may begin with what an earlier one said.
        let mut at = if text.starts_with(sent) { sent.len() } else { 0 };
        let mut left = String::new();
        for span in spans {
            left.push_str(text.get(at..span.start).unwrap_or_default());
            at = at.max(span.end);
        }
        left.push_str(text.get(at..).unwrap_or_default());
        if left.trim().is_empty() { String::new() } else { left }
    }

    /// The answer will be one of our own: nothing of the model's is left to be said.
    pub(crate) fn replaced(&mut self) {
        self.held.clear();
        self.unsent.clear();
        for text in self.texts.values_mut() {
            text.held.clear();
        }
    }

    /// Takes out what is held of the last attempt, which may still be the answer.
    pub(crate) fn set_aside(&mut self) -> Aside {
        Aside {
            held: std::mem::take(&mut self.held),
            unsent: std::mem::take(&mut self.unsent),
            verbatim: self.verbatim,
            has_usage_chunk: self.has_usage_chunk,
            texts: self.texts.clone(),
        }
    }

    /// Puts back what was set aside, in place of what came since.
    pub(crate) fn restore(&mut self, aside: Aside) {
        let Aside { held, unsent, verbatim, has_usage_chunk, texts } = aside;
        (self.held, self.unsent, self.texts) = (held, unsent, texts);
        (self.verbatim, self.has_usage_chunk) = (verbatim, has_usage_chunk);
    }

    /// Forgets what is held of the attempt before.
    pub(super) fn begin_attempt(&mut self) {
        self.held.clear();
        self.unsent.clear();
        self.verbatim = false;
        self.has_usage_chunk = false;
        self.chunks = 0;
        for text in self.texts.values_mut() {
            text.held.clear();
            text.released = 0;
        }
    }
}

/// What was held of an attempt.
#[derive(Debug)]
pub(crate) struct Aside {
    held: Vec<Bytes>,
    unsent: Vec<Chunk>,
    verbatim: bool,
    has_usage_chunk: bool,
    texts: BTreeMap<u32, SentText>,
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
    pipeline: &Pipeline,
    turn: &mut Turn,
    (offer, request): (&Offer, &ChatRequest),
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
    turn.streamed.verbatim = true;
    let rules = texts::Rules {
        hold: HoldRules {
            evidence: if way == Way::Text { evidence(turn, request) } else { Evidence::Off },
            json_wanted: request.wants_json(),
            max_bytes: pipeline.settings.max_held_bytes,
        },
        max_time: Duration::from_millis(pipeline.settings.max_hold_milliseconds),
    };
    let notations = turn.snapshot.notations.clone();
    let mut flow = Flow {
        way,
        lenient: turn.policy.mode == Mode::Off,
        events: SseReader::new(turn.upstream.settings().max_event_bytes),
        assembler: Assembler::new(turn.max_stream_bytes),
        texts: Texts::new(&offer.starts, &notations, rules, &pipeline.metrics),
        out: BytesMut::new(),
        done: false,
    };
    match flow.run(turn, answer, outlet, notes).await {
        Ok(()) => {}
        Err(Broken::Client) => return Asked::ClientGone,
        Err(broken) => {
            turn.streamed.unsent.clear();
            if flow.release(turn, outlet).await.is_err() {
                return Asked::ClientGone;
            }
            return Asked::Relay(match broken {
                Broken::ErrorEvent(event) => Relay::ErrorEvent(turn.upstream.without_keys(event)),
                Broken::Upstream(failure) => Relay::Failure(failure),
                Broken::Client => return Asked::ClientGone,
            });
        }
    }
    turn.streamed.verbatim &= flow.assembler.is_conformant();
    turn.streamed.delivered = way == Way::Through;
    if turn.streamed.has_usage_chunk && request.wants_usage_chunk() {
        turn.upstream.told_stream_usage();
    }
    if way == Way::Text {
        turn.streamed.texts = flow.texts.finish(&flow.assembler);
    }
    Asked::Completion(flow.assembler.into_completion())
}

struct Flow<'a> {
    way: Way,
    /// Pass on what cannot be understood: nothing is judged.
    lenient: bool,
    events: SseReader,
    assembler: Assembler,
    texts: Texts<'a>,
    /// What flows on with the next send.
    out: BytesMut,
    done: bool,
}

impl Flow<'_> {
    async fn run(
        &mut self,
        turn: &mut Turn,
        mut answer: upstream::Answer,
        outlet: &mut Outlet,
        notes: &mut Notes,
    ) -> Result<(), Broken> {
        let started = Instant::now();
        while !self.done {
            let next = match self.texts.deadline() {
                None => answer.next().await,
                Some(deadline) => match timeout_at(deadline, answer.next()).await {
                    Ok(next) => next,
                    Err(_) => {
                        self.texts.expire();
                        self.texts.drain(&mut self.out);
                        self.send(turn, outlet).await?;
                        continue;
                    }
                },
            };
            let Some(bytes) = next else { break };
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
            Ok(StreamItem::Error(_)) => return Err(Broken::ErrorEvent(event.raw)),
            Ok(StreamItem::Other) => self.through(&event.raw),
            Err(_) if self.lenient => self.through(&event.raw),
            Err(error) => return Err(broken(turn, error)),
        }
        Ok(())
    }

    fn take_chunk(&mut self, turn: &mut Turn, chunk: Chunk, raw: Bytes) {
        let is_usage = chunk.is_usage_only() && chunk.usage().is_some();
        if is_usage && turn.streamed.asked_usage {
            return;
        }
        turn.streamed.has_usage_chunk |= is_usage;
        match self.way {
            Way::Through => self.out.extend_from_slice(&raw),
            Way::Hold => turn.streamed.unsent.push(chunk),
            Way::Text => self.take_text(turn, chunk, raw),
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
            Some(flows) => {
                self.texts.drain(&mut self.out);
                self.texts.divide(&flows, None, &mut self.out);
                turn.streamed.held.extend(chunk.held().map(|held| held.to_event()));
            }
        }
    }

    /// Sends what is held when the stream has broken off: nothing of it will be judged. Where the client has nothing yet, it
    /// is better served with a status that tells the failure.
    async fn release(&mut self, turn: &Turn, outlet: &mut Outlet) -> Result<(), Broken> {
        if self.way != Way::Text || !outlet.is_open() {
            return Ok(());
        }
        self.texts.give_up();
        self.texts.drain(&mut self.out);
        self.send(turn, outlet).await
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
                retry_after: None,
            }));
        }
        self.through(callwright_openai::emit::DONE);
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
