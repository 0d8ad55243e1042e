//! Summary of the counts in sentences.

use serde::Serialize;

use super::Replay;
use callwright_types::rules::Mode;

/// Counts with their summary, for machine-readable output.
#[derive(Debug, Serialize)]
pub struct ReplayReport {
    /// One-sentence summary.
    headline: String,
    #[serde(flatten)]
    replay: Replay,
    /// Notes on the interpretation of the counts.
    notes: Vec<String>,
}

impl Replay {
    /// Returns the counts with their summary.
    pub fn into_report(self) -> ReplayReport {
        ReplayReport { headline: self.headline(), notes: self.notes(), replay: self }
    }

    /// Returns a one-sentence summary.
    pub fn headline(&self) -> String {
        let calls = grouped(self.calls.all());
        let mut done = vec![
            format!("repaired {}", grouped(self.calls.repaired)),
            format!("re-asked {}", grouped(self.calls.sent_back)),
        ];
        if self.calls.handed_over > 0 {
            done.push(format!("handed over {}", grouped(self.calls.handed_over)));
        }
        let last = done.pop().unwrap_or_default();
        format!("would have {} and {last} of {calls} calls", done.join(", "))
    }

    /// Returns notes on the interpretation and the limits of the counts.
    pub fn notes(&self) -> Vec<String> {
        let judged = self.judged;
        let policies: Vec<String> =
            self.policies.iter().map(|(name, count)| format!("{name} {}", grouped(*count))).collect();
        let mut notes = Vec::new();
        let mut note = |count: u64, text: String| notes.extend((count > 0).then_some(text));
        note(
            judged.as_recorded,
            format!(
                "{} of {} turns do not hold the bodies that judging them again requires: they count as judged at that time, under the \
                 policies {}. The result of another policy is unknown; `record: {{bodies: true}}` keeps bodies.",
                grouped(judged.as_recorded),
                grouped(self.turns.all()),
                policies.join(", "),
            ),
        );
        note(
            judged.by_verdict_alone,
            format!(
                "{} turns are summaries: they count by their verdict, and their calls are unknown. See `--help` for how to get full \
                 traces.",
                grouped(judged.by_verdict_alone)
            ),
        );
        note(
            judged.not,
            format!(
                "{} turns have an unknown outcome: they got no answer, or were not judged (mode `off`) and hold no bodies.",
                grouped(judged.not)
            ),
        );
        note(
            self.calls.sent_back,
            "Recorded answers do not show whether the model would have corrected calls that are sent back.".to_owned(),
        );
        let guarded = self.modes.get(Mode::Guard.label()).copied().unwrap_or_default();
        note(
            guarded,
            format!(
                "{} turns ran in mode `guard`: feedback corrected {}, a limit ended {}. Their {} answers to feedback are not counted.",
                grouped(guarded),
                grouped(self.corrected),
                grouped(self.exhausted),
                grouped(self.answers_to_feedback)
            ),
        );
        notes
    }
}

/// Formats a number with a comma between its thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn the_headline_summarises_the_replay() {
        let mut replay = Replay::default();
        assert_eq!(replay.headline(), "would have repaired 0 and re-asked 0 of 0 calls");
        (replay.calls.clean, replay.calls.repaired, replay.calls.sent_back) = (9157, 212, 31);
        assert_eq!(replay.headline(), "would have repaired 212 and re-asked 31 of 9,400 calls");
        replay.calls.handed_over = 1;
        assert_eq!(replay.headline(), "would have repaired 212, re-asked 31 and handed over 1 of 9,401 calls");
    }
}
