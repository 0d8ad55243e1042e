//! Script of the scripted model: the kinds of questions with the calls that answer them, and the typical mistakes of
//! this model. Most kinds are data ([`RULES`]); those with several calls or without a tool of their own are functions.

use serde_json::{Map, Value};

use super::draft::CallDraft;
use super::exchange::ScriptedExchange;
use super::lessons::lessons;
use super::question::{count_of, date, name_after, points, times};
use super::reply::ScriptedAnswer;
use super::request::ScriptedRequest;

/// Kind of question that one call answers.
struct ScriptRule {
    /// Text that the question contains, in lower case.
    about: &'static str,
    /// Name of the tool, in any spelling.
    tool: &'static str,
    /// Mistake: whether the model writes the tool's name with other separators.
    is_misspelt: bool,
    /// Text before the call.
    text: &'static str,
    /// Arguments of the call, with their mistakes: names that are almost right, numbers and booleans as text. The rule
    /// applies only if the question contains the required ones.
    arguments: &'static [ScriptedArgument],
    /// Mistake: arguments that the model omits although the user named them.
    left_out: &'static [ScriptedArgument],
    /// Arguments that the user insists on.
    insisted: &'static [&'static str],
    /// Member of the result, a list.
    result: &'static str,
    /// Text about the list.
    conclude: fn(&Map<String, Value>, &[Value]) -> String,
}

/// Argument and its value in a question.
struct ScriptedArgument {
    name: &'static str,
    required: bool,
    read: fn(&str) -> Option<Value>,
}

const fn required(name: &'static str, read: fn(&str) -> Option<Value>) -> ScriptedArgument {
    ScriptedArgument { name, required: true, read }
}

const fn optional(name: &'static str, read: fn(&str) -> Option<Value>) -> ScriptedArgument {
    ScriptedArgument { name, required: false, read }
}

/// Kinds of questions with one call; the first matching one answers.
const RULES: [ScriptRule; 4] = [
    // "Which rooms seat 6 people on 2026-06-02?"
    ScriptRule {
        about: "which rooms",
        tool: "listRooms",
        is_misspelt: false,
        text: "",
        arguments: &[required("capacity", |text| Some(count_of(text, "people").unwrap_or(1).into()))],
        left_out: &[optional("date", |text| date(text).map(Value::from))],
        insisted: &[],
        result: "rooms",
        conclude: |_, rooms| match listed(rooms, ", ", |room| {
            format!("{} ({} seats)", text(room, "name"), number(room, "capacity"))
        }) {
            rooms if rooms.is_empty() => "No room is large enough.".to_owned(),
            rooms => format!("These are large enough: {rooms}."),
        },
    },
    // "Plan a route from 34.9858, 135.7588 to 34.6873, 135.5258 by bike": points are in the user's order.
    ScriptRule {
        about: "",
        tool: "planRoute",
        is_misspelt: false,
        text: "",
        arguments: &[
            required("origin", |text| point(text, 0)),
            required("destination", |text| point(text, 1)),
            optional("mode", |text| {
                let text = text.to_lowercase();
                MODES.iter().find(|(word, _)| text.contains(word)).map(|(_, mode)| (*mode).into())
            }),
            optional("avoidTolls", |text| text.to_lowercase().contains("toll").then(|| "true".into())),
            optional("max-results", |text| {
                count_of(&text.to_lowercase(), "routes").map(|count| count.to_string().into())
            }),
        ],
        left_out: &[],
        insisted: &["mode"],
        result: "routes",
        conclude: |_, routes| {
            let lines = listed(routes, "; ", route_text);
            match routes.len() {
                0 => "There is no such route.".to_owned(),
                1 => format!("There is one route. {lines}."),
                count => format!("There are {count} routes. {lines}."),
            }
        },
    },
    // "Where is Osaka Castle?"
    ScriptRule {
        about: "",
        tool: "geocodePlace",
        is_misspelt: true,
        text: "",
        arguments: &[required("query", |text| name_after(text, "Where is ").map(Value::from))],
        left_out: &[],
        insisted: &[],
        result: "places",
        conclude: |arguments, places| match places.first() {
            None => format!("I know no place called {}.", member(arguments, "query")),
            Some(place) => format!(
                "{} is at longitude {}, latitude {}.",
                text(place, "name"),
                number(place, "longitude"),
                number(place, "latitude")
            ),
        },
    },
    // "What will the weather be in Oslo for the next 3 days?"
    ScriptRule {
        about: "weather",
        tool: "getWeather",
        is_misspelt: true,
        text: "Let me look at the forecast.",
        arguments: &[
            required("City", |text| name_after(text, " in ").map(Value::from)),
            required("days", |text| Some(count_of(text, "days").unwrap_or(1).to_string().into())),
        ],
        left_out: &[],
        insisted: &[],
        result: "forecast",
        conclude: |arguments, forecast| {
            let days = listed(forecast, "; ", |day| {
                format!("{} {} °C, {}", text(day, "day"), number(day, "high_c"), text(day, "sky"))
            });
            format!("The forecast for {}: {days}.", member(arguments, "City"))
        },
    },
];

