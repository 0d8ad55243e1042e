//! Shared parts of the processing of streams: what is forwarded, and why a stream is aborted.

use bytes::Bytes;

use crate::pipeline::answer::ClientGone;
use crate::pipeline::memory_limit::MemoryFull;
use crate::pipeline::state::Turn;
use callwright_judge::repair::rescue::hold::Starts;
use callwright_telemetry::Metrics;
use callwright_types::{UpstreamFailure, UpstreamFailureKind};
use callwright_wire::{AnswerError, SseError};

use super::texts::StreamHoldRules;

/// Parts of a stream that are forwarded before validation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Forwarding {
    /// Everything: nothing is validated, or nothing may be changed.
    Through,
    /// Text and reasoning; calls and the end are held.
    Text,
    /// Reasoning of ordered events at most: a later attempt, whose text is sent only if it is the answer.
    Hold,
}

/// Cause of an aborted stream.
pub(super) enum BrokenStream {
    Client,
    Upstream(UpstreamFailure),
    ErrorEvent(Bytes),
    MemoryFull,
}

impl From<ClientGone> for BrokenStream {
    fn from(_: ClientGone) -> Self {
        Self::Client
    }
}

impl From<MemoryFull> for BrokenStream {
    fn from(_: MemoryFull) -> Self {
        Self::MemoryFull
    }
}

/// Sources of the rules for holding text.
#[derive(Clone, Copy)]
pub(super) struct HoldSource<'a> {
    pub(super) starts: &'a Starts,
    pub(super) rules: StreamHoldRules,
    pub(super) metrics: &'a Metrics,
    /// Whether head and reasoning of ordered events flow before the part behind them begins.
    pub(super) is_reasoning_live: bool,
}

/// Returns the failure of a stream with an unreadable event.
pub(super) fn broken(turn: &Turn, error: AnswerError) -> BrokenStream {
    BrokenStream::Upstream(malformed(turn, error.message))
}

/// Returns the failure of a stream with an unreadable event boundary.
pub(super) fn unreadable(turn: &Turn, error: &SseError) -> BrokenStream {
    BrokenStream::Upstream(malformed(turn, error.to_string()))
}

/// Returns the failure for an unreadable answer.
pub(super) fn malformed(turn: &Turn, message: String) -> UpstreamFailure {
    UpstreamFailure::new(UpstreamFailureKind::Malformed, turn.upstream.name(), message)
}
