//! Tests of the contents of drafts, and of their isolation from other texts.

use std::sync::Arc;

use serde_json::json;

use super::*;
use callwright_common::json::Pointer;
use callwright_types::memory::{ClientTool, sample_lesson};
use callwright_types::{Diagnosis, Explanation, FaultCode, Lesson, OperationRef, Owner, Passage, Tool, ToolKind};

fn tool(name: &str, description: &str, parameters: Value) -> Tool {
    let owner = Owner::Proxy(OperationRef { toolset: "hotel".to_owned(), tool: name.to_owned() });
    Tool {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: Arc::new(parameters),
        kind: ToolKind::Function,
        reads: None,
        owner,
        namespace: None,
    }
}

fn book_room() -> Tool {
    let guest = json!({"type": "object", "properties": {"name": {"type": "string", "description": "Full name."}}});
    tool(
        "book_room",
        "Books a hotel room for some nights. Needs a room.",
        json!({
            "type": "object",
            "required": ["room_id", "day"],
            "properties": {
                "room_id": {"type": "string", "description": "Id of the room, from list_rooms."},
                "day": {"type": "string", "format": "date", "description": "First night."},
                "board": {"type": "string", "enum": ["none", "breakfast", "half"], "default": "none"},
                "nights": {"type": "integer", "minimum": 1},
                "guests": {"type": "array", "items": guest},
            },
        }),
    )
}

fn list_rooms() -> Tool {
    tool(
        "list_rooms",
        "Lists free rooms of a hotel.",
        json!({"type": "object", "properties": {"day": {"type": "string"}}}),
    )
}

fn diagnosis(code: FaultCode, path: &str, facts: Value, suggestion: Option<&str>) -> Diagnosis {
    let message = "SECRET in a message".to_owned();
    Diagnosis { code, call: 0, path: Pointer::from(path), message, facts, suggestion: suggestion.map(str::to_owned) }
}

fn draft_of_fault(diagnosis: &Diagnosis, called: Option<&Tool>, tool: &Tool, arguments: Value) -> LessonDraft {
    let (book, list) = (book_room(), list_rooms());
    let offered = |name: &str| [&book, &list].into_iter().find(|tool| tool.name == name);
    let experience =
        Experience { event: Event::Fault { diagnosis, called }, tool, arguments: &arguments, offered: &offered };
    compose(&experience, Backing::Seen, &Settings::default()).unwrap()
}

fn text_of_fault(code: FaultCode, path: &str, suggestion: Option<&str>) -> String {
    let tool = book_room();
    let facts = json!({"source": "list_rooms", "name": "SECRET", "value": "SECRET"});
    let arguments = json!({"room_id": "SECRET", "day": "SECRET", "board": "breakfast", "nights": 5});
    draft_of_fault(&diagnosis(code, path, facts, suggestion), Some(&tool), &tool, arguments).value
}

#[test]
fn each_fault_of_parameters_and_values_has_its_template() {
    let cases = [
        (FaultCode::NoCall, "", None, "must be tool calls"),
        (FaultCode::ParameterOfOtherTool, "/SECRET", None, "it takes `room_id`, `day`, `board`, `nights`, `guests`"),
        (FaultCode::ParameterLiteral, "/roomId", Some("room_id"), "of `book_room` is `room_id`"),
        (FaultCode::ParameterSemantic, "/guests/0/called", Some("name"), "of `book_room` is `name`"),
        (FaultCode::ParameterSemantic, "/SECRET", Some("SECRET"), "has its own names for parameters"),
        (
            FaultCode::ParameterMissing,
            "/day",
            None,
            "cannot be called without `day` (First night; of type string, in the format date).",
        ),
        (FaultCode::ParameterMissing, "/board", None, "`\"breakfast\"` worked."),
        (FaultCode::ParameterUnknown, "/guests/0/SECRET", None, "has only its own parameters: it takes `name`"),
        (FaultCode::TypeMismatch, "/nights", None, "`nights` must be of type integer, at least 1."),
        (
            FaultCode::Constraint,
            "/board",
            None,
            "must be of type string, one of `\"none\"`, `\"breakfast\"`, `\"half\"`. `\"breakfast\"` worked.",
        ),
        (
            FaultCode::Placeholder,
            "/room_id",
            None,
            "`room_id` requires a real value (Id of the room, from list_rooms; of type string)",
        ),
        (FaultCode::WrongSource, "/room_id", None, "copied from the answer of `list_rooms`; call `list_rooms` first"),
        (FaultCode::RepeatedCall, "", None, "again with the same arguments returns the same answer"),
        (FaultCode::Circle, "", None, "again with the same arguments returns the same answer"),
    ];
    for (code, path, suggestion, expected) in cases {
        let text = text_of_fault(code, path, suggestion);
        assert!(text.contains(expected) && !text.contains("SECRET"), "{code}: {text}");
    }
}

