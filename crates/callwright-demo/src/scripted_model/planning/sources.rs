//! Sources of a call's arguments.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::goals::summary;
use super::request::{PlannerMessage, PlannerTool, stated};

/// Call whose arguments are requested.
#[derive(Debug, Deserialize)]
pub(super) struct RequestedCall {
    #[serde(default)]
    tool: String,
    /// Calls that depend on this one.
    #[serde(default)]
    needed_for: Vec<DependentCall>,
    arguments: Vec<PlannerArgument>,
    /// Tools that may supply arguments.
    #[serde(default)]
    tools: Vec<PlannerTool>,
    /// Existing calls of these tools in the plan.
    #[serde(default)]
    planned: Vec<PlannedCall>,
}

#[derive(Debug, Deserialize)]
struct PlannerArgument {
    name: String,
    required: bool,
    #[serde(default)]
    schema: Value,
    /// Names of the tools that may supply it, likeliest first.
    #[serde(default)]
    tools: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct DependentCall {
    tool: String,
}

#[derive(Debug, Deserialize)]
struct PlannedCall {
    call: String,
    tool: String,
}

/// Arguments that only the user can supply, with the questions to the user.
const QUESTIONS: [(&str, &str); 6] = [
    ("start", "From when on?"),
    ("end", "Until when?"),
    ("name", "In whose name?"),
    ("origin", "From where?"),
    ("seats", "For how many people?"),
    ("capacity", "For how many people?"),
];

/// Word in the description of a preferred tool: a bookable thing must be free.
const BOOKABLE: &str = "free";

/// Returns the sources of all arguments that are required or given by the user.
pub(super) fn answer(conversation: &[PlannerMessage], requested: &RequestedCall) -> Value {
    let mut calls: Vec<Value> = Vec::new();
    let mut arguments = Vec::new();
    for argument in &requested.arguments {
        if let Some((value, words)) = stated(conversation, &argument.name) {
            arguments.push(argument_source(&argument.name, "value", json!({ "value": value, "words": words })));
            continue;
        }
        if !argument.required {
            continue;
        }
        let Some((tool, output)) = requested.supplier(argument) else {
            arguments.push(argument_source(&argument.name, "ask", json!({ "question": question(argument) })));
            continue;
        };
        let planned = requested.planned.iter().find(|call| call.tool == tool.name);
        let call = planned.map_or(tool.name.as_str(), |call| call.call.as_str());
        if planned.is_none() && !calls.iter().any(|planned| planned["call"] == call) {
            calls.push(json!({ "call": call, "tool": tool.name, "task": summary(&tool.description) }));
        }
        let item = output.contains("/0").then_some("choose");
        let outputs = json!([{ "call": call, "output": output, "item": item }]);
        arguments.push(argument_source(&argument.name, "tool", json!({ "outputs": outputs })));
    }
    json!({ "calls": calls, "arguments": arguments })
}

impl RequestedCall {
    /// Returns the first tool whose output has the entity's key or a value with the argument's name, and the path of
    /// that value. If the outputs of a tool are unknown and its description has no example, the path is its whole
    /// output.
    fn supplier(&self, argument: &PlannerArgument) -> Option<(&PlannerTool, String)> {
        if user_question(argument).is_some() {
            return None;
        }
        let named = argument.tools.iter().filter_map(|name| self.tools.iter().find(|tool| tool.name == *name));
        // Calls that depend on this call run after it.
        let suppliers: Vec<&PlannerTool> = named
            .filter(|tool| tool.name != self.tool && self.needed_for.iter().all(|later| later.tool != tool.name))
            .collect();
        let found = first_supplier(&suppliers, &argument.name, key_pointer);
        let found = found.or_else(|| first_supplier(&suppliers, &argument.name, name_pointer));
        found.or_else(|| {
            let unknown = suppliers.iter().find(|tool| outputs(tool).is_empty());
            unknown.map(|tool| (*tool, String::new()))
        })
    }
}

/// Returns the first tool with a pointer to the argument in its outputs; a bookable thing's takes precedence.
fn first_supplier<'t>(
    suppliers: &[&'t PlannerTool],
    argument: &str,
    pointer_of: fn(&[String], &str) -> Option<String>,
) -> Option<(&'t PlannerTool, String)> {
    let pointers: Vec<_> =
        suppliers.iter().filter_map(|tool| Some((*tool, pointer_of(&outputs(tool), argument)?))).collect();
    let bookable = pointers.iter().find(|(tool, _)| tool.description.contains(BOOKABLE));
    bookable.or(pointers.first()).cloned()
}

/// Returns the path of the entity's key: for `room_id` the `id` of one of the `rooms`.
fn key_pointer(outputs: &[String], argument: &str) -> Option<String> {
    let (thing, key) = argument.rsplit_once('_')?;
    let things = if thing == "person" { "people".to_owned() } else { format!("{thing}s") };
    outputs.iter().find(|pointer| pointer.ends_with(&format!("/{things}/0/{key}"))).cloned()
}

/// Returns the path of a value with the argument's name.
fn name_pointer(outputs: &[String], argument: &str) -> Option<String> {
    outputs.iter().find(|pointer| pointer.rsplit('/').next() == Some(argument)).cloned()
}

/// Returns the outputs of a tool, from the request or from an example in its description.
fn outputs(tool: &PlannerTool) -> Vec<String> {
    if let Some(outputs) = &tool.outputs {
        return outputs.keys().cloned().collect();
    }
    let example = tool.description.find('{').and_then(|start| tool.description.get(start..));
    let example = example.and_then(|text| serde_json::Deserializer::from_str(text).into_iter::<Value>().next()?.ok());
    let mut pointers = Vec::new();
    collect(&example.unwrap_or_default(), String::new(), &mut pointers);
    pointers
}

/// Collects the pointers of all scalar values; of arrays, the first item represents all.
fn collect(value: &Value, at: String, pointers: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| collect(member, format!("{at}/{name}"), pointers));
        }
        Value::Array(items) => items.iter().take(1).for_each(|item| collect(item, format!("{at}/0"), pointers)),
        Value::Null => {}
        _ => pointers.push(at),
    }
}

