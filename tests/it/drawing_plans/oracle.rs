//! Replacements for the model: an oracle that knows the plan and reads only the prompt, and one that errs.

use std::sync::Mutex;

use callwright_plan::generation::Completion;
use callwright_upstream::{Answered, Exchange, Manner, TextSource};
use callwright_wire::Role;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use crate::drawing_plans::records::{GoldCall, GoldReference, Record, may_be, references};

/// Answers from a gold plan. Each choice must be in the prompt; otherwise the oracle records a failure and gives up.
#[derive(Debug)]
pub(crate) struct Oracle {
    record: Record,
    /// Choices that were not in the prompt.
    pub(crate) failed: Mutex<Vec<String>>,
    errors: Option<Mutex<fastrand::Rng>>,
    /// Whether it selects outputs that the prompt does not contain.
    insists: bool,
    /// Completion method of the queries.
    completion: Completion,
    /// Kinds of errors that it made.
    pub(crate) erred: Mutex<Vec<&'static str>>,
}

/// Share of wrong answers of an erring oracle.
const ERRING: f64 = 0.2;

impl Oracle {
    pub(crate) fn of(record: &Record) -> Self {
        Self {
            record: record.clone(),
            failed: Mutex::default(),
            errors: None,
            insists: false,
            completion: Completion::All,
            erred: Mutex::default(),
        }
    }

    pub(crate) fn erring(record: &Record, seed: u64) -> Self {
        Self { errors: Some(Mutex::new(fastrand::Rng::with_seed(seed))), ..Self::of(record) }
    }

    pub(crate) fn asked(self, completion: Completion) -> Self {
        Self { completion, ..self }
    }

    pub(crate) fn insisting(record: &Record) -> Self {
        Self { insists: true, ..Self::of(record) }
    }

    fn gold(&self, label: &str) -> Option<&GoldCall> {
        self.record.gold.iter().find(|call| call.label == label)
    }

    fn fails(&self, what: String) -> Value {
        self.failed.lock().unwrap().push(what);
        Value::Null
    }

