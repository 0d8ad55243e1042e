use serde_json::json;

use super::*;
use callwright_types::DeviationKind::{Changed, Repeated, Skipped};
use callwright_types::plan::Argument;
use callwright_types::{DeviationKind, PlanDeviation};

fn value(value: Value) -> Source {
    Source::Value { value, words: String::new() }
}

fn output(node: &str, pointer: &str, item: Item) -> Source {
    Source::Output(Reference { node: node.to_owned(), output: Pointer::from(pointer), item })
}

fn node(label: &str, tool: &str, arguments: &[(&str, Source)]) -> Node {
    let argument = |(name, source): &(&str, Source)| Argument { name: (*name).to_owned(), source: source.clone() };
    let (label, tool) = (label.to_owned(), tool.to_owned());
    Node { label, tool, task: String::new(), arguments: arguments.iter().map(argument).collect() }
}

/// Returns a plan that books a room for Jack. The person and the room are looked up independently.
fn meeting() -> Progress {
    let person = node("person", "find_person", &[("name", value(json!("Jack")))]);
    let room = node("room", "find_rooms", &[("start", value(json!("09:00")))]);
    let arguments =
        [("person_id", output("person", "/id", Item::Whole)), ("room_id", output("room", "/0/id", Item::Chosen))];
    let book = node("book", "book_room", &arguments);
    Progress::begin(Plan::new(vec![person, room, book], vec!["book".to_owned()]).unwrap())
}

/// Sends the ready calls and returns their labels and ids.
fn send(progress: &mut Progress) -> Vec<(String, String)> {
    let ProgressStep::Calls(ready) = progress.next() else { panic!("{:?}", progress.next()) };
    let ready: Vec<(String, Value)> =
        ready.into_iter().map(|ready| (ready.node.label.clone(), Value::Object(ready.arguments))).collect();
    progress.begin_answer();
    let send = |(label, arguments): (String, Value)| {
        let id = progress.new_id();
        progress.sent(&label, &id, arguments);
        (label, id)
    };
    ready.into_iter().map(send).collect()
}

fn seen(id: &str, tool: &str, arguments: Value, result: Option<Value>) -> SeenCall {
    SeenCall { id: id.to_owned(), tool: tool.to_owned(), arguments, result, failed: false }
}

fn deviation(kind: DeviationKind, call: &str) -> PlanDeviation {
    PlanDeviation { kind, call: call.to_owned() }
}

#[test]
fn independent_calls_go_together_and_answers_become_arguments() {
    let mut progress = meeting();
    let sent = send(&mut progress);
    assert_eq!(sent.iter().map(|(label, _)| label.as_str()).collect::<Vec<_>>(), ["person", "room"]);
    assert_eq!(progress.next(), ProgressStep::Wait);
    assert!(progress.answered(&sent[0].1, json!({"id": "P1"})));
    assert_eq!(progress.next(), ProgressStep::Wait);
    assert!(progress.answered(&sent[1].1, json!([{"id": "R1", "name": "Oslo"}, {"id": "R2", "name": "Rome"}])));
    let ProgressStep::Choose(options) = progress.next() else { panic!("{:?}", progress.next()) };
    assert_eq!((options.node.label.as_str(), options.argument, options.items.len()), ("book", "room_id", 2));
    progress.choose("book", "room", 1);
    let ProgressStep::Calls(ready) = progress.next() else { panic!() };
    assert_eq!(Value::Object(ready[0].arguments.clone()), json!({"person_id": "P1", "room_id": "R2"}));
    let sent = send(&mut progress);
    progress.answered(&sent[0].1, json!({"status": "booked"}));
    assert_eq!(progress.next(), ProgressStep::Done);
    assert!(!progress.answered("another", json!(1)));
}

