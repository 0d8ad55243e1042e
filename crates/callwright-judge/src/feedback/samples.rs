//! Sample facts for every template, taken from real scans, to check the templates.

use std::sync::Arc;

use jiff::Timestamp;
use minijinja::value::Value;
use serde_json::json;

use super::{FailedOutcome, ObservedFailure, ToolSummary, approval, fault, found, observed, outcome, record, unread};
use callwright_common::json::Pointer;
use callwright_scanner::{
    CallFreeAnswer, Context, Expectation, Expectations, PastCall, Relevance, ToolSet, Transcript, Validators,
    scan_answer, scan_in,
};
use callwright_types::outcome::{ApiAnswer, CredentialFault};
use callwright_types::promise::Shortfall;
use callwright_types::rules::{Action, FaultActions, ScanRules, UnknownParameters};
use callwright_types::trace::Round;
use callwright_types::{
    ApprovalNote, ApprovalStatus, Call, Diagnosis, Explanation, FaultCode, Outcome, Owner, Passage, Refusal,
    RefusalReason, Tool, ToolKind,
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
        "doubted_answer" => vec![outcome::doubted(&call, "{\"rooms\": []}", "no room is free on that day")],
        "unapproved_call" => approvals(&call),
        "lost_result" => vec![minijinja::context! {}],
        "found_tools" => {
            let tools = ["Books a room.", ""].map(|description| ToolSummary { name: "book_room", description });
            vec![found::context(&tools), found::context(&[]), found::exhausted(3)]
        }
        "missing_inputs" => [&["Until when?"][..], &["Until when?", "Where?"]].map(super::missing_context).to_vec(),
        "closing" => vec![record::closing(&[]), record::closing(&rounds())],
        code => faults()
            .iter()
            .filter(|(_, diagnosis)| diagnosis.code.name() == code)
            .flat_map(|(call, diagnosis)| [false, true].map(|again| fault::context(call, diagnosis, again)))
            .collect(),
    }
}

fn call(name: &str, arguments: &str) -> Call {
    Call { id: "sample".to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }
}

fn tool(name: &str, parameters: serde_json::Value) -> Arc<Tool> {
    Arc::new(Tool {
        name: name.to_owned(),
        description: "Books a room.".to_owned(),
        parameters: Arc::new(parameters),
        kind: ToolKind::Function,
        reads: None,
        owner: Owner::Client,
        namespace: None,
    })
}

