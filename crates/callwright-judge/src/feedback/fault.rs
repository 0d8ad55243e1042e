//! Static feedback: faults that the scan found in one call.

use minijinja::context;
use minijinja::value::{Serde, Value};
use serde_json::Map;

use super::library::render;
use super::quote::{MAX_DESCRIBED, one_line};
use super::shown::{self, ExampleCall};
use callwright_common::json::Pointer;
use callwright_scanner::ToolSet;
use callwright_types::{Call, Diagnosis, FaultCode};

/// Renders each fault with its own template, whose name is that of the fault code.
pub(super) fn texts(call: &Call, diagnoses: &[Diagnosis]) -> Vec<(FaultCode, String)> {
    diagnoses
        .iter()
        .take(MAX_DESCRIBED)
        .enumerate()
        .map(|(index, diagnosis)| {
            let again = diagnoses.iter().take(index).any(|earlier| earlier.code == diagnosis.code);
            let text = render(diagnosis.code.name(), &context(call, diagnosis, again));
            // Falls back to the diagnosis message if the template renders nothing.
            let text =
                if text.is_empty() { format!("{}: {}", diagnosis.code, diagnosis.message) } else { one_line(&text) };
            (diagnosis.code, text)
        })
        .collect()
}

/// Returns the template context of a fault. `again` is set if an earlier fault in the message has the same code, so
/// that its advice is not repeated.
pub(super) fn context(call: &Call, diagnosis: &Diagnosis, again: bool) -> Value {
    context! {
        again => again,
        code => diagnosis.code.code(),
        path => diagnosis.path.as_str(),
        message => &diagnosis.message,
        suggestion => &diagnosis.suggestion,
        tool => &call.name,
        facts => Value::from(Serde(&diagnosis.facts)),
    }
}

/// Returns the template context of a fault of an answer.
pub(super) fn of_answer(diagnosis: &Diagnosis) -> Value {
    context! {
        code => diagnosis.code.code(),
        message => &diagnosis.message,
        facts => Value::from(Serde(&diagnosis.facts)),
    }
}

/// Returns the context of the template that frames the faults.
pub(super) fn frame(call: &Call, diagnoses: &[Diagnosis], texts: &[(FaultCode, String)], tool_set: &ToolSet) -> Value {
    let faults: Vec<Value> =
        texts.iter().map(|(code, text)| context! { code => code.code(), name => code.name(), text => text }).collect();
    let mut levels = diagnoses.iter().map(|diagnosis| diagnosis.code.level());
    let repeated = !diagnoses.is_empty() && levels.all(|level| level == FaultCode::RepeatedCall.level());
    // The same call would be a repetition again, and a missing source requires another call first.
    let example = match repeated || diagnoses.iter().any(waits_for_another) {
        true => None,
        false => example_of(call, diagnoses, tool_set),
    };
    context! {
        call => named(call),
        faults => faults,
        found => diagnoses.len(),
        repeated => repeated,
        shortened => shown::are_too_long(&call.arguments),
        example => example.map(ExampleCall::context),
    }
}

/// Whether a value comes from a call that has not been made yet.
fn waits_for_another(diagnosis: &Diagnosis) -> bool {
    diagnosis.code == FaultCode::WrongSource && diagnosis.facts.get("was_called").is_some_and(|called| called == false)
}

/// Returns the context of messages that mention only the call.
pub(super) fn call_alone(call: &Call) -> Value {
    context! { call => named(call) }
}

pub(super) fn named(call: &Call) -> Value {
    context! { name => &call.name, arguments => &call.arguments }
}

/// Returns an example call of the intended tool, with the correct arguments kept and valid values for the others.
fn example_of(call: &Call, diagnoses: &[Diagnosis], tool_set: &ToolSet) -> Option<ExampleCall> {
    let of_tool = diagnoses.iter().find(|diagnosis| diagnosis.code.level() == FaultCode::ToolUnknown.level());
    let name = match of_tool {
        Some(diagnosis) => diagnosis.suggestion.as_deref()?,
        None => &call.name,
    };
    let (mut given, mut wanted) = right_arguments(call, diagnoses);
    let long: Vec<String> =
        given.iter().filter(|(_, value)| !shown::is_repeated(value)).map(|(name, _)| name.clone()).collect();
    long.iter().for_each(|name| drop(given.remove(name)));
    wanted.extend(long);
    shown::call_of(tool_set.get(name)?, &given, &wanted)
}

