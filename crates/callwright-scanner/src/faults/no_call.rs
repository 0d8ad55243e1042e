//! E1 `no_call`: the arguments are not a JSON object.
//!
//! Calls that a model writes into its content are E1, too; `repair` detects those.

use serde_json::json;

use crate::{FaultCase, quoted};
use callwright_common::json::{Pointer, is_object_text};
use callwright_types::{Diagnosis, FaultCode};

pub(super) fn check(case: &FaultCase<'_>, error: &serde_json::Error) -> Option<Diagnosis> {
    let text = &case.call.arguments;
    let empty = text.trim().is_empty();
    let is_json = is_object_text(text);
    let near = near(text, error);
    let facts = json!({ "empty": empty, "is_json": is_json, "problem": error.to_string(), "near": near });
    let message = if empty {
        "the arguments are empty, not a JSON object".to_owned()
    } else if is_json {
        format!("the arguments are JSON, but cannot be held: {error}")
    } else {
        format!("the arguments are not a JSON object: {error}")
    };
    Some(case.diagnosis(FaultCode::NoCall, Pointer::root(), message, facts))
}

/// Bytes of context on each side of the error position.
const MARGIN: usize = 30;

fn near(text: &str, error: &serde_json::Error) -> String {
    let line_start: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let place = (line_start + error.column()).min(text.len());
    let start = text.floor_char_boundary(place.saturating_sub(MARGIN));
    let end = text.ceil_char_boundary(place + MARGIN);
    quoted(text.get(start..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use crate::testing::{TOOLS, codes, faults};
    use callwright_types::FaultCode;

    #[test]
    fn arguments_must_be_a_json_object() {
        for arguments in
            ["", "[1]", "null", "\"{}\"", "{\"city\": 'Oslo'}", "{\"city\":\"Oslo\"", "{\"a\":\"\\ud800\"}"]
        {
            assert_eq!(codes(TOOLS, "get_weather", arguments), [FaultCode::NoCall], "{arguments}");
        }
        assert!(codes(TOOLS, "get_weather", " {\"city\": \"Oslo\"} ").is_empty());
    }

    #[test]
    fn the_place_is_shown_even_in_the_middle_of_wide_letters() {
        let found = faults(
            TOOLS,
            "get_weather",
            "{\n \"city\": \"天气天气天气天气天气天气天气\" 天气天气天气天气天气天气天气天气}",
        );
        assert!(found[0].facts["near"].as_str().unwrap().contains('天'));
        assert_eq!(faults(TOOLS, "get_weather", "")[0].facts["empty"], true);
    }
}