#[test]
fn lessons_about_a_wrong_tool_name_the_right_one() {
    let (wrong, right) = (list_rooms(), book_room());
    let drafted =
        |code, called| draft_of_fault(&diagnosis(code, "", json!({"name": "SECRET"}), None), called, &right, json!({}));
    let draft = drafted(FaultCode::ToolNotRelevant, Some(&wrong));
    assert_eq!(draft.value, "For this, use `book_room` (Books a hotel room for some nights), not `list_rooms`.");
    assert_eq!(draft.key, "list_rooms, wrong tool, book_room, Books a hotel room for some nights");
    assert_eq!(
        (draft.toolset.as_deref(), draft.tools.as_slice()),
        (Some("hotel"), &["book_room".to_owned(), "list_rooms".to_owned()][..])
    );
    assert_eq!((draft.kind, draft.polarity), (EvidenceKind::Mended, Polarity::Negative));
    assert_eq!(drafted(FaultCode::ToolNameLiteral, None).value, "The exact name of the tool is `book_room`.");
    for code in [FaultCode::ToolUnknown, FaultCode::ToolNameSemantic] {
        assert!(drafted(code, None).value.starts_with("The tool for this is `book_room` (Books a hotel room"));
    }
}

#[test]
fn key_contains_tool_parameter_fault_and_purpose() {
    let tool = book_room();
    let draft =
        draft_of_fault(&diagnosis(FaultCode::ParameterMissing, "/day", json!({}), None), Some(&tool), &tool, json!({}));
    assert_eq!(draft.key, "book_room, day, missing parameter, Books a hotel room for some nights");
}

fn draft_of_failure(before: Value, after: Value, tool: &Tool, explanation: Option<&Explanation>) -> LessonDraft {
    let called = book_room();
    let event = Event::Failure { called: &called, arguments: &before, status: Some(422), explanation };
    let experience = Experience { event, tool, arguments: &after, offered: &|_| None };
    compose(&experience, Backing::Seen, &Settings::default()).unwrap()
}

#[test]
fn lessons_about_a_failure_describe_the_fix() {
    let passage =
        Passage { text: "A room without board\nneeds `board`.".to_owned(), source: "x".to_owned(), score: 1.0 };
    let explanation = Explanation { passages: vec![passage] };
    let before = json!({"room_id": "SECRET1", "day": "SECRET2"});
    let after = json!({"room_id": "SECRET3", "board": "half"});
    let draft = draft_of_failure(before.clone(), after, &book_room(), Some(&explanation));
    assert_eq!(
        draft.value,
        "`book_room` answered with status 422. Its documentation states: \"A room without board needs `board`.\". It worked with another \
         value for `room_id` (Id of the room, from list_rooms; of type string); `day` left out; `board` = `\"half\"`."
    );
    assert!(draft.key.starts_with("book_room, status 422, Books"));
    assert_eq!((draft.kind, draft.polarity), (EvidenceKind::Recovered, Polarity::Negative));
    assert!(
        draft_of_failure(before.clone(), before.clone(), &book_room(), None)
            .value
            .ends_with("The same call worked later.")
    );
    let instead = draft_of_failure(before, json!({}), &list_rooms(), None);
    assert!(instead.value.ends_with("What worked instead: `list_rooms` (Lists free rooms of a hotel)."));
    assert_eq!(instead.tools, ["book_room", "list_rooms"]);
}

#[test]
fn success_is_a_positive_lesson() {
    let tool = book_room();
    let arguments = json!({"room_id": "SECRET", "board": "half", "SECRET": 1});
    let event = Event::Success { kind: EvidenceKind::Feedback };
    let experience = Experience { event, tool: &tool, arguments: &arguments, offered: &|_| None };
    let draft = compose(&experience, Backing::Verdict, &Settings::default()).unwrap();
    assert_eq!(
        draft.value,
        "For this, `book_room` (Books a hotel room for some nights), with `room_id`, `board` = `\"half\"` was right."
    );
    assert_eq!(
        (draft.kind, draft.polarity, draft.backing),
        (EvidenceKind::Feedback, Polarity::Positive, Backing::Verdict)
    );
}

#[test]
fn nothing_is_learned_about_the_proxy_search() {
    let tool = Tool { owner: Owner::Search, ..list_rooms() };
    let event = Event::Success { kind: EvidenceKind::Feedback };
    let experience = Experience { event, tool: &tool, arguments: &json!({}), offered: &|_| None };
    assert_eq!(compose(&experience, Backing::Seen, &Settings::default()), None);
}

