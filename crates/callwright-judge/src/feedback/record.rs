//! The record of the loop, for the model's last word and for a person.

use minijinja::context;
use minijinja::value::Value;

use callwright_common::text::excerpt;
use callwright_types::trace::Round;

/// The last rounds that are told; earlier ones are in the trace.
const MAX_ROUNDS: usize = 6;

/// Characters of an action or a thought that are told.
const MAX_ACTION: usize = 300;

/// Characters of an observation that a person is told.
const MAX_OBSERVATION: usize = 600;

/// What the request for a last word can say.
pub(super) fn closing(record: &[Round]) -> Value {
    context! { record => rounds(record) }
}

/// What the text for a person can say.
pub(super) fn handover(record: &[Round], trace_id: &str) -> Value {
    context! { record => rounds(record), trace_id => trace_id }
}

/// The last rounds, each cut short.
pub(super) fn rounds(record: &[Round]) -> Vec<Value> {
    let last = record.iter().skip(record.len().saturating_sub(MAX_ROUNDS));
    last.map(|round| {
        context! {
            kind => &round.kind,
            action => excerpt(&round.action, MAX_ACTION),
            observation => excerpt(&round.observation, MAX_OBSERVATION),
            thought => round.thought.as_deref().map(|thought| excerpt(thought, MAX_ACTION)),
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback::Templates;

    fn record(rounds: usize) -> Vec<Round> {
        let round = |index| Round {
            kind: "static".into(),
            action: format!("book({index})"),
            observation: "Error: the call was not run.\n- E3.4".into(),
            thought: (index % 2 == 0).then(|| "I forgot the room.".to_owned()),
            new_action: None,
        };
        (0..rounds).map(round).collect()
    }

    #[test]
    fn the_model_is_asked_for_a_last_word_without_calls() {
        let text = Templates::builtin().closing(&record(2));
        assert!(text.contains("Do not call a tool") && text.contains("- Tried: `book(1)`"), "{text}");
        assert!(!Templates::builtin().closing(&[]).is_empty());
    }

    #[test]
    fn a_person_gets_the_last_rounds_and_the_trace() {
        let text = Templates::builtin().handover(&record(9), "0af7651916cd43dd8448eb211c80319c");
        assert!(text.contains("book(8)") && text.contains("book(3)") && !text.contains("book(2)"), "{text}");
        assert!(text.contains("1. book(3)\n   Error: the call was not run. - E3.4\n"), "{text}");
        assert!(text.contains("The model said: I forgot the room."), "{text}");
        assert!(text.ends_with("trace 0af7651916cd43dd8448eb211c80319c."), "{text}");
    }
}
