//! Random answers over random catalogs: drawing always ends within its limits.

use std::sync::Mutex;

use callwright_plan::generation::{GenerationError, GenerationSettings};
use callwright_types::Usage;
use callwright_upstream::{Answered, Exchange, Manner, TextSource};
use callwright_wire::Role;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::drawing_plans::records::toolset;

/// Answers of any form. Most have the correct form, with arbitrary choices from the prompt.
#[derive(Debug)]
pub(crate) struct Anything {
    rng: Mutex<fastrand::Rng>,
    /// Whether it always answers with another call where one is possible.
    always_tool: bool,
    asked: Mutex<u64>,
}

impl Anything {
    /// Creates a model that always answers with another call where one is possible.
    pub(crate) fn but_always_a_tool(seed: u64) -> Self {
        Self { rng: Mutex::new(fastrand::Rng::with_seed(seed)), always_tool: true, asked: Mutex::default() }
    }

    pub(crate) fn asked(&self) -> u64 {
        *self.asked.lock().unwrap()
    }
}

impl TextSource for Anything {
    fn ask<'a>(&'a self, messages: &'a [(Role, String)], _: Manner<'a>) -> BoxFuture<'a, Exchange> {
        Box::pin(async move {
            let rng = &mut *self.rng.lock().unwrap();
            *self.asked.lock().unwrap() += 1;
            let (_, user) = messages.iter().find(|(role, _)| *role == Role::User).unwrap();
            let data: Value = serde_json::from_str(user).unwrap();
            let odd = if self.always_tool { 99 } else { rng.u8(..60) };
            let answered = match odd {
                0 => Err("gone".to_owned()),
                1 => Ok(Answered::CutOff),
                2 => Ok(Answered::Refused("no".to_owned())),
                3 => Ok(Answered::Text("}{".repeat(rng.usize(..50)))),
                4 => Ok(Answered::Text("[".repeat(rng.usize(..5000)))),
                _ if data.get("wanted").is_none() => Ok(Answered::Text(selection(&data, rng).to_string())),
                _ => Ok(Answered::Text(completion(&data["wanted"], self.always_tool, rng).to_string())),
            };
            let tokens = rng.bool().then(|| rng.u64(..3000));
            let usage =
                tokens.map(|tokens| Usage { prompt_tokens: tokens, completion_tokens: tokens, ..Usage::default() });
            Exchange { answered, requests: rng.u64(..3), usage }
        })
    }
}

fn any<'a>(list: &'a Value, rng: &mut fastrand::Rng) -> Option<&'a Value> {
    rng.choice(list.as_array()?)
}

fn selection(data: &Value, rng: &mut fastrand::Rng) -> Value {
    let goals = (0..rng.usize(..4)).map(|number| {
        json!({"tool": any(&data["tools"], rng).map_or(Value::Null, |tool| tool["name"].clone()), "task": format!("goal {number}")})
    });
    json!({"goals": goals.collect::<Vec<_>>()})
}

fn completion(wanted: &Value, always_tool: bool, rng: &mut fastrand::Rng) -> Value {
    let (mut calls, mut arguments) = (Vec::new(), Vec::new());
    for asked in wanted["arguments"].as_array().unwrap() {
        let name = &asked["name"];
        let tool = any(&asked["tools"], rng).cloned();
        let source = if always_tool && tool.is_some() { 0 } else { rng.u8(..5) };
        arguments.push(match source {
            0 | 1 => {
                let is_planned = !always_tool && rng.bool();
                let planned = any(&wanted["planned"], rng).map(|planned| planned["call"].clone());
                let call = planned.filter(|_| is_planned).unwrap_or_else(|| json!(format!("n{}", rng.u32(..5))));
                let task = if rng.bool() { wanted["task"].clone() } else { json!(rng.u32(..).to_string()) };
                calls.push(json!({"call": call, "tool": tool, "task": task}));
                json!({"name": name, "source": "tool", "outputs": [{"call": call, "output": if rng.bool() { "" } else { "/id" },
                    "item": *rng.choice(&[None, Some("first"), Some("all"), Some("choose")]).unwrap()}],
                    "value": if rng.u8(..8) == 0 { Some("x {1}") } else { None }})
            }
            2 => json!({"name": name, "source": "value", "value": rng.u32(..50), "words": "book it"}),
            3 => json!({"name": name, "source": "value", "value": "it", "words": null}),
            _ => json!({"name": name, "source": "ask"}),
        });
    }
    json!({"calls": calls, "arguments": arguments})
}

/// Returns tools with circular dependencies of arguments and outputs, including on themselves.
fn tools(rng: &mut fastrand::Rng) -> Vec<Value> {
    const NAMES: [&str; 6] = ["id", "room_id", "person", "date", "amount", "list"];
    const TYPES: [&str; 5] = ["string", "integer", "number", "boolean", "array"];
    let count = rng.usize(..14);
    let mut tools = Vec::new();
    for number in 0..count {
        let mut some = || {
            let members = (0..rng.usize(..5)).map(|_| {
                let schema = if rng.u8(..3) == 0 { json!({}) } else { json!({"type": rng.choice(TYPES).unwrap()}) };
                ((*rng.choice(&NAMES).unwrap()).to_owned(), schema)
            });
            members.collect::<serde_json::Map<String, Value>>()
        };
        let (takes, gives) = (some(), some());
        let required: Vec<&String> = takes.keys().collect();
        let parameters = json!({"type": "object", "properties": takes, "required": required});
        tools.push(json!({"name": format!("tool_{number}"), "description": "Books it.", "parameters": parameters, "output": gives}));
    }
    tools
}

#[test]
fn drawing_ends_within_its_limits_whatever_a_model_answers() {
    let (mut plans, mut without, mut limits, mut asking) = (0, 0, 0, 0);
    for seed in 0..600 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let toolset = toolset(&tools(&mut rng));
        let settings = GenerationSettings {
            depth: rng.usize(1..5),
            nodes: rng.usize(1..12),
            requests: rng.u64(1..30),
            tokens: rng.u64(2_000..100_000),
            ..GenerationSettings::default()
        };
        let always_tool = seed % 4 == 0;
        let model = Anything { rng: Mutex::new(rng), always_tool, asked: Mutex::default() };
        let drawn = toolset.draw("Please book it for 20 people, 12 rooms", &model, &settings);
        let asked = *model.asked.lock().unwrap();
        assert!(asked <= settings.requests, "seed {seed}: {asked} requests");
        assert!(asked <= 2 * (settings.nodes as u64 + 1), "seed {seed}: each call is asked about twice at most");
        match drawn.result {
            Ok(plan) => {
                plans += 1;
                asking += u32::from(plan.missing().next().is_some());
                assert!((1..=settings.nodes).contains(&plan.nodes().len()), "seed {seed}");
                assert!(!plan.finals().is_empty(), "seed {seed}");
                for node in plan.nodes() {
                    let tool = toolset.book.get(&node.tool).unwrap();
                    let is_there = |parameter: callwright_judge::scanner::Parameter<'_>| {
                        !parameter.required || node.argument(parameter.name).is_some()
                    };
                    assert!(tool.parameters().all(is_there), "seed {seed}: every required argument has a source");
                }
            }
            Err(GenerationError::Limit(_)) => limits += 1,
            Err(_) => without += 1,
        }
    }
    println!("{plans} plans, {asking} of them ask; {limits} end at a limit, {without} without a plan");
    assert!(plans > 200 && asking > 50 && limits > 20 && without > 50, "all ways to end are taken");
}
