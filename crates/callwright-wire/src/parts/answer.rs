//! Complete answers.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Debug;

use bytes::Bytes;
use http::StatusCode;
use serde_json::value::RawValue;

use crate::{AnswerError, ErrorBody, ReasoningPart};
use callwright_common::json::RawObject;
use callwright_types::{Call, Protocol, Usage};

/// Kind of a part of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PartKind {
    /// Call of a function tool. Missing members are empty; `arguments` is JSON text.
    Call {
        /// The call.
        call: Call,
        /// Whether the part conforms to the API reference: a non-empty id, a name, and arguments of the right type.
        is_well_formed: bool,
    },
    /// Call that is not judged: of a custom tool, a server tool or a typed client tool, for which the client returns a
    /// result. Id, name and input as text, as far as present.
    Unjudged(Call),
    /// Text for the user.
    Text(String),
    /// Reasoning, with its readable text, if any.
    Reasoning(String),
    /// Refusal of the model.
    Refusal(String),
    /// Any other part, such as the call and result of a server tool or a generated image.
    Other,
}

/// Result of an answer's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    /// The answer ends with text.
    Text,
    /// The client is to execute calls.
    Calls,
}

/// Complete answers of a protocol. `fields` are the members of the answer object.
pub(crate) trait AnswerForm: Debug + Sync {
    /// Protocol of the answers.
    fn protocol(&self) -> Protocol;

    /// Returns the form of answers that are lists of parts; `None` for those with choices.
    fn as_parts(&'static self) -> Option<&'static dyn PartsForm>;

    /// Returns a complete answer of the proxy without text and calls; its finish reason is that of text.
    fn minted(&self, model: &str) -> RawObject;

    /// Returns why the answer ended, in the words of the protocol: `stop_reason`, or else `status` with the reason of an
    /// incomplete response. `None` if it is absent.
    fn finish_reason(&self, fields: &RawObject) -> Option<String>;

    /// Whether a finish reason marks an incomplete answer: a token limit or a content filter.
    fn is_cut_off(&self, reason: &str) -> bool;

    /// Whether an answer that ended for this reason contradicts the calls in its message: Messages with `end_turn`, with a
    /// word of another protocol, or without a reason.
    fn contradicts_calls(&self, message: &dyn MessageContent, reason: Option<&str>) -> bool;

    /// Returns the token counts; cached tokens are part of the prompt's tokens.
    fn usage(&self, fields: &RawObject) -> Option<Usage>;

    /// Replaces the token counts; other members of `usage` are kept.
    fn set_usage(&self, fields: &mut RawObject, usage: Usage);

    /// Returns the body of an error response of the proxy for this status.
    fn error_body(&self, error: &ErrorBody, _status: StatusCode) -> Bytes {
        error.to_bytes()
    }
}

/// Complete answers of a protocol that are lists of parts.
pub(crate) trait PartsForm: AnswerForm {
    /// Member with the parts: `output` or `content`.
    fn parts_key(&self) -> &'static str;

    /// Reads a part. A call of a tool that the provider defines and the client executes is a call as well.
    fn read_part(&self, part: &RawValue) -> PartKind;

    /// Returns the identity of a part of kind [`PartKind::Reasoning`]; `None` if nothing identifies it.
    fn reasoning_part(&self, part: &RawValue) -> Option<ReasoningPart>;

    /// Returns the namespace of the tool that a call names, in a protocol that has such.
    fn namespace(&self, _part: &RawValue) -> Option<String> {
        None
    }

    /// Returns the members that the calls which were divided from one call have in common with it.
    fn members_of_divided(&self) -> &'static [&'static str];

    /// Returns the part of a function's call: `part` with the call's id, name and arguments, or a new part if it is `None`.
    /// Members that already have the right value keep their text, and so do unknown members. Ids of new parts have the form that
    /// the protocol requires.
    fn with_call(&self, part: Option<&RawValue>, call: &Call) -> Box<RawValue>;

    /// Returns the call in a part that is a call of a custom tool: its input is the arguments. `None` for other parts,
    /// and in a protocol without such calls.
    fn custom_call(&self, _part: &RawValue) -> Option<Call> {
        None
    }