/// Returns the arguments with faulty ones removed or, if the intended value is known, replaced; and the parameters for
/// which the example shows a valid value.
fn right_arguments(call: &Call, diagnoses: &[Diagnosis]) -> (Map<String, serde_json::Value>, Vec<String>) {
    let mut given: Map<String, serde_json::Value> = serde_json::from_str(&call.arguments).unwrap_or_default();
    let (mut wanted, mut filled) = (Vec::new(), Vec::new());
    for diagnosis in diagnoses {
        let tokens = diagnosis.path.tokens();
        let Some(name) = tokens.first() else { continue };
        // An object without a schema of its own is complete with the members that were beside it.
        if diagnosis.code == FaultCode::ParameterMissing && tokens.len() == 1 && filled.contains(name) {
            continue;
        }
        let value = given.shift_remove(name);
        let suggestion = diagnosis.suggestion.as_deref().filter(|_| tokens.len() == 1);
        match (diagnosis.code, suggestion, value) {
            // By elimination: the value may also be another one.
            (FaultCode::ParameterSemantic, Some(meant), _) if diagnosis.is_by_elimination() => {
                wanted.push(meant.to_owned());
            }
            (FaultCode::ParameterLiteral | FaultCode::ParameterSemantic, Some(meant), Some(value)) => {
                given.insert(meant.to_owned(), value);
            }
            (FaultCode::Constraint | FaultCode::WrongSource, Some(meant), _) => {
                given.insert(name.clone(), meant.into());
            }
            (FaultCode::ParameterUnknown, _, Some(value)) if tokens.len() == 1 => {
                filled.extend(regroup(&mut given, diagnosis, name, value));
            }
            (FaultCode::Placeholder, _, _)
                if diagnosis.facts.get("required").is_some_and(|required| required == false) => {}
            _ => wanted.push(name.clone()),
        }
    }
    (given, wanted)
}

/// Gives an unknown member the place that the schema has for it, or its own members theirs. Returns the object that
/// takes members of any name, if it got the member.
fn regroup(
    given: &mut Map<String, serde_json::Value>,
    diagnosis: &Diagnosis,
    name: &str,
    value: serde_json::Value,
) -> Option<String> {
    let listed =
        |key: &str| diagnosis.facts.get(key).and_then(serde_json::Value::as_array).cloned().unwrap_or_default();
    let (places, objects, inner) = (listed("places"), listed("objects"), listed("inner"));
    let place = match places.as_slice() {
        [place] => place.as_str().and_then(|place| Pointer::from(place).tokens().into_iter().next()),
        _ => None,
    };
    let free = match objects.as_slice() {
        [object] if places.is_empty() => object.as_str().map(str::to_owned),
        _ => None,
    };
    if let Some(object) = place.or_else(|| free.clone()) {
        let held = given.entry(object).or_insert_with(|| serde_json::Value::Object(Map::new()));
        if let Some(members) = held.as_object_mut() {
            members.entry(name).or_insert(value);
        }
    } else if let serde_json::Value::Object(members) = value {
        for (member, value) in members.into_iter().filter(|(member, _)| inner.iter().any(|name| name == member)) {
            given.entry(member).or_insert(value);
        }
    }
    free
}

#[cfg(test)]
mod tests {
    use crate::feedback;
    use callwright_scanner::scan;
    use callwright_scanner::testing::{TOOLS, call, refusing, tool_set};
    use callwright_types::rules::ScanRules;

    fn told(name: &str, arguments: &str) -> String {
        let (book, call) = (tool_set(TOOLS), call(name, arguments));
        let diagnoses = scan(&call, 0, &book, &refusing()).unwrap_err();
        feedback::faulty_call(&call, &diagnoses, &book)
    }

    /// Returns the arguments of the example at the end of a message.
    fn example(message: &str) -> String {
        let line = message.lines().find(|line| line.starts_with("Call again")).unwrap();
        line.rsplit_once("with the arguments ").unwrap().1.to_owned()
    }