fn user_question(argument: &PlannerArgument) -> Option<&'static str> {
    QUESTIONS.iter().find(|(name, _)| *name == argument.name).map(|(_, question)| *question)
}

fn question(argument: &PlannerArgument) -> String {
    if let Some(question) = user_question(argument) {
        return question.to_owned();
    }
    let about = argument.schema.get("description").and_then(Value::as_str).unwrap_or(&argument.name);
    format!("What is this to be: {about}")
}

/// Returns one argument of the answer.
fn argument_source(name: &str, source: &str, of_source: Value) -> Value {
    let mut argument_source = Map::from_iter([("name".to_owned(), name.into()), ("source".to_owned(), source.into())]);
    argument_source.extend(of_source.as_object().cloned().unwrap_or_default());
    Value::Object(argument_source)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer_to(text: &str, requested: Value) -> Value {
        let conversation: Vec<PlannerMessage> =
            serde_json::from_value(json!([{ "from": "user", "text": text }])).unwrap();
        answer(&conversation, &serde_json::from_value(requested).unwrap())
    }

    fn argument(name: &str, required: bool, tools: &[&str]) -> Value {
        json!({ "name": name, "required": required, "schema": { "description": format!("The {name}.") }, "tools": tools })
    }

    #[test]
    fn stated_values_precede_tools_and_tools_precede_questions() {
        let requested = json!({
            "arguments": [
                argument("start", true, &["other"]), argument("end", true, &["other"]),
                argument("room_id", true, &["other", "rooms", "findFreeRooms"]),
                argument("title", false, &["other"]), argument("colour", true, &["other"])
            ],
            "tools": [
                { "name": "other", "description": "Other things", "outputs": { "/id": "string", "/end": "string" } },
                { "name": "rooms", "description": "All rooms", "outputs": { "/rooms/0/id": "string" } },
                { "name": "findFreeRooms", "description": "Find rooms\nthat are free", "outputs": { "/rooms/0/id": "string" } }
            ]
        });
        let answer = answer_to("Book a room on 2026-06-02 from 9.", requested);
        assert_eq!(
            answer,
            json!({
                "calls": [{ "call": "findFreeRooms", "tool": "findFreeRooms", "task": "Find rooms" }],
                "arguments": [
                    { "name": "start", "source": "value", "value": "2026-06-02T09:00", "words": "from 9" },
                    { "name": "end", "source": "ask", "question": "Until when?" },
                    { "name": "room_id", "source": "tool",
                        "outputs": [{ "call": "findFreeRooms", "output": "/rooms/0/id", "item": "choose" }] },
                    { "name": "colour", "source": "ask", "question": "What is this to be: The colour." }
                ]
            })
        );
    }

    #[test]
    fn a_planned_call_is_reused_and_serves_several_arguments() {
        let requested = json!({
            "arguments": [argument("destination", true, &["listTrips"]), argument("date", true, &["listTrips"])],
            "tools": [{ "name": "listTrips", "description": "", "outputs": { "/trips/0/destination": "", "/trips/0/date": "" } }],
            "planned": [{ "call": "call_a", "tool": "listTrips", "task": "" }]
        });
        let answer = answer_to("Book a flight.", requested.clone());
        assert_eq!(answer["calls"], json!([]));
        assert_eq!(answer["arguments"][1]["outputs"][0]["call"], "call_a");
        let mut alone = requested;
        alone["planned"] = json!([]);
        assert_eq!(answer_to("Book a flight.", alone)["calls"].as_array().map(Vec::len), Some(1));
    }

    /// A call must not supply its own arguments, nor those of a call that it depends on.
    #[test]
    fn later_calls_supply_nothing() {
        let outputs = json!({ "/room_id": "", "/rooms/0/id": "" });
        let tool = |name: &str| json!({ "name": name, "description": "", "outputs": outputs });
        let answer = |tools: &[&str]| {
            let requested = json!({
                "tool": "this", "needed_for": [{ "tool": "later", "task": "" }], "arguments": [argument("room_id", true, tools)],
                "tools": [tool("this"), tool("later"), tool("earlier")]
            });
            answer_to("Book.", requested)["arguments"][0].clone()
        };
        assert_eq!(answer(&["this", "later"])["source"], "ask");
        let found = answer(&["this", "later", "earlier"]);
        assert_eq!(found["outputs"][0], json!({ "call": "earlier", "output": "/rooms/0/id", "item": "choose" }));
    }

    #[test]
    fn a_description_may_show_an_example_of_undocumented_outputs() {
        let requested = |description: &str| {
            json!({
                "arguments": [argument("flight_id", true, &["searchFlights"])],
                "tools": [{ "name": "searchFlights", "description": description, "outputs": null }]
            })
        };
        let outputs =
            |description: &str| answer_to("Book.", requested(description))["arguments"][0]["outputs"][0].clone();
        let source = outputs(r#"Searches. Answers like {"flights": [{"id": "f-1", "price": 9}]} do."#);
        assert_eq!((&source["output"], &source["item"]), (&json!("/flights/0/id"), &json!("choose")));
        let unknown = outputs("Searches.");
        assert_eq!((&unknown["output"], &unknown["item"]), (&json!(""), &json!(null)));
    }
}
