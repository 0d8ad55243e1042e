//! Misleading catalogs: drawing ends within its limits and with a usable result, regardless of the model's answers.

use callwright_plan::generation::{GenerationError, GenerationOutcome, GenerationSettings};
use callwright_types::Plan;
use serde_json::{Value, json};

use crate::drawing_plans::random::Anything;
use crate::drawing_plans::records::{Toolset, toolset};
use crate::drawing_plans::script::{Script, value};

/// Returns a tool that requires `takes` and returns `gives`.
fn tool(name: &str, takes: &[&str], gives: &[&str]) -> Value {
    let members = |names: &[&str]| -> serde_json::Map<String, Value> {
        names.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect()
    };
    let parameters = json!({"type": "object", "properties": members(takes), "required": takes});
    json!({"name": name, "description": "Books it.", "parameters": parameters, "output": members(gives)})
}

/// Draws plans with a model that always answers "tool", with several seeds. Each ends within the limits, with a plan
/// that requests its open inputs, or at a limit.
fn always_tool(tools: &Toolset) -> Vec<Plan> {
    let settings = GenerationSettings { requests: 20, nodes: 6, depth: 4, ..GenerationSettings::default() };
    let mut plans = Vec::new();
    for seed in 0..20 {
        let model = Anything::but_always_a_tool(seed);
        let GenerationOutcome { result, .. } = tools.draw("Please book it", &model, &settings);
        assert!(model.asked() <= settings.requests, "seed {seed}");
        match result {
            Ok(plan) => {
                assert!((1..=settings.nodes).contains(&plan.nodes().len()), "seed {seed}");
                plans.push(plan);
            }
            Err(
                GenerationError::Limit(_)
                | GenerationError::NoTool
                | GenerationError::Unusable(_)
                | GenerationError::GuessedKey { .. },
            ) => {}
            Err(other) => panic!("seed {seed}: {other}"),
        }
    }
    assert!(!plans.is_empty());
    plans
}

#[test]
fn producers_in_a_circle_end_at_a_call_that_needs_none() {
    let tools = toolset(&[tool("find_a", &["b_id"], &["a_id"]), tool("find_b", &["a_id"], &["b_id"])]);
    for plan in always_tool(&tools) {
        assert!(plan.nodes().iter().any(|node| node.feeders().next().is_none()), "{plan}");
    }
}

#[test]
fn a_tool_does_not_supply_the_value_that_it_needs() {
    let tools = toolset(&[tool("next_page", &["page_token"], &["page_token"])]);
    for plan in always_tool(&tools) {
        assert!(plan.nodes().iter().all(|node| node.feeders().next().is_none()), "{plan}");
    }
}

#[test]
fn of_hundreds_of_equal_candidates_a_few_are_named() {
    let mut all: Vec<Value> =
        (0..400).map(|number| tool(&format!("look_up_{number}"), &["text"], &["room_id"])).collect();
    all.insert(0, tool("book", &["room_id"], &["done"]));
    let tools = toolset(&all);
    let settings = GenerationSettings::default();
    let script = Script::of(&[
        json!({"goals": [{"tool": "book", "task": "book it"}]}),
        json!({"arguments": [{"name": "room_id", "source": "ask"}]}),
    ]);
    let drawn = tools.draw("Book it", &script, &settings);
    assert_eq!(drawn.result.unwrap().missing().count(), 1);
    let wanted = &script.data(1)["wanted"];
    assert_eq!(wanted["tools"].as_array().unwrap().len(), settings.candidates, "{wanted}");
    always_tool(&tools);
}

#[test]
fn an_untyped_required_parameter_takes_user_text_or_a_question() {
    let mut bare = tool("book", &[], &[]);
    bare["parameters"] =
        json!({"type": "object", "properties": {"a": {}, "b": true}, "required": ["a", "b", "never_told_of"]});
    let tools = toolset(&[bare, tool("look_up", &[], &["a"])]);
    let goal = json!({"goals": [{"tool": "book", "task": "book it"}]});
    let said = json!({"arguments": [value("a", json!({"x": ["it"]}), "book it"), value("b", json!(null), "book it")]});
    let script = Script::of(&[goal, said.clone(), said]);
    let plan = tools.draw("Please book it", &script, &GenerationSettings::default()).result.unwrap();
    let node = plan.node("call1").unwrap();
    assert_eq!(node.argument("a").unwrap().source.written(), json!({"x": ["it"]}));
    let missing: Vec<_> = plan.missing().map(|missing| missing.argument).collect();
    assert!(missing.contains(&"b"), "{plan}");
    always_tool(&tools);
}
