//! Tests of the candidates, their order and their evidence.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Candidate, Edges, Evidence, Http, Producers, Request, Segment, ToolShape, documented_fields};
use callwright_types::OutputLink;

/// Tool of a test: name, description, parameters and output in the form of a file.
struct Sample {
    name: &'static str,
    description: &'static str,
    parameters: Value,
    output: Value,
    http: Option<(&'static str, &'static str)>,
    links: Vec<OutputLink>,
}

fn tool(name: &'static str, description: &'static str, required: &[&str], output: Value) -> Sample {
    let properties: Value = required.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
    let parameters = json!({"type": "object", "properties": properties, "required": required});
    Sample { name, description, parameters, output, http: None, links: Vec::new() }
}

fn operation(method: &'static str, path: &'static str, name: &'static str, required: &[&str], output: Value) -> Sample {
    Sample { http: Some((method, path)), ..tool(name, "", required, output) }
}

fn segment(samples: &[Sample]) -> Arc<Segment> {
    let outputs: Vec<_> = samples.iter().map(|sample| documented_fields(&sample.output)).collect();
    let shapes = samples.iter().zip(&outputs).map(|(sample, outputs)| ToolShape {
        name: sample.name,
        description: sample.description,
        parameters: &sample.parameters,
        outputs,
        http: sample.http.map(|(method, path)| Http { method, path }),
        links: &sample.links,
    });
    Arc::new(Segment::build(&shapes.collect::<Vec<_>>()))
}

/// Returns the candidates of `tool.argument` for a request.
fn found(producers: &Producers, argument: &str, request: &str) -> Vec<Candidate> {
    let (tool, argument) = argument.split_once('.').unwrap();
    let scores = producers.score(&Request::parse(request), &[]);
    producers.candidates(producers.position(tool).unwrap(), argument, &scores, 5)
}

/// Returns the positions and pointers of the candidates.
fn locations(candidates: &[Candidate]) -> Vec<(usize, &str)> {
    candidates.iter().map(|candidate| (candidate.tool, candidate.output.as_str())).collect()
}

fn has(candidate: &Candidate, evidence: Evidence) -> bool {
    candidate.reasons.iter().any(|reason| reason.evidence == evidence)
}

fn meeting_rooms() -> Vec<Sample> {
    let text = json!({"type": "string"});
    let list = |of: &str| json!({"type": "array", "items": {"title": of, "type": "object", "properties": {"id": text, "name": text}}});
    vec![
        tool(
            "book_room",
            "Books a room for somebody.",
            &["room_id", "person_id", "start"],
            json!({"booking_id": text}),
        ),
        tool("list_rooms", "Lists the rooms.", &[], list("Room")),
        tool("find_people", "Finds people by their name.", &["name"], list("Person")),
        tool("get_weather", "Tells the weather.", &["city"], json!({"text": text})),
    ]
}

#[test]
fn arguments_behind_references_have_producers() {
    let mut tools = meeting_rooms();
    tools[0].parameters = json!({
        "allOf": [{"$ref": "#/$defs/booking"}],
        "$defs": {
            "booking": {"type": "object", "properties": {"room_id": {"$ref": "#/$defs/room%20key"}}},
            "room key": {"type": "string"},
        },
    });
    let producers = Producers::new([segment(&tools)]);
    assert_eq!(locations(&found(&producers, "book_room.room_id", "Book a room"))[0], (1, "/0/id"));
}

#[test]
fn a_key_comes_from_the_thing_that_it_names() {
    let producers = Producers::new([segment(&meeting_rooms())]);
    let rooms = found(&producers, "book_room.room_id", "Book a room for Jack from 9 to 10");
    assert_eq!(locations(&rooms)[0], (1, "/0/id"));
    assert!(has(&rooms[0], Evidence::Key) && has(&rooms[0], Evidence::InList) && rooms[0].in_list);
    let people = found(&producers, "book_room.person_id", "Book a room for Jack from 9 to 10");
    assert_eq!(locations(&people)[0], (2, "/0/id"), "{people:?}");
}

