//! Checks that every message has the five parts of AutoFeedback (section 3.2.3), from coarse to fine.

use super::samples;
use callwright_types::FaultCode;

/// Expected parts of every message, per code: location and fault, excluded causes, source of the correct value or
/// repair. A part lists alternatives separated by `|`; a message contains one of them.
const PARTS: [(FaultCode, [&str; 3]); 16] = [
    (FaultCode::NoCall, ["E1 in the arguments: they are", "The call itself was read", "Write one JSON object"]),
    (
        FaultCode::ToolNotRelevant,
        [
            "E2.1 in the choice of the tool: `book_room` (\"Books a room.\") does not",
            "its name is right",
            "The closest to the request is `cancel_booking`",
        ],
    ),
    (
        FaultCode::ToolNameLiteral,
        ["E2.2 in the tool's name: `", "the choice is right", "It is written `|It can be any of `"],
    ),
    (
        FaultCode::ToolNameSemantic,
        ["E2.3 in the tool's name: `", "no other spelling of an offered name", "The closest is `"],
    ),
    (
        FaultCode::ToolUnknown,
        ["E2 in the tool's name: `", "and none is close", "offered: `|likely first: `|answer without one"],
    ),
    (
        FaultCode::ParameterOfOtherTool,
        ["E3.1 at `/guest`: `book_room` has no parameter", "no other spelling", "It is one of `Book.Room`: omit it"],
    ),
    (
        FaultCode::ParameterLiteral,
        ["E3.2 at `/", "the tool is right", "It is written `room`|is given already: omit this one"],
    ),
    (
        FaultCode::ParameterSemantic,
        [
            "E3.3 at `/roomm`: `book_room` has no parameter|E3.3 at `/place`: `book_room` has no parameter",
            "no other spelling",
            "The closest that is not given yet is `room`|The only required parameter that is missing is `room`",
        ],
    ),
    (
        FaultCode::ParameterMissing,
        [
            "E3.4 at `/room`: the required parameter `room` is missing",
            "`book_room` is right",
            "It takes integer (\"Number of the room.\"). Take its value from",
        ],
    ),
    (
        FaultCode::ParameterUnknown,
        [
            "E3 at `/zzz`: `book_room` has no parameter",
            "no other tool has it",
            "call without it|Omit it|one level off|around them|give it there",
        ],
    ),
    (
        FaultCode::TypeMismatch,
        ["E4.1 at `/", "the name is right", "the value must be integer|the value must be string. Allowed: `"],
    ),
    (
        FaultCode::Constraint,
        ["E4.2 at `/", "name and type are right", "must be at least 1|must be one of \"small\", \"large\"."],
    ),
    (FaultCode::Placeholder, ["E4.3 at `/", "name and type are right", "request it from the user|omit it"]),
    (FaultCode::WrongSource, ["E4.4 at `/", "name and type are right", "comes from the output of `list_rooms`"]),
    (
        FaultCode::Circle,
        [
            "E5.1 in the whole call: it was made 2 times",
            "name and its arguments are right",
            "It returned each time (this is data|It failed each time (this is data",
        ],
    ),
    (
        FaultCode::RepeatedCall,
        [
            "E5 in the whole call",
            "name and its arguments are right",
            "It returned then (this is data|It failed then (this is data",
        ],
    ),
];

fn check(message: &str, parts: &[&str]) {
    let mut rest = message;
    for part in parts {
        let found = part.split('|').filter_map(|part| rest.find(part)).min();
        rest = &rest[found.unwrap_or_else(|| panic!("no `{part}` behind the part before it in\n{message}"))..];
    }
}

#[test]
fn every_message_has_the_five_parts_in_this_order() {
    let of_calls: Vec<FaultCode> = FaultCode::ALL.into_iter().filter(|code| code.is_of_call()).collect();
    assert_eq!(PARTS.map(|(code, _)| code), of_calls[..]);
    for (code, [place, ruled_out, mend]) in PARTS {
        let messages = samples::messages(code);
        assert!(!messages.is_empty(), "{code}");
        for message in messages {
            check(&message, &["Error: the call of `", "` was not run.\n- ", place, ruled_out, mend, "\nCall again"]);
        }
    }
}

#[test]
fn an_empty_answers_message_names_what_is_missing_and_the_fix() {
    let messages = samples::silent_messages();
    assert_eq!(messages.len(), 3);
    for message in &messages {
        check(
            message,
            &["E6: your last answer was empty", "no text and no tool call", "call it now", "in plain text."],
        );
    }
    assert!(!messages[0].contains("reasoning") && messages[1].contains("reasoning"));
    assert!(messages[2].contains("a possible call of `book_room`"));
}

#[test]
fn so_has_the_message_about_an_answer_without_a_call() {
    let messages = samples::unread_messages();
    assert!(messages.len() > 1);
    for message in messages {
        let (place, ruled_out) = ("- E1 in the answer", "It is no tool call of the API");
        check(&message, &["Error: no tool was run", place, ruled_out, "A call has the name", "\nCall again"]);
    }
}
