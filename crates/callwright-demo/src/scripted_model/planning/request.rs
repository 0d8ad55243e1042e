//! Conversation and tools in a planning request, and the values that the user gave.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::question::{clock_after, count_of, date, name_after};

/// Message of a conversation.
#[derive(Debug, Default, Deserialize)]
pub(super) struct PlannerMessage {
    from: String,
    text: String,
}

/// Tool in a planning request.
#[derive(Debug, Default, Deserialize)]
pub(super) struct PlannerTool {
    pub(super) name: String,
    #[serde(default)]
    pub(super) description: String,
    /// Output members; `None` if unknown.
    #[serde(default)]
    pub(super) outputs: Option<Map<String, Value>>,
}

/// Returns the user messages, latest first: later ones take precedence.
pub(super) fn users_latest_first(conversation: &[PlannerMessage]) -> impl Iterator<Item = &str> {
    conversation.iter().rev().filter(|line| line.from == "user").map(|line| line.text.as_str())
}

/// Extraction of an argument from a text: the value, and the words that it comes from.
type ArgumentReading = fn(&str) -> Option<(Value, String)>;

/// Argument names and their extraction.
const READINGS: [(&str, ArgumentReading); 8] = [
    ("name", |text| name_in(text, &["in the name of ", "for ", "I am ", "I'm "])),
    ("origin", |text| name_in(text, &["from "])),
    ("destination", |text| name_in(text, &["to "])),
    ("date", |text| date(text).map(|date| (date.into(), date.to_owned()))),
    ("start", |text| clock_in(text, &["from", "at"])),
    ("end", |text| clock_in(text, &["to", "until", "till"])),
    ("seats", people_in),
    ("capacity", people_in),
];

/// Returns the user's value for an argument, and its words. A time without a day gets the day given elsewhere.
pub(super) fn stated(conversation: &[PlannerMessage], argument: &str) -> Option<(Value, String)> {
    let (_, reading) = READINGS.iter().find(|(name, _)| *name == argument)?;
    let (value, words) = users_latest_first(conversation).find_map(reading)?;
    if !matches!(argument, "start" | "end") {
        return Some((value, words));
    }
    let day = users_latest_first(conversation).find_map(date)?;
    Some((format!("{day}T{}", value.as_str()?).into(), words))
}

/// Whether the text contains a value for any argument.
pub(super) fn gives_something(text: &str) -> bool {
    READINGS.iter().any(|(_, reading)| reading(text).is_some())
}

fn name_in(text: &str, phrases: &[&str]) -> Option<(Value, String)> {
    let name = phrases.iter().find_map(|phrase| name_after(text, phrase))?;
    Some((name.as_str().into(), name))
}

fn clock_in(text: &str, words: &[&str]) -> Option<(Value, String)> {
    let (clock, stated) = words.iter().find_map(|word| clock_after(text, word))?;
    Some((clock.into(), stated))
}

fn people_in(text: &str) -> Option<(Value, String)> {
    let count = count_of(text, "people")?;
    Some((count.into(), format!("{count} people")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn conversation(texts: &[(&str, &str)]) -> Vec<PlannerMessage> {
        texts.iter().map(|(from, text)| PlannerMessage { from: (*from).to_owned(), text: (*text).to_owned() }).collect()
    }

    #[test]
    fn a_value_is_returned_with_its_source_text() {
        let heard = conversation(&[("user", "Book a room for Jack on 2026-06-02 from 9 to 10:30, for 6 people.")]);
        for (argument, value, words) in [
            ("name", json!("Jack"), "Jack"),
            ("date", json!("2026-06-02"), "2026-06-02"),
            ("start", json!("2026-06-02T09:00"), "from 9"),
            ("end", json!("2026-06-02T10:30"), "to 10:30"),
            ("seats", json!(6), "6 people"),
        ] {
            assert_eq!(stated(&heard, argument), Some((value, words.to_owned())), "{argument}");
        }
        assert_eq!(stated(&heard, "room_id"), None);
        assert_eq!(stated(&heard, "destination"), None);
    }

    #[test]
    fn later_user_messages_count_and_others_do_not() {
        let heard = conversation(&[
            ("user", "I am Lucas. Book a flight from Oslo to Porto."),
            ("assistant", "From Rome to Lisbon?"),
            ("user", "No, to Ghent."),
        ]);
        assert_eq!(stated(&heard, "destination").map(|(value, _)| value), Some(json!("Ghent")));
        assert_eq!(stated(&heard, "origin").map(|(value, _)| value), Some(json!("Oslo")));
        assert_eq!(stated(&heard, "start"), None);
    }
}
