//! Secrets: collects the argument values that a tool's schema marks as secret, to mask them in the trace.
//!
//! A trace contains the arguments of a call in many places: the model's call, the conversation, feedback and API
//! answers. The values are therefore collected here, where the schema is available, and masked in the whole trace at
//! its end.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use crate::pipeline::state::{JudgedAnswer, Turn};
use crate::pipeline::tools::Offer;
use callwright_types::{Call, Tool};

/// Collects the secrets of the calls in the client's conversation.
pub(super) fn of_conversation(turn: &mut Turn, offer: &Offer) {
    if turn.record.keep_bodies && turn.request.may_have_calls() {
        let calls: Vec<Call> =
            turn.request.messages().into_iter().flat_map(|message| message.calls.into_owned()).collect();
        note(turn, offer, calls.iter());
    }
}

/// Collects the secrets of the calls of an answer, in their original and their repaired form.
pub(super) fn of_answer(turn: &mut Turn, offer: &Offer, judged: &JudgedAnswer) {
    if turn.record.keep_bodies {
        note(turn, offer, judged.calls().flat_map(|call| [&call.made, &call.repaired]));
    }
}

fn note<'c>(turn: &mut Turn, offer: &Offer, calls: impl Iterator<Item = &'c Call>) {
    let mut own: Option<Vec<Tool>> = None;
    // Grouped by tool: each schema is parsed once for all calls.
    let mut read: HashMap<*const Value, (Arc<Value>, Vec<Arc<Value>>)> = HashMap::new();
    let mut secrets = turn.record.secrets.clone();
    for call in calls {
        let arguments = serde_json::from_str::<Value>(&call.arguments).ok().map(Arc::new);
        let offered = offer.tool_set.get(&call.name).into_iter().chain(offer.tool_set.literal(&call.name));
        let offered = offered.map(|tool| &tool.tool.parameters);
        // Without validation, no tools are compiled.
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
    turn.record.secrets = secrets;
}
