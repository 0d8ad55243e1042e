//! Messages of a conversation, and the calls in them.

use serde::{Deserialize, Serialize};

/// Role of a message's author.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// A user.
    User,
    /// The model.
    Model,
    /// A tool: the result of a call.
    Tool,
    /// Any other role: system, developer, and unknown roles.
    Other,
}

/// One message of a conversation, independent of the wire format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Role of the author.
    pub speaker: Speaker,
    /// Text; empty if there is none.
    pub text: String,
    /// Calls made in the message.
    pub calls: Vec<Call>,
    /// Id of the call whose result the message is.
    pub answers: Option<String>,
    /// Name of the participant, or of the tool in a legacy function message.
    pub name: Option<String>,
}

/// One call as the model made it; no part of it has been validated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The upstream's id of the call, or a generated one ([`crate::ids::call_id`]) if the upstream sent none.
    pub id: String,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments as the model wrote them: the *text* of a JSON object, if the model followed the protocol.
    pub arguments: String,
}

impl Call {
    /// Returns the call in the form `name(arguments)`.
    pub fn written(&self) -> String {
        format!("{}({})", self.name, self.arguments)
    }
}