/// Returns a word that occurs in no schema and no template.
fn secret(random: &mut fastrand::Rng) -> String {
    let letters: String = (0..random.usize(6..14)).map(|_| random.lowercase()).collect();
    match random.u8(0..4) {
        0 => format!("zq{letters}@example.org"),
        1 => format!("zq{letters} {}", random.u64(1_000_000_000..9_999_999_999)),
        2 => format!("/zq{letters}/~zq"),
        _ => format!("zq{letters}"),
    }
}

/// Returns JSON of secrets under names of the schema and secret names.
fn planted(random: &mut fastrand::Rng, depth: u8) -> Value {
    let names = ["room_id", "day", "board", "nights", "guests", "name"];
    match random.u8(0..if depth == 0 { 1 } else { 4 }) {
        0 => Value::String(secret(random)),
        1 => (0..random.u8(0..3)).map(|_| planted(random, depth - 1)).collect(),
        _ => {
            let members = (0..random.u8(0..6)).map(|_| {
                let name = if random.bool() { names[random.usize(..names.len())].to_owned() } else { secret(random) };
                (name, planted(random, depth - 1))
            });
            Value::Object(members.collect::<Vec<_>>().into_iter().collect())
        }
    }
}

#[test]
fn drafts_contain_no_text_of_a_call() {
    let mut random = fastrand::Rng::with_seed(8);
    let (book, list) = (book_room(), list_rooms());
    let mut drafts = 0;
    for _ in 0..20_000 {
        let tools = [&book, &list];
        let (tool, called) = (tools[random.usize(..2)], tools[random.usize(..2)]);
        let (arguments, before) = (planted(&mut random, 3), planted(&mut random, 3));
        let code = FaultCode::ALL[random.usize(..FaultCode::ALL.len())];
        let mut path = Pointer::root();
        for _ in 0..random.u8(0..4) {
            let token = match random.u8(0..4) {
                0 => secret(&mut random),
                1 => "0".to_owned(),
                _ => ["room_id", "day", "board", "guests", "name"][random.usize(..5)].to_owned(),
            };
            path = path.child(&token);
        }
        let (suggestion, source) = (secret(&mut random), secret(&mut random));
        let facts = json!({"source": source, "name": suggestion, "value": planted(&mut random, 2), "options": [secret(&mut random)]});
        let message = secret(&mut random);
        let diagnosis = Diagnosis { code, call: 0, path, message, facts, suggestion: Some(suggestion) };
        let event = match random.u8(0..4) {
            0 => Event::Failure { called, arguments: &before, status: Some(random.u16(400..600)), explanation: None },
            1 => Event::Success { kind: EvidenceKind::Feedback },
            2 => Event::Fault { diagnosis: &diagnosis, called: None },
            _ => Event::Fault { diagnosis: &diagnosis, called: Some(called) },
        };
        let offered = |name: &str| tools.into_iter().find(|tool| tool.name == name);
        let experience = Experience { event, tool, arguments: &arguments, offered: &offered };
        if let Some(draft) = compose(&experience, Backing::Seen, &Settings::default()) {
            drafts += 1;
            let json = serde_json::to_string(&draft).unwrap();
            assert!(!json.contains("zq"), "{json}");
            assert!(!draft.key.is_empty() && !draft.value.is_empty());
        }
    }
    assert!(drafts > 15_000, "{drafts}");
}

/// Returns the same tool as a client's own, with a marker text in each part of its schema.
fn client_tool(tool: &Tool) -> Tool {
    let mut parameters = (*tool.parameters).clone();
    let properties = parameters["properties"].as_object_mut().unwrap();
    for schema in properties.values_mut() {
        let texts = [
            ("description", json!("zq of a person.")),
            ("title", json!("zq")),
            ("default", json!("zq")),
            ("enum", json!(["zq", 5])),
        ];
        texts.into_iter().for_each(|(keyword, text)| schema[keyword] = text);
    }
    properties.insert("zq and more".to_owned(), json!({"const": "zq"}));
    let (description, parameters) = ("zq of a person.".to_owned(), Arc::new(parameters));
    Tool { name: format!("own_{}", tool.name), description, parameters, owner: Owner::Client, ..tool.clone() }
}

