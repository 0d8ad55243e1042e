//! Redrawing a part of a plan: unchanged and changed parts.

use std::collections::HashSet;

use callwright_plan::generation::{GenerationError, GenerationOutcome, GenerationSettings, PresentPlan, Renewal};
use callwright_types::plan::{Argument, Item, Node, Reference, Source};
use callwright_types::{Message, Plan, Speaker};
use serde_json::{Value, json};

use crate::drawing_plans::records::said;
use crate::drawing_plans::script::{QUERY, Script, booking, call, jack, output, rooms, start, value};

fn argument(name: &str, source: Source) -> Argument {
    Argument { name: name.to_owned(), source }
}

fn known(value: &str) -> Source {
    Source::Value { value: json!(value), words: value.to_owned() }
}

fn from(label: &str, output: &str, item: Item) -> Source {
    Source::Output(Reference { node: label.to_owned(), output: output.into(), item })
}

fn node(label: &str, tool: &str, task: &str, arguments: Vec<Argument>) -> Node {
    Node { label: label.to_owned(), tool: tool.to_owned(), task: task.to_owned(), arguments }
}

/// The paper's plan, with distinctive labels.
fn meeting(start: Source) -> Plan {
    let nodes = vec![
        node("rooms", "find_room", "a free room", vec![argument("start", known("9:00"))]),
        node("jack", "find_person", "who Jack is", vec![argument("name", known("Jack"))]),
        node(
            "call1",
            "book_room",
            "book the room",
            vec![
                argument("room_id", from("rooms", "/rooms/0/id", Item::Chosen)),
                argument("person_id", from("jack", "/person_id", Item::Whole)),
                argument("start", start),
            ],
        ),
    ];
    Plan::new(nodes, vec!["call1".to_owned()]).unwrap()
}

/// Returns the request and the later messages.
fn heard(later: &[(Speaker, &str)]) -> Vec<Message> {
    let mut heard = vec![said(Speaker::User, QUERY)];
    heard.extend(later.iter().map(|(speaker, text)| said(*speaker, text)));
    heard
}

struct Again {
    plan: Plan,
    made: HashSet<String>,
    heard: Vec<Message>,
    settings: GenerationSettings,
}

impl Again {
    fn of(plan: Plan, made: &[&str], later: &[(Speaker, &str)]) -> Self {
        let made = made.iter().map(|label| (*label).to_owned()).collect();
        Self { plan, made, heard: heard(later), settings: GenerationSettings::default() }
    }

    fn draw(&self, renewal: &Renewal<'_>, answers: &[Value]) -> (GenerationOutcome, Script) {
        let script = Script::of(answers);
        let present = PresentPlan { plan: &self.plan, executed: &self.made };
        (rooms().regenerate(&self.heard, &present, renewal, &script, &self.settings), script)
    }

    fn calls(&self, labels: &[&str], answers: &[Value]) -> (GenerationOutcome, Script) {
        let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        self.draw(&Renewal::Calls { labels: &labels }, answers)
    }

    fn goals(&self, answers: &[Value]) -> (GenerationOutcome, Script) {
        self.draw(&Renewal::Goals, answers)
    }
}

fn labels(drawn: &GenerationOutcome) -> Vec<(&str, &str)> {
    let nodes = drawn.result.as_ref().unwrap().nodes();
    let mut labels: Vec<_> = nodes.iter().map(|node| (node.label.as_str(), node.tool.as_str())).collect();
    labels.sort_unstable();
    labels
}

/// Returns the existing booking with the calls of the plan and another start time.
fn rebooking(start: &str, words: &str) -> Value {
    json!({"arguments": [
        output("room_id", "rooms", "/rooms/0/id", Some("choose")), output("person_id", "jack", "/person_id", None),
        value("start", json!(start), words)]})
}

const ALL: [(&str, &str); 3] = [("call1", "book_room"), ("jack", "find_person"), ("rooms", "find_room")];

#[test]
fn what_was_missing_is_filled_in_and_all_else_stays() {
    let missing = meeting(Source::Missing { question: "When?".to_owned() });
    let again = Again::of(missing, &["jack"], &[(Speaker::Model, "When?"), (Speaker::User, "10:30")]);
    let (drawn, script) = again.calls(&["call1"], &[rebooking("10:30", "10:30")]);
    let plan = drawn.result.as_ref().unwrap();
    assert_eq!((labels(&drawn), script.count(), plan.finals()), (ALL.to_vec(), 1, &["call1".to_owned()][..]));
    assert_eq!(plan.node("call1").unwrap().argument("start").unwrap().source, known("10:30"));
    for kept in ["rooms", "jack"] {
        assert_eq!(plan.node(kept), again.plan.node(kept));
    }
    let wanted = &script.data(0)["wanted"];
    assert_eq!(wanted["before"], json!({"room_id": "$rooms.rooms[?].id$", "person_id": "$jack.person_id$"}));
    assert_eq!(wanted["planned"].as_array().unwrap().len(), 2, "{wanted}");
}