#[test]
fn missing_inputs_are_requested_together_before_any_call() {
    let missing = |question: &str| Source::Missing { question: question.to_owned() };
    let first = node("first", "a", &[("x", missing("x?"))]);
    let second = node("second", "b", &[("y", missing("y?")), ("z", output("first", "/z", Item::Whole))]);
    let free = node("free", "c", &[]);
    let progress =
        Progress::begin(Plan::new(vec![first, second, free], vec!["second".to_owned(), "free".to_owned()]).unwrap());
    let ProgressStep::RequestInputs(missing) = progress.next() else { panic!() };
    assert_eq!(missing.iter().map(|input| input.question).collect::<Vec<_>>(), ["x?", "y?"]);
}

#[test]
fn failures_and_answers_without_the_value_are_reported() {
    let mut progress = meeting();
    let sent = send(&mut progress);
    progress.failed(&sent[0].1);
    assert!(matches!(progress.next(), ProgressStep::Failed(node) if node.label == "person"));
    progress.answered(&sent[0].1, json!({"name": "Jack"}));
    progress.answered(&sent[1].1, json!([{"id": "R1"}]));
    let ProgressStep::Absent(consumer, from) = progress.next() else { panic!("{:?}", progress.next()) };
    assert_eq!((consumer.label.as_str(), from.node.as_str()), ("book", "person"));
}

#[test]
fn a_plan_round_trips_as_json_and_call_ids_contain_its_handle() {
    let mut progress = meeting();
    let sent = send(&mut progress);
    let read: Progress = serde_json::from_str(&serde_json::to_string(&progress).unwrap()).unwrap();
    assert_eq!(read, progress);
    assert!(sent.iter().all(|(_, id)| ids::handle_of(id) == Some(progress.handle())));
}

#[test]
fn a_new_plan_keeps_answered_calls_and_drops_failed_ones() {
    let mut progress = meeting();
    let sent = send(&mut progress);
    progress.answered(&sent[0].1, json!({"id": "P1"}));
    progress.failed(&sent[1].1);
    let plan = progress.plan().clone();
    progress.replace(plan, true);
    assert_eq!((progress.answered_calls(), progress.repairs()), (HashSet::from(["person".to_owned()]), 1));
    let again = send(&mut progress);
    assert_eq!(again[0].0, "room");
    assert_ne!(again[0].1, sent[1].1);
}

#[test]
fn outputs_of_other_calls_are_expected() {
    let mut progress = meeting();
    let expected = |progress: &Progress| -> Vec<(String, Vec<Value>)> {
        let expected = progress.expectations().expected.into_iter();
        expected.map(|expected| (expected.path.as_str().to_owned(), expected.values)).collect()
    };
    assert_eq!(expected(&progress), [("/person_id".to_owned(), vec![]), ("/room_id".to_owned(), vec![])]);
    let sent = send(&mut progress);
    progress.answered(&sent[1].1, json!([{"id": "R1"}, {"id": "R2"}]));
    progress.failed(&sent[0].1);
    assert_eq!(expected(&progress), [("/room_id".to_owned(), vec![json!("R1"), json!("R2")])]);
}