#[test]
fn drafts_about_client_tools_contain_only_names_and_codes() {
    let mut random = fastrand::Rng::with_seed(22);
    let (book, list) = (book_room(), list_rooms());
    let (own_book, own_list) = (client_tool(&book), client_tool(&list));
    let tools = [&book, &list, &own_book, &own_list];
    let passage = Passage { text: "zq".to_owned(), source: "zq".to_owned(), score: 1.0 };
    let explanation = Explanation { passages: vec![passage] };
    let (mut of_clients, mut of_operators, mut mixed) = (0, 0, 0);
    for _ in 0..20_000 {
        let (tool, called) = (tools[random.usize(..4)], tools[random.usize(..4)]);
        let (arguments, before) = (planted(&mut random, 3), planted(&mut random, 3));
        let code = FaultCode::ALL[random.usize(..FaultCode::ALL.len())];
        let paths = ["", "/day", "/board", "/guests/0/name", "/zq and more", "/room_id/zq", "/zq"];
        let suggestion = ["board", "zq and more", "own_list_rooms", "zq"][random.usize(..4)].to_owned();
        let source = ["list_rooms", "own_list_rooms", "zq"][random.usize(..3)];
        let diagnosis =
            diagnosis(code, paths[random.usize(..paths.len())], json!({"source": source}), Some(&suggestion));
        // The explanation of a failure of a client's tool consists of its own description.
        let is_own = called.owner == Owner::Client;
        let event = match random.u8(0..4) {
            0 => Event::Failure {
                called,
                arguments: &before,
                status: None,
                explanation: Some(&explanation).filter(|_| is_own),
            },
            1 => Event::Success { kind: EvidenceKind::Feedback },
            2 => Event::Fault { diagnosis: &diagnosis, called: None },
            _ => Event::Fault { diagnosis: &diagnosis, called: Some(called) },
        };
        let offered = |name: &str| tools.into_iter().find(|tool| tool.name == name);
        let experience = Experience { event, tool, arguments: &arguments, offered: &offered };
        let Some(draft) = compose(&experience, Backing::Seen, &Settings::default()) else { continue };
        let json = serde_json::to_string(&draft).unwrap();
        assert!(!json.contains("zq") && draft.is_isolated(), "{json}");
        assert!(!draft.key.is_empty() && !draft.value.is_empty());
        let Some(facts) = &draft.client else {
            of_operators += 1;
            assert!(!json.contains("own_"), "{json}");
            continue;
        };
        of_clients += 1;
        mixed += usize::from(facts.other.is_some());
        assert_eq!(draft.toolset, None);
        // The wording contains the texts of the request that receives the lesson. There is none if the request offers
        // other tools.
        let lesson = Lesson {
            tools: draft.tools.clone(),
            key: draft.key.clone(),
            value: draft.value.clone(),
            client: draft.client.clone(),
            ..sample_lesson()
        };
        let parsed: Lesson = serde_json::from_str(&serde_json::to_string(&lesson).unwrap()).unwrap();
        assert_eq!(parsed, lesson, "facts are read as they were written");
        let offered =
            |target: &ClientTool| tools.into_iter().find(|tool| ClientTool::of(tool).as_ref() == Some(target));
        let text = wording(&lesson, &offered, &Settings::default());
        let names = |value: &str| facts.tools().any(|tool| value.contains(tool.name.as_str()));
        assert!(text.is_some_and(|text| text.key.contains("zq") && names(&text.value)), "{json}");
        assert_eq!(wording(&lesson, &|_| None, &Settings::default()), None);
    }
    assert!(of_clients > 4_000 && of_operators > 4_000 && mixed > 300, "{of_clients} {of_operators} {mixed}");
}

#[test]
fn client_tool_lessons_are_worded_from_the_current_schema() {
    let own = Tool { owner: Owner::Client, ..book_room() };
    let texts = |code, path: &str, suggestion: Option<&str>| {
        let draft =
            draft_of_fault(&diagnosis(code, path, json!({}), suggestion), Some(&own), &own, json!({"board": "half"}));
        let lesson = Lesson { client: draft.client, ..sample_lesson() };
        let text = wording(
            &lesson,
            &|target| (ClientTool::of(&own).as_ref() == Some(target)).then_some(&own),
            &Settings::default(),
        );
        (draft.value, text.unwrap().value)
    };
    for (code, path, suggestion, stored, expected) in [
        (
            FaultCode::ParameterMissing,
            "/day",
            None,
            "`book_room`: missing parameter at `day`",
            "without `day` (First night; of type string",
        ),
        (
            FaultCode::Constraint,
            "/board",
            None,
            "`book_room`: value not allowed at `board`",
            "`board` must be of type string, one of `\"none\"`, `\"breakfast\"`, `\"half\"`.",
        ),
        (
            FaultCode::TypeMismatch,
            "/guests/0/name",
            None,
            "`book_room`: wrong type at `guests.name`",
            "`guests[].name` must be of type string (Full name)",
        ),
        (
            FaultCode::ParameterSemantic,
            "/guests/0/called",
            Some("name"),
            "`book_room`: unknown parameter at `guests`, meant is `name`",
            "of `book_room` is `name`",
        ),
    ] {
        let (summary, text) = texts(code, path, suggestion);
        assert_eq!(summary, stored);
        assert!(text.contains(expected), "{text}");
    }
}
