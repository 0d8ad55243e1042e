//! Requests of the tests.

use serde_json::{Value, json};

/// Returns a chat request without tools.
pub(crate) fn plain(text: &str) -> Value {
    json!({"model": "gpt-test", "messages": [{"role": "user", "content": text}]})
}

/// Returns a chat request that offers [`weather_tool`] and [`booking_tool`].
pub(crate) fn with_tools(text: &str) -> Value {
    let mut request = plain(text);
    request["tools"] = json!([weather_tool(), booking_tool()]);
    request
}

/// Returns the same request with streaming.
pub(crate) fn streamed(mut request: Value) -> Value {
    request["stream"] = json!(true);
    request
}

/// `get_weather(city, days?, unit?)`.
pub(crate) fn weather_tool() -> Value {
    json!({"type": "function", "function": {
        "name": "get_weather",
        "description": "Forecast for a city",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Name of the city"},
                "days": {"type": "integer", "minimum": 1, "maximum": 14},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
            },
            "required": ["city"],
            "additionalProperties": false,
        },
    }})
}

/// `book_room(hotel, nights)`.
pub(crate) fn booking_tool() -> Value {
    json!({"type": "function", "function": {
        "name": "book_room",
        "description": "Books a hotel room",
        "parameters": {
            "type": "object",
            "properties": {"hotel": {"type": "string"}, "nights": {"type": "integer", "minimum": 1}},
            "required": ["hotel", "nights"],
        },
    }})
}
