//! Tools that the demo's client owns and runs itself: a weather forecast, and separate access to the route planner, the
//! meeting rooms and the flight desk.

mod bookings;

use serde_json::{Value, json};

use super::{FlightDesk, MeetingRooms, route_planner};

/// Tool or group of tools of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OwnTool {
    /// Weather forecast.
    Weather,
    /// Route planner, called by the client instead of the proxy.
    Route,
    /// People, free rooms and room bookings.
    Rooms,
    /// Travellers, their trips, and flights.
    Flights,
}

/// State of the client's tools.
#[derive(Debug, Default)]
pub(super) struct DemoClientTools {
    rooms: MeetingRooms,
    flights: FlightDesk,
}

/// Maximum number of days in the forecast.
const MOST_DAYS: u64 = 5;

/// Forecast of successive days: the sky, and the temperature difference to the first day.
const DAYS: [(&str, i32); 5] = [("sunny", 0), ("light clouds", -1), ("rain", -4), ("showers", -3), ("sunny", 2)];

/// Returns the tool definitions as the client sends them.
pub(super) fn definitions(tool: OwnTool) -> Value {
    match tool {
        OwnTool::Weather => json!([weather()]),
        OwnTool::Route => json!([route()]),
        OwnTool::Rooms => bookings::rooms(),
        OwnTool::Flights => bookings::flights(),
    }
}

/// Omits the order of coordinates on purpose: its author took it for granted.
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

impl DemoClientTools {
    /// Runs a call. The client validates calls from the proxy as it would validate those of a model: it reports what it
    /// cannot parse.
    pub(super) fn run(&self, name: &str, arguments: &str) -> Value {
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        // The client uses another name for this operation.
        let operation = if name == "findPerson" { "findPeople" } else { name };
        let booked = || self.rooms.call(operation, &arguments).or_else(|| self.flights.call(operation, &arguments));
        match name {
            "planRoute" => route_planner::answer(|parameter| arguments.get(parameter).and_then(Value::as_str)),
            "get_weather" => forecast(&arguments).unwrap_or_else(no_such_tool),
            _ => booked().unwrap_or_else(no_such_tool),
        }
    }
}

fn no_such_tool() -> Value {
    json!("This application has no such tool, or not with these arguments.")
}

/// Returns a fixed forecast: a longer city name is warmer.
fn forecast(arguments: &Value) -> Option<Value> {
    let city = arguments.get("city").and_then(Value::as_str)?;
    let days = arguments.get("days").and_then(Value::as_u64).filter(|days| (1..=MOST_DAYS).contains(days))?;
    let first = 14 + i32::try_from(city.len() % 8).unwrap_or_default();
    let forecast = DAYS.iter().take(usize::try_from(days).unwrap_or_default()).enumerate().map(
        |(index, (sky, warmer))| json!({ "day": format!("day {}", index + 1), "sky": sky, "high_c": first + warmer }),
    );
    Some(json!({ "city": city, "forecast": forecast.collect::<Value>() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, arguments: &str) -> Value {
        DemoClientTools::default().run(name, arguments)
    }

    /// Checks that every offered tool runs, and answers as its description shows.
    #[test]
    fn the_bookings_answer_as_their_descriptions_show() {
        let tools = DemoClientTools::default();
        for own in [OwnTool::Rooms, OwnTool::Flights] {
            for definition in definitions(own).as_array().unwrap() {
                let function = &definition["function"];
                let (name, description) =
                    (function["name"].as_str().unwrap(), function["description"].as_str().unwrap());
                let given = json!({
                    "name": "a", "start": "2026-06-02T09:00", "end": "2026-06-02T10:00", "person_id": "p-52", "room_id": "r-101",
                    "traveller_id": "t-61", "flight_id": "f-327", "origin": "Oslo", "destination": "Lisbon", "date": "2026-06-11"
                });
                let answer = tools.run(name, &given.to_string());
                let Some(start) = description.find('{') else { continue };
                let shown: Value = serde_json::from_str(&description[start..]).unwrap();
                let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
                assert!(keys(&shown).iter().all(|key| answer.get(key).is_some()), "{name}: {answer}");
                let item = |value: &Value| value.as_object().unwrap().values().next().unwrap()[0].clone();
                let item_given = item(&answer);
                assert!(keys(&item(&shown)).iter().all(|key| item_given.get(key).is_some()), "{name}: {answer}");
            }
        }
    }

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