#[test]
fn scores_are_the_sums_of_their_reasons_and_fall() {
    let producers = Producers::new([segment(&meeting_rooms())]);
    let candidates = found(&producers, "book_room.room_id", "List the rooms and book one");
    for candidate in &candidates {
        let sum: f32 = candidate.reasons.iter().map(|reason| reason.weight).sum();
        assert!((sum - candidate.score).abs() < 1e-4, "{candidate:?}");
    }
    assert!(candidates.is_sorted_by(|left, right| left.score >= right.score));
}

#[test]
fn a_path_parameter_comes_from_the_collection() {
    let user = json!({"type": "object", "title": "User", "properties": {"id": {"type": "string"}}});
    let list = json!({"type": "array", "items": user});
    let samples = [
        operation("GET", "/users/{id}", "getUser", &["id"], user.clone()),
        operation("POST", "/users", "createUser", &["name"], user),
        operation("GET", "/users", "listUsers", &[], list.clone()),
        operation(
            "GET",
            "/orders",
            "listOrders",
            &[],
            json!({"type": "array", "items": {"title": "Order", "type": "object", "properties": {"id": {"type": "string"}}}}),
        ),
    ];
    let producers = Producers::new([segment(&samples)]);
    let candidates = found(&producers, "getUser.id", "");
    assert_eq!(locations(&candidates)[0], (2, "/0/id"), "reads come before writes");
    assert!(has(&candidates[0], Evidence::Collection) && has(&candidates[0], Evidence::Key));
    assert!(candidates.iter().all(|candidate| candidate.tool != 1), "nothing is created for the sake of a key");
    let requested = found(&producers, "getUser.id", "create a user, then get it");
    assert!(requested.iter().any(|candidate| candidate.tool == 1), "the request confirms it: {requested:?}");
}

#[test]
fn a_link_of_the_document_outweighs_names() {
    let mut samples = vec![
        tool("open", "Opens a door.", &["door_id"], json!({})),
        tool("scan", "Scans a badge.", &[], json!({"code": {"type": "string"}, "door": {"type": "string"}})),
        tool("list_doors", "Lists doors.", &[], json!({"door_id": {"type": "string"}})),
    ];
    samples[1].links = vec![OutputLink { tool: "open".into(), argument: "door_id".into(), pointer: "/door".into() }];
    let candidates = found(&Producers::new([segment(&samples)]), "open.door_id", "");
    let linked = candidates.iter().find(|candidate| candidate.tool == 1).unwrap();
    assert!(linked.output == "/door" && has(linked, Evidence::Linked), "{candidates:?}");
}

#[test]
fn a_request_decides_where_an_argument_takes_anything() {
    let number = json!({"type": "number"});
    let samples = [
        tool("send_message", "Sends a text to somebody.", &["text"], json!({"status": {"type": "string"}})),
        tool("translate", "Translates a sentence.", &["sentence"], json!({"translation": {"type": "string"}})),
        tool("get_joke", "Tells a joke.", &[], json!({"joke": {"type": "string"}})),
        tool("get_area", "Calculates an area.", &["radius"], json!({"area": number})),
    ];
    let producers = Producers::new([segment(&samples)]);
    let of = |request: &str| found(&producers, "send_message.text", request)[0].tool;
    assert_eq!(of("Get a joke and send a message with that joke"), 2);
    assert_eq!(of("Translate 'good morning' to French, then send the translation as a message"), 1);
    assert_eq!(of("Calculate the area of a circle and send a message with the area"), 3);
}

#[test]
fn tools_declared_as_used_come_first() {
    let producers = Producers::new([segment(&meeting_rooms())]);
    let scores = producers.score(&Request::parse("Book a room"), &[]).using([0, 3]);
    let candidates = producers.candidates(0, "start", &scores, 5);
    assert!(candidates[0].tool == 3 && has(&candidates[0], Evidence::Used), "{candidates:?}");
}

