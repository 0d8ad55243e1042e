//! Property of a turn's tools, wherever they are: no right call is refused or changed, every fault of a known tool is
//! found, and an unknown name is a fault in a complete set only.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use super::{Offer, SentToolList};
use callwright_judge::repair::rescue::Situation;
use callwright_judge::repair::{JudgedMessage, Spoken, judge_message};
use callwright_judge::scanner::{Context, Transcript, Validators};
use callwright_types::rules::{Evidence, RepairRules, ScanRules};
use callwright_types::{Call, Message, Protocol};
use callwright_wire::ModelRequest;

/// Place of a tool in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToolPlace {
    Listed,
    Deferred,
    Namespace,
    Additional,
    Found,
    FoundNamespace,
    Reference,
    System,
    Reminder,
    State,
}

use ToolPlace::{Additional, Deferred, Found, FoundNamespace, Listed, Namespace, Reference, Reminder, State, System};

const RESPONSES: [ToolPlace; 9] =
    [Listed, Deferred, Namespace, Additional, Found, FoundNamespace, System, Reminder, State];
const MESSAGES: [ToolPlace; 6] = [Listed, Deferred, Reference, System, Reminder, State];
const CHAT: [ToolPlace; 4] = [Listed, Deferred, System, Reminder];

impl ToolPlace {
    /// Whether the schema of a tool there is in the request.
    fn has_schema(self) -> bool {
        matches!(self, Listed | Deferred | Namespace | Additional | Found | FoundNamespace)
    }

    /// Whether there may be further tools: the provider keeps a part of the conversation, or the client has searched for
    /// tools that it does not list.
    fn leaves_open(self) -> bool {
        matches!(self, State | Reference)
    }
}

/// Names in every form that clients use, with pairs that differ in a digit or a verb only.
const NAMES: [&str; 16] = [
    "list_orders", "listInvoices", "crm.get_contact", "mcp__big__tool_5", "mcp__big__tool_7", "mcp__big__tool_57",
    "delete_row", "update_row", "enable-alarm", "disable-alarm", "get_value", "set_value", "sleep", "Fetch",
    "mcp__files__read", "mcp__disk__read",
];

fn schema() -> Value {
    json!({"type": "object", "additionalProperties": false, "required": ["customer_id"],
        "properties": {"customer_id": {"type": "string"}, "limit": {"type": "integer"}}})
}

fn element(protocol: Protocol, name: &str, is_deferred: bool) -> Value {
    let mut element = match protocol {
        Protocol::Chat => json!({"type": "function", "function": {"name": name, "parameters": schema()}}),
        Protocol::Responses => json!({"type": "function", "name": name, "parameters": schema()}),
        Protocol::Messages => json!({"name": name, "input_schema": schema()}),
    };
    if is_deferred {
        element["defer_loading"] = json!(true);
    }
    element
}

/// Writes a request with these tools.
fn request(protocol: Protocol, tools: &[(&str, ToolPlace)]) -> ModelRequest {
    let at = |place: ToolPlace| tools.iter().filter(move |(_, other)| *other == place).map(|(name, _)| *name);
    let elements = |place| at(place).map(|name| element(protocol, name, place == Deferred)).collect::<Vec<_>>();
    let namespace = |place| json!({"type": "namespace", "name": "ns", "tools": elements(place)});
    let mut listed = [elements(Listed), elements(Deferred)].concat();
    let system =
        format!("Be brief.\n## Deferred\n{}\n", at(System).map(|name| format!("- {name}\n")).collect::<String>());
    let reminder = format!("Go on.\n<reminder>{}</reminder>", at(Reminder).collect::<Vec<_>>().join(", "));
    let mut conversation = vec![json!({"role": "user", "content": reminder})];
    let mut body = json!({"model": "m"});
    match protocol {
        Protocol::Chat => {
            conversation.insert(0, json!({"role": "system", "content": system}));
            body["messages"] = json!(conversation);
        }
        Protocol::Messages => {
            body["system"] = json!(system);
            let blocks = at(Reference).map(|name| json!({"type": "tool_reference", "tool_name": name}));
            let result = json!({"type": "tool_result", "tool_use_id": "t", "content": blocks.collect::<Vec<_>>()});
            conversation.push(json!({"role": "user", "content": [result]}));
            body["messages"] = json!(conversation);
            if at(State).next().is_some() {
                body["thread"] = json!({"id": "t"});
            }
        }
        Protocol::Responses => {
            body["instructions"] = json!(system);
            listed.push(namespace(Namespace));
            conversation
                .insert(0, json!({"type": "additional_tools", "role": "developer", "tools": elements(Additional)}));
            let found = [elements(Found), vec![namespace(FoundNamespace)]].concat();
            conversation.push(json!({"type": "tool_search_output", "call_id": "s", "tools": found}));
            body["input"] = json!(conversation);
            if at(State).next().is_some() {
                body["previous_response_id"] = json!("resp_1");
            }
        }
    }
    body["tools"] = json!(listed);
    ModelRequest::parse(protocol, body.to_string().into()).unwrap()
}