#[test]
fn calls_that_nobody_needs_any_more_go_unless_they_were_made() {
    for (made, expected) in
        [(vec![], vec![("call1", "book_room"), ("rooms", "find_room")]), (vec!["jack"], ALL.to_vec())]
    {
        let again = Again::of(meeting(known("9:00")), &made, &[(Speaker::Tool, "Booked by P-77 only.")]);
        let mut by_id = rebooking("9:00", "from 9:00");
        by_id["arguments"][1] = value("person_id", json!("P-77"), "P-77");
        let (drawn, _) = again.calls(&["call1"], &[by_id]);
        assert_eq!(labels(&drawn), expected, "made: {made:?}");
    }
}

#[test]
fn a_new_call_has_its_own_label_and_a_made_one_is_reused() {
    // The model's answer has two new calls: one was made already, under a name of the plan.
    let again = Again::of(meeting(known("9:00")), &["jack"], &[(Speaker::User, "Another room, from 11:15")]);
    let mut anew = booking();
    anew["calls"] = json!([{"call": "rooms", "tool": "find_room", "task": "another one"}, call("p", "find_person")]);
    anew["arguments"][0]["outputs"][0]["call"] = json!("rooms");
    anew["arguments"][2] = value("start", json!("11:15"), "11:15");
    let later = json!({"arguments": [value("start", json!("11:15"), "11:15")]});
    let (drawn, script) = again.calls(&["call1"], &[anew, later, jack()]);
    assert_eq!(labels(&drawn), [("call1", "book_room"), ("call2", "find_room"), ("jack", "find_person")]);
    assert_eq!(script.count(), 3);
    let booked = drawn.result.as_ref().unwrap().node("call1").unwrap();
    assert_eq!(booked.argument("person_id").unwrap().source, from("jack", "/person_id", Item::Whole));
    assert_eq!(booked.argument("room_id").unwrap().source, from("call2", "/rooms/0/id", Item::Chosen));
}

#[test]
fn what_was_made_is_never_asked_about() {
    let again = Again::of(meeting(known("9:00")), &["jack", "rooms"], &[]);
    let (drawn, script) = again.calls(&["jack", "no_such_call"], &[]);
    assert_eq!((drawn.result.as_ref(), script.count()), (Ok(&again.plan), 0));
    assert!(drawn.notes[0].contains("no_such_call"), "{:?}", drawn.notes);
}

#[test]
fn two_calls_that_were_made_with_the_same_arguments_stay_two() {
    let twice = vec![
        node("a", "find_person", "", vec![argument("name", known("Jack"))]),
        node("b", "find_person", "", vec![argument("name", known("Jack"))]),
        node("c", "who_am_i", "", Vec::new()),
    ];
    let plan = Plan::new(twice, vec!["c".to_owned()]).unwrap();
    let again = Again::of(plan, &["a", "b"], &[]);
    let (drawn, _) = again.calls(&["c"], &[]);
    assert_eq!(drawn.result.as_ref(), Ok(&again.plan));
}

#[test]
fn a_goal_that_is_chosen_again_keeps_its_calls() {
    let again = Again::of(meeting(known("9:00")), &[], &[(Speaker::User, "And who am I?")]);
    let goals = json!({"goals": [{"tool": "book_room", "task": "Book  the room"}, {"tool": "who_am_i", "task": "tell"}], "changed": []});
    let (drawn, script) = again.goals(&[goals]);
    assert_eq!(labels(&drawn), [ALL[0], ("call2", "who_am_i"), ALL[1], ALL[2]]);
    let plan = drawn.result.as_ref().unwrap();
    assert_eq!((plan.finals(), script.count()), (&["call1".to_owned(), "call2".to_owned()][..], 1));
    assert!(again.plan.nodes().iter().all(|node| plan.node(&node.label) == Some(node)));
    let present = &script.data(0)["present"];
    assert_eq!(present["goals"], json!([{"tool": "book_room", "task": "book the room", "done": false}]));
    assert_eq!(present["calls"][0]["arguments"]["start"], json!("9:00"));
}

#[test]
fn a_goal_that_is_given_up_takes_along_what_only_it_needed() {
    let again = Again::of(meeting(known("9:00")), &["jack"], &[(Speaker::User, "Just tell me who I am.")]);
    let (drawn, _) = again.goals(&[json!({"goals": [{"tool": "who_am_i", "task": "tell"}]})]);
    assert_eq!(labels(&drawn), [("call2", "who_am_i"), ("jack", "find_person")]);
    let (drawn, _) = again.goals(&[json!({"goals": []})]);
    assert_eq!(drawn.result, Err(GenerationError::NoTool));
}