fn tool_set() -> ToolSet {
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
const FAULTY: [(&str, &str); 14] = [
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
    ("book_room", r#"{"place":7}"#),
    ("book_room", r#"{"room":7,"zzz":1}"#),
    ("book_room", r#"{"room":"seven","size":1}"#),
    ("book_room", r#"{"room":0,"size":"smal"}"#),
];

fn faults() -> Vec<(Call, Diagnosis)> {
    let (tool_set, rules, context) = (tool_set(), refusing(FaultActions::default()), Context::default());
    let mut faults = Vec::new();
    for (name, arguments) in FAULTY.iter().chain(&[("book_room", "{}")]) {
        faults.extend(judge(call(name, arguments), &tool_set, &rules, &context));
    }
    faults.extend(judge(call("book_room", "{}"), &ToolSet::default(), &rules, &context));
    faults.extend(of_the_conversation());
    faults
}

fn judge(call: Call, tool_set: &ToolSet, rules: &ScanRules, context: &Context<'_>) -> Vec<(Call, Diagnosis)> {
    let found = scan_in(&call, 0, tool_set, rules, context).result.err().unwrap_or_default();
    found.into_iter().map(|diagnosis| (call.clone(), diagnosis)).collect()
}

/// Returns faults that depend on the conversation, the request or the plan.
fn of_the_conversation() -> Vec<(Call, Diagnosis)> {
    let (room, size) = (Pointer::root().child("room"), Pointer::root().child("size"));
    let relevance = Relevance::by_words([("cancel_booking", 1.0)], 1.0);
    let sources = [(&room, vec![]), (&room, vec![json!(5), json!(6)]), (&size, vec![json!("small")])];
    let sources = sources.map(|(path, values)| Expectations {
        expected: vec![Expectation {
            tool: "book_room".to_owned(),
            path: path.clone(),
            source: "list_rooms".to_owned(),
            values,
        }],
    });
    let before = ["{\"booked\":true}", "error: no such room"].map(|result| {
        let mut transcript = Transcript::default();
        transcript.called(vec![PastCall { result: Some(result.to_owned()), ..call("book_room", BOOKING).into() }]);
        transcript
    });
    let failed = past("book_room", BOOKING, "Error: no such room");
    let (booked, found) = (past("book_room", BOOKING, "room 7"), past("find_guest", "{}", "[]"));
    let laps = [vec![failed], vec![booked, found]];
    let circles = laps.map(|lap| {
        let mut transcript = Transcript::default();
        lap.iter().chain(&lap).for_each(|call| transcript.called(vec![call.clone()]));
        transcript
    });
    let nothing = Transcript::default();
    let mut known = vec![
        ("book_room", BOOKING, Context { relevance: Some(&relevance), ..Context::default() }),
        ("find_guest", r#"{"name":"<name>"}"#, after(&nothing)),
        ("find_guest", r#"{"name":"Ada","note":"string"}"#, after(&nothing)),
        ("book_room", r#"{"room":7,"size":"<size>"}"#, after(&nothing)),
    ];
    known.extend(
        sources.iter().map(|from| ("book_room", BOOKING, Context { expectations: Some(from), ..Context::default() })),
    );
    known.extend(before.iter().chain(&circles).map(|before| ("book_room", BOOKING, after(before))));
    let (tool_set, rules) = (tool_set(), all_faults());
    let judged =
        known.iter().map(|(name, arguments, context)| judge(call(name, arguments), &tool_set, &rules, context));
    judged.flatten().collect()
}

fn after(conversation: &Transcript) -> Context<'_> {
    Context { conversation: Some(conversation), ..Context::default() }
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
    refusing(faults)
}

/// Returns rules under which each unknown parameter is a fault.
fn refusing(faults: FaultActions) -> ScanRules {
    ScanRules { faults, unknown_parameters: UnknownParameters::Refuse, ..ScanRules::default() }
}

/// Returns faults of answers without a readable call, with all facts and with none, with and without offered tools.
fn unread() -> Vec<(Diagnosis, ToolSet)> {
    let reasons = [
        ("unreadable", ""),
        ("cut_off", ""),
        ("unknown_tool", "weather"),
        ("arguments", "book_room"),
        ("expression", "book_room"),
    ];
    let near = "<tool_call>{\"name\" \"bookRoom\"";
    let facts =
        reasons.map(|(reason, name)| json!({ "reason": reason, "name": name, "near": near, "notation": "json" }));
    let mut unread = Vec::new();
    for facts in facts.into_iter().chain([json!({})]) {
        for tool_set in [tool_set(), ToolSet::default()] {
            let (message, facts) = ("no call can be read".to_owned(), facts.clone());
            let code = FaultCode::NoCall;
            let diagnosis = Diagnosis { code, call: 0, path: Pointer::root(), message, facts, suggestion: None };
            unread.push((diagnosis, tool_set));
        }
    }
    unread
}

/// Returns faults of answers without content and call: without reasoning, with it, and with a call at its end.
fn silent() -> Vec<Diagnosis> {
    let book = tool_set();
    let answers = [false, true].map(|reasoned| CallFreeAnswer { text: "", reasoned });
    let found = answers.iter().filter_map(|answer| scan_answer(answer, &book, &ScanRules::default()));
    let mut found: Vec<Diagnosis> = found.collect();
    if let Some(mut named) = found.last().cloned() {
        named.facts["name"] = "book_room".into();
        found.push(named);
    }
    found
}

/// Returns complete messages about one fault of the kind, in every variant.
pub(super) fn messages(code: FaultCode) -> Vec<String> {
    let book = tool_set();
    let of_kind = faults().into_iter().filter(|(_, diagnosis)| diagnosis.code == code);
    of_kind.map(|(call, diagnosis)| super::faulty_call(&call, &[diagnosis], &book)).collect()
}

/// Returns complete messages about answers without content and call.
pub(super) fn silent_messages() -> Vec<String> {
    silent().iter().map(super::no_answer).collect()
}

/// Returns complete messages about answers without a readable call.
pub(super) fn unread_messages() -> Vec<String> {
    unread().iter().map(|(diagnosis, book)| super::no_call(diagnosis, book)).collect()
}

fn frames() -> Vec<Value> {
    let book = tool_set();
    let mut frames = Vec::new();
    for (call, diagnosis) in faults() {
        let texts = [(diagnosis.code, diagnosis.message.clone())];
        frames.push(fault::frame(&call, &[diagnosis], &texts, &book));
    }
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
    let [found, missing, broken, busy] =
        [200, 404, 500, 429].map(|status| ApiAnswer::new(status, r#"{"message":"no such room"}"#));
    let outcomes = [
        Outcome::Answered(found),
        Outcome::Answered(missing),
        Outcome::Answered(broken),
        Outcome::Answered(ApiAnswer { headers, ..busy }),
        Outcome::Unreachable { reason: "refused".to_owned() },
        Outcome::Unknown { reason: "timeout".to_owned() },
        Outcome::Refused(Refusal::new(RefusalReason::PolicyDenied, "denied")),
        Outcome::Unauthorised { fault: CredentialFault::Missing, reason: "not authorised".to_owned() },
    ];
    let explanations = [Vec::new(), vec![passage]].map(|passages| Explanation { passages });
    let mut contexts = Vec::new();
    for outcome in &outcomes {
        for explanation in &explanations {
            let credential = matches!(outcome, Outcome::Unauthorised { .. }).then_some(CredentialFault::Missing);
            contexts.push(outcome::context(&FailedOutcome {
                call,
                outcome,
                explanation,
                tool,
                only_reads: explanation.is_hit(),
                credential,
                shortfall: (outcome.status() == Some(200)).then_some(&shortfall),
                earlier: &rounds(),
                tokens: 400,
            }));
        }
    }
    contexts
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
    let mut contexts = Vec::new();
    for status in ApprovalStatus::ALL {
        for comment in [None, Some("Not today.")] {
            let note = ApprovalNote {
                id: "apr_0".to_owned(),
                status,
                expires_at: Timestamp::UNIX_EPOCH,
                decided_at: None,
                decided_by: comment.map(|_| "Ada".to_owned()),
                comment: comment.map(str::to_owned),
            };
            contexts.push(approval::context(call, &note));
        }
    }
    contexts
}

fn rounds() -> Vec<Round> {
    vec![Round {
        kind: "static".to_owned(),
        action: r#"book_room({"room":"seven"})"#.to_owned(),
        observation: "Error: the call was not run.".to_owned(),
        brief: String::new(),
        thought: Some("The room is a number.".to_owned()),
        new_action: None,
    }]
}