/// Words of the user, each with the mode that the model infers. Of a helicopter the model insists.
const MODES: [(&str, &str); 7] = [
    ("helicopter", "helicopter"),
    ("bike", "cycling"),
    ("cycle", "cycling"),
    ("walk", "walking"),
    ("on foot", "walking"),
    ("drive", "driving"),
    ("car", "driving"),
];

/// Answer to an unknown question.
const ABOUT: &str = "I am a scripted model that follows a few rules. With the tools for it I can find a place \
    (Where is Osaka Castle?), plan a route between two points, list and book meeting rooms, book flights, look up the weather, or make \
    any call you dictate (Call planRoute {\"origin\": \"34.9858,135.7588\"}).";

/// Next step for a question.
enum NextStep {
    /// Answers the user.
    Answer(String),
    /// Makes these calls, after an optional text.
    Call(&'static str, Vec<CallDraft>),
}

pub(super) fn answer(request: &ScriptedRequest, exchange: &ScriptedExchange) -> ScriptedAnswer {
    let step = dictated(exchange)
        .or_else(|| confirmation(exchange))
        .or_else(|| room_booking(request, exchange))
        .or_else(|| RULES.iter().find_map(|rule| rule.next(request, exchange)));
    let text = match step {
        Some(NextStep::Call(text, drafts)) if request.may_call() => return calling(text, drafts, request, exchange),
        Some(NextStep::Call(..)) => give_up(exchange),
        Some(NextStep::Answer(text)) => text,
        None => ABOUT.to_owned(),
    };
    ScriptedAnswer { text, calls: Vec::new(), position: exchange.position }
}

impl ScriptRule {
    /// Returns the next step; `None` if the question is of another kind, or the tool is not offered.
    fn next(&self, request: &ScriptedRequest, exchange: &ScriptedExchange) -> Option<NextStep> {
        let question = &exchange.question;
        if !question.to_lowercase().contains(self.about) {
            return None;
        }
        let arguments = read_all(self.arguments, question)?;
        let tool = request.tool_like(self.tool)?;
        if let Some(result) = exchange.result_with(self.result) {
            return Some(NextStep::Answer((self.conclude)(&arguments, items(&result, self.result))));
        }
        let tool = if self.is_misspelt { in_other_case(tool) } else { tool.to_owned() };
        let left_out = read_all(self.left_out, question)?;
        Some(NextStep::Call(self.text, vec![CallDraft { tool, arguments, left_out, insisted: self.insisted }]))
    }
}

/// Reads arguments from a question; `None` if a required one is missing.
fn read_all(arguments: &[ScriptedArgument], question: &str) -> Option<Map<String, Value>> {
    let mut read = Map::new();
    for argument in arguments {
        match (argument.read)(question) {
            Some(value) => drop(read.insert(argument.name.to_owned(), value)),
            None if argument.required => return None,
            None => {}
        }
    }
    Some(read)
}

/// "Call planRoute {"origin": ...}": makes the call that the user dictates, including its mistakes, for experiments.
/// Makes no mistake of its own, and applies every lesson.
fn dictated(exchange: &ScriptedExchange) -> Option<NextStep> {
    let dictation = exchange.question.strip_prefix("Call ")?.trim();
    let (name, arguments) = dictation.split_once(char::is_whitespace).unwrap_or((dictation, "{}"));
    let arguments: Map<String, Value> = serde_json::from_str(arguments.trim()).ok()?;
    Some(match exchange.last_result() {
        Some(result) => NextStep::Answer(format!("The call returned {}", Value::Object(result))),
        None => NextStep::Call("", vec![CallDraft::new(name, arguments)]),
    })
}

/// Confirms the booking of a room or a flight from the tool results. Makes no mistake.
fn confirmation(exchange: &ScriptedExchange) -> Option<NextStep> {
    if let Some(booking) = booking(exchange, "room_id") {
        let (room, person) = (member(&booking, "room_id"), member(&booking, "person_id"));
        return Some(NextStep::Answer(format!(
            "Room {} ({room}) is booked for {} from {} to {}; the booking is {}.",
            name_in(exchange, "rooms", room),
            name_in(exchange, "people", person),
            member(&booking, "start"),
            member(&booking, "end"),
            member(&booking, "id")
        )));
    }
    let booking = booking(exchange, "flight_id")?;
    let traveller = name_in(exchange, "travellers", member(&booking, "traveller_id"));
    let (id, flight) = (member(&booking, "id"), member(&booking, "flight_id"));
    Some(NextStep::Answer(format!("Flight {flight} is booked for {traveller}; the booking is {id}.")))
}

/// Returns a result with both the booked item and the booking's id.
fn booking(exchange: &ScriptedExchange, thing: &str) -> Option<Map<String, Value>> {
    exchange.result_with(thing).filter(|result| result.contains_key("id"))
}

/// Returns the name that a result gives for an id, otherwise the id.
fn name_in(exchange: &ScriptedExchange, list: &str, id: &str) -> String {
    let result = exchange.result_with(list).unwrap_or_default();
    let item = items(&result, list).iter().find(|item| text(item, "id") == id);
    let name = item.map(|item| text(item, "name")).filter(|name| !name.is_empty());
    name.unwrap_or(id).to_owned()
}

/// "Book a room for 6 people in the name of Ada Lovelace on 2026-06-02 from 10:00 to 11:00": finds the person and the
/// rooms, then books with the found ids. Makes no mistake, because the difficulty is the order of the calls. Used only
/// if no plan is followed.
fn room_booking(request: &ScriptedRequest, exchange: &ScriptedExchange) -> Option<NextStep> {
    let question = &exchange.question;
    let (date, times) = (date(question)?, times(question));
    let [start, end, ..] = times.as_slice() else { return None };
    let (start, end) = (format!("{date}T{start}"), format!("{date}T{end}"));
    question.contains("Book ").then_some(())?;
    let name = name_after(question, "in the name of ")?;
    let (people, rooms) = (exchange.result_with("people"), exchange.result_with("rooms"));
    let (Some(people), Some(rooms)) = (&people, &rooms) else {
        let mut drafts = Vec::new();
        if people.is_none() {
            drafts.push(CallDraft::new(request.tool_like("findPeople")?, arguments([("name", name.into())])));
        }
        if rooms.is_none() {
            let call = [("capacity", count_of(question, "people").unwrap_or(1).into()), ("date", date.into())];
            drafts.push(CallDraft::new(request.tool_like("listRooms")?, arguments(call)));
        }
        return Some(NextStep::Call("I need to know who books, and which rooms there are.", drafts));
    };
    let tool = request.tool_like("createBooking")?;
    let Some(person) = items(people, "people").first() else {
        return Some(NextStep::Answer(format!("Nobody here is called {name}.")));
    };
    let Some(room) = items(rooms, "rooms").iter().find(|room| is_free(room, &start, &end)) else {
        return Some(NextStep::Answer("No room is large enough and free at that time.".to_owned()));
    };
    let call = arguments([
        ("person_id", text(person, "id").into()),
        ("room_id", text(room, "id").into()),
        ("start", start.into()),
        ("end", end.into()),
    ]);
    Some(NextStep::Call("Both ids are known now.", vec![CallDraft::new(tool, call)]))
}

/// Whether a room has no booking in a period. Times of the same format compare as text.
fn is_free(room: &Value, start: &str, end: &str) -> bool {
    let booked = room.get("booked").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    booked.iter().all(|other| end <= text(other, "start") || text(other, "end") <= start)
}

/// Converts the drafts to calls and applies the lessons; a comment on a lesson replaces `text`.
fn calling(
    text: &str,
    drafts: Vec<CallDraft>,
    request: &ScriptedRequest,
    exchange: &ScriptedExchange,
) -> ScriptedAnswer {
    let lessons = lessons(exchange);
    let most = if request.parallel_tool_calls == Some(false) { 1 } else { drafts.len() };
    let mut answer = ScriptedAnswer { text: text.to_owned(), calls: Vec::new(), position: exchange.position };
    for draft in drafts.into_iter().take(most) {
        let (draft, thought) = draft.learn(&lessons);
        if !thought.is_empty() {
            answer.text = thought;
        }
        answer.calls.push((draft.tool, draft.arguments));
    }
    answer
}

/// Returns the answer if a call is next but calls are not allowed: the last reported fault, if any.
fn give_up(exchange: &ScriptedExchange) -> String {
    let found = exchange.feedback().flat_map(str::lines).filter_map(|line| line.strip_prefix("- E")).last();
    match found {
        Some(found) => format!("I could not do this. The last feedback on my call was: E{found}"),
        None => "I could not do this without another call, and I may not make one.".to_owned(),
    }
}

/// Returns the point at an index, as written.
fn point(text: &str, index: usize) -> Option<Value> {
    // A route needs two points; a single one is another kind of question.
    let points = Some(points(text)).filter(|points| points.len() > 1)?;
    points.get(index).map(|(first, second)| format!("{first},{second}").into())
}

fn route_text(route: &Value) -> String {
    let [seconds, metres] =
        ["duration_s", "distance_m"].map(|member| route.get(member).and_then(Value::as_f64).unwrap_or_default());
    let minutes = (seconds / 60.0).round();
    let (hours, minutes) = ((minutes / 60.0).floor(), minutes % 60.0);
    format!("{}: {:.1} km in {hours} h {minutes} min", text(route, "summary"), metres / 1_000.0)
}

/// Converts a name to the other separator style: `get_weather` for `getWeather` and vice versa.
fn in_other_case(name: &str) -> String {
    let mut other = String::new();
    if name.contains('_') {
        let mut parts = name.split('_');
        other.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let mut chars = part.chars();
            other.extend(chars.next().into_iter().flat_map(char::to_uppercase).chain(chars));
        }
    } else {
        for char in name.chars() {
            if char.is_uppercase() {
                other.push('_');
            }
            other.extend(char.to_lowercase());
        }
    }
    other
}

fn arguments<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Returns a text member; empty if missing.
fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a text member; empty if missing.
fn member<'a>(object: &'a Map<String, Value>, name: &str) -> &'a str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns a member as JSON, `null` if missing.
fn number<'a>(object: &'a Value, name: &str) -> &'a Value {
    object.get(name).unwrap_or(&Value::Null)
}

/// Returns the items of an array member; empty if missing.
fn items<'a>(object: &'a Map<String, Value>, name: &str) -> &'a [Value] {
    object.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn listed(items: &[Value], separator: &str, text: impl Fn(&Value) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_written_with_the_other_kind_of_separators() {
        for (name, other) in
            [("getWeather", "get_weather"), ("get_weather", "getWeather"), ("go", "go"), ("a__b", "aB")]
        {
            assert_eq!(in_other_case(name), other);
        }
    }
}
