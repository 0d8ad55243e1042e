//! Words in the place of a key: reported once, then there is no plan. The paper's two examples.

use callwright_plan::generation::{GenerationError, GenerationOutcome, GenerationSettings};
use callwright_types::plan::Source;
use serde_json::{Value, json};

use crate::drawing_plans::records::{Toolset, toolset};
use crate::drawing_plans::script::{QUERY, Script, booking, call, goal, jack, output, rooms, start, value};

fn draw(tools: &Toolset, query: &str, answers: &[Value]) -> (GenerationOutcome, Script) {
    let script = Script::of(answers);
    (tools.draw(query, &script, &GenerationSettings::default()), script)
}

fn guessed(tool: &str, argument: &str) -> GenerationError {
    GenerationError::GuessedKey { tool: tool.to_owned(), argument: argument.to_owned() }
}

/// The meeting room, with one argument of the booking replaced.
fn booking_with(argument: &Value) -> Value {
    let mut answer = booking();
    for other in answer["arguments"].as_array_mut().unwrap() {
        if other["name"] == argument["name"] {
            *other = argument.clone();
        }
    }
    answer
}

#[test]
fn words_for_a_key_are_reported_once_with_the_supplying_tool() {
    for (argument, producer) in [
        (value("person_id", json!("Jack"), "Jack"), "find_person"),
        (value("room_id", json!("meeting room"), "meeting room"), "find_room"),
        (value("room_id", json!("room"), "meeting room"), "find_room"),
        // A time and a number of seats are no keys either.
        (value("room_id", json!("9:00"), "from 9:00"), "find_room"),
        (value("person_id", json!("4"), "4 seats"), "find_person"),
    ] {
        let name = argument["name"].as_str().unwrap();
        let careless = booking_with(&argument);
        let (drawn, script) = draw(&rooms(), QUERY, &[goal(), careless.clone(), booking(), start(), jack()]);
        let told = script.told(2);
        assert!(told.contains(&format!("`{name}`: it is a key")) && told.contains(&format!("`{producer}`")), "{told}");
        assert!(drawn.result.is_ok() && drawn.notes.is_empty(), "{drawn:?}");
        let (drawn, script) = draw(&rooms(), QUERY, &[goal(), careless.clone(), careless, start(), jack()]);
        assert_eq!((drawn.result, script.count()), (Err(guessed("book_room", name)), 3));
    }
}

#[test]
fn a_keyless_output_and_a_text_around_an_output_are_no_key() {
    let mut around = output("room_id", "r", "/rooms/0/id", Some("choose"));
    around["value"] = json!("meeting room {1}");
    for (argument, expected) in [
        (output("person_id", "p", "/name", None), "`/name` is no key; use the output `/person_id`"),
        (around, "is no key of the conversation"),
    ] {
        let name = argument["name"].as_str().unwrap();
        let malicious = booking_with(&argument);
        let (drawn, script) = draw(&rooms(), QUERY, &[goal(), malicious.clone(), malicious]);
        assert!(script.told(2).contains(expected), "{}", script.told(2));
        assert_eq!(drawn.result, Err(guessed("book_room", name)));
    }
}

#[test]
fn words_in_a_list_of_keys_are_no_keys() {
    let text = json!({"type": "string"});
    let ids = json!({"type": "array", "items": text});
    let tools = toolset(&[
        json!({"name": "InviteUsers", "description": "Invites users.", "output": {"status": text},
            "parameters": {"type": "object", "required": ["user_ids"], "properties": {"user_ids": ids}}}),
        json!({"name": "FindUser", "description": "Finds a user by name.", "output": {"user_id": text},
            "parameters": {"type": "object", "required": ["name"], "properties": {"name": text}}}),
    ]);
    let goal = json!({"goals": [{"tool": "InviteUsers", "task": "invite"}]});
    let given = |users: Value, words: &str| json!({"arguments": [value("user_ids", users, words)]});
    for (users, words) in [(json!(["Ann", "Jack"]), "Ann and Jack"), (json!(["u_17", "Jack"]), "u_17, Ann and Jack")] {
        let wrong = given(users, words);
        let (drawn, _) = draw(&tools, "Invite u_17, Ann and Jack", &[goal.clone(), wrong.clone(), wrong]);
        assert_eq!(drawn.result, Err(guessed("InviteUsers", "user_ids")));
    }
    let (drawn, _) = draw(&tools, "Invite u_17 and u_18", &[goal, given(json!(["u_17", "u_18"]), "u_17 and u_18")]);
    assert!(drawn.result.is_ok(), "{drawn:?}");
}

