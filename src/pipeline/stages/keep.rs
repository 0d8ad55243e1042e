//! Keep: runs and stores the proxy's part of a mixed answer, of which the client gets only its own calls, for the
//! client's return ([`rejoin`](super::rejoin)).
//!
//! The part is turn state. The assignment of calls is committed before the proxy's calls are run, and their results
//! before the answer is sent. If the first commit fails, nothing is run: the model calls again when it sees no result.
//! If the second fails, the model is later informed that the results were lost, so it does not assume that the calls
//! were never made.

use std::time::Instant;

use crate::pipeline::kept_key::{self, MessageHashes};
use crate::pipeline::services::Pipeline;
use crate::pipeline::state::{
    ChatDraft, JudgedAnswer, KeptCalls, SettledAnswer, Turn, TurnConversation, with_fresh_id,
};
use crate::pipeline::tools::{Offer, Offering};
use callwright_judge::scanner::CheckedCall;
use callwright_store::{KeptRow, StoreError};
use callwright_telemetry::labels::Stage;
use callwright_types::Call;
use callwright_wire::{AssistantMessage, Choice, KeptPart};

use super::{hand_back, run};

/// Minimum bytes available per result; with less room, the calls are not run.
const LEAST_RESULT_BYTES: usize = 200;

/// An answer that calls tools of both sides, before it is reduced to the client's part.
#[derive(Debug)]
pub(crate) struct MixedAnswer {
    choice: Choice,
    /// The remaining text if a part of it became calls or was left of native ones.
    text: Option<String>,
    calls: Vec<CheckedCall>,
}

impl MixedAnswer {
    /// Combines an answer with the calls kept before it; `None` if it has no choice.
    pub(crate) fn new(judged: &JudgedAnswer, kept: &KeptCalls) -> Option<Self> {
        let choice = judged.completion.choices().first()?.clone();
        let text = judged.choices.first()?.remaining_text().map(str::to_owned);
        Some(Self { choice, text, calls: kept.merged(judged.calls_of_first_choice()) })
    }
}

/// Stores the part of the turn that the client does not get. Runs the proxy's calls of a `mixed` answer before.
/// `settled` is the client's part.
pub(crate) async fn keep(
    pipeline: &Pipeline,
    turn: &mut Turn,
    conversation: &mut TurnConversation,
    mixed: Option<MixedAnswer>,
    settled: &SettledAnswer,
) {
    let TurnConversation { offering, draft, .. } = conversation;
    match mixed {
        Some(mixed) => Box::pin(run_and_keep(pipeline, turn, offering, draft, mixed, settled)).await,
        None => keep_rounds(pipeline, turn, draft, settled).await,
    }
}

/// Runs the proxy's calls of the answer and stores the part that the client does not get. `settled` is the client's
/// part.
async fn run_and_keep(
    pipeline: &Pipeline,
    turn: &mut Turn,
    offering: &mut Offering,
    draft: &ChatDraft,
    mixed: MixedAnswer,
    settled: &SettledAnswer,
) {
    let Some(sent) = settled.message() else { return };
    let WholeAnswer { message, own } = whole(mixed, &offering.offer, sent);
    let Some(mut part) = KeptPart::new(draft.committed.pushed(), &message, sent) else { return };
    let ids: usize = own.iter().map(|(_, call)| call.id.len()).sum();
    let room = pipeline.settings.max_kept_bytes.saturating_sub(part.len() + ids) / own.len().max(1);
    if room < LEAST_RESULT_BYTES {
        stored(pipeline, Err(too_large(pipeline)));
        return;
    }
    if !commit(pipeline, turn, &part).await {
        return;
    }
    let (checked, calls): (Vec<CheckedCall>, Vec<Call>) = own.into_iter().unzip();
    let ran = run::run(pipeline, turn, offering, &draft.request().tool_choice(), checked).await;
    let texts = hand_back::texts(pipeline, turn, &ran);
    for (call, reply) in calls.iter().zip(texts) {
        part.add_result(call, fitting(reply.text, room));
    }
    commit(pipeline, turn, &part).await;
}

