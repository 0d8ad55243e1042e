//! What the scripted model understands of feedback. It is no reader; it goes by these conventions and by nothing else:
//!
//! - names stand in backticks;
//! - `did you mean` before a name: the name that stands before those words is wrong, the one behind them is right;
//! - `required parameter` before a name, in a sentence that says `missing`: that parameter is to be given;
//! - an example call is the first JSON object behind the word `example`: its values are good values;
//! - a sentence that says that the longitude comes before the latitude (`longitude precedes`, `longitude first` and the like).
//!
//! Feedback that keeps none of them teaches this model nothing, and it makes the same call again.

use serde_json::{Map, Value};

use super::exchange::Exchange;

/// Words between a wrong name and the right one.
const SUGGESTION: &str = "did you mean ";

/// Words before the name of a parameter that is missing.
const REQUIRED: &str = "required parameter ";

/// Word before an example.
const EXAMPLE: &str = "example";

/// Words that tell the order of coordinates.
const ORDERS: [&str; 4] = ["longitude precedes", "longitude first", "longitude comes first", "longitude before"];

/// Everything that the feedback of an exchange teaches.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Lessons {
    /// Wrong names, each with the right one.
    pub(super) names: Vec<(String, String)>,
    /// Parameters that are missing.
    pub(super) missing: Vec<String>,
    /// Good values by parameter.
    pub(super) example: Map<String, Value>,
    /// Does the longitude come before the latitude?
    pub(super) longitude_first: bool,
}

/// Reads all feedback of an exchange; what was said later wins.
pub(super) fn lessons(exchange: &Exchange) -> Lessons {
    let mut lessons = Lessons::default();
    exchange.feedback().for_each(|text| lessons.read(text));
    lessons
}

impl Lessons {
    fn read(&mut self, text: &str) {
        let lower = text.to_ascii_lowercase();
        for (before, after) in around(&lower, text, SUGGESTION) {
            if let (Some(wrong), Some(right)) = (names(before).pop(), leading_name(after)) {
                self.names.push((wrong.to_owned(), right.to_owned()));
            }
        }
        for sentence in text.split(['.', '\n']).filter(|sentence| sentence.contains("missing")) {
            let lower = sentence.to_ascii_lowercase();
            let found = around(&lower, sentence, REQUIRED);
            self.missing.extend(found.into_iter().filter_map(|(_, after)| leading_name(after)).map(str::to_owned));
        }
        for (_, after) in around(&lower, text, EXAMPLE) {
            self.example.extend(first_object(after).unwrap_or_default());
        }
        self.longitude_first |= ORDERS.iter().any(|order| lower.replace("the ", "").contains(order));
    }
}

/// What stands before and behind each occurrence of `words`. Lower-casing ASCII keeps every place.
fn around<'a>(lower: &str, text: &'a str, words: &str) -> Vec<(&'a str, &'a str)> {
    let places = lower.match_indices(words);
    places.filter_map(|(start, _)| Some((text.get(..start)?, text.get(start + words.len()..)?))).collect()
}

/// The names in backticks, in order.
fn names(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

fn leading_name(text: &str) -> Option<&str> {
    text.strip_prefix('`')?.split_once('`').map(|(name, _)| name)
}

fn first_object(text: &str) -> Option<Map<String, Value>> {
    let object = text.get(text.find('{')?..)?;
    serde_json::Deserializer::from_str(object).into_iter().next()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Lessons {
        let mut lessons = Lessons::default();
        lessons.read(text);
        lessons
    }

    #[test]
    fn a_suggestion_is_read_with_the_name_that_it_replaces() {
        let lessons = read("There is no tool `planRute`. Did you mean `planRoute`?");
        assert_eq!(lessons.names, [("planRute".to_owned(), "planRoute".to_owned())]);
    }

    #[test]
    fn a_missing_parameter_is_read_only_where_it_is_named() {
        assert_eq!(read("The required parameter `date` is missing.").missing, ["date"]);
        assert!(read("A required parameter is missing.").missing.is_empty());
        assert!(read("The required parameter `date` is a day.").missing.is_empty());
    }

    #[test]
    fn an_example_gives_values_and_broken_ones_give_none() {
        assert_eq!(read("For example:\n{\"a\": {\"b\": 1}} and so on").example["a"]["b"], 1);
        assert!(read("For example: {\"a\": ").example.is_empty());
        assert!(read("{\"a\": 1}").example.is_empty());
    }

    #[test]
    fn the_order_of_coordinates_is_read_in_several_wordings() {
        for text in ["the longitude precedes the latitude", "Longitude first.", "longitude comes before latitude"] {
            assert_eq!(read(text).longitude_first, text != "longitude comes before latitude", "{text}");
        }
        assert!(!read("latitude precedes longitude").longitude_first);
    }
}
