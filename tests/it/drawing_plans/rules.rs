//! Rules of drawing, one by one, with scripted answers.

use callwright_plan::generation::{BudgetSpent, GenerationError, GenerationOutcome, GenerationSettings};
use callwright_types::Plan;
use serde_json::{Value, json};

use crate::drawing_plans::script::{QUERY, Script, booking, call, goal, jack, output, rooms, start, value};

fn drawn(answers: &[Value], settings: &GenerationSettings) -> (GenerationOutcome, Script) {
    let script = Script::of(answers);
    (rooms().draw(QUERY, &script, settings), script)
}

fn draw(answers: &[Value]) -> (GenerationOutcome, Script) {
    drawn(answers, &GenerationSettings::default())
}

fn plan(drawn: &GenerationOutcome) -> &Plan {
    drawn.result.as_ref().unwrap()
}

const MEETING: &str = "call1: find_room\n  start = \"9:00\" (\"from 9:00\")\ncall2: find_person\n  name = \"Jack\" (\"Jack\")\n\
    call3: book_room  (goal)\n  room_id = $call1.rooms[?].id$\n  person_id = $call2.person_id$\n  start = \"9:00\" (\"from 9:00\")\n  \
    seats = 4 (\"4 seats\")\n";

#[test]
fn a_plan_is_drawn_backward_with_one_question_for_each_call() {
    let (drawn, script) = draw(&[goal(), booking(), start(), jack()]);
    assert_eq!(plan(&drawn).to_string(), MEETING);
    assert_eq!((drawn.cost.selection.requests, drawn.cost.completion.requests, script.count()), (1, 3, 4));
    assert_eq!((drawn.cost.total().prompt_tokens, drawn.cost.total().completion_tokens), (400, 40));
    assert!(drawn.notes.is_empty(), "{:?}", drawn.notes);
    let told = script.data(2);
    assert_eq!(
        told["wanted"]["needed_for"],
        json!([{"arguments": ["room_id"], "tool": "book_room", "task": "book the room"}])
    );
}

#[test]
fn a_faulty_answer_is_told_once_what_is_wrong() {
    let (drawn, script) = draw(&[json!("I'd say book_room."), goal(), booking(), start(), jack()]);
    assert_eq!(plan(&drawn).to_string(), MEETING);
    assert!(script.told(1).contains("not one JSON object"), "{}", script.told(1));
    let (drawn, _) = draw(&[json!("no"), json!("again no")]);
    assert!(matches!(drawn.result, Err(GenerationError::Unusable(_))), "{:?}", drawn.result);
    let (drawn, _) = draw(&[json!({"goals": []})]);
    assert_eq!(drawn.result, Err(GenerationError::NoTool));
}

#[test]
fn what_nobody_said_is_refused_once_and_then_asked_for() {
    let mut invented = booking();
    invented["arguments"][1] = value("person_id", json!("P-4711"), "the id P-4711");
    let (drawn, script) = draw(&[goal(), invented.clone(), booking(), start(), jack()]);
    assert!(script.told(2).contains("`person_id`: the value \"P-4711\" is not grounded"), "{}", script.told(2));
    assert_eq!(plan(&drawn).to_string(), MEETING);
    let (drawn, _) = draw(&[goal(), invented.clone(), invented, start()]);
    let missing: Vec<_> = plan(&drawn).missing().map(|missing| missing.argument).collect();
    assert_eq!((missing, drawn.notes.len()), (vec!["person_id"], 1));
}

#[test]
fn each_fault_is_named() {
    for (place, wrong, expected) in [
        ("/arguments/0/outputs/0/output", json!("/rooms/0/key"), "`find_room` has no output `/rooms/0/key`"),
        ("/arguments/0/outputs/0/call", json!("x"), "the call `x` is neither in `calls` nor in `planned`"),
        ("/arguments/0/outputs", json!([]), "`outputs` is empty"),
        ("/arguments/0/name", json!("room"), "`book_room` has no argument `room`"),
        ("/arguments/0/source", json!("guess"), "requested form"),
        ("/arguments/1/name", json!("room_id"), "the argument `room_id` occurs twice"),
        ("/arguments/2/value", json!({"at": 9}), "does not fit"),
        ("/arguments/3/value", json!("four"), "`/seats` is of type string, but must be integer"),
        ("/calls/0/tool", json!("rm"), "`rm` is none of the tools that may supply it"),
        ("/arguments", json!([]), "`start`: it is required"),
    ] {
        let mut answer = booking();
        *answer.pointer_mut(place).unwrap() = wrong;
        let (drawn, script) = draw(&[goal(), answer, booking(), start(), jack()]);
        assert!(script.told(2).contains(expected), "{expected}: {}", script.told(2));
        assert_eq!(plan(&drawn).to_string(), MEETING, "{expected}");
    }
}

#[test]
fn what_is_meant_beyond_doubt_needs_no_second_answer() {
    let mut written = booking();
    written["arguments"][1]["name"] = json!("personId");
    let (drawn, script) = draw(&[goal(), written, start(), jack()]);
    assert_eq!((plan(&drawn).to_string().as_str(), script.count()), (MEETING, 4));
}