    /// Returns the last steps: calls whose output no other call uses. Each is identified by its label, which the
    /// prompts repeat as its task.
    fn select(&self, data: &Value) -> Value {
        let used: Vec<String> = self
            .record
            .gold
            .iter()
            .flat_map(|call| call.arguments.values().flat_map(references))
            .map(|reference| reference.label)
            .collect();
        let is_offered = |name: &str| data["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == name);
        let mut goals = Vec::new();
        for call in self.record.gold.iter().filter(|call| !used.contains(&call.label)) {
            if !is_offered(&call.name) {
                return self.fails(format!("{} is not offered", call.name));
            }
            goals.push(json!({"tool": call.name, "task": call.label}));
        }
        json!({ "goals": goals })
    }

    fn complete(&self, data: &Value) -> Value {
        let wanted = &data["wanted"];
        let Some(call) = self.gold(wanted["task"].as_str().unwrap()) else {
            return self.fails(format!("nothing is known of the task {}", wanted["task"]));
        };
        let (mut calls, mut arguments) = (Vec::<Value>::new(), Vec::new());
        for (name, value) in &call.arguments {
            let Some(asked) =
                wanted["arguments"].as_array().unwrap().iter().find(|asked| asked["name"] == name.as_str())
            else {
                if self.completion != Completion::All {
                    continue;
                }
                return self.fails(format!("{}.{name} is not asked for", call.name));
            };
            let found = references(value);
            // The first of the three steps lists no tools, so sources from tools are not given.
            if self.completion == Completion::ThreeSteps && !found.is_empty() && asked["tools"] == json!([]) {
                arguments.extend(
                    asked["required"]
                        .as_bool()
                        .filter(|required| *required)
                        .map(|_| json!({"name": name, "source": "ask"})),
                );
                continue;
            }
            if found.is_empty() {
                arguments
                    .push(json!({"name": name, "source": "value", "value": value, "words": words_for(value, data)}));
                continue;
            }
            let mut outputs = Vec::new();
            for reference in &found {
                match self.output(reference, asked, wanted, &mut calls) {
                    Ok(output) => outputs.push(output),
                    Err(what) => return self.fails(format!("{}.{name}: {what}", call.name)),
                }
            }
            let template = (value.as_str() != Some(&found[0].text)).then(|| numbered(value, &found));
            // The answer format does not allow objects, so they are written as text.
            let template = template.map(|value| if value.is_string() { value } else { value.to_string().into() });
            arguments.push(json!({"name": name, "source": "tool", "value": template, "outputs": outputs}));
        }
        json!({"calls": calls, "arguments": arguments})
    }

    /// Fills the inputs of a known plan, which are named after the label and argument of a call: `LABEL ARGUMENT`.
    fn fill_in(&self, data: &Value) -> Value {
        let mut inputs = Vec::new();
        for input in data["known"]["inputs"].as_array().unwrap() {
            let name = input["name"].as_str().unwrap();
            let (label, argument) = name.split_once(' ').unwrap();
            let Some(value) = self.gold(label).and_then(|call| call.arguments.get(argument)) else {
                return self.fails(format!("nothing is known of the input {name}"));
            };
            inputs.push(json!({"name": name, "source": "value", "value": value, "words": words_for(value, data)}));
        }
        json!({"fits": true, "inputs": inputs})
    }

    fn output(
        &self,
        reference: &GoldReference,
        asked: &Value,
        wanted: &Value,
        calls: &mut Vec<Value>,
    ) -> Result<Value, String> {
        let source = self.gold(&reference.label).ok_or("its source is not known")?;
        if !asked["tools"].as_array().unwrap().contains(&json!(source.name)) {
            return Err(format!("{} is not among its tools", source.name));
        }
        let tool = wanted["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == source.name.as_str());
        let pointer = reference.pointer();
        let outputs = &tool.ok_or("the tool is not told of")?["outputs"];
        let is_told = |outputs: &Map<String, Value>| outputs.keys().any(|field| may_be(field, &pointer));
        if !self.insists && outputs.as_object().is_some_and(|outputs| !is_told(outputs)) {
            return Err(format!("{} is not among the outputs of {}", pointer, source.name));
        }
        let planned =
            wanted["planned"].as_array().unwrap().iter().find(|planned| planned["task"] == source.label.as_str());
        let call = match planned {
            Some(planned) => planned["call"].clone(),
            None => json!(format!("new_{}", source.label)),
        };
        if planned.is_none() && !calls.iter().any(|known| known["call"] == call) {
            calls.push(json!({"call": call, "tool": source.name, "task": source.label}));
        }
        Ok(json!({"call": call, "output": pointer, "item": reference.is_item().then_some("first")}))
    }

    /// Returns an answer with an error and the kind of the error, or `None` if the answer cannot have the drawn kind.
    fn spoiled(&self, right: &Value, data: &Value, rng: &mut fastrand::Rng) -> Option<(&'static str, String)> {
        match rng.u8(..3) {
            0 => {
                let text = right.to_string();
                let cut = text.chars().take(text.chars().count() / 2).collect();
                Some(("malformed", if rng.bool() { cut } else { format!("Sure! Here is the plan: {text}") }))
            }
            1 if right["arguments"].is_array() => Some(("ungrounded", ungrounded(right, rng)?.to_string())),
            1 => None,
            _ => wrong(right, data, rng).map(|(kind, wrong)| (kind, wrong.to_string())),
        }
    }
}

impl TextSource for Oracle {
    fn ask<'a>(&'a self, messages: &'a [(Role, String)], _: Manner<'a>) -> BoxFuture<'a, Exchange> {
        Box::pin(async move {
            let (_, user) = messages.iter().find(|(role, _)| *role == Role::User).unwrap();
            let data: Value = serde_json::from_str(user).unwrap();
            let right = if data.get("known").is_some() {
                self.fill_in(&data)
            } else if data.get("wanted").is_some() {
                self.complete(&data)
            } else {
                self.select(&data)
            };
            let mut text = right.to_string();
            if let Some(errors) = &self.errors {
                let mut rng = errors.lock().unwrap();
                if rng.f64() < ERRING && !right.is_null() {
                    // If the answer cannot have this kind of error, another kind is drawn.
                    let spoiled = (0..64).find_map(|_| self.spoiled(&right, &data, &mut rng));
                    let (kind, spoiled) = spoiled.unwrap_or(("malformed", "I do not know.".to_owned()));
                    self.erred.lock().unwrap().push(kind);
                    text = spoiled;
                }
            }
            Exchange { answered: Ok(Answered::Text(text)), requests: 1, usage: None }
        })
    }
}

