//! The model's message: text and calls, as it came.

use serde_json::value::RawValue;

use crate::domain::Call;
use crate::domain::json::RawObject;

/// An assistant message of an answer. Fields that the proxy does not know (reasoning, signatures, citations) are kept.
#[derive(Debug, Clone, Default)]
pub struct AssistantMessage {
    fields: RawObject,
    calls: Vec<Call>,
}

impl AssistantMessage {
    /// The text: a string content, or the text parts of a multi-part content joined.
    pub fn text(&self) -> Option<String> {
        todo!()
    }

    /// The calls of type `function`, and the legacy `function_call`. Ids are minted where they are missing or used twice.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Are there calls that are not judged, such as those of custom tools?
    pub fn has_unjudged_calls(&self) -> bool {
        todo!()
    }

    /// Does the message call with the legacy `function_call`?
    pub fn is_legacy(&self) -> bool {
        todo!()
    }

    /// Is every call written as the API reference says: an id of its own, type `function`, arguments as a string? If not,
    /// setting the calls anew ([`super::Choice::set_calls`]) writes them so.
    pub fn is_well_formed(&self) -> bool {
        todo!()
    }

    /// The message as JSON, minted ids included.
    pub fn to_raw(&self) -> Box<RawValue> {
        self.fields.to_raw()
    }
}