#[test]
fn an_operator_confirms_and_forbids() {
    let edges = Edges::parse(
        "confirmed:\n- {from: get_weather, output: /hall/0/key, to: book_room, argument: room_id}\n\
         - {from: nobody, to: book_room, argument: room_id}\n\
         forbidden:\n- {from: list_rooms, to: book_room, argument: room_id}\n- {from: find_people, to: book_room}\n",
    );
    let producers = Producers::new([segment(&meeting_rooms())]).with_edges(&edges.unwrap());
    let candidates = found(&producers, "book_room.room_id", "List the rooms, find people, book one");
    assert_eq!(locations(&candidates)[0], (3, "/hall/0/key"), "a confirmed location overrides the schema");
    assert!(has(&candidates[0], Evidence::Confirmed) && candidates[0].in_list);
    assert!(candidates.iter().all(|candidate| ![1, 2].contains(&candidate.tool)), "{candidates:?}");
    let start = found(&producers, "book_room.start", "List the rooms, find people, book one");
    assert!(start.iter().any(|candidate| candidate.tool == 1) && start.iter().all(|candidate| candidate.tool != 2));
}

#[test]
fn tools_of_other_toolsets_supply_keys_by_name() {
    let billing = [tool("pay_invoice", "Pays an invoice.", &["customer_id"], json!({}))];
    let crm = [
        tool("find_customer", "Finds a customer.", &["name"], json!({"customer_id": {"type": "string"}})),
        tool("list_tags", "Lists tags.", &[], json!({"id": {"type": "string"}})),
    ];
    let producers = Producers::new([segment(&billing), segment(&crm)]);
    let candidates = found(&producers, "pay_invoice.customer_id", "");
    assert_eq!(locations(&candidates), [(1, "/customer_id")]);
    assert!(has(&candidates[0], Evidence::Elsewhere));
}

#[test]
fn undocumented_answers_are_candidates_as_a_whole() {
    let samples = [
        tool("open", "Opens an account.", &["account_id"], Value::Null),
        tool("find_account_id", "Finds an account.", &["name"], Value::Null),
        tool("sing", "Sings.", &[], Value::Null),
    ];
    let candidates = found(&Producers::new([segment(&samples)]), "open.account_id", "Find the account, then open it");
    assert_eq!(locations(&candidates)[0], (1, ""));
}

#[test]
fn cycles_and_tools_that_supply_themselves_have_candidates() {
    let id = json!({"type": "string"});
    let samples = [
        tool("open_door", "First.", &["chest_id"], json!({"door_id": id, "chest_id": id})),
        tool("find_chest", "Second.", &["door_id"], json!({"chest_id": id})),
    ];
    let producers = Producers::new([segment(&samples)]);
    assert_eq!(
        locations(&found(&producers, "open_door.chest_id", "")),
        [(1, "/chest_id")],
        "a tool that needs the value itself is below the floor"
    );
    assert_eq!(locations(&found(&producers, "find_chest.door_id", ""))[0], (0, "/door_id"));
}

