//! "Plan a route from 34.9858, 135.7588 to 34.6873, 135.5258 by bike": plans a route. Mistakes: points are in the
//! user's order, numbers and booleans are text, names have hyphens and capitals. For a helicopter request, the
//! model insists on one.

use serde_json::{Map, Value};

use super::super::draft::CallDraft;
use super::super::exchange::ScriptedExchange;
use super::super::question::{count_of, points};
use super::super::request::ScriptedRequest;
use super::{NextStep, arguments, items, text};

/// Words of the user, each with the mode that the model infers.
const MODES: [(&str, &str); 7] = [
    ("helicopter", "helicopter"),
    ("bike", "cycling"),
    ("cycle", "cycling"),
    ("walk", "walking"),
    ("on foot", "walking"),
    ("drive", "driving"),
    ("car", "driving"),
];

pub(super) fn next(request: &ScriptedRequest, exchange: &ScriptedExchange) -> Option<NextStep> {
    let points = points(&exchange.question);
    let [origin, destination, ..] = points.as_slice() else { return None };
    let tool = request.tool_like("planRoute")?;
    if let Some(result) = exchange.result_with("routes") {
        return Some(NextStep::Say(conclude(items(&result, "routes"))));
    }
    let mut call = arguments([("origin", as_written(origin)), ("destination", as_written(destination))]);
    let question = exchange.question.to_lowercase();
    if let Some((_, mode)) = MODES.iter().find(|(word, _)| question.contains(word)) {
        call.insert("mode".to_owned(), (*mode).into());
    }
    add_wishes(&mut call, &question);
    Some(NextStep::Call("", vec![CallDraft { insisted: &["mode"], ..CallDraft::new(tool, call) }]))
}

fn as_written((first, second): &(&str, &str)) -> Value {
    format!("{first},{second}").into()
}

fn add_wishes(call: &mut Map<String, Value>, question: &str) {
    if question.contains("toll") {
        call.insert("avoidTolls".to_owned(), "true".into());
    }
    if let Some(count) = count_of(question, "routes") {
        call.insert("max-results".to_owned(), count.to_string().into());
    }
}

fn conclude(routes: &[Value]) -> String {
    let lines: Vec<String> = routes
        .iter()
        .map(|route| {
            let number = |member| route.get(member).and_then(Value::as_f64).unwrap_or_default();
            let minutes = (number("duration_s") / 60.0).round();
            let (hours, minutes) = ((minutes / 60.0).floor(), minutes % 60.0);
            format!("{}: {:.1} km in {hours} h {minutes} min", text(route, "summary"), number("distance_m") / 1_000.0)
        })
        .collect();
    match lines.as_slice() {
        [] => "There is no such route.".to_owned(),
        [line] => format!("There is one route. {line}."),
        _ => format!("There are {} routes. {}.", lines.len(), lines.join("; ")),
    }
}
