//! Record of the feedback loop, for the final request to the model.

use minijinja::context;
use minijinja::value::Value;

use super::outcome::MAX_TRIED;
use callwright_common::limits::EXCERPT_CHARS;
use callwright_common::text::excerpt;
use callwright_types::trace::Round;

/// Maximum number of characters of an observation.
const MAX_OBSERVATION: usize = 600;

/// Returns the template context of the request for a final answer.
pub(super) fn closing(record: &[Round]) -> Value {
    context! { record => rounds(record) }
}

/// Returns the last rounds, each one shortened.
pub(super) fn rounds(record: &[Round]) -> Vec<Value> {
    let last = record.iter().skip(record.len().saturating_sub(MAX_TRIED));
    last.map(|round| {
        context! {
            kind => &round.kind,
            action => excerpt(&round.action, EXCERPT_CHARS),
            observation => excerpt(observation(round), MAX_OBSERVATION),
            thought => round.thought.as_deref().map(|thought| excerpt(thought, EXCERPT_CHARS)),
        }
    })
    .collect()
}

/// Returns the observation of a round, in brief where there is such a form.
pub(super) fn observation(round: &Round) -> &str {
    if round.brief.is_empty() { &round.observation } else { &round.brief }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feedback;

    fn record(rounds: usize) -> Vec<Round> {
        let round = |index| Round {
            kind: "static".into(),
            action: format!("book({index})"),
            observation: "Error: the call was not run.\n- E3.4".into(),
            brief: String::new(),
            thought: (index % 2 == 0).then(|| "I forgot the room.".to_owned()),
            new_action: None,
        };
        (0..rounds).map(round).collect()
    }

    #[test]
    fn the_model_is_asked_for_a_last_word_without_calls() {
        let text = feedback::closing(&record(2));
        assert!(text.contains("Do not call a tool") && text.contains("- Tried: `book(1)`"), "{text}");
        assert!(!feedback::closing(&[]).is_empty());
    }
}