#[test]
fn a_key_of_the_conversation_is_a_value_in_any_notation() {
    for (query, given) in [
        ("Book room R-17 for Jack from 9:00, with 4 seats.", json!("R-17")),
        ("Book room r-17 for Jack from 9:00, with 4 seats.", json!("R-17")),
        ("Book room #17 for Jack from 9:00, with 4 seats.", json!("17")),
        ("Book https://rooms.example/r/8f2c for Jack from 9:00, with 4 seats.", json!("8f2c")),
        ("Reserviere „aurora_2“ für Jack from 9:00, with 4 seats.", json!("aurora_2")),
    ] {
        let answer = booking_with(&value("room_id", given.clone(), given.as_str().unwrap()));
        let (drawn, _) = draw(&rooms(), query, &[goal(), answer, jack()]);
        let plan = drawn.result.unwrap_or_else(|error| panic!("{query}: {error}"));
        let room = plan.nodes().last().unwrap().argument("room_id").unwrap();
        assert!(matches!(&room.source, Source::Value { value, .. } if *value == given), "{query}: {room:?}");
    }
}

#[test]
fn without_a_tool_that_supplies_a_key_the_users_words_are_right() {
    let text = json!({"type": "string"});
    let tools = toolset(&[
        json!({"name": "pay_rent", "description": "Pays the rent.", "output": {"done": {"type": "boolean"}},
        "parameters": {"type": "object", "required": ["payment_reference"], "properties": {"payment_reference": text}}}),
    ]);
    let goal = json!({"goals": [{"tool": "pay_rent", "task": "pay"}]});
    let words = json!({"arguments": [value("payment_reference", json!("Rent of June"), "Rent of June")]});
    let (drawn, _) = draw(&tools, "Pay with the reference Rent of June", &[goal, words]);
    assert!(drawn.result.is_ok(), "{drawn:?}");
}

/// The paper's flight (table 1): the id comes from a search by the destination of the user.
#[test]
fn the_flight_is_booked_by_its_id_and_never_by_its_destination() {
    let text = json!({"type": "string"});
    let takes = |name: &str| json!({"type": "object", "required": [name], "properties": {name: text}});
    let tools = toolset(&[
        json!({"name": "BookFlight", "description": "Books a flight.", "output": {"status": text}, "parameters": takes("flight_ID")}),
        json!({"name": "FindFlight", "description": "Finds a flight to a destination.",
            "output": {"flight_ID": text, "destination": text}, "parameters": takes("destination")}),
        json!({"name": "GetUserDestination", "description": "Returns the destination of a user.",
            "output": {"destination": text}, "parameters": takes("user_name")}),
    ]);
    let query = "I'm Lucas. Could you find a flight and book it to my destination?";
    let goal = json!({"goals": [{"tool": "BookFlight", "task": "book a flight"}]});
    let flight =
        json!({"calls": [call("f", "FindFlight")], "arguments": [output("flight_ID", "f", "/flight_ID", None)]});
    let destination = json!({"calls": [call("d", "GetUserDestination")], "arguments": [output("destination", "d", "/destination", None)]});
    let lucas = json!({"arguments": [value("user_name", json!("Lucas"), "I'm Lucas")]});
    let (drawn, _) = draw(&tools, query, &[goal.clone(), flight.clone(), destination.clone(), lucas.clone()]);
    let names: Vec<String> = drawn.result.unwrap().nodes().iter().map(|node| node.tool.clone()).collect();
    assert_eq!(names, ["GetUserDestination", "FindFlight", "BookFlight"]);
    let mut destination_as_id = flight;
    destination_as_id["arguments"][0]["outputs"][0]["output"] = json!("/destination");
    for wrong in [
        json!({"arguments": [value("flight_ID", json!("flight"), "a flight")]}),
        json!({"arguments": [value("flight_ID", json!("Lucas"), "Lucas")]}),
        json!({"arguments": [value("flight_ID", json!("my destination"), "my destination")]}),
        destination_as_id,
    ] {
        let (drawn, _) = draw(&tools, query, &[goal.clone(), wrong.clone(), wrong, destination.clone(), lucas.clone()]);
        assert_eq!(drawn.result, Err(guessed("BookFlight", "flight_ID")));
    }
}