    #[test]
    fn a_message_goes_from_coarse_to_fine() {
        let message = told("get_weather", r#"{"citty":"Oslo","unit":"celsius"}"#);
        let parts = [
            "Error: the call of `get_weather` was not run.",
            "E3.3 at `/citty`: `get_weather` has no parameter `citty`",
            "the tool is right, and this is no other spelling",
            "The closest that is not given yet is `city`",
            "Call again",
        ];
        let places: Vec<usize> =
            parts.iter().map(|part| message.find(part).unwrap_or_else(|| panic!("{part}: {message}"))).collect();
        assert!(places.is_sorted(), "{message}");
        assert_eq!(example(&message), r#"{"unit":"celsius","city":"Oslo"}"#);
    }

    #[test]
    fn every_fault_is_told_with_names_types_and_allowed_values() {
        for (name, arguments, expected) in [
            ("get_weather", "{'city': 1}", "E1 in the arguments: they are not a JSON object: key must be a string"),
            ("get_weather", "", "they are empty, and this tool requires some"),
            ("GetWeather", "{}", "It is written `get_weather`"),
            ("makenote", "{}", "any of `make_note`, `makeNote`"),
            ("get_wether", "{}", "The closest is `get_weather` (\"Weather forecast for a city.\")"),
            (
                "transfer_money",
                "{}",
                "offered, the most likely first: `make_note`, `makeNote`, `orders.cancel`. Call one",
            ),
            ("get_weather", r#"{"city":"x","order_id":1}"#, "It is one of `orders.cancel`"),
            ("get_weather", r#"{"City":"x"}"#, "It is written `city`"),
            ("get_weather", r#"{"city":"x","City":"y"}"#, "`city` is given already"),
            ("get_weather", "{}", "It takes string (\"Name of the city.\"). Take its value from"),
            (
                "get_weather",
                r#"{"spot":"x"}"#,
                "The only required parameter that is missing is `city`: give the value there",
            ),
            ("get_weather", r#"{"city":"x","zzz":1}"#, "Not given yet: `num_days`, `unit`"),
            ("get_weather", r#"{"city":"x","unit":5}"#, "must be string. Allowed: `\"celsius\"`, `\"fahrenheit\"`."),
            (
                "get_weather",
                r#"{"city":"x","unit":"K"}"#,
                "`\"K\"` is not allowed; name and type are right, but the value must be one of \"celsius\", \"fahrenheit\".",
            ),
        ] {
            let message = told(name, arguments);
            assert!(message.contains(expected), "{expected}\n{message}");
            assert!(message.len() < 900, "{} bytes: {message}", message.len());
        }
    }

    #[test]
    fn the_example_keeps_what_is_right_and_fits_the_schema() {
        let book = tool_set(TOOLS);
        for (name, arguments) in [
            ("get_weather", r#"{"unit":"kelvin","num_days":3}"#),
            ("get_weather", r#"{"City":"Oslo","NumDays":"two"}"#),
            ("orders.cancel", r#"{"order_id":"seven"}"#),
            ("make_note", r#"{"place":{"zip":1}}"#),
            ("search", "[]"),
        ] {
            let shown = example(&told(name, arguments));
            assert!(scan(&call(name, &shown), 0, &book, &ScanRules::default()).is_ok(), "{shown}");
        }
        assert_eq!(example(&told("get_weather", r#"{"num_days":3}"#)), r#"{"num_days":3,"city":"<city>"}"#);
        let message = told("get_weather", r#"{"city":"Oslo","unit":"celcius","from":"tomorrow"}"#);
        assert_eq!(example(&message), r#"{"city":"Oslo","unit":"celsius","from":"2025-01-31"}"#);
    }

    #[test]
    fn members_one_level_off_are_sent_to_their_place() {
        const BOOK: &str = r#"[{"name":"send","parameters":{"type":"object","additionalProperties":false,"properties":{
            "user":{"type":"string"},
            "mail":{"type":"object","properties":{"to":{"type":"string"},"kind":{"enum":["a","b"]}},"required":["to","kind"]},
            "copy":{"type":"object","properties":{"to":{"type":"string"}}}},"required":["user","mail"]}},
            {"name":"draft","parameters":{"type":"object","properties":{"kind":{"type":"string"}}}},
            {"name":"post","parameters":{"type":"object","properties":{"body":{"type":"object"}},"required":["body"]}}]"#;
        let told = |name: &str, arguments: &str| {
            let (book, call) = (tool_set(BOOK), call(name, arguments));
            let diagnoses = scan(&call, 0, &book, &refusing()).unwrap_err();
            feedback::faulty_call(&call, &diagnoses, &book)
        };
        let message = told("send", r#"{"user":"u","kind":"a"}"#);
        assert!(message.contains("one level off: give it at `/mail/kind`"), "{message}");
        assert_eq!(example(&message), r#"{"user":"u","mail":{"to":"<to>","kind":"a"}}"#);
        let message = told("send", r#"{"user":"u","to":"x"}"#);
        assert!(message.contains("give it at `/mail/to`, `/copy/to`"), "{message}");
        let message = told("send", r#"{"data":{"user":"u"}}"#);
        assert!(message.contains("give them without `data` around them"), "{message}");
        let message = told("post", r#"{"name":"n"}"#);
        assert!(message.contains("`body` is missing and takes members of any name"), "{message}");
        assert_eq!(example(&message), r#"{"body":{"name":"n"}}"#);
        for arguments in [r#"{"user":"u","kind":"a"}"#, r#"{"user":"u","to":"x"}"#, r#"{"data":{"user":"u"}}"#] {
            assert!(!told("send", arguments).to_lowercase().contains("leave it out"));
        }
    }

    #[test]
    fn advice_is_given_once() {
        let message = told("orders.cancel", r#"{"a1":1,"b2":2}"#);
        assert_eq!((message.matches("E3 at").count(), message.matches("Not given yet").count()), (2, 1), "{message}");
        assert_eq!(
            (message.matches("E3.4 at").count(), message.matches("request it from the user").count()),
            (2, 1),
            "{message}"
        );
    }

    #[test]
    fn many_faults_are_counted_and_long_texts_cut() {
        let levels = vec!["\"x\""; 30].join(",");
        let message = told("get_weather", &format!(r#"{{"city":"Oslo","levels":[{levels}]}}"#));
        assert!(message.contains("And 22 more"), "{message}");
        let message = told("get_weather", &format!(r#"{{"city":"Oslo","unit":"{}"}}"#, "k".repeat(100_000)));
        assert!(message.len() < 1000);
    }
}
