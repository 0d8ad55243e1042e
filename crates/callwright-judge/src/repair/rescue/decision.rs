//! Decides by one table whether calls found in a text are calls, text or unsure.
//!
//! The evidence is structural and independent of the language: chat template markers, the text around the calls,
//! whether an earlier message contains the same text, whether the user's message names the tool, the effect of the
//! tool, and whether the upstream delivers native calls. No phrase of a natural language makes a call.

use serde::Serialize;

/// Markers of the calls. For several calls, the weakest form applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Enclosed in markers that chat templates reserve for calls.
    Reserved,
    /// Without markers, or with markers that are common words.
    Plain,
}

/// Position of the calls among the other content of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Surroundings {
    /// The answer contains nothing else.
    Alone,
    /// The calls begin the answer, and prose follows.
    Leading,
    /// Prose precedes the calls without presenting them, and the calls end the answer.
    Following,
    /// Prose is on both sides of the calls without presenting them.
    Amid,
    /// A line presents the calls: it ends with a colon, a dash, an arrow or a question mark, or it is a heading.
    Presented,
}

/// Effect of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The call only reads.
    Reads,
    /// The call changes data, or there is no evidence that it only reads.
    Changes,
}

/// Manner in which the upstream delivers calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// The upstream leaves calls in the text, or is not known to deliver native calls.
    Text,
    /// The upstream delivers native `tool_calls`.
    Native,
}

/// Evidence from the conversation against a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Doubt {
    /// No evidence against the call.
    None,
    /// The user's last message names the tool, so the message may be a question about the tool.
    Named,
    /// The request may contain the calls in another form: it has their names and values near each other, or content that
    /// the proxy cannot read, or foreign content for a tool that changes data.
    Possible,
    /// An earlier system, user or tool message contains the text of the calls, so the answer may quote it.
    Quoted,
}

/// All inputs of the decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Case {
    /// Markers of the calls.
    pub form: Form,
    /// Position of the calls in the answer.
    pub surroundings: Surroundings,
    /// Evidence from the conversation against the calls.
    pub doubt: Doubt,
    /// Effect of the calls; for several calls, the strongest.
    pub effect: Effect,
    /// Manner in which the upstream delivers calls.
    pub delivery: Delivery,
}

/// Decision about calls found in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The text is calls.
    Call,
    /// Undecided: by policy, the model is requested to confirm, or the text stays text.
    Unsure,
    /// The text is not a call.
    Text,
}

impl Case {
    /// Whether the calls would be calls if the request had no text that may contain them.
    pub(crate) const fn is_call_but_for_doubt(self) -> bool {
        let certain = Self { doubt: Doubt::None, ..self };
        matches!(self.doubt, Doubt::Possible) && matches!(decide(certain), Decision::Call)
    }
}

/// Decides by the table of docs/notations.md, which a test compares with this function.
pub const fn decide(case: Case) -> Decision {
    use Decision::{Call, Text, Unsure};
    use Surroundings::{Alone, Amid, Following, Leading, Presented};
    let Case { form, surroundings, doubt, effect, delivery } = case;
    match (doubt, surroundings) {
        (Doubt::Quoted, Alone) => return if matches!(delivery, Delivery::Native) { Text } else { Unsure },
        (Doubt::Quoted, _) => return Text,
        (Doubt::Possible, _) => return Unsure,
        _ => {}
    }
    let if_reads = match effect {
        Effect::Reads => Call,
        Effect::Changes => Unsure,
    };
    match (form, surroundings, delivery) {
        (Form::Reserved, Alone, _) | (Form::Reserved, Following, Delivery::Text) => Call,
        // A model stops after a call. Prose that follows may describe the call.
        (Form::Reserved, Leading, _) | (Form::Reserved, Amid, Delivery::Text) => if_reads,
        (Form::Reserved, Following, Delivery::Native) => if_reads,
        (Form::Plain, Alone, _) if matches!(doubt, Doubt::Named) => if_reads,
        (Form::Plain, Alone, _) => Call,
        (Form::Plain, Leading, Delivery::Text) => if_reads,
        (_, Presented, _) | (Form::Plain, Following | Amid, _) => Unsure,
        (Form::Reserved, Amid, Delivery::Native) | (Form::Plain, Leading, Delivery::Native) => Unsure,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const FORMS: [Form; 2] = [Form::Reserved, Form::Plain];
    const SURROUNDINGS: [Surroundings; 5] = [
        Surroundings::Alone,
        Surroundings::Leading,
        Surroundings::Following,
        Surroundings::Amid,
        Surroundings::Presented,
    ];
    const DOUBTS: [Doubt; 4] = [Doubt::None, Doubt::Named, Doubt::Possible, Doubt::Quoted];
    const EFFECTS: [Effect; 2] = [Effect::Reads, Effect::Changes];
    const DELIVERIES: [Delivery; 2] = [Delivery::Text, Delivery::Native];

    fn label(value: impl Serialize) -> String {
        serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()
    }

    /// Renders the table of the documentation: a row for each form, surroundings and doubt, a column for each delivery
    /// and effect.
    fn table() -> String {
        let mut rows = Vec::new();
        for form in FORMS {
            for surroundings in SURROUNDINGS {
                for doubt in DOUBTS {
                    let cells: Vec<String> = DELIVERIES
                        .into_iter()
                        .flat_map(|delivery| EFFECTS.map(|effect| Case { form, surroundings, doubt, effect, delivery }))
                        .map(|case| label(decide(case)))
                        .collect();
                    rows.push(format!(
                        "| `{}` | `{}` | `{}` | {} |",
                        label(form),
                        label(surroundings),
                        label(doubt),
                        cells.join(" | ")
                    ));
                }
            }
        }
        rows.join("\n")
    }

    #[test]
    fn the_documentation_has_the_table() {
        let page = include_str!("../../../../../docs/notations.md");
        let table = table();
        assert!(page.contains(&table), "docs/notations.md lacks this table:\n{table}");
    }

    fn cases() -> impl Iterator<Item = Case> {
        FORMS.into_iter().flat_map(|form| {
            SURROUNDINGS.into_iter().flat_map(move |surroundings| {
                DOUBTS.into_iter().flat_map(move |doubt| {
                    EFFECTS.into_iter().flat_map(move |effect| {
                        DELIVERIES.map(|delivery| Case { form, surroundings, doubt, effect, delivery })
                    })
                })
            })
        })
    }

    fn rank(decision: Decision) -> u8 {
        match decision {
            Decision::Call => 0,
            Decision::Unsure => 1,
            Decision::Text => 2,
        }
    }

    #[test]
    fn weaker_evidence_never_makes_a_call_more_likely() {
        for case in cases() {
            let weaker = [
                Case { form: Form::Plain, ..case },
                Case { doubt: case.doubt.max(Doubt::Possible), ..case },
                Case { doubt: Doubt::Quoted, ..case },
                Case { effect: Effect::Changes, ..case },
                Case { delivery: Delivery::Native, ..case },
                Case { surroundings: Surroundings::Presented, ..case },
            ];
            for other in weaker {
                assert!(rank(decide(other)) >= rank(decide(case)), "{other:?} against {case:?}");
            }
        }
    }

    #[test]
    fn possible_text_of_an_earlier_message_is_never_surely_a_call() {
        assert!(cases().filter(|case| case.doubt >= Doubt::Possible).all(|case| decide(case) != Decision::Call));
    }

    #[test]
    fn a_line_that_presents_a_call_never_leaves_it_certain() {
        assert!(
            cases()
                .filter(|case| case.surroundings == Surroundings::Presented)
                .all(|case| decide(case) != Decision::Call)
        );
    }
}
