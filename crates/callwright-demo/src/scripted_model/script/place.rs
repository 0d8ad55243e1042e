//! "Where is Osaka Castle?": finds a place. Mistake: the tool name with other separators.

use serde_json::Value;

use super::super::draft::CallDraft;
use super::super::exchange::ScriptedExchange;
use super::super::question::name_after;
use super::super::request::ScriptedRequest;
use super::{NextStep, arguments, in_other_case, items, text};

pub(super) fn next(request: &ScriptedRequest, exchange: &ScriptedExchange) -> Option<NextStep> {
    let name = name_after(&exchange.question, "Where is ")?;
    let tool = request.tool_like("geocodePlace")?;
    Some(match exchange.result_with("places") {
        Some(result) => NextStep::Say(conclude(&name, items(&result, "places"))),
        None => NextStep::Call("", vec![CallDraft::new(&in_other_case(tool), arguments([("query", name.into())]))]),
    })
}

fn conclude(name: &str, places: &[Value]) -> String {
    match places {
        [] => format!("I know no place called {name}."),
        [place, ..] => format!(
            "{} is at longitude {}, latitude {}.",
            text(place, "name"),
            place.get("longitude").unwrap_or(&Value::Null),
            place.get("latitude").unwrap_or(&Value::Null)
        ),
    }
}
