//! Plan templates: the number of queries that they save, and the cases in which they do not apply.

use callwright_plan::generation::{GenerationOutcome, GenerationSettings};
use callwright_test_macros::requires;
use callwright_types::Plan;
use callwright_types::plan::Source;
use serde_json::{Value, json};

use crate::drawing_plans::oracle::Oracle;
use crate::drawing_plans::records::{as_calls, canonical, shared};
use crate::drawing_plans::script::{QUERY, Script, booking, goal, jack, output, rooms, start, value};

/// Returns the paper's meeting room as a plan with missing inputs.
fn template() -> Plan {
    let script = Script::of(&[goal(), booking(), start(), jack()]);
    let drawn = rooms().draw(QUERY, &script, &GenerationSettings::default());
    without_values(&drawn.result.unwrap(), |_, argument| argument.to_owned())
}

/// Returns a plan with its values replaced by inputs; `named` receives the task of a call and its argument.
fn without_values(plan: &Plan, named: impl Fn(&str, &str) -> String) -> Plan {
    let mut plan = serde_json::to_value(plan).unwrap();
    for node in plan["nodes"].as_array_mut().unwrap() {
        let task = node["task"].as_str().unwrap_or_default().to_owned();
        for argument in node["arguments"].as_array_mut().unwrap() {
            if argument["source"].get("value").is_some() {
                let name = named(&task, argument["name"].as_str().unwrap());
                argument["source"] = json!({"missing": {"question": name}});
            }
        }
    }
    serde_json::from_value(plan).unwrap()
}

/// Minimum share of the shared requests whose templates are filled in; a lower value is a regression.
const LEAST_FILLED_IN: f64 = 0.95;

#[requires("data/plans")]
#[test]
fn repeated_shared_requests_are_planned_by_one_question() {
    let (records, toolsets) = shared();
    let settings = GenerationSettings::default();
    let (mut plans, mut filled_in, mut before, mut after) = (0_u32, 0_u32, (0, 0), (0, 0));
    for record in &records {
        let toolset = &toolsets[&record.toolset];
        let record = toolset.fitted(record);
        if !toolset.faults_of(&record).is_empty() {
            continue;
        }
        let first = toolset.draw(&record.query, &Oracle::of(&record), &settings);
        let Ok(plan) = &first.result else { continue };
        plans += 1;
        let known = without_values(plan, |task, argument| format!("{task} {argument}"));
        let again = toolset.generate_from_template(&record.query, &known, &Oracle::of(&record), &settings);
        if !again.from_template {
            println!("not filled in: {}: {:?}", record.id, again.notes);
            continue;
        }
        let again_plan = again.result.unwrap();
        assert_eq!(canonical(&as_calls(&again_plan)), canonical(&as_calls(plan)), "{}", record.id);
        let (one, other) = (first.cost.total(), again.cost.total());
        filled_in += 1;
        before = (before.0 + one.requests, before.1 + one.prompt_tokens);
        after = (after.0 + other.requests, after.1 + other.prompt_tokens);
    }
    let each = |sum: u64| sum as f64 / f64::from(filled_in);
    println!(
        "{filled_in} of {plans} plans filled in; requests {:.2} and {:.2}, prompt tokens {:.0} and {:.0}",
        each(before.0),
        each(after.0),
        each(before.1),
        each(after.1)
    );
    assert!(f64::from(filled_in) >= LEAST_FILLED_IN * f64::from(plans) && filled_in > 0);
    assert!(after.0 <= u64::from(filled_in), "one question each, and none where nothing is to be asked");
}

fn drawn(answers: &[Value]) -> (GenerationOutcome, Script) {
    let script = Script::of(answers);
    (rooms().generate_from_template(QUERY, &template(), &script, &GenerationSettings::default()), script)
}

fn inputs(inputs: &[Value]) -> Value {
    json!({"fits": true, "inputs": inputs})
}

fn all() -> Value {
    inputs(&[
        value("start", json!("9:00"), "from 9:00"),
        value("name", json!("Jack"), "Jack"),
        value("seats", json!("4"), "4 seats"),
    ])
}

