//! Choice of a list item.

use serde::Deserialize;
use serde_json::{Value, json};

use super::request::{PlannerMessage, users_latest_first};
use callwright_common::text::words;

/// List item.
#[derive(Debug, Deserialize)]
pub(super) struct PlannerOption {
    number: u64,
    value: Value,
}

/// Wishes, each with the item member to minimise.
const LEAST: [(&str, &str); 3] = [("cheapest", "price"), ("earliest", "departs"), ("smallest", "capacity")];

/// Chooses the item with the minimum of a preferred measure, or the one with the most words of the user, or the first.
pub(super) fn answer(conversation: &[PlannerMessage], options: &[PlannerOption]) -> Value {
    let messages: Vec<&str> = users_latest_first(conversation).collect();
    let preference = messages.iter().find_map(|text| LEAST.iter().find(|(preference, _)| text.contains(preference)));
    let chosen = preference.and_then(|(_, member)| least(options, member));
    let chosen = chosen.or_else(|| best_match(options, &messages.join(" "))).or(options.first());
    json!({ "choice": chosen.map(|option| option.number) })
}

fn least<'a>(options: &'a [PlannerOption], member: &str) -> Option<&'a PlannerOption> {
    let measured = options.iter().filter(|option| option.value.get(member).is_some());
    measured.min_by(|one, other| {
        let (one, other) = (one.value.get(member), other.value.get(member));
        match (one.and_then(Value::as_f64), other.and_then(Value::as_f64)) {
            (Some(one), Some(other)) => one.total_cmp(&other),
            // Times of the same format compare as text.
            _ => one.and_then(Value::as_str).cmp(&other.and_then(Value::as_str)),
        }
    })
}

/// Returns the first item with the most words of the user; `None` if no word matches.
fn best_match<'a>(options: &'a [PlannerOption], messages: &str) -> Option<&'a PlannerOption> {
    let messages: Vec<&str> = words(messages).collect();
    options.iter().rev().max_by_key(|option| option.count(&messages)).filter(|option| option.count(&messages) > 0)
}

impl PlannerOption {
    /// Counts its words that occur in `messages`.
    fn count(&self, messages: &[&str]) -> usize {
        let members = self.value.as_object().into_iter().flat_map(|members| members.values());
        let texts = members.chain([&self.value]).filter_map(Value::as_str);
        texts.flat_map(words).filter(|word| messages.contains(word)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preference_a_name_or_the_first_option_decides() {
        let flights = json!([
            { "number": 1, "value": { "id": "f-1", "departs": "08:00", "price": 150 } },
            { "number": 2, "value": { "id": "f-2", "departs": "09:00", "price": 99 } },
            { "number": 3, "value": { "id": "f-3", "departs": "07:10", "price": 150 } },
        ]);
        let people = json!([
            { "number": 1, "value": { "id": "p-1", "name": "Mary Jackson" } },
            { "number": 2, "value": { "id": "p-2", "name": "Jack Kilby" } },
        ]);
        for (text, options, choice) in [
            ("Book the cheapest flight for Lucas", &flights, json!(2)),
            ("Book the earliest flight for Lucas", &flights, json!(3)),
            ("Book a flight for Lucas", &flights, json!(1)),
            ("Book a room for Jack", &people, json!(2)),
            ("Book the cheapest room for Jack", &people, json!(2)),
            ("Book a room", &json!([]), json!(null)),
        ] {
            let conversation: Vec<PlannerMessage> =
                serde_json::from_value(json!([{ "from": "user", "text": text }])).unwrap();
            let options: Vec<PlannerOption> = serde_json::from_value(options.clone()).unwrap();
            assert_eq!(answer(&conversation, &options), json!({ "choice": choice }), "{text}");
        }
    }
}
