//! Secrets: arguments that a tool's schema marks as secret → what the record of the turn keeps to itself.
//!
//! What is recorded holds a call's arguments in many places: as the model made it, in the conversation, in feedback, in what an API repeats. So
//! values are noted here where the schema is at hand, and masked in the whole record at its end.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use crate::pipeline::turn::Turn;
use callwright_types::{Call, SecretValues, Tool};

use super::judge::JudgedAnswer;
use super::offer::Offer;

/// Notes the secrets of the calls that the client's conversation holds.
pub(crate) fn of_conversation(turn: &mut Turn, offer: &Offer) {
    if turn.record.keeps_bodies() && turn.request.may_have_calls() {
        let calls: Vec<Call> = turn.request.messages().into_iter().flat_map(|message| message.calls).collect();
        note(turn, offer, calls.iter());
    }
}

/// Notes the secrets of the calls of an answer, as they were made and as they were mended.
pub(crate) fn of_answer(turn: &mut Turn, offer: &Offer, judged: &JudgedAnswer) {
    if turn.record.keeps_bodies() {
        note(turn, offer, judged.calls().flat_map(|call| [&call.made, &call.mended]));
    }
}

fn note<'c>(turn: &mut Turn, offer: &Offer, calls: impl Iterator<Item = &'c Call>) {
    let mut own: Option<Vec<Tool>> = None;
    // By tool: its schema is read once, however many calls there are.
    let mut read: HashMap<*const Value, (Arc<Value>, Vec<Arc<Value>>)> = HashMap::new();
    let mut secrets = SecretValues::clone(turn.record.secrets());
    for call in calls {
        let arguments = serde_json::from_str::<Value>(&call.arguments).ok().map(Arc::new);
        let offered = offer.toolbook.get(&call.name).into_iter().chain(offer.toolbook.literal(&call.name));
        let offered = offered.map(|tool| &tool.tool.parameters);
        // Where nothing is judged, nothing is compiled.
        let own = own.get_or_insert_with(|| if offer.is_judged() { Vec::new() } else { turn.request.client_tools() });
        let own = own.iter().filter(|tool| tool.name == call.name).map(|tool| &tool.parameters);
        for schema in offered.chain(own) {
            match &arguments {
                Some(arguments) => {
                    let of_tool = read.entry(Arc::as_ptr(schema)).or_insert_with(|| (Arc::clone(schema), Vec::new()));
                    of_tool.1.push(Arc::clone(arguments));
                }
                None => secrets.note_unread(schema, &call.arguments),
            }
        }
    }
    for (schema, arguments) in read.into_values() {
        secrets.note_all(&schema, arguments.iter().map(AsRef::as_ref));
    }
    turn.record.keep_secret(secrets);
}