#[test]
fn a_template_saves_the_selection_and_all_completions_but_one() {
    let anew = Script::of(&[goal(), booking(), start(), jack()]);
    let drawn_anew = rooms().draw(QUERY, &anew, &GenerationSettings::default());
    let (drawn, script) = drawn(&[all()]);
    assert_eq!((anew.count(), script.count()), (4, 1));
    assert_eq!((drawn.cost.selection.requests, drawn.cost.completion.requests), (0, 1));
    assert!(drawn.from_template && !drawn_anew.from_template);
    assert_eq!(drawn.result.unwrap().to_string(), drawn_anew.result.unwrap().to_string());
    let known = &script.data(0)["known"];
    assert_eq!(known["goals"], json!(["call3"]));
    assert_eq!(known["inputs"][0]["name"], "start", "two calls take it, and it is asked for once");
    assert_eq!(known["inputs"].as_array().unwrap().len(), 3);
    assert_eq!(known["steps"][2]["arguments"]["room_id"], "$call1.rooms[?].id$");
}

#[test]
fn what_is_not_asked_for_is_drawn_anew() {
    for no in [json!({"fits": false, "inputs": []}), json!({"fits": false})] {
        let (drawn, script) = drawn(&[no, goal(), booking(), start(), jack()]);
        assert!(drawn.result.is_ok() && !drawn.from_template);
        assert_eq!(script.count(), 5);
    }
    let (drawn, _) = drawn(&[json!("Sure!"), json!("I said: sure!"), goal(), booking(), start(), jack()]);
    assert!(drawn.result.is_ok() && !drawn.from_template);
}

#[test]
fn values_rest_on_what_was_said_and_fit_their_schemas() {
    let wrong = |name: &str, wrong: Value| {
        let mut answer = all();
        let given = answer["inputs"].as_array_mut().unwrap();
        given.iter_mut().filter(|given| given["name"] == name).for_each(|given| *given = wrong.clone());
        answer
    };
    for (name, answer, expected) in [
        ("name", value("name", json!("P-4711"), "the id"), "not grounded"),
        ("seats", value("seats", json!("four"), "4 seats"), "must be integer"),
        ("start", value("start", json!(null), ""), "there is none"),
        ("start", output("start", "c", "/x", None), "`value` or `ask`"),
        ("seats", value("floor", json!(1), "1"), "no input `floor`"),
        ("seats", value("name", json!("Jack"), "Jack"), "occurs twice"),
    ] {
        let (drawn, script) = drawn(&[wrong(name, answer), all()]);
        assert!(script.told(1).contains(expected), "{expected}: {}", script.told(1));
        assert!(drawn.from_template && drawn.notes.is_empty(), "{:?}", drawn.notes);
    }
}

#[test]
fn missing_values_are_requested_and_optional_ones_omitted() {
    let ask = |name: &str, question: &str| json!({"name": name, "source": "ask", "question": question});
    let (drawn, _) = drawn(&[inputs(&[ask("start", "From when?"), ask("seats", ""), ask("name", " ")])]);
    let plan = drawn.result.unwrap();
    let missing: Vec<(&str, &str)> = plan.missing().map(|missing| (missing.argument, missing.question)).collect();
    assert_eq!(
        missing,
        [("start", "From when?"), ("name", "What is the value of `name` for find_person?"), ("start", "From when?")]
    );
    let goal = plan.node("call3").unwrap();
    assert!(goal.argument("seats").is_none());
    assert!(matches!(goal.argument("person_id").unwrap().source, Source::Output(_)));
}

#[test]
fn a_template_with_missing_tools_or_excess_size_costs_nothing() {
    let script = Script::of(&[goal(), booking(), start(), jack()]);
    let mut gone = serde_json::to_value(template()).unwrap();
    gone["nodes"][0]["tool"] = json!("find_rooms");
    let gone: Plan = serde_json::from_value(gone).unwrap();
    let drawn = rooms().generate_from_template(QUERY, &gone, &script, &GenerationSettings::default());
    assert!(drawn.result.is_ok() && !drawn.from_template);
    assert_eq!(script.count(), 4);
    let script = Script::of(&[goal(), booking(), start(), jack()]);
    let small = GenerationSettings { depth: 1, ..GenerationSettings::default() };
    assert!(!rooms().generate_from_template(QUERY, &template(), &script, &small).from_template);
    assert_eq!(script.data(0).get("known"), None, "no question about it");
}