/// Returns a value with `{1}`, `{2}` in place of its references.
fn numbered(value: &Value, found: &[GoldReference]) -> Value {
    match value {
        Value::String(text) => {
            let numbered = found.iter().enumerate();
            numbered
                .fold(text.clone(), |text, (at, reference)| text.replace(&reference.text, &format!("{{{}}}", at + 1)))
                .into()
        }
        Value::Array(items) => items.iter().map(|item| numbered(item, found)).collect(),
        Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), numbered(value, found))).collect(),
        other => other.clone(),
    }
}

/// Returns the words of the conversation that a value is based on: those with the largest overlap, otherwise the first
/// words of the request.
fn words_for(value: &Value, data: &Value) -> String {
    let said = data["conversation"].as_array().unwrap().last().unwrap()["text"].as_str().unwrap();
    let own = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if format!(" {} ", said.to_lowercase()).contains(&format!(" {} ", own.to_lowercase())) {
        return own;
    }
    let words: Vec<String> = own.split(|letter: char| !letter.is_alphanumeric()).map(str::to_lowercase).collect();
    let shares = |word: &&str| words.iter().any(|own| own.len() > 1 && word.to_lowercase().starts_with(own));
    let shared = said.split_whitespace().find(shares);
    shared.map_or_else(|| said.split_whitespace().take(4).collect::<Vec<_>>().join(" "), str::to_owned)
}

/// Returns the correct answer with an invented value, for an argument or in place of a tool's output.
fn ungrounded(right: &Value, rng: &mut fastrand::Rng) -> Option<Value> {
    let mut answer = right.clone();
    let arguments = answer["arguments"].as_array_mut()?;
    let at = rng.choice(0..arguments.len())?;
    let invented = format!("zq{}x", rng.u32(100_000..1_000_000));
    let name = arguments[at]["name"].clone();
    arguments[at] = json!({"name": name, "source": "value", "value": invented, "words": format!("with {invented}")});
    Some(answer)
}

/// Returns the correct answer with a plausible error.
fn wrong(right: &Value, data: &Value, rng: &mut fastrand::Rng) -> Option<(&'static str, Value)> {
    let mut answer = right.clone();
    if let Some(goals) = answer["goals"].as_array_mut() {
        let at = rng.choice(0..goals.len())?;
        return Some(match rng.u8(..3) {
            0 => {
                goals[at]["tool"] = json!("do_what_is_asked");
                ("wrong: no such tool", answer)
            }
            1 => {
                goals[at] = json!({"task": "something"});
                ("wrong: no tool", answer)
            }
            _ => {
                let tools = data["tools"].as_array()?;
                goals[at]["tool"] = tools[rng.choice(0..tools.len())?]["name"].clone();
                ("wrong: another tool", answer)
            }
        });
    }
    let kind = rng.u8(..6);
    let names: Vec<String> =
        data["wanted"]["tools"].as_array()?.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    if kind < 3 {
        let calls = answer["calls"].as_array_mut()?;
        let at = rng.choice(0..calls.len())?;
        return Some(match kind {
            0 => {
                calls[at]["tool"] = json!("look_it_up");
                ("wrong: no such tool", answer)
            }
            1 => {
                calls[at]["tool"] = json!(rng.choice(&names)?);
                ("wrong: another tool", answer)
            }
            _ => {
                calls.remove(at);
                ("wrong: a call that is not told of", answer)
            }
        });
    }
    let arguments = answer["arguments"].as_array_mut()?;
    let at = rng.choice(0..arguments.len())?;
    Some(match kind {
        3 => {
            let required = data["wanted"]["arguments"].as_array()?.iter().filter(|asked| asked["required"] == true);
            let required: Vec<&Value> = required.map(|asked| &asked["name"]).collect();
            if !required.contains(&&arguments[at]["name"]) {
                return None;
            }
            arguments.remove(at);
            ("wrong: a required argument left out", answer)
        }
        4 => {
            arguments[at]["name"] = json!("q_value");
            ("wrong: no such argument", answer)
        }
        _ => {
            let outputs = arguments[at]["outputs"].as_array_mut()?;
            outputs[0]["output"] = json!("/no/such/output");
            ("wrong: no such output", answer)
        }
    })
}