/// Client messages after the first two calls, the resulting deviations, and the labels of the remaining calls.
#[test]
fn deviations_of_the_client_are_followed() {
    let arguments = |label: &str| if label == "person" { json!({"name": "Jack"}) } else { json!({"start": "09:00"}) };
    let tool = |label: &str| if label == "person" { "find_person" } else { "find_rooms" };
    let result = |label: &str| if label == "person" { json!({"id": "P1"}) } else { json!([{"id": "R1"}]) };
    type Case<'a> = (&'a str, Vec<SeenCall>, Vec<PlanDeviation>, &'a [&'a str], Option<Value>);
    let begin = || {
        let mut progress = meeting();
        let sent = send(&mut progress);
        (progress, sent)
    };
    let (before, sent) = begin();
    let both: Vec<SeenCall> =
        sent.iter().map(|(label, id)| seen(id, tool(label), arguments(label), Some(result(label)))).collect();
    let without_result = SeenCall { result: None, ..both[1].clone() };
    let changed = SeenCall { arguments: json!({"name": "Jill"}), result: Some(json!({"id": "P2"})), ..both[0].clone() };
    let again = seen("own_id", "find_person", arguments("person"), Some(json!({"id": "P9"})));
    let other = seen("own_id", "unheard_of", json!({}), Some(json!(1)));
    let cases: [Case<'_>; 7] = [
        ("follows", both.clone(), vec![], &["book"], Some(json!({"person_id": "P1", "room_id": "R1"}))),
        ("skips a call", vec![both[0].clone()], vec![deviation(Skipped, "room")], &[], None),
        ("sends no result", vec![both[0].clone(), without_result], vec![deviation(Skipped, "room")], &[], None),
        (
            "repeats a call",
            vec![both[0].clone(), both[1].clone(), again],
            vec![deviation(Repeated, "person")],
            &["book"],
            Some(json!({"person_id": "P9", "room_id": "R1"})),
        ),
        (
            "changes an argument",
            vec![changed, both[1].clone()],
            vec![deviation(Changed, "person")],
            &["book"],
            Some(json!({"person_id": "P2", "room_id": "R1"})),
        ),
        (
            "calls something else besides",
            vec![both[0].clone(), both[1].clone(), other],
            vec![],
            &["book"],
            Some(json!({"person_id": "P1", "room_id": "R1"})),
        ),
        ("never got the answer", vec![], vec![], &["person", "room"], None),
    ];
    for (what, seen, deviations, left, booked) in cases {
        let mut progress = before.clone();
        assert_eq!(progress.follow(&seen, |_| true), deviations, "{what}");
        if let ProgressStep::Choose(options) = progress.next() {
            assert_eq!(options.items.len(), 1, "{what}");
            progress.choose("book", "room", 0);
        }
        match progress.next() {
            ProgressStep::Calls(ready) => {
                assert_eq!(ready.iter().map(|ready| ready.node.label.as_str()).collect::<Vec<_>>(), left, "{what}");
                if let Some(booked) = booked {
                    assert_eq!(Value::Object(ready[0].arguments.clone()), booked, "{what}");
                }
            }
            next => assert!(left.is_empty() && next == ProgressStep::Done, "{what}: {next:?}"),
        }
    }
}

#[test]
fn a_changed_answer_invalidates_only_its_dependents() {
    let mut progress = meeting();
    let sent = send(&mut progress);
    progress.answered(&sent[0].1, json!({"id": "P1"}));
    progress.answered(&sent[1].1, json!([{"id": "R1"}]));
    progress.choose("book", "room", 0);
    let booked = send(&mut progress);
    progress.answered(&booked[0].1, json!("ok"));
    let person = seen(&sent[0].1, "find_person", json!({"name": "Jill"}), Some(json!({"id": "P2"})));
    let room = seen(&sent[1].1, "find_rooms", json!({"start": "09:00"}), Some(json!([{"id": "R1"}])));
    assert_eq!(progress.follow(&[person, room], |_| true), [deviation(Changed, "person")]);
    assert_eq!(progress.answered_calls(), HashSet::from(["person".to_owned(), "room".to_owned()]));
    assert!(matches!(progress.next(), ProgressStep::Calls(ready) if ready[0].arguments["person_id"] == json!("P2")));
}

#[test]
fn a_call_that_the_client_made_by_itself_is_not_made_again() {
    let mut progress = meeting();
    let own = seen("own_id", "find_person", json!({"name": "Jack"}), Some(json!({"id": "P1"})));
    assert!(progress.follow(&[own], |_| true).is_empty());
    assert_eq!(progress.answered_calls(), HashSet::from(["person".to_owned()]));
    assert_eq!(send(&mut progress).len(), 1);
}

#[test]
fn proxy_calls_are_not_expected_in_the_clients_conversation() {
    let mut progress = meeting();
    let sent = send(&mut progress);
    progress.answered(&sent[0].1, json!({"id": "P1"}));
    assert!(progress.follow(&[], |tool| tool != "find_person").is_empty());
    assert_eq!(progress.answered_calls(), HashSet::from(["person".to_owned()]));
}
