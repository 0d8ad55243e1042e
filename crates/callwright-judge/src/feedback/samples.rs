//! Sample facts for every template, taken from real scans, to check an operator's templates before use.

use std::sync::Arc;

use jiff::Timestamp;
use minijinja::value::Value;
use serde_json::json;

use super::{
    FailedOutcome, FoundTool, ObservedFailure, approval, fault, found, observed, outcome, question, record, unread,
};
use crate::scanner::{
    CallFreeAnswer, Context, Expectation, Expectations, PastCall, Relevance, ToolSet, Transcript, Validators, scan,
    scan_answer, scan_in,
};
use callwright_common::json::Pointer;
use callwright_types::outcome::{ApiAnswer, CredentialFault};
use callwright_types::promise::Shortfall;
use callwright_types::rules::{Action, FaultActions, ScanRules};
use callwright_types::trace::Round;
use callwright_types::{
    ApprovalNote, ApprovalStatus, Call, Diagnosis, Explanation, FaultCode, Outcome, Owner, Passage, Tool,
};

/// Returns contexts in which the template `name` must render.
pub(super) fn contexts(name: &str) -> Vec<Value> {
    let call = call("book_room", r#"{"room":7}"#);
    match name {
        "accepted_call" | "deferred_call" | "unexamined_call" => vec![fault::call_alone(&call)],
        "faulty_call" => frames(),
        "no_answer" => silent().iter().map(fault::of_answer).collect(),
        "unread_answer" | "confirm_call" => {
            unread().iter().map(|(diagnosis, book)| unread::context(diagnosis, book)).collect()
        }
        "failed_outcome" => outcomes(&call),
        "observed_failure" => observations(&call),
        "unapproved_call" => approvals(&call),
        "lost_result" => vec![minijinja::context! {}],
        "found_tools" => {
            let tools = ["Books a room.", ""].map(|description| FoundTool { name: "book_room", description });
            vec![found::context(&tools), found::context(&[]), found::exhausted(3)]
        }
        "missing_inputs" => vec![question::context(&["Until when?"]), question::context(&["Until when?", "Where?"])],
        "closing" => vec![record::closing(&[]), record::closing(&rounds())],
        "handover" => vec![record::handover(&[], "0"), record::handover(&rounds(), "0")],
        code => {
            let named = |(_, diagnosis): &(Call, Diagnosis)| diagnosis.code.name() == code;
            faults()
                .iter()
                .filter(|fault| named(fault))
                .flat_map(|(call, diagnosis)| [false, true].map(|again| fault::context(call, diagnosis, again)))
                .collect()
        }
    }
}

fn call(name: &str, arguments: &str) -> Call {
    Call { id: "sample".to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
}

fn tool_set() -> ToolSet {
    let tool = |name: &str, parameters: serde_json::Value| {
        Arc::new(Tool {
            name: name.to_owned(),
            description: "Books a room.".to_owned(),
            parameters: Arc::new(parameters),
            free_text: false,
            reads: None,
            owner: Owner::Client,
        })
    };
    let book_room = tool(
        "book_room",
        json!({
            "type": "object", "required": ["room"],
            "properties": {
                "room": { "type": "integer", "description": "Number of the room.", "minimum": 1 },
                "size": { "type": "string", "enum": ["small", "large"] },
            },
        }),
    );
    let same_name = tool("Book.Room", json!({ "type": "object", "properties": { "guest": { "type": "string" } } }));
    let other = tool("cancel_booking", json!({ "type": "object" }));
    let texts =
        json!({ "name": { "type": "string", "description": "Name of the guest." }, "note": { "type": "string" } });
    let find_guest = tool("find_guest", json!({ "type": "object", "required": ["name"], "properties": texts }));
    ToolSet::compile(vec![book_room, same_name, other, find_guest], &Validators::default())
}

/// Calls with every fault that a scan reports, in every variant that a template distinguishes.
const FAULTY: [(&str, &str); 13] = [
    ("book_room", ""),
    ("book_room", "{room: 7}"),
    ("bookRoom", "{}"),
    ("cancelBooking", "{}"),
    ("cancel_bookings", "{}"),
    ("weather", "{}"),
    ("book_room", r#"{"room":7,"guest":"x"}"#),
    ("book_room", r#"{"Room":7}"#),
    ("book_room", r#"{"room":7,"ROOM":8}"#),
    ("book_room", r#"{"roomm":7}"#),
    ("book_room", r#"{"room":7,"zzz":1}"#),
    ("book_room", r#"{"room":"seven","size":1}"#),
    ("book_room", r#"{"room":0,"size":"smal"}"#),
];

fn faults() -> Vec<(Call, Diagnosis)> {
    let book = tool_set();
    let judge = |name: &str, arguments: &str, book: &ToolSet| {
        let call = call(name, arguments);
        let found = scan(&call, 0, book, &ScanRules::default()).err().unwrap_or_default();
        found.into_iter().map(move |diagnosis| (call.clone(), diagnosis))
    };
    let mut faults: Vec<_> = FAULTY.iter().flat_map(|(name, arguments)| judge(name, arguments, &book)).collect();
    faults.extend(judge("book_room", "{}", &book));
    faults.extend(judge("book_room", "{}", &ToolSet::default()));
    faults.extend(of_the_conversation());
    faults
}

/// Returns faults that depend on the conversation, the request or the plan.
fn of_the_conversation() -> Vec<(Call, Diagnosis)> {
    let (room, size) = (Pointer::root().child("room"), Pointer::root().child("size"));
    let relevance = Relevance::by_words([("cancel_booking", 1.0)], 1.0);
    let from = |path: &Pointer, values: &[serde_json::Value]| Expectations {
        expected: vec![Expectation {
            tool: "book_room".to_owned(),
            path: path.clone(),
            source: "list_rooms".to_owned(),
            values: values.to_vec(),
        }],
    };
    let sources = [from(&room, &[]), from(&room, &[json!(5), json!(6)]), from(&size, &[json!("small")])];
    let before = ["{\"booked\":true}", "error: no such room"].map(|result| {
        let mut transcript = Transcript::default();
        transcript.called(vec![PastCall { result: Some(result.to_owned()), ..call("book_room", BOOKING).into() }]);
        transcript
    });
    let stay = || past("find_guest", "{}", "[]");
    let booking = |result: &str| past("book_room", BOOKING, result);
    let laps = [
        vec![booking("Error: no such room"), booking("Error: no such room")],
        vec![booking("room 7"), stay(), booking("room 7"), stay()],
    ];
    let circles = laps.map(|calls| {
        let mut transcript = Transcript::default();
        calls.into_iter().for_each(|call| transcript.called(vec![call]));
        transcript
    });
    let nothing = Transcript::default();
    let alone = |conversation| Context { conversation: Some(conversation), ..Context::default() };
    let mut known = vec![
        ("book_room", BOOKING, Context { relevance: Some(&relevance), ..Context::default() }),
        ("find_guest", r#"{"name":"<name>"}"#, alone(&nothing)),
        ("find_guest", r#"{"name":"Ada","note":"string"}"#, alone(&nothing)),
        ("book_room", r#"{"room":7,"size":"<size>"}"#, alone(&nothing)),
    ];
    known.extend(
        sources.iter().map(|from| ("book_room", BOOKING, Context { expectations: Some(from), ..Context::default() })),
    );
    known.extend(before.iter().chain(&circles).map(|before| ("book_room", BOOKING, alone(before))));
    let book = tool_set();
    let judge = |(name, arguments, context): (&str, &str, Context<'_>)| {
        let call = call(name, arguments);
        let found = scan_in(&call, 0, &book, &all_faults(), &context).result.err().unwrap_or_default();
        found.into_iter().map(move |diagnosis| (call.clone(), diagnosis))
    };
    known.into_iter().flat_map(judge).collect()
}

/// Creates an earlier call with its result.
fn past(name: &str, arguments: &str, result: &str) -> PastCall {
    PastCall { result: Some(result.to_owned()), ..call(name, arguments).into() }
}

/// Arguments of a valid call.
const BOOKING: &str = r#"{"room":7,"size":"large"}"#;

/// Returns rules that reject calls for every fault.
fn all_faults() -> ScanRules {
    let faults = FaultCode::ALL.into_iter().fold(FaultActions::default(), |all, code| all.with(code, Action::Feedback));
    ScanRules { faults, ..ScanRules::default() }
}

/// Returns faults of answers without a readable call, with all facts and with none, with and without offered tools.
fn unread() -> Vec<(Diagnosis, ToolSet)> {
    let near = "<tool_call>{\"name\" \"bookRoom\"";
    let because =
        |reason: &str, name: &str| json!({ "reason": reason, "name": name, "near": near, "notation": "json" });
    let of = |facts| {
        let message = "no call can be read".to_owned();
        Diagnosis { code: FaultCode::NoCall, call: 0, path: Pointer::root(), message, facts, suggestion: None }
    };
    let diagnoses = [
        because("unreadable", ""),
        because("cut_off", ""),
        because("unknown_tool", "weather"),
        because("arguments", "book_room"),
        because("expression", "book_room"),
        json!({}),
    ]
    .map(of);
    let with_both = |diagnosis: Diagnosis| [tool_set(), ToolSet::default()].map(|book| (diagnosis.clone(), book));
    diagnoses.into_iter().flat_map(with_both).collect()
}

/// Returns faults of answers without content and call, with and without reasoning.
fn silent() -> Vec<Diagnosis> {
    let book = tool_set();
    let answers = [false, true].map(|reasoned| CallFreeAnswer { text: "", reasoned });
    answers.iter().filter_map(|answer| scan_answer(answer, &book, &ScanRules::default())).collect()
}

/// Returns complete messages about one fault of the kind, in every variant.
#[cfg(test)]
pub(super) fn messages(templates: &super::Templates, code: FaultCode) -> Vec<String> {
    let book = tool_set();
    let of_kind = faults().into_iter().filter(|(_, diagnosis)| diagnosis.code == code);
    of_kind.map(|(call, diagnosis)| templates.faulty_call(&call, &[diagnosis], &book)).collect()
}

/// Returns complete messages about answers without content and call.
#[cfg(test)]
pub(super) fn silent_messages(templates: &super::Templates) -> Vec<String> {
    silent().iter().map(|diagnosis| templates.no_answer(diagnosis)).collect()
}

/// Returns complete messages about answers without a readable call.
#[cfg(test)]
pub(super) fn unread_messages(templates: &super::Templates) -> Vec<String> {
    unread().iter().map(|(diagnosis, book)| templates.no_call(diagnosis, book)).collect()
}

fn frames() -> Vec<Value> {
    let book = tool_set();
    let frame = |(call, diagnosis): (Call, Diagnosis)| {
        let texts = [(diagnosis.code, diagnosis.message.clone())];
        fault::frame(&call, std::slice::from_ref(&diagnosis), &texts, &book)
    };
    let mut frames: Vec<Value> = faults().into_iter().map(frame).collect();
    let (call, diagnosis) = (call("book_room", "{}"), [(FaultCode::NoCall, String::new())]);
    frames.push(fault::frame(&call, &[], &diagnosis, &book));
    frames
}

fn outcomes(call: &Call) -> Vec<Value> {
    let book = tool_set();
    let Some(tool) = book.get(&call.name) else { return Vec::new() };
    let headers = vec![("retry-after".to_owned(), "1".to_owned())];
    let passage =
        Passage { text: "Rooms have numbers from 1.".to_owned(), source: "rooms.yaml".to_owned(), score: 1.0 };
    let shortfall =
        Shortfall { rule: "empty_result", came: "an empty list", promised: "a JSON array of at least 1".to_owned() };
    let answered = |status| ApiAnswer::new(status, r#"{"message":"no such room"}"#);
    [
        Outcome::Answered(answered(200)),
        Outcome::Answered(answered(404)),
        Outcome::Answered(answered(500)),
        Outcome::Answered(ApiAnswer { headers, ..answered(429) }),
        Outcome::Unreachable { reason: "refused".to_owned() },
        Outcome::Unknown { reason: "timeout".to_owned() },
        Outcome::Refused { reason: "denied".to_owned() },
        Outcome::Unauthorised { reason: "not authorised".to_owned() },
    ]
    .iter()
    .flat_map(|outcome| {
        let passages = [Vec::new(), vec![passage.clone()]];
        let told = |passages: Vec<Passage>| {
            let (explanation, earlier) = (Explanation { passages }, rounds());
            let credential = matches!(outcome, Outcome::Unauthorised { .. }).then_some(CredentialFault::Missing);
            let explanation = &explanation;
            let (only_reads, earlier, tokens) = (explanation.is_hit(), earlier.as_slice(), 400);
            let facts = FailedOutcome {
                call,
                outcome,
                explanation,
                tool,
                only_reads,
                credential,
                shortfall: (outcome.status() == Some(200)).then_some(&shortfall),
                earlier,
                tokens,
            };
            outcome::context(&facts)
        };
        passages.map(told)
    })
    .collect()
}

/// Returns a context with all facts, and one with as few as possible.
fn observations(call: &Call) -> Vec<Value> {
    let book = tool_set();
    let passages =
        vec![Passage { text: "Rooms have numbers from 1.".to_owned(), source: "rooms.yaml".to_owned(), score: 1.0 }];
    let explanation = &Explanation { passages };
    let tool = book.get(&call.name).map(|tool| &**tool);
    let earlier = [r#"book_room({"room":8})"#.to_owned()];
    let all = ObservedFailure { call, text: "no such room", explanation, tool, earlier: &earlier, tokens: 400 };
    [all, ObservedFailure { tool: None, earlier: &[], ..all }].map(|facts| observed::context(&facts)).to_vec()
}

/// Returns a context for every approval status, with and without a comment.
fn approvals(call: &Call) -> Vec<Value> {
    let note = |status, comment: Option<&str>| ApprovalNote {
        id: "apr_0".to_owned(),
        status,
        expires_at: Timestamp::UNIX_EPOCH,
        decided_at: None,
        decided_by: comment.map(|_| "Ada".to_owned()),
        comment: comment.map(str::to_owned),
    };
    let both =
        ApprovalStatus::ALL.into_iter().flat_map(|status| [note(status, None), note(status, Some("Not today."))]);
    both.map(|note| approval::context(call, &note)).collect()
}

fn rounds() -> Vec<Round> {
    vec![Round {
        kind: "static".to_owned(),
        action: r#"book_room({"room":"seven"})"#.to_owned(),
        observation: "Error: the call was not run.".to_owned(),
        thought: Some("The room is a number.".to_owned()),
        new_action: None,
    }]
}
