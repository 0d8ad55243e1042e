use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{CompletedCall, ProcedureTool, Workflow, draft_of_calls, draft_of_plan, names_only};
use crate::procedures::Settings;
use callwright_common::json::Pointer;
use callwright_types::memory::{Backing, ClientTool};
use callwright_types::plan::{Argument, Item, Node, Reference, Source};
use callwright_types::{OutputField, OutputLink, Owner, Plan, ProcedureDraft, Tool, ToolKind};

struct World {
    schemas: Vec<Value>,
    outputs: Vec<OutputField>,
    links: Vec<OutputLink>,
}

impl World {
    fn new() -> Self {
        let schemas = vec![
            json!({"properties": {"name": {"type": "string"}}, "required": ["name"]}),
            json!({"properties": {"day": {"type": "string"}, "min_seats": {"type": "integer"}}}),
            json!({"properties": {
                "person_id": {"type": "string"}, "room_id": {"type": "string", "description": "The room."},
                "day": {"type": "string", "description": "Day of the meeting."}, "guests": {"type": "integer"},
                "class": {"enum": ["small", "large"]}, "unit": {"const": "hours"},
                "people": {"type": "array", "items": {"type": "object", "properties": {"id": {}, "role": {"enum": ["host"]}}}}},
                "required": ["person_id", "room_id"]}),
            json!({"properties": {"to": {"type": "string"}, "text": {"type": "string"}}}),
        ];
        Self { schemas, outputs: Vec::new(), links: Vec::new() }
    }

    fn tools(&self) -> Vec<ProcedureTool<'_>> {
        let tool = |at: usize, name, description, changes_state| ProcedureTool {
            name,
            toolset: Some("rooms"),
            client: None,
            description,
            parameters: &self.schemas[at],
            outputs: &self.outputs,
            links: if at == 0 { &self.links } else { &[] },
            changes_state,
        };
        vec![
            tool(0, "find_person", "Finds a person by name.", false),
            tool(1, "list_rooms", "Lists the meeting rooms that are free on a day.", false),
            tool(2, "book_room", "Books a meeting room. It is yours then.", true),
            tool(3, "send_mail", "", true),
        ]
    }
}