#[test]
fn calls_that_are_the_same_become_one() {
    let two = json!({"goals": [{"tool": "book_room", "task": "a"}, {"tool": "find_person", "task": "b"}]});
    let (drawn, _) = draw(&[two, booking(), jack(), start(), jack()]);
    let labels: Vec<(&str, &str)> =
        plan(&drawn).nodes().iter().map(|node| (node.label.as_str(), node.tool.as_str())).collect();
    assert_eq!(labels, [("call1", "find_person"), ("call2", "find_room"), ("call3", "book_room")]);
    assert_eq!(plan(&drawn).finals(), ["call3", "call1"]);
    assert_eq!(plan(&drawn).nodes()[2].argument("person_id").unwrap().source.references()[0].node, "call1");
}

#[test]
fn a_call_of_the_plan_can_be_used_again() {
    let two = json!({"goals": [{"tool": "book_room", "task": "a"}, {"tool": "find_person", "task": "b"}]});
    let mut again = booking();
    again["calls"] = json!([call("r", "find_room")]);
    again["arguments"][1] = output("person_id", "c2", "/person_id", None);
    let (drawn, script) = draw(&[two, again, jack(), start()]);
    assert_eq!(script.data(1)["wanted"]["planned"], json!([{"call": "c2", "tool": "find_person", "task": "b"}]));
    assert_eq!((plan(&drawn).nodes().len(), script.count()), (3, 4));
}

#[test]
fn a_circle_is_refused_with_its_path() {
    // The name for the person search is taken from the output of the same search.
    let same = json!({"calls": [call("p", "find_person")], "arguments": [output("name", "p", "/name", None)]});
    let (drawn, script) = draw(&[goal(), booking(), start(), same, jack()]);
    let told = script.told(4);
    assert!(told.contains("in a cycle: find_person -> find_person"), "{told}");
    assert_eq!(plan(&drawn).to_string(), MEETING);
}

#[test]
fn a_tool_without_arguments_costs_no_question() {
    let mut mine = booking();
    mine["calls"][1]["tool"] = json!("who_am_i");
    let (drawn, script) = draw(&[goal(), mine, start()]);
    assert_eq!((plan(&drawn).nodes().len(), script.count()), (3, 3));
}

#[test]
fn limits_hold() {
    let settings = GenerationSettings { depth: 1, ..GenerationSettings::default() };
    let (flat, script) = drawn(&[goal(), booking(), booking()], &settings);
    assert_eq!(script.data(1)["wanted"]["tools"], json!([]));
    assert_eq!((plan(&flat).nodes().len(), plan(&flat).missing().count()), (1, 2));
    let settings = GenerationSettings { nodes: 2, ..GenerationSettings::default() };
    let (small, script) = drawn(&[goal(), booking(), booking(), start()], &settings);
    assert!(script.told(2).contains("no room for more than 1 further calls"), "{}", script.told(2));
    assert_eq!((plan(&small).nodes().len(), plan(&small).missing().count()), (2, 1));
    let settings = GenerationSettings { requests: 3, ..GenerationSettings::default() };
    let (costly, script) = drawn(&[goal(), booking(), start(), jack()], &settings);
    assert_eq!((costly.result, script.count()), (Err(GenerationError::Limit(BudgetSpent::Requests(3))), 3));
    let settings = GenerationSettings { tokens: 50, ..GenerationSettings::default() };
    let (costly, script) = drawn(&[goal()], &settings);
    assert_eq!((costly.result, script.count()), (Err(GenerationError::Limit(BudgetSpent::Tokens(50))), 0));
}

#[test]
fn what_is_asked_for_by_the_model_is_missing() {
    let ask = json!({"arguments": [{"name": "start", "source": "ask", "question": "From when?"}]});
    let (drawn, _) = draw(&[goal(), booking(), ask, jack()]);
    let missing: Vec<_> = plan(&drawn).missing().map(|missing| missing.question).collect();
    assert_eq!(missing, ["From when?"]);
}

#[test]
fn a_model_that_is_gone_ends_it() {
    let (drawn, _) = draw(&[goal()]);
    assert!(
        matches!(&drawn.result, Err(GenerationError::Unanswered(reason)) if reason.contains("ended")),
        "{:?}",
        drawn.result
    );
}

#[test]
fn an_output_that_nothing_tells_of_is_doubted_once() {
    let mut open = booking();
    open["arguments"][1]["outputs"][0]["output"] = json!("/key");
    let (drawn, script) = draw(&[goal(), open.clone(), open, start(), jack()]);
    assert!(script.told(2).contains("`find_person` has no output `/key`"), "{}", script.told(2));
    let booked = plan(&drawn).nodes().last().unwrap();
    assert_eq!(booked.argument("person_id").unwrap().source.written(), json!("$call2.key$"));
    assert!(drawn.notes.len() == 1 && drawn.notes[0].contains("/key"), "{:?}", drawn.notes);
}

#[test]
fn an_output_that_can_never_be_the_argument_is_doubted_once() {
    let mut open = booking();
    open["arguments"][3] = output("seats", "r", "/rooms", None);
    let (drawn, script) = draw(&[goal(), open, booking(), start(), jack()]);
    let told = script.told(2);
    assert!(told.contains("`seats`: the output `/rooms` is array, which the argument can never be"), "{told}");
    assert_eq!(plan(&drawn).to_string(), MEETING);
}