fn judged(request: &ModelRequest, name: &str, arguments: &str) -> JudgedMessage {
    let elsewhere = request.tools_elsewhere();
    let tools = request.client_tools().into_iter().chain(request.read_tools_elsewhere(&elsewhere));
    let tools = tools.map(std::sync::Arc::new).collect();
    let offer = Offer::compile(tools, SentToolList::Behind(Vec::new()), true, &elsewhere, &Validators::default());
    let transcript = Transcript::read(request.messages().into_iter().map(Message::from));
    let context = Context { conversation: Some(&transcript), ..Context::default() };
    let calls = [Call { id: "c".to_owned(), name: name.to_owned(), arguments: arguments.to_owned() }];
    let spoken = Spoken { text: None, calls: &calls, situation: Situation::with(Evidence::Off) };
    judge_message(&spoken, &offer.tool_set, &ScanRules::default(), &RepairRules::default(), &context)
}

/// Returns the call that leaves, or `None` if it is refused.
fn outcome(request: &ModelRequest, name: &str, arguments: &str) -> Option<(String, String)> {
    let judged = judged(request, name, arguments);
    let call = judged.calls.first().unwrap();
    call.result.as_ref().ok().map(|_| (call.repaired.name.clone(), call.repaired.arguments.clone()))
}

fn conversations() -> impl Strategy<Value = (Protocol, Vec<(&'static str, ToolPlace)>)> {
    let protocol = prop_oneof![Just(Protocol::Chat), Just(Protocol::Responses), Just(Protocol::Messages)];
    let tools = prop::sample::subsequence(NAMES.to_vec(), 1..NAMES.len());
    (protocol, tools.prop_shuffle(), prop::collection::vec(any::<Index>(), NAMES.len())).prop_map(
        |(protocol, names, indexes)| {
            let places: &[ToolPlace] = match protocol {
                Protocol::Chat => &CHAT,
                Protocol::Responses => &RESPONSES,
                Protocol::Messages => &MESSAGES,
            };
            // One tool is listed, because without any the request is not judged at all.
            let places = indexes.into_iter().enumerate().map(
                |(number, index)| {
                    if number == 0 { Listed } else { *index.get(places) }
                },
            );
            (protocol, names.into_iter().zip(places).collect())
        },
    )
}

proptest! {
    #[test]
    fn right_calls_pass_and_every_known_tools_fault_is_found((protocol, tools) in conversations()) {
        let request = request(protocol, &tools);
        let right = r#"{ "customer_id":"c1", "limit":5 }"#;
        let is_open = tools.iter().any(|(_, place)| place.leaves_open());
        for (name, place) in &tools {
            let kept = |arguments: &str| Some(((*name).to_owned(), arguments.to_owned()));
            prop_assert_eq!(outcome(&request, name, right), kept(right), "{} at {:?}", name, place);
            let faulty = r#"{"customerId":"c1","limit":"5"}"#;
            let (repaired, wrong) = (r#"{"customer_id":"c1","limit":5}"#, r#"{"limit":5}"#);
            if place.has_schema() {
                prop_assert_eq!(outcome(&request, name, faulty), kept(repaired), "{} at {:?}", name, place);
                prop_assert_eq!(outcome(&request, name, wrong), None, "{} at {:?}", name, place);
            } else {
                prop_assert_eq!(outcome(&request, name, faulty), kept(faulty), "{} at {:?}", name, place);
            }
        }
        for name in NAMES.iter().filter(|name| tools.iter().all(|(known, _)| known != *name)) {
            let expected = is_open.then(|| ((*name).to_owned(), right.to_owned()));
            prop_assert_eq!(outcome(&request, name, right), expected, "{} is nowhere", name);
            let found = judged(&request, name, right);
            prop_assert!(found.diagnoses().all(|fault| fault.suggestion.is_none()), "{} is another tool", name);
            prop_assert_eq!(found.advice().count(), usize::from(is_open));
        }
    }
}
