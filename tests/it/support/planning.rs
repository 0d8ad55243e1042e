//! An upstream that answers the queries of plan drawing from a known task, and all other requests by a script.

use serde_json::{Value, json};

use super::answer;
use super::reply::Reply;
use super::server::{Received, Server};

/// The model's knowledge of a task: the goals, and the sources of arguments. It sees only the parts of a plan that are
/// in a query.
#[derive(Debug, Clone, Default)]
pub(crate) struct Task {
    /// Tools with their purposes. Those that are `done` or were given up are not named again.
    pub(crate) goals: Vec<(&'static str, &'static str)>,
    /// Values from the conversation by tool and argument name: the value, and the words.
    pub(crate) values: Vec<(&'static str, &'static str, Value, &'static str)>,
    /// Outputs of other tools by tool and argument name: the producing tool, the output, and the item.
    pub(crate) outputs: Vec<(&'static str, &'static str, &'static str, &'static str, Option<&'static str>)>,
    /// Number of the chosen option, from 1, if one must be chosen.
    pub(crate) choice: Option<usize>,
}

/// Starts an upstream that plans with `task` and responds to other requests by `script`. The script receives the number
/// of the request among those without planning.
pub(crate) async fn upstream(
    task: impl Fn(&Value) -> Task + Send + Sync + 'static,
    script: impl Fn(usize, &Received) -> Reply + Send + Sync + 'static,
) -> Server {
    let others = std::sync::atomic::AtomicUsize::new(0);
    Server::scripted(move |_, received| match question(received) {
        Some(asked) => answer::text(&answered(&task(&asked), &asked).to_string()),
        None => script(others.fetch_add(1, std::sync::atomic::Ordering::Relaxed), received),
    })
    .await
}

/// Returns the query of a planning request, or `None` for any other request.
pub(crate) fn question(received: &Received) -> Option<Value> {
    let messages = received.messages();
    let system = messages.first().filter(|message| message["role"] == "system")?["content"].as_str()?.to_owned();
    let begins =
        ["plan calls of tools backward", "A tool is to be called, `wanted`", "A plan of calls of tools is known"];
    let is_planning = begins.iter().any(|begin| system.contains(begin));
    let user = messages.get(1)?["content"].as_str()?.to_owned();
    is_planning.then(|| serde_json::from_str(&user).unwrap())
}

/// Whether a query requests the goals of a new plan.
pub(crate) fn selects(asked: &Value) -> bool {
    ["options", "known", "wanted"].iter().all(|of_others| asked.get(of_others).is_none())
}

/// Returns the planning requests, and the others.
pub(crate) fn split(upstream: &Server) -> (Vec<Value>, Vec<Received>) {
    let (mut planning, mut others) = (Vec::new(), Vec::new());
    for received in upstream.received() {
        match question(&received) {
            Some(asked) => planning.push(asked),
            None => others.push(received),
        }
    }
    (planning, others)
}

fn answered(task: &Task, asked: &Value) -> Value {
    if asked.get("options").is_some() {
        return json!({"choice": task.choice});
    }
    if let Some(known) = asked.get("known") {
        return json!({"fits": true, "inputs": inputs(task, known)});
    }
    if asked.get("wanted").is_none() {
        let goals: Vec<Value> = task.goals.iter().map(|(tool, task)| json!({"tool": tool, "task": task})).collect();
        return json!({"goals": goals, "changed": []});
    }
    let tool = asked["wanted"]["tool"].as_str().unwrap();
    let (mut calls, mut arguments) = (Vec::new(), Vec::new());
    for argument in asked["wanted"]["arguments"].as_array().unwrap() {
        let name = argument["name"].as_str().unwrap();
        let value = task.values.iter().find(|(of, known, ..)| (*of, *known) == (tool, name));
        let output = task.outputs.iter().find(|(of, known, ..)| (*of, *known) == (tool, name));
        if let Some((.., value, words)) = value {
            arguments.push(json!({"name": name, "source": "value", "value": value, "words": words}));
        } else if let Some((.., producer, pointer, item)) = output {
            let planned = asked["wanted"]["planned"].as_array().into_iter().flatten();
            let known = planned.filter(|call| call["tool"] == *producer).find_map(|call| call["call"].as_str());
            let call = known.unwrap_or(producer).to_owned();
            if known.is_none() && calls.iter().all(|known: &Value| known["call"] != call.as_str()) {
                calls.push(json!({"call": call, "tool": producer, "task": format!("for {name}")}));
            }
            let outputs = json!([{"call": call, "output": pointer, "item": item}]);
            arguments.push(json!({"name": name, "source": "tool", "outputs": outputs}));
        } else if argument["required"] == true {
            arguments.push(json!({"name": name, "source": "ask", "question": format!("Which {name}?")}));
        }
    }
    json!({"calls": calls, "arguments": arguments})
}

/// Returns the inputs of a known plan that the conversation states.
fn inputs(task: &Task, known: &Value) -> Vec<Value> {
    let inputs = known["inputs"].as_array().unwrap().iter();
    let given = inputs.filter_map(|input| {
        let name = input["name"].as_str().unwrap();
        match task.values.iter().find(|(_, known, ..)| *known == name) {
            Some((.., value, words)) => Some(json!({"name": name, "source": "value", "value": value, "words": words})),
            None => (input["required"] == true)
                .then(|| json!({"name": name, "source": "ask", "question": format!("Which {name}?")})),
        }
    });
    given.collect()
}
