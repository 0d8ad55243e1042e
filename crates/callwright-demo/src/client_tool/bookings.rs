//! Tools of the client for rooms and flights. Their descriptions contain an example of the result, because the API has
//! no other place for it.

use serde_json::{Map, Value, json};

/// Returns the tools for people, free rooms and room bookings.
pub(super) fn rooms() -> Value {
    json!([
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
    ])
}

/// Returns the tools for travellers, their trips, and flights.
pub(super) fn flights() -> Value {
    json!([
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
                ("destination", "City where the flight ends, such as listTrips tells."),
                ("date", "The day, year first, such as listTrips tells."),
            ],
        ),
        tool(
            "bookFlight",
            "Books a seat on a flight for a traveller.",
            &[("flight_id", "Id of the flight."), ("traveller_id", "Id of the traveller who flies.")],
        ),
    ])
}

/// Returns a tool whose parameters are all required texts.
fn tool(name: &str, description: &str, parameters: &[(&str, &str)]) -> Value {
    let properties = parameters
        .iter()
        .map(|(name, about)| ((*name).to_owned(), json!({ "type": "string", "description": about })))
        .collect::<Map<_, _>>();
    let required: Vec<&str> = parameters.iter().map(|(name, _)| *name).collect();
    let schema =
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    json!({ "type": "function", "function": { "name": name, "description": description, "parameters": schema } })
}