#[test]
fn many_equal_candidates_keep_their_order_and_are_bounded() {
    let mut samples = vec![tool("take", "Takes a thing.", &["thing_id"], json!({}))];
    samples.extend((0..600).map(|_| tool("make", "Makes a thing.", &[], json!({"thing_id": {"type": "string"}}))));
    let producers = Producers::new([segment(&samples)]);
    let candidates = found(&producers, "take.thing_id", "make a thing and take it");
    assert_eq!(candidates.iter().map(|candidate| candidate.tool).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
}

#[test]
fn unknown_arguments_and_broken_schemas_have_no_candidates() {
    let mut samples = meeting_rooms();
    for (at, parameters) in
        [json!(null), json!([]), json!({"properties": 7}), json!({"properties": {"x": 7}, "required": "x"})]
            .into_iter()
            .enumerate()
    {
        samples[at].parameters = parameters;
    }
    let producers = Producers::new([segment(&samples)]);
    assert_eq!(producers.arguments(0).count() + producers.arguments(1).count() + producers.arguments(2).count(), 0);
    let scores = producers.score(&Request::parse("book a room"), &[]);
    assert!(producers.candidates(0, "room_id", &scores, 5).is_empty());
    assert!(producers.candidates(99, "x", &scores, 5).is_empty());
    assert!(producers.candidates(3, "x", &scores, 5).len() <= 5, "an argument without a type is accepted");
    assert!(producers.candidates(3, "x", &scores, 0).is_empty());
    let none = Producers::default();
    assert!(none.is_empty() && none.candidates(0, "x", &none.score(&Request::parse("x"), &[]), 5).is_empty());
}

#[test]
fn scores_of_other_producers_are_harmless() {
    let scores =
        Producers::new([segment(&meeting_rooms())]).score(&Request::parse("Lists the rooms, tells the weather"), &[]);
    let other = Producers::new([segment(&meeting_rooms()[..2])]);
    assert!(other.candidates(0, "room_id", &scores, 5).iter().all(|candidate| candidate.tool < 2));
}

#[test]
fn a_tool_that_requires_the_value_itself_ranks_last() {
    let id = json!({"type": "string"});
    let samples = [
        tool("pay_order", "Pays an order.", &["order_id"], json!({"receipt": id})),
        tool("get_order", "Shows an order.", &["order_id"], json!({"order_id": id, "total": id})),
        tool("search_orders", "Finds orders by a text.", &["text"], json!({"order_id": id})),
    ];
    let producers = Producers::new([segment(&samples)]);
    let candidates = found(&producers, "pay_order.order_id", "Get the order and pay it");
    assert_eq!(candidates[0].tool, 2, "{candidates:?}");
    assert!(candidates.iter().all(|candidate| candidate.tool != 1 || has(candidate, Evidence::Needs)));
}

#[test]
fn a_tool_that_changes_something_supplies_only_if_confirmed() {
    let id = json!({"type": "string"});
    let samples = [
        tool("get_ticket", "Shows a ticket.", &["ticket_id"], json!({"text": id})),
        tool("create_ticket", "Creates a ticket.", &["text"], json!({"ticket_id": id})),
    ];
    let supplies = |producers: &Producers, request: &str| {
        found(producers, "get_ticket.ticket_id", request).iter().any(|candidate| candidate.tool == 1)
    };
    let producers = Producers::new([segment(&samples)]);
    assert!(!supplies(&producers, "Show me the ticket about the printer"));
    assert!(supplies(&producers, "Create a ticket, then get the ticket"));
    let scores = producers.score(&Request::parse("Show me the ticket"), &[]);
    for confirmed in [scores.clone().using([1]), scores.clone().requesting([1])] {
        assert_eq!(producers.candidates(0, "ticket_id", &confirmed, 5)[0].tool, 1);
    }
    let edges = Edges::parse("confirmed:\n- {from: create_ticket, to: get_ticket, argument: ticket_id}\n").unwrap();
    assert!(supplies(&producers.with_edges(&edges), "Show me the ticket about the printer"));
}

#[test]
fn the_key_of_another_thing_is_no_key() {
    let id = json!({"type": "string"});
    let samples = [
        tool("list_offers", "Lists offers.", &["product_id"], json!({"price": id})),
        tool("find_reviews", "Finds reviews.", &["text"], json!({"review_id": id})),
        tool("find_products", "Finds products.", &["text"], json!({"num_products": {"type": "integer"}, "id": id})),
    ];
    let producers = Producers::new([segment(&samples)]);
    let candidates = found(&producers, "list_offers.product_id", "List the offers for the review");
    assert_eq!(locations(&candidates)[0], (2, "/id"), "{candidates:?}");
}