#[test]
fn the_users_words_change_the_calls_that_they_are_about() {
    let again = Again::of(meeting(known("9:00")), &["jack"], &[(Speaker::User, "No, from 10:45")]);
    let goals = json!({"goals": [{"tool": "book_room", "task": "the same, later"}], "changed": ["call1", "rooms"]});
    let later = json!({"arguments": [value("start", json!("10:45"), "10:45")]});
    let (drawn, script) = again.goals(&[goals, rebooking("10:45", "from 10:45"), later]);
    assert_eq!((labels(&drawn), script.count()), (ALL.to_vec(), 3));
    for label in ["call1", "rooms"] {
        let node = drawn.result.as_ref().unwrap().node(label).unwrap();
        assert_eq!(node.argument("start").unwrap().source, known_from("10:45", label));
    }
    let wrong = json!({"goals": [{"tool": "book_room", "task": "book the room"}], "changed": ["jack"]});
    let right = json!({"goals": [{"tool": "book_room", "task": "book the room"}]});
    let (drawn, script) = again.goals(&[wrong, right]);
    assert!(script.told(1).contains("none of `present.calls`"), "{}", script.told(1));
    assert_eq!(drawn.result.as_ref(), Ok(&again.plan));
}

fn known_from(time: &str, label: &str) -> Source {
    let words = if label == "call1" { format!("from {time}") } else { time.to_owned() };
    Source::Value { value: json!(time), words }
}

#[test]
fn an_incomplete_call_is_a_question_when_the_user_replies() {
    let missing = meeting(Source::Missing { question: "When?".to_owned() });
    let again = Again::of(missing, &[], &[(Speaker::User, "10:30, and who am I?")]);
    let goals = json!({"goals": [{"tool": "book_room", "task": "book the room"}]});
    let (drawn, script) = again.goals(&[goals, rebooking("10:30", "10:30")]);
    assert_eq!((drawn.result.as_ref(), script.count()), (Ok(&meeting(known("10:30"))), 2));
}

#[test]
fn the_same_tool_after_a_done_call_is_a_new_call() {
    let plan = Plan::new(
        vec![node("jack", "find_person", "who Jack is", vec![argument("name", known("Jack"))])],
        vec!["jack".to_owned()],
    );
    let again = Again::of(plan.unwrap(), &["jack"], &[(Speaker::User, "And Jill?")]);
    let jill = json!({"arguments": [value("name", json!("Jill"), "Jill")]});
    let (drawn, _) = again.goals(&[json!({"goals": [{"tool": "find_person", "task": "who Jill is"}]}), jill]);
    assert_eq!(labels(&drawn), [("call1", "find_person"), ("jack", "find_person")]);
    assert_eq!(drawn.result.as_ref().unwrap().finals(), ["call1"]);
    let (drawn, _) = again.goals(&[json!({"goals": [{"tool": "find_person", "task": "Jack, again"}]}), jack()]);
    assert_eq!(drawn.result.as_ref(), Ok(&again.plan), "a call that was made is not made again");
}

#[test]
fn a_tool_that_is_gone_is_replaced_where_its_call_was_not_made() {
    let gone = |made: &[&str]| {
        let plan = meeting(known("9:00"));
        let nodes = plan.nodes().iter().cloned().map(|node| match node.label.as_str() {
            "jack" => Node { tool: "look_up_person".to_owned(), ..node },
            _ => node,
        });
        Again::of(Plan::new(nodes.collect(), vec!["call1".to_owned()]).unwrap(), made, &[])
    };
    let again = gone(&[]);
    let mut anew = rebooking("9:00", "from 9:00");
    anew["calls"] = json!([call("p", "find_person")]);
    anew["arguments"][1] = output("person_id", "p", "/person_id", None);
    let (drawn, _) = again.calls(&[], &[anew, jack()]);
    assert_eq!(labels(&drawn), [("call1", "book_room"), ("call2", "find_person"), ("rooms", "find_room")]);
    assert!(drawn.notes[0].contains("look_up_person"), "{:?}", drawn.notes);
    let again = gone(&["jack"]);
    let (drawn, script) = again.calls(&["rooms"], &[start()]);
    assert_eq!((labels(&drawn)[1], script.count()), (("jack", "look_up_person"), 1));
}

#[test]
fn calls_that_are_kept_count_among_a_plans() {
    let mut again = Again::of(meeting(known("9:00")), &[], &[(Speaker::User, "And who am I?")]);
    again.settings.nodes = 3;
    let goals =
        json!({"goals": [{"tool": "book_room", "task": "book the room"}, {"tool": "who_am_i", "task": "tell"}]});
    let (drawn, _) = again.goals(&[goals]);
    assert_eq!((labels(&drawn), drawn.notes.len()), (ALL.to_vec(), 1), "{:?}", drawn.notes);
    again.settings = GenerationSettings { depth: 1, ..GenerationSettings::default() };
    let (_, script) = again.calls(&["rooms"], &[start()]);
    assert_eq!(script.data(0)["wanted"]["needed_for"][0]["tool"], json!("book_room"));
}