/// Stores the rounds of the turn before this answer if the client gets calls of its own. Otherwise the rounds would be
/// repeated when the client returns.
async fn keep_rounds(pipeline: &Pipeline, turn: &mut Turn, draft: &ChatDraft, settled: &SettledAnswer) {
    let rounds = draft.committed.pushed();
    if rounds.is_empty() {
        return;
    }
    let Some(sent) = settled.message() else { return };
    if let Some(part) = KeptPart::new(rounds, sent, sent) {
        commit(pipeline, turn, &part).await;
    }
}

/// An answer with the calls of both sides.
struct WholeAnswer {
    message: AssistantMessage,
    /// The proxy's calls, each in the form of the message.
    own: Vec<(CheckedCall, Call)>,
}

/// Returns the answer with all calls except client calls that are not sent.
fn whole(mixed: MixedAnswer, offer: &Offer, sent: &AssistantMessage) -> WholeAnswer {
    let MixedAnswer { mut choice, text, calls } = mixed;
    let mut left: Vec<&Call> = sent.calls().iter().collect();
    let mut left_custom = sent.unjudged_calls();
    let (mut all, mut own): (Vec<Call>, Vec<(CheckedCall, Call)>) = (Vec::new(), Vec::new());
    let mut custom: Vec<String> = Vec::new();
    for checked in calls {
        let call = checked.call();
        if offer.is_proxys(&call.name) {
            let call =
                with_fresh_id(call.clone(), |id| sent.calls().iter().chain(&all).any(|earlier| earlier.id == id));
            all.push(call.clone());
            own.push((checked, call));
        } else if let Some(at) = left.iter().position(|sent| sent.name == call.name && sent.arguments == call.arguments)
        {
            all.push(left.remove(at).clone());
        } else if let Some(input) = checked.custom_input()
            && let Some(at) = left_custom.iter().position(|sent| sent.name == call.name && sent.arguments == input)
        {
            let Call { id, .. } = left_custom.remove(at);
            all.push(Call { id: id.clone(), ..call.clone() });
            custom.push(id);
        }
    }
    match text {
        Some(text) => choice.rescue(&text, &all, false),
        None => choice.set_calls(&all),
    }
    for id in custom {
        choice.make_custom(&id);
    }
    WholeAnswer { message: choice.message, own }
}

/// Commits the part; returns whether it is stored.
async fn commit(pipeline: &Pipeline, turn: &Turn, part: &KeptPart) -> bool {
    let started = Instant::now();
    let committed = match serde_json::to_string(part) {
        Ok(_) if part.len() > pipeline.settings.max_kept_bytes => Err(too_large(pipeline)),
        Ok(document) => pipeline.store.keep_part(&row(turn, part, document)).await,
        Err(error) => Err(StoreError::Refused(error.to_string())),
    };
    pipeline.metrics.overhead.observe(Stage::Keep, started.elapsed());
    stored(pipeline, committed)
}

/// Returns whether a part is stored.
fn stored(pipeline: &Pipeline, result: Result<(), StoreError>) -> bool {
    pipeline.stored(result, Stage::Keep, "cannot store the proxy's part of an answer").is_some()
}

fn too_large(pipeline: &Pipeline) -> StoreError {
    let limit = pipeline.settings.max_kept_bytes;
    StoreError::Refused(format!("the part is larger than pipeline.max_kept_bytes ({limit})"))
}

fn row(turn: &Turn, part: &KeptPart, document: String) -> KeptRow {
    let mut hashes = MessageHashes::nothing();
    turn.request.messages().iter().for_each(|message| hashes.add(message));
    KeptRow {
        turn: turn.record.trace.id.clone(),
        tenant: turn.tenant().to_owned(),
        calls: kept_key::calls(part.sent().iter().map(String::as_str)),
        context: hashes.context(),
        history: hashes.history(),
        document,
    }
}

/// Returns the text if it fits into `room` bytes, else its beginning with a note.
fn fitting(mut text: String, room: usize) -> String {
    const NOTE: &str = "\n(shortened: more is not kept)";
    if text.len() > room {
        text.truncate(text.floor_char_boundary(room.saturating_sub(NOTE.len())));
        text.push_str(NOTE);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_fits_or_says_that_it_is_cut() {
        assert_eq!(fitting("abc".to_owned(), 3), "abc");
        let cut = fitting("ä".repeat(100), 60);
        assert!(cut.starts_with("ää") && cut.ends_with("not kept)") && cut.len() <= 60, "{cut}");
    }
}
