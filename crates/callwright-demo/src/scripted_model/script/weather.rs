//! "What will the weather be in Oslo for the next 3 days?": calls the client's own tool. Mistakes: the names of the
//! tool and of a parameter, and a number as text.

use serde_json::Value;

use super::super::draft::CallDraft;
use super::super::exchange::ScriptedExchange;
use super::super::question::{count_of, name_after};
use super::super::request::ScriptedRequest;
use super::{NextStep, arguments, in_other_case, items, text};

pub(super) fn next(request: &ScriptedRequest, exchange: &ScriptedExchange) -> Option<NextStep> {
    let question = &exchange.question;
    let city = question.to_lowercase().contains("weather").then(|| name_after(question, " in ")).flatten()?;
    let tool = request.tool_like("getWeather")?;
    if let Some(result) = exchange.result_with("forecast") {
        return Some(NextStep::Say(conclude(&city, items(&result, "forecast"))));
    }
    let days = count_of(question, "days").unwrap_or(1).to_string();
    let call = arguments([("City", city.into()), ("days", days.into())]);
    Some(NextStep::Call("Let me look at the forecast.", vec![CallDraft::new(&in_other_case(tool), call)]))
}

fn conclude(city: &str, forecast: &[Value]) -> String {
    let days: Vec<String> = forecast
        .iter()
        .map(|day| {
            format!("{} {} °C, {}", text(day, "day"), day.get("high_c").unwrap_or(&Value::Null), text(day, "sky"))
        })
        .collect();
    format!("The forecast for {city}: {}.", days.join("; "))
}
