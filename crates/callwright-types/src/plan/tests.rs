use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn reference(node: &str, output: &str) -> Reference {
    Reference { node: node.to_owned(), output: Pointer::from(output), item: Item::Whole }
}

fn node(label: &str, tool: &str, arguments: &[(&str, Source)]) -> Node {
    let argument = |(name, source): &(&str, Source)| Argument { name: (*name).to_owned(), source: source.clone() };
    let (label, tool) = (label.to_owned(), tool.to_owned());
    Node { label, tool, task: String::new(), arguments: arguments.iter().map(argument).collect() }
}

fn value(value: Value, words: &str) -> Source {
    Source::Value { value, words: words.to_owned() }
}

/// A plan to book a room for Jack: the requested call is first, as in backward planning.
fn meeting() -> Plan {
    let room = Reference { item: Item::Chosen, ..reference("room", "/rooms/0/id") };
    let book = node(
        "book",
        "book_room",
        &[
            ("person_id", Source::Output(reference("person", "/id"))),
            ("room_id", Source::Output(room)),
            ("start", value(json!("09:00"), "from 9")),
            ("end", Source::Missing { question: "Until when?".to_owned() }),
        ],
    );
    let person = node("person", "find_person", &[("name", value(json!("Jack"), "Jack"))]);
    let room = node("room", "find_room", &[("start", value(json!("09:00"), "from 9"))]);
    Plan::new(vec![book, person, room], vec!["book".to_owned()]).unwrap()
}

#[test]
fn calls_stand_behind_those_that_feed_them() {
    let labels: Vec<String> = meeting().nodes().iter().map(|node| node.label.clone()).collect();
    assert_eq!(labels, ["person", "room", "book"]);
}

#[test]
fn a_circle_is_refused_with_its_path() {
    let fed_by =
        |label: &str, by: &str| node(label, &format!("tool_{label}"), &[("x", Source::Output(reference(by, "/y")))]);
    let error = Plan::new(vec![fed_by("d", "a"), fed_by("a", "b"), fed_by("b", "c"), fed_by("c", "a")], Vec::new());
    let error = error.unwrap_err().to_string();
    assert!(error.ends_with("tool_a (a) -> tool_c (c) -> tool_b (b) -> tool_a (a)"), "{error}");
    let itself = Plan::new(vec![fed_by("a", "a")], Vec::new()).unwrap_err();
    assert_eq!(itself, PlanError::Cycle { path: vec!["tool_a (a)".to_owned(), "tool_a (a)".to_owned()] });
}

#[test]
fn labels_name_one_call_each() {
    let plain = |label: &str| node(label, "t", &[]);
    assert_eq!(Plan::new(vec![plain("a"), plain("a")], Vec::new()), Err(PlanError::Twice("a".to_owned())));
    for label in ["", "1a", "a b", "a$", &"a".repeat(65)] {
        assert!(matches!(Plan::new(vec![plain(label)], Vec::new()), Err(PlanError::NoLabel(_))), "{label}");
    }
    let nowhere = node("a", "t", &[("x", Source::Output(reference("b", "")))]);
    assert!(matches!(Plan::new(vec![nowhere], Vec::new()), Err(PlanError::Unknown { .. })));
    assert!(matches!(Plan::new(vec![plain("a")], vec!["b".to_owned()]), Err(PlanError::Unknown { .. })));
}

#[test]
fn ready_is_what_is_fed_and_misses_nothing() {
    let plan = meeting();
    let ready = |plan: &Plan, done: &[&str]| {
        let done: HashSet<String> = done.iter().map(|label| (*label).to_owned()).collect();
        plan.ready(&done).map(|node| node.label.clone()).collect::<Vec<_>>()
    };
    assert_eq!(ready(&plan, &[]), ["person", "room"]);
    assert_eq!(ready(&plan, &["room"]), ["person"]);
    assert!(ready(&plan, &["person", "room"]).is_empty());
    let mut nodes = plan.nodes().to_vec();
    nodes[2].arguments[3].source = value(json!("10:00"), "10");
    let answered = Plan::new(nodes, vec!["book".to_owned()]).unwrap();
    assert_eq!(ready(&answered, &["person", "room"]), ["book"]);
}

#[test]
fn what_depends_on_a_call_is_found_through_others() {
    let fed_by = |label: &str, by: &[&str]| {
        let arguments: Vec<_> = by.iter().map(|by| (*by, Source::Output(reference(by, "")))).collect();
        node(label, "t", &arguments)
    };
    let plan =
        Plan::new(vec![fed_by("c", &["b"]), fed_by("b", &["a"]), fed_by("a", &[]), fed_by("d", &[])], Vec::new());
    let plan = plan.unwrap();
    assert_eq!(plan.dependents("a"), ["b", "c"]);
    assert!(plan.dependents("c").is_empty() && plan.dependents("nothing").is_empty());
}

#[test]
fn missing_inputs_and_edges_are_told() {
    let plan = meeting();
    let missing: Vec<_> = plan.missing().map(|missing| (missing.node.label.as_str(), missing.question)).collect();
    assert_eq!(missing, [("book", "Until when?")]);
    let edges: Vec<_> = plan.edges().map(|edge| (edge.from.node.as_str(), edge.argument, edge.to)).collect();
    assert_eq!(edges, [("person", "person_id", "book"), ("room", "room_id", "book")]);
}