type CallData = (&'static str, Value, Value, bool);

fn drafted(world: &World, calls: &[CallData], message: &str) -> Option<ProcedureDraft> {
    let calls: Vec<CompletedCall<'_>> = calls
        .iter()
        .map(|(tool, arguments, answer, succeeded)| CompletedCall { tool, arguments, answer, succeeded: *succeeded })
        .collect();
    let workflow = Workflow { calls: &calls, tools: &world.tools(), user_messages: &[message] };
    draft_of_calls(&workflow, Backing::Seen, &Settings::default())
}

fn booking() -> Vec<CallData> {
    vec![
        ("find_person", json!({"name": "Jack"}), json!({"id": "P-17", "name": "Jack"}), true),
        ("list_rooms", json!({"day": "2026-05-15"}), json!({"rooms": [{"id": "R1"}, {"id": "R2"}]}), true),
        (
            "book_room",
            json!({"person_id": "P-17", "room_id": "R2", "day": "2026-05-15", "guests": 2}),
            json!({"booking": "B-1"}),
            true,
        ),
    ]
}

const MESSAGE: &str = "Book a room for Jack on Friday, for two.";

#[test]
fn workflow_is_abstracted_to_a_procedure() {
    let draft = drafted(&World::new(), &booking(), MESSAGE).unwrap();
    let inputs: Vec<(&str, &str)> =
        draft.input.iter().map(|input| (input.name.as_str(), input.description.as_str())).collect();
    // The day is one input, although two calls take it.
    assert_eq!(inputs, [("name", ""), ("day", ""), ("guests", "")]);
    assert_eq!(draft.output, "Books a meeting room");
    assert_eq!(
        draft.steps,
        [
            "find_person: name given",
            "list_rooms: day given",
            "book_room: person_id from step 1's /id; room_id chosen from step 2's /rooms/0/id; day and guests given",
        ]
    );
    assert_eq!(draft.toolsets, ["rooms"]);
    assert_eq!(draft.plan.finals(), ["step3"]);
    let missing: Vec<(&str, &str)> =
        draft.plan.missing().map(|missing| (missing.node.label.as_str(), missing.question)).collect();
    assert_eq!(missing, [("step1", "name"), ("step2", "day"), ("step3", "day"), ("step3", "guests")]);
    let shown = serde_json::to_string(&draft).unwrap();
    for value in ["Jack", "P-17", "R2", "2026", "B-1"] {
        assert!(!shown.contains(value), "{value} in {shown}");
    }
}

#[test]
fn failed_repeated_and_unused_calls_are_omitted() {
    let mut calls = booking();
    calls.insert(0, ("find_person", json!({"name": "Jak"}), json!({"error": "nobody"}), false));
    calls.insert(1, ("list_rooms", json!({"day": "2026-05-01"}), json!({"rooms": []}), true));
    let again = calls[2].clone();
    calls.insert(3, again);
    let draft = drafted(&World::new(), &calls, MESSAGE).unwrap();
    assert_eq!(draft.steps, drafted(&World::new(), &booking(), MESSAGE).unwrap().steps);
}

#[test]
fn state_changing_calls_are_kept_even_if_their_answer_is_unused() {
    let mut calls = booking();
    calls.insert(0, ("send_mail", json!({"to": "jill@example.com", "text": "Hello"}), json!("sent"), true));
    let draft = drafted(&World::new(), &calls, MESSAGE).unwrap();
    assert_eq!(draft.plan.finals(), ["step1", "step4"]);
    assert_eq!(draft.output, "send mail; Books a meeting room");
}

#[test]
fn single_calls_and_long_workflows_are_no_procedures() {
    assert_eq!(drafted(&World::new(), &booking()[..1], MESSAGE), None);
    assert_eq!(drafted(&World::new(), &[], MESSAGE), None);
    let unknown: CallData = ("unheard_of", json!({}), json!({}), true);
    assert_eq!(drafted(&World::new(), &[unknown.clone(), unknown], MESSAGE), None);
    let many: Vec<CallData> =
        (0..13).map(|at| ("send_mail", json!({"to": format!("to{at}")}), json!("sent"), true)).collect();
    assert_eq!(drafted(&World::new(), &many, MESSAGE), None);
    assert!(drafted(&World::new(), &many[..12], MESSAGE).is_some());
}

#[test]
fn user_values_are_inputs_even_if_an_answer_repeats_them() {
    let mut calls = booking();
    calls[1].2 = json!({"rooms": [{"id": "Blue", "owner": "P-17"}]});
    calls[2].1["room_id"] = json!("Blue");
    let draft = drafted(&World::new(), &calls, "Book the blue one for Jack on Friday").unwrap();
    assert!(draft.input.iter().any(|input| input.name == "room_id"), "{draft:#?}");
}

#[test]
fn common_values_come_from_answers_only_if_names_agree() {
    let mut calls = booking();
    calls[0].2 = json!({"id": 7, "desks": 2});
    calls[2].1["person_id"] = json!(7);
    let draft = drafted(&World::new(), &calls, MESSAGE).unwrap();
    let book = draft.plan.node("step3").unwrap();
    assert!(matches!(book.argument("person_id").unwrap().source, Source::Output(_)));
    assert!(matches!(book.argument("guests").unwrap().source, Source::Missing { .. }), "2 is no desk");
}

#[test]
fn schema_constants_are_kept_unless_the_user_chose_them() {
    let mut calls = booking();
    calls[2].1["class"] = json!("large");
    calls[2].1["unit"] = json!("hours");
    let source = |message: &str, name: &str| {
        let draft = drafted(&World::new(), &calls, message).unwrap();
        draft.plan.node("step3").unwrap().argument(name).unwrap().source.clone()
    };
    let constant = |value: &str| Source::Value { value: value.into(), words: String::new() };
    assert_eq!(source(MESSAGE, "class"), constant("large"));
    assert_eq!(source("A large one!", "class"), Source::Missing { question: "class".to_owned() });
    assert_eq!(source("For hours!", "unit"), constant("hours"));
}

#[test]
fn lists_and_objects_of_known_parts_are_composed() {
    let mut calls = booking();
    calls[2].1["people"] = json!([{"id": "P-17", "role": "host"}]);
    let draft = drafted(&World::new(), &calls, MESSAGE).unwrap();
    let people = draft.plan.node("step3").unwrap().argument("people").unwrap().source.clone();
    let outputs = vec![Reference { node: "step1".to_owned(), output: Pointer::from("/id"), item: Item::Whole }];
    assert_eq!(people, Source::Composed { value: json!([{"id": "{1}", "role": "host"}]), outputs });
    assert!(draft.steps[2].contains("people made of step 1's /id"), "{:?}", draft.steps);
    calls[2].1["people"] = json!([{"id": "P-17", "role": "guest of Jill"}]);
    let draft = drafted(&World::new(), &calls, MESSAGE).unwrap();
    assert!(draft.input.iter().any(|input| input.name == "people"), "a part is user data");
}

#[test]
fn values_of_two_list_items_are_not_one_choice() {
    let mut calls = booking();
    calls[0].2 = json!([{"person_id": "P-17", "room_id": "R-17"}, {"person_id": "P-18", "room_id": "R-18"}]);
    calls[1].2 = json!({});
    calls[2].1 = json!({"person_id": "P-17", "room_id": "R-18"});
    let draft = drafted(&World::new(), &calls, MESSAGE).unwrap();
    assert!(draft.input.iter().any(|input| input.name == "room_id"));
    calls[2].1 = json!({"person_id": "P-17", "room_id": "R-17"});
    let draft = drafted(&World::new(), &calls, MESSAGE).unwrap();
    assert!(draft.input.iter().all(|input| input.name != "room_id"));
}

#[test]
fn openapi_links_take_precedence() {
    let mut world = World::new();
    world.links = vec![OutputLink { tool: "book_room".into(), argument: "room_id".into(), pointer: "/desk".into() }];
    let mut calls = booking();
    calls[0].2 = json!({"desk": "R2", "id": "P-17"});
    let draft = drafted(&world, &calls, MESSAGE).unwrap();
    assert!(draft.steps.last().unwrap().contains("room_id from step 1's /desk"), "{:?}", draft.steps);
}

#[test]
fn inputs_with_the_same_name_and_other_values_are_distinguished() {
    let calls = vec![
        ("send_mail", json!({"to": "jill@example.com", "text": "Hello"}), json!("sent"), true),
        ("send_mail", json!({"to": "jack@example.com", "text": "Hello"}), json!("sent"), true),
    ];
    let draft = drafted(&World::new(), &calls, "Greet both.").unwrap();
    let names: Vec<&str> = draft.input.iter().map(|input| input.name.as_str()).collect();
    assert_eq!(names, ["send_mail.to", "text", "send_mail.to (2)"]);
}

#[test]
fn completed_plan_is_abstracted_without_its_values() {
    let world = World::new();
    let argument = |name: &str, source| Argument { name: name.to_owned(), source };
    let given = |value: &str| Source::Value { value: value.into(), words: value.to_owned() };
    let output = |pointer: &str, item| {
        Source::Output(Reference { node: "call1".to_owned(), output: Pointer::from(pointer), item })
    };
    let nodes = vec![
        Node {
            label: "call1".to_owned(),
            tool: "find_person".to_owned(),
            task: "find Jack".to_owned(),
            arguments: vec![argument("name", given("Jack"))],
        },
        Node {
            label: "call2".to_owned(),
            tool: "book_room".to_owned(),
            task: "book for Jack".to_owned(),
            arguments: vec![
                argument("person_id", output("/people/0/id", Item::Index(3))),
                argument("room_id", output("/jack/secret", Item::Whole)),
                argument("day", Source::Missing { question: "Which day, Jack?".to_owned() }),
                argument("class", given("large")),
                argument("unit", Source::Value { value: "hours".into(), words: String::new() }),
                argument("jack", given("Jack")),
            ],
        },
    ];
    let plan = Plan::new(nodes, vec!["call2".to_owned()]).unwrap();
    let draft = draft_of_plan(&plan, &world.tools(), Backing::Seen, &Settings::default()).unwrap();
    assert_eq!(
        draft.steps,
        [
            "find_person: name given",
            "book_room: person_id chosen from step 1's /people/0/id; unit is \"hours\"; room_id, day and class given",
        ]
    );
    let shown = serde_json::to_string(&draft).unwrap().to_lowercase();
    assert!(!shown.contains("jack"), "{shown}");
    let unknown: Vec<ProcedureTool<'_>> = world.tools().into_iter().take(1).collect();
    assert_eq!(draft_of_plan(&plan, &unknown, Backing::Seen, &Settings::default()), None);
}

#[test]
fn client_tools_keep_names_and_their_values_are_inputs() {
    let schema = json!({"description": "zq", "properties": {
        "person_id": {"description": "zq"}, "ward": {"enum": ["zq", "north"]}, "mode": {"const": "zq"}, "kind": {"default": "zq"},
        "of zq": {}, "people": {"items": {"properties": {"id": {}, "role": {"enum": ["zq"]}}}}}});
    let (booking, finding) = (names_only(&schema), names_only(&json!({"properties": {"name": {"title": "zq"}}})));
    let own = |name: &str| {
        let (description, parameters) = ("zq".to_owned(), Arc::new(schema.clone()));
        let owner = Owner::Client;
        ClientTool::of(&Tool {
            name: name.to_owned(),
            description,
            parameters,
            kind: ToolKind::Function,
            reads: None,
            owner,
            namespace: None,
        })
        .unwrap()
    };
    let clients = [own("find_person"), own("book_slot")];
    let known = |client, name, parameters| ProcedureTool {
        name,
        toolset: None,
        client,
        description: "",
        parameters,
        outputs: &[],
        links: &[],
        changes_state: false,
    };
    let (person, booking_answer) = (json!({"id": "zq-17", "of zq": "zq"}), json!({}));
    let finds = json!({"name": "zq"});
    let books = json!({"person_id": "zq-17", "ward": "north", "mode": "zq", "kind": "zq", "of zq": "zq-17", "people": [{"id": "zq-17", "role": "zq"}]});
    let call = |tool, arguments, answer| CompletedCall { tool, arguments, answer, succeeded: true };
    let calls = [call("find_person", &finds, &person), call("book_slot", &books, &booking_answer)];
    let drafted = |first| {
        let tools = [known(first, "find_person", &finding), known(Some(&clients[1]), "book_slot", &booking)];
        draft_of_calls(
            &Workflow { calls: &calls, tools: &tools, user_messages: &[] },
            Backing::Seen,
            &Settings::default(),
        )
    };
    let draft = drafted(Some(&clients[0])).unwrap();
    assert_eq!(
        draft.steps,
        ["find_person: name given", "book_slot: person_id from step 1's /id; ward, mode, kind and people given"]
    );
    assert_eq!((draft.output.as_str(), draft.toolsets.len()), ("book slot", 0));
    assert_eq!(draft.client_tools.as_ref().unwrap().len(), 2);
    let written = serde_json::to_string(&draft).unwrap();
    assert!(!written.contains("zq") && !written.contains("north"), "{written}");
    assert_eq!(drafted(None), None, "the tool has no identity");
}

/// Generates values that contain secrets as strings, numbers and member names.
fn secret_value() -> impl Strategy<Value = Value> {
    let secret = "zq[a-z0-9]{4,9}";
    let leaf = prop_oneof![
        secret.prop_map(Value::from),
        (7_700_000_i64..7_799_999).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(json!("large")),
        Just(json!(2)),
    ];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        let name = prop_oneof![Just("id".to_owned()), Just("rooms".to_owned()), secret.prop_map(String::from)];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::vec((name, inner), 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Collects every part of a value, some of which later calls take.
fn parts(value: &Value, found: &mut Vec<Value>) {
    found.push(value.clone());
    match value {
        Value::Array(items) => items.iter().for_each(|item| parts(item, found)),
        Value::Object(members) => members.values().for_each(|member| parts(member, found)),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn drafts_contain_no_user_data(
        answers in proptest::collection::vec(secret_value(), 4),
        own in proptest::collection::vec(secret_value(), 16),
        picks in proptest::collection::vec(any::<prop::sample::Index>(), 16),
        takes in proptest::collection::vec(any::<bool>(), 16),
        message in "(zq[a-z0-9]{4,9} ?){0,4}",
    ) {
        let world = World::new();
        let tools = world.tools();
        let (mut calls, mut known): (Vec<(&str, Value)>, Vec<Value>) = (Vec::new(), Vec::new());
        let mut values = own.iter().zip(picks).zip(takes);
        for (tool, answer) in tools.iter().zip(&answers) {
            let names = tool.parameters["properties"].as_object().unwrap().keys().cloned().chain(["zqname".to_owned()]);
            let mut arguments = serde_json::Map::new();
            for name in names {
                let Some(((own, pick), take)) = values.next() else { break };
                let value = if take && !known.is_empty() { pick.get(&known).clone() } else { own.clone() };
                arguments.insert(name, value);
            }
            calls.push((tool.name, Value::Object(arguments)));
            parts(answer, &mut known);
        }
        let calls: Vec<CompletedCall<'_>> = calls
            .iter()
            .zip(&answers)
            .map(|((tool, arguments), answer)| CompletedCall { tool, arguments, answer, succeeded: true })
            .collect();
        let workflow = Workflow { calls: &calls, tools: &tools, user_messages: &[&message] };
        let draft = draft_of_calls(&workflow, Backing::Seen, &Settings::default());
        prop_assert!(draft.is_some(), "two calls change state");
        let shown = serde_json::to_string(&draft).unwrap();
        prop_assert!(!shown.contains("zq") && !shown.contains("77"), "{}", shown);
    }
}
