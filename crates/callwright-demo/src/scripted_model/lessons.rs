//! Interpretation of feedback by the scripted model. It recognises only these conventions:
//!
//! - names, values and paths are in backticks, and the text about one fault is on one line;
//! - a line with `required parameter` before a name, and `missing`: that parameter must be added;
//! - a line with `cannot be called without` before a name: likewise;
//! - a line with `closest` or `written` before a name: that name is right, and the one before those words is wrong;
//! - a line with `E4` before a path: the value at that path is wrong;
//! - an example call is the first JSON object after the words `in this form`; its values are valid, except those in
//!   `<>`;
//! - a longitude that `precedes`, `comes first` or comes `before`: that is the order of coordinates.
//!
//! Feedback without any of them has no effect: the model makes the same call again.

use serde_json::{Map, Value};

use super::exchange::ScriptedExchange;

/// Words before the name of a missing parameter.
const REQUIRED: &str = "required parameter ";

/// Words before the name of a parameter that past calls were wrong without.
const WITHOUT: &str = "cannot be called without ";

/// Words between a wrong name and the right one.
const SUGGESTIONS: [&str; 2] = ["closest", "written"];

/// Word before the path of a wrong value.
const WRONG_VALUE: &str = "E4";

/// Words before an example.
const EXAMPLE: &str = "in this form";

/// Words for the order of coordinates, after every `the` is removed.
const ORDERS: [&str; 4] = ["longitude precedes", "longitude first", "longitude comes first", "longitude before"];

/// Lessons from the feedback of an exchange.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FeedbackLessons {
    /// Wrong names and values, each with the right one.
    pub(super) names: Vec<(String, String)>,
    /// Missing parameters.
    pub(super) missing: Vec<String>,
    /// Parameters with a wrong value.
    pub(super) wrong_values: Vec<String>,
    /// Valid values by parameter.
    pub(super) example: Map<String, Value>,
    /// Whether the longitude precedes the latitude.
    pub(super) longitude_first: bool,
}

/// Parses all feedback of an exchange; later feedback takes precedence.
pub(super) fn lessons(exchange: &ScriptedExchange) -> FeedbackLessons {
    let mut lessons = FeedbackLessons::default();
    exchange.feedback().for_each(|text| lessons.parse(text));
    lessons
}

impl FeedbackLessons {
    fn parse(&mut self, text: &str) {
        text.lines().for_each(|line| self.read_line(line));
        if let Some((_, behind)) = text.split_once(EXAMPLE) {
            let object = first_object(behind).unwrap_or_default();
            self.example.extend(object.into_iter().filter(|(_, value)| !is_placeholder(value)));
        }
        let plain = text.to_ascii_lowercase().replace("the ", "");
        self.longitude_first |= ORDERS.iter().any(|order| plain.contains(order));
    }

    fn read_line(&mut self, line: &str) {
        if let Some((_, behind)) = line.split_once(REQUIRED).filter(|_| line.contains("missing")) {
            self.missing.extend(names(behind).first().map(|name| (*name).to_owned()));
        }
        if let Some((_, behind)) = line.split_once(WITHOUT) {
            self.missing.extend(names(behind).first().map(|name| (*name).to_owned()));
        }
        if let Some((before, behind)) = SUGGESTIONS.iter().find_map(|words| line.split_once(words))
            && let (Some(wrong), Some(right)) = (names(before).last(), names(behind).first())
        {
            self.names.push(((*wrong).to_owned(), (*right).to_owned()));
        }
        if let Some((_, behind)) = line.split_once(WRONG_VALUE) {
            let pointer = names(behind).first().and_then(|pointer| pointer.strip_prefix('/'));
            self.wrong_values.extend(pointer.map(str::to_owned));
        }
    }
}

/// Returns the names in backticks, in order.
fn names(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

fn first_object(text: &str) -> Option<Map<String, Value>> {
    let object = text.get(text.find('{')?..)?;
    serde_json::Deserializer::from_str(object).into_iter().next()?.ok()
}

fn is_placeholder(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.starts_with('<') && text.ends_with('>'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> FeedbackLessons {
        let mut lessons = FeedbackLessons::default();
        lessons.parse(text);
        lessons
    }

    #[test]
    fn a_suggestion_is_read_with_the_name_that_it_replaces() {
        for text in [
            "Error: the call of `x` was not run.\n- `planRute` is not offered. The closest is `planRoute` (plans).",
            "- `f` has no parameter `planRute`. It is written `planRoute`.",
        ] {
            assert_eq!(parse(text).names, [("planRute".to_owned(), "planRoute".to_owned())], "{text}");
        }
        assert!(parse("`planRute` is not offered.\nThe closest is `planRoute`.").names.is_empty());
    }

    #[test]
    fn a_missing_parameter_is_parsed_only_if_it_is_named() {
        assert_eq!(parse("`f` is right, but the required parameter `a.b` is missing.").missing, ["a.b"]);
        assert_eq!(parse("- \"rooms\": \"`f` cannot be called without `date` (Day).\"").missing, ["date"]);
        assert!(parse("A required parameter is missing.").missing.is_empty());
        assert!(parse("The required parameter `date` is a day.").missing.is_empty());
    }

    #[test]
    fn the_location_of_a_wrong_value_is_parsed() {
        assert_eq!(parse("- E4.2 at `/mode`: must be one of `a`, `b`").wrong_values, ["mode"]);
        assert!(parse("- E3.4 at `/mode`: is missing").wrong_values.is_empty());
    }

    #[test]
    fn placeholders_and_broken_examples_give_no_values() {
        let example = parse(
            "Call again in this form: `f` with the arguments\n{\"a\": {\"b\": 1}, \"c\": \"<day>\"}\nThat is all.",
        )
        .example;
        assert_eq!(Value::Object(example), serde_json::json!({ "a": { "b": 1 } }));
        assert!(parse("in this form: {\"a\": ").example.is_empty());
        assert!(parse("The call of `f` with the arguments `{\"a\": 1}` failed.").example.is_empty());
    }

    #[test]
    fn the_order_of_coordinates_is_read_in_several_wordings() {
        for text in [
            "the longitude precedes the latitude", "Longitude first.", "The longitude comes first.",
            "longitude before latitude",
        ] {
            assert!(parse(text).longitude_first, "{text}");
        }
        assert!(!parse("the latitude precedes the longitude").longitude_first);
    }
}