#[test]
fn a_plan_is_written_for_people() {
    assert_eq!(
        meeting().to_string(),
        "person: find_person\n  name = \"Jack\" (\"Jack\")\nroom: find_room\n  start = \"09:00\" (\"from 9\")\n\
         book: book_room  (goal)\n  person_id = $person.id$\n  room_id = $room.rooms[?].id$\n  start = \"09:00\" (\"from 9\")\n  \
         end = ? (Until when?)\n"
    );
    assert_eq!(
        meeting().mermaid(),
        "flowchart LR\n  person[\"find_person\"]\n  room[\"find_room\"]\n  book([\"book_room\"])\n  \
         person -->|\"/id: person_id\"| book\n  room -->|\"/rooms/0/id: room_id\"| book\n  missing-1{{\"end?\"}}\n  \
         missing-1 -.-> book\n"
    );
}

#[test]
fn hostile_names_stay_in_their_place() {
    let hostile = "x\"]\n  evil --> book #quot; `|`<script>";
    let plan =
        Plan::new(vec![node("a", hostile, &[(hostile, Source::Missing { question: hostile.to_owned() })])], Vec::new());
    let plan = plan.unwrap();
    let mermaid = plan.mermaid();
    assert_eq!(mermaid.lines().count(), 4, "{mermaid}");
    for line in mermaid.lines().skip(1) {
        assert!(line.matches('"').count() % 2 == 0 && line.matches('"').count() <= 2, "{line}");
        assert!(!line.contains('<') && !line.contains("evil --> "), "{line}");
    }
    assert_eq!(plan.to_string().lines().count(), 2);
}

#[test]
fn composed_values_are_written_with_what_they_are_made_of() {
    let outputs = vec![reference("a", "/Exchange Rate"), Reference { item: Item::Index(2), ..reference("b", "/0") }];
    let source = Source::Composed { value: json!({"sum": ["{1} + {2}", 7], "not": "{3}"}), outputs };
    assert_eq!(source.written(), json!({"sum": ["$a.Exchange Rate$ + $b[2]$", 7], "not": "{3}"}));
    let all = Reference { item: Item::Whole, ..reference("b", "/rooms/0/id") };
    assert_eq!(all.written(), "$b.rooms[*].id$");
    assert_eq!(reference("b", "").written(), "$b$");
}

#[test]
fn the_json_form_is_read_back_and_checked() {
    let plan = meeting();
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    let circle = text.replace(r#""value":{"value":"Jack","words":"Jack"}"#, r#""output":{"node":"book","output":""}"#);
    let error = serde_json::from_str::<Plan>(&circle).unwrap_err().to_string();
    assert!(error.contains("book_room (book)"), "{error}");
    assert!(serde_json::from_str::<Plan>(r#"{"nodes":[],"finals":["a"]}"#).is_err());
    assert!(serde_json::from_str::<Plan>(r#"{"nodes":[],"finals":[],"more":1}"#).is_err());
}

proptest! {
    #[test]
    fn any_graph_is_ordered_or_refused_with_an_existing_circle(
        edges in proptest::collection::vec((0_usize..8, 0_usize..8), 0..16)
    ) {
        let nodes: Vec<Node> = (0..8).map(|at| {
            let fed: Vec<_> = edges.iter().filter(|(to, _)| *to == at).collect();
            let arguments: Vec<_> =
                fed.iter().map(|(_, from)| ("x", Source::Output(reference(&format!("n{from}"), "")))).collect();
            node(&format!("n{at}"), &at.to_string(), &arguments)
        }).collect();
        match Plan::new(nodes, Vec::new()) {
            Ok(plan) => {
                prop_assert_eq!(plan.nodes().len(), 8);
                let mut done = HashSet::new();
                for node in plan.nodes() {
                    prop_assert!(node.feeders().all(|feeder| done.contains(feeder)));
                    done.insert(node.label.clone());
                }
            }
            Err(PlanError::Cycle { path }) => {
                prop_assert!(path.len() > 1 && path.first() == path.last());
                let at = |named: &str| named.split(' ').next().unwrap().parse::<usize>().unwrap();
                for pair in path.windows(2) {
                    prop_assert!(edges.contains(&(at(&pair[1]), at(&pair[0]))));
                }
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }
}

#[test]
fn without_a_call_unneeded_steps_are_dropped_except_made_ones() {
    let plan = Plan::new(
        vec![
            node("a", "t", &[]),
            node("b", "t", &[]),
            node("c", "t", &[("x", Source::Output(reference("a", "/x"))), ("y", Source::Output(reference("b", "/y")))]),
            node("d", "t", &[("x", Source::Output(reference("b", "/x")))]),
        ],
        vec!["c".to_owned(), "d".to_owned()],
    )
    .unwrap();
    let left = |label: &str, made: &[&str]| -> String {
        let made = made.iter().map(|label| (*label).to_owned()).collect();
        let plan = plan.without(label, &made);
        let labels = plan.nodes().iter().map(|node| node.label.as_str());
        format!("{} for {}", labels.collect::<String>(), plan.finals().concat())
    };
    assert_eq!(left("c", &[]), "bd for d");
    assert_eq!(left("c", &["a"]), "abd for d");
    assert_eq!(left("b", &[]), " for ");
    assert_eq!(left("a", &[]), "bd for d");
}
