//! The tools that the demo's client owns and runs itself: a weather forecast, and an access of its own to the route planner.

use serde_json::{Value, json};

use super::route_planner;

/// A tool of the client's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OwnTool {
    /// A weather forecast.
    Weather,
    /// The route planner, called by the client and not by the proxy.
    Route,
}

/// Most days that the forecast covers.
const MOST_DAYS: u64 = 5;

/// What comes in turn: the sky, and how much warmer than the first day it is.
const DAYS: [(&str, i32); 5] = [("sunny", 0), ("light clouds", -1), ("rain", -4), ("showers", -3), ("sunny", 2)];

/// The tool as the client offers it.
pub(super) fn definition(tool: OwnTool) -> Value {
    match tool {
        OwnTool::Weather => weather(),
        OwnTool::Route => route(),
    }
}

/// It says nothing about the order of coordinates: the one who wrote it knew.
fn route() -> Value {
    json!({
        "type": "function",
        "function": {
            "name": "planRoute",
            "description": "Plans a route between two points.",
            "parameters": {
                "type": "object",
                "properties": {
                    "origin": { "type": "string", "description": "Where it starts." },
                    "destination": { "type": "string", "description": "Where it ends." },
                    "mode": { "type": "string", "enum": ["driving", "cycling", "walking"] }
                },
                "required": ["origin", "destination"],
                "additionalProperties": false
            }
        }
    })
}

fn weather() -> Value {
    json!({
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Returns the weather forecast for a city.",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": { "type": "string", "description": "Name of the city." },
                    "days": { "type": "integer", "minimum": 1, "maximum": MOST_DAYS, "description": "Days to look ahead." }
                },
                "required": ["city", "days"],
                "additionalProperties": false
            }
        }
    })
}

/// Runs a call of it. The client trusts its proxy as little as it would a model: what it cannot read it says so.
pub(super) fn run(name: &str, arguments: &str) -> Value {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    if name == "planRoute" {
        return route_planner::answer(|parameter| arguments.get(parameter).and_then(Value::as_str));
    }
    let city = arguments.get("city").and_then(Value::as_str);
    let days = arguments.get("days").and_then(Value::as_u64).filter(|days| (1..=MOST_DAYS).contains(days));
    let (Some(city), Some(days), "get_weather") = (city, days, name) else {
        return json!("This application has no such tool, or not with these arguments.");
    };
    // No forecast at all, but a stable one: warmer for a longer name.
    let first = 14 + i32::try_from(city.len() % 8).unwrap_or_default();
    let forecast = DAYS.iter().take(usize::try_from(days).unwrap_or_default()).enumerate().map(
        |(index, (sky, warmer))| json!({ "day": format!("day {}", index + 1), "sky": sky, "high_c": first + warmer }),
    );
    json!({ "city": city, "forecast": forecast.collect::<Value>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forecast_has_as_many_days_as_were_asked_for() {
        let forecast = run("get_weather", r#"{"city": "Oslo", "days": 3}"#);
        assert_eq!(forecast["forecast"].as_array().map(Vec::len), Some(3));
    }

    #[test]
    fn the_route_planner_answers_its_owner_as_it_answers_the_proxy() {
        let plan = |origin: &str| {
            run("planRoute", &json!({ "origin": origin, "destination": "135.5258,34.6873" }).to_string())
        };
        assert_eq!(plan("34.9858,135.7588"), json!({ "info_code": "20000" }));
        assert_eq!(plan("135.7588,34.9858")["info_code"], "10000");
    }

    #[test]
    fn a_call_that_was_not_mended_gets_no_forecast() {
        for (name, arguments) in [
            ("getWeather", r#"{"city": "Oslo", "days": 3}"#),
            ("get_weather", r#"{"City": "Oslo", "days": 3}"#),
            ("get_weather", r#"{"city": "Oslo", "days": "3"}"#),
            ("get_weather", "{"),
        ] {
            assert!(run(name, arguments).get("forecast").is_none(), "{name} {arguments}");
        }
    }
}
