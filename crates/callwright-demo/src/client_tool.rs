//! Tools that the demo's client owns and runs itself: a weather forecast, and separate access to the route planner, the
//! meeting rooms and the flight desk.

use serde_json::{Map, Value, json};

use super::sample_api::{APIS, SampleApi};

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

/// State of the client's tools: its own access to the APIs.
#[derive(Debug)]
pub(super) struct DemoClientTools([SampleApi; 3]);

impl Default for DemoClientTools {
    fn default() -> Self {
        Self([&APIS.route_planner, &APIS.meeting_rooms, &APIS.flight_desk].map(SampleApi::new))
    }
}

/// Maximum number of days in the forecast.
const MOST_DAYS: u64 = 5;

/// Forecast of successive days: the sky, and the temperature difference to the first day.
const DAYS: [(&str, i32); 5] = [("sunny", 0), ("light clouds", -1), ("rain", -4), ("showers", -3), ("sunny", 2)];

/// Returns the tool definitions as the client sends them. Descriptions contain an example of the result where the client
/// has no other field for it. The route planner's omits the order of coordinates on purpose: its author took it for
/// granted.
pub(super) fn definitions(own: OwnTool) -> Value {
    match own {
        OwnTool::Weather => json!([function(
            "get_weather",
            "Returns the weather forecast for a city.",
            json!({
                "city": { "type": "string", "description": "Name of the city." },
                "days": { "type": "integer", "minimum": 1, "maximum": MOST_DAYS, "description": "Days to look ahead." }
            }),
            &["city", "days"],
        )]),
        OwnTool::Route => json!([function(
            "planRoute",
            "Plans a route between two points.",
            json!({
                "origin": { "type": "string", "description": "Where it starts." },
                "destination": { "type": "string", "description": "Where it ends." },
                "mode": { "type": "string", "enum": ["driving", "cycling", "walking"] }
            }),
            &["origin", "destination"],
        )]),
        OwnTool::Rooms => json!([
            tool(
                "findPerson",
                r#"Finds people by name. Answers like {"people": [{"id": "p-12", "name": "Grace Hopper"}]}"#,
                &[("name", "Name of the person or a part of it.")],
            ),
            tool(
                "findFreeRooms",
                r#"Finds rooms that are free at a time. Answers like {"rooms": [{"id": "r-204", "name": "Fjord", "capacity": 8}]}"#,
                &[("start", "From when on, as 2026-06-02T10:00."), ("end", "Until when, on the same day.")],
            ),
            tool(
                "createBooking",
                "Books a room for a person.",
                &[
                    ("person_id", "Id of the person."),
                    ("room_id", "Id of the room."),
                    ("start", "From when on, as 2026-06-02T10:00."),
                    ("end", "Until when, on the same day."),
                ],
            ),
        ]),
        OwnTool::Flights => json!([
            tool(
                "findTravellers",
                r#"Finds travellers by name. Answers like {"travellers": [{"id": "t-77", "name": "Ida Rhodes"}]}"#,
                &[("name", "Name of the traveller or a part of it.")],
            ),
            tool(
                "listTrips",
                r#"Lists the trips that a traveller has planned. Answers like {"trips": [{"title": "Workshop", "destination": "Lisbon", "date": "2026-06-11"}]}"#,
                &[("traveller_id", "Id of the traveller.")],
            ),
            tool(
                "searchFlights",
                r#"Searches the flights between two cities on a day. Answers like {"flights": [{"id": "f-204", "departs": "08:20", "price": 167}]}"#,
                &[
                    ("origin", "City where the flight starts."),
                    ("destination", "Destination city, as in the result of listTrips."),
                    ("date", "The day as YYYY-MM-DD, as in the result of listTrips."),
                ],
            ),
            tool(
                "bookFlight",
                "Books a seat on a flight for a traveller.",
                &[("flight_id", "Id of the flight."), ("traveller_id", "Id of the traveller who flies.")],
            ),
        ]),
    }
}

/// Returns a tool whose parameters are all required texts.
fn tool(name: &str, description: &str, parameters: &[(&str, &str)]) -> Value {
    let properties: Map<String, Value> = parameters
        .iter()
        .map(|(name, about)| ((*name).to_owned(), json!({ "type": "string", "description": about })))
        .collect();
    let required: Vec<&str> = parameters.iter().map(|(name, _)| *name).collect();
    function(name, description, properties.into(), &required)
}

fn function(name: &str, description: &str, properties: Value, required: &[&str]) -> Value {
    let schema =
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    json!({ "type": "function", "function": { "name": name, "description": description, "parameters": schema } })
}

impl DemoClientTools {
    /// Runs a call. The client validates calls from the proxy as it would validate those of a model: it reports what it
    /// cannot parse.
    pub(super) fn run(&self, name: &str, arguments: &str) -> Value {
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        // The client uses another name for this operation.
        let operation = if name == "findPerson" { "findPeople" } else { name };
        let result = match name {
            "get_weather" => forecast(&arguments),
            _ => self.0.iter().find_map(|api| api.call(operation, &arguments)),
        };
        result.unwrap_or_else(|| "This application has no such tool, or not with these arguments.".into())
    }
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
    fn the_bookings_answer_as_described() {
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
                let example: Value = serde_json::from_str(&description[start..]).unwrap();
                let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
                assert!(keys(&example).iter().all(|key| answer.get(key).is_some()), "{name}: {answer}");
                let item = |value: &Value| value.as_object().unwrap().values().next().unwrap()[0].clone();
                let item_given = item(&answer);
                assert!(keys(&item(&example)).iter().all(|key| item_given.get(key).is_some()), "{name}: {answer}");
            }
        }
    }

    #[test]
    fn the_forecast_has_the_requested_number_of_days() {
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
    fn an_unrepaired_call_gets_no_forecast() {
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
