//! Answers of a turn: the reply of the upstream, the validated answer, and the answer for the client.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::StatusCode;

use callwright_judge::repair::{JudgedCall, JudgedMessage, Unjudged};
use callwright_judge::scanner::CheckedCall;
use callwright_types::{Diagnosis, ToolKind, UnjudgedReason, UpstreamFailure, Verdict};
use callwright_wire::{AssistantMessage, Completion};

use super::turn::Turn;
use crate::pipeline::dialogue::JudgedSummary;
use crate::pipeline::tools::Offer;

/// Result of an upstream request.
#[derive(Debug)]
pub(crate) enum UpstreamReply {
    /// An answer to validate.
    Completion(Completion),
    /// An answer or error to forward unchanged.
    Relay(Relay),
    /// The client disconnected; the upstream request was cancelled.
    ClientGone,
}

/// Data to forward to the client unchanged if no earlier answer is useful.
#[derive(Debug)]
pub(crate) enum Relay {
    /// An answer that the proxy does not validate: an HTTP error, or any answer in mode `off`.
    Answer {
        /// Status of the upstream.
        status: StatusCode,
        /// Body of the upstream.
        body: Bytes,
    },
    /// An error event inside the upstream's stream, unchanged.
    ErrorEvent(Bytes),
    /// The upstream gave no usable answer.
    Failure(UpstreamFailure),
    /// All answers together hold too much memory for the rest of this one.
    MemoryFull,
}

/// A validated answer of the model or of a plan.
#[derive(Debug)]
pub(crate) struct JudgedAnswer {
    /// The original answer.
    pub(crate) completion: Completion,
    /// Validation results of its choices.
    pub(crate) choices: Vec<JudgedMessage>,
    /// Whether the answer may have been a call and is treated as text.
    pub(crate) is_declined: bool,
}

impl JudgedAnswer {
    /// Returns all calls of all choices.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &JudgedCall> {
        self.choices.iter().flat_map(|choice| &choice.calls)
    }

    pub(crate) fn calls_of_first_choice(&self) -> &[JudgedCall] {
        self.choices.first().map(|choice| choice.calls.as_slice()).unwrap_or_default()
    }

    pub(crate) fn diagnoses(&self) -> impl Iterator<Item = &Diagnosis> {
        self.choices.iter().flat_map(JudgedMessage::diagnoses)
    }

    /// Returns the part of the answer that was not validated within its budget.
    pub(crate) fn unjudged(&self) -> Option<Unjudged> {
        self.choices.iter().find_map(|choice| choice.unjudged)
    }

    /// Returns the reason why a part of the answer was not validated.
    pub(crate) fn unjudged_reason(&self) -> Option<UnjudgedReason> {
        self.unjudged().map(|unjudged| match unjudged {
            Unjudged::Calls => UnjudgedReason::CallsTime,
            Unjudged::Text => UnjudgedReason::TextTime,
            Unjudged::Size => UnjudgedReason::Size,
            Unjudged::Values => UnjudgedReason::CallsValues,
        })
    }

    /// Returns the verdict on this answer alone.
    pub(crate) fn verdict(&self) -> Verdict {
        if self.unjudged().is_some() {
            return Verdict::Unguarded;
        }
        let verdicts: Vec<Verdict> = self.choices.iter().map(JudgedMessage::verdict).collect();
        let worst_first = [Verdict::Faulty, Verdict::Repaired, Verdict::Clean];
        worst_first.into_iter().find(|verdict| verdicts.contains(verdict)).unwrap_or(Verdict::Text)
    }

    /// Whether the client can use this answer, even if it is faulty. An answer with only calls of the proxy's tools is
    /// useless.
    pub(crate) fn is_of_use(&self, offer: &Offer, kept: &[CheckedCall]) -> bool {
        let mut calls = self.calls().map(|call| &call.repaired).chain(kept.iter().map(CheckedCall::call)).peekable();
        calls.peek().is_none() || calls.any(|call| !offer.is_proxys(&call.name))
    }

    /// Whether the answer may be a call or may only describe one.
    pub(crate) fn is_unsure(&self) -> bool {
        self.choices.iter().any(|choice| choice.is_unsure)
    }

    /// Whether the answer makes a call: a readable one, correct or faulty, or one that is not validated.
    pub(crate) fn makes_calls(&self) -> bool {
        self.calls().next().is_some()
            || self.completion.choices().iter().any(|choice| choice.message.has_unjudged_calls())
    }

    /// Converts the answer to text; a possible call is only recorded.
    pub(crate) fn into_text(mut self) -> Self {
        for choice in self.choices.iter_mut().filter(|choice| choice.is_unsure) {
            self.is_declined = true;
            choice.is_unsure = false;
            choice.no_call_advice = choice.no_call.take();
        }
        self
    }

    /// Returns the summary for the dialogue; `kept` contains the calls accepted earlier in the turn.
    pub(crate) fn summary(&self, turn: &Turn, offer: &Offer, kept: &[CheckedCall]) -> JudgedSummary {
        let (mut checked, mut proxy_calls) = (0, 0);
        for call in self.calls().filter_map(|call| call.result.as_ref().ok()).chain(kept) {
            checked += 1;
            proxy_calls += usize::from(offer.is_proxys(&call.call().name));
        }
        let faulty: Vec<&JudgedCall> = self.calls().filter(|call| call.result.is_err()).collect();
        let no_call = self.choices.iter().any(|choice| choice.no_call.is_some());
        let of_others: usize =
            self.completion.choices().iter().map(|choice| choice.message.unjudged_calls().len()).sum();
        let client_calls = checked - proxy_calls + of_others;
        let is_unjudged_text = self.choices.iter().any(|choice| choice.unjudged == Some(Unjudged::Text));
        // Such calls are right for all that is known. They pass, and no limit ended the turn.
        let passes = self.unjudged() == Some(Unjudged::Values);
        // In the legacy form, a message makes one call without an id, so an answer could not be recognised later.
        let only_the_clients = turn.request.is_legacy() && client_calls > 0;
        JudgedSummary {
            faulty: no_call || !passes && !faulty.is_empty(),
            unsure: self.is_unsure(),
            no_answer: self.choices.iter().any(|choice| choice.no_answer().is_some()),
            // A text that should have been a call is still a text.
            faults_are_the_clients: no_call
                || is_unjudged_text
                || faulty.iter().any(|call| !offer.is_proxys(&call.repaired.name)),
            unjudged: !passes && self.unjudged().is_some(),
            delivered: turn.streamed.delivered,
            client_calls,
            proxy_calls: if only_the_clients { 0 } else { proxy_calls },
        }
    }
}

/// The client's answer: decided, but not yet written.
#[derive(Debug)]
pub(crate) struct SettledAnswer {
    pub(crate) completion: Completion,
    /// Whether it differs from the upstream's answer.
    pub(crate) changed: bool,
    /// Remaining unsent text by choice index, for choices of whose text a part was removed.
    pub(crate) unsent: BTreeMap<u32, String>,
    /// Whether text was converted to calls.
    pub(crate) is_rescued: bool,
    /// Native calls whose form was changed, by id: the kind of tool whose form they had.
    pub(crate) reformed: BTreeMap<String, ToolKind>,
}

impl SettledAnswer {
    /// Returns the message of the first choice for the client.
    pub(crate) fn message(&self) -> Option<&AssistantMessage> {
        self.completion.choices().first().map(|choice| &choice.message)
    }
}
