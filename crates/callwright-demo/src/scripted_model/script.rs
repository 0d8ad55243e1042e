//! Behaviour of the scripted model: one file per kind of question, each with the typical mistakes of this model.

mod booked;
mod booking;
mod dictated;
mod place;
mod rooms;
mod route;
mod weather;

use serde_json::{Map, Value};

use super::draft::CallDraft;
use super::exchange::ScriptedExchange;
use super::lessons::lessons;
use super::reply::ScriptedAnswer;
use super::request::ScriptedRequest;

/// Next step for a question.
enum NextStep {
    /// Answers the user.
    Say(String),
    /// Makes these calls, after an optional text.
    Call(&'static str, Vec<CallDraft>),
}

/// Handler of one kind of question; `None` if the question is of another kind, or its tools are not offered.
type Kind = fn(&ScriptedRequest, &ScriptedExchange) -> Option<NextStep>;

/// Kinds of questions; the first matching one answers.
const KINDS: [Kind; 7] =
    [dictated::next, booked::next, booking::next, rooms::next, route::next, place::next, weather::next];

/// Answer to an unknown question.
const ABOUT: &str = "I am a scripted stand-in for a model and follow a few rules. With the tools for it I can find a place \
    (Where is Osaka Castle?), plan a route between two points, list and book meeting rooms, book flights, look up the weather, or make \
    any call you dictate (Call planRoute {\"origin\": \"34.9858,135.7588\"}).";

/// Returns the answer to a request.
pub(super) fn answer(request: &ScriptedRequest, exchange: &ScriptedExchange) -> ScriptedAnswer {
    let saying = |text| ScriptedAnswer { text, ..ScriptedAnswer::default() };
    let answer = match KINDS.iter().find_map(|kind| kind(request, exchange)) {
        Some(NextStep::Call(text, drafts)) if request.may_call() => calling(text, drafts, request, exchange),
        Some(NextStep::Call(..)) => saying(give_up(exchange)),
        Some(NextStep::Say(text)) => saying(text),
        None => saying(ABOUT.to_owned()),
    };
    ScriptedAnswer { position: exchange.position, ..answer }
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
    let mut answer = ScriptedAnswer { text: text.to_owned(), ..ScriptedAnswer::default() };
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
        Some(found) => format!("I could not do this. The last thing I was told about my call is: E{found}"),
        None => "I could not do this without another call, and I may not make one.".to_owned(),
    }
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

/// Returns an argument object.
fn arguments<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Returns a text member; empty if missing.
fn text<'a>(object: &'a Value, member: &str) -> &'a str {
    object.get(member).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the items of an array member; empty if missing.
fn items<'a>(object: &'a Map<String, Value>, member: &str) -> &'a [Value] {
    object.get(member).and_then(Value::as_array).map_or(&[], Vec::as_slice)
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