    /// Returns the part of a call as a call of a custom tool with this input; `None` in a protocol without such calls.
    fn with_custom_call(&self, _part: &RawValue, _input: &str) -> Option<Box<RawValue>> {
        None
    }

    /// Returns a text part: `part` with its text replaced, or a new part if it is `None`.
    fn with_text(&self, part: Option<&RawValue>, text: &str) -> Box<RawValue>;

    /// Sets the finish reason, unless the answer was cut off or already ends this way.
    fn set_finish(&self, fields: &mut RawObject, finish: Finish);

    /// Returns the error of an answer with a success status that is an error object or a failed response: a description
    /// that quotes nothing.
    fn failure(&self, fields: &RawObject) -> Option<AnswerError>;
}

/// Content of a message.
pub trait MessageContent: Debug + Send + Sync {
    /// Returns the text: a string content, or the joined text parts.
    fn text(&self) -> Option<String>;

    /// Returns the approximate size of the message as JSON in bytes.
    fn size(&self) -> usize;

    /// Returns the model's refusal, if it is not blank.
    fn refusal(&self) -> Option<String>;

    /// Returns the model's reasoning if it is separate from the text: in its own member, or in parts of the content.
    fn reasoning(&self) -> Option<String>;

    /// Whether the message contains only text and reasoning: no call, refusal, audio, image or part of another kind.
    fn is_only_text(&self) -> bool;

    /// Returns the calls of functions. Ids are generated if they are missing or duplicates.
    fn calls(&self) -> &[Call];

    /// Returns the namespaces of the calls that name one, by id. Only Responses has such.
    fn namespaces(&self) -> HashMap<String, String> {
        HashMap::new()
    }

    /// Whether the message has unjudged calls, such as those of custom tools.
    fn has_unjudged_calls(&self) -> bool;

    /// Returns the unjudged calls with an id, with their name and input if present.
    fn unjudged_calls(&self) -> Vec<Call>;

    /// Whether the message calls with the legacy `function_call` of chat completions.
    fn is_legacy(&self) -> bool {
        false
    }

    /// Whether every call conforms to the API reference. Otherwise, [`Choice::set_calls`](crate::Choice::set_calls) rewrites the calls, even
    /// if it is given the same calls.
    fn is_well_formed(&self) -> bool;

    /// Returns the members of a chat message that are neither role, text nor calls (reasoning, refusal, annotations) and
    /// not `null`.
    fn other_members(&self) -> RawObject {
        RawObject::default()
    }

    /// Returns the members of a chat message that only the provider can interpret, such as signatures of reasoning. A
    /// message must contain those of its own attempt.
    fn opaque_members(&self) -> RawObject {
        RawObject::default()
    }

    /// Returns a chat message as an element of a request; `None` in other protocols.
    fn chat_element(&self) -> Option<Box<RawValue>> {
        None
    }

    /// Returns the parts in order, well-formed and with generated ids; empty in chat completions.
    fn parts(&self) -> Vec<Cow<'_, RawValue>> {
        Vec::new()
    }

    /// Returns the reasoning behind all other parts; none in chat completions.
    fn trailing_reasoning(&self) -> Vec<ReasoningPart> {
        Vec::new()
    }

    /// Returns the elements of the calls with their ids, judged and unjudged, well-formed.
    fn call_elements(&self) -> Vec<(String, Box<RawValue>)>;

    /// Replaces the calls of the message. Returns whether that changed it.
    fn set_calls(&mut self, calls: &[Call]) -> bool;

    /// Reads the calls of custom tools that `is_function` accepts as calls of functions: their input is the arguments.
    /// [`Choice::set_calls`](crate::Choice::set_calls) writes them in that form. Returns their ids.
    fn adopt_custom_calls(&mut self, is_function: &dyn Fn(&Call) -> bool) -> Vec<String>;

    /// Writes a call as a call of a custom tool. Returns whether that changed the message.
    fn make_custom(&mut self, id: &str, input: &str) -> bool;

    /// Replaces the text of the message.
    fn set_text(&mut self, text: &str);

    /// Sets the form of later calls, for a chat message without calls.
    fn call_in_form(&mut self, _legacy: bool) {}
}
